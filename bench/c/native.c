/*
 * `native.c.{create,noop}.10000`: resources a second through the C ABI, with a provider in C: native_c [PREFIX].
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stackwright.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { RESOURCES = 10000 };

static void check(sw_status_t status, const sw_error_t *error, const char *doing)
{
    if (status != SW_STATUS_OK) {
        fprintf(stderr, "%s: %s: %s\n", doing, sw_status_name(status), error ? sw_error_message(error) : "");
        exit(1);
    }
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* ---- the provider: gives inputs back as outputs, at once; Check and Diff are the engine's own ---- */

static void create(void *user_data, sw_bytes_view_t request, sw_completion_t *completion)
{
    (void)user_data;
    sw_bytes_t *name = NULL, *inputs = NULL;
    check(sw_json_get(request, sw_text("/name"), &name, NULL), NULL, "create");
    check(sw_json_get(request, sw_text("/inputs"), &inputs, NULL), NULL, "create");
    size_t size = sw_bytes_length(name) + sw_bytes_length(inputs) + 32;
    char *answer = malloc(size);
    int length = snprintf(answer, size, "{\"id\": %s, \"outputs\": %s}", sw_bytes_data(name), sw_bytes_data(inputs));
    sw_completion_succeed(completion, (sw_bytes_view_t){answer, (size_t)length});
    free(answer), sw_bytes_free(name), sw_bytes_free(inputs);
}

static void delete_nothing(void *user_data, sw_bytes_view_t request, sw_completion_t *completion)
{
    (void)user_data, (void)request;
    sw_completion_succeed(completion, sw_text(""));
}

/* ---- the program: registers all and waits for the last answer ---- */

struct answers {
    pthread_mutex_t lock;
    pthread_cond_t all;
    size_t missing;
    sw_status_t status;
};

static void answered(void *user_data, sw_status_t status, sw_bytes_view_t result, const sw_error_t *error)
{
    (void)result, (void)error;
    struct answers *answers = user_data;
    pthread_mutex_lock(&answers->lock);
    if (status != SW_STATUS_OK)
        answers->status = status;
    if (--answers->missing == 0)
        pthread_cond_signal(&answers->all);
    pthread_mutex_unlock(&answers->lock);
}

static int32_t run(void *user_data, sw_context_t *context)
{
    (void)user_data;
    struct answers answers = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, RESOURCES, SW_STATUS_OK};
    for (int number = 0; number < RESOURCES; number++) {
        char goal[256];
        int length = snprintf(goal, sizeof goal,
                              "{\"type\": \"things:index:Thing\", \"name\": \"thing-%d\","
                              " \"inputs\": {\"number\": %d, \"tags\": {\"a\": \"b\", \"c\": [1, 2, 3]}}}",
                              number, number);
        sw_bytes_view_t view = {goal, (size_t)length};
        check(sw_context_register_async(context, view, answered, &answers, NULL), NULL, "registering");
    }
    pthread_mutex_lock(&answers.lock);
    while (answers.missing > 0)
        pthread_cond_wait(&answers.all, &answers.lock);
    pthread_mutex_unlock(&answers.lock);
    return answers.status;
}

static void measure(const sw_stack_t *stack, const char *verb, const char *prefix)
{
    sw_error_t *error = NULL;
    sw_operation_t *operation = NULL;
    char name[64];
    snprintf(name, sizeof name, "native.c.%s.%d", verb, RESOURCES);
    double began = now();
    sw_bytes_view_t options = sw_text("{\"parallel\": 2147483647}");
    check(sw_stack_start(stack, SW_OPERATION_UPDATE, options, NULL, &operation, &error), error, verb);
    check(sw_operation_wait(operation, NULL, &error), error, verb);
    double took = now() - began;
    fprintf(stderr, "%s: %.2f s\n", name, took);
    if (strncmp(name, prefix, strlen(prefix)) == 0)
        printf("figure %s %.0f resources/s\n", name, RESOURCES / took);
    sw_operation_free(operation);
}

int main(int count, char **arguments)
{
    const char *prefix = count > 1 ? arguments[1] : "";
    char folder[] = "native-c-XXXXXX";
    if (!mkdtemp(folder)) {
        perror("mkdtemp");
        return 1;
    }
    sw_error_t *error = NULL;
    sw_runtime_t *runtime = NULL;
    sw_engine_t *engine = NULL;
    sw_stack_t *stack = NULL;
    check(sw_runtime_new(NULL, &runtime, &error), error, "runtime");
    sw_provider_t things = {.struct_size = sizeof things, .version = SW_PROVIDER_VERSION, .flags = SW_PROVIDER_PROMPT};
    things.create = create, things.delete_ = delete_nothing;
    sw_package_t package = {sizeof package, sw_text("things"), &things};
    char settings[128];
    snprintf(settings, sizeof settings, "{\"store\": \"file://./%s\", \"passphrase\": \"bench\"}", folder);
    sw_engine_options_t options = {sizeof options, runtime, sw_text(settings), &package, 1, NULL};
    check(sw_engine_new(&options, &engine, &error), error, "engine");
    sw_program_t program = {sizeof program, SW_PROGRAM_VERSION, NULL, NULL, run};
    check(sw_stack_open(engine, sw_text("bench/dev"), sw_text(""), &program, &stack, &error), error, "stack");
    measure(stack, "create", prefix);
    measure(stack, "noop", prefix);
    sw_stack_free(stack), sw_engine_free(engine);
    check(sw_runtime_free(runtime), NULL, "runtime");
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) == 0 ? 0 : 1;
}
