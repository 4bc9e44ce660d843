/* Callbacks and settings of the host: resolver, stack reader, journal, secrets, held sessions, language runtime. */
#define _POSIX_C_SOURCE 200809L /* strdup */
#include "support.h"

static int32_t register_goal(void *user_data, sw_context_t *context)
{
    const char *goal = user_data;
    return sw_context_register(context, sw_text(goal), NULL, NULL);
}

struct host {
    atomic_int resolved, entries, begun, skipped, frees;
    int refuse_after;
};

static void host_resolve(void *user_data, sw_bytes_view_t request, sw_completion_t *completion)
{
    struct host *host = user_data;
    sw_bytes_t *name = json_at(request, "/name");
    host->resolved++;
    if (strcmp(sw_bytes_data(name), "\"alias\"") == 0)
        CHECK(sw_completion_succeed(completion, sw_text("{\"package\": \"test\"}")) == SW_STATUS_OK);
    else
        CHECK(sw_completion_fail(completion, SW_PROVIDER_STATUS_NOT_FOUND, sw_text("no provider serves this")) == SW_STATUS_OK);
    sw_bytes_free(name);
}

static void host_journal(void *user_data, sw_bytes_view_t request, sw_completion_t *completion)
{
    struct host *host = user_data;
    sw_bytes_t *stack = json_at(request, "/stack"), *kind = json_at(request, "/entry/kind");
    sw_bytes_t *skipped = json_at(request, "/entry/skippedCreate"), *state = json_at(request, "/entry/state/urn");
    sw_bytes_t *step = json_at(request, "/entry/operation");
    CHECK(strcmp(sw_bytes_data(stack), "\"shop/host\"") == 0 && kind != NULL && step != NULL);
    CHECK(!skipped || (state && strstr(sw_bytes_data(state), "::other")));
    host->begun += strcmp(sw_bytes_data(kind), "\"begin\"") == 0;
    host->skipped += skipped != NULL;
    sw_bytes_free(skipped), sw_bytes_free(state), sw_bytes_free(step);
    if (++host->entries == host->refuse_after)
        CHECK(sw_completion_fail(completion, SW_PROVIDER_STATUS_ABORTED, sw_text("the disk is full")) == SW_STATUS_OK);
    else
        CHECK(sw_completion_succeed(completion, sw_text("")) == SW_STATUS_OK);
    sw_bytes_free(stack), sw_bytes_free(kind);
}

static void host_stack_outputs(void *user_data, sw_bytes_view_t request, sw_completion_t *completion)
{
    (void)user_data, (void)request;
    CHECK(sw_completion_succeed(completion, sw_text("{\"color\": \"blue\"}")) == SW_STATUS_OK);
}

static void host_free(void *user_data)
{
    ((struct host *)user_data)->frees++;
}

static int32_t run_reference(void *user_data, sw_context_t *context)
{
    sw_bytes_t *reference = NULL;
    (void)user_data;
    sw_status_t status = sw_context_read(context, sw_text("{\"type\": \"pulumi:pulumi:StackReference\", \"name\": \"other\","
        " \"id\": \"other/dev\", \"inputs\": {\"name\": \"other/dev\"}}"), &reference, NULL);
    if (status == SW_STATUS_OK)
        expect_at(reference, "/outputs/outputs/color", "\"blue\"");
    sw_bytes_free(reference);
    return status;
}

