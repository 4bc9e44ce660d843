/* Lifecycle of stacks: blocking and asynchronous programs, results, events, state, failures, cancellation. */
#include "support.h"

struct program_data {
    const char *value;
    int many;
    struct flag answered;
    atomic_int frees;
};

static void program_data_free(void *user_data)
{
    ((struct program_data *)user_data)->frees++;
}

static int32_t run_waiting(void *user_data, sw_context_t *context)
{
    struct program_data *data = user_data;
    sw_error_t *error = NULL;
    sw_bytes_t *component = NULL, *child = NULL, *result = NULL;
    char text[512];
    OK(sw_context_register(context, sw_text("{\"type\": \"test:index:Group\", \"name\": \"group\", \"custom\": false}"), &component, &error));
    sw_bytes_t *urn = json_at(sw_bytes_view(component), "/urn");
    snprintf(text, sizeof text, "{\"type\": \"test:index:Thing\", \"name\": \"child\", \"parent\": %s, \"inputs\": {\"value\": \"%s\"}}",
             sw_bytes_data(urn), data->value);
    sw_status_t status = sw_context_register(context, sw_text(text), &child, NULL);
    if (status == SW_STATUS_OK) {
        sw_bytes_t *bare = NULL;
        OK(sw_json_text(sw_bytes_view(component), sw_text("/urn"), &bare, &error));
        OK(sw_context_register_outputs(context, sw_bytes_view(bare), sw_text("{\"size\": 1}"), &error));
        OK(sw_context_invoke(context, sw_text("{\"token\": \"test:index:echo\", \"arguments\": {\"a\": [1, null]}}"), &result, &error));
        expect_at(result, "/echo", "{\"a\":[1,null]}");
        OK(sw_context_export(context, sw_text("value"), sw_text("{\"4dabf18193072939515e22adb298388d\": \"1b47061264138c4ac30d75fd1eb44270\", \"value\": \"x\"}"), &error));
        OK(sw_context_log(context, SW_SEVERITY_WARNING, sw_text("mind the gap"), sw_bytes_view(bare), &error));
        sw_bytes_free(bare);
    }
    sw_bytes_t *project = json_at(sw_text(sw_context_info(context)), "/config/shop:size");
    CHECK(project && strcmp(sw_bytes_data(project), "\"large\"") == 0);
    sw_bytes_t *ports = NULL;
    OK(sw_json_text(sw_text(sw_context_info(context)), sw_text("/config/shop:net"), &ports, &error));
    CHECK(ports && strcmp(sw_bytes_data(ports), "{\"key\":\"k\",\"ports\":[80]}") == 0);
    CHECK(strstr(sw_context_info(context), "\"shop:net\""));
    sw_bytes_free(ports), sw_bytes_free(project), sw_bytes_free(result), sw_bytes_free(child), sw_bytes_free(component), sw_bytes_free(urn);
    return status;
}

static sw_program_t program_of(struct program_data *data, sw_run_t run)
{
    sw_program_t program = {sizeof program, SW_PROGRAM_VERSION, data, program_data_free, run};
    return program;
}

