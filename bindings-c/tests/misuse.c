/* Misuse is reported as an error and does not crash: nulls, bad texts, calls in the wrong place. */
#include "support.h"

static void structures_of_earlier_headers_are_accepted(void)
{
    sw_error_t *error = NULL;
    sw_runtime_t *runtime = NULL;
    sw_engine_t *engine = NULL;
    struct provider provider = {.held_flag = FLAG};
    /* Copied into blocks of the exact size, so that valgrind detects reads beyond it. */
    sw_runtime_options_t threads = {offsetof(sw_runtime_options_t, thread_name), 1, 0, sw_text("")};
    sw_runtime_options_t *old_threads = malloc(threads.struct_size);
    memcpy(old_threads, &threads, threads.struct_size);
    OK(sw_runtime_new(old_threads, &runtime, &error));
    sw_provider_t table = provider_table(&provider, 0), *old_table = malloc(offsetof(sw_provider_t, invoke));
    table.struct_size = offsetof(sw_provider_t, invoke);
    memcpy(old_table, &table, table.struct_size);
    sw_host_t hooks = {.struct_size = offsetof(sw_host_t, encrypt), .version = SW_HOST_VERSION};
    sw_host_t *old_hooks = malloc(hooks.struct_size);
    memcpy(old_hooks, &hooks, hooks.struct_size);
    sw_package_t package = {sizeof package, sw_text("test"), old_table};
    sw_engine_options_t options = {sizeof options, runtime, sw_text("{\"store\": \"memory://\"}"), &package, 1, old_hooks};
    OK(sw_engine_new(&options, &engine, &error));
    sw_engine_free(engine);
    options.struct_size = offsetof(sw_engine_options_t, host);
    OK(sw_engine_new(&options, &engine, &error));
    sw_engine_free(engine);
    /* Larger than any known version, or ending inside of a member. */
    options.struct_size = sizeof options + sizeof(size_t);
    FAILS(sw_engine_new(&options, &engine, &error), SW_STATUS_MISUSE, "struct_size");
    options.struct_size = sizeof options - 1;
    FAILS(sw_engine_new(&options, &engine, &error), SW_STATUS_MISUSE, "struct_size");
    OK(sw_runtime_free(runtime));
    CHECK(provider.frees == 2);
    free(old_threads), free(old_table), free(old_hooks);
}

