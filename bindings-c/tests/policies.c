/* Policy packs of the host: checks, remediations, options by name, and the analysis of a state. */
#include "functions.h"

#define URN "urn:pulumi:dev::shop::test:index:Thing::a"

/* Whether a call is about a resource other than those of the tests: the root stack, or the default provider. */
static int is_other(sw_bytes_view_t argument)
{
    sw_bytes_t *urn = json_at(argument, "/urn");
    int other = urn && strcmp(sw_bytes_data(urn), "\"" URN "\"") != 0;
    sw_bytes_free(urn);
    return other;
}

static void policy_call(void *user_data, sw_bytes_view_t policy, sw_bytes_view_t function, sw_bytes_view_t argument,
    sw_completion_t *completion)
{
    struct function *known = user_data;
    if (is_other(argument)) {
        CHECK(sw_completion_succeed(completion, sw_text("")) == SW_STATUS_OK);
        return;
    }
    CHECK(policy.data[policy.length] == 0 && function.data[function.length] == 0 && argument.data[argument.length] == 0);
    snprintf(known->last, sizeof known->last, "{\"policy\": \"%s\", \"function\": \"%s\", \"argument\": %s}", policy.data,
        function.data, argument.data);
    known->calls++;
    function_answer(known, completion);
    flag_raise(&known->returned);
}

static sw_policies_t policies_table(struct function *function, uint32_t flags, const char *document)
{
    sw_policies_t table = {sizeof table, SW_POLICIES_VERSION, flags, function, function_free, sw_text(document), policy_call,
        function_give_up};
    return table;
}

static sw_policy_pack_t *make_pack(const struct bench *bench, struct function *function, uint32_t flags, const char *document)
{
    sw_error_t *error = NULL;
    sw_policy_pack_t *pack = NULL;
    sw_policies_t table = policies_table(function, flags, document);
    OK(sw_policy_pack_new(bench->runtime, &table, &pack, &error));
    return pack;
}

#define GUARD(policy) "{\"name\": \"guard\", \"version\": \"1.2.0\", \"policies\": [{\"name\": \"small\"" policy "}]}"

static int32_t run_thing(void *user_data, sw_context_t *context)
{
    (void)user_data;
    sw_context_register(context, sw_text("{\"type\": \"test:index:Thing\", \"name\": \"a\", \"inputs\": {\"size\": 9}}"), NULL, NULL);
    return SW_STATUS_OK;
}

/* Starts an update with packs. */
static sw_operation_t *start(const struct bench *bench, const char *options, const sw_policy_pack_t *const *packs, size_t count)
{
    sw_error_t *error = NULL;
    sw_operation_t *operation = NULL;
    sw_operation_functions_t functions = {sizeof functions, NULL, packs, count};
    OK(sw_stack_start_with(bench->stack, SW_OPERATION_UPDATE, sw_text(options), &functions, &operation, &error));
    return operation;
}

/* Runs an update with one pack; returns its result. `expected` is its status. */
static sw_bytes_t *update(const struct bench *bench, const char *options, const sw_policy_pack_t *pack, sw_status_t expected)
{
    sw_operation_t *operation = start(bench, options, &pack, 1);
    sw_bytes_t *result = NULL;
    sw_status_t status = sw_operation_wait(operation, &result, NULL);
    if (status != expected) {
        fprintf(stderr, "ended with %s:\n%s\n", sw_status_name(status), sw_bytes_data(result));
        exit(1);
    }
    sw_operation_free(operation);
    return result;
}

/* ---- checks and remediations ---- */