static void a_stack_runs_through_all_operations(void)
{
    for (uint32_t flags = 0; flags <= SW_PROVIDER_PROMPT; flags++) {
        sw_error_t *error = NULL;
        struct provider provider = {.held_flag = FLAG};
        struct program_data data = {.value = "one", .answered = FLAG};
        sw_runtime_t *runtime = make_runtime(2);
        sw_provider_t table = provider_table(&provider, flags);
        sw_engine_t *engine = make_engine(runtime, "{\"store\": \"memory://\"}", &table);
        sw_program_t program = program_of(&data, run_waiting);
        sw_stack_t *stack = NULL;
        OK(sw_stack_open(engine, sw_text("shop/dev"), sw_text("{\"config\": {\"size\": \"large\", \"shop:key\": {\"value\": \"k\", \"secret\": true},"
                         " \"net\": {\"ports\": [80], \"key\": {\"4dabf18193072939515e22adb298388d\": \"1b47061264138c4ac30d75fd1eb44270\", \"value\": \"k\"}}}}"),
                         &program, &stack, &error));
        /* A stack keeps its engine alive: the engine's handle may be freed. */
        sw_bytes_t *result = NULL;
        OK(sw_engine_stacks(engine, sw_text(""), false, &result, &error));
        expect_at(result, "/0/name", "\"shop/dev\"");
        expect_at(result, "/0/lastUpdate", "null");
        sw_bytes_free(result);
        OK(sw_engine_metrics(engine, &result, &error));
        expect_at(result, "/operations", "[]");
        expect_at(result, "/locks/taken", "0");
        sw_bytes_free(result);
        sw_engine_free(engine);

        result = operate(stack, SW_OPERATION_PREVIEW, SW_STATUS_OK);
        expect_at(result, "/changes/create", "3");
        CHECK(provider.creates == 0 || provider.creates == 1); /* the preview call, if any */
        sw_bytes_free(result);

        int creates = provider.creates;
        result = operate(stack, SW_OPERATION_UPDATE, SW_STATUS_OK);
        expect_at(result, "/outcome", "\"succeeded\"");
        expect_at(result, "/error", "null");
        expect_at(result, "/changes/create", "3");
        expect_at(result, "/outputs/value/value", "\"x\"");
        CHECK(strstr(sw_bytes_data(result), "mind the gap"));
        CHECK(strstr(sw_bytes_data(result), "test:index:Thing"));
        CHECK(provider.creates == creates + 1);
        sw_bytes_free(result);

        OK(sw_stack_outputs(stack, true, &result, &error));
        expect_at(result, "/value/value", "\"x\"");
        expect_at(result, "/value/secret", "true");
        sw_bytes_free(result);
        OK(sw_stack_outputs(stack, false, &result, &error));
        expect_at(result, "/value/value", "\"[secret]\"");
        expect_at(result, "/value/secret", "true");
        sw_bytes_free(result);
        result = operate(stack, SW_OPERATION_UPDATE, SW_STATUS_OK);
        expect_at(result, "/changes/same", "3");
        sw_bytes_free(result);
        data.value = "two";
        result = operate(stack, SW_OPERATION_UPDATE, SW_STATUS_OK);
        expect_at(result, "/changes/update", "1");
        CHECK(strstr(sw_bytes_data(result), "\"diffs\":[\"value\"]") && strstr(sw_bytes_data(result), "\"keys\":[]"));
        CHECK(provider.updates == 1);
        sw_bytes_free(result);

        OK(sw_stack_export_deployment(stack, false, &result, &error));
        expect_at(result, "/version", "3");
        OK(sw_stack_import_deployment(stack, sw_bytes_view(result), &error));
        sw_bytes_free(result);
        OK(sw_stack_edit(stack, sw_text("{\"protect\": {\"all\": true}, \"dryRun\": true}"), &result, &error));
        expect_at(result, "/dryRun", "true");
        expect_at(result, "/records/0/kind", "\"changed\"");
        sw_bytes_free(result);
        OK(sw_stack_resource(stack, sw_text("urn:pulumi:dev::shop::pulumi:pulumi:Stack::shop-dev"), false, &result, &error));
        expect_at(result, "/type", "\"pulumi:pulumi:Stack\"");
        sw_bytes_free(result);
        OK(sw_stack_edit(stack, sw_text("{\"repair\": {}}"), NULL, &error));
        if (derives_keys()) {
            OK(sw_stack_edit(stack, sw_text("{\"changeSecrets\": {\"passphrase\": \"next\"}, \"dryRun\": true}"), &result, &error));
            CHECK(strstr(sw_bytes_data(result), "outputs") && !strstr(sw_bytes_data(result), "next"));
            sw_bytes_free(result);
        }
        FAILS(sw_stack_edit(stack, sw_text("{\"changeSecrets\": {}}"), NULL, &error), SW_STATUS_INVALID_INPUT, "either a passphrase");
        FAILS(sw_stack_edit(stack, sw_text("{\"changeSecrets\": {\"secrets\": {}}}"), NULL, &error), SW_STATUS_INVALID_INPUT, "no encryption");
        FAILS(sw_stack_edit(stack, sw_text("{}"), &result, &error), SW_STATUS_INVALID_INPUT, "exactly one");
        CHECK(result == NULL);
        sw_bytes_free(operate(stack, SW_OPERATION_REFRESH, SW_STATUS_OK));
        FAILS(sw_stack_remove(stack, false, 0, &error), SW_STATUS_CONFLICT, "");
        FAILS(sw_stack_remove(stack, true, -1, &error), SW_STATUS_INVALID_INPUT, "wait_for_lock");
        FAILS(sw_stack_forget_pending(stack, sw_text("none"), false, -1, &result, &error), SW_STATUS_INVALID_INPUT, "wait_for_lock");
        result = operate(stack, SW_OPERATION_DESTROY, SW_STATUS_OK);
        expect_at(result, "/changes/delete", "3");
        CHECK(provider.deletes == 1);
        sw_bytes_free(result);
        OK(sw_stack_history(stack, &result, &error));
        CHECK(strstr(sw_bytes_data(result), "destroy"));
        sw_bytes_free(result);
        OK(sw_stack_history_page(stack, 1, 2, &result, &error));
        expect_at(result, "/0/kind", "\"refresh\"");
        sw_bytes_free(result);
        FAILS(sw_stack_history_page(stack, 1, 0, &result, &error), SW_STATUS_INVALID_INPUT, "page takes a number above 0");
        FAILS(sw_stack_resource(stack, sw_text("urn:pulumi:dev::shop::a:b:C::d"), false, &result, &error), SW_STATUS_NOT_FOUND, "no resource");
        OK(sw_stack_pending(stack, false, &result, &error));
        CHECK(strcmp(sw_bytes_data(result), "[]") == 0);
        sw_bytes_free(result);
        FAILS(sw_stack_forget_pending(stack, sw_text("none"), true, 0, &result, &error), SW_STATUS_NOT_FOUND, "no pending operation");
        OK(sw_stack_remove(stack, false, 0, &error));

        CHECK(data.frees == 0 && provider.frees == 0);
        sw_stack_free(stack);
        OK(sw_runtime_free(runtime));
        CHECK(data.frees == 1);
        CHECK(provider.frees == 1);
    }
}

