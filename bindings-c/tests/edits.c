/* Edits of the state: the encryption of the host in place of a passphrase and back, and moves between the stacks of two engines. */
#define _POSIX_C_SOURCE 200809L /* mkdtemp */
#include "support.h"

#include <unistd.h>

#define SECRET "{\"4dabf18193072939515e22adb298388d\": \"1b47061264138c4ac30d75fd1eb44270\", \"value\": \"hunter2\"}"
#define THING "{\"type\": \"test:index:Thing\", \"name\": \"a\", \"inputs\": {\"key\": " SECRET "}}"
#define THING_URN(stack) "urn:pulumi:" stack "::shop::test:index:Thing::a"
#define VAULT "{\"kind\": \"vault\", \"state\": {\"key\": 7}}"

/* Completes with the texts of a request for a stack, each reversed. Encryption and decryption are the same function. */
static void reverse(void *user_data, sw_bytes_view_t request, sw_completion_t *completion)
{
    char answer[4096] = "[";
    (*(atomic_int *)user_data)++;
    for (int index = 0;; index++) {
        char pointer[32];
        snprintf(pointer, sizeof pointer, "/texts/%d", index);
        sw_bytes_t *text = NULL, *quoted = NULL;
        sw_error_t *error = NULL;
        OK(sw_json_text(request, sw_text(pointer), &text, &error));
        if (!text)
            break;
        char reversed[256];
        size_t length = sw_bytes_length(text);
        CHECK(length < sizeof reversed);
        for (size_t at = 0; at < length; at++)
            reversed[at] = sw_bytes_data(text)[length - 1 - at];
        OK(sw_json_quote((sw_bytes_view_t){reversed, length}, &quoted, &error));
        size_t used = strlen(answer);
        CHECK(used + sw_bytes_length(quoted) + 3 < sizeof answer);
        snprintf(answer + used, sizeof answer - used, "%s%s", index > 0 ? "," : "", sw_bytes_data(quoted));
        sw_bytes_free(text), sw_bytes_free(quoted);
    }
    strcat(answer, "]");
    CHECK(sw_completion_succeed(completion, sw_text(answer)) == SW_STATUS_OK);
}

static int32_t run_thing(void *user_data, sw_context_t *context)
{
    sw_error_t *error = NULL;
    (void)user_data;
    sw_status_t status = sw_context_register(context, sw_text(THING), NULL, &error);
    if (error)
        CHECK(sw_context_fail(context, sw_text(sw_error_message(error)), NULL) == SW_STATUS_OK);
    sw_error_free(error);
    return status;
}

static const sw_program_t PROGRAM = {sizeof PROGRAM, SW_PROGRAM_VERSION, NULL, NULL, run_thing};

/* An engine that can encrypt for stacks by `reverse`, whose calls it counts. */
static sw_engine_t *engine_of(sw_runtime_t *runtime, const char *settings, const sw_provider_t *table, atomic_int *calls)
{
    sw_error_t *error = NULL;
    sw_engine_t *engine = NULL;
    sw_package_t package = {sizeof package, sw_text("test"), table};
    sw_host_t host = {.struct_size = sizeof host, .version = SW_HOST_VERSION, .user_data = calls, .encrypt_for_stack = reverse,
        .decrypt_for_stack = reverse};
    sw_engine_options_t options = {sizeof options, runtime, sw_text(settings), &package, 1, &host};
    OK(sw_engine_new(&options, &engine, &error));
    return engine;
}

static sw_stack_t *opened(sw_engine_t *engine, const char *name, const char *settings)
{
    sw_error_t *error = NULL;
    sw_stack_t *stack = NULL;
    OK(sw_stack_open(engine, sw_text(name), sw_text(settings), &PROGRAM, &stack, &error));
    return stack;
}

static void expect_update(const sw_stack_t *stack, const char *changes)
{
    sw_bytes_t *result = operate(stack, SW_OPERATION_UPDATE, SW_STATUS_OK);
    expect_at(result, "/changes", changes);
    sw_bytes_free(result);
}