static void the_host_resolves_providers_reads_stacks_and_keeps_the_journal(void)
{
    sw_error_t *error = NULL;
    struct provider provider = {.held_flag = FLAG};
    struct host host = {.refuse_after = 0};
    sw_runtime_t *runtime = make_runtime(2);
    sw_provider_t table = provider_table(&provider, SW_PROVIDER_PROMPT);
    sw_package_t package = {sizeof package, sw_text("test"), &table};
    sw_host_t hooks = {.struct_size = sizeof hooks, .version = SW_HOST_VERSION, .user_data = &host, .free = host_free};
    sw_engine_options_t options = {sizeof options, runtime, sw_text("{\"store\": \"memory://\"}"), &package, 1, &hooks};
    sw_engine_t *engine = NULL;
    sw_stack_t *stack = NULL;
    hooks.stack_outputs = host_stack_outputs;
    FAILS(sw_engine_new(&options, &engine, &error), SW_STATUS_MISUSE, "without the other");
    hooks.stack_resource_outputs = host_stack_outputs;
    hooks.resolve = host_resolve, hooks.journal = host_journal;
    OK(sw_engine_new(&options, &engine, &error));
    OK(sw_stack_open(engine, sw_text("shop/host"), sw_text(""), NULL, &stack, &error));
    struct {
        sw_run_t run;
        const char *goal, *options, *text;
        sw_status_t status;
        int refuse_after;
    } cases[] = {
        {register_goal, "{\"type\": \"alias:index:Thing\", \"name\": \"a\"}", "", "\"create\":2", SW_STATUS_OK, 0},
        {register_goal, "{\"type\": \"alias:index:Thing\", \"name\": \"other\"}", "{\"targets\": [\"**::a\"]}", "", SW_STATUS_OK, 0},
        {run_reference, NULL, "", "", SW_STATUS_OK, 0},
        {register_goal, "{\"type\": \"absent:index:Thing\", \"name\": \"a\"}", "", "no provider serves this", SW_STATUS_FAILED, 0},
        {register_goal, "{\"type\": \"alias:index:Thing\", \"name\": \"b\"}", "", "the disk is full", SW_STATUS_UNAVAILABLE, 1},
    };
    for (size_t index = 0; index < sizeof cases / sizeof *cases; index++) {
        sw_operation_t *operation = NULL;
        sw_bytes_t *result = NULL;
        sw_program_t program = {sizeof program, SW_PROGRAM_VERSION, (void *)cases[index].goal, NULL, cases[index].run};
        host.entries = 0;
        host.refuse_after = cases[index].refuse_after;
        OK(sw_stack_start(stack, SW_OPERATION_UPDATE, sw_text(cases[index].options), &program, &operation, &error));
        sw_status_t status = sw_operation_wait(operation, &result, &error);
        if (status != cases[index].status || !strstr(sw_bytes_data(result), cases[index].text)) {
            fprintf(stderr, "case %zu: %s: %s\n%s\n", index, sw_status_name(status), error ? sw_error_message(error) : "", sw_bytes_data(result));
            exit(1);
        }
        CHECK(host.entries > 0);
        sw_error_free(error), error = NULL;
        sw_bytes_free(result);
        sw_operation_free(operation);
    }
    CHECK(host.resolved >= 2 && provider.creates >= 1 && host.begun > 0 && host.skipped == 1);
    sw_stack_free(stack);
    sw_engine_free(engine);
    OK(sw_runtime_free(runtime));
    CHECK(host.frees == 1 && provider.frees == 1);
}

/* Completes with the texts of a JSON array, each reversed. Encryption and decryption are the same function. */
static void answer_reversed(sw_bytes_view_t request, sw_completion_t *completion)
{
    char *answer = strdup("[");
    for (int index = 0;; index++) {
        char pointer[16];
        snprintf(pointer, sizeof pointer, "/%d", index);
        sw_bytes_t *text = NULL, *quoted = NULL;
        sw_error_t *error = NULL;
        OK(sw_json_text(request, sw_text(pointer), &text, &error));
        if (!text)
            break;
        size_t length = sw_bytes_length(text);
        char *reversed = (char *)malloc(length + 1);
        for (size_t at = 0; at < length; at++)
            reversed[at] = sw_bytes_data(text)[length - 1 - at];
        OK(sw_json_quote((sw_bytes_view_t){reversed, length}, &quoted, &error));
        size_t size = strlen(answer) + sw_bytes_length(quoted) + 2;
        char *longer = (char *)malloc(size);
        snprintf(longer, size, "%s%s%s", answer, index > 0 ? "," : "", sw_bytes_data(quoted));
        free(answer), free(reversed), sw_bytes_free(text), sw_bytes_free(quoted);
        answer = longer;
    }
    size_t size = strlen(answer) + 2;
    char *whole = (char *)malloc(size);
    snprintf(whole, size, "%s]", answer);
    CHECK(sw_completion_succeed(completion, sw_text(whole)) == SW_STATUS_OK);
    free(answer), free(whole);
}

struct vault {
    atomic_int encrypted, decrypted;
    int sealed;
};

