#include <stackwright.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// BLOCK

static sw_error_t *error;

static void check(sw_status_t status)
{
    if (status != SW_STATUS_OK) {
        fprintf(stderr, "%s\n", error ? sw_error_message(error) : sw_status_name(status));
        exit(1);
    }
}

static bool created; /* with the text of the transform */

static void create(void *user_data, sw_bytes_view_t request, sw_completion_t *completion)
{
    (void)user_data;
    sw_bytes_t *text = NULL;
    sw_json_text(request, sw_text("/inputs/text"), &text, NULL);
    created = text && strcmp(sw_bytes_data(text), "by a transform") == 0;
    sw_bytes_free(text);
    sw_completion_succeed(completion, sw_text("{\"id\": \"1\", \"outputs\": {}}"));
}

static void delete_note(void *user_data, sw_bytes_view_t request, sw_completion_t *completion)
{
    (void)user_data, (void)request;
    sw_completion_succeed(completion, sw_text(""));
}

int main(void)
{
    sw_runtime_t *runtime = NULL;
    sw_engine_t *engine = NULL;
    sw_stack_t *stack = NULL;
    sw_operation_t *operation = NULL;
    sw_bytes_t *result = NULL;
    sw_provider_t notes = {.struct_size = sizeof notes, .version = SW_PROVIDER_VERSION, .create = create, .delete_ = delete_note};
    sw_package_t package = {sizeof package, sw_text("notes"), &notes};
    sw_program_t program = {sizeof program, SW_PROGRAM_VERSION, NULL, NULL, run};
    check(sw_runtime_new(NULL, &runtime, &error));
    sw_engine_options_t options = {.struct_size = sizeof options, .runtime = runtime, .packages = &package, .package_count = 1,
                                   .settings = sw_text("{\"store\": \"memory://\"}")};
    check(sw_engine_new(&options, &engine, &error));
    check(sw_stack_open(engine, sw_text("shop/dev"), sw_text(""), &program, &stack, &error));
    check(sw_stack_start(stack, SW_OPERATION_UPDATE, sw_text(""), NULL, &operation, &error));
    check(sw_operation_wait(operation, &result, &error));
    sw_bytes_free(result), sw_operation_free(operation), sw_stack_free(stack), sw_engine_free(engine);
    check(sw_runtime_free(runtime));
    return created ? 0 : 2;
}
