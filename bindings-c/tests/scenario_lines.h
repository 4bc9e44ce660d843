/* The lines of the scenario actor: what it sends to the director, and the calls that the director answers. */
#ifndef STACKWRIGHT_SCENARIO_LINES_H
#define STACKWRIGHT_SCENARIO_LINES_H

#include <stackwright.h>

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t output = PTHREAD_MUTEX_INITIALIZER;

/* Writes one line to standard output. Line breaks, which in JSON are insignificant white space, become spaces. */
static void send_line(const char *pattern, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, pattern);
    if (vasprintf(&text, pattern, arguments) < 0)
        abort();
    va_end(arguments);
    for (char *at = text; (at = strchr(at, '\n')) != NULL;)
        *at = ' ';
    pthread_mutex_lock(&output);
    puts(text);
    fflush(stdout);
    pthread_mutex_unlock(&output);
    free(text);
}

/* Return the JSON value, or the content of the string, at a pointer; null when there is none. */
static sw_bytes_t *json_at(sw_bytes_view_t document, const char *pointer)
{
    sw_bytes_t *found = NULL;
    sw_json_get(document, sw_text(pointer), &found, NULL);
    return found;
}

static sw_bytes_t *text_at(sw_bytes_view_t document, const char *pointer)
{
    sw_bytes_t *found = NULL;
    sw_json_text(document, sw_text(pointer), &found, NULL);
    return found;
}

static const char *or_else(const sw_bytes_t *bytes, const char *otherwise)
{
    return bytes ? sw_bytes_data(bytes) : otherwise;
}

/* Returns the bytes of a text; none of a null. */
static sw_bytes_view_t text_of(const sw_bytes_t *text)
{
    return text ? sw_bytes_view(text) : sw_text("");
}

static char *format(const char *pattern, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, pattern);
    if (vasprintf(&text, pattern, arguments) < 0)
        abort();
    va_end(arguments);
    return text;
}

/* Formats a member of an error as `, "name": "value"`; empty when the value is null. */
static char *member(const char *name, const char *value)
{
    if (!value)
        return format("%s", "");
    sw_bytes_t *quoted = NULL;
    sw_json_quote(sw_text(value), &quoted, NULL);
    char *text = format(", \"%s\": %s", name, sw_bytes_data(quoted));
    sw_bytes_free(quoted);
    return text;
}

static void answer_error(const char *id, const sw_error_t *error)
{
    char *message = member("message", sw_error_message(error)), *urn = member("urn", sw_error_urn(error));
    char *provider = member("provider", sw_error_provider(error)), *phase = member("phase", sw_error_phase(error));
    char *reference = member("referenceMessage", sw_error_reference_message(error));
    char *hints = format("%s", "");
    for (size_t index = 0; index < sw_error_hint_count(error); index++) {
        sw_bytes_t *quoted = NULL;
        sw_json_quote(sw_text(sw_error_hint(error, index)), &quoted, NULL);
        char *longer = format("%s%s%s", hints, index ? ", " : "", sw_bytes_data(quoted));
        sw_bytes_free(quoted), free(hints);
        hints = longer;
    }
    send_line("{\"id\": %s, \"error\": {\"kind\": \"%s\"%s%s%s%s%s, \"hints\": [%s]}}", id, sw_error_kind_name(error), message,
        urn, provider, phase, reference, hints);
    free(hints);
    free(message), free(urn), free(provider), free(phase), free(reference);
}

/* Sends `{}` or the error; frees the error. */
static void answer(const char *id, sw_status_t status, sw_error_t *error)
{
    if (status == SW_STATUS_OK)
        send_line("{\"id\": %s, \"ok\": {}}", id);
    else
        answer_error(id, error);
    sw_error_free(error);
}

static void actor_error(const char *id, const char *message)
{
    send_line("{\"id\": %s, \"error\": {\"kind\": \"actor\", \"message\": \"%s\"}}", id, message);
}

/* ---- pending provider calls ---- */

struct call {
    struct call *next;
    uint64_t number;
    sw_completion_t *completion;
    struct body *body; /* the code that runs when the answer is no error, or null */
};

static struct {
    pthread_mutex_t mutex;
    struct call *first;
    uint64_t last;
} calls = {PTHREAD_MUTEX_INITIALIZER, NULL, 0};

struct package {
    struct package *next;
    char *name;
    int waits;
};

static void ask_before(const char *package, const char *method, sw_bytes_view_t request, sw_completion_t *completion,
    struct body *body)
{
    uint64_t number;
    pthread_mutex_lock(&calls.mutex);
    if (completion) {
        struct call *call = malloc(sizeof *call);
        number = sw_completion_id(completion);
        *call = (struct call){calls.first, number, completion, body};
        calls.first = call;
    } else {
        /* No completion waits for the answer. These numbers are above those of completions. */
        number = (UINT64_C(1) << 52) + ++calls.last;
    }
    pthread_mutex_unlock(&calls.mutex);
    send_line("{\"call\": %llu, \"package\": \"%s\", \"method\": \"%s\", \"request\": %.*s}",
        (unsigned long long)number, package, method, (int)request.length, request.data);
}

static void ask(const struct package *package, const char *method, sw_bytes_view_t request, sw_completion_t *completion)
{
    ask_before(package->name, method, request, completion, NULL);
}

static void start_body(struct body *body, sw_completion_t *completion);
static void free_body(struct body *body);

static void answered(sw_bytes_view_t line, const char *number_text)
{
    uint64_t number = strtoull(number_text, NULL, 10);
    sw_completion_t *completion = NULL;
    struct body *body = NULL;
    pthread_mutex_lock(&calls.mutex);
    for (struct call **place = &calls.first; *place; place = &(*place)->next) {
        if ((*place)->number == number) {
            struct call *call = *place;
            completion = call->completion, body = call->body;
            *place = call->next;
            free(call);
            break;
        }
    }
    pthread_mutex_unlock(&calls.mutex);
    if (!completion)
        return;
    sw_bytes_t *failure = json_at(line, "/error"), *response = json_at(line, "/ok");
    if (failure)
        sw_completion_fail_with(completion, sw_bytes_view(failure)), free_body(body);
    else if (body)
        start_body(body, completion);
    else
        sw_completion_succeed(completion, sw_bytes_view(response));
    sw_bytes_free(failure), sw_bytes_free(response);
}

#define METHOD(function, method)                                                                              \
    static void function(void *package, sw_bytes_view_t request, sw_completion_t *completion)                 \
    {                                                                                                         \
        ask(package, method, request, completion);                                                            \
    }
METHOD(check_config, "checkConfig")
METHOD(diff_config, "diffConfig")
METHOD(configure, "configure")
METHOD(check, "check")
METHOD(diff, "diff")
METHOD(create, "create")
METHOD(read_resource, "read")
METHOD(update, "update")
METHOD(delete_resource, "delete")
METHOD(invoke, "invoke")

static void decline_secrets(void *package, sw_bytes_view_t request, sw_completion_t *completion)
{
    (void)package, (void)request;
    sw_completion_succeed(completion, sw_text("{\"acceptSecrets\": false}"));
}

static void give_up(void *package, uint64_t call)
{
    (void)package;
    send_line("{\"abandoned\": %llu}", (unsigned long long)call);
}

static void cancel_provider(void *package)
{
    ask(package, "cancel", sw_text("{}"), NULL);
}

static void close_provider(void *package)
{
    ask(package, "close", sw_text("{}"), NULL);
}

static void free_package(void *user_data)
{
    struct package *package = user_data;
    free(package->name);
    free(package);
}

#endif