static void policies_check_and_remediate(void)
{
    static const struct {
        enum answer answer;
        uint32_t flags;
        const char *document, *text, *expected;
        sw_status_t status;
        int calls, creates;
    } cases[] = {
        {SUCCEED, SW_FUNCTION_PROMPT, GUARD(", \"level\": \"mandatory\""), "[\"too big\"]", "policy small of guard is violated", SW_STATUS_FAILED, 1, 0},
        {SUCCEED, 0, GUARD(", \"level\": \"mandatory\", \"severity\": \"high\""), "[{\"message\": \"too big\"}]", "is violated", SW_STATUS_FAILED, 1, 0},
        {SUCCEED, 0, GUARD(""), "[\"too big\"]", "\"create\":2", SW_STATUS_OK, 1, 1},
        {ON_ANOTHER_THREAD, 0, GUARD(", \"level\": \"mandatory\""), "", "\"create\":2", SW_STATUS_OK, 1, 1},
        {TWICE, 0, GUARD(", \"level\": \"mandatory\""), "[]", "\"create\":2", SW_STATUS_OK, 1, 1},
        {FAIL, 0, GUARD(""), "no scales", "policy small failed during Analyze: no scales", SW_STATUS_FAILED, 1, 0},
        {FREE, 0, GUARD(""), "", "the host freed the completion of check without a response", SW_STATUS_FAILED, 1, 0},
        {SUCCEED, 0, GUARD(""), "[3]", "check returned what cannot be used", SW_STATUS_FAILED, 1, 0},
        {FAIL_WITH, 0, GUARD(""), "[]", "malformed check response from the host", SW_STATUS_FAILED, 1, 0},
        {FAIL, 0, GUARD(", \"ofStack\": true"), "no ladder", "policy small failed during AnalyzeStack: no ladder", SW_STATUS_FAILED, 1, 1},
        {SUCCEED, 0, GUARD(", \"ofStack\": true, \"level\": \"mandatory\""), "[{\"message\": \"too many\", \"urn\": \"" URN "\"}]", "too many", SW_STATUS_FAILED, 1, 1},
        {SUCCEED, 0, GUARD(", \"level\": \"disabled\""), "[\"too big\"]", "\"create\":2", SW_STATUS_OK, 0, 1},
    };
    for (size_t index = 0; index < sizeof cases / sizeof *cases; index++) {
        struct bench bench = {.provider = {.held_flag = FLAG}};
        struct function function = FUNCTION(cases[index].answer, cases[index].text);
        bench_open(&bench, provider_table(&bench.provider, 0), run_thing, NULL);
        sw_policy_pack_t *pack = make_pack(&bench, &function, cases[index].flags, cases[index].document);
        expect_text(update(&bench, "", pack, cases[index].status), cases[index].expected);
        if (function.answer == ON_ANOTHER_THREAD)
            CHECK(pthread_join(function.thread, NULL) == 0);
        if (function.calls != cases[index].calls || bench.provider.creates != cases[index].creates) {
            fprintf(stderr, "case %zu: %d calls, %d creates, last %s\n", index, function.calls, bench.provider.creates, function.last);
            exit(1);
        }
        if (function.calls > 0)
            expect_request(&function, "/policy", "\"small\"");
        sw_policy_pack_free(pack);
        bench_close(&bench);
        CHECK(function.frees == 1 && function.given_up == 0);
    }
}

/* Completes `remediate` with smaller inputs, and `check` with nothing. */
static void make_smaller(void *user_data, sw_bytes_view_t policy, sw_bytes_view_t function, sw_bytes_view_t argument,
    sw_completion_t *completion)
{
    struct function *known = user_data;
    (void)policy;
    if (is_other(argument)) {
        CHECK(sw_completion_succeed(completion, sw_text("null")) == SW_STATUS_OK);
        return;
    }
    int remediates = strcmp(function.data, "remediate") == 0;
    CHECK(remediates || strcmp(function.data, "check") == 0);
    sw_bytes_t *whole = json_at(argument, "");
    expect_at(whole, "/inputs/size", remediates ? "9" : "3");
    expect_at(whole, "/urn", "\"" URN "\"");
    sw_bytes_free(whole);
    known->calls++;
    CHECK(sw_completion_succeed(completion, sw_text(remediates ? "{\"size\": 3}" : "null")) == SW_STATUS_OK);
}

