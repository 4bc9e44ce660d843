/* Components and methods of the host: construct and call of a provider's table, with a context of their own. */
#include "support.h"

#define BOX "urn:pulumi:dev::shop::test:index:Box::box"
#define LID "urn:pulumi:dev::shop::test:index:Box$test:index:Thing::lid"

/* A provider of things that also constructs boxes. The support functions cast its pointer to `struct provider`. */
struct boxes {
    struct provider things;
    const char *mode;
    atomic_int constructs, calls;
    struct flag answered, ended, began;
    sw_status_t ended_with, late_with;
    _Atomic(sw_context_t *) context;
    _Atomic(sw_completion_t *) completion;
};

static void boxes_init(struct boxes *boxes, const char *mode)
{
    const struct flag flag = FLAG;
    memset(boxes, 0, sizeof *boxes);
    boxes->mode = mode;
    boxes->things.held_flag = boxes->answered = boxes->ended = boxes->began = flag;
}

static const char remote_box[] =
    "{\"type\": \"test:index:Box\", \"name\": \"box\", \"custom\": false, \"remote\": true, \"inputs\": {\"size\": 3}}";

static int32_t run_box(void *user_data, sw_context_t *context)
{
    (void)user_data;
    return sw_context_register(context, sw_text(remote_box), NULL, NULL);
}

/* Runs an update with a program on a new stack; returns its result. `expected` is its status. */
static sw_bytes_t *run_boxes(struct boxes *boxes, const sw_provider_t *table, sw_run_t run, sw_status_t expected)
{
    sw_error_t *error = NULL;
    sw_runtime_t *runtime = make_runtime(2);
    sw_engine_t *engine = make_engine(runtime, "{\"store\": \"memory://\"}", table);
    sw_program_t program = {sizeof program, SW_PROGRAM_VERSION, boxes, NULL, run};
    sw_stack_t *stack = NULL;
    OK(sw_stack_open(engine, sw_text("shop/dev"), sw_text(""), &program, &stack, &error));
    sw_bytes_t *result = operate(stack, SW_OPERATION_UPDATE, expected);
    sw_stack_free(stack);
    sw_engine_free(engine);
    OK(sw_runtime_free(runtime));
    CHECK(boxes->things.frees == 1);
    return result;
}

static sw_provider_t boxes_table(struct boxes *boxes, uint32_t flags, sw_call_with_context_t construct, sw_call_with_context_t call)
{
    sw_provider_t table = provider_table(&boxes->things, flags);
    table.construct = construct;
    table.call = call;
    return table;
}

/* ---- blocking calls ---- */

static void construct_blocking(void *user_data, sw_context_t *context, sw_bytes_view_t request, sw_completion_t *completion)
{
    struct boxes *boxes = user_data;
    sw_error_t *error = NULL;
    sw_bytes_t *lid = NULL, *read = NULL, *echo = NULL, *inputs = json_at(request, "/inputs"), *whole = json_at(request, "");
    char text[512];
    boxes->constructs++;
    expect_at(whole, "/urn", "\"" BOX "\"");
    expect_at(whole, "/type", "\"test:index:Box\"");
    expect_at(whole, "/inputs", "{\"size\":3}");
    expect_at(whole, "/protect", "null");
    expect_at(whole, "/preview", "false");
    CHECK(strstr(sw_context_info(context), "\"rootStack\":\"urn:pulumi:dev::shop::pulumi:pulumi:Stack::shop-dev\""));
    CHECK(!sw_context_is_ended(context));

    snprintf(text, sizeof text, "{\"type\": \"test:index:Thing\", \"name\": \"lid\", \"inputs\": %s}", sw_bytes_data(inputs));
    OK(sw_context_register(context, sw_text(text), &lid, &error));
    expect_at(lid, "/urn", "\"" LID "\"");
    OK(sw_context_read(context, sw_text("{\"type\": \"test:index:Thing\", \"name\": \"old\", \"id\": \"7\"}"), &read, &error));
    expect_at(read, "/urn", "\"urn:pulumi:dev::shop::test:index:Box$test:index:Thing::old\"");
    OK(sw_context_invoke(context, sw_text("{\"token\": \"test:index:echo\", \"arguments\": {\"a\": 1}}"), &echo, &error));
    expect_at(echo, "/echo/a", "1");
    OK(sw_context_log(context, SW_SEVERITY_INFO, sw_text("a lid"), sw_text(LID), &error));
    FAILS(sw_context_export(context, sw_text("a"), sw_text("1"), &error), SW_STATUS_INVALID_INPUT, "has no stack outputs");

    CHECK(sw_completion_succeed(completion, sw_text("{\"outputs\": {\"size\": 3}, \"outputDependencies\": {\"size\": [\"" LID "\"]}}")) == SW_STATUS_OK);
    /* The context is alive until this function returns, but its functions refuse. */
    FAILS(sw_context_register(context, sw_text("{\"type\": \"test:index:Thing\", \"name\": \"late\"}"), NULL, &error), SW_STATUS_MISUSE, "was completed");
    FAILS(sw_context_invoke(context, sw_text("{\"token\": \"test:index:echo\"}"), NULL, &error), SW_STATUS_MISUSE, "was completed");
    FAILS(sw_context_call_method(context, sw_text("{\"token\": \"test:index:Box/open\"}"), NULL, &error), SW_STATUS_MISUSE, "was completed");
    FAILS(sw_context_fail(context, sw_text("late"), &error), SW_STATUS_MISUSE, "was completed");
    FAILS(sw_context_export(context, sw_text("a"), sw_text("1"), &error), SW_STATUS_MISUSE, "was completed");
    FAILS(sw_context_log(context, SW_SEVERITY_INFO, sw_text("late"), sw_text(""), &error), SW_STATUS_MISUSE, "was completed");
    sw_bytes_free(lid), sw_bytes_free(read), sw_bytes_free(echo), sw_bytes_free(inputs), sw_bytes_free(whole);
}