static void count_answer(void *user_data, sw_status_t status, sw_bytes_view_t result, const sw_error_t *error)
{
    CHECK(status == SW_STATUS_OK && error == NULL && result.length > 0 && result.data[result.length] == '\0');
    flag_raise(user_data);
}

static int32_t run_many(void *user_data, sw_context_t *context)
{
    struct program_data *data = user_data;
    sw_error_t *error = NULL;
    char text[256];
    for (int index = 0; index < data->many; index++) {
        snprintf(text, sizeof text, "{\"type\": \"test:index:Thing\", \"name\": \"thing-%d\", \"inputs\": {\"value\": %d}}", index, index);
        OK(sw_context_register_async(context, sw_text(text), count_answer, &data->answered, &error));
    }
    /* The run ends with its last callback, not with this return. */
    return SW_STATUS_OK;
}

static void callbacks_are_called_exactly_once_before_the_run_ends(void)
{
    sw_error_t *error = NULL;
    struct provider provider = {.held_flag = FLAG};
    struct program_data data = {.many = 500, .answered = FLAG};
    sw_runtime_t *runtime = make_runtime(2);
    sw_provider_t table = provider_table(&provider, SW_PROVIDER_PROMPT);
    sw_engine_t *engine = make_engine(runtime, "{\"store\": \"memory://\"}", &table);
    sw_program_t program = program_of(&data, run_many);
    sw_stack_t *stack = NULL;
    OK(sw_stack_open(engine, sw_text("shop/many"), sw_text(""), &program, &stack, &error));
    sw_bytes_t *result = operate(stack, SW_OPERATION_UPDATE, SW_STATUS_OK);
    expect_at(result, "/changes/create", "501");
    CHECK(flag_count(&data.answered) == 500);
    CHECK(provider.creates == 500 && provider.checks == 500);
    sw_bytes_free(result);
    sw_bytes_free(operate(stack, SW_OPERATION_UPDATE, SW_STATUS_OK));
    CHECK(flag_count(&data.answered) == 1000 && provider.creates == 500);
    sw_stack_free(stack);
    sw_engine_free(engine);
    OK(sw_runtime_free(runtime));
    CHECK(flag_count(&data.answered) == 1000);
}

struct pulled {
    const sw_operation_t *operation;
    int events, last;
    struct flag ended;
};

static void pull(void *user_data, sw_status_t status, sw_bytes_view_t event, const sw_error_t *error)
{
    struct pulled *pulled = user_data;
    sw_error_t *failed = NULL;
    CHECK(status == SW_STATUS_OK && error == NULL);
    if (event.data == NULL) {
        flag_raise(&pulled->ended);
        return;
    }
    pulled->events++;
    pulled->last = strstr(event.data, "cancelEvent") != NULL;
    CHECK(sw_operation_next_event_async(pulled->operation, pull, pulled, &failed) == SW_STATUS_OK);
}

