/* A store of the host as a table of functions, and credentials from a function of the host. */
#include "support.h"

#define THING "test:index:Thing"
#define OBJECTS 256

/* An object; free while its key is null. */
struct object {
    char *key;
    char *content;
    size_t length;
    unsigned version;
};

/* Objects in memory, which calls of several threads use. */
struct store {
    pthread_mutex_t mutex;
    struct object objects[OBJECTS];
    unsigned versions;
    atomic_int calls, copies, frees, given_up;
    /* When it is not null, each put of this key fails. */
    const char *refused;
    /* When set, get completes with a content that has no version. */
    int without_version;
};
#define STORE {.mutex = PTHREAD_MUTEX_INITIALIZER}

static char *copied(sw_bytes_view_t view)
{
    char *copy = malloc(view.length + 1);
    CHECK(copy);
    if (view.length)
        memcpy(copy, view.data, view.length);
    copy[view.length] = '\0';
    return copy;
}

/* Returns the object of a key, or null. A NUL follows each key. */
static struct object *found(struct store *store, const char *key)
{
    for (size_t index = 0; index < OBJECTS; index++)
        if (store->objects[index].key && strcmp(store->objects[index].key, key) == 0)
            return &store->objects[index];
    return NULL;
}

static struct object *made(struct store *store, const char *key)
{
    struct object *object = found(store, key);
    for (size_t index = 0; !object; index++) {
        CHECK(index < OBJECTS);
        if (!store->objects[index].key)
            object = &store->objects[index];
    }
    if (!object->key)
        object->key = copied(sw_text(key));
    return object;
}

static void fill(struct store *store, struct object *object, sw_bytes_view_t content)
{
    char *copy = copied(content);
    free(object->content);
    object->content = copy;
    object->length = content.length;
    object->version = ++store->versions;
}

static void store_get(void *user_data, sw_bytes_view_t key, sw_completion_t *completion)
{
    struct store *store = user_data;
    store->calls++;
    pthread_mutex_lock(&store->mutex);
    struct object *object = found(store, key.data);
    if (!object) {
        CHECK(sw_completion_succeed(completion, sw_text("")) == SW_STATUS_OK);
    } else {
        char version[16];
        snprintf(version, sizeof version, "%u", object->version);
        sw_bytes_view_t content = {object->content, object->length};
        if (store->without_version)
            CHECK(sw_completion_succeed(completion, content) == SW_STATUS_OK);
        else
            CHECK(sw_completion_succeed_with_version(completion, content, sw_text(version)) == SW_STATUS_OK);
        CHECK(sw_completion_succeed_with_version(completion, content, sw_text(version)) == SW_STATUS_MISUSE);
    }
    pthread_mutex_unlock(&store->mutex);
}

static void store_put(void *user_data, sw_bytes_view_t key, sw_bytes_view_t content, sw_condition_t condition,
                      sw_bytes_view_t version, sw_completion_t *completion)
{
    struct store *store = user_data;
    store->calls++;
    pthread_mutex_lock(&store->mutex);
    struct object *object = found(store, key.data);
    int holds = condition == SW_CONDITION_ANY || (condition == SW_CONDITION_ABSENT && !object);
    if (condition == SW_CONDITION_MATCH && object)
        holds = (unsigned)strtoul(version.data, NULL, 10) == object->version;
    if (store->refused && strcmp(store->refused, key.data) == 0) {
        CHECK(sw_completion_fail(completion, SW_PROVIDER_STATUS_PERMISSION_DENIED, sw_text("the disk is full")) == SW_STATUS_OK);
    } else if (!holds) {
        CHECK(sw_completion_fail(completion, SW_PROVIDER_STATUS_FAILED_PRECONDITION, sw_text("it was changed")) == SW_STATUS_OK);
    } else {
        char next[16];
        object = made(store, key.data);
        fill(store, object, content);
        snprintf(next, sizeof next, "%u", object->version);
        CHECK(sw_completion_succeed(completion, sw_text(next)) == SW_STATUS_OK);
    }
    pthread_mutex_unlock(&store->mutex);
}