static void a_remediation_reaches_the_provider(void)
{
    struct bench bench = {.provider = {.held_flag = FLAG}};
    struct function function = FUNCTION(SUCCEED, "");
    sw_error_t *error = NULL;
    sw_policy_pack_t *pack = NULL;
    sw_bytes_t *deployment = NULL;
    bench_open(&bench, provider_table(&bench.provider, 0), run_thing, NULL);
    sw_policies_t table = policies_table(&function, 0, GUARD(", \"level\": \"remediate\""));
    table.call = make_smaller;
    OK(sw_policy_pack_new(bench.runtime, &table, &pack, &error));
    sw_bytes_free(update(&bench, "", pack, SW_STATUS_OK));
    OK(sw_stack_export_deployment(bench.stack, false, &deployment, &error));
    CHECK(strstr(sw_bytes_data(deployment), "\"size\":3") || strstr(sw_bytes_data(deployment), "\"size\": 3"));
    CHECK(function.calls == 2);
    sw_bytes_free(deployment);
    sw_policy_pack_free(pack);
    bench_close(&bench);
    CHECK(function.frees == 1);
}

static void a_pack_serves_the_options_that_name_it(void)
{
    struct bench bench = {.provider = {.held_flag = FLAG}};
    struct function function = FUNCTION(SUCCEED, "[\"too big\"]");
    bench_open(&bench, provider_table(&bench.provider, 0), run_thing, NULL);
    sw_policy_pack_t *pack = make_pack(&bench, &function, 0, GUARD(""));
    expect_text(update(&bench, "{\"requiredPolicies\": [{\"name\": \"guard\", \"config\": {\"small\":"
        " {\"enforcementLevel\": \"mandatory\", \"most\": 5}}}]}", pack, SW_STATUS_FAILED), "is violated");
    CHECK(function.calls == 1);
    expect_request(&function, "/function", "\"check\"");
    expect_request(&function, "/argument/config", "{\"most\":5}");
    sw_bytes_free(update(&bench, "{\"localPolicyPacks\": [{\"name\": \"guard\", \"config\": {\"all\": \"disabled\"}}]}", pack, SW_STATUS_OK));
    CHECK(function.calls == 1);
    /* The operation keeps the pack after its handle is freed. */
    sw_operation_t *operation = start(&bench, "", (const sw_policy_pack_t *[]){pack}, 1);
    sw_policy_pack_free(pack);
    CHECK(sw_operation_wait(operation, NULL, NULL) == SW_STATUS_OK);
    CHECK(function.calls == 2);
    sw_operation_free(operation);
    bench_close(&bench);
    CHECK(function.frees == 1);
}

/* ---- analysis ---- */

