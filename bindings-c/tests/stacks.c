/* Settings and state of stacks: organization, tags, locks, remote assets, deployments after failures. */
#define _POSIX_C_SOURCE 200809L /* mkdtemp */
#include "support.h"

#include <sys/stat.h>
#include <unistd.h>

static int32_t run_organization(void *user_data, sw_context_t *context)
{
    sw_error_t *error = NULL;
    (void)user_data;
    sw_bytes_t *organization = json_at(sw_text(sw_context_info(context)), "/organization");
    OK(sw_context_export(context, sw_text("organization"), sw_bytes_view(organization), &error));
    sw_bytes_free(organization);
    return SW_STATUS_OK;
}

static void the_context_contains_the_organization_of_the_stack(void)
{
    sw_error_t *error = NULL;
    sw_runtime_t *runtime = make_runtime(2);
    sw_engine_options_t options = {sizeof options, runtime, sw_text("{\"store\": \"memory://\"}"), NULL, 0, NULL};
    sw_engine_t *engine = NULL;
    sw_stack_t *stack = NULL;
    sw_program_t program = {sizeof program, SW_PROGRAM_VERSION, NULL, NULL, run_organization};
    OK(sw_engine_new(&options, &engine, &error));
    FAILS(sw_stack_open(engine, sw_text("shop/dev"), sw_text("{\"organization\": \"a/b\"}"), &program, &stack, &error),
          SW_STATUS_INVALID_INPUT, "organization \"a/b\"");
    FAILS(sw_stack_open(engine, sw_text("shop/dev"), sw_text("{\"tags\": {\"no name\": \"x\"}}"), &program, &stack, &error),
          SW_STATUS_INVALID_INPUT, "tag \"no name\"");
    FAILS(sw_stack_open(engine, sw_text("shop/dev"), sw_text("{\"tags\": {\"owner\": 1}}"), &program, &stack, &error),
          SW_STATUS_INVALID_INPUT, "tags.owner takes a string, not a number");
    OK(sw_stack_open(engine, sw_text("shop/dev"), sw_text("{\"organization\": \"acme\", \"tags\": {\"owner\": \"net\"}}"),
                     &program, &stack, &error));
    sw_bytes_t *result = operate(stack, SW_OPERATION_UPDATE, SW_STATUS_OK);
    expect_at(result, "/outputs/organization/value", "\"acme\"");
    sw_bytes_free(result);
    sw_stack_free(stack);
    sw_engine_free(engine);
    OK(sw_runtime_free(runtime));
}

/* Makes the parent folders of `path` below its first `from` characters. */
static void make_folders(char *path, size_t from)
{
    for (char *at = path + from + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        mkdir(path, 0700);
        *at = '/';
    }
}

