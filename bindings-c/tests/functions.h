/* Shared by the tests of functions that the engine calls: a function that answers as its test prescribes. */
#ifndef STACKWRIGHT_TEST_FUNCTIONS_H
#define STACKWRIGHT_TEST_FUNCTIONS_H

#include "support.h"

enum answer {
    SUCCEED,           /* completes with `text` */
    FAIL,              /* fails with the message `text` */
    FAIL_WITH,         /* fails with the document `text` */
    FREE,              /* frees the completion */
    TWICE,             /* completes with `text`, then again in every way, which is misuse */
    ON_ANOTHER_THREAD, /* completes with `text` on a thread of the test, after the function has returned */
    HOLD,              /* keeps the completion in `held` */
};

/* A function of the host, and what it has seen. */
struct function {
    enum answer answer;
    const char *text;
    atomic_int calls, frees, given_up;
    atomic_ullong given_up_call;
    _Atomic(sw_completion_t *) held;
    struct flag began, returned, abandoned;
    pthread_t thread;
    char last[4096]; /* the latest request */
};

#define FUNCTION(how, what) {.answer = (how), .text = (what), .began = FLAG, .returned = FLAG, .abandoned = FLAG}

static inline void *complete_later(void *user_data)
{
    struct function *function = (struct function *)user_data;
    flag_wait(&function->returned, 1);
    CHECK(sw_completion_succeed(function->held, sw_text(function->text)) == SW_STATUS_OK);
    return NULL;
}

static inline void function_answer(struct function *function, sw_completion_t *completion)
{
    sw_bytes_view_t text = sw_text(function->text);
    CHECK(sw_completion_id(completion) > 0 && !sw_completion_is_cancelled(completion));
    switch (function->answer) {
    case SUCCEED:
        CHECK(sw_completion_succeed(completion, text) == SW_STATUS_OK);
        break;
    case FAIL:
        CHECK(sw_completion_fail(completion, SW_PROVIDER_STATUS_UNKNOWN, text) == SW_STATUS_OK);
        break;
    case FAIL_WITH:
        CHECK(sw_completion_fail_with(completion, text) == SW_STATUS_OK);
        break;
    case FREE:
        sw_completion_free(completion);
        break;
    case TWICE:
        CHECK(sw_completion_succeed(completion, text) == SW_STATUS_OK);
        CHECK(sw_completion_succeed(completion, sw_text("no JSON")) == SW_STATUS_MISUSE);
        CHECK(sw_completion_fail(completion, SW_PROVIDER_STATUS_UNKNOWN, sw_text("late")) == SW_STATUS_MISUSE);
        CHECK(sw_completion_fail_with(completion, sw_text("{}")) == SW_STATUS_MISUSE);
        sw_completion_free(completion);
        break;
    case ON_ANOTHER_THREAD:
        function->held = completion;
        CHECK(pthread_create(&function->thread, NULL, complete_later, function) == 0);
        break;
    case HOLD:
        function->held = completion;
        flag_raise(&function->began);
        break;
    }
}

static inline void function_call(void *user_data, sw_bytes_view_t request, sw_completion_t *completion)
{
    struct function *function = (struct function *)user_data;
    CHECK(request.length < sizeof function->last && request.data[request.length] == 0);
    strcpy(function->last, request.data);
    function->calls++;
    function_answer(function, completion);
    flag_raise(&function->returned);
}

static inline void function_give_up(void *user_data, uint64_t call)
{
    struct function *function = (struct function *)user_data;
    function->given_up_call = call;
    function->given_up++;
    flag_raise(&function->abandoned);
}

static inline void function_free(void *user_data)
{
    ((struct function *)user_data)->frees++;
}

static inline sw_function_t function_table(struct function *function, uint32_t flags)
{
    sw_function_t table = {sizeof table, SW_FUNCTION_VERSION, flags, function, function_free, function_call, function_give_up};
    return table;
}

/* Checks the value at a pointer of the latest request. */
static inline void expect_request(const struct function *function, const char *pointer, const char *json)
{
    sw_bytes_t *whole = json_at(sw_text(function->last), "");
    expect_at(whole, pointer, json);
    sw_bytes_free(whole);
}

/* An engine with a provider in memory, and a stack with a program. */
struct bench {
    struct provider provider;
    sw_runtime_t *runtime;
    sw_engine_t *engine;
    sw_stack_t *stack;
};

static inline void bench_open(struct bench *bench, sw_provider_t table, sw_run_t run, void *user_data)
{
    sw_error_t *error = NULL;
    sw_program_t program = {sizeof program, SW_PROGRAM_VERSION, user_data, NULL, run};
    bench->runtime = make_runtime(2);
    bench->engine = make_engine(bench->runtime, "{\"store\": \"memory://\"}", &table);
    OK(sw_stack_open(bench->engine, sw_text("shop/dev"), sw_text(""), &program, &bench->stack, &error));
}

static inline void bench_close(struct bench *bench)
{
    sw_stack_free(bench->stack);
    sw_engine_free(bench->engine);
    CHECK(sw_runtime_free(bench->runtime) == SW_STATUS_OK);
}

/* Checks that the result of an operation contains a text, and frees the result. */
static inline void expect_text(sw_bytes_t *result, const char *text)
{
    if (!strstr(sw_bytes_data(result), text)) {
        fprintf(stderr, "no %s in %s\n", text, sw_bytes_data(result));
        exit(1);
    }
    sw_bytes_free(result);
}

#endif