/* Checks the kind of the secrets manager, that the secret is readable, and that it is recorded as `recorded` only. */
static void expect_encrypted(const sw_stack_t *stack, const char *kind, const char *recorded)
{
    sw_error_t *error = NULL;
    sw_bytes_t *document = NULL, *shown = NULL;
    OK(sw_stack_export_deployment(stack, false, &document, &error));
    expect_at(document, "/deployment/secrets_providers/type", kind);
    CHECK(!strstr(sw_bytes_data(document), "hunter2") && strstr(sw_bytes_data(document), recorded));
    OK(sw_stack_export_deployment(stack, true, &shown, &error));
    CHECK(strstr(sw_bytes_data(shown), "hunter2"));
    sw_bytes_free(document), sw_bytes_free(shown);
}

static void change(const sw_stack_t *stack, const char *edit)
{
    sw_error_t *error = NULL;
    sw_bytes_t *report = NULL;
    OK(sw_stack_edit(stack, sw_text(edit), &report, &error));
    expect_at(report, "/records/0/urn", "\"" THING_URN("dev") "\"");
    expect_at(report, "/records/0/fields", "[\"inputs\",\"outputs\"]");
    sw_bytes_free(report);
}

static void the_host_encrypts_a_stack_from_now_on(void)
{
    sw_error_t *error = NULL;
    atomic_int calls = 0;
    struct provider provider = {.held_flag = FLAG};
    sw_provider_t table = provider_table(&provider, 0);
    sw_runtime_t *runtime = make_runtime(2);
    sw_engine_t *engine = engine_of(runtime, "{\"store\": \"memory://\"}", &table, &calls);
    sw_stack_t *stack = opened(engine, "shop/dev", "");
    expect_update(stack, "{\"create\":2}");
    change(stack, "{\"changeSecrets\": {\"secrets\": " VAULT "}, \"dryRun\": true}");
    expect_encrypted(stack, "\"b64\"", "ciphertext");
    CHECK(calls == 0);
    change(stack, "{\"changeSecrets\": {\"secrets\": " VAULT "}}");
    CHECK(calls > 0);
    sw_stack_free(stack);
    stack = opened(engine, "shop/dev", "");
    sw_bytes_free(operate(stack, SW_OPERATION_UPDATE, SW_STATUS_DECRYPT));
    sw_stack_free(stack);
    stack = opened(engine, "shop/dev", "{\"secrets\": " VAULT "}");
    expect_encrypted(stack, "\"vault\"", "2retnuh");
    expect_update(stack, "{\"same\":2}");
    sw_stack_free(stack);
    sw_engine_free(engine);
    OK(sw_runtime_free(runtime));
    CHECK(provider.creates == 1);
}