static void unlock_removes_the_lock_of_another_machine(void)
{
    sw_error_t *error = NULL;
    char folder[] = "/tmp/stackwright-XXXXXX", settings[64], lock[128];
    CHECK(mkdtemp(folder) != NULL);
    snprintf(settings, sizeof settings, "{\"store\": \"file://%s\"}", folder);
    snprintf(lock, sizeof lock, "%s/.pulumi/locks/organization/shop/dev/1.json", folder);
    struct provider provider = {.held_flag = FLAG};
    sw_provider_t table = provider_table(&provider, 0);
    sw_runtime_t *runtime = make_runtime(2);
    sw_engine_t *engine = make_engine(runtime, settings, &table);
    sw_stack_t *stack = NULL;
    sw_program_t program = {sizeof program, SW_PROGRAM_VERSION, NULL, NULL, run_organization};
    OK(sw_stack_open(engine, sw_text("shop/dev"), sw_text(""), &program, &stack, &error));
    make_folders(lock, strlen(folder));
    FILE *file = fopen(lock, "w");
    CHECK(file != NULL);
    fputs("{\"pid\":1,\"username\":\"me\",\"hostname\":\"elsewhere\",\"timestamp\":\"2026-01-01T00:00:00Z\"}", file);
    fclose(file);
    sw_bytes_t *refused = operate(stack, SW_OPERATION_UPDATE, SW_STATUS_CONFLICT);
    CHECK(strstr(sw_bytes_data(refused), "`unlock`") && strstr(sw_bytes_data(refused), "me@elsewhere"));
    sw_bytes_free(refused);
    size_t count = 4711;
    FAILS(sw_stack_break_lock(stack, sw_text("you@elsewhere"), &count, &error), SW_STATUS_CONFLICT, "me@elsewhere");
    FAILS(sw_stack_break_lock(stack, sw_text("me"), &count, &error), SW_STATUS_INVALID_INPUT, "owner");
    CHECK(count == 4711 && access(lock, F_OK) == 0);
    OK(sw_stack_break_lock(stack, sw_text("me@elsewhere:1"), &count, &error));
    CHECK(count == 1 && access(lock, F_OK) != 0);
    OK(sw_stack_break_lock(stack, sw_text("me@elsewhere"), NULL, &error));
    file = fopen(lock, "w");
    CHECK(file != NULL);
    fputs("{\"pid\":1,\"username\":\"me\",\"hostname\":\"elsewhere\",\"timestamp\":\"2026-01-01T00:00:00Z\"}", file);
    fclose(file);
    OK(sw_stack_unlock(stack, &count, &error));
    CHECK(count == 1 && access(lock, F_OK) != 0);
    OK(sw_stack_unlock(stack, NULL, &error));
    sw_bytes_free(operate(stack, SW_OPERATION_UPDATE, SW_STATUS_OK));
    OK(sw_stack_remove(stack, true, 0, &error));
    FAILS(sw_stack_unlock(NULL, &count, &error), SW_STATUS_MISUSE, "the stack");
    sw_stack_free(stack);
    sw_engine_free(engine);
    OK(sw_runtime_free(runtime));
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0);
}

#define ASSET(uri)                                                                                                          \
    "{\"type\": \"test:index:Thing\", \"name\": \"a\", \"inputs\": {\"file\": {\"4dabf18193072939515e22adb298388d\":"         \
    " \"c44067f5952c0a294b673a41bacd8c17\", \"uri\": \"" uri "\"}}}"

static int32_t run_register(void *user_data, sw_context_t *context)
{
    sw_error_t *error = NULL;
    sw_status_t status = sw_context_register(context, sw_text((const char *)user_data), NULL, &error);
    if (error)
        CHECK(sw_context_fail(context, sw_text(sw_error_message(error)), NULL) == SW_STATUS_OK);
    sw_error_free(error);
    return status;
}

static void host_fetch(void *user_data, sw_bytes_view_t request, sw_completion_t *completion)
{
    (void)user_data;
    sw_bytes_t *uri = json_at(request, "/uri");
    if (strcmp(sw_bytes_data(uri), "\"vault://hello\"") == 0)
        CHECK(sw_completion_succeed(completion, sw_text("hello")) == SW_STATUS_OK);
    else
        CHECK(sw_completion_fail(completion, SW_PROVIDER_STATUS_NOT_FOUND, sw_text("no such asset")) == SW_STATUS_OK);
    sw_bytes_free(uri);
}

static void the_host_fetches_remote_assets_and_a_failed_fetch_keeps_the_state(void)
{
    sw_error_t *error = NULL;
    struct provider provider = {.held_flag = FLAG};
    sw_runtime_t *runtime = make_runtime(2);
    sw_provider_t table = provider_table(&provider, 0);
    sw_package_t package = {sizeof package, sw_text("test"), &table};
    sw_host_t hooks = {.struct_size = sizeof hooks, .version = SW_HOST_VERSION, .fetch = host_fetch};
    sw_engine_options_t options = {sizeof options, runtime, sw_text("{\"store\": \"memory://\"}"), &package, 1, &hooks};
    sw_engine_t *engine = NULL;
    sw_stack_t *stack = NULL;
    sw_bytes_t *document = NULL;
    OK(sw_engine_new(&options, &engine, &error));
    sw_program_t program = {sizeof program, SW_PROGRAM_VERSION, (void *)ASSET("vault://hello"), NULL, run_register};
    OK(sw_stack_open(engine, sw_text("shop/dev"), sw_text(""), &program, &stack, &error));
    sw_bytes_free(operate(stack, SW_OPERATION_UPDATE, SW_STATUS_OK));
    sw_stack_free(stack);
    program.user_data = (void *)ASSET("vault://bye");
    OK(sw_stack_open(engine, sw_text("shop/dev"), sw_text(""), &program, &stack, &error));
    sw_operation_t *operation = NULL;
    OK(sw_stack_start(stack, SW_OPERATION_UPDATE, sw_text(""), NULL, &operation, &error));
    sw_bytes_t *result = NULL;
    CHECK(sw_operation_wait(operation, &result, &error) != SW_STATUS_OK);
    CHECK(strstr(sw_error_message(error), "no such asset") != NULL);
    sw_error_free(error), error = NULL;
    sw_bytes_free(result);
    sw_operation_free(operation);
    OK(sw_stack_export_deployment(stack, false, &document, &error));
    expect_at(document, "/version", "3");
    CHECK(strstr(sw_bytes_data(document), "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824") != NULL);
    sw_bytes_free(document);
    sw_stack_free(stack);
    sw_engine_free(engine);
    OK(sw_runtime_free(runtime));
}