static void a_state_is_analyzed_without_a_program(void)
{
    struct bench bench = {.provider = {.held_flag = FLAG}};
    struct function function = FUNCTION(SUCCEED, "[\"too big\"]");
    sw_error_t *error = NULL;
    sw_bytes_t *analysis = NULL;
    bench_open(&bench, provider_table(&bench.provider, 0), run_thing, NULL);
    sw_bytes_free(operate(bench.stack, SW_OPERATION_UPDATE, SW_STATUS_OK));
    sw_policy_pack_t *pack = make_pack(&bench, &function, 0, GUARD(", \"level\": \"mandatory\""));
    const sw_policy_pack_t *packs[] = {pack, pack};
    OK(sw_stack_analyze(bench.stack, sw_text(""), packs, 1, &analysis, &error));
    expect_at(analysis, "/passed", "false");
    expect_at(analysis, "/policyPacks/guard", "\"(local)\"");
    expect_request(&function, "/argument/type", "\"test:index:Thing\"");
    expect_text(analysis, "\"message\":\"too big");
    OK(sw_stack_analyze(bench.stack, sw_text("{\"localPolicyPacks\": [{\"name\": \"guard\", \"config\": {\"small\": \"advisory\"}}]}"), packs, 1, &analysis, &error));
    expect_at(analysis, "/passed", "true");
    sw_bytes_free(analysis);
    OK(sw_stack_analyze(bench.stack, sw_text(""), NULL, 0, &analysis, &error));
    expect_at(analysis, "/violations", "[]");
    sw_bytes_free(analysis);
    function.answer = FAIL;
    FAILS(sw_stack_analyze(bench.stack, sw_text(""), packs, 1, &analysis, &error), SW_STATUS_FAILED, "failed during Analyze: [\"too big\"]");
    FAILS(sw_stack_analyze(bench.stack, sw_text("[]"), packs, 1, &analysis, &error), SW_STATUS_INVALID_INPUT, "an analysis");
    FAILS(sw_stack_analyze(bench.stack, sw_text("{\"callbackTimeout\": 0}"), packs, 1, &analysis, &error), SW_STATUS_INVALID_INPUT, "takes a number of seconds above 0, not 0");
    FAILS(sw_stack_analyze(bench.stack, sw_text("{\"localPolicyPacks\": [{\"nam\": \"guard\"}]}"), packs, 1, &analysis, &error), SW_STATUS_INVALID_INPUT, "nam");
    FAILS(sw_stack_analyze(bench.stack, sw_text(""), packs, 2, &analysis, &error), SW_STATUS_INVALID_INPUT, "two policy packs \"guard\"");
    FAILS(sw_stack_analyze(bench.stack, sw_text(""), NULL, 1, &analysis, &error), SW_STATUS_MISUSE, "policy packs are null");
    FAILS(sw_stack_analyze(NULL, sw_text(""), packs, 1, &analysis, &error), SW_STATUS_MISUSE, "stack is null");
    FAILS(sw_stack_analyze(bench.stack, sw_text(""), packs, 1, NULL, &error), SW_STATUS_MISUSE, "null");
    CHECK(analysis == NULL);
    sw_policy_pack_free(pack);
    bench_close(&bench);
    CHECK(function.frees == 1);
}

/* ---- misuse ---- */

static void policies_that_were_not_taken_over_still_belong_to_the_host(void)
{
    struct bench bench = {.provider = {.held_flag = FLAG}};
    struct function function = FUNCTION(SUCCEED, "");
    sw_error_t *error = NULL;
    sw_policy_pack_t *pack = NULL;
    sw_operation_t *operation = NULL;
    bench_open(&bench, provider_table(&bench.provider, 0), run_thing, NULL);
    sw_policies_t table = policies_table(&function, 0, GUARD(", \"level\": \"harsh\""));
    FAILS(sw_policy_pack_new(bench.runtime, &table, &pack, &error), SW_STATUS_INVALID_INPUT, "harsh");
    table.document = sw_text("");
    FAILS(sw_policy_pack_new(bench.runtime, &table, &pack, &error), SW_STATUS_INVALID_INPUT, "invalid policy pack");
    table.document = (sw_bytes_view_t){NULL, 3};
    FAILS(sw_policy_pack_new(bench.runtime, &table, &pack, &error), SW_STATUS_MISUSE, "null");
    table.call = NULL;
    FAILS(sw_policy_pack_new(bench.runtime, &table, &pack, &error), SW_STATUS_MISUSE, "no call function");
    table.flags = 8;
    FAILS(sw_policy_pack_new(bench.runtime, &table, &pack, &error), SW_STATUS_MISUSE, "unknown flags");
    table.version = 2;
    FAILS(sw_policy_pack_new(bench.runtime, &table, &pack, &error), SW_STATUS_MISUSE, "unknown version");
    table.struct_size = 1;
    FAILS(sw_policy_pack_new(bench.runtime, &table, &pack, &error), SW_STATUS_MISUSE, "struct_size");
    FAILS(sw_policy_pack_new(bench.runtime, NULL, &pack, &error), SW_STATUS_MISUSE, "null");
    FAILS(sw_policy_pack_new(NULL, &table, &pack, &error), SW_STATUS_MISUSE, "runtime is null");
    FAILS(sw_policy_pack_new(bench.runtime, &table, NULL, &error), SW_STATUS_MISUSE, "null");
    CHECK(pack == NULL);
    sw_policy_pack_free(NULL);

    const sw_policy_pack_t *none[] = {NULL};
    sw_operation_functions_t functions = {sizeof functions, NULL, none, 1};
    FAILS(sw_stack_start_with(bench.stack, SW_OPERATION_UPDATE, sw_text(""), &functions, &operation, &error), SW_STATUS_MISUSE, "a policy pack is null");
    functions.policy_packs = NULL;
    FAILS(sw_stack_start_with(bench.stack, SW_OPERATION_UPDATE, sw_text(""), &functions, &operation, &error), SW_STATUS_MISUSE, "policy packs are null");
    functions.struct_size = 3;
    FAILS(sw_stack_start_with(bench.stack, SW_OPERATION_UPDATE, sw_text(""), &functions, &operation, &error), SW_STATUS_MISUSE, "struct_size");
    FAILS(sw_stack_start_with(NULL, SW_OPERATION_UPDATE, sw_text(""), NULL, &operation, &error), SW_STATUS_MISUSE, "stack is null");
    OK(sw_stack_start_with(bench.stack, SW_OPERATION_UPDATE, sw_text(""), NULL, &operation, &error));
    OK(sw_operation_wait(operation, NULL, &error));
    sw_operation_free(operation);
    bench_close(&bench);
    CHECK(function.frees == 0 && function.calls == 0 && bench.provider.creates == 1);
}