static void null_is_refused_or_allowed_in_every_function(void)
{
    sw_error_t *error = NULL;
    sw_runtime_t *runtime = NULL;
    sw_engine_t *engine = NULL;
    sw_stack_t *stack = NULL;
    sw_operation_t *operation = NULL;
    sw_bytes_t *bytes = NULL;
    sw_bytes_view_t none = {NULL, 0};
    sw_engine_options_t options;
    memset(&options, 0, sizeof options);

    FAILS(sw_runtime_new(NULL, NULL, &error), SW_STATUS_MISUSE, "null");
    FAILS(sw_engine_new(NULL, &engine, &error), SW_STATUS_MISUSE, "null");
    FAILS(sw_engine_new(&options, &engine, &error), SW_STATUS_MISUSE, "struct_size");
    options.struct_size = sizeof options;
    FAILS(sw_engine_new(&options, &engine, &error), SW_STATUS_MISUSE, "runtime is null");
    FAILS(sw_engine_stacks(NULL, none, false, &bytes, &error), SW_STATUS_MISUSE, "engine is null");
    FAILS(sw_stack_open(NULL, none, none, NULL, &stack, &error), SW_STATUS_MISUSE, "engine is null");
    FAILS(sw_stack_start(NULL, 0, none, NULL, &operation, &error), SW_STATUS_MISUSE, "stack is null");
    FAILS(sw_stack_export_deployment(NULL, false, &bytes, &error), SW_STATUS_MISUSE, "stack is null");
    FAILS(sw_stack_import_deployment(NULL, none, &error), SW_STATUS_MISUSE, "stack is null");
    FAILS(sw_stack_edit(NULL, none, NULL, &error), SW_STATUS_MISUSE, "stack is null");
    FAILS(sw_stack_move_resources(NULL, NULL, none, NULL, &error), SW_STATUS_MISUSE, "stack is null");
    FAILS(sw_stack_outputs(NULL, false, &bytes, &error), SW_STATUS_MISUSE, "stack is null");
    FAILS(sw_stack_history(NULL, NULL, &error), SW_STATUS_MISUSE, "pointer for the document is null");
    FAILS(sw_stack_remove(NULL, true, 0, &error), SW_STATUS_MISUSE, "stack is null");
    FAILS(sw_operation_wait(NULL, NULL, &error), SW_STATUS_MISUSE, "operation is null");
    FAILS(sw_operation_deployment(NULL, &bytes, &error), SW_STATUS_MISUSE, "operation is null");
    FAILS(sw_operation_picture(NULL, SW_PICTURE_HTML, &bytes, &error), SW_STATUS_MISUSE, "operation is null");
    FAILS(sw_plan_picture(none, SW_PICTURE_HTML, NULL, &error), SW_STATUS_MISUSE, "pointer for the picture is null");
    FAILS(sw_stack_picture(NULL, SW_PICTURE_HTML, &bytes, &error), SW_STATUS_MISUSE, "stack is null");
    FAILS(sw_operation_wait_async(NULL, NULL, NULL, &error), SW_STATUS_MISUSE, "operation is null");
    FAILS(sw_operation_next_event(NULL, &bytes, &error), SW_STATUS_MISUSE, "operation is null");
    FAILS(sw_operation_next_output(NULL, &bytes, &error), SW_STATUS_MISUSE, "operation is null");
    FAILS(sw_operation_next_output_async(NULL, NULL, NULL, &error), SW_STATUS_MISUSE, "operation is null");
    FAILS(sw_operation_release(NULL, &error), SW_STATUS_MISUSE, "operation is null");
    FAILS(sw_operation_release_async(NULL, NULL, NULL, &error), SW_STATUS_MISUSE, "operation is null");
    FAILS(sw_operation_result(NULL, &bytes, &error), SW_STATUS_MISUSE, "operation is null");
    FAILS(sw_context_register(NULL, none, &bytes, &error), SW_STATUS_MISUSE, "context is null");
    FAILS(sw_context_register_async(NULL, none, NULL, NULL, &error), SW_STATUS_MISUSE, "context is null");
    FAILS(sw_context_export(NULL, none, none, &error), SW_STATUS_MISUSE, "context is null");
    FAILS(sw_context_call_method(NULL, none, &bytes, &error), SW_STATUS_MISUSE, "context is null");
    FAILS(sw_context_call_method_async(NULL, none, NULL, NULL, &error), SW_STATUS_MISUSE, "context is null");
    CHECK(sw_operation_cancel(NULL) == SW_STATUS_MISUSE);
    CHECK(sw_completion_succeed(NULL, none) == SW_STATUS_MISUSE);
    CHECK(sw_completion_fail(NULL, 2, none) == SW_STATUS_MISUSE);
    CHECK(sw_completion_fail_with(NULL, none) == SW_STATUS_MISUSE);
    /* With null as the place for the error. */
    CHECK(sw_runtime_new(NULL, NULL, NULL) == SW_STATUS_MISUSE);

    sw_bytes_free(NULL);
    sw_error_free(NULL);
    sw_completion_free(NULL);
    sw_operation_free(NULL);
    sw_stack_free(NULL);
    sw_engine_free(NULL);
    CHECK(sw_runtime_free(NULL) == SW_STATUS_OK);
    CHECK(sw_context_info(NULL) == NULL && sw_context_is_ended(NULL));
    CHECK(sw_bytes_data(NULL) == NULL && sw_bytes_length(NULL) == 0 && sw_bytes_view(NULL).length == 0);
    CHECK(sw_error_message(NULL) == NULL && sw_error_page(NULL) == NULL && sw_error_hint(NULL, 0) == NULL && sw_error_kind(NULL) == SW_STATUS_OK);
    CHECK(sw_completion_id(NULL) == 0);
    CHECK(strcmp(sw_status_name(4711), "unknown") == 0 && strcmp(sw_status_name(-1), "misuse") == 0);
    CHECK(runtime == NULL && engine == NULL && stack == NULL && operation == NULL && bytes == NULL);
}