static void result_arrived(void *user_data, sw_status_t status, sw_bytes_view_t result, const sw_error_t *error)
{
    CHECK(status == SW_STATUS_OK && error == NULL && strstr(result.data, "\"succeeded\""));
    flag_raise(user_data);
}

/* The deployment is available inside of a callback, because the call does not block. */
static void check_failed_deployment(void *user_data, sw_status_t status, sw_bytes_view_t result, const sw_error_t *error)
{
    struct pulled *pulled = user_data;
    sw_error_t *refused = NULL;
    sw_bytes_t *left = NULL;
    CHECK(status == SW_STATUS_OK && error == NULL && strstr(result.data, "\"failed\""));
    OK(sw_operation_deployment(pulled->operation, &left, &refused));
    expect_at(left, "/version", "3");
    CHECK(strstr(sw_bytes_data(left), "dev::shop::test:index:Thing::a\"") && !strstr(sw_bytes_data(left), "Thing::b\""));
    sw_bytes_free(left);
    flag_raise(&pulled->ended);
}

static int32_t run_half(void *user_data, sw_context_t *context)
{
    int32_t status = sw_context_register(context, sw_text("{\"type\": \"test:index:Thing\", \"name\": \"a\"}"), NULL, NULL);
    (void)user_data;
    return status != SW_STATUS_OK ? status : sw_context_register(context,
        sw_text("{\"type\": \"test:index:Thing\", \"name\": \"b\", \"inputs\": {\"refuse\": true}}"), NULL, NULL);
}

static void updates_and_failed_updates_have_a_deployment_and_previews_have_none(void)
{
    sw_error_t *error = NULL;
    struct provider provider = {.held_flag = FLAG};
    struct pulled pulled = {.ended = FLAG};
    sw_runtime_t *runtime = make_runtime(2);
    sw_provider_t table = provider_table(&provider, 0);
    sw_engine_t *engine = make_engine(runtime, "{\"store\": \"memory://\"}", &table);
    sw_program_t program = {sizeof program, SW_PROGRAM_VERSION, NULL, NULL, run_half};
    sw_stack_t *stack = NULL;
    sw_operation_t *operation = NULL;
    sw_bytes_t *left = NULL;
    OK(sw_stack_open(engine, sw_text("shop/dev"), sw_text(""), &program, &stack, &error));
    OK(sw_stack_start(stack, SW_OPERATION_UPDATE, sw_text("{\"dryRun\": true}"), NULL, &operation, &error));
    (void)sw_operation_wait(operation, NULL, &error);
    sw_error_free(error), error = NULL;
    OK(sw_operation_deployment(operation, &left, &error));
    CHECK(left == NULL);
    sw_operation_free(operation);
    OK(sw_stack_start(stack, SW_OPERATION_UPDATE, sw_text(""), NULL, &operation, &error));
    pulled.operation = operation;
    OK(sw_operation_wait_async(operation, check_failed_deployment, &pulled, &error));
    flag_wait(&pulled.ended, 1);
    sw_operation_free(operation);
    OK(sw_stack_start(stack, SW_OPERATION_DESTROY, sw_text(""), NULL, &operation, &error));
    OK(sw_operation_wait(operation, NULL, &error));
    OK(sw_operation_deployment(operation, &left, &error));
    CHECK(!strstr(sw_bytes_data(left), "\"resources\""));
    sw_bytes_free(left);
    sw_operation_free(operation);
    sw_stack_free(stack);
    sw_engine_free(engine);
    OK(sw_runtime_free(runtime));
}

static void check_picture(sw_bytes_t *picture, const char *start, const char *part)
{
    CHECK(!strncmp(sw_bytes_data(picture), start, strlen(start)) && strstr(sw_bytes_data(picture), part));
    sw_bytes_free(picture);
}