static void open_box(void *user_data, sw_context_t *context, sw_bytes_view_t request, sw_completion_t *completion)
{
    struct boxes *boxes = user_data;
    sw_error_t *error = NULL;
    sw_bytes_t *by = json_at(request, "/arguments/by"), *whole = json_at(request, ""), *opened = NULL;
    boxes->calls++;
    expect_at(whole, "/token", "\"test:index:Box/open\"");
    expect_at(whole, "/arguments/__self__/urn", "\"" BOX "\"");
    if (!by) {
        CHECK(sw_completion_succeed(completion, sw_text("{\"failures\": [{\"property\": \"by\", \"reason\": \"is missing\"}]}")) == SW_STATUS_OK);
    } else {
        expect_at(whole, "/argumentDependencies/by/0", "\"" LID "\"");
        FAILS(sw_context_export(context, sw_text("a"), sw_text("1"), &error), SW_STATUS_INVALID_INPUT, "has no stack outputs");
        OK(sw_context_register(context, sw_text("{\"type\": \"test:index:Thing\", \"name\": \"opened\"}"), &opened, &error));
        expect_at(opened, "/urn", "\"urn:pulumi:dev::shop::test:index:Thing::opened\"");
        CHECK(sw_completion_succeed(completion, sw_text("{\"result\": {\"by\": 4}, \"resultDependencies\": {\"by\": [\"" LID "\"]}}")) == SW_STATUS_OK);
    }
    sw_bytes_free(by), sw_bytes_free(whole), sw_bytes_free(opened);
}

static int32_t run_open(void *user_data, sw_context_t *context)
{
    sw_error_t *error = NULL;
    sw_bytes_t *box = NULL, *result = NULL;
    (void)user_data;
    OK(sw_context_register(context, sw_text(remote_box), &box, &error));
    expect_at(box, "/urn", "\"" BOX "\"");
    expect_at(box, "/outputs", "{\"size\":3}");
    expect_at(box, "/outputDependencies/size/0", "\"" LID "\"");
    OK(sw_context_call_method(context, sw_text("{\"token\": \"test:index:Box/open\", \"of\": \"" BOX "\", \"arguments\": {\"by\": 4},"
        " \"argumentDependencies\": {\"by\": [\"" LID "\"]}}"), &result, &error));
    expect_at(result, "/result", "{\"by\":4}");
    expect_at(result, "/resultDependencies/by/0", "\"" LID "\"");
    expect_at(result, "/failures", "[]");
    sw_bytes_free(result);
    OK(sw_context_call_method(context, sw_text("{\"token\": \"test:index:Box/open\", \"of\": \"" BOX "\"}"), &result, &error));
    expect_at(result, "/failures/0/property", "\"by\"");
    expect_at(result, "/failures/0/reason", "\"is missing\"");
    FAILS(sw_context_call_method(context, sw_text("{\"token\": \"test:index:Box/open\", \"off\": 1}"), NULL, &error), SW_STATUS_INVALID_INPUT, "off");
    FAILS(sw_context_call_method(context, sw_text("["), NULL, &error), SW_STATUS_INVALID_INPUT, "call");
    FAILS(sw_context_call_method_async(context, sw_text("{}"), NULL, NULL, &error), SW_STATUS_MISUSE, "callback is null");
    sw_bytes_free(box), sw_bytes_free(result);
    return SW_STATUS_OK;
}

