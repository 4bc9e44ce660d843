/* The threads of a runtime: functions of the host that wait take none of those that the engine's own work needs. */
#define _POSIX_C_SOURCE 200809L /* mkdtemp */
#include "support.h"

#include <unistd.h>

enum { THINGS = 4 };

/* Creates that wait until the program has registered everything; all the while the journal is to be answered. */
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
    /* Is durable before it returns: the engine writes it while all creates wait. */
    OK(sw_context_register(context, sw_text("{\"type\": \"test:index:Group\", \"name\": \"later\", \"custom\": false}"), NULL, &error));
    flag_raise(&waiting->registered);
    return SW_STATUS_OK;
}

static void functions_of_the_host_that_wait_keep_the_engine_from_nothing(void)
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

int main(void)
{
    /* Whoever brings the deadlock back gets a signal and not a hanging test. */
    alarm(120);
    RUN(functions_of_the_host_that_wait_keep_the_engine_from_nothing);
    return 0;
}
