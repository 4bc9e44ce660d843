/* Transforms of the host: of the stack, of named ones for a resource, and of calls of functions. */
#include "functions.h"

#define THING(name, inputs) "{\"type\": \"test:index:Thing\", \"name\": \"" name "\", \"inputs\": " inputs "}"

/* ---- changes ---- */

struct changes {
    struct function stack, invokes, first, second;
};

static int32_t run_changes(void *user_data, sw_context_t *context)
{
    struct changes *changes = user_data;
    sw_error_t *error = NULL;
    sw_bytes_t *registered = NULL, *echo = NULL;
    sw_function_t stack = function_table(&changes->stack, SW_FUNCTION_PROMPT), invokes = function_table(&changes->invokes, 0);
    sw_function_t first = function_table(&changes->first, 0), second = function_table(&changes->second, 0);
    OK(sw_context_add_transform(context, &stack, &error));
    OK(sw_context_add_invoke_transform(context, &invokes, &error));
    OK(sw_context_define_transform(context, sw_text("first"), &first, &error));
    OK(sw_context_define_transform(context, sw_text("second"), &second, &error));
    OK(sw_context_register(context, sw_text("{\"type\": \"test:index:Thing\", \"name\": \"a\", \"inputs\": {\"size\": 1},"
        " \"protect\": true, \"transforms\": [\"first\", \"second\"]}"), &registered, &error));
    expect_at(registered, "/outputs", "{\"size\":2,\"tag\":\"all\"}");
    sw_bytes_free(registered);
    /* Without transforms of its own; the child of `a` inherits those of `a`. */
    OK(sw_context_register(context, sw_text(THING("b", "{\"size\": 5}")), &registered, &error));
    expect_at(registered, "/outputs", "{\"size\":2,\"tag\":\"all\"}");
    sw_bytes_free(registered);
    CHECK(changes->first.calls == 1 && changes->second.calls == 1 && changes->stack.calls == 2);
    OK(sw_context_register(context, sw_text("{\"type\": \"test:index:Thing\", \"name\": \"c\","
        " \"parent\": \"urn:pulumi:dev::shop::test:index:Thing::a\"}"), NULL, &error));
    CHECK(changes->first.calls == 2 && changes->second.calls == 2 && changes->stack.calls == 3);
    OK(sw_context_invoke(context, sw_text("{\"token\": \"test:index:echo\", \"arguments\": {\"a\": 1}}"), &echo, &error));
    expect_at(echo, "/echo", "{\"region\":\"north\"}");
    sw_bytes_free(echo);
    return SW_STATUS_OK;
}

static void transforms_change_resources_and_calls_of_functions(void)
{
    struct bench bench = {.provider = {.held_flag = FLAG}};
    struct changes changes = {
        FUNCTION(SUCCEED, "{\"inputs\": {\"size\": 2, \"tag\": \"all\"}}"),
        FUNCTION(ON_ANOTHER_THREAD, "{\"arguments\": {\"region\": \"north\"}}"),
        FUNCTION(SUCCEED, ""),
        FUNCTION(SUCCEED, "{\"options\": {\"retainOnDelete\": true}}"),
    };
    struct function *all[] = {&changes.stack, &changes.invokes, &changes.first, &changes.second};
    bench_open(&bench, provider_table(&bench.provider, 0), run_changes, &changes);
    sw_bytes_free(operate(bench.stack, SW_OPERATION_UPDATE, SW_STATUS_OK));
    CHECK(pthread_join(changes.invokes.thread, NULL) == 0);
    expect_request(&changes.invokes, "/token", "\"test:index:echo\"");
    expect_request(&changes.invokes, "/arguments", "{\"a\":1}");
    expect_request(&changes.stack, "/type", "\"test:index:Thing\"");
    expect_request(&changes.stack, "/name", "\"c\"");
    expect_request(&changes.stack, "/custom", "true");
    expect_request(&changes.stack, "/parent", "\"urn:pulumi:dev::shop::test:index:Thing::a\"");
    /* The option of `second` and those of the registration reach the transform of the stack. */
    expect_request(&changes.stack, "/options/retainOnDelete", "true");
    expect_request(&changes.stack, "/options/protect", "true");
    bench_close(&bench);
    for (int index = 0; index < 4; index++)
        CHECK(all[index]->frees == 1 && all[index]->given_up == 0);
}

/* ---- failures ---- */

struct failing {
    struct function function;
    int of_invokes;
    const char *text;
    sw_status_t status;
};

static int32_t run_failing(void *user_data, sw_context_t *context)
{
    struct failing *failing = user_data;
    sw_error_t *error = NULL;
    sw_function_t table = function_table(&failing->function, 0);
    if (failing->of_invokes) {
        OK(sw_context_add_invoke_transform(context, &table, &error));
        FAILS(sw_context_invoke(context, sw_text("{\"token\": \"test:index:echo\"}"), NULL, &error), failing->status, failing->text);
    } else {
        OK(sw_context_add_transform(context, &table, &error));
        FAILS(sw_context_register(context, sw_text(THING("a", "{}")), NULL, &error), failing->status, failing->text);
    }
    return SW_STATUS_OK;
}

