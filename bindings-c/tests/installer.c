/* Plugins that the host installs. Arguments: the executable of the plugin `gofiles`, and an empty folder. */
#define _POSIX_C_SOURCE 200809L /* mkdir, symlink */
#include "support.h"

#include <sys/stat.h>
#include <unistd.h>

static const char *plugin_executable, *folder;

struct installer {
    atomic_int asked, latest, installed, frees;
    /* 0: correct, 1: fails, 2: declines, 3: reports success but installs nothing, 4: returns an invalid version. */
    int wrong;
};

static void expect_text(sw_bytes_view_t request, const char *pointer, const char *expected)
{
    sw_bytes_t *text = json_at(request, pointer);
    if (!text || strcmp(sw_bytes_data(text), expected) != 0) {
        fprintf(stderr, "%s is %s, expected %s\n", pointer, text ? sw_bytes_data(text) : "missing", expected);
        exit(1);
    }
    sw_bytes_free(text);
}

static void host_is_installed(void *user_data, sw_bytes_view_t request, sw_completion_t *completion)
{
    struct installer *installer = user_data;
    installer->asked++;
    expect_text(request, "/kind", "\"resource\"");
    expect_text(request, "/name", "\"gofiles\"");
    expect_text(request, "/version", "null");
    if (installer->wrong == 1)
        CHECK(sw_completion_fail(completion, SW_PROVIDER_STATUS_UNAVAILABLE, sw_text("The Mirror is down!")) == SW_STATUS_OK);
    else
        CHECK(sw_completion_succeed(completion, sw_text("")) == SW_STATUS_OK);
}

static void host_latest_version(void *user_data, sw_bytes_view_t request, sw_completion_t *completion)
{
    struct installer *installer = user_data;
    (void)request;
    installer->latest++;
    const char *answer = installer->wrong == 4 ? "{\"version\": \"newest\"}" : "{\"version\": \"v1.2.3\"}";
    CHECK(sw_completion_succeed(completion, sw_text(answer)) == SW_STATUS_OK);
}

static void host_install(void *user_data, sw_bytes_view_t request, sw_completion_t *completion)
{
    struct installer *installer = user_data;
    installer->installed++;
    expect_text(request, "/version", "\"1.2.3\"");
    if (installer->wrong == 0) {
        char place[4096];
        snprintf(place, sizeof place, "%s/resource-gofiles-v1.2.3", folder);
        CHECK(mkdir(place, 0755) == 0);
        snprintf(place, sizeof place, "%s/resource-gofiles-v1.2.3/pulumi-resource-gofiles", folder);
        CHECK(symlink(plugin_executable, place) == 0);
    }
    const char *answer = installer->wrong == 2 ? "{\"declined\": true}" : "{}";
    CHECK(sw_completion_succeed(completion, sw_text(answer)) == SW_STATUS_OK);
}

static void installer_free(void *user_data)
{
    ((struct installer *)user_data)->frees++;
}

static int32_t register_file(void *user_data, sw_context_t *context)
{
    char goal[4096 + 256];
    (void)user_data;
    for (int number = 0; number < 5; number++) {
        snprintf(goal, sizeof goal, "{\"type\": \"gofiles:index:File\", \"name\": \"file-%d\","
            " \"inputs\": {\"path\": \"%s/%d.txt\", \"content\": \"hello\"}}", number, folder, number);
        sw_status_t status = sw_context_register(context, sw_text(goal), NULL, NULL);
        if (status != SW_STATUS_OK)
            return status;
    }
    return SW_STATUS_OK;
}

/* Updates a stack of a new engine; checks its status, and that its result contains `text`. */
static void update(struct installer *installer, sw_status_t expected, const char *text)
{
    sw_error_t *error = NULL;
    sw_runtime_t *runtime = make_runtime(2);
    sw_host_t hooks = {.struct_size = sizeof hooks, .version = SW_HOST_VERSION, .user_data = installer, .free = installer_free,
        .is_installed = host_is_installed, .latest_version = host_latest_version, .install = host_install};
    char settings[4096 + 256];
    snprintf(settings, sizeof settings, "{\"store\": \"memory://\", \"plugins\": {\"cache\": \"%s\"}}", folder);
    sw_engine_options_t options = {sizeof options, runtime, sw_text(settings), NULL, 0, &hooks};
    sw_program_t program = {sizeof program, SW_PROGRAM_VERSION, NULL, NULL, register_file};
    sw_engine_t *engine = NULL;
    sw_stack_t *stack = NULL;
    sw_operation_t *operation = NULL;
    sw_bytes_t *result = NULL;
    OK(sw_engine_new(&options, &engine, &error));
    OK(sw_stack_open(engine, sw_text("shop/dev"), sw_text(""), &program, &stack, &error));
    OK(sw_stack_start(stack, SW_OPERATION_UPDATE, sw_text(""), NULL, &operation, &error));
    sw_status_t status = sw_operation_wait(operation, &result, &error);
    if (status != expected || !strstr(sw_bytes_data(result), text)) {
        fprintf(stderr, "%s: %s\n%s\n", sw_status_name(status), error ? sw_error_message(error) : "", sw_bytes_data(result));
        exit(1);
    }
    sw_error_free(error);
    sw_bytes_free(result);
    sw_operation_free(operation);
    sw_stack_free(stack);
    sw_engine_free(engine);
    OK(sw_runtime_free(runtime));
    CHECK(installer->frees == 1);
}

static void failures_of_the_installer_are_reported(void)
{
    struct {
        int wrong;
        const char *text;
    } cases[] = {
        {1, "The Mirror is down!"},
        {2, "no resource plugin 'pulumi-resource-gofiles' found"},
        {3, "the resource plugin 'gofiles' at version v1.2.3 was installed by the host, but is not where the engine looks"},
        {4, "the latest version of the resource plugin 'gofiles' is \\\"newest\\\", which is no version"},
    };
    for (size_t index = 0; index < sizeof cases / sizeof *cases; index++) {
        struct installer installer = {.wrong = cases[index].wrong};
        update(&installer, SW_STATUS_FAILED, cases[index].text);
    }
}

static void a_needed_plugin_is_installed_once(void)
{
    struct installer first = {.wrong = 0}, second = {.wrong = 0};
    update(&first, SW_STATUS_OK, "\"create\":6");
    CHECK(first.asked == 1 && first.latest == 1 && first.installed == 1);
    char place[4096 + 16];
    snprintf(place, sizeof place, "%s/4.txt", folder);
    CHECK(access(place, R_OK) == 0);
    update(&second, SW_STATUS_OK, "\"create\":6");
    CHECK(second.asked == 0 && second.installed == 0);
}

int main(int count, char **arguments)
{
    CHECK(count == 3);
    plugin_executable = arguments[1], folder = arguments[2];
    RUN(failures_of_the_installer_are_reported);
    RUN(a_needed_plugin_is_installed_once);
    return 0;
}