static void stacks_are_created_selected_or_either(void)
{
    sw_error_t *error = NULL;
    sw_runtime_t *runtime = make_runtime(2);
    sw_engine_options_t options = {sizeof options, runtime, sw_text("{\"store\": \"memory://\"}"), NULL, 0, NULL};
    sw_engine_t *engine = NULL;
    sw_stack_t *stack = NULL;
    sw_bytes_t *document = NULL;
    sw_program_t program = {sizeof program, SW_PROGRAM_VERSION, NULL, NULL, run_organization};
    OK(sw_engine_new(&options, &engine, &error));
    FAILS(sw_engine_select_stack(engine, sw_text("shop/dev"), sw_text(""), &program, &stack, &error),
          SW_STATUS_NOT_FOUND, "no stack named 'shop/dev' found");
    /* A stack that is opened without a program is created by its first write. */
    OK(sw_stack_open(engine, sw_text("shop/dev"), sw_text(""), NULL, &stack, &error));
    FAILS(sw_stack_export_deployment(stack, false, &document, &error), SW_STATUS_NOT_FOUND, "no stack named 'shop/dev' found");
    sw_stack_free(stack);
    FAILS(sw_engine_select_stack(engine, sw_text("shop/dev"), sw_text(""), NULL, &stack, &error), SW_STATUS_NOT_FOUND,
          "shop/dev");
    OK(sw_engine_create_stack(engine, sw_text("shop/dev"), sw_text(""), &program, &stack, &error));
    sw_bytes_free(operate(stack, SW_OPERATION_UPDATE, SW_STATUS_OK));
    sw_stack_free(stack);
    FAILS(sw_engine_create_stack(engine, sw_text("shop/dev"), sw_text(""), NULL, &stack, &error), SW_STATUS_CONFLICT,
          "already exists");
    OK(sw_engine_select_stack(engine, sw_text("shop/dev"), sw_text(""), NULL, &stack, &error));
    OK(sw_stack_export_deployment(stack, false, &document, &error));
    expect_at(document, "/version", "3");
    sw_bytes_free(document);
    sw_stack_free(stack);
    CHECK(sw_engine_select_stack(engine, sw_text("shop/dve"), sw_text(""), NULL, &stack, &error) == SW_STATUS_NOT_FOUND);
    CHECK(strcmp(sw_error_page(error), "errors/not_found") == 0);
    CHECK(sw_error_hint_count(error) == 2 && strstr(sw_error_hint(error, 0), "did you mean 'shop/dev'?") != NULL);
    CHECK(strcmp(sw_error_hint(error, 1), "sw_engine_create_stack() creates a stack") == 0);
    sw_error_free(error), error = NULL;
    OK(sw_engine_create_or_select_stack(engine, sw_text("shop/new"),
                                        sw_text("{\"runtimeOptions\": {\"typescript\": true, \"build\": {\"flags\": [\"-v\"]}}}"),
                                        NULL, &stack, &error));
    sw_stack_free(stack);
    OK(sw_engine_create_or_select_stack(engine, sw_text("shop/new"), sw_text(""), NULL, &stack, &error));
    sw_stack_free(stack);
    FAILS(sw_engine_create_stack(engine, sw_text("shop/x"), sw_text("{\"create\": true}"), NULL, &stack, &error),
          SW_STATUS_INVALID_INPUT, "create is an option of sw_stack_open alone");
    FAILS(sw_stack_open(engine, sw_text("shop/x"), sw_text("{\"create\": false}"), &program, &stack, &error),
          SW_STATUS_NOT_FOUND, "shop/x");
    sw_engine_free(engine);
    OK(sw_runtime_free(runtime));
}