#define OF_A "transform 1 of the stack for resource 'a': "

static void failures_name_the_resource_and_the_transform(void)
{
    struct failing cases[] = {
        {FUNCTION(FAIL, "no more paint"), 0, OF_A "no more paint", SW_STATUS_PROVIDER},
        {FUNCTION(FAIL_WITH, "{\"message\": \"no brush\"}"), 0, OF_A "no brush", SW_STATUS_PROVIDER},
        {FUNCTION(FAIL_WITH, "no JSON"), 0, OF_A "malformed transform response from the host", SW_STATUS_INVALID_INPUT},
        {FUNCTION(FREE, ""), 0, OF_A "the host freed the completion of transform without a response", SW_STATUS_PROVIDER},
        {FUNCTION(SUCCEED, "no JSON"), 0, OF_A "invalid result of a transform", SW_STATUS_INVALID_INPUT},
        {FUNCTION(SUCCEED, "{\"input\": {}}"), 0, "input", SW_STATUS_INVALID_INPUT},
        {FUNCTION(SUCCEED, "{\"options\": {\"protct\": true}}"), 0, "protct", SW_STATUS_INVALID_INPUT},
        {FUNCTION(SUCCEED, "{\"name\": \"b\"}"), 0, OF_A "a transform cannot change `name`", SW_STATUS_INVALID_INPUT},
        {FUNCTION(FAIL, "no such region"), 1, "transform 1 of function 'test:index:echo': no such region", SW_STATUS_PROVIDER},
        {FUNCTION(SUCCEED, "3"), 1, "invalid result of a transform", SW_STATUS_INVALID_INPUT},
    };
    for (size_t index = 0; index < sizeof cases / sizeof *cases; index++) {
        struct bench bench = {.provider = {.held_flag = FLAG}};
        sw_error_t *error = NULL;
        sw_operation_t *operation = NULL;
        bench_open(&bench, provider_table(&bench.provider, 0), run_failing, &cases[index]);
        OK(sw_stack_start(bench.stack, SW_OPERATION_UPDATE, sw_text(""), NULL, &operation, &error));
        sw_operation_wait(operation, NULL, NULL);
        sw_operation_free(operation);
        bench_close(&bench);
        CHECK(cases[index].function.calls == 1 && cases[index].function.frees == 1 && bench.provider.creates == 0);
    }
}

static int32_t run_twice(void *user_data, sw_context_t *context)
{
    sw_error_t *error = NULL;
    sw_bytes_t *registered = NULL;
    sw_function_t table = function_table(user_data, 0);
    OK(sw_context_add_transform(context, &table, &error));
    OK(sw_context_register(context, sw_text(THING("a", "{}")), &registered, &error));
    expect_at(registered, "/outputs", "{\"size\":2}");
    sw_bytes_free(registered);
    return SW_STATUS_OK;
}

static void a_second_completion_is_misuse_and_changes_nothing(void)
{
    struct bench bench = {.provider = {.held_flag = FLAG}};
    struct function function = FUNCTION(TWICE, "{\"inputs\": {\"size\": 2}}");
    bench_open(&bench, provider_table(&bench.provider, 0), run_twice, &function);
    sw_bytes_free(operate(bench.stack, SW_OPERATION_UPDATE, SW_STATUS_OK));
    bench_close(&bench);
    CHECK(function.calls == 1 && function.frees == 1);
}

/* ---- misuse ---- */

static int32_t run_misuse(void *user_data, sw_context_t *context)
{
    struct function *functions = user_data;
    sw_error_t *error = NULL;
    sw_function_t table = function_table(&functions[0], 0), bad = function_table(&functions[1], 0);
    sw_bytes_view_t name = sw_text("known");
    OK(sw_context_define_transform(context, name, &table, &error));
    FAILS(sw_context_define_transform(context, name, &bad, &error), SW_STATUS_INVALID_INPUT, "there is a transform \"known\" already");
    FAILS(sw_context_define_transform(context, sw_text(""), &bad, &error), SW_STATUS_INVALID_INPUT, "name of the transform is empty");
    FAILS(sw_context_define_transform(context, (sw_bytes_view_t){"\xff", 1}, &bad, &error), SW_STATUS_INVALID_INPUT, "UTF-8");
    FAILS(sw_context_define_transform(context, sw_text("new"), NULL, &error), SW_STATUS_MISUSE, "the transform is null");
    bad.call = NULL;
    FAILS(sw_context_define_transform(context, sw_text("new"), &bad, &error), SW_STATUS_MISUSE, "has no call function");
    bad.flags = 2;
    FAILS(sw_context_define_transform(context, sw_text("new"), &bad, &error), SW_STATUS_MISUSE, "unknown flags");
    bad.version = 7;
    FAILS(sw_context_define_transform(context, sw_text("new"), &bad, &error), SW_STATUS_MISUSE, "unknown version");
    bad.struct_size = 8;
    FAILS(sw_context_define_transform(context, sw_text("new"), &bad, &error), SW_STATUS_MISUSE, "struct_size");
    return SW_STATUS_OK;
}