static void vault_encrypt(void *user_data, sw_bytes_view_t request, sw_completion_t *completion)
{
    ((struct vault *)user_data)->encrypted++;
    answer_reversed(request, completion);
}

static void vault_decrypt(void *user_data, sw_bytes_view_t request, sw_completion_t *completion)
{
    struct vault *vault = user_data;
    vault->decrypted++;
    if (vault->sealed)
        CHECK(sw_completion_fail(completion, SW_PROVIDER_STATUS_UNAVAILABLE, sw_text("the vault is sealed")) == SW_STATUS_OK);
    else
        answer_reversed(request, completion);
}

static int32_t run_secret(void *user_data, sw_context_t *context)
{
    sw_error_t *error = NULL;
    (void)user_data;
    OK(sw_context_export(context, sw_text("token"), sw_text("{\"4dabf18193072939515e22adb298388d\":"
        " \"1b47061264138c4ac30d75fd1eb44270\", \"value\": \"hunter2\"}"), &error));
    return SW_STATUS_OK;
}

static void the_host_encrypts_secrets(void)
{
    sw_error_t *error = NULL;
    struct vault vault = {.sealed = 0};
    sw_runtime_t *runtime = make_runtime(2);
    sw_host_t hooks = {.struct_size = sizeof hooks, .version = SW_HOST_VERSION, .user_data = &vault, .encrypt = vault_encrypt};
    sw_engine_options_t options = {sizeof options, runtime,
        sw_text("{\"store\": \"memory://\", \"secrets\": {\"kind\": \"vault\", \"state\": {\"key\": \"none\"}}}"), NULL, 0, &hooks};
    sw_engine_t *engine = NULL;
    sw_stack_t *stack = NULL;
    sw_bytes_t *document = NULL;
    FAILS(sw_engine_new(&options, &engine, &error), SW_STATUS_MISUSE, "without the other");
    hooks.decrypt = vault_decrypt;
    OK(sw_engine_new(&options, &engine, &error));
    sw_program_t program = {sizeof program, SW_PROGRAM_VERSION, NULL, NULL, run_secret};
    OK(sw_stack_open(engine, sw_text("shop/vault"), sw_text(""), &program, &stack, &error));
    sw_operation_t *updated = NULL;
    OK(sw_stack_start(stack, SW_OPERATION_UPDATE, sw_text(""), NULL, &updated, &error));
    OK(sw_operation_wait(updated, NULL, &error));
    CHECK(vault.encrypted > 0);
    int encrypted = vault.encrypted;
    OK(sw_operation_deployment(updated, &document, &error));
    CHECK(strstr(sw_bytes_data(document), "2retnuh") && !strstr(sw_bytes_data(document), "hunter2"));
    CHECK(vault.encrypted == encrypted);
    sw_bytes_free(document);
    sw_operation_free(updated);
    OK(sw_stack_export_deployment(stack, false, &document, &error));
    expect_at(document, "/deployment/secrets_providers/type", "\"vault\"");
    expect_at(document, "/deployment/secrets_providers/state/key", "\"none\"");
    CHECK(strstr(sw_bytes_data(document), "2retnuh") && !strstr(sw_bytes_data(document), "hunter2"));
    sw_bytes_free(document);
    OK(sw_stack_outputs(stack, true, &document, &error));
    expect_at(document, "/token/value", "\"hunter2\"");
    CHECK(vault.decrypted > 0);
    sw_bytes_free(document);
    vault.sealed = 1;
    FAILS(sw_stack_outputs(stack, true, &document, &error), SW_STATUS_DECRYPT, "the vault is sealed");
    CHECK(strcmp(sw_status_class_name(SW_STATUS_DECRYPT), "decrypt") == 0);
    sw_stack_free(stack);
    sw_engine_free(engine);
    OK(sw_runtime_free(runtime));
}

/* The ciphertext of a stack is `sealed for <stack>`; its plaintext is kept here. */
struct tenant {
    char text[64];
    atomic_int encrypted, decrypted;
};

struct tenants {
    struct tenant of_a, of_b;
};