/* ---- cancellation ---- */

/* The host completes the cancelled call before or after the end of the runtime. */
static void a_cancelled_check_is_given_up_once(void)
{
    for (int after_runtime = 0; after_runtime < 2; after_runtime++) {
        struct bench bench = {.provider = {.held_flag = FLAG}};
        struct function function = FUNCTION(HOLD, "");
        sw_error_t *error = NULL;
        bench_open(&bench, provider_table(&bench.provider, 0), run_thing, NULL);
        sw_policy_pack_t *pack = make_pack(&bench, &function, after_runtime ? SW_FUNCTION_PROMPT : 0, GUARD(""));
        sw_operation_t *operation = start(&bench, "", (const sw_policy_pack_t *[]){pack}, 1);
        sw_policy_pack_free(pack);
        flag_wait(&function.began, 1);
        CHECK(sw_operation_cancel(operation) == SW_STATUS_OK);
        CHECK(sw_operation_cancel(operation) == SW_STATUS_OK);
        FAILS(sw_operation_wait(operation, NULL, &error), SW_STATUS_CANCELLED, "");
        flag_wait(&function.abandoned, 1);
        CHECK(function.given_up_call == sw_completion_id(function.held) && sw_completion_is_cancelled(function.held));
        sw_operation_free(operation);
        if (!after_runtime)
            CHECK(sw_completion_succeed(function.held, sw_text("")) == SW_STATUS_OK);
        bench_close(&bench);
        if (after_runtime)
            CHECK(sw_completion_fail(function.held, SW_PROVIDER_STATUS_UNKNOWN, sw_text("late")) == SW_STATUS_OK);
        CHECK(sw_completion_succeed(function.held, sw_text("")) == SW_STATUS_MISUSE);
        CHECK(function.calls == 1 && function.frees == 1 && function.given_up == 1 && bench.provider.creates == 0);
    }
}

int main(void)
{
    RUN(policies_check_and_remediate);
    RUN(a_remediation_reaches_the_provider);
    RUN(a_pack_serves_the_options_that_name_it);
    RUN(a_state_is_analyzed_without_a_program);
    RUN(policies_that_were_not_taken_over_still_belong_to_the_host);
    RUN(a_cancelled_check_is_given_up_once);
    return 0;
}