static void operations_and_stacks_have_pictures_in_each_form(void)
{
    sw_error_t *error = NULL;
    struct provider provider = {.held_flag = FLAG};
    sw_runtime_t *runtime = make_runtime(1);
    sw_provider_t table = provider_table(&provider, 0);
    sw_engine_t *engine = make_engine(runtime, "{\"store\": \"memory://\"}", &table);
    sw_program_t program = {sizeof program, SW_PROGRAM_VERSION, NULL, NULL, run_half};
    sw_stack_t *stack = NULL;
    sw_operation_t *operation = NULL;
    sw_bytes_t *picture = NULL;
    OK(sw_stack_open(engine, sw_text("shop/dev"), sw_text(""), &program, &stack, &error));
    OK(sw_stack_start(stack, SW_OPERATION_UPDATE, sw_text(""), NULL, &operation, &error));
    (void)sw_operation_wait(operation, NULL, &error);
    sw_error_free(error), error = NULL;
    OK(sw_operation_picture(operation, SW_PICTURE_HTML, &picture, &error));
    check_picture(picture, "<!doctype html>", "\"outcome\":\"failed\"");
    OK(sw_operation_picture(operation, SW_PICTURE_DOT, &picture, &error));
    check_picture(picture, "digraph", "+ a");
    FAILS(sw_operation_picture(operation, 7, &picture, &error), SW_STATUS_MISUSE, "unknown form of a picture: 7");
    OK(sw_stack_picture(stack, SW_PICTURE_HTML, &picture, &error));
    check_picture(picture, "<!doctype html>", "<title>shop/dev</title>");
    OK(sw_stack_picture(stack, SW_PICTURE_MERMAID, &picture, &error));
    check_picture(picture, "flowchart LR", "a");
    const char *plan = "{\"manifest\": {}, \"resourcePlans\": {\"urn:pulumi:dev::shop::mem:index:Thing::gone\": {\"steps\": [\"delete\"]}}}";
    OK(sw_plan_picture(sw_text(plan), SW_PICTURE_HTML, &picture, &error));
    check_picture(picture, "<!doctype html>", "<title>Plan of shop/dev</title>");
    OK(sw_plan_picture(sw_text(plan), SW_PICTURE_DOT, &picture, &error));
    check_picture(picture, "digraph", "gone");
    FAILS(sw_plan_picture(sw_text("{}"), SW_PICTURE_HTML, &picture, &error), SW_STATUS_INVALID_INPUT, "manifest: it is missing");
    sw_operation_free(operation);
    sw_stack_free(stack);
    sw_engine_free(engine);
    OK(sw_runtime_free(runtime));
}

static void all_events_are_pulled_in_order(void)
{
    sw_error_t *error = NULL;
    struct provider provider = {.held_flag = FLAG};
    struct program_data data = {.many = 20, .answered = FLAG};
    struct flag finished = FLAG;
    sw_runtime_t *runtime = make_runtime(1);
    sw_provider_t table = provider_table(&provider, 0);
    sw_engine_t *engine = make_engine(runtime, "{\"store\": \"memory://\"}", &table);
    sw_program_t program = program_of(&data, run_many);
    sw_stack_t *stack = NULL;
    sw_operation_t *operation = NULL;
    OK(sw_stack_open(engine, sw_text("shop/events"), sw_text(""), NULL, &stack, &error));
    OK(sw_stack_start(stack, SW_OPERATION_UPDATE, sw_text("{\"parallel\": 4}"), &program, &operation, &error));
    OK(sw_operation_wait_async(operation, result_arrived, &finished, &error));
    flag_wait(&finished, 1);
    int events = 0, last = 0;
    sw_bytes_t *event = NULL;
    for (;;) {
        OK(sw_operation_next_event(operation, &event, &error));
        if (!event)
            break;
        CHECK(!last);
        events++;
        last = strstr(sw_bytes_data(event), "cancelEvent") != NULL;
        sw_bytes_free(event);
    }
    CHECK(last && events > 40);
    sw_operation_free(operation);

    struct pulled pulled = {.ended = FLAG};
    OK(sw_stack_start(stack, SW_OPERATION_DESTROY, sw_text(""), NULL, &operation, &error));
    pulled.operation = operation;
    OK(sw_operation_next_event_async(operation, pull, &pulled, &error));
    flag_wait(&pulled.ended, 1);
    CHECK(pulled.last && pulled.events > 40);
    sw_bytes_t *result = NULL;
    OK(sw_operation_wait(operation, NULL, &error));
    OK(sw_operation_result(operation, &result, &error));
    expect_at(result, "/outcome", "\"succeeded\"");
    sw_bytes_free(result);
    sw_operation_free(operation);
    sw_stack_free(stack);
    sw_engine_free(engine);
    OK(sw_runtime_free(runtime));
    CHECK(data.frees == 1);
}

struct shown {
    const sw_operation_t *operation;
    char text[8192];
    struct flag ended;
};

static void append_lines(struct shown *shown, const char *lines, size_t length)
{
    size_t before = strlen(shown->text);
    CHECK(length > 0 && lines[length - 1] == '\n' && before + length < sizeof shown->text);
    memcpy(shown->text + before, lines, length);
}