static void components_and_methods_block_on_threads_of_their_own(void)
{
    struct boxes boxes;
    boxes_init(&boxes, "");
    sw_provider_t table = boxes_table(&boxes, 0, construct_blocking, open_box);
    sw_bytes_t *result = run_boxes(&boxes, &table, run_open, SW_STATUS_OK);
    CHECK(boxes.constructs == 1 && boxes.calls == 2 && boxes.things.creates == 2 && boxes.things.given_up == 0);
    sw_bytes_free(result);
}

/* ---- asynchronous calls ---- */

static void lid_registered(void *user_data, sw_status_t status, sw_bytes_view_t result, const sw_error_t *error)
{
    CHECK(status == SW_STATUS_OK && result.length > 0 && !error);
    flag_raise(&((struct boxes *)user_data)->answered);
}

static void lid_completes(void *user_data, sw_status_t status, sw_bytes_view_t result, const sw_error_t *lent)
{
    struct boxes *boxes = user_data;
    sw_context_t *context = boxes->context;
    sw_error_t *error = NULL;
    CHECK(status == SW_STATUS_OK && result.length > 0 && !lent);
    /* The context is alive in the callbacks of its calls. */
    OK(sw_context_register_async(context, sw_text("{\"type\": \"test:index:Thing\", \"name\": \"floor\"}"), lid_registered, boxes, &error));
    CHECK(sw_completion_succeed(boxes->completion, sw_text("{\"outputs\": {\"size\": 3}}")) == SW_STATUS_OK);
}

static void box_ended(void *user_data, sw_status_t status, sw_bytes_view_t result, const sw_error_t *error)
{
    struct boxes *boxes = user_data;
    (void)result;
    CHECK((status == SW_STATUS_OK) == (error == NULL));
    boxes->ended_with = status;
    flag_raise(&boxes->ended);
}

static void construct_later(void *user_data, sw_context_t *context, sw_bytes_view_t request, sw_completion_t *completion)
{
    struct boxes *boxes = user_data;
    sw_error_t *error = NULL;
    (void)request;
    boxes->constructs++;
    boxes->context = context;
    boxes->completion = completion;
    OK(sw_context_ended_async(context, box_ended, boxes, &error));
    OK(sw_context_register_async(context, sw_text("{\"type\": \"test:index:Thing\", \"name\": \"lid\"}"), lid_completes, boxes, &error));
    FAILS(sw_context_register(context, sw_text("{\"type\": \"test:index:Thing\", \"name\": \"no\"}"), NULL, &error), SW_STATUS_MISUSE, "callback");
}

static int32_t run_later(void *user_data, sw_context_t *context)
{
    struct boxes *boxes = user_data;
    sw_error_t *error = NULL;
    OK(sw_context_register(context, sw_text(remote_box), NULL, &error));
    /* The engine has waited for the last callback of the context, and for the notice of the end. */
    CHECK(flag_count(&boxes->answered) == 1);
    CHECK(flag_count(&boxes->ended) == 1 && boxes->ended_with == SW_STATUS_OK);
    return SW_STATUS_OK;
}

static void a_component_ends_after_the_callbacks_of_its_context(void)
{
    struct boxes boxes;
    boxes_init(&boxes, "");
    sw_provider_t table = boxes_table(&boxes, SW_PROVIDER_PROMPT, construct_later, NULL);
    sw_bytes_t *result = run_boxes(&boxes, &table, run_later, SW_STATUS_OK);
    /* The stack, the box, its lid and its floor. */
    expect_at(result, "/changes/create", "4");
    sw_bytes_free(result);
}

/* ---- failures ---- */