static void store_list(void *user_data, sw_bytes_view_t prefix, sw_completion_t *completion)
{
    struct store *store = user_data;
    store->calls++;
    pthread_mutex_lock(&store->mutex);
    size_t size = 3;
    for (size_t index = 0; index < OBJECTS; index++)
        size += store->objects[index].key ? strlen(store->objects[index].key) + 128 : 0;
    char *text = malloc(size);
    CHECK(text);
    strcpy(text, "[");
    for (size_t index = 0; index < OBJECTS; index++) {
        struct object *object = &store->objects[index];
        if (object->key && strncmp(object->key, prefix.data, prefix.length) == 0)
            snprintf(text + strlen(text), size - strlen(text),
                     "%s{\"key\": \"%s\", \"size\": %zu, \"modified\": \"2026-01-02T03:04:05Z\"}",
                     text[1] ? ", " : "", object->key, object->length);
    }
    strcat(text, "]");
    CHECK(sw_completion_succeed(completion, sw_text(text)) == SW_STATUS_OK);
    free(text);
    pthread_mutex_unlock(&store->mutex);
}

static void store_delete(void *user_data, sw_bytes_view_t key, sw_completion_t *completion)
{
    struct store *store = user_data;
    store->calls++;
    pthread_mutex_lock(&store->mutex);
    struct object *object = found(store, key.data);
    if (object) {
        free(object->key);
        free(object->content);
        memset(object, 0, sizeof *object);
    }
    pthread_mutex_unlock(&store->mutex);
    CHECK(sw_completion_succeed(completion, sw_text("")) == SW_STATUS_OK);
}

static void store_copy(void *user_data, sw_bytes_view_t source, sw_bytes_view_t target, sw_completion_t *completion)
{
    struct store *store = user_data;
    store->calls++;
    store->copies++;
    pthread_mutex_lock(&store->mutex);
    struct object *object = found(store, source.data);
    if (!object) {
        CHECK(sw_completion_fail(completion, SW_PROVIDER_STATUS_NOT_FOUND, sw_text("there is none")) == SW_STATUS_OK);
    } else {
        sw_bytes_view_t content = {object->content, object->length};
        fill(store, made(store, target.data), content);
        CHECK(sw_completion_succeed(completion, sw_text("")) == SW_STATUS_OK);
    }
    pthread_mutex_unlock(&store->mutex);
}

static void store_free(void *user_data)
{
    ((struct store *)user_data)->frees++;
}

static void store_give_up(void *user_data, uint64_t call)
{
    CHECK(call != 0);
    ((struct store *)user_data)->given_up++;
}

static void clear(struct store *store)
{
    for (size_t index = 0; index < OBJECTS; index++) {
        free(store->objects[index].key);
        free(store->objects[index].content);
    }
}

static sw_store_t store_table(struct store *store, uint32_t flags)
{
    sw_store_t table = {sizeof table, SW_STORE_VERSION, flags,     store,        store_free, store_give_up,
                        store_get,    store_put,        store_list, store_delete, store_copy};
    return table;
}

static sw_status_t engine_of(sw_runtime_t *runtime, const char *settings, const sw_host_t *host, const sw_provider_t *provider,
                             sw_engine_t **engine, sw_error_t **error)
{
    sw_package_t package = {sizeof package, sw_text("test"), provider};
    sw_engine_options_t options = {sizeof options, runtime, sw_text(settings), provider ? &package : NULL, provider ? 1 : 0, host};
    return sw_engine_new(&options, engine, error);
}

/* Makes an engine on a store of the host. */
static sw_status_t engine_on(sw_runtime_t *runtime, const char *settings, const sw_store_t *store,
                             const sw_provider_t *provider, sw_engine_t **engine, sw_error_t **error)
{
    sw_host_t host;
    memset(&host, 0, sizeof host);
    host.struct_size = sizeof host;
    host.version = SW_HOST_VERSION;
    host.store = store;
    return engine_of(runtime, settings, &host, provider, engine, error);
}

static int32_t one_thing(void *user_data, sw_context_t *context)
{
    (void)user_data;
    sw_error_t *error = NULL;
    sw_bytes_t *registered = NULL;
    OK(sw_context_register(context, sw_text("{\"type\": \"" THING "\", \"name\": \"a\", \"inputs\": {\"size\": 1}}"),
                           &registered, &error));
    sw_bytes_free(registered);
    return SW_STATUS_OK;
}