static struct tenant *tenant_of(struct tenants *tenants, sw_bytes_view_t request, char *name, size_t size)
{
    sw_error_t *error = NULL;
    sw_bytes_t *stack = NULL;
    OK(sw_json_text(request, sw_text("/stack"), &stack, &error));
    CHECK(stack != NULL);
    snprintf(name, size, "%s", sw_bytes_data(stack));
    sw_bytes_free(stack);
    CHECK(!strcmp(name, "shop/a") || !strcmp(name, "shop/b"));
    return strcmp(name, "shop/a") ? &tenants->of_b : &tenants->of_a;
}

static void tenant_encrypt(void *user_data, sw_bytes_view_t request, sw_completion_t *completion)
{
    sw_error_t *error = NULL;
    char name[32], answer[64];
    struct tenant *tenant = tenant_of(user_data, request, name, sizeof name);
    sw_bytes_t *text = NULL, *second = NULL;
    OK(sw_json_text(request, sw_text("/texts/0"), &text, &error));
    OK(sw_json_text(request, sw_text("/texts/1"), &second, &error));
    CHECK(text != NULL && second == NULL);
    snprintf(tenant->text, sizeof tenant->text, "%s", sw_bytes_data(text));
    sw_bytes_free(text);
    tenant->encrypted++;
    snprintf(answer, sizeof answer, "[\"sealed for %s\"]", name);
    CHECK(sw_completion_succeed(completion, sw_text(answer)) == SW_STATUS_OK);
}

static void tenant_decrypt(void *user_data, sw_bytes_view_t request, sw_completion_t *completion)
{
    sw_error_t *error = NULL;
    char name[32], expected[64], answer[160];
    struct tenant *tenant = tenant_of(user_data, request, name, sizeof name);
    sw_bytes_t *text = NULL, *quoted = NULL;
    OK(sw_json_text(request, sw_text("/texts/0"), &text, &error));
    snprintf(expected, sizeof expected, "sealed for %s", name);
    CHECK(text != NULL && !strcmp(sw_bytes_data(text), expected));
    sw_bytes_free(text);
    tenant->decrypted++;
    OK(sw_json_quote(sw_text(tenant->text), &quoted, &error));
    snprintf(answer, sizeof answer, "[%s]", sw_bytes_data(quoted));
    sw_bytes_free(quoted);
    CHECK(sw_completion_succeed(completion, sw_text(answer)) == SW_STATUS_OK);
}

static void a_stack_overrides_the_encryption_of_the_engine(void)
{
    sw_error_t *error = NULL;
    struct tenants tenants = {.of_a = {.encrypted = 0}};
    sw_runtime_t *runtime = make_runtime(2);
    sw_host_t hooks = {.struct_size = sizeof hooks, .version = SW_HOST_VERSION, .user_data = &tenants,
                       .encrypt_for_stack = tenant_encrypt};
    sw_engine_options_t options = {sizeof options, runtime,
        sw_text("{\"store\": \"memory://\", \"passphrase\": \"of the engine\"}"), NULL, 0, &hooks};
    sw_engine_t *engine = NULL;
    sw_stack_t *stack = NULL;
    sw_bytes_t *document = NULL;
    sw_program_t program = {sizeof program, SW_PROGRAM_VERSION, NULL, NULL, run_secret};
    FAILS(sw_engine_new(&options, &engine, &error), SW_STATUS_MISUSE, "without the other");
    hooks.decrypt_for_stack = tenant_decrypt;
    OK(sw_engine_new(&options, &engine, &error));
    const char *names[] = {"shop/a", "shop/b"};
    for (int index = 0; index < 2; index++) {
        char sealed[64];
        OK(sw_stack_open(engine, sw_text(names[index]), sw_text("{\"secrets\": {\"kind\": \"vault\", \"state\": {\"key\": 7}}}"),
                         &program, &stack, &error));
        sw_bytes_free(operate(stack, SW_OPERATION_UPDATE, SW_STATUS_OK));
        OK(sw_stack_export_deployment(stack, false, &document, &error));
        snprintf(sealed, sizeof sealed, "sealed for %s", names[index]);
        expect_at(document, "/deployment/secrets_providers/type", "\"vault\"");
        expect_at(document, "/deployment/secrets_providers/state/key", "7");
        CHECK(strstr(sw_bytes_data(document), sealed) && !strstr(sw_bytes_data(document), "hunter2"));
        sw_bytes_free(document);
        OK(sw_stack_outputs(stack, true, &document, &error));
        expect_at(document, "/token/value", "\"hunter2\"");
        sw_bytes_free(document);
        sw_stack_free(stack);
    }
    CHECK(tenants.of_a.encrypted && tenants.of_a.decrypted && tenants.of_b.encrypted && tenants.of_b.decrypted);
    /* Without the setting a stack uses the engine's encryption. */
    if (derives_keys()) {
        OK(sw_stack_open(engine, sw_text("shop/c"), sw_text(""), &program, &stack, &error));
        sw_bytes_free(operate(stack, SW_OPERATION_UPDATE, SW_STATUS_OK));
        OK(sw_stack_export_deployment(stack, false, &document, &error));
        expect_at(document, "/deployment/secrets_providers/type", "\"passphrase\"");
        sw_bytes_free(document);
        sw_stack_free(stack);
    }
    sw_engine_free(engine);
    options.host = NULL;
    OK(sw_engine_new(&options, &engine, &error));
    FAILS(sw_stack_open(engine, sw_text("shop/a"), sw_text("{\"secrets\": {}}"), &program, &stack, &error), SW_STATUS_MISUSE,
          "encrypt_for_stack");
    sw_engine_free(engine);
    OK(sw_runtime_free(runtime));
}

