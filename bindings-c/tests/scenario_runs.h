/* The runs of the scenario actor: programs, and the code of components and methods. */
#ifndef STACKWRIGHT_SCENARIO_RUNS_H
#define STACKWRIGHT_SCENARIO_RUNS_H

#include "scenario_lines.h"

/* ---- programs ---- */

struct run {
    struct run *next;
    unsigned number;
    sw_context_t *context;
    int finished;
    char *failure;
    pthread_cond_t changed;
    sw_completion_t *completion; /* of the component or method whose code it is, or null */
    int is_method;
};

static struct {
    pthread_mutex_t mutex;
    struct run *first;
    unsigned last;
} runs = {PTHREAD_MUTEX_INITIALIZER, NULL, 0};

/* Takes a run out of the list. The caller holds the mutex. */
static void unlink_run(const struct run *run)
{
    for (struct run **place = &runs.first; *place; place = &(*place)->next) {
        if (*place == run) {
            *place = run->next;
            break;
        }
    }
}

static void run_ended(void *user_data, sw_status_t status, sw_bytes_view_t result, const sw_error_t *error)
{
    struct run *run = user_data;
    (void)result, (void)error;
    pthread_mutex_lock(&runs.mutex);
    if (!run->finished)
        run->finished = status == SW_STATUS_OK ? 1 : 2;
    pthread_cond_broadcast(&run->changed);
    pthread_mutex_unlock(&runs.mutex);
}

static int32_t program(void *user_data, sw_context_t *context)
{
    (void)user_data;
    struct run *run = calloc(1, sizeof *run);
    sw_bytes_t *preview = json_at(sw_text(sw_context_info(context)), "/dryRun");
    sw_bytes_t *stack = json_at(sw_text(sw_context_info(context)), "/stack");
    run->context = context;
    pthread_cond_init(&run->changed, NULL);
    pthread_mutex_lock(&runs.mutex);
    run->number = ++runs.last;
    run->next = runs.first;
    runs.first = run;
    pthread_mutex_unlock(&runs.mutex);
    sw_bytes_t *config = json_at(sw_text(sw_context_info(context)), "/config");
    sw_bytes_t *secret_keys = json_at(sw_text(sw_context_info(context)), "/configSecretKeys");
    send_line("{\"program\": %u, \"preview\": %s, \"stack\": %s, \"config\": %s, \"configSecretKeys\": %s}", run->number,
        sw_bytes_data(preview), sw_bytes_data(stack), or_else(config, "{}"), or_else(secret_keys, "[]"));
    sw_bytes_free(preview), sw_bytes_free(stack), sw_bytes_free(config), sw_bytes_free(secret_keys);
    sw_context_ended_async(context, run_ended, run, NULL);

    pthread_mutex_lock(&runs.mutex);
    while (!run->finished)
        pthread_cond_wait(&run->changed, &runs.mutex);
    unlink_run(run);
    int ended = run->finished == 2;
    pthread_mutex_unlock(&runs.mutex);
    if (ended)
        send_line("{\"programEnded\": %u}", run->number);
    sw_status_t status = ended ? SW_STATUS_CANCELLED : SW_STATUS_OK;
    if (run->failure) {
        sw_context_fail(context, sw_text(run->failure), NULL);
        status = SW_STATUS_PROGRAM;
    }
    /* `run_ended` may still use `run`, so `run` is never freed. */
    free(run->failure), run->failure = NULL;
    return status;
}

/* ---- the code of components and methods ---- */

struct body {
    sw_context_t *context;
    char *description;
    int is_method;
};

static void free_body(struct body *body)
{
    if (body)
        free(body->description), free(body);
}

/* Returns the request without the argument `__self__`, which the director does not get. */
static char *without_self(sw_bytes_view_t request)
{
    char *text = format("%.*s", (int)request.length, request.data), *needle = NULL, *found = NULL;
    sw_bytes_t *self = json_at(request, "/arguments/__self__");
    if (self) {
        needle = format("\"__self__\":%s", sw_bytes_data(self));
        found = strstr(text, needle);
    }
    if (found) {
        char *end = found + strlen(needle);
        if (*end == ',')
            end++;
        else if (found[-1] == ',')
            found--;
        memmove(found, end, strlen(end) + 1);
    }
    sw_bytes_free(self), free(needle);
    return text;
}

