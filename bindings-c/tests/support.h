/* Shared by the C tests: checks that print their file and line on failure, and a provider in memory. */
#ifndef STACKWRIGHT_TEST_SUPPORT_H
#define STACKWRIGHT_TEST_SUPPORT_H

#include <stackwright.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CHECK(condition)                                                                     \
    do {                                                                                     \
        if (!(condition)) {                                                                  \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);          \
            exit(1);                                                                         \
        }                                                                                    \
    } while (0)

/* Checks that a call succeeds; prints its status and error otherwise. Needs a variable `error`. */
#define OK(call)                                                                             \
    do {                                                                                     \
        sw_status_t status_ = (call);                                                        \
        if (status_ != SW_STATUS_OK) {                                                       \
            fprintf(stderr, "%s:%d: %s: %s: %s\n", __FILE__, __LINE__, #call,                \
                    sw_status_name(status_), error ? sw_error_message(error) : "no error");  \
            exit(1);                                                                         \
        }                                                                                    \
    } while (0)

/* Checks that a call fails with a status and an error whose message contains a text, and frees the error. */
#define FAILS(call, expected, text)                                                          \
    do {                                                                                     \
        sw_status_t status_ = (call);                                                        \
        if (status_ != (expected) || !error || !strstr(sw_error_message(error), (text))) {   \
            fprintf(stderr, "%s:%d: %s: %s: %s\n", __FILE__, __LINE__, #call,                \
                    sw_status_name(status_), error ? sw_error_message(error) : "no error");  \
            exit(1);                                                                         \
        }                                                                                    \
        CHECK(sw_error_kind(error) == (expected));                                           \
        sw_error_free(error);                                                                \
        error = NULL;                                                                        \
    } while (0)