static void show(void *user_data, sw_status_t status, sw_bytes_view_t lines, const sw_error_t *error)
{
    struct shown *shown = user_data;
    sw_error_t *failed = NULL;
    CHECK(status == SW_STATUS_OK && error == NULL);
    if (lines.data == NULL) {
        flag_raise(&shown->ended);
        return;
    }
    append_lines(shown, lines.data, lines.length);
    CHECK(sw_operation_next_output_async(shown->operation, show, shown, &failed) == SW_STATUS_OK);
}

static void the_lines_of_a_display_are_pulled_beside_the_events(void)
{
    sw_error_t *error = NULL;
    struct provider provider = {.held_flag = FLAG};
    struct program_data data = {.many = 2, .answered = FLAG};
    sw_runtime_t *runtime = make_runtime(1);
    sw_provider_t table = provider_table(&provider, 0);
    sw_engine_t *engine = make_engine(runtime, "{\"store\": \"memory://\"}", &table);
    sw_program_t program = program_of(&data, run_many);
    sw_stack_t *stack = NULL;
    sw_operation_t *operation = NULL;
    sw_bytes_t *piece = NULL;
    struct shown update = {.ended = FLAG}, destroy = {.ended = FLAG};
    OK(sw_stack_open(engine, sw_text("shop/shown"), sw_text(""), NULL, &stack, &error));
    OK(sw_stack_start(stack, SW_OPERATION_UPDATE, sw_text(""), &program, &operation, &error));
    for (;;) {
        OK(sw_operation_next_output(operation, &piece, &error));
        if (!piece)
            break;
        append_lines(&update, sw_bytes_data(piece), sw_bytes_length(piece));
        sw_bytes_free(piece);
    }
    OK(sw_operation_next_output(operation, &piece, &error));
    CHECK(piece == NULL);
    CHECK(strncmp(update.text, "Updating (shown):\n", strlen("Updating (shown):\n")) == 0);
    CHECK(strstr(update.text, " +  test:index:Thing thing-1 created"));
    CHECK(strstr(update.text, "    + 3 created\n"));
    sw_operation_free(operation);

    OK(sw_stack_start(stack, SW_OPERATION_DESTROY, sw_text(""), NULL, &operation, &error));
    destroy.operation = operation;
    OK(sw_operation_next_output_async(operation, show, &destroy, &error));
    flag_wait(&destroy.ended, 1);
    CHECK(strncmp(destroy.text, "Destroying (shown):\n", strlen("Destroying (shown):\n")) == 0);
    CHECK(strstr(destroy.text, "    - 3 deleted\n"));
    sw_operation_free(operation);
    sw_stack_free(stack);
    sw_engine_free(engine);
    OK(sw_runtime_free(runtime));
}

static int32_t run_bad(void *user_data, sw_context_t *context)
{
    const char *goal = user_data;
    return sw_context_register(context, sw_text(goal), NULL, NULL);
}

static int32_t run_failing(void *user_data, sw_context_t *context)
{
    sw_error_t *error = NULL;
    (void)user_data;
    OK(sw_context_fail(context, sw_text("out of ideas"), &error));
    return SW_STATUS_PROGRAM;
}

/* Fails with a text that is not UTF-8, but returns SW_STATUS_OK. */
static int32_t run_failing_without_utf8(void *user_data, sw_context_t *context)
{
    (void)user_data;
    CHECK(sw_context_fail(context, sw_text("cannot read stra\xdf" "e.txt"), NULL) == SW_STATUS_OK);
    return SW_STATUS_OK;
}

static int32_t run_failing_without_a_text(void *user_data, sw_context_t *context)
{
    (void)user_data;
    CHECK(sw_context_fail(context, (sw_bytes_view_t){NULL, 4}, NULL) == SW_STATUS_MISUSE);
    return SW_STATUS_OK;
}

/* Ignores the status of its registration. */
static int32_t run_ignoring_status(void *user_data, sw_context_t *context)
{
    sw_context_register(context, sw_text(user_data), NULL, NULL);
    return SW_STATUS_OK;
}

#define UNKNOWN_PROVIDER                                                                                                    \
    "{\"token\": \"test:index:ask\", \"arguments\": {},"                                                                    \
    " \"provider\": \"urn:pulumi:failures::shop::pulumi:providers:test::absent::1\"}"