/* Updates the stack, checks whether it succeeds, and frees it; returns the deployment that the update left. */
static sw_bytes_t *left_by_update(sw_stack_t *stack, int succeeds)
{
    sw_error_t *error = NULL;
    sw_operation_t *operation = NULL;
    sw_bytes_t *result = NULL, *left = NULL;
    OK(sw_stack_start(stack, SW_OPERATION_UPDATE, sw_text(""), NULL, &operation, &error));
    CHECK((sw_operation_wait(operation, &result, &error) == SW_STATUS_OK) == succeeds);
    sw_error_free(error), error = NULL;
    OK(sw_operation_deployment(operation, &left, &error));
    CHECK(left != NULL);
    sw_bytes_free(result);
    sw_operation_free(operation);
    sw_stack_free(stack);
    return left;
}

#define SECRET "{\"4dabf18193072939515e22adb298388d\": \"1b47061264138c4ac30d75fd1eb44270\", \"value\": \"opensesame\"}"
#define THING "{\"type\": \"test:index:Thing\", \"name\": \"a\", \"inputs\": {\"key\": " SECRET "}}"

/* A deployment that is encrypted with another passphrase. */
#define ENCRYPTED                                                                                                           \
    "{\"version\": 3, \"deployment\": {\"secrets_providers\": {\"type\": \"passphrase\", \"state\": {\"salt\":"               \
    " \"v1:XCt4ckmWHrA=:v1:V3LaJcGs7b5UmLtr:QPwtmxTOQZBoW7y2P+DVAolmdkCVuQ==\"}}}}"

static void operations_take_and_return_deployments(void)
{
    sw_error_t *error = NULL;
    char folder[] = "/tmp/stackwright-XXXXXX", settings[128], command[4096];
    CHECK(mkdtemp(folder) != NULL);
    snprintf(settings, sizeof settings, "{\"store\": \"file://%s\"}", folder);
    struct provider provider = {.held_flag = FLAG};
    sw_provider_t table = provider_table(&provider, 0);
    sw_runtime_t *runtime = make_runtime(2);
    sw_engine_t *engine = make_engine(runtime, settings, &table);
    sw_stack_t *stack = NULL;
    sw_program_t program = {sizeof program, SW_PROGRAM_VERSION, (void *)THING, NULL, run_register};
    const char *fresh = "{\"deployment\": {}}";
    OK(sw_stack_open(engine, sw_text("shop/dev"), sw_text(fresh), &program, &stack, &error));
    sw_bytes_t *first = left_by_update(stack, 1), *result = NULL;
    CHECK(strstr(sw_bytes_data(first), "ciphertext") && !strstr(sw_bytes_data(first), "opensesame"));

    CHECK((size_t)snprintf(command, sizeof command, "{\"create\": false, \"deployment\": %s}",
                           sw_bytes_data(first)) < sizeof command);
    OK(sw_stack_open(engine, sw_text("shop/dev"), sw_text(command), &program, &stack, &error));
    result = operate(stack, SW_OPERATION_UPDATE, SW_STATUS_OK);
    expect_at(result, "/changes", "{\"same\":2}");
    sw_bytes_free(result);
    sw_stack_free(stack);

    /* A failed operation returns a deployment as well, here the previous one. */
    sw_program_t failing = {sizeof failing, SW_PROGRAM_VERSION, (void *)ASSET("nowhere://x"), NULL, run_register};
    OK(sw_stack_open(engine, sw_text("shop/dev"), sw_text(command), &failing, &stack, &error));
    sw_bytes_t *failed = left_by_update(stack, 0);
    CHECK(strstr(sw_bytes_data(failed), "::test:index:Thing::a") != NULL);

    if (derives_keys())
        FAILS(sw_stack_open(engine, sw_text("shop/dev"), sw_text("{\"passphrase\": \"wrong\", \"deployment\": " ENCRYPTED "}"), &program,
                        &stack, &error),
          SW_STATUS_DECRYPT, "stack 'shop/dev': incorrect passphrase");
    FAILS(sw_stack_open(engine, sw_text("shop/dev"), sw_text("{\"deployment\": {\"version\": 99, \"deployment\": {}}}"), &program,
                        &stack, &error),
          SW_STATUS_STATE, "too new");
    sw_bytes_free(first), sw_bytes_free(failed);
    sw_engine_free(engine);
    OK(sw_runtime_free(runtime));
    /* Nothing has been written to the engine's store. */
    CHECK(rmdir(folder) == 0);
}