/* Asks the director, whose answer starts the code. `token`, `name` and `inputs` are pointers into the request. */
static void ask_for_body(const struct package *package, const char *method, sw_context_t *context, char *request,
    const char *const members[3], sw_completion_t *completion)
{
    struct body *body = malloc(sizeof *body);
    sw_bytes_view_t view = sw_text(request);
    sw_bytes_t *token = json_at(view, members[0]), *name = json_at(view, members[1]), *inputs = json_at(view, members[2]);
    *body = (struct body){context, NULL, !strcmp(method, "call")};
    body->description = format("{\"package\": \"%s\", \"method\": \"%s\", \"token\": %s, \"name\": %s, \"inputs\": %s}",
        package->name, method, or_else(token, "null"), or_else(name, "null"), or_else(inputs, "{}"));
    sw_bytes_free(token), sw_bytes_free(name), sw_bytes_free(inputs);
    ask_before(package->name, method, view, completion, body);
    free(request);
}

static void construct(void *package, sw_context_t *context, sw_bytes_view_t request, sw_completion_t *completion)
{
    static const char *const members[] = {"/type", "/name", "/inputs"};
    ask_for_body(package, "construct", context, format("%.*s", (int)request.length, request.data), members, completion);
}

static void call_method(void *package, sw_context_t *context, sw_bytes_view_t request, sw_completion_t *completion)
{
    static const char *const members[] = {"/token", "/token", "/arguments"};
    ask_for_body(package, "call", context, without_self(request), members, completion);
}

/* The run of a component or method has ended; called once for each. The director may have finished it before. */
static void body_ended(void *user_data, sw_status_t status, sw_bytes_view_t result, const sw_error_t *error)
{
    struct run *run = user_data;
    (void)status, (void)result, (void)error;
    pthread_mutex_lock(&runs.mutex);
    int finished = run->finished;
    run->finished = 1;
    if (!finished)
        unlink_run(run);
    pthread_mutex_unlock(&runs.mutex);
    if (!finished) {
        send_line("{\"programEnded\": %u}", run->number);
        sw_completion_fail(run->completion, SW_PROVIDER_STATUS_CANCELLED, sw_text("the run has ended"));
    }
    free(run);
}

static void start_body(struct body *body, sw_completion_t *completion)
{
    struct run *run = calloc(1, sizeof *run);
    sw_bytes_view_t info = sw_text(sw_context_info(body->context));
    sw_bytes_t *preview = json_at(info, "/dryRun"), *stack = json_at(info, "/stack");
    run->context = body->context, run->completion = completion, run->is_method = body->is_method;
    pthread_mutex_lock(&runs.mutex);
    run->number = ++runs.last;
    run->next = runs.first;
    runs.first = run;
    pthread_mutex_unlock(&runs.mutex);
    send_line("{\"program\": %u, \"preview\": %s, \"stack\": %s, \"body\": %s}", run->number, sw_bytes_data(preview),
        sw_bytes_data(stack), body->description);
    sw_bytes_free(preview), sw_bytes_free(stack), free_body(body);
    sw_context_ended_async(run->context, body_ended, run, NULL);
}

/* Completes the call of a component or method with the outputs of `finish`, or fails it with its error. */
static void complete_body(sw_completion_t *completion, int is_method, sw_bytes_view_t line)
{
    sw_bytes_t *failure = text_at(line, "/error"), *outputs = json_at(line, "/outputs");
    sw_bytes_t *dependencies = json_at(line, "/outputDependencies"), *failures = json_at(line, "/failures");
    const char *values = or_else(outputs, "{}"), *by_name = or_else(dependencies, "{}");
    char *response = is_method
        ? format("{\"result\": %s, \"resultDependencies\": %s, \"failures\": %s}", values, by_name, or_else(failures, "[]"))
        : format("{\"outputs\": %s, \"outputDependencies\": %s}", values, by_name);
    sw_bytes_t *first = is_method ? NULL : json_at(line, "/failures/0");
    if (failure)
        sw_completion_fail(completion, SW_PROVIDER_STATUS_UNKNOWN, sw_bytes_view(failure));
    else if (first) {
        char *refused = format("{\"status\": 3, \"message\": \"the inputs are invalid\", \"inputErrors\": %s}", sw_bytes_data(failures));
        sw_completion_fail_with(completion, sw_text(refused));
        free(refused);
    } else
        sw_completion_succeed(completion, sw_text(response));
    free(response);
    sw_bytes_free(failure), sw_bytes_free(outputs), sw_bytes_free(dependencies), sw_bytes_free(failures), sw_bytes_free(first);
}

#endif