static sw_stack_t *open_stack(const sw_engine_t *engine)
{
    sw_error_t *error = NULL;
    sw_stack_t *stack = NULL;
    sw_program_t program = {sizeof program, SW_PROGRAM_VERSION, NULL, NULL, one_thing};
    OK(sw_stack_open(engine, sw_text("shop/dev"), sw_text(""), &program, &stack, &error));
    return stack;
}

/* Runs a whole life on a store; without `copies` its table ends before `copy`, as that of an older header would. */
static void live(uint32_t flags, int copies)
{
    sw_error_t *error = NULL;
    struct provider provider = {.held_flag = FLAG};
    struct store store = STORE;
    sw_store_t table = store_table(&store, flags);
    if (!copies)
        table.struct_size = offsetof(sw_store_t, copy);
    sw_runtime_t *runtime = make_runtime(2);
    sw_provider_t providers = provider_table(&provider, 0);
    sw_engine_t *engine = NULL;
    OK(engine_on(runtime, "{\"store\": \"Objects\"}", &table, &providers, &engine, &error));
    sw_stack_t *stack = open_stack(engine);
    sw_bytes_t *result = operate(stack, SW_OPERATION_UPDATE, SW_STATUS_OK);
    expect_at(result, "/changes/create", "2");
    sw_bytes_free(result);
    result = operate(stack, SW_OPERATION_UPDATE, SW_STATUS_OK);
    expect_at(result, "/changes/same", "2");
    sw_bytes_free(result);
    CHECK(found(&store, ".pulumi/stacks/shop/dev.json"));
    sw_bytes_t *stacks = NULL;
    OK(sw_engine_stacks(engine, sw_text(""), true, &stacks, &error));
    expect_at(stacks, "/0/resourceCount", "3");
    sw_bytes_free(stacks);
    result = operate(stack, SW_OPERATION_DESTROY, SW_STATUS_OK);
    expect_at(result, "/changes/delete", "2");
    sw_bytes_free(result);
    CHECK((store.copies > 0) == copies);
    CHECK(store.frees == 0 && store.given_up == 0);
    sw_stack_free(stack);
    sw_engine_free(engine);
    OK(sw_runtime_free(runtime));
    CHECK(store.frees == 1);
    int calls = store.calls;
    CHECK(calls > 0);
    clear(&store);
}

static void a_store_of_the_host_has_the_states_of_stacks(void)
{
    live(0, 1);
    live(SW_FUNCTION_PROMPT, 0);
}

static void failures_name_the_function_and_the_key(void)
{
    sw_error_t *error = NULL;
    struct provider provider = {.held_flag = FLAG};
    struct store store = STORE;
    sw_store_t table = store_table(&store, 0);
    sw_runtime_t *runtime = make_runtime(2);
    sw_provider_t providers = provider_table(&provider, 0);
    sw_engine_t *engine = NULL;
    OK(engine_on(runtime, "{\"store\": \"disk://objects\"}", &table, &providers, &engine, &error));
    sw_stack_t *stack = open_stack(engine);
    sw_bytes_free(operate(stack, SW_OPERATION_UPDATE, SW_STATUS_OK));
    store.without_version = 1;
    sw_bytes_t *document = NULL;
    FAILS(sw_stack_export_deployment(stack, false, &document, &error), SW_STATUS_INVALID_INPUT,
          "sw_completion_succeed_with_version");
    store.without_version = 0;
    store.refused = ".pulumi/stacks/shop/dev.json";
    sw_operation_t *operation = NULL;
    sw_bytes_t *result = NULL;
    OK(sw_stack_start(stack, SW_OPERATION_DESTROY, sw_text(""), NULL, &operation, &error));
    FAILS(sw_operation_wait(operation, &result, &error), SW_STATUS_UNAVAILABLE,
          "put of \".pulumi/stacks/shop/dev.json\" failed in the store disk://objects: the disk is full");
    sw_bytes_free(result);
    sw_operation_free(operation);
    store.refused = NULL;
    sw_stack_free(stack);
    sw_engine_free(engine);
    OK(sw_runtime_free(runtime));
    CHECK(store.frees == 1);
    clear(&store);
}