#define SITE "urn:pulumi:dev::shop::my:index:Site::site"
/* A component with the secret `hunter2`. */
#define WITH_SECRET                                                                                                \
    "{\"version\": 3, \"deployment\": {\"resources\": [{\"urn\": \"" SITE "\", \"custom\": false, \"type\": \"my:index:Site\", " \
    "\"inputs\": {\"key\": {\"4dabf18193072939515e22adb298388d\": \"1b47061264138c4ac30d75fd1eb44270\", "          \
    "\"plaintext\": \"\\\"hunter2\\\"\"}}}]}}"

static sw_bytes_t *exported(const sw_stack_t *stack, bool show_secrets)
{
    sw_error_t *error = NULL;
    sw_bytes_t *document = NULL;
    OK(sw_stack_export_deployment(stack, show_secrets, &document, &error));
    return document;
}

static void a_changed_passphrase_opens_the_stack(void)
{
    sw_error_t *error = NULL;
    sw_runtime_t *runtime = make_runtime(2);
    sw_engine_options_t options = {sizeof options, runtime, sw_text("{\"store\": \"memory://\", \"passphrase\": \"first\"}"), NULL, 0, NULL};
    sw_engine_t *engine = NULL;
    sw_stack_t *stack = NULL;
    OK(sw_engine_new(&options, &engine, &error));
    OK(sw_stack_open(engine, sw_text("shop/dev"), sw_text("{\"create\": true}"), NULL, &stack, &error));
    OK(sw_stack_import_deployment(stack, sw_text(WITH_SECRET), &error));
    sw_bytes_t *before = exported(stack, false), *report = NULL;
    OK(sw_stack_edit(stack, sw_text("{\"changeSecrets\": {\"passphrase\": \"next\"}}"), &report, &error));
    expect_at(report, "/records/0/fields/0", "\"inputs\"");
    CHECK(strstr(sw_bytes_data(report), "next") == NULL);
    sw_bytes_free(report);
    sw_stack_free(stack);
    FAILS(sw_stack_open(engine, sw_text("shop/dev"), sw_text(""), NULL, &stack, &error), SW_STATUS_DECRYPT, "incorrect passphrase");
    OK(sw_stack_open(engine, sw_text("shop/dev"), sw_text("{\"passphrase\": \"next\"}"), NULL, &stack, &error));
    sw_bytes_t *after = exported(stack, false), *shown = exported(stack, true);
    const char *ciphertext = "/deployment/resources/0/inputs/key/ciphertext", *salt = "/deployment/secrets_providers/state/salt";
    for (int index = 0; index < 2; index++) {
        sw_bytes_t *old = json_at(sw_bytes_view(before), index ? salt : ciphertext), *new = json_at(sw_bytes_view(after), index ? salt : ciphertext);
        CHECK(old && new && strcmp(sw_bytes_data(old), sw_bytes_data(new)) != 0);
        sw_bytes_free(old), sw_bytes_free(new);
    }
    CHECK(strstr(sw_bytes_data(shown), "hunter2") && !strstr(sw_bytes_data(after), "hunter2"));
    sw_bytes_free(before), sw_bytes_free(after), sw_bytes_free(shown);
    FAILS(sw_stack_edit(stack, sw_text("{\"restore\": {\"version\": 1, \"passphrase\": \"first\"}}"), &report, &error), SW_STATUS_NOT_FOUND, "history");
    OK(sw_stack_edit(stack, sw_text("{\"renameStack\": {\"name\": \"live\"}}"), &report, &error));
    expect_at(report, "/records/0/kind", "\"renamed\"");
    sw_bytes_free(report);
    FAILS(sw_stack_edit(stack, sw_text("{\"repair\": {}}"), &report, &error), SW_STATUS_NOT_FOUND, "no stack named 'shop/dev' found");
    sw_stack_free(stack);
    OK(sw_stack_open(engine, sw_text("shop/live"), sw_text("{\"passphrase\": \"next\", \"create\": false}"), NULL, &stack, &error));
    shown = exported(stack, true);
    CHECK(strstr(sw_bytes_data(shown), "hunter2") && strstr(sw_bytes_data(shown), "urn:pulumi:live::") && !strstr(sw_bytes_data(shown), "urn:pulumi:dev::"));
    sw_bytes_free(shown);
    sw_stack_free(stack);
    sw_engine_free(engine);
    OK(sw_runtime_free(runtime));
}

