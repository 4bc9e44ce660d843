/*
 * The whole life of a stack in C: a program that registers resources, and a provider that keeps them as real files.
 *
 *     cc files.c $(pkg-config --cflags --libs stackwright) -o files && ./files FOLDER
 */
#include <stackwright.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Takes the error's address: in which order arguments are evaluated is up to the compiler. */
static void check(sw_status_t status, sw_error_t **error, const char *doing)
{
    if (status != SW_STATUS_OK) {
        fprintf(stderr, "%s: %s: %s\n", doing, sw_status_name(status), error && *error ? sw_error_message(*error) : "");
        exit(1);
    }
}

/* Formats a text that the caller frees. */
static char *format(const char *pattern, ...)
{
    va_list arguments;
    va_start(arguments, pattern);
    int length = vsnprintf(NULL, 0, pattern, arguments);
    va_end(arguments);
    char *text = malloc((size_t)length + 1);
    va_start(arguments, pattern);
    vsnprintf(text, (size_t)length + 1, pattern, arguments);
    va_end(arguments);
    return text;
}

static sw_bytes_t *json_at(sw_bytes_view_t document, const char *pointer)
{
    sw_bytes_t *found = NULL;
    sw_error_t *error = NULL;
    check(sw_json_get(document, sw_text(pointer), &found, &error), &error, pointer);
    return found;
}

/* ---- the provider: a File has a path (below the folder) and a content; its functions run concurrently ---- */

static FILE *open_file(const char *folder, sw_bytes_view_t request, const char *pointer, const char *mode)
{
    sw_bytes_t *path = NULL;
    sw_json_text(request, sw_text(pointer), &path, NULL);
    char *full = format("%s/%s", folder, sw_bytes_data(path));
    FILE *file = strcmp(mode, "delete") ? fopen(full, mode) : (remove(full), NULL);
    free(full);
    sw_bytes_free(path);
    return file;
}

/* Writes the file that `properties` of the request describe, and answers with its id and outputs. */
static void write_and_answer(const char *folder, sw_bytes_view_t request, const char *properties,
                             sw_completion_t *completion)
{
    char *path_at = format("%s/path", properties), *content_at = format("%s/content", properties);
    sw_bytes_t *preview = json_at(request, "/preview"), *outputs = json_at(request, properties);
    sw_bytes_t *content = NULL, *id = json_at(request, path_at);
    sw_json_text(request, sw_text(content_at), &content, NULL);
    int written = 1;
    if (strcmp(sw_bytes_data(preview), "true") != 0) { /* a preview must not make anything */
        FILE *file = open_file(folder, request, path_at, "wb");
        written = file && fwrite(sw_bytes_data(content), 1, sw_bytes_length(content), file) == sw_bytes_length(content);
        written = file && fclose(file) == 0 && written;
    }
    if (written) {
        char *answer = strcmp(properties, "/inputs") == 0
            ? format("{\"id\": %s, \"outputs\": %s}", sw_bytes_data(id), sw_bytes_data(outputs))
            : format("{\"outputs\": %s}", sw_bytes_data(outputs));
        sw_completion_succeed(completion, sw_text(answer));
        free(answer);
    } else {
        sw_completion_fail(completion, SW_PROVIDER_STATUS_UNAVAILABLE, sw_text("the file could not be written"));
    }
    sw_bytes_free(preview), sw_bytes_free(outputs), sw_bytes_free(content), sw_bytes_free(id);
    free(path_at), free(content_at);
}

static void create_file(void *folder, sw_bytes_view_t request, sw_completion_t *completion)
{
    write_and_answer(folder, request, "/inputs", completion);
}

static void update_file(void *folder, sw_bytes_view_t request, sw_completion_t *completion)
{
    write_and_answer(folder, request, "/news", completion);
}

/* A file that moves is another file; whether anything else differs, the engine sees itself. */
static void diff_file(void *folder, sw_bytes_view_t request, sw_completion_t *completion)
{
    (void)folder;
    sw_bytes_t *old_path = json_at(request, "/oldInputs/path"), *new_path = json_at(request, "/news/path");
    int moved = strcmp(sw_bytes_data(old_path), sw_bytes_data(new_path)) != 0;
    sw_completion_succeed(completion, sw_text(moved ? "{\"changes\": \"some\", \"replaces\": [\"path\"]}" : ""));
    sw_bytes_free(old_path), sw_bytes_free(new_path);
}