static void errors_name_bad_texts_and_documents(void)
{
    sw_error_t *error = NULL;
    struct provider provider = {.held_flag = FLAG};
    sw_runtime_t *runtime = make_runtime(1);
    sw_provider_t table = provider_table(&provider, 0);
    sw_package_t package = {sizeof package, sw_text("test"), &table};
    sw_engine_options_t options = {sizeof options, runtime, sw_text("{"), &package, 1, NULL};
    sw_engine_t *engine = NULL;
    sw_stack_t *stack = NULL;
    sw_operation_t *operation = NULL;

    FAILS(sw_engine_new(&options, &engine, &error), SW_STATUS_INVALID_INPUT, "the options of an engine are not JSON");
    options.settings = sw_text("{\"stor\": \"memory://\"}");
    FAILS(sw_engine_new(&options, &engine, &error), SW_STATUS_INVALID_INPUT, "stor");
    options.settings = sw_text("{\"store\": \"carrier-pigeon://coop\"}");
    FAILS(sw_engine_new(&options, &engine, &error), SW_STATUS_INVALID_INPUT, "carrier-pigeon");
    options.settings = sw_text("{\"store\": \"memory://\", \"plugins\": {\"poolCapacity\": -1}}");
    FAILS(sw_engine_new(&options, &engine, &error), SW_STATUS_INVALID_INPUT, "plugins.poolCapacity takes a whole number");
    options.settings = sw_text("{\"store\": \"memory://\", \"passphrase\": \"\"}");
    FAILS(sw_engine_new(&options, &engine, &error), SW_STATUS_INVALID_INPUT, "the passphrase of the engine is empty");
    options.settings = sw_text("{\"store\": \"memory://\"}");
    package.package = (sw_bytes_view_t){"\xff\xfe", 2};
    FAILS(sw_engine_new(&options, &engine, &error), SW_STATUS_INVALID_INPUT, "UTF-8");
    package.package = (sw_bytes_view_t){NULL, 4};
    FAILS(sw_engine_new(&options, &engine, &error), SW_STATUS_MISUSE, "null");
    package.package = sw_text("test");
    table.version = 77;
    FAILS(sw_engine_new(&options, &engine, &error), SW_STATUS_MISUSE, "version");
    table.version = SW_PROVIDER_VERSION;
    CHECK(provider.frees == 0 && engine == NULL);

    OK(sw_engine_new(&options, &engine, &error));
    FAILS(sw_stack_open(engine, sw_text("no-slash"), sw_text(""), NULL, &stack, &error), SW_STATUS_INVALID_INPUT, "no-slash");
    FAILS(sw_stack_open(engine, sw_text("\xc3\x28/dev"), sw_text(""), NULL, &stack, &error), SW_STATUS_INVALID_INPUT, "UTF-8");
    FAILS(sw_stack_open(engine, sw_text("shop/dev"), sw_text("{\"config\": 3}"), NULL, &stack, &error), SW_STATUS_INVALID_INPUT, "config takes values by key");
    FAILS(sw_stack_open(engine, sw_text("shop/dev"), sw_text("{\"config\": {\"a\": \"b\", \"key\": {\"value\": 1, \"secret\": 1}}}"), NULL, &stack, &error),
          SW_STATUS_INVALID_INPUT, "configuration key shop:key: ");
    FAILS(sw_stack_open(engine, sw_text("shop/dev"), sw_text("{\"create\": false}"), NULL, &stack, &error), SW_STATUS_NOT_FOUND, "shop/dev");
    sw_program_t program = {sizeof program, SW_PROGRAM_VERSION, NULL, NULL, NULL};
    FAILS(sw_stack_open(engine, sw_text("shop/dev"), sw_text(""), &program, &stack, &error), SW_STATUS_MISUSE, "run");
    CHECK(stack == NULL);
    OK(sw_stack_open(engine, sw_text("shop/dev"), sw_text(""), NULL, &stack, &error));
    FAILS(sw_stack_start(stack, 99, sw_text(""), NULL, &operation, &error), SW_STATUS_MISUSE, "99");
    FAILS(sw_stack_start(stack, SW_OPERATION_UPDATE, sw_text("{\"paralel\": 1}"), NULL, &operation, &error), SW_STATUS_INVALID_INPUT, "paralel");
    FAILS(sw_stack_import_deployment(stack, sw_text("not a deployment"), &error), sw_error_kind(error), "");
    OK(sw_stack_start(stack, SW_OPERATION_UPDATE, sw_text(""), NULL, &operation, &error));
    FAILS(sw_operation_wait(operation, NULL, &error), SW_STATUS_INVALID_INPUT, "program");
    sw_operation_free(operation);
    sw_stack_free(stack);
    sw_engine_free(engine);
    OK(sw_runtime_free(runtime));
    CHECK(provider.frees == 1);
}

