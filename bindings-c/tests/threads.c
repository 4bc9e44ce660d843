/* Concurrency: blocking callbacks of the host occupy no thread of the engine, and stacks of one engine are
 * independent. */
#define _POSIX_C_SOURCE 200809L /* mkdtemp */
#include "support.h"

#include <unistd.h>

enum { THINGS = 4 };

/* Create blocks until the program has registered all resources. The journal is called in the meantime. */
struct waiting {
    struct flag inside, registered;
    atomic_int entries;
};

static void waiting_create(void *user_data, sw_bytes_view_t request, sw_completion_t *completion)
{
    struct waiting *waiting = user_data;
    sw_bytes_t *name = json_at(request, "/name");
    flag_raise(&waiting->inside);
    flag_wait(&waiting->registered, 1);
    answer(completion, sw_bytes_data(name), "{}");
    sw_bytes_free(name);
}

static void count_entry(void *user_data, sw_bytes_view_t request, sw_completion_t *completion)
{
    (void)request;
    ((struct waiting *)user_data)->entries++;
    CHECK(sw_completion_succeed(completion, sw_text("")) == SW_STATUS_OK);
}

static void count_registered(void *user_data, sw_status_t status, sw_bytes_view_t result, const sw_error_t *error)
{
    CHECK(status == SW_STATUS_OK && error == NULL && result.length > 0);
    flag_raise(user_data);
}

static struct flag answered = FLAG;

static int32_t run_waiting(void *user_data, sw_context_t *context)
{
    struct waiting *waiting = user_data;
    sw_error_t *error = NULL;
    char text[128];
    for (int index = 0; index < THINGS; index++) {
        snprintf(text, sizeof text, "{\"type\": \"test:index:Thing\", \"name\": \"t%d\"}", index);
        OK(sw_context_register_async(context, sw_text(text), count_registered, &answered, &error));
    }
    flag_wait(&waiting->inside, THINGS);
    /* The registration is durable before it returns: the engine writes it while all creates block. */
    OK(sw_context_register(context, sw_text("{\"type\": \"test:index:Group\", \"name\": \"later\", \"custom\": false}"), NULL, &error));
    flag_raise(&waiting->registered);
    return SW_STATUS_OK;
}

static void blocking_callbacks_do_not_block_the_engine(void)
{
    sw_error_t *error = NULL;
    struct waiting waiting = {.inside = FLAG, .registered = FLAG};
    char folder[] = "/tmp/stackwright-XXXXXX", settings[64], removal[64];
    CHECK(mkdtemp(folder) != NULL);
    snprintf(settings, sizeof settings, "{\"store\": \"file://%s\"}", folder);
    sw_runtime_options_t threads = {sizeof threads, 1, 1, sw_text("one")};
    sw_runtime_t *runtime = NULL;
    OK(sw_runtime_new(&threads, &runtime, &error));
    sw_provider_t table;
    memset(&table, 0, sizeof table);
    table.struct_size = sizeof table, table.version = SW_PROVIDER_VERSION, table.user_data = &waiting;
    table.create = waiting_create, table.delete_ = provider_delete;
    sw_host_t hooks = {.struct_size = sizeof hooks, .version = SW_HOST_VERSION, .user_data = &waiting, .journal = count_entry};
    sw_package_t package = {sizeof package, sw_text("test"), &table};
    sw_engine_options_t options = {sizeof options, runtime, sw_text(settings), &package, 1, &hooks};
    sw_program_t program = {sizeof program, SW_PROGRAM_VERSION, &waiting, NULL, run_waiting};
    sw_engine_t *engine = NULL;
    sw_stack_t *stack = NULL;
    OK(sw_engine_new(&options, &engine, &error));
    OK(sw_stack_open(engine, sw_text("shop/waiting"), sw_text(""), &program, &stack, &error));
    sw_bytes_t *result = operate(stack, SW_OPERATION_UPDATE, SW_STATUS_OK);
    expect_at(result, "/changes/create", "6");
    CHECK(flag_count(&answered) == THINGS && waiting.entries >= 2 * THINGS);
    sw_bytes_free(result);
    sw_stack_free(stack);
    sw_engine_free(engine);
    OK(sw_runtime_free(runtime));
    snprintf(removal, sizeof removal, "rm -r %s", folder);
    CHECK(system(removal) == 0);
}

enum { STACKS = 20 };

struct one_of_many {
    int number, things;
    struct flag *running;
    sw_stack_t *stack;
    sw_operation_t *operation;
};

static int32_t run_one_of_many(void *user_data, sw_context_t *context)
{
    struct one_of_many *one = user_data;
    sw_error_t *error = NULL;
    char text[128];
    /* Each program waits for all others: the updates run concurrently. */
    flag_raise(one->running);
    flag_wait(one->running, STACKS);
    for (int index = 0; index < one->things; index++) {
        snprintf(text, sizeof text, "{\"type\": \"test:index:Thing\", \"name\": \"t%d\", \"inputs\": {\"number\": %d}}", index,
                 one->number);
        OK(sw_context_register(context, sw_text(text), NULL, &error));
    }
    snprintf(text, sizeof text, "%d", one->number);
    OK(sw_context_export(context, sw_text("number"), sw_text(text), &error));
    return SW_STATUS_OK;
}