static void read_file(void *folder, sw_bytes_view_t request, sw_completion_t *completion)
{
    FILE *file = open_file(folder, request, "/id", "rb");
    if (!file) { /* an empty answer: it does not exist */
        sw_completion_succeed(completion, sw_text("{}"));
        return;
    }
    char content[4096];
    size_t length = fread(content, 1, sizeof content, file);
    fclose(file);
    sw_bytes_t *quoted = NULL, *id = json_at(request, "/id");
    sw_json_quote((sw_bytes_view_t){content, length}, &quoted, NULL);
    const char *path = sw_bytes_data(id), *text = sw_bytes_data(quoted);
    char *answer = format("{\"id\": %s, \"inputs\": {\"path\": %s, \"content\": %s},"
                          " \"outputs\": {\"path\": %s, \"content\": %s}}", path, path, text, path, text);
    sw_completion_succeed(completion, sw_text(answer));
    free(answer), sw_bytes_free(quoted), sw_bytes_free(id);
}

static void delete_file(void *folder, sw_bytes_view_t request, sw_completion_t *completion)
{
    open_file(folder, request, "/id", "delete");
    sw_completion_succeed(completion, sw_text(""));
}

/* ---- the program: what the stack is to have ---- */

struct wish {
    const char *greeting, *second_path;
};

static int32_t run(void *user_data, sw_context_t *context)
{
    const struct wish *wish = user_data;
    sw_bytes_t *first = NULL, *second = NULL;
    char *goal = format("{\"type\": \"files:index:File\", \"name\": \"first\","
                        " \"inputs\": {\"path\": \"first.txt\", \"content\": \"%s\"}}", wish->greeting);
    sw_status_t status = sw_context_register(context, sw_text(goal), &first, NULL);
    free(goal);
    if (status == SW_STATUS_OK) { /* the second file says where the first one is, and depends on it */
        sw_bytes_t *urn = json_at(sw_bytes_view(first), "/urn"), *path = json_at(sw_bytes_view(first), "/outputs/path");
        goal = format("{\"type\": \"files:index:File\", \"name\": \"second\", \"dependencies\": [%s],"
                      " \"inputs\": {\"path\": \"%s\", \"content\": %s}}",
                      sw_bytes_data(urn), wish->second_path, sw_bytes_data(path));
        status = sw_context_register(context, sw_text(goal), &second, NULL);
        sw_context_export(context, sw_text("first"), sw_bytes_view(path), NULL);
        free(goal), sw_bytes_free(urn), sw_bytes_free(path);
    }
    sw_bytes_free(first), sw_bytes_free(second);
    return status;
}

/* ---- the life of the stack ---- */

static void operate(const sw_stack_t *stack, const char *title, sw_operation_kind_t kind)
{
    sw_error_t *error = NULL;
    sw_operation_t *operation = NULL;
    sw_bytes_t *result = NULL, *tree = NULL;
    check(sw_stack_start(stack, kind, sw_text("{}"), NULL, &operation, &error), &error, title);
    check(sw_operation_wait(operation, &result, &error), &error, title);
    check(sw_json_text(sw_bytes_view(result), sw_text("/tree"), &tree, &error), &error, title);
    printf("== %s\n%s\n", title, sw_bytes_data(tree));
    sw_bytes_free(tree), sw_bytes_free(result), sw_operation_free(operation);
}

int main(int count, char **arguments)
{
    const char *folder = count > 1 ? arguments[1] : ".";
    struct wish wish = {"hello", "second.txt"};
    sw_error_t *error = NULL;
    sw_runtime_t *runtime = NULL;
    sw_engine_t *engine = NULL;
    sw_stack_t *stack = NULL;
    check(sw_runtime_new(NULL, &runtime, &error), &error, "runtime");

    sw_provider_t files = {.struct_size = sizeof files, .version = SW_PROVIDER_VERSION, .user_data = (void *)folder};
    files.create = create_file, files.update = update_file, files.delete_ = delete_file;
    files.diff = diff_file, files.read = read_file;
    sw_package_t package = {sizeof package, sw_text("files"), &files};
    char *settings = format("{\"store\": \"file://./state\", \"baseDirectory\": \"%s\", \"passphrase\": \"example\"}", folder);
    sw_engine_options_t options = {sizeof options, runtime, sw_text(settings), &package, 1, NULL};
    check(sw_engine_new(&options, &engine, &error), &error, "engine");
    free(settings);

    sw_program_t program = {sizeof program, SW_PROGRAM_VERSION, &wish, NULL, run};
    check(sw_stack_open(engine, sw_text("files/dev"), sw_text(""), &program, &stack, &error), &error, "stack");
    operate(stack, "preview", SW_OPERATION_PREVIEW);
    operate(stack, "update", SW_OPERATION_UPDATE);
    operate(stack, "update with nothing to do", SW_OPERATION_UPDATE);
    wish = (struct wish){"hello again", "moved.txt"};
    operate(stack, "update with a change and a replacement", SW_OPERATION_UPDATE);
    operate(stack, "refresh", SW_OPERATION_REFRESH);
    operate(stack, "destroy", SW_OPERATION_DESTROY);

    sw_stack_free(stack), sw_engine_free(engine);
    check(sw_runtime_free(runtime), NULL, "runtime");
    return 0;
}