struct callback_data {
    sw_runtime_t *runtime;
    const sw_operation_t *operation;
    struct flag called;
};

static void in_a_callback(void *user_data, sw_status_t status, sw_bytes_view_t result, const sw_error_t *lent)
{
    struct callback_data *inside = user_data;
    sw_error_t *error = NULL;
    sw_bytes_t *event = NULL;
    /* The program returned SW_STATUS_OK, but its first registration was refused. */
    CHECK(status == SW_STATUS_OK && lent == NULL && result.length > 0);
    CHECK(strstr((const char *)result.data, "\"outcome\":\"failed\"") && strstr((const char *)result.data, "callback is null"));
    CHECK(sw_runtime_free(inside->runtime) == SW_STATUS_MISUSE);
    FAILS(sw_operation_wait(inside->operation, NULL, &error), SW_STATUS_MISUSE, "callback");
    FAILS(sw_operation_next_event(inside->operation, &event, &error), SW_STATUS_MISUSE, "callback");
    CHECK(event == NULL);
    flag_raise(&inside->called);
}

static int32_t run_inside(void *user_data, sw_context_t *context)
{
    struct callback_data *inside = user_data;
    sw_error_t *error = NULL;
    sw_bytes_t *result = NULL;
    CHECK(sw_runtime_free(inside->runtime) == SW_STATUS_MISUSE);
    FAILS(sw_context_register_async(context, sw_text("{\"type\": \"test:index:Thing\", \"name\": \"a\"}"), NULL, NULL, &error), SW_STATUS_MISUSE, "callback is null");
    FAILS(sw_context_register(context, sw_text("["), &result, &error), SW_STATUS_INVALID_INPUT, "registration");
    FAILS(sw_context_register(context, sw_text("{\"type\": \"test:index:Thing\", \"name\": \"a\", \"protct\": 1}"), &result, &error), SW_STATUS_INVALID_INPUT, "protct");
    FAILS(sw_context_register(context, sw_text("{\"type\": \"test:index:Thing\", \"name\": \"a\", \"aliases\": [{\"name\": \"b\"}, \"b\"]}"), &result, &error),
          SW_STATUS_INVALID_INPUT, "aliases[1] takes a URN");
    FAILS(sw_context_export(context, sw_text("a"), sw_text("not json"), &error), SW_STATUS_INVALID_INPUT, "output");
    FAILS(sw_context_log(context, 9, sw_text("a"), sw_text(""), &error), SW_STATUS_MISUSE, "severity");
    FAILS(sw_context_log(context, SW_SEVERITY_INFO, sw_text("a"), sw_text("no urn"), &error), SW_STATUS_INVALID_INPUT, "");
    CHECK(result == NULL);
    return SW_STATUS_OK;
}

static void blocking_calls_are_refused_in_callbacks_and_programs(void)
{
    sw_error_t *error = NULL;
    struct provider provider = {.held_flag = FLAG};
    struct callback_data inside = {.called = FLAG};
    sw_runtime_t *runtime = make_runtime(1);
    sw_provider_t table = provider_table(&provider, 0);
    sw_engine_t *engine = make_engine(runtime, "{\"store\": \"memory://\"}", &table);
    sw_program_t program = {sizeof program, SW_PROGRAM_VERSION, &inside, NULL, run_inside};
    sw_stack_t *stack = NULL;
    sw_operation_t *operation = NULL;
    inside.runtime = runtime;
    OK(sw_stack_open(engine, sw_text("shop/inside"), sw_text(""), &program, &stack, &error));
    OK(sw_stack_start(stack, SW_OPERATION_UPDATE, sw_text(""), NULL, &operation, &error));
    inside.operation = operation;
    OK(sw_operation_wait_async(operation, in_a_callback, &inside, &error));
    flag_wait(&inside.called, 1);
    FAILS(sw_operation_wait_async(operation, NULL, NULL, &error), SW_STATUS_MISUSE, "callback is null");
    sw_operation_free(operation);
    sw_stack_free(stack);
    sw_engine_free(engine);
    OK(sw_runtime_free(runtime));
    CHECK(flag_count(&inside.called) == 1);
}

