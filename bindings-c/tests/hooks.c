/* Hooks of the host: before and after steps, after failures, in previews, and in a run that deletes. */
#include "functions.h"

#define THING "{\"type\": \"test:index:Thing\", \"name\": \"a\", \"inputs\": {\"size\": 1}, \"resourceHooks\": "
#define URN "urn:pulumi:dev::shop::test:index:Thing::a"

/* ---- hooks before and after steps ---- */

struct around {
    struct function before, after, removed;
    int declares; /* whether the program declares the resource */
};

static int32_t run_around(void *user_data, sw_context_t *context)
{
    struct around *around = user_data;
    sw_error_t *error = NULL;
    sw_function_t before = function_table(&around->before, 0), after = function_table(&around->after, SW_FUNCTION_PROMPT);
    sw_function_t removed = function_table(&around->removed, 0);
    OK(sw_context_register_hook(context, sw_text("before"), SW_HOOK_ON_DRY_RUN, &before, &error));
    OK(sw_context_register_hook(context, sw_text("after"), 0, &after, &error));
    OK(sw_context_register_hook(context, sw_text("removed"), 0, &removed, &error));
    OK(sw_context_register(context, sw_text("{\"type\": \"test:index:Thing\", \"name\": \"base\"}"), NULL, &error));
    if (around->declares)
        OK(sw_context_register(context, sw_text(THING "{\"BeforeCreate\": [\"before\"], \"AfterCreate\": [\"after\"],"
            " \"BeforeDelete\": [\"removed\"]}}"), NULL, &error));
    return SW_STATUS_OK;
}

static void hooks_run_before_and_after_steps(void)
{
    struct bench bench = {.provider = {.held_flag = FLAG}};
    struct around around = {FUNCTION(SUCCEED, ""), FUNCTION(ON_ANOTHER_THREAD, "{}"), FUNCTION(SUCCEED, "{}"), 1};
    struct function *all[] = {&around.before, &around.after, &around.removed};
    bench_open(&bench, provider_table(&bench.provider, 0), run_around, &around);
    sw_bytes_free(operate(bench.stack, SW_OPERATION_PREVIEW, SW_STATUS_OK));
    CHECK(around.before.calls == 1 && around.after.calls == 0);
    sw_bytes_free(operate(bench.stack, SW_OPERATION_UPDATE, SW_STATUS_OK));
    CHECK(pthread_join(around.after.thread, NULL) == 0);
    CHECK(around.before.calls == 2 && around.after.calls == 1 && around.removed.calls == 0);
    expect_request(&around.before, "/urn", "\"" URN "\"");
    expect_request(&around.before, "/id", "\"\"");
    expect_request(&around.before, "/newInputs", "{\"size\":1}");
    expect_request(&around.before, "/newOutputs", "null");
    expect_request(&around.after, "/id", "\"a\"");
    expect_request(&around.after, "/newOutputs", "{\"size\":1}");
    expect_request(&around.after, "/newOptions/resourceHooks/AfterCreate", "[\"after\"]");
    /* The resource is deleted at the end of the run, after the program has returned. */
    around.declares = 0;
    sw_bytes_free(operate(bench.stack, SW_OPERATION_UPDATE, SW_STATUS_OK));
    CHECK(around.removed.calls == 1 && bench.provider.deletes == 1);
    expect_request(&around.removed, "/oldInputs", "{\"size\":1}");
    expect_request(&around.removed, "/newInputs", "null");
    bench_close(&bench);
    /* Each of the three runs has registered them. */
    for (int index = 0; index < 3; index++)
        CHECK(all[index]->frees == 3 && all[index]->given_up == 0);
}

/* ---- failures ---- */

struct failing {
    struct function function;
    const char *bindings, *text;
    uint32_t options;
    sw_status_t status;
    int creates;
};

static int32_t run_failing(void *user_data, sw_context_t *context)
{
    struct failing *failing = user_data;
    sw_error_t *error = NULL;
    char text[512];
    sw_function_t table = function_table(&failing->function, 0);
    OK(sw_context_register_hook(context, sw_text("hook"), failing->options, &table, &error));
    snprintf(text, sizeof text, THING "%s}", failing->bindings);
    sw_context_register(context, sw_text(text), NULL, NULL);
    return SW_STATUS_OK;
}