/* A key service, which masks keys. */
struct keys {
    atomic_int wrapped, unwrapped;
    int fails;
    size_t length;
};

static void masked_key(struct keys *keys, sw_bytes_view_t request, sw_completion_t *completion)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    sw_error_t *error = NULL;
    sw_bytes_t *text = NULL, *url = NULL;
    unsigned char key[64];
    uint32_t bits = 0;
    size_t length = 0, count = 0;
    OK(sw_json_text(request, sw_text("/key"), &text, &error));
    OK(sw_json_text(request, sw_text("/url"), &url, &error));
    CHECK(url != NULL && !strcmp(sw_bytes_data(url), "awskms://alias/shop") && text != NULL);
    for (const char *at = sw_bytes_data(text); *at && *at != '='; at++) {
        const char *found = strchr(alphabet, *at);
        CHECK(found != NULL && length < sizeof key);
        bits = (bits << 6) | (uint32_t)(found - alphabet);
        if (++count % 4 != 1)
            key[length++] = (unsigned char)((bits >> (6 - 2 * ((count - 1) % 4))) & 0xff) ^ 90;
    }
    sw_bytes_free(text), sw_bytes_free(url);
    if (keys->fails)
        CHECK(sw_completion_fail(completion, SW_PROVIDER_STATUS_UNAVAILABLE, sw_text("AccessDenied")) == SW_STATUS_OK);
    else
        CHECK(sw_completion_succeed(completion, (sw_bytes_view_t){(const char *)key, length}) == SW_STATUS_OK);
    keys->length = length;
}

static void keys_wrap(void *user_data, sw_bytes_view_t request, sw_completion_t *completion)
{
    ((struct keys *)user_data)->wrapped++;
    masked_key(user_data, request, completion);
}

static void keys_unwrap(void *user_data, sw_bytes_view_t request, sw_completion_t *completion)
{
    ((struct keys *)user_data)->unwrapped++;
    masked_key(user_data, request, completion);
}