/* Fails twice in different ways and returns the status of the first failure. */
static int32_t run_failing_twice(void *user_data, sw_context_t *context)
{
    (void)user_data;
    int32_t status = sw_context_invoke(context, sw_text(UNKNOWN_PROVIDER), NULL, NULL);
    CHECK(sw_context_export(context, sw_text("output"), sw_text("{"), NULL) == SW_STATUS_INVALID_INPUT);
    CHECK(status != SW_STATUS_INVALID_INPUT);
    return status;
}

/* Exports invalid JSON and returns the status of the export. */
static int32_t run_bad_export(void *user_data, sw_context_t *context)
{
    (void)user_data;
    return sw_context_export(context, sw_text("the output"), sw_text("{"), NULL);
}

static int32_t run_ignoring_export_status(void *user_data, sw_context_t *context)
{
    run_bad_export(user_data, context);
    return SW_STATUS_OK;
}

static int32_t run_null_callback(void *user_data, sw_context_t *context)
{
    (void)user_data;
    return sw_context_register_async(context, sw_text("{}"), NULL, NULL, NULL);
}

static void failed_call(void *user_data, sw_status_t status, sw_bytes_view_t result, const sw_error_t *error)
{
    (void)result;
    (void)error;
    CHECK(status != SW_STATUS_OK);
    flag_raise((struct flag *)user_data);
}

static int32_t run_failing_later(void *user_data, sw_context_t *context)
{
    sw_error_t *error = NULL;
    struct flag failed = FLAG;
    (void)user_data;
    OK(sw_context_invoke_async(context, sw_text(UNKNOWN_PROVIDER), failed_call, &failed,
                               &error));
    flag_wait(&failed, 1);
    return SW_STATUS_PROVIDER;
}

static void failures_are_reported_with_status_and_message(void)
{
    sw_error_t *error = NULL;
    struct provider provider = {.held_flag = FLAG};
    sw_runtime_t *runtime = make_runtime(2);
    sw_provider_t table = provider_table(&provider, 0);
    sw_engine_t *engine = make_engine(runtime, "{\"store\": \"memory://\"}", &table);
    sw_stack_t *stack = NULL;
    OK(sw_stack_open(engine, sw_text("shop/failures"), sw_text(""), NULL, &stack, &error));
    struct {
        sw_run_t run;
        const char *goal;
        sw_status_t status;
        const char *text;
    } cases[] = {
        {run_bad, "{\"type\": \"test:index:Thing\", \"name\": \"a\", \"inputs\": {\"refuse\": true}}", SW_STATUS_FAILED, "no entry"},
        {run_bad, "{\"type\": \"test:index:Thing\", \"name\": \"a\", \"inputs\": {\"bad\": true}}", SW_STATUS_FAILED, "is bad"},
        {run_bad, "{\"type\": \"test:index:Thing\"}", SW_STATUS_INVALID_INPUT, "the resource without name lack name"},
        {run_bad_export, NULL, SW_STATUS_INVALID_INPUT, "invalid value of output \\\"the output\\\""},
        {run_null_callback, NULL, SW_STATUS_PROGRAM, "the callback is null"},
        {run_failing_twice, NULL, SW_STATUS_PROVIDER, "absent"},
        {run_failing_later, NULL, SW_STATUS_PROVIDER, "absent"},
        {run_failing, NULL, SW_STATUS_PROGRAM, "out of ideas"},
        {run_failing_without_utf8, NULL, SW_STATUS_PROGRAM, "cannot read stra"},
        {run_failing_without_a_text, NULL, SW_STATUS_PROGRAM, "the program failed without a message"},
        {run_ignoring_status, "{", SW_STATUS_INVALID_INPUT, "registration"},
        {run_ignoring_export_status, NULL, SW_STATUS_INVALID_INPUT, "invalid value of output \\\"the output\\\""},
    };
    for (size_t index = 0; index < sizeof cases / sizeof *cases; index++) {
        sw_operation_t *operation = NULL;
        sw_bytes_t *result = NULL;
        sw_program_t program = {sizeof program, SW_PROGRAM_VERSION, (void *)cases[index].goal, NULL, cases[index].run};
        OK(sw_stack_start(stack, SW_OPERATION_UPDATE, sw_text(""), &program, &operation, &error));
        sw_status_t status = sw_operation_wait(operation, &result, &error);
        if (status != cases[index].status || !strstr(sw_bytes_data(result), cases[index].text)) {
            fprintf(stderr, "case %zu: %s: %s\n%s\n", index, sw_status_name(status), error ? sw_error_message(error) : "", sw_bytes_data(result));
            exit(1);
        }
        expect_at(result, "/outcome", "\"failed\"");
        sw_error_free(error), error = NULL;
        sw_bytes_free(result);
        sw_operation_free(operation);
    }
    sw_stack_free(stack);
    sw_engine_free(engine);
    OK(sw_runtime_free(runtime));
}