static void failures_name_the_hook(void)
{
#define BEFORE "{\"BeforeCreate\": [\"hook\"]}"
#define AFTER "{\"AfterCreate\": [\"hook\"]}"
    struct failing cases[] = {
        {FUNCTION(FAIL, "the door is shut"), BEFORE, "the door is shut", 0, SW_STATUS_FAILED, 0},
        {FUNCTION(FAIL_WITH, "{\"message\": \"it is late\"}"), BEFORE, "it is late", 0, SW_STATUS_FAILED, 0},
        {FUNCTION(FREE, ""), BEFORE, "the host freed the completion of hook without a response", 0, SW_STATUS_FAILED, 0},
        {FUNCTION(SUCCEED, "no JSON"), BEFORE, "malformed hook response from the host", 0, SW_STATUS_FAILED, 0},
        {FUNCTION(SUCCEED, "{\"retry\": true}"), BEFORE, "malformed hook response from the host", 0, SW_STATUS_FAILED, 0},
        {FUNCTION(FAIL, "the door is open"), AFTER, "the door is open", 0, SW_STATUS_FAILED, 1},
        {FUNCTION(FAIL, "ignored"), BEFORE, "ignored", SW_HOOK_IGNORE_ERRORS, SW_STATUS_OK, 1},
        {FUNCTION(TWICE, ""), BEFORE, "\"create\":2", 0, SW_STATUS_OK, 1},
        {FUNCTION(SUCCEED, ""), "{\"BeforeCreate\": [\"lost\"]}", "was not registered", 0, SW_STATUS_FAILED, 0},
    };
    for (size_t index = 0; index < sizeof cases / sizeof *cases; index++) {
        struct failing *failing = &cases[index];
        struct bench bench = {.provider = {.held_flag = FLAG}};
        bench_open(&bench, provider_table(&bench.provider, 0), run_failing, failing);
        expect_text(operate(bench.stack, SW_OPERATION_UPDATE, failing->status), failing->text);
        bench_close(&bench);
        CHECK(failing->function.frees == 1 && bench.provider.creates == failing->creates);
    }
}

/* ---- hooks after failures ---- */

struct attempts {
    struct provider provider;
    struct function hook;
    int failures; /* how many creates fail */
};

static void create_at_last(void *user_data, sw_bytes_view_t request, sw_completion_t *completion)
{
    struct attempts *attempts = user_data;
    (void)request;
    if (++attempts->provider.creates <= attempts->failures)
        CHECK(sw_completion_fail(completion, SW_PROVIDER_STATUS_UNAVAILABLE, sw_text("too busy")) == SW_STATUS_OK);
    else
        answer(completion, "\"a\"", "{}");
}

static int32_t run_attempts(void *user_data, sw_context_t *context)
{
    struct attempts *attempts = user_data;
    sw_error_t *error = NULL;
    sw_function_t table = function_table(&attempts->hook, 0);
    OK(sw_context_register_error_hook(context, sw_text("again"), &table, &error));
    sw_context_register(context, sw_text(THING "{\"OnError\": [\"again\"]}}"), NULL, NULL);
    return SW_STATUS_OK;
}

static void error_hooks_decide_whether_a_step_is_tried_again(void)
{
    static const struct {
        enum answer answer;
        const char *decision, *text;
        sw_status_t status;
        int creates;
    } cases[] = {
        {SUCCEED, "{\"retry\": true}", "\"create\":2", SW_STATUS_OK, 3},
        {TWICE, "{\"retry\": true}", "\"create\":2", SW_STATUS_OK, 3},
        {SUCCEED, "{\"retry\": false}", "too busy", SW_STATUS_FAILED, 1},
        {SUCCEED, "", "too busy", SW_STATUS_FAILED, 1},
        {FAIL, "no opinion", "no opinion", SW_STATUS_FAILED, 1},
        {SUCCEED, "{\"retry\": 1}", "malformed hook response from the host", SW_STATUS_FAILED, 1},
    };
    for (size_t index = 0; index < sizeof cases / sizeof *cases; index++) {
        struct attempts attempts = {{.held_flag = FLAG}, FUNCTION(cases[index].answer, cases[index].decision), 2};
        struct bench bench = {.provider = {.held_flag = FLAG}};
        sw_provider_t table = provider_table(&attempts.provider, 0);
        table.create = create_at_last;
        bench_open(&bench, table, run_attempts, &attempts);
        expect_text(operate(bench.stack, SW_OPERATION_UPDATE, cases[index].status), cases[index].text);
        bench_close(&bench);
        expect_request(&attempts.hook, "/failedOperation", "\"create\"");
        expect_request(&attempts.hook, "/newInputs", "{\"size\":1}");
        CHECK(strstr(attempts.hook.last, "too busy"));
        CHECK(attempts.provider.creates == cases[index].creates && attempts.hook.frees == 1);
    }
}

/* ---- misuse ---- */

