/* Imports machines into the folder of a stack and writes the result; with PROGRAM, runs the program that the import has
   generated. */
#include "support.h"

#define INPUTS \
    "{\"name\": \"a \\\"quoted\\\" \\\\ 100 % name\\n\", \"special-key\": true, \"nothing\": []," \
    " \"password\": {\"4dabf18193072939515e22adb298388d\": \"1b47061264138c4ac30d75fd1eb44270\", \"value\": \"narcissus\"}," \
    " \"disks\": [{\"size\": 20, \"tags\": {\"4dabf18193072939515e22adb298388d\": \"1b47061264138c4ac30d75fd1eb44270\", \"value\": {\"key\": \"hyacinth\"}}}]}"

#ifdef PROGRAM

/* Returns a value of the configuration as the JSON that the document of the run has. */
static sw_bytes_t *value_of(sw_context_t *context, const char *key)
{
    char pointer[160];
    snprintf(pointer, sizeof pointer, "/config/%s", key);
    sw_bytes_t *value = json_at(sw_text(sw_context_info(context)), pointer);
    CHECK(value != NULL);
    return value;
}

#include PROGRAM

const char *config_string(sw_context_t *context, const char *key)
{
    return sw_bytes_data(value_of(context, key));
}

const char *config_object(sw_context_t *context, const char *key)
{
    /* A text whose content is JSON without characters that a JSON text escapes, but for quotes. */
    const char *text = sw_bytes_data(value_of(context, key));
    char *content = malloc(strlen(text));
    size_t length = 0;
    for (const char *next = text + 1; next[1]; next++)
        if (*next != '\\')
            content[length++] = *next;
    content[length] = 0;
    return content;
}

#endif

static void fails(void *user_data, sw_bytes_view_t request, sw_completion_t *completion)
{
    (void)user_data, (void)request;
    CHECK(sw_completion_fail(completion, SW_PROVIDER_STATUS_UNKNOWN, sw_text("nothing is to change")) == SW_STATUS_OK);
}

static void reads(void *user_data, sw_bytes_view_t request, sw_completion_t *completion)
{
    (void)user_data, (void)request;
    CHECK(sw_completion_succeed(completion, sw_text("{\"id\": \"vm-1\", \"inputs\": " INPUTS ", \"outputs\": " INPUTS "}")) == SW_STATUS_OK);
}

int main(int count, char **arguments)
{
    CHECK(count == 3);
    sw_error_t *error = NULL;
    sw_runtime_t *runtime = make_runtime(2);
    sw_provider_t table = {.struct_size = sizeof table, .version = SW_PROVIDER_VERSION,
        .create = fails, .update = fails, .delete_ = fails, .read = reads};
    sw_package_t package = {sizeof package, sw_text("cloud"), &table};
    char settings[512];
    snprintf(settings, sizeof settings, "{\"store\": \"file://%s\"}", arguments[1]);
    sw_engine_options_t options = {sizeof options, runtime, sw_text(settings), &package, 1, NULL};
    sw_engine_t *engine = NULL;
    sw_stack_t *stack = NULL;
    OK(sw_engine_new(&options, &engine, &error));
#ifdef PROGRAM
    sw_program_t program = {sizeof program, SW_PROGRAM_VERSION, NULL, NULL, run};
    OK(sw_stack_open(engine, sw_text("shop/dev"), sw_text(arguments[2]), &program, &stack, &error));
    sw_bytes_t *result = operate(stack, SW_OPERATION_UPDATE, SW_STATUS_OK);
#else
    sw_operation_t *operation = NULL;
    sw_bytes_t *result = NULL;
    OK(sw_stack_open(engine, sw_text("shop/dev"), sw_text(""), NULL, &stack, &error));
    OK(sw_stack_import_resources(stack, sw_text(arguments[2]), sw_text(""), &operation, &error));
    OK(sw_operation_wait(operation, &result, &error));
    sw_operation_free(operation);
#endif
    puts(sw_bytes_data(result));
    sw_bytes_free(result);
    sw_stack_free(stack);
    sw_engine_free(engine);
    OK(sw_runtime_free(runtime));
    return 0;
}