static void put(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

/* Checks whether the file has a text. */
static void expect_in(const char *path, const char *text, int has)
{
    char content[4096];
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    content[fread(content, 1, sizeof content - 1, file)] = '\0';
    fclose(file);
    CHECK((strstr(content, text) != NULL) == has);
}

static void a_passphrase_gives_way_to_the_host_and_comes_back_with_the_settings_file(void)
{
    sw_error_t *error = NULL;
    atomic_int calls = 0;
    char folder[] = "/tmp/stackwright-XXXXXX", path[64], settings[160];
    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/Pulumi.yaml", folder);
    put(path, "name: shop\nruntime: c\n");
    snprintf(path, sizeof path, "%s/Pulumi.dev.yaml", folder);
    struct provider provider = {.held_flag = FLAG};
    sw_provider_t table = provider_table(&provider, 0);
    sw_runtime_t *runtime = make_runtime(2);
    sw_engine_t *engine = engine_of(runtime, "{\"store\": \"memory://\", \"passphrase\": \"first\"}", &table, &calls);
    sw_project_t *project = NULL;
    OK(sw_project_open(engine, sw_text(folder), &project, &error));
    OK(sw_project_set_all_config(project, sw_text("dev"), sw_text("{\"token\": {\"value\": \"hunter3\", \"secret\": true}}"), sw_text(""), &error));
    expect_in(path, "encryptionsalt: v1:", 1);
    snprintf(settings, sizeof settings, "{\"project\": \"%s\"}", folder);
    sw_stack_t *stack = opened(engine, "shop/dev", settings);
    expect_update(stack, "{\"create\":2}");
    change(stack, "{\"changeSecrets\": {\"secrets\": " VAULT "}}");
    sw_stack_free(stack);
    expect_in(path, "secure: 3retnuh", 1);
    expect_in(path, "encryptionsalt", 0);

    snprintf(settings, sizeof settings, "{\"project\": \"%s\", \"secrets\": " VAULT "}", folder);
    stack = opened(engine, "shop/dev", settings);
    expect_update(stack, "{\"same\":2}");
    expect_encrypted(stack, "\"vault\"", "2retnuh");
    change(stack, "{\"changeSecrets\": {\"passphrase\": \"last\"}}");
    sw_stack_free(stack);
    stack = NULL;
    expect_in(path, "retnuh", 0);
    expect_in(path, "encryptionsalt: v1:", 1);

    snprintf(settings, sizeof settings, "{\"project\": \"%s\"}", folder);
    FAILS(sw_stack_open(engine, sw_text("shop/dev"), sw_text(settings), &PROGRAM, &stack, &error), SW_STATUS_DECRYPT, "incorrect passphrase");
    snprintf(settings, sizeof settings, "{\"project\": \"%s\", \"passphrase\": \"last\"}", folder);
    stack = opened(engine, "shop/dev", settings);
    expect_update(stack, "{\"same\":2}");
    expect_encrypted(stack, "\"passphrase\"", "v1:");
    sw_bytes_t *entry = NULL;
    OK(sw_project_get_config(project, sw_text("dev"), sw_text("token"), sw_text("last"), &entry, &error));
    expect_at(entry, "/value", "\"hunter3\"");
    sw_bytes_free(entry);
    sw_stack_free(stack);
    sw_project_free(project);
    sw_engine_free(engine);
    OK(sw_runtime_free(runtime));
    CHECK(unlink(path) == 0);
    snprintf(path, sizeof path, "%s/Pulumi.yaml", folder);
    CHECK(unlink(path) == 0 && rmdir(folder) == 0);
}

static void resources_move_between_the_stores_of_two_engines(void)
{
    sw_error_t *error = NULL;
    atomic_int calls = 0;
    struct provider provider = {.held_flag = FLAG}, other_provider = {.held_flag = FLAG};
    sw_provider_t table = provider_table(&provider, 0), other_table = provider_table(&other_provider, 0);
    sw_runtime_t *runtime = make_runtime(2), *other_runtime = make_runtime(2);
    sw_engine_t *engine = engine_of(runtime, "{\"store\": \"memory://\"}", &table, &calls);
    sw_engine_t *other = engine_of(other_runtime, "{\"store\": \"memory://\"}", &other_table, &calls);
    sw_stack_t *stack = opened(engine, "shop/dev", ""), *live = opened(other, "shop/live", "{\"secrets\": " VAULT "}");
    sw_bytes_view_t edit = sw_text("{\"move\": {\"urns\": [\"" THING_URN("dev") "\"]}}");
    sw_bytes_t *report = NULL, *stacks = NULL;
    expect_update(stack, "{\"create\":2}");
    OK(sw_stack_move_resources(stack, live, sw_text("{\"move\": {\"urns\": [\"" THING_URN("dev") "\"]}, \"dryRun\": true}"), &report, &error));
    expect_at(report, "/source/dryRun", "true");
    sw_bytes_free(report);
    expect_update(stack, "{\"same\":2}");
    OK(sw_stack_move_resources(stack, live, edit, &report, &error));
    expect_at(report, "/source/records/0/kind", "\"removed\"");
    expect_at(report, "/source/records/0/urn", "\"" THING_URN("dev") "\"");
    expect_at(report, "/destination/records/2/kind", "\"added\"");
    expect_at(report, "/destination/records/2/urn", "\"" THING_URN("live") "\"");
    CHECK(!strstr(sw_bytes_data(report), "hunter2"));
    sw_bytes_free(report);
    /* The program of the other stack keeps the thing; it is encrypted as secrets of that stack are. */
    expect_encrypted(live, "\"vault\"", "2retnuh");
    expect_update(live, "{\"same\":2}");
    CHECK(provider.creates == 1 && other_provider.creates == 0 && other_provider.deletes == 0);
    OK(sw_engine_stacks(other, sw_text(""), true, &stacks, &error));
    expect_at(stacks, "/0/name", "\"shop/live\"");
    CHECK(!strstr(sw_bytes_data(stacks), "shop/dev"));
    sw_bytes_free(stacks);

    /* A second thing of this name has no place there. */
    expect_update(stack, "{\"create\":1,\"same\":1}");
    FAILS(sw_stack_move_resources(stack, live, edit, NULL, &error), SW_STATUS_CONFLICT, "the destination has the resource '" THING_URN("live") "' already");
    expect_update(stack, "{\"same\":2}");
    sw_stack_free(stack), sw_stack_free(live);
    sw_engine_free(engine), sw_engine_free(other);
    OK(sw_runtime_free(runtime));
    OK(sw_runtime_free(other_runtime));
}

#define GROUP(stack) "urn:pulumi:" stack "::shop::my:index:Group::group"
#define INNER(stack) "urn:pulumi:" stack "::shop::my:index:Group$my:index:Site::inner"
#define BESIDE(stack) "urn:pulumi:" stack "::shop::my:index:Group$my:index:Site::beside"
#define TREE                                                                                                                 \
    "{\"version\": 3, \"deployment\": {\"resources\": [{\"urn\": \"" GROUP("dev") "\", \"custom\": false, \"type\": \"my:index:Group\"}, " \
    "{\"urn\": \"" INNER("dev") "\", \"custom\": false, \"type\": \"my:index:Site\", \"parent\": \"" GROUP("dev") "\"}, "    \
    "{\"urn\": \"" BESIDE("dev") "\", \"custom\": false, \"type\": \"my:index:Site\", \"parent\": \"" GROUP("dev") "\"}]}}"

static void a_resource_moves_with_its_parents_or_to_the_top(void)
{
    sw_error_t *error = NULL;
    atomic_int calls = 0;
    struct provider provider = {.held_flag = FLAG}, other_provider = {.held_flag = FLAG};
    sw_provider_t table = provider_table(&provider, 0), other_table = provider_table(&other_provider, 0);
    sw_runtime_t *runtime = make_runtime(2);
    sw_engine_t *engine = engine_of(runtime, "{\"store\": \"memory://\"}", &table, &calls);
    sw_engine_t *other = engine_of(runtime, "{\"store\": \"memory://\"}", &other_table, &calls);
    sw_stack_t *stack = opened(engine, "shop/dev", ""), *live = opened(other, "shop/live", "");
    OK(sw_stack_import_deployment(stack, sw_text(TREE), &error));
    sw_bytes_t *report = NULL;
    OK(sw_stack_move_resources(stack, live, sw_text("{\"move\": {\"urns\": [\"" INNER("dev") "\"]}, \"dryRun\": true}"), &report, &error));
    expect_at(report, "/destination/records/1/urn", "\"urn:pulumi:live::shop::my:index:Site::inner\"");
    expect_at(report, "/destination/records/1/removedReferences/0/field", "\"parent\"");
    expect_at(report, "/source/records/0/urn", "\"" INNER("dev") "\"");
    sw_bytes_free(report);
    OK(sw_stack_move_resources(stack, live, sw_text("{\"move\": {\"urns\": [\"" INNER("dev") "\"], \"includeParents\": true}}"), &report, &error));
    expect_at(report, "/destination/records/1/urn", "\"" GROUP("live") "\"");
    expect_at(report, "/destination/records/2/urn", "\"" INNER("live") "\"");
    expect_at(report, "/destination/records/3/urn", "\"" BESIDE("live") "\"");
    sw_bytes_free(report);
    sw_stack_free(stack), sw_stack_free(live);
    sw_engine_free(engine), sw_engine_free(other);
    OK(sw_runtime_free(runtime));
}

int main(void)
{
    RUN(the_host_encrypts_a_stack_from_now_on);
    RUN_WITH_KEYS(a_passphrase_gives_way_to_the_host_and_comes_back_with_the_settings_file);
    RUN(resources_move_between_the_stores_of_two_engines);
    RUN(a_resource_moves_with_its_parents_or_to_the_top);
    return 0;
}
