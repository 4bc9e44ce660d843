/* The installed plugins of an engine: listed, installed with progress, and removed. The argument is a folder with an archive. */
#include "support.h"

static void count(void *user_data, sw_bytes_view_t progress)
{
    sw_bytes_t *stage = json_at(progress, "/stage");
    CHECK(stage);
    sw_bytes_free(stage);
    ++*(atomic_int *)user_data;
}

static void plugins_are_installed_listed_and_removed(const char *folder)
{
    char text[2048];
    sw_error_t *error = NULL;
    sw_engine_t *engine = NULL;
    sw_bytes_t *answer = NULL;
    atomic_int reports = 0;
    sw_runtime_t *runtime = make_runtime(2);
    snprintf(text, sizeof text, "{\"store\": \"memory://\", \"plugins\": {\"cache\": \"%s/plugins\"}}", folder);
    sw_engine_options_t options = {.struct_size = sizeof options, .runtime = runtime, .settings = sw_text(text)};
    OK(sw_engine_new(&options, &engine, &error));

    OK(sw_engine_plugins(engine, sw_text("{\"list\": {}}"), NULL, NULL, &answer, &error));
    expect_at(answer, "", "[]");
    sw_bytes_free(answer);

    snprintf(text, sizeof text, "{\"install\": {\"name\": \"shop\", \"version\": \"1.0.0\", \"file\": \"%s/shop.tar.gz\"}}", folder);
    OK(sw_engine_plugins(engine, sw_text(text), count, &reports, &answer, &error));
    expect_at(answer, "/version", "\"1.0.0\"");
    expect_at(answer, "/size", "5");
    CHECK(reports == 3);
    sw_bytes_free(answer);

    const char *selection = "{\"remove\": {\"name\": \"shop\", \"versions\": \">=1.0.0\"}}";
    OK(sw_engine_plugins(engine, sw_text(selection), NULL, NULL, &answer, &error));
    expect_at(answer, "/0/name", "\"shop\"");
    sw_bytes_free(answer);

    snprintf(text, sizeof text, "{\"install\": {\"name\": \"shop\", \"version\": \"1.0.0\", \"file\": \"%s/nowhere\"}}", folder);
    FAILS(sw_engine_plugins(engine, sw_text(text), NULL, NULL, &answer, &error), SW_STATUS_NOT_FOUND, "nowhere");
    FAILS(sw_engine_plugins(engine, sw_text("{}"), NULL, NULL, &answer, &error), SW_STATUS_INVALID_INPUT, "takes one of");
    FAILS(sw_engine_plugins(engine, sw_text("{\"remove\": {}}"), NULL, NULL, &answer, &error), SW_STATUS_INVALID_INPUT,
        "names their kind");
    FAILS(sw_engine_plugins(NULL, sw_text("{}"), NULL, NULL, &answer, &error), SW_STATUS_MISUSE, "engine is null");
    sw_engine_free(engine);
    OK(sw_runtime_free(runtime));
}

int main(int count, char **arguments)
{
    CHECK(count == 2);
    plugins_are_installed_listed_and_removed(arguments[1]);
    return 0;
}