#define RUN(test)                                                                            \
    do {                                                                                     \
        test();                                                                              \
        printf("ok %s\n", #test);                                                            \
    } while (0)

/* Whether keys can be derived in time: one takes a quarter of a minute under valgrind, for which this variable is set. */
static inline int derives_keys(void)
{
    return getenv("STACKWRIGHT_TEST_WITHOUT_KEYS") == NULL;
}

/* Runs a test that derives keys, where that is possible in time. */
#define RUN_WITH_KEYS(test)                                                                  \
    do {                                                                                     \
        if (derives_keys())                                                                  \
            RUN(test);                                                                       \
    } while (0)

/* A counter that threads raise and wait for. */
struct flag {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int count;
};
#define FLAG {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0}

static inline void flag_raise(struct flag *flag)
{
    pthread_mutex_lock(&flag->mutex);
    flag->count++;
    pthread_cond_broadcast(&flag->changed);
    pthread_mutex_unlock(&flag->mutex);
}

/* The limit of a wait in seconds, far more than any takes under valgrind on a loaded machine. */
#define WAIT_SECONDS 300

/* Waits until the flag has the count; fails after WAIT_SECONDS. */
#define flag_wait(flag, count) flag_wait_at((flag), (count), __FILE__, __LINE__)

static inline void flag_wait_at(struct flag *flag, int count, const char *file, int line)
{
    struct timespec deadline;
    timespec_get(&deadline, TIME_UTC);
    deadline.tv_sec += WAIT_SECONDS;
    pthread_mutex_lock(&flag->mutex);
    while (flag->count < count) {
        if (pthread_cond_timedwait(&flag->changed, &flag->mutex, &deadline) != 0) {
            fprintf(stderr, "%s:%d: gave up waiting: the count is %d of %d\n", file, line, flag->count, count);
            exit(1);
        }
    }
    pthread_mutex_unlock(&flag->mutex);
}

static inline int flag_count(struct flag *flag)
{
    pthread_mutex_lock(&flag->mutex);
    int count = flag->count;
    pthread_mutex_unlock(&flag->mutex);
    return count;
}

/* A provider without real resources: the id is the name, the outputs are the inputs. */
struct provider {
    atomic_int checks, creates, updates, deletes, frees, given_up;
    /* When set, Create stores its completion in `held` instead of completing it, and raises the flag. */
    int hold;
    _Atomic(sw_completion_t *) held;
    struct flag held_flag;
};

static inline sw_bytes_t *json_at(sw_bytes_view_t document, const char *pointer)
{
    sw_bytes_t *found = NULL;
    sw_error_t *error = NULL;
    OK(sw_json_get(document, sw_text(pointer), &found, &error));
    return found;
}

static inline void answer(sw_completion_t *completion, const char *id, const char *outputs)
{
    size_t size = strlen(id) + strlen(outputs) + 64;
    char *text = (char *)malloc(size);
    snprintf(text, size, "{\"id\": %s, \"outputs\": %s}", id, outputs);
    CHECK(sw_completion_succeed(completion, sw_text(text)) == SW_STATUS_OK);
    free(text);
}

static inline void provider_check(void *user_data, sw_bytes_view_t request, sw_completion_t *completion)
{
    ((struct provider *)user_data)->checks++;
    sw_bytes_t *bad = json_at(request, "/news/bad");
    if (bad)
        CHECK(sw_completion_succeed(completion, sw_text("{\"failures\": [{\"property\": \"bad\", \"reason\": \"is bad\"}]}")) == SW_STATUS_OK);
    else
        CHECK(sw_completion_succeed(completion, sw_text("")) == SW_STATUS_OK);
    sw_bytes_free(bad);
}

static inline void provider_create(void *user_data, sw_bytes_view_t request, sw_completion_t *completion)
{
    struct provider *provider = (struct provider *)user_data;
    provider->creates++;
    if (provider->hold) {
        provider->held = completion;
        flag_raise(&provider->held_flag);
        return;
    }
    sw_bytes_t *name = json_at(request, "/name"), *inputs = json_at(request, "/inputs");
    sw_bytes_t *refuse = json_at(request, "/inputs/refuse");
    if (refuse)
        CHECK(sw_completion_fail(completion, SW_PROVIDER_STATUS_PERMISSION_DENIED, sw_text("no entry")) == SW_STATUS_OK);
    else
        answer(completion, sw_bytes_data(name), sw_bytes_data(inputs));
    sw_bytes_free(refuse);
    sw_bytes_free(name);
    sw_bytes_free(inputs);
}

static inline void provider_update(void *user_data, sw_bytes_view_t request, sw_completion_t *completion)
{
    ((struct provider *)user_data)->updates++;
    sw_bytes_t *news = json_at(request, "/news");
    size_t size = sw_bytes_length(news) + 32;
    char *text = (char *)malloc(size);
    snprintf(text, size, "{\"outputs\": %s}", sw_bytes_data(news));
    CHECK(sw_completion_succeed(completion, sw_text(text)) == SW_STATUS_OK);
    free(text);
    sw_bytes_free(news);
}

static inline void provider_delete(void *user_data, sw_bytes_view_t request, sw_completion_t *completion)
{
    (void)request;
    ((struct provider *)user_data)->deletes++;
    CHECK(sw_completion_succeed(completion, sw_text("{}")) == SW_STATUS_OK);
}

static inline void provider_invoke(void *user_data, sw_bytes_view_t request, sw_completion_t *completion)
{
    (void)user_data;
    sw_bytes_t *arguments = json_at(request, "/arguments");
    size_t size = sw_bytes_length(arguments) + 32;
    char *text = (char *)malloc(size);
    snprintf(text, size, "{\"result\": {\"echo\": %s}}", sw_bytes_data(arguments));
    CHECK(sw_completion_succeed(completion, sw_text(text)) == SW_STATUS_OK);
    free(text);
    sw_bytes_free(arguments);
}

static inline void provider_give_up(void *user_data, uint64_t call)
{
    CHECK(call > 0);
    ((struct provider *)user_data)->given_up++;
}

static inline void provider_free(void *user_data)
{
    ((struct provider *)user_data)->frees++;
}

static inline sw_provider_t provider_table(struct provider *provider, uint32_t flags)
{
    sw_provider_t table;
    memset(&table, 0, sizeof table);
    table.struct_size = sizeof table;
    table.version = SW_PROVIDER_VERSION;
    table.flags = flags;
    table.user_data = provider;
    table.free = provider_free;
    table.check = provider_check;
    table.create = provider_create;
    table.update = provider_update;
    table.delete_ = provider_delete;
    table.invoke = provider_invoke;
    table.give_up = provider_give_up;
    return table;
}

static inline sw_runtime_t *make_runtime(uint32_t threads)
{
    sw_error_t *error = NULL;
    sw_runtime_t *runtime = NULL;
    sw_runtime_options_t options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.threads = threads;
    OK(sw_runtime_new(&options, &runtime, &error));
    return runtime;
}

static inline sw_engine_t *make_engine(sw_runtime_t *runtime, const char *settings, const sw_provider_t *table)
{
    sw_error_t *error = NULL;
    sw_engine_t *engine = NULL;
    sw_package_t package = {sizeof package, sw_text("test"), table};
    sw_engine_options_t options = {sizeof options, runtime, sw_text(settings), &package, 1, NULL};
    OK(sw_engine_new(&options, &engine, &error));
    CHECK(engine != NULL && error == NULL);
    return engine;
}

/* Runs an operation to its end and returns its result; `expected` is its status. */
static inline sw_bytes_t *operate(const sw_stack_t *stack, sw_operation_kind_t kind, sw_status_t expected)
{
    sw_error_t *error = NULL;
    sw_operation_t *operation = NULL;
    sw_bytes_t *result = NULL;
    OK(sw_stack_start(stack, kind, sw_text(""), NULL, &operation, &error));
    sw_status_t status = sw_operation_wait(operation, &result, &error);
    if (status != expected) {
        fprintf(stderr, "ended with %s: %s\n%s\n", sw_status_name(status), error ? sw_error_message(error) : "",
                sw_bytes_data(result));
        exit(1);
    }
    CHECK((status == SW_STATUS_OK) == (error == NULL));
    CHECK(result != NULL);
    sw_error_free(error);
    sw_operation_free(operation);
    return result;
}

/* Checks that the value at a pointer of a document is this JSON text. */
static inline void expect_at(const sw_bytes_t *document, const char *pointer, const char *json)
{
    sw_bytes_t *found = json_at(sw_bytes_view(document), pointer);
    if (!found || strcmp(sw_bytes_data(found), json) != 0) {
        fprintf(stderr, "at %s: %s, expected %s in\n%s\n", pointer, found ? sw_bytes_data(found) : "nothing", json,
                sw_bytes_data(document));
        exit(1);
    }
    sw_bytes_free(found);
}

#endif
