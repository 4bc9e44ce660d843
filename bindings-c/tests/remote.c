/* A remote program, run by the language runtime whose address is the first argument. */
#include "support.h"

/* Opens a stack whose program runs in the language runtime at `address`. */
static sw_stack_t *open_remote(const sw_engine_t *engine, const char *name, const char *address)
{
    sw_error_t *error = NULL;
    sw_stack_t *stack = NULL;
    char settings[256];
    snprintf(settings, sizeof settings, "{\"languageRuntime\": \"%s\", \"organization\": \"acme\","
             " \"config\": {\"color\": \"blue\"}}", address);
    OK(sw_stack_open(engine, sw_text(name), sw_text(settings), NULL, &stack, &error));
    return stack;
}

static void a_remote_program_registers_resources(const sw_engine_t *engine, struct provider *provider, const char *address)
{
    sw_error_t *error = NULL;
    sw_bytes_t *document = NULL;
    sw_stack_t *stack = open_remote(engine, "shop/remote", address);
    sw_bytes_t *result = operate(stack, SW_OPERATION_UPDATE, SW_STATUS_OK);
    expect_at(result, "/outcome", "\"succeeded\"");
    expect_at(result, "/changes/create", "2");
    /* What the provider of this process has answered went to the program and came back as the stack's outputs. */
    expect_at(result, "/outputs/id/value", "\"far\"");
    expect_at(result, "/outputs/color/value", "\"blue\"");
    sw_bytes_free(result);
    CHECK(provider->creates == 1);
    OK(sw_stack_outputs(stack, false, &document, &error));
    expect_at(document, "/color/value", "\"blue\"");
    sw_bytes_free(document);
    OK(sw_stack_export_deployment(stack, false, &document, &error));
    expect_at(document, "/deployment/resources/2/urn", "\"urn:pulumi:remote::shop::test:index:Thing::far\"");
    expect_at(document, "/deployment/resources/2/inputs/color", "\"blue\"");
    sw_bytes_free(document);
    result = operate(stack, SW_OPERATION_UPDATE, SW_STATUS_OK);
    expect_at(result, "/changes/same", "2");
    sw_bytes_free(result);
    result = operate(stack, SW_OPERATION_DESTROY, SW_STATUS_OK);
    expect_at(result, "/changes/delete", "2");
    sw_bytes_free(result);
    CHECK(provider->creates == 1 && provider->deletes == 1);
    sw_stack_free(stack);
}

static void the_failure_of_a_remote_program_is_reported(const sw_engine_t *engine, const char *address)
{
    sw_stack_t *stack = open_remote(engine, "shop/failing", address);
    sw_bytes_t *result = operate(stack, SW_OPERATION_UPDATE, SW_STATUS_PROGRAM);
    expect_at(result, "/outcome", "\"failed\"");
    expect_at(result, "/diagnostics/0/message", "\"an unhandled error occurred: no such region\"");
    sw_bytes_free(result);
    sw_stack_free(stack);
}

int main(int count, char **arguments)
{
    CHECK(count == 2);
    struct provider provider = {.held_flag = FLAG};
    sw_runtime_t *runtime = make_runtime(2);
    sw_provider_t table = provider_table(&provider, 0);
    sw_engine_t *engine = make_engine(runtime, "{\"store\": \"memory://\"}", &table);
    a_remote_program_registers_resources(engine, &provider, arguments[1]);
    the_failure_of_a_remote_program_is_reported(engine, arguments[1]);
    sw_engine_free(engine);
    sw_error_t *error = NULL;
    OK(sw_runtime_free(runtime));
    return 0;
}