static void the_host_wraps_data_keys(void)
{
    sw_error_t *error = NULL;
    struct keys keys = {.fails = 0};
    sw_runtime_t *runtime = make_runtime(2);
    sw_host_t hooks = {.struct_size = sizeof hooks, .version = SW_HOST_VERSION, .user_data = &keys, .wrap_key = keys_wrap};
    sw_engine_options_t options = {sizeof options, runtime,
        sw_text("{\"store\": \"memory://\", \"secrets\": {\"url\": \"awskms://alias/shop\"}}"), NULL, 0, &hooks};
    sw_engine_t *engine = NULL;
    sw_stack_t *stack = NULL;
    sw_bytes_t *document = NULL;
    sw_program_t program = {sizeof program, SW_PROGRAM_VERSION, NULL, NULL, run_secret};
    FAILS(sw_engine_new(&options, &engine, &error), SW_STATUS_MISUSE, "without the other");
    hooks.unwrap_key = keys_unwrap;
    OK(sw_engine_new(&options, &engine, &error));
    OK(sw_stack_open(engine, sw_text("shop/dev"), sw_text(""), &program, &stack, &error));
    keys.fails = 1;
    sw_bytes_free(operate(stack, SW_OPERATION_UPDATE, SW_STATUS_SECRETS));
    keys.fails = 0;
    sw_bytes_free(operate(stack, SW_OPERATION_UPDATE, SW_STATUS_OK));
    CHECK(keys.wrapped == 2 && keys.unwrapped == 1 && keys.length == 32);
    OK(sw_stack_export_deployment(stack, false, &document, &error));
    expect_at(document, "/deployment/secrets_providers/type", "\"cloud\"");
    expect_at(document, "/deployment/secrets_providers/state/url", "\"awskms://alias/shop\"");
    CHECK(!strstr(sw_bytes_data(document), "hunter2"));
    sw_bytes_free(document);
    OK(sw_stack_outputs(stack, true, &document, &error));
    expect_at(document, "/token/value", "\"hunter2\"");
    sw_bytes_free(document);
    OK(sw_stack_edit(stack, sw_text("{\"changeSecrets\": {\"secrets\": {\"url\": \"awskms://alias/shop\"}}}"), NULL, &error));
    CHECK(keys.wrapped == 3);
    sw_stack_free(stack);
    OK(sw_stack_open(engine, sw_text("shop/dev"), sw_text(""), &program, &stack, &error));
    OK(sw_stack_outputs(stack, true, &document, &error));
    expect_at(document, "/token/value", "\"hunter2\"");
    sw_bytes_free(document);
    sw_stack_free(stack);
    sw_engine_free(engine);
    options.host = NULL;
    FAILS(sw_engine_new(&options, &engine, &error), SW_STATUS_INVALID_INPUT, "wrap and unwrap the data key of awskms://alias/shop");
    OK(sw_runtime_free(runtime));
}

struct waiting {
    struct flag answered;
    int32_t status;
};

static int32_t run_refused(void *user_data, sw_context_t *context)
{
    struct waiting *waiting = user_data;
    waiting->status = sw_context_register(context, sw_text("{\"type\": \"test:index:Thing\", \"name\": \"a\","
        " \"inputs\": {\"refuse\": true}}"), NULL, NULL);
    flag_raise(&waiting->answered);
    return waiting->status;
}

static void released(void *user_data, sw_status_t status, sw_bytes_view_t result, const sw_error_t *error)
{
    CHECK(status == SW_STATUS_OK && error == NULL && result.data == NULL);
    flag_raise(user_data);
}

/* How a held session ends. */
enum ending { RELEASE, RELEASE_ASYNC, FREE, RUNTIME };

static void a_held_session_leaves_requests_pending_until_it_ends(enum ending ending)
{
    sw_error_t *error = NULL;
    struct provider provider = {.held_flag = FLAG};
    struct waiting waiting = {.answered = FLAG};
    struct flag done = FLAG;
    sw_runtime_t *runtime = make_runtime(2);
    sw_provider_t table = provider_table(&provider, 0);
    sw_engine_t *engine = make_engine(runtime, "{\"store\": \"memory://\"}", &table);
    sw_program_t program = {sizeof program, SW_PROGRAM_VERSION, &waiting, NULL, run_refused};
    sw_stack_t *stack = NULL;
    sw_operation_t *operation = NULL;
    OK(sw_stack_open(engine, sw_text("shop/held"), sw_text(""), &program, &stack, &error));
    OK(sw_stack_start(stack, SW_OPERATION_UPDATE, sw_text("{\"holdSession\": true}"), NULL, &operation, &error));
    FAILS(sw_operation_wait(operation, NULL, &error), SW_STATUS_FAILED, "");
    CHECK(flag_count(&waiting.answered) == 0);
    switch (ending) {
    case RELEASE:
        OK(sw_operation_release(operation, &error));
        CHECK(flag_count(&waiting.answered) == 1);
        OK(sw_operation_release(operation, &error));
        break;
    case RELEASE_ASYNC:
        OK(sw_operation_release_async(operation, released, &done, &error));
        flag_wait(&done, 1);
        break;
    case FREE:
        sw_operation_free(operation);
        operation = NULL;
        break;
    case RUNTIME:
        OK(sw_runtime_free(runtime));
        runtime = NULL;
        break;
    }
    flag_wait(&waiting.answered, 1);
    CHECK(waiting.status != SW_STATUS_OK);
    sw_operation_free(operation);
    sw_stack_free(stack);
    sw_engine_free(engine);
    if (runtime)
        OK(sw_runtime_free(runtime));
}