static void construct_badly(void *user_data, sw_context_t *context, sw_bytes_view_t request, sw_completion_t *completion)
{
    struct boxes *boxes = user_data;
    sw_error_t *error = NULL;
    (void)request;
    if (strcmp(boxes->mode, "free") == 0) {
        sw_completion_free(completion);
        FAILS(sw_context_log(context, SW_SEVERITY_INFO, sw_text("late"), sw_text(""), &error), SW_STATUS_MISUSE, "was completed");
    } else if (strcmp(boxes->mode, "garbage") == 0) {
        CHECK(sw_completion_succeed(completion, sw_text("no JSON")) == SW_STATUS_OK);
    } else if (strcmp(boxes->mode, "typo") == 0) {
        CHECK(sw_completion_succeed(completion, sw_text("{\"output\": {}}")) == SW_STATUS_OK);
    } else if (strcmp(boxes->mode, "urn") == 0) {
        CHECK(sw_completion_succeed(completion, sw_text("{\"outputs\": {\"a\": 1}, \"outputDependencies\": {\"a\": [\"no urn\"]}}")) == SW_STATUS_OK);
    } else if (strcmp(boxes->mode, "fail") == 0) {
        CHECK(sw_completion_fail(completion, SW_PROVIDER_STATUS_ABORTED, sw_text("no more wood")) == SW_STATUS_OK);
    } else if (strcmp(boxes->mode, "inputs") == 0) {
        CHECK(sw_completion_fail_with(completion, sw_text("{\"message\": \"bad size\", \"inputErrors\": [{\"property\": \"size\", \"reason\": \"is odd\"}]}")) == SW_STATUS_OK);
    } else if (strcmp(boxes->mode, "message") == 0) {
        OK(sw_context_fail(context, sw_text("the saw broke"), &error));
        CHECK(sw_completion_succeed(completion, sw_text("")) == SW_STATUS_OK);
    } else {
        FAILS(sw_context_register(context, sw_text("["), NULL, &error), SW_STATUS_INVALID_INPUT, "registration");
        CHECK(sw_completion_succeed(completion, sw_text("")) == SW_STATUS_OK);
    }
}

static void failures_name_the_component(void)
{
    static const struct {
        const char *mode, *text;
        sw_status_t status;
    } cases[] = {
        {"free", "test:index:Box resource 'box' has a problem: the provider freed the completion of construct without a response", SW_STATUS_FAILED},
        {"garbage", "has a problem: malformed construct response from the provider", SW_STATUS_FAILED},
        {"typo", "malformed construct response from the provider: unknown field `output`", SW_STATUS_FAILED},
        {"urn", "malformed construct response from the provider", SW_STATUS_FAILED},
        {"fail", "test:index:Box resource 'box' has a problem: no more wood", SW_STATUS_FAILED},
        {"inputs", "property size with value '3' has a problem: is odd", SW_STATUS_FAILED},
        {"message", "test:index:Box resource 'box' has a problem: the saw broke", SW_STATUS_FAILED},
        {"malformed", "invalid registration", SW_STATUS_INVALID_INPUT},
    };
    for (size_t index = 0; index < sizeof cases / sizeof *cases; index++) {
        struct boxes boxes;
        boxes_init(&boxes, cases[index].mode);
        sw_provider_t table = boxes_table(&boxes, 0, construct_badly, NULL);
        sw_bytes_t *result = run_boxes(&boxes, &table, run_box, cases[index].status);
        if (!strstr(sw_bytes_data(result), cases[index].text)) {
            fprintf(stderr, "%s: %s\n", cases[index].mode, sw_bytes_data(result));
            exit(1);
        }
        sw_bytes_free(result);
    }
}

static int32_t run_method(void *user_data, sw_context_t *context)
{
    sw_error_t *error = NULL;
    (void)user_data;
    OK(sw_context_register(context, sw_text("{\"type\": \"test:index:Thing\", \"name\": \"a\"}"), NULL, &error));
    FAILS(sw_context_call_method(context, sw_text("{\"token\": \"test:index:Thing/open\", \"of\": \"urn:pulumi:dev::shop::test:index:Thing::a\"}"), NULL, &error),
          SW_STATUS_CANCELLED, "");
    return SW_STATUS_OK;
}