static void a_cancelled_operation_ends_and_abandons_its_calls(void)
{
    sw_error_t *error = NULL;
    struct provider provider = {.hold = 1, .held_flag = FLAG};
    struct program_data data = {.many = 0, .answered = FLAG};
    sw_runtime_t *runtime = make_runtime(2);
    sw_provider_t table = provider_table(&provider, SW_PROVIDER_PROMPT);
    sw_engine_t *engine = make_engine(runtime, "{\"store\": \"memory://\"}", &table);
    sw_program_t program = {sizeof program, SW_PROGRAM_VERSION, (void *)"{\"type\": \"test:index:Thing\", \"name\": \"a\"}", NULL, run_bad};
    sw_stack_t *stack = NULL;
    sw_operation_t *operation = NULL, *second = NULL;
    (void)data;
    OK(sw_stack_open(engine, sw_text("shop/cancel"), sw_text(""), &program, &stack, &error));
    OK(sw_stack_start(stack, SW_OPERATION_UPDATE, sw_text(""), NULL, &operation, &error));
    flag_wait(&provider.held_flag, 1);
    OK(sw_stack_start(stack, SW_OPERATION_UPDATE, sw_text(""), NULL, &second, &error));
    FAILS(sw_operation_wait(second, NULL, &error), SW_STATUS_CONFLICT, "");
    sw_operation_free(second);
    OK(sw_operation_cancel(operation));
    OK(sw_operation_cancel(operation));
    OK(sw_operation_cancel(operation));
    FAILS(sw_operation_wait(operation, NULL, &error), SW_STATUS_CANCELLED, "cancel");
    CHECK(provider.given_up == 1);
    CHECK(sw_completion_is_cancelled(provider.held));
    /* Completing an abandoned call is no error. */
    OK(sw_completion_succeed(provider.held, sw_text("{\"id\": \"late\"}")));
    OK(sw_operation_cancel(operation));
    sw_operation_free(operation);
    sw_stack_free(stack);
    sw_engine_free(engine);
    OK(sw_runtime_free(runtime));
}

static void freeing_the_runtime_ends_running_operations(void)
{
    sw_error_t *error = NULL;
    struct provider provider = {.hold = 1, .held_flag = FLAG};
    struct flag finished = FLAG;
    sw_runtime_t *runtime = make_runtime(2);
    sw_provider_t table = provider_table(&provider, 0);
    sw_engine_t *engine = make_engine(runtime, "{\"store\": \"memory://\"}", &table);
    sw_program_t program = {sizeof program, SW_PROGRAM_VERSION, (void *)"{\"type\": \"test:index:Thing\", \"name\": \"a\"}", NULL, run_bad};
    sw_stack_t *stack = NULL;
    sw_operation_t *operation = NULL;
    OK(sw_stack_open(engine, sw_text("shop/end"), sw_text(""), &program, &stack, &error));
    OK(sw_stack_start(stack, SW_OPERATION_UPDATE, sw_text(""), NULL, &operation, &error));
    flag_wait(&provider.held_flag, 1);
    OK(sw_runtime_free(runtime));
    CHECK(provider.given_up == 1);
    FAILS(sw_operation_wait(operation, NULL, &error), SW_STATUS_MISUSE, "freed");
    sw_completion_free(provider.held);
    sw_operation_free(operation);
    sw_stack_free(stack);
    CHECK(provider.frees == 0);
    sw_engine_free(engine);
    CHECK(provider.frees == 1);
    CHECK(flag_count(&finished) == 0);
}

int main(void)
{
    RUN(a_stack_runs_through_all_operations);
    RUN(callbacks_are_called_exactly_once_before_the_run_ends);
    RUN(operations_and_stacks_have_pictures_in_each_form);
    RUN(all_events_are_pulled_in_order);
    RUN(the_lines_of_a_display_are_pulled_beside_the_events);
    RUN(updates_and_failed_updates_have_a_deployment_and_previews_have_none);
    RUN(failures_are_reported_with_status_and_message);
    RUN(a_cancelled_operation_ends_and_abandons_its_calls);
    RUN(freeing_the_runtime_ends_running_operations);
    return 0;
}