static void held_sessions_end_by_release_free_and_runtime_end(void)
{
    for (int ending = RELEASE; ending <= RUNTIME; ending++)
        a_held_session_leaves_requests_pending_until_it_ends((enum ending)ending);
}

static void a_bad_address_of_a_language_runtime_is_refused(void)
{
    sw_error_t *error = NULL;
    sw_runtime_t *runtime = make_runtime(2);
    sw_engine_options_t options = {sizeof options, runtime, sw_text("{\"store\": \"memory://\"}"), NULL, 0, NULL};
    sw_engine_t *engine = NULL;
    sw_stack_t *stack = NULL;
    sw_operation_t *operation = NULL;
    sw_program_t program = {sizeof program, SW_PROGRAM_VERSION, NULL, NULL, run_secret};
    sw_bytes_view_t settings = sw_text("{\"languageRuntime\": \"not an address\"}");
    OK(sw_engine_new(&options, &engine, &error));
    FAILS(sw_stack_open(engine, sw_text("shop/remote"), settings, &program, &stack, &error), SW_STATUS_MISUSE, "both");
    OK(sw_stack_open(engine, sw_text("shop/remote"), settings, NULL, &stack, &error));
    OK(sw_stack_start(stack, SW_OPERATION_UPDATE, sw_text(""), NULL, &operation, &error));
    FAILS(sw_operation_wait(operation, NULL, &error), SW_STATUS_INVALID_INPUT, "not an address");
    sw_operation_free(operation);
    sw_stack_free(stack);
    sw_engine_free(engine);
    OK(sw_runtime_free(runtime));
}

static int32_t run_with_secret_input(void *user_data, sw_context_t *context)
{
    (void)user_data;
    return sw_context_register(context, sw_text("{\"type\": \"test:index:Thing\", \"name\": \"a\", \"inputs\":"
        " {\"url\": \"https://example.com/?t=hunter2hunter2\"}}"), NULL, NULL);
}

static void events_redact_secrets_of_the_configuration(void)
{
    sw_error_t *error = NULL;
    struct provider provider = {.held_flag = FLAG};
    sw_runtime_t *runtime = make_runtime(2);
    sw_provider_t table = provider_table(&provider, 0);
    sw_engine_t *engine = make_engine(runtime, "{\"store\": \"memory://\"}", &table);
    sw_program_t program = {sizeof program, SW_PROGRAM_VERSION, NULL, NULL, run_with_secret_input};
    sw_stack_t *stack = NULL;
    sw_operation_t *operation = NULL;
    sw_bytes_t *event = NULL;
    OK(sw_stack_open(engine, sw_text("shop/quiet"), sw_text("{\"config\": {\"token\": {\"value\": \"hunter2hunter2\","
        " \"secret\": true}}}"), &program, &stack, &error));
    OK(sw_stack_start(stack, SW_OPERATION_UPDATE, sw_text(""), NULL, &operation, &error));
    int inputs = 0;
    for (;;) {
        OK(sw_operation_next_event(operation, &event, &error));
        if (!event)
            break;
        inputs += strstr(sw_bytes_data(event), "example.com") != NULL;
        CHECK(!strstr(sw_bytes_data(event), "hunter2"));
        sw_bytes_free(event);
    }
    CHECK(inputs > 0);
    sw_operation_free(operation);
    sw_stack_free(stack);
    sw_engine_free(engine);
    OK(sw_runtime_free(runtime));
}

int main(void)
{
    RUN(the_host_resolves_providers_reads_stacks_and_keeps_the_journal);
    RUN(the_host_encrypts_secrets);
    RUN(a_stack_overrides_the_encryption_of_the_engine);
    RUN(the_host_wraps_data_keys);
    RUN(held_sessions_end_by_release_free_and_runtime_end);
    RUN(a_bad_address_of_a_language_runtime_is_refused);
    RUN(events_redact_secrets_of_the_configuration);
    return 0;
}