/* Starts the same operation on all stacks, then waits for each and checks its counts and its outputs. */
static void operate_all(struct one_of_many *all, sw_operation_kind_t kind, const char *change)
{
    sw_error_t *error = NULL;
    char text[32];
    for (struct one_of_many *one = all; one < all + STACKS; one++)
        OK(sw_stack_start(one->stack, kind, sw_text(""), NULL, &one->operation, &error));
    for (struct one_of_many *one = all; one < all + STACKS; one++) {
        sw_bytes_t *result = NULL;
        OK(sw_operation_wait(one->operation, &result, &error));
        expect_at(result, "/outcome", "\"succeeded\"");
        snprintf(text, sizeof text, "%d", one->things + 1);
        expect_at(result, change, text);
        if (kind == SW_OPERATION_UPDATE) {
            snprintf(text, sizeof text, "%d", one->number);
            expect_at(result, "/outputs/number/value", text);
        }
        sw_bytes_free(result);
        sw_operation_free(one->operation);
    }
}

/* Checks that a stack's deployment contains its own things alone, with the stack and a provider unless it is empty. */
static void expect_own_things(const struct one_of_many *one, int things)
{
    sw_error_t *error = NULL;
    sw_bytes_t *document = NULL;
    char own[32], number[16], pointer[64];
    int seen = 0, records = 0;
    snprintf(own, sizeof own, "\"urn:pulumi:s%d::shop::", one->number);
    snprintf(number, sizeof number, "%d", one->number);
    OK(sw_stack_export_deployment(one->stack, false, &document, &error));
    for (;; records++) {
        snprintf(pointer, sizeof pointer, "/deployment/resources/%d/urn", records);
        sw_bytes_t *urn = json_at(sw_bytes_view(document), pointer);
        if (!urn)
            break;
        CHECK(strncmp(sw_bytes_data(urn), own, strlen(own)) == 0);
        if (strstr(sw_bytes_data(urn), "::test:index:Thing::")) {
            snprintf(pointer, sizeof pointer, "/deployment/resources/%d/inputs/number", records);
            expect_at(document, pointer, number);
            snprintf(pointer, sizeof pointer, "/deployment/resources/%d/outputs/number", records);
            expect_at(document, pointer, number);
            seen++;
        }
        sw_bytes_free(urn);
    }
    CHECK(seen == things && records == (things > 0 ? things + 2 : 0));
    sw_bytes_free(document);
}

static void stacks_of_one_engine_run_concurrently(void)
{
    sw_error_t *error = NULL;
    struct provider provider = {.held_flag = FLAG};
    struct flag running = FLAG;
    struct one_of_many all[STACKS];
    char folder[] = "/tmp/stackwright-XXXXXX", text[64];
    CHECK(mkdtemp(folder) != NULL);
    snprintf(text, sizeof text, "{\"store\": \"file://%s\"}", folder);
    sw_runtime_t *runtime = make_runtime(2);
    sw_provider_t table = provider_table(&provider, 0);
    sw_engine_t *engine = make_engine(runtime, text, &table);
    int things = 0;
    for (int index = 0; index < STACKS; index++) {
        struct one_of_many *one = &all[index];
        *one = (struct one_of_many){.number = index, .things = 1 + index % 3, .running = &running};
        sw_program_t program = {sizeof program, SW_PROGRAM_VERSION, one, NULL, run_one_of_many};
        snprintf(text, sizeof text, "shop/s%d", index);
        OK(sw_stack_open(engine, sw_text(text), sw_text(""), &program, &one->stack, &error));
        things += one->things;
    }
    operate_all(all, SW_OPERATION_UPDATE, "/changes/create");
    CHECK(flag_count(&running) == STACKS && provider.creates == things);
    for (int index = 0; index < STACKS; index++)
        expect_own_things(&all[index], all[index].things);
    operate_all(all, SW_OPERATION_DESTROY, "/changes/delete");
    CHECK(provider.deletes == things);
    for (int index = 0; index < STACKS; index++) {
        expect_own_things(&all[index], 0);
        sw_stack_free(all[index].stack);
    }
    sw_engine_free(engine);
    OK(sw_runtime_free(runtime));
    snprintf(text, sizeof text, "rm -r %s", folder);
    CHECK(system(text) == 0);
}

int main(void)
{
    /* A deadlock ends the test by a signal. */
    alarm(120);
    RUN(blocking_callbacks_do_not_block_the_engine);
    alarm(120);
    RUN(stacks_of_one_engine_run_concurrently);
    return 0;
}