static void resources_move_to_another_stack(void)
{
    sw_error_t *error = NULL;
    sw_runtime_t *runtime = make_runtime(2);
    sw_engine_options_t options = {sizeof options, runtime, sw_text("{\"store\": \"memory://\"}"), NULL, 0, NULL};
    sw_engine_t *engine = NULL;
    sw_stack_t *stack = NULL, *live = NULL;
    OK(sw_engine_new(&options, &engine, &error));
    OK(sw_stack_open(engine, sw_text("shop/dev"), sw_text("{\"create\": true}"), NULL, &stack, &error));
    OK(sw_stack_import_deployment(stack, sw_text(WITH_SECRET), &error));
    sw_bytes_t *report = NULL, *shown = NULL;
    OK(sw_stack_open(engine, sw_text("shop/live"), sw_text("{\"create\": true}"), NULL, &live, &error));
    sw_bytes_view_t edit = sw_text("{\"move\": {\"urns\": [\"" SITE "\"]}}");
    OK(sw_stack_move_resources(stack, live, sw_text("{\"move\": {\"urns\": [\"" SITE "\"]}, \"dryRun\": true}"), &report, &error));
    expect_at(report, "/source/dryRun", "true");
    sw_bytes_free(report);
    OK(sw_stack_move_resources(stack, live, edit, &report, &error));
    expect_at(report, "/source/records/0/kind", "\"removed\"");
    expect_at(report, "/destination/records/1/formerUrn", "\"" SITE "\"");
    expect_at(report, "/destination/records/1/urn", "\"urn:pulumi:live::shop::my:index:Site::site\"");
    sw_bytes_free(report);
    FAILS(sw_stack_move_resources(stack, live, edit, NULL, &error), SW_STATUS_NOT_FOUND, "has no resource '" SITE "'");
    FAILS(sw_stack_move_resources(stack, stack, edit, NULL, &error), SW_STATUS_INVALID_INPUT, "moved to itself");
    FAILS(sw_stack_move_resources(stack, live, sw_text("{\"move\": {\"urn\": []}}"), NULL, &error), SW_STATUS_INVALID_INPUT, "urn");
    shown = exported(live, true);
    CHECK(strstr(sw_bytes_data(shown), "hunter2"));
    sw_bytes_free(shown);
    sw_stack_free(stack), sw_stack_free(live);
    sw_engine_free(engine);
    OK(sw_runtime_free(runtime));
}

int main(void)
{
    RUN(stacks_are_created_selected_or_either);
    RUN(the_context_contains_the_organization_of_the_stack);
    RUN(unlock_removes_the_lock_of_another_machine);
    RUN(the_host_fetches_remote_assets_and_a_failed_fetch_keeps_the_state);
    RUN(operations_take_and_return_deployments);
    RUN_WITH_KEYS(a_changed_passphrase_opens_the_stack);
    RUN(resources_move_to_another_stack);
    return 0;
}