static int32_t run_unknown(void *user_data, sw_context_t *context)
{
    sw_error_t *error = NULL;
    (void)user_data;
    FAILS(sw_context_register(context, sw_text("{\"type\": \"test:index:Thing\", \"name\": \"a\", \"transforms\": [\"lost\"]}"), NULL, &error),
          SW_STATUS_INVALID_INPUT, "there is no transform \"lost\" for the resource \"a\"");
    return SW_STATUS_OK;
}

static int32_t run_without_function(void *user_data, sw_context_t *context)
{
    (void)user_data;
    CHECK(sw_context_add_transform(context, NULL, NULL) == SW_STATUS_MISUSE);
    return SW_STATUS_OK;
}

static void a_function_that_was_not_added_still_belongs_to_the_host(void)
{
    struct bench bench = {.provider = {.held_flag = FLAG}};
    struct function functions[2] = {FUNCTION(SUCCEED, ""), FUNCTION(SUCCEED, "")};
    bench_open(&bench, provider_table(&bench.provider, 0), run_misuse, functions);
    sw_bytes_free(operate(bench.stack, SW_OPERATION_UPDATE, SW_STATUS_OK));
    bench_close(&bench);
    CHECK(functions[0].frees == 1 && functions[1].frees == 0 && functions[0].calls == 0);
    sw_error_t *error = NULL;
    FAILS(sw_context_add_transform(NULL, NULL, &error), SW_STATUS_MISUSE, "context is null");
    FAILS(sw_context_add_invoke_transform(NULL, NULL, &error), SW_STATUS_MISUSE, "context is null");
}

/* Also when the program ignores the status: resources would be registered without the transform. */
static void a_run_fails_without_one_of_its_transforms(void)
{
    static const struct {
        sw_run_t run;
        sw_status_t status;
        const char *text;
    } cases[] = {
        {run_unknown, SW_STATUS_INVALID_INPUT, "there is no transform"},
        {run_without_function, SW_STATUS_PROGRAM, "the transform is null"},
    };
    for (size_t index = 0; index < sizeof cases / sizeof *cases; index++) {
        struct bench bench = {.provider = {.held_flag = FLAG}};
        bench_open(&bench, provider_table(&bench.provider, 0), cases[index].run, NULL);
        expect_text(operate(bench.stack, SW_OPERATION_UPDATE, cases[index].status), cases[index].text);
        bench_close(&bench);
        CHECK(bench.provider.creates == 0);
    }
}

/* ---- cancellation ---- */

static int32_t run_held(void *user_data, sw_context_t *context)
{
    sw_error_t *error = NULL;
    sw_function_t table = function_table(user_data, SW_FUNCTION_PROMPT);
    OK(sw_context_add_transform(context, &table, &error));
    return sw_context_register(context, sw_text(THING("a", "{}")), NULL, NULL);
}

/* The host completes the cancelled call before or after the end of the runtime. */
static void a_cancelled_transform_is_given_up_once(void)
{
    for (int after_runtime = 0; after_runtime < 2; after_runtime++) {
        struct bench bench = {.provider = {.held_flag = FLAG}};
        struct function function = FUNCTION(HOLD, "");
        sw_error_t *error = NULL;
        sw_operation_t *operation = NULL;
        bench_open(&bench, provider_table(&bench.provider, 0), run_held, &function);
        OK(sw_stack_start(bench.stack, SW_OPERATION_UPDATE, sw_text(""), NULL, &operation, &error));
        flag_wait(&function.began, 1);
        CHECK(function.given_up == 0 && function.frees == 0);
        CHECK(sw_operation_cancel(operation) == SW_STATUS_OK);
        FAILS(sw_operation_wait(operation, NULL, &error), SW_STATUS_CANCELLED, "");
        flag_wait(&function.abandoned, 1);
        CHECK(function.given_up == 1 && function.given_up_call == sw_completion_id(function.held));
        CHECK(sw_completion_is_cancelled(function.held));
        sw_operation_free(operation);
        if (!after_runtime)
            CHECK(sw_completion_succeed(function.held, sw_text("{}")) == SW_STATUS_OK);
        bench_close(&bench);
        if (after_runtime)
            CHECK(sw_completion_fail(function.held, SW_PROVIDER_STATUS_UNKNOWN, sw_text("late")) == SW_STATUS_OK);
        CHECK(sw_completion_succeed(function.held, sw_text("{}")) == SW_STATUS_MISUSE);
        CHECK(function.calls == 1 && function.frees == 1 && function.given_up == 1 && bench.provider.creates == 0);
    }
}

int main(void)
{
    RUN(transforms_change_resources_and_calls_of_functions);
    RUN(failures_name_the_resource_and_the_transform);
    RUN(a_second_completion_is_misuse_and_changes_nothing);
    RUN(a_function_that_was_not_added_still_belongs_to_the_host);
    RUN(a_run_fails_without_one_of_its_transforms);
    RUN(a_cancelled_transform_is_given_up_once);
    return 0;
}
