/* Physical names that the host proposes, and the `autonaming` of the provider's Check. */
#include "support.h"

struct namer {
    atomic_int asked, answered, checked;
    int wrong;
};

static void namer_propose(void *user_data, sw_bytes_view_t request, sw_completion_t *completion)
{
    struct namer *namer = user_data;
    sw_bytes_t *seed = json_at(request, "/randomSeed");
    namer->asked++;
    CHECK(sw_bytes_length(seed) == 46); /* 32 bytes in base64, and two quotes */
    sw_bytes_free(seed);
    sw_bytes_t *type = json_at(request, "/type"), *preview = json_at(request, "/preview");
    CHECK(strcmp(sw_bytes_data(type), "\"namer:index:Thing\"") == 0 && strcmp(sw_bytes_data(preview), "false") == 0);
    sw_bytes_free(type), sw_bytes_free(preview);
    switch (namer->wrong) {
    case 1:
        CHECK(sw_completion_fail(completion, SW_PROVIDER_STATUS_UNKNOWN, sw_text("no name is left")) == SW_STATUS_OK);
        return;
    case 2:
        sw_completion_free(completion);
        return;
    case 3:
        CHECK(sw_completion_succeed(completion, sw_text("{\"proposedName\": \"x\", \"mode\": \"shout\"}")) == SW_STATUS_OK);
        return;
    default:
        break;
    }
    sw_bytes_t *name = json_at(request, "/name");
    const char *answer = strcmp(sw_bytes_data(name), "\"text\"") == 0 ? "{\"proposedName\": \"text-1\"}"
        : strcmp(sw_bytes_data(name), "\"whole\"") == 0
        ? "{\"proposedName\": \"whole-1\", \"mode\": \"enforce\", \"deleteBeforeReplace\": true, \"warnIfUnsupported\": true}"
        : "{}";
    namer->answered++;
    CHECK(sw_completion_succeed(completion, sw_text(answer)) == SW_STATUS_OK);
    sw_bytes_free(name);
}

static void namer_check(void *user_data, sw_bytes_view_t request, sw_completion_t *completion)
{
    struct namer *namer = user_data;
    sw_bytes_t *name = json_at(request, "/name"), *naming = json_at(request, "/autonaming");
    const char *expected = strcmp(sw_bytes_data(name), "\"text\"") == 0 ? "{\"proposedName\":\"text-1\",\"mode\":\"propose\"}"
        : strcmp(sw_bytes_data(name), "\"whole\"") == 0 ? "{\"proposedName\":\"whole-1\",\"mode\":\"enforce\"}"
        : "null";
    namer->checked++;
    if (strcmp(sw_bytes_data(naming), expected) != 0) {
        fprintf(stderr, "%s: %s, expected %s\n", sw_bytes_data(name), sw_bytes_data(naming), expected);
        exit(1);
    }
    CHECK(sw_completion_succeed(completion, sw_text("{}")) == SW_STATUS_OK);
    sw_bytes_free(name), sw_bytes_free(naming);
}

static void namer_create(void *user_data, sw_bytes_view_t request, sw_completion_t *completion)
{
    (void)user_data, (void)request;
    CHECK(sw_completion_succeed(completion, sw_text("{\"id\": \"1\"}")) == SW_STATUS_OK);
}

static void namer_delete(void *user_data, sw_bytes_view_t request, sw_completion_t *completion)
{
    (void)user_data, (void)request;
    CHECK(sw_completion_succeed(completion, sw_text("{}")) == SW_STATUS_OK);
}

static int32_t run_named(void *user_data, sw_context_t *context)
{
    const char *names[] = {"text", "whole", "own"};
    sw_status_t status = SW_STATUS_OK;
    for (int index = 0; index < (user_data ? 1 : 3) && status == SW_STATUS_OK; index++) {
        char goal[80];
        snprintf(goal, sizeof goal, "{\"type\": \"namer:index:Thing\", \"name\": \"%s\"}", names[index]);
        status = sw_context_register(context, sw_text(goal), NULL, NULL);
    }
    return status;
}

static void the_host_proposes_physical_names(void)
{
    sw_error_t *error = NULL;
    struct namer namer = {.wrong = 0};
    sw_runtime_t *runtime = make_runtime(2);
    sw_provider_t table = {.struct_size = sizeof table, .version = SW_PROVIDER_VERSION, .user_data = &namer,
        .check = namer_check, .create = namer_create, .delete_ = namer_delete};
    sw_package_t package = {sizeof package, sw_text("namer"), &table};
    sw_host_t hooks = {.struct_size = sizeof hooks, .version = SW_HOST_VERSION, .user_data = &namer, .propose_name = namer_propose};
    sw_engine_options_t options = {sizeof options, runtime, sw_text("{\"store\": \"memory://\"}"), &package, 1, &hooks};
    sw_program_t program = {sizeof program, SW_PROGRAM_VERSION, NULL, NULL, run_named};
    sw_engine_t *engine = NULL;
    sw_stack_t *stack = NULL;
    OK(sw_engine_new(&options, &engine, &error));
    OK(sw_stack_open(engine, sw_text("shop/named"), sw_text(""), &program, &stack, &error));
    sw_bytes_free(operate(stack, SW_OPERATION_UPDATE, SW_STATUS_OK));
    CHECK(namer.asked == 3 && namer.answered == 3 && namer.checked == 3);
    sw_stack_free(stack);
    const char *expected[] = {"no name is left", "the host freed the completion of propose_name without a response", "unknown mode \"shout\""};
    program.user_data = &namer;
    for (namer.wrong = 1; namer.wrong <= 3; namer.wrong++) {
        sw_operation_t *operation = NULL;
        OK(sw_stack_open(engine, sw_text("shop/unnamed"), sw_text(""), &program, &stack, &error));
        OK(sw_stack_start(stack, SW_OPERATION_UPDATE, sw_text(""), NULL, &operation, &error));
        CHECK(sw_operation_wait(operation, NULL, &error) != SW_STATUS_OK);
        if (!strstr(sw_error_message(error), expected[namer.wrong - 1]) || !strstr(sw_error_message(error), "::text cannot be proposed")) {
            fprintf(stderr, "case %d: %s\n", namer.wrong, sw_error_message(error));
            exit(1);
        }
        sw_error_free(error), error = NULL;
        sw_operation_free(operation);
        sw_stack_free(stack);
    }
    CHECK(namer.checked == 3);
    sw_engine_free(engine);
    OK(sw_runtime_free(runtime));
}

int main(void)
{
    RUN(the_host_proposes_physical_names);
    return 0;
}