static void json_helpers_find_and_quote(void)
{
    sw_error_t *error = NULL;
    sw_bytes_t *found = NULL;
    OK(sw_json_text(sw_text("{\"a\": [\"x\\ny\"]}"), sw_text("/a/0"), &found, &error));
    CHECK(strcmp(sw_bytes_data(found), "x\ny") == 0);
    sw_bytes_free(found);
    OK(sw_json_get(sw_text("{\"a\": 1}"), sw_text("/b"), &found, &error));
    CHECK(found == NULL);
    FAILS(sw_json_text(sw_text("{\"a\": 1}"), sw_text("/a"), &found, &error), SW_STATUS_INVALID_INPUT, "string");
    FAILS(sw_json_get(sw_text("{"), sw_text("/a"), &found, &error), SW_STATUS_INVALID_INPUT, "JSON");
    FAILS(sw_json_quote((sw_bytes_view_t){"\xff", 1}, &found, &error), SW_STATUS_INVALID_INPUT, "UTF-8");
    OK(sw_json_quote(sw_text("a\"b"), &found, &error));
    CHECK(strcmp(sw_bytes_data(found), "\"a\\\"b\"") == 0);
    sw_bytes_free(found);
}

/* Under valgrind a read beyond the size fails this test. */
static void structures_are_not_read_beyond_their_size(void)
{
    sw_error_t *error = NULL;
    sw_engine_t *engine = NULL;
    sw_stack_t *stack = NULL;
    sw_runtime_t *runtime = make_runtime(1), *other = NULL;
    struct provider provider = {.held_flag = FLAG};
    sw_provider_t table = provider_table(&provider, 0);
    size_t *small = (size_t *)malloc(sizeof *small);
    *small = sizeof *small;
    FAILS(sw_runtime_new((sw_runtime_options_t *)small, &other, &error), SW_STATUS_MISUSE, "struct_size");
    FAILS(sw_engine_new((sw_engine_options_t *)small, &engine, &error), SW_STATUS_MISUSE, "struct_size");
    sw_package_t package = {sizeof package, sw_text("test"), (sw_provider_t *)small};
    sw_engine_options_t options = {sizeof options, runtime, sw_text("{\"store\": \"memory://\"}"), &package, 1, NULL};
    FAILS(sw_engine_new(&options, &engine, &error), SW_STATUS_MISUSE, "struct_size");
    options.packages = (sw_package_t *)small;
    FAILS(sw_engine_new(&options, &engine, &error), SW_STATUS_MISUSE, "struct_size");
    options.packages = &package, package.provider = &table, options.host = (sw_host_t *)small;
    FAILS(sw_engine_new(&options, &engine, &error), SW_STATUS_MISUSE, "struct_size");
    options.host = NULL;
    OK(sw_engine_new(&options, &engine, &error));
    FAILS(sw_stack_open(engine, sw_text("a/b"), sw_text(""), (sw_program_t *)small, &stack, &error), SW_STATUS_MISUSE, "struct_size");
    sw_engine_free(engine);
    OK(sw_runtime_free(runtime));
    free(small);
}

int main(void)
{
    RUN(structures_are_not_read_beyond_their_size);
    RUN(structures_of_earlier_headers_are_accepted);
    RUN(null_is_refused_or_allowed_in_every_function);
    RUN(errors_name_bad_texts_and_documents);
    RUN(blocking_calls_are_refused_in_callbacks_and_programs);
    RUN(json_helpers_find_and_quote);
    return 0;
}
