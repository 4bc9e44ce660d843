/* Projects: files of a real folder, which keep their bytes where nothing is changed; stacks that take their settings from there; tags. */
#define _POSIX_C_SOURCE 200809L /* mkdtemp */
#include "support.h"

#include <sys/stat.h>
#include <unistd.h>

static const char PROJECT[] = "# the shop\nname: shop\nruntime: c # own\ndescription: 'Sells things' # short\nconfig:\n"
                              "  size: {type: integer, default: 3} # pieces\n  token:\n    type: string\n    secret: true\n";
static const char SETTINGS[] = "# settings of dev\nconfig:\n  # where\n  aws:region: eu # here\n  aws:ports:\n    - 80 # web\n";

struct shop {
    char folder[64], project[96], settings[96];
    sw_runtime_t *runtime;
    sw_engine_t *engine;
    sw_project_t *files;
};

static void put(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

/* Returns the content of a file until the next call. */
static const char *text_of(const char *path)
{
    static char text[4096];
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

static sw_engine_t *engine_of(sw_runtime_t *runtime, const char *passphrase)
{
    sw_error_t *error = NULL;
    sw_engine_t *engine = NULL;
    char settings[128];
    snprintf(settings, sizeof settings, "{\"store\": \"memory://\", \"passphrase\": \"%s\"}", passphrase);
    sw_engine_options_t options = {sizeof options, runtime, sw_text(settings), NULL, 0, NULL};
    OK(sw_engine_new(&options, &engine, &error));
    return engine;
}

static void open_shop(struct shop *shop)
{
    sw_error_t *error = NULL;
    snprintf(shop->folder, sizeof shop->folder, "/tmp/stackwright-XXXXXX");
    CHECK(mkdtemp(shop->folder) != NULL);
    snprintf(shop->project, sizeof shop->project, "%s/Pulumi.yaml", shop->folder);
    snprintf(shop->settings, sizeof shop->settings, "%s/Pulumi.dev.yaml", shop->folder);
    shop->runtime = make_runtime(2);
    shop->engine = engine_of(shop->runtime, "correct horse");
    FAILS(sw_project_open(shop->engine, sw_text(shop->folder), &shop->files, &error), SW_STATUS_NOT_FOUND, "no Pulumi.yaml");
    put(shop->project, PROJECT);
    put(shop->settings, SETTINGS);
    OK(sw_project_open(shop->engine, sw_text(shop->folder), &shop->files, &error));
}

static void close_shop(struct shop *shop)
{
    sw_error_t *error = NULL;
    sw_project_free(shop->files);
    sw_engine_free(shop->engine);
    OK(sw_runtime_free(shop->runtime));
    unlink(shop->settings), unlink(shop->project);
    CHECK(rmdir(shop->folder) == 0);
}

static void a_change_of_the_project_file_keeps_all_other_bytes(void)
{
    struct shop shop;
    sw_error_t *error = NULL;
    sw_bytes_t *facts = NULL;
    bool existed = false;
    char expected[512];
    open_shop(&shop);
    OK(sw_project_facts(shop.files, &facts, &error));
    expect_at(facts, "/name", "\"shop\"");
    expect_at(facts, "/description", "\"Sells things\"");
    expect_at(facts, "/config/0/key", "\"shop:size\"");
    expect_at(facts, "/config/0/type", "\"integer\"");
    expect_at(facts, "/config/0/default", "3");
    expect_at(facts, "/config/1/secret", "true");
    sw_bytes_free(facts);
    OK(sw_project_set(shop.files, sw_text("author"), sw_text("\"me\""), &error));
    snprintf(expected, sizeof expected, "%sauthor: me\n", PROJECT);
    CHECK(strcmp(text_of(shop.project), expected) == 0);
    OK(sw_project_remove(shop.files, sw_text("author"), &existed, &error));
    CHECK(existed);
    OK(sw_project_remove(shop.files, sw_text("author"), &existed, &error));
    CHECK(!existed);
    OK(sw_project_remove(shop.files, sw_text("author"), NULL, &error));
    FAILS(sw_project_set(shop.files, sw_text("name"), sw_text("\"no name!\""), &error), SW_STATUS_INVALID_INPUT, "name");
    FAILS(sw_project_set(shop.files, sw_text("author"), sw_text("{"), &error), SW_STATUS_MISUSE, "no JSON");
    CHECK(strcmp(text_of(shop.project), PROJECT) == 0);
    close_shop(&shop);
}

static void configuration_is_set_read_and_removed_with_all_other_bytes_kept(void)
{
    struct shop shop;
    sw_error_t *error = NULL;
    sw_bytes_t *entry = NULL, *entries = NULL, *settings = NULL;
    size_t removed = 0;
    open_shop(&shop);
    OK(sw_project_set_all_config(shop.files, sw_text("dev"), sw_text("{\"aws:ports[1]\": \"443\", \"zone\": \"a\"}"), sw_text(""), &error));
    char expected[512];
    snprintf(expected, sizeof expected, "%s    - 443\n  shop:zone: a\n", SETTINGS);
    CHECK(strcmp(text_of(shop.settings), expected) == 0);
    OK(sw_project_get_config(shop.files, sw_text("shop/dev"), sw_text("aws:ports"), sw_text(""), &entry, &error));
    CHECK(strcmp(sw_bytes_data(entry), "{\"value\":\"[80,443]\",\"objectValue\":[80,443],\"secret\":false}") == 0);
    sw_bytes_free(entry);
    OK(sw_project_remove_config(shop.files, sw_text("dev"), sw_text("[\"aws:ports[1]\", \"zone\", \"nothing\"]"), &removed, &error));
    CHECK(removed == 2);
    CHECK(strcmp(text_of(shop.settings), SETTINGS) == 0);
    FAILS(sw_project_get_config(shop.files, sw_text("dev"), sw_text("zone"), sw_text(""), &entry, &error), SW_STATUS_NOT_FOUND,
          "configuration key 'zone' not found for stack 'dev'");
    FAILS(sw_project_remove_config(shop.files, sw_text("dev"), sw_text("{}"), NULL, &error), SW_STATUS_MISUSE, "JSON array");
    FAILS(sw_project_settings(shop.files, sw_text("other/dev"), &settings, &error), SW_STATUS_INVALID_INPUT, "doesn't match Pulumi.yaml");
    OK(sw_project_list_config(shop.files, sw_text("dev"), false, sw_text(""), &entries, &error));
    expect_at(entries, "/shop:size/value", "\"3\"");
    sw_bytes_free(entries);
    OK(sw_project_settings(shop.files, sw_text("dev"), &settings, &error));
    expect_at(settings, "/exists", "true");
    sw_bytes_free(settings);
    close_shop(&shop);
}

static void a_key_that_is_declared_as_secret_is_encrypted_unless_the_value_is_marked_as_none(void)
{
    struct shop shop;
    sw_error_t *error = NULL;
    sw_bytes_t *entry = NULL, *entries = NULL, *settings = NULL;
    open_shop(&shop);
    OK(sw_project_set_all_config(shop.files, sw_text("dev"), sw_text("{\"token\": \"hunter2\"}"), sw_text(""), &error));
    CHECK(strstr(text_of(shop.settings), "hunter2") == NULL);
    CHECK(strstr(text_of(shop.settings), strstr(SETTINGS, "config:")) != NULL);
    OK(sw_project_list_config(shop.files, sw_text("dev"), false, sw_text(""), &entries, &error));
    expect_at(entries, "/shop:token", "{\"secret\":true}");
    sw_bytes_free(entries);
    OK(sw_project_list_config(shop.files, sw_text("dev"), true, sw_text(""), &entries, &error));
    expect_at(entries, "/shop:token/value", "\"hunter2\"");
    sw_bytes_free(entries);
    OK(sw_project_settings(shop.files, sw_text("dev"), &settings, &error));
    sw_bytes_t *salt = NULL;
    OK(sw_json_text(sw_bytes_view(settings), sw_text("/encryptionSalt"), &salt, &error));
    CHECK(strstr(text_of(shop.settings), sw_bytes_data(salt)) != NULL);
    sw_bytes_free(salt), sw_bytes_free(settings);
    FAILS(sw_project_get_config(shop.files, sw_text("dev"), sw_text("token"), sw_text("wrong"), &entry, &error), SW_STATUS_DECRYPT,
          "incorrect passphrase");
    OK(sw_project_set_all_config(shop.files, sw_text("dev"), sw_text("{\"token\": {\"value\": \"shown\", \"secret\": false}}"), sw_text(""),
        &error));
    OK(sw_project_list_config(shop.files, sw_text("dev"), false, sw_text(""), &entries, &error));
    expect_at(entries, "/shop:token", "{\"value\":\"shown\",\"secret\":false}");
    sw_bytes_free(entries);
    close_shop(&shop);
}

static int32_t run_configured(void *user_data, sw_context_t *context)
{
    sw_error_t *error = NULL;
    (void)user_data;
    sw_bytes_t *size = json_at(sw_text(sw_context_info(context)), "/config/shop:size");
    OK(sw_context_export(context, sw_text("size"), sw_bytes_view(size), &error));
    sw_bytes_free(size);
    return SW_STATUS_OK;
}

/* Fails unless an update fails with this text. */
static void update_fails(sw_stack_t *stack, const char *text)
{
    sw_error_t *error = NULL;
    sw_operation_t *operation = NULL;
    sw_bytes_t *result = NULL;
    OK(sw_stack_start(stack, SW_OPERATION_UPDATE, sw_text(""), NULL, &operation, &error));
    CHECK(sw_operation_wait(operation, &result, &error) == SW_STATUS_INVALID_INPUT);
    CHECK(strstr(sw_error_message(error), text) != NULL);
    sw_error_free(error);
    sw_bytes_free(result);
    sw_operation_free(operation);
}

static void a_stack_takes_its_settings_from_the_project(void)
{
    struct shop shop;
    sw_error_t *error = NULL;
    sw_stack_t *stack = NULL;
    char settings[128];
    open_shop(&shop);
    sw_program_t program = {sizeof program, SW_PROGRAM_VERSION, NULL, NULL, run_configured};
    snprintf(settings, sizeof settings, "{\"project\": \"%s\"}", shop.folder);
    FAILS(sw_stack_open(shop.engine, sw_text("other/dev"), sw_text(settings), &program, &stack, &error), SW_STATUS_INVALID_INPUT,
          "doesn't match");
    OK(sw_stack_open(shop.engine, sw_text("dev"), sw_text(settings), &program, &stack, &error));
    update_fails(stack, "Stack 'dev' is missing configuration value(s) 'token'");
    OK(sw_project_set_all_config(shop.files, sw_text("dev"), sw_text("{\"size\": \"many\", \"token\": \"hunter2\"}"), sw_text(""), &error));
    update_fails(stack, "Stack 'dev' with configuration key 'size' must be of type 'integer'");
    OK(sw_project_set_all_config(shop.files, sw_text("dev"), sw_text("{\"size\": 7}"), sw_text(""), &error));
    sw_bytes_t *result = operate(stack, SW_OPERATION_UPDATE, SW_STATUS_OK);
    expect_at(result, "/outputs/size/value", "\"7\"");
    sw_bytes_free(result);

    sw_engine_t *wrong = engine_of(shop.runtime, "wrong");
    sw_stack_t *refused = NULL;
    FAILS(sw_stack_open(wrong, sw_text("dev"), sw_text(settings), &program, &refused, &error), SW_STATUS_DECRYPT, "incorrect passphrase");
    sw_engine_free(wrong);
    sw_stack_free(stack);
    close_shop(&shop);
}

/* The interpreter of the program is a script of the test. */
static void a_stack_without_a_program_runs_that_of_its_folder(void)
{
    struct shop shop;
    sw_error_t *error = NULL;
    sw_stack_t *stack = NULL;
    char settings[256], entry[96], bin[96], node[112];
    open_shop(&shop);
    snprintf(entry, sizeof entry, "%s/index.js", shop.folder);
    snprintf(bin, sizeof bin, "%s/bin", shop.folder);
    snprintf(node, sizeof node, "%s/node", bin);
    put(shop.project, "name: shop\nruntime: nodejs\n");
    put(entry, "");
    CHECK(mkdir(bin, 0755) == 0);
    put(node, "#!/bin/sh\ncat > /dev/null; echo the last line; printf complete >&0; exit $CODE\n");
    CHECK(chmod(node, 0755) == 0);
    for (int code = 0; code <= 3; code += 3) {
        snprintf(settings, sizeof settings, "{\"project\": \"%s\", \"programEnvironment\": {\"PATH\": \"%s:/usr/bin:/bin\", \"CODE\": \"%d\"}}",
                 shop.folder, bin, code);
        OK(sw_stack_open(shop.engine, sw_text("dev"), sw_text(settings), NULL, &stack, &error));
        sw_bytes_t *result = operate(stack, SW_OPERATION_UPDATE, code == 0 ? SW_STATUS_OK : SW_STATUS_PROGRAM);
        if (code != 0)
            CHECK(strstr((const char *)sw_bytes_data(result), "exit code: 3") != NULL);
        sw_bytes_free(result);
        sw_stack_free(stack);
    }
    FAILS(sw_stack_open(shop.engine, sw_text("shop/dev"), sw_text("{\"programEnvironment\": {\"A\": \"b\"}}"), NULL, &stack, &error),
          SW_STATUS_INVALID_INPUT, "programEnvironment");
    unlink(entry), unlink(node), rmdir(bin);
    close_shop(&shop);
}

static void a_stack_keeps_tags(void)
{
    struct shop shop;
    sw_error_t *error = NULL;
    sw_stack_t *stack = NULL;
    sw_bytes_t *tags = NULL;
    bool existed = false;
    open_shop(&shop);
    sw_program_t program = {sizeof program, SW_PROGRAM_VERSION, NULL, NULL, run_configured};
    OK(sw_stack_open(shop.engine, sw_text("shop/dev"), sw_text(""), &program, &stack, &error));
    OK(sw_stack_set_tag(stack, sw_text("owner"), sw_text("net"), &error));
    OK(sw_stack_set_tag(stack, sw_text("any name"), sw_text("x"), &error));
    OK(sw_stack_list_tags(stack, &tags, &error));
    expect_at(tags, "/owner", "\"net\"");
    expect_at(tags, "/any name", "\"x\"");
    sw_bytes_free(tags);
    OK(sw_stack_remove_tag(stack, sw_text("owner"), &existed, &error));
    CHECK(existed);
    OK(sw_stack_remove_tag(stack, sw_text("owner"), &existed, &error));
    CHECK(!existed);
    sw_stack_free(stack);
    close_shop(&shop);
}

static void null_handles_are_refused(void)
{
    sw_error_t *error = NULL;
    sw_bytes_t *facts = NULL;
    sw_project_t *project = NULL;
    FAILS(sw_project_facts(NULL, &facts, &error), SW_STATUS_MISUSE, "the project");
    FAILS(sw_project_open(NULL, sw_text("/tmp"), &project, &error), SW_STATUS_MISUSE, "the engine");
    sw_project_free(NULL);
}

int main(void)
{
    RUN(a_change_of_the_project_file_keeps_all_other_bytes);
    RUN(configuration_is_set_read_and_removed_with_all_other_bytes_kept);
    RUN_WITH_KEYS(a_key_that_is_declared_as_secret_is_encrypted_unless_the_value_is_marked_as_none);
    RUN_WITH_KEYS(a_stack_takes_its_settings_from_the_project);
    RUN_WITH_KEYS(a_stack_without_a_program_runs_that_of_its_folder);
    RUN(a_stack_keeps_tags);
    RUN(null_handles_are_refused);
    return 0;
}