/* A table of an earlier header, in a block of its size, so that valgrind detects reads beyond it. */
static void a_table_without_components_and_methods_refuses_them_by_name(void)
{
    static const struct {
        sw_run_t run;
        const char *text;
    } cases[] = {{run_box, "unknown component type \\\"test:index:Box\\\""}, {run_method, "unknown method \\\"test:index:Thing/open\\\""}};
    for (size_t index = 0; index < sizeof cases / sizeof *cases; index++) {
        struct boxes boxes;
        boxes_init(&boxes, "");
        sw_provider_t table = provider_table(&boxes.things, 0), *earlier = malloc(offsetof(sw_provider_t, construct));
        table.struct_size = offsetof(sw_provider_t, construct);
        memcpy(earlier, &table, table.struct_size);
        sw_bytes_t *result = run_boxes(&boxes, earlier, cases[index].run, SW_STATUS_FAILED);
        CHECK(strstr(sw_bytes_data(result), cases[index].text));
        sw_bytes_free(result);
        free(earlier);
    }
}

/* ---- cancelled calls ---- */

static void construct_never(void *user_data, sw_context_t *context, sw_bytes_view_t request, sw_completion_t *completion)
{
    struct boxes *boxes = user_data;
    sw_error_t *error = NULL;
    (void)request;
    boxes->context = context;
    boxes->completion = completion;
    OK(sw_context_ended_async(context, box_ended, boxes, &error));
    flag_raise(&boxes->began);
}

static void registered_late(void *user_data, sw_status_t status, sw_bytes_view_t result, const sw_error_t *error)
{
    struct boxes *boxes = user_data;
    (void)result;
    CHECK(error != NULL);
    boxes->late_with = status;
    flag_raise(&boxes->answered);
}

/* The host completes a cancelled call before or after the end of the runtime. */
static void a_construct_that_never_completes_ends_with_the_run(void)
{
    for (int after_runtime = 0; after_runtime < 2; after_runtime++) {
        sw_error_t *error = NULL;
        struct boxes boxes;
        boxes_init(&boxes, "");
        sw_runtime_t *runtime = make_runtime(2);
        sw_provider_t table = boxes_table(&boxes, after_runtime ? SW_PROVIDER_PROMPT : 0, construct_never, NULL);
        sw_engine_t *engine = make_engine(runtime, "{\"store\": \"memory://\"}", &table);
        sw_program_t program = {sizeof program, SW_PROGRAM_VERSION, NULL, NULL, run_box};
        sw_stack_t *stack = NULL;
        sw_operation_t *operation = NULL;
        OK(sw_stack_open(engine, sw_text("shop/dev"), sw_text(""), &program, &stack, &error));
        OK(sw_stack_start(stack, SW_OPERATION_UPDATE, sw_text(""), NULL, &operation, &error));
        flag_wait(&boxes.began, 1);
        CHECK(!sw_context_is_ended(boxes.context) && boxes.things.given_up == 0);
        CHECK(sw_operation_cancel(operation) == SW_STATUS_OK);
        CHECK(sw_operation_cancel(operation) == SW_STATUS_OK);
        FAILS(sw_operation_wait(operation, NULL, &error), SW_STATUS_CANCELLED, "");
        flag_wait(&boxes.ended, 1);
        CHECK(boxes.ended_with == SW_STATUS_CANCELLED && boxes.things.given_up == 1);
        CHECK(sw_context_is_ended(boxes.context) && sw_completion_is_cancelled(boxes.completion));
        OK(sw_context_register_async(boxes.context, sw_text("{\"type\": \"test:index:Thing\", \"name\": \"late\"}"), registered_late, &boxes, &error));
        flag_wait(&boxes.answered, 1);
        CHECK(boxes.late_with == SW_STATUS_CANCELLED && boxes.things.creates == 0);
        sw_operation_free(operation);
        sw_stack_free(stack);
        sw_engine_free(engine);
        if (!after_runtime)
            CHECK(sw_completion_succeed(boxes.completion, sw_text("{}")) == SW_STATUS_OK);
        OK(sw_runtime_free(runtime));
        if (after_runtime)
            CHECK(sw_completion_fail(boxes.completion, SW_PROVIDER_STATUS_CANCELLED, sw_text("late")) == SW_STATUS_OK);
        CHECK(boxes.things.frees == 1 && flag_count(&boxes.ended) == 1 && flag_count(&boxes.answered) == 1);
    }
}

int main(void)
{
    RUN(components_and_methods_block_on_threads_of_their_own);
    RUN(a_component_ends_after_the_callbacks_of_its_context);
    RUN(failures_name_the_component);
    RUN(a_table_without_components_and_methods_refuses_them_by_name);
    RUN(a_construct_that_never_completes_ends_with_the_run);
    return 0;
}