static void a_table_that_cannot_be_used_stays_with_the_host(void)
{
    sw_error_t *error = NULL;
    struct store store = STORE;
    sw_runtime_t *runtime = make_runtime(1);
    sw_engine_t *engine = NULL;
    sw_store_t table = store_table(&store, 0);
    table.put = NULL;
    FAILS(engine_on(runtime, "{\"store\": \"Objects\"}", &table, NULL, &engine, &error), SW_STATUS_MISUSE, "no function put");
    table = store_table(&store, 0);
    table.version = 9;
    FAILS(engine_on(runtime, "{\"store\": \"Objects\"}", &table, NULL, &engine, &error), SW_STATUS_MISUSE, "unknown version");
    table = store_table(&store, 0);
    FAILS(engine_on(runtime, "{\"store\": \"memory://\"}", &table, NULL, &engine, &error), SW_STATUS_INVALID_INPUT,
          "names a store of the engine");
    FAILS(engine_on(runtime, "{\"store\": \"Objects\", \"credentials\": {\"token\": \"T0K3N\"}}", &table, NULL, &engine, &error),
          SW_STATUS_INVALID_INPUT, "takes no credentials");
    CHECK(store.frees == 0 && store.calls == 0 && !engine);
    OK(sw_runtime_free(runtime));
}

/* Answers a request for credentials with what user_data points to; a text that begins with '!' is a failure. */
static void credentials(void *user_data, sw_bytes_view_t request, sw_completion_t *completion)
{
    CHECK(request.length == 2);
    const char *answered = user_data;
    if (answered[0] == '!')
        CHECK(sw_completion_fail(completion, SW_PROVIDER_STATUS_UNAUTHENTICATED, sw_text(answered + 1)) == SW_STATUS_OK);
    else
        CHECK(sw_completion_succeed(completion, sw_text(answered)) == SW_STATUS_OK);
}

static void credentials_are_settings_or_come_from_a_function(void)
{
    sw_error_t *error = NULL;
    sw_engine_t *engine = NULL;
    sw_runtime_t *runtime = make_runtime(1);
    /* Nothing listens at the port of the discard service. */
    const char *unreachable = "{\"store\": \"s3://state?endpoint=http://127.0.0.1:9\"}";
    FAILS(engine_of(runtime, unreachable, NULL, NULL, &engine, &error), SW_STATUS_INVALID_INPUT, "needs credentials");
    FAILS(engine_of(runtime, "{\"store\": \"gs://state\", \"credentials\": {\"serviceAccount\": {\"type\": \"external_account\"}}}",
                    NULL, NULL, &engine, &error), SW_STATUS_INVALID_INPUT, "external_account");
    OK(engine_of(runtime, "{\"store\": \"gs://state\", \"credentials\": {\"token\": \"T0K3N\"}}", NULL, NULL, &engine, &error));
    sw_engine_free(engine);
    const char *cases[][2] = {
        {"!the login has ended", "the credential callback failed: the login has ended"},
        {"{\"token\": \"T0K3N\"}", "a bearer token"},
        {"{\"tokn\": \"T0K3N\"}", "the answer of the credential callback"},
    };
    for (size_t index = 0; index < 3; index++) {
        sw_host_t host;
        memset(&host, 0, sizeof host);
        host.struct_size = sizeof host;
        host.version = SW_HOST_VERSION;
        host.user_data = (void *)(uintptr_t)cases[index][0];
        host.credentials = credentials;
        OK(engine_of(runtime, unreachable, &host, NULL, &engine, &error));
        sw_bytes_t *stacks = NULL;
        sw_status_t status = sw_engine_stacks(engine, sw_text(""), false, &stacks, &error);
        CHECK(status != SW_STATUS_OK && strstr(sw_error_message(error), cases[index][1]));
        CHECK(!strstr(sw_error_message(error), "T0K3N"));
        sw_error_free(error);
        error = NULL;
        sw_engine_free(engine);
    }
    OK(sw_runtime_free(runtime));
}

int main(void)
{
    RUN(a_store_of_the_host_has_the_states_of_stacks);
    RUN(failures_name_the_function_and_the_key);
    RUN(a_table_that_cannot_be_used_stays_with_the_host);
    RUN(credentials_are_settings_or_come_from_a_function);
    return 0;
}