static int32_t run_misuse(void *user_data, sw_context_t *context)
{
    struct function *functions = user_data;
    sw_error_t *error = NULL;
    sw_function_t table = function_table(&functions[0], 0), bad = function_table(&functions[1], 0);
    sw_bytes_view_t name = sw_text("gate");
    OK(sw_context_register_hook(context, name, 0, &table, &error));
    FAILS(sw_context_register_hook(context, name, 0, &bad, &error), SW_STATUS_INVALID_INPUT, "resource hook already registered for name \"gate\"");
    FAILS(sw_context_register_error_hook(context, name, &bad, &error), SW_STATUS_INVALID_INPUT, "already registered");
    FAILS(sw_context_register_hook(context, sw_text(""), 0, &bad, &error), SW_STATUS_INVALID_INPUT, "name cannot be empty");
    FAILS(sw_context_register_hook(context, sw_text("new"), 4, &bad, &error), SW_STATUS_MISUSE, "unknown options");
    FAILS(sw_context_register_hook(context, sw_text("new"), 0, NULL, &error), SW_STATUS_MISUSE, "the hook is null");
    FAILS(sw_context_register_error_hook(context, (sw_bytes_view_t){NULL, 3}, &bad, &error), SW_STATUS_MISUSE, "null");
    bad.call = NULL;
    FAILS(sw_context_register_error_hook(context, sw_text("new"), &bad, &error), SW_STATUS_MISUSE, "has no call function");
    FAILS(sw_context_register_hook(NULL, name, 0, &table, &error), SW_STATUS_MISUSE, "context is null");
    FAILS(sw_context_register_error_hook(NULL, name, &table, &error), SW_STATUS_MISUSE, "context is null");
    return SW_STATUS_OK;
}

static void a_hook_that_was_not_registered_still_belongs_to_the_host(void)
{
    struct bench bench = {.provider = {.held_flag = FLAG}};
    struct function functions[2] = {FUNCTION(SUCCEED, ""), FUNCTION(SUCCEED, "")};
    bench_open(&bench, provider_table(&bench.provider, 0), run_misuse, functions);
    sw_bytes_free(operate(bench.stack, SW_OPERATION_UPDATE, SW_STATUS_OK));
    bench_close(&bench);
    CHECK(functions[0].frees == 1 && functions[1].frees == 0);
}

/* ---- cancellation ---- */

static int32_t run_held(void *user_data, sw_context_t *context)
{
    sw_error_t *error = NULL;
    sw_function_t table = function_table(user_data, 0);
    OK(sw_context_register_hook(context, sw_text("slow"), 0, &table, &error));
    sw_context_register(context, sw_text(THING "{\"BeforeCreate\": [\"slow\"]}}"), NULL, NULL);
    return SW_STATUS_OK;
}

/* The host completes the cancelled call before or after the end of the runtime. */
static void a_cancelled_hook_is_given_up_once(void)
{
    for (int after_runtime = 0; after_runtime < 2; after_runtime++) {
        struct bench bench = {.provider = {.held_flag = FLAG}};
        struct function function = FUNCTION(HOLD, "");
        sw_error_t *error = NULL;
        sw_operation_t *operation = NULL;
        bench_open(&bench, provider_table(&bench.provider, 0), run_held, &function);
        OK(sw_stack_start(bench.stack, SW_OPERATION_UPDATE, sw_text(""), NULL, &operation, &error));
        flag_wait(&function.began, 1);
        CHECK(sw_operation_cancel(operation) == SW_STATUS_OK);
        FAILS(sw_operation_wait(operation, NULL, &error), SW_STATUS_CANCELLED, "");
        flag_wait(&function.abandoned, 1);
        CHECK(function.given_up_call == sw_completion_id(function.held) && sw_completion_is_cancelled(function.held));
        sw_operation_free(operation);
        if (!after_runtime)
            CHECK(sw_completion_succeed(function.held, sw_text("")) == SW_STATUS_OK);
        bench_close(&bench);
        if (after_runtime)
            sw_completion_free(function.held);
        CHECK(sw_completion_succeed(function.held, sw_text("")) == SW_STATUS_MISUSE);
        CHECK(function.calls == 1 && function.frees == 1 && function.given_up == 1 && bench.provider.creates == 0);
    }
}

int main(void)
{
    RUN(hooks_run_before_and_after_steps);
    RUN(failures_name_the_hook);
    RUN(error_hooks_decide_whether_a_step_is_tried_again);
    RUN(a_hook_that_was_not_registered_still_belongs_to_the_host);
    RUN(a_cancelled_hook_is_given_up_once);
    return 0;
}
