/*
 * All operations of a stack in C: a program that registers a component with files, and a provider that manages files.
 *
 *     cc files.c $(pkg-config --cflags --libs stackwright) -o files && ./files FOLDER [STEP]
 */
#include <stackwright.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JSON(...) #__VA_ARGS__ /* avoids a backslash before each quote */

/* Formats a text that the caller frees. */
static char *format(const char *pattern, ...)
{
    va_list arguments, again;
    va_start(arguments, pattern), va_copy(again, arguments);
    size_t size = (size_t)vsnprintf(NULL, 0, pattern, again) + 1;
    char *text = malloc(size);
    vsnprintf(text, size, pattern, arguments);
    va_end(arguments), va_end(again);
    return text;
}

static sw_bytes_t *json_at(sw_bytes_view_t document, const char *pointer)
{
    sw_bytes_t *found = NULL;
    sw_json_get(document, sw_text(pointer), &found, NULL);
    return found;
}

/* ---- the provider: a File has a content and a path, which is its id. Its functions may run at the same time ---- */

/* Opens the file whose path is at the pointer, or removes it if `mode` is NULL. */
static FILE *open_file(const char *folder, sw_bytes_view_t document, const char *pointer, const char *mode)
{
    sw_bytes_t *path = NULL;
    sw_json_text(document, sw_text(pointer), &path, NULL);
    char *full = format("%s/%s", folder, path ? sw_bytes_data(path) : "");
    FILE *file = mode ? fopen(full, mode) : (remove(full), NULL);
    sw_bytes_free(path), free(full);
    return file;
}

/* Creates, or updates a resource that has an id. A preview only computes the result. */
static void write_file(void *folder, sw_bytes_view_t request, sw_completion_t *completion)
{
    sw_bytes_t *old = json_at(request, "/id"), *inputs = json_at(request, old ? "/news" : "/inputs"), *content = NULL;
    sw_bytes_t *id = json_at(sw_bytes_view(inputs), "/path"), *preview = json_at(request, "/preview");
    sw_json_text(sw_bytes_view(inputs), sw_text("/content"), &content, NULL);
    bool written = id && content;
    if (written && strcmp(sw_bytes_data(preview), "true") != 0) {
        FILE *file = open_file(folder, sw_bytes_view(inputs), "/path", "wb");
        written = file && fputs(sw_bytes_data(content), file) >= 0;
        written = file && fclose(file) == 0 && written;
    }
    const char *pattern = old ? JSON({"outputs": %s}) : JSON({"outputs": %s, "id": %s});
    char *answer = written ? format(pattern, sw_bytes_data(inputs), sw_bytes_data(id)) : NULL;
    if (answer)
        sw_completion_succeed(completion, sw_text(answer));
    else
        sw_completion_fail(completion, SW_PROVIDER_STATUS_UNAVAILABLE, sw_text("the file could not be written"));
    free(answer), sw_bytes_free(old), sw_bytes_free(inputs), sw_bytes_free(content), sw_bytes_free(id), sw_bytes_free(preview);
}

/* Another path replaces the file; all other differences are found by the engine. */
static void diff_file(void *folder, sw_bytes_view_t request, sw_completion_t *completion)
{
    (void)folder;
    sw_bytes_t *id = json_at(request, "/id"), *path = json_at(request, "/news/path");
    bool moved = path && strcmp(sw_bytes_data(id), sw_bytes_data(path)) != 0;
    sw_completion_succeed(completion, sw_text(moved ? JSON({"changes": "some", "replaces": ["path"]}) : ""));
    sw_bytes_free(id), sw_bytes_free(path);
}

/* Reads a file for a refresh; an empty answer means that it does not exist. These files are small. */
static void read_file(void *folder, sw_bytes_view_t request, sw_completion_t *completion)
{
    FILE *file = open_file(folder, request, "/id", "rb");
    char content[4096], *answer = NULL;
    if (file) {
        sw_bytes_t *id = json_at(request, "/id"), *text = NULL;
        sw_json_quote((sw_bytes_view_t){content, fread(content, 1, sizeof content, file)}, &text, NULL);
        char *found = format(JSON({"path": %s, "content": %s}), sw_bytes_data(id), text ? sw_bytes_data(text) : "null");
        answer = format(JSON({"id": %s, "inputs": %s, "outputs": %s}), sw_bytes_data(id), found, found);
        sw_bytes_free(id), sw_bytes_free(text), free(found), fclose(file);
    }
    sw_completion_succeed(completion, sw_text(answer ? answer : "{}")), free(answer);
}

static void delete_file(void *folder, sw_bytes_view_t request, sw_completion_t *completion)
{
    open_file(folder, request, "/id", NULL); /* a missing file is no failure */
    sw_completion_succeed(completion, sw_text(""));
}

/* ---- the program: a component, and files below it ---- */

/* The content is JSON; a file without one contains the path of the file before it. */
struct file { const char *name, *path, *content; };

static int32_t run(void *user_data, sw_context_t *context)
{
    const char *component = JSON({"type": "files:index:Site", "name": "site", "custom": false});
    sw_bytes_t *site = NULL, *made = NULL, *urn = NULL, *path = NULL;
    sw_status_t status = sw_context_register(context, sw_text(component), &site, NULL);
    sw_bytes_t *parent = json_at(sw_bytes_view(site), "/urn");
    for (const struct file *file = user_data; status == SW_STATUS_OK && file->name; file++) {
        /* A resource that uses outputs of another one depends on it, and is deleted before it. */
        char *goal = format(JSON({"type": "files:index:File", "name": "%s", "parent": %s, "dependencies": [%s],
                                  "inputs": {"path": "%s", "content": %s}}),
                            file->name, sw_bytes_data(parent), urn ? sw_bytes_data(urn) : "", file->path,
                            file->content ? file->content : sw_bytes_data(path));
        status = sw_context_register(context, sw_text(goal), &made, NULL);
        free(goal), sw_bytes_free(urn), sw_bytes_free(path);
        urn = json_at(sw_bytes_view(made), "/urn"), path = json_at(sw_bytes_view(made), "/outputs/path");
        sw_bytes_free(made);
    }
    if (status == SW_STATUS_OK)
        status = sw_context_export(context, sw_text("last"), sw_bytes_view(path), NULL);
    sw_bytes_free(site), sw_bytes_free(parent), sw_bytes_free(urn), sw_bytes_free(path);
    return status;
}

/* ---- the operations ---- */

static sw_error_t *error; /* of the last call, for check() */
static const char *only;  /* the step to do, all if null */

static void check(sw_status_t status, const char *doing)
{
    if (status != SW_STATUS_OK) {
        fprintf(stderr, "%s: %s: %s\n", doing, sw_status_name(status), error ? sw_error_message(error) : "");
        exit(1);
    }
}

static void operate(const sw_stack_t *stack, const char *title, sw_operation_kind_t kind, const struct file *files)
{
    sw_operation_t *operation = NULL;
    sw_bytes_t *result = NULL, *tree = NULL;
    sw_program_t program = {sizeof program, SW_PROGRAM_VERSION, (void *)files, NULL, run};
    if (only && strcmp(only, title) != 0) return;
    check(sw_stack_start(stack, kind, sw_text(""), &program, &operation, &error), title);
    check(sw_operation_wait(operation, &result, &error), title);
    check(sw_json_text(sw_bytes_view(result), sw_text("/tree"), &tree, &error), title);
    sw_bytes_t *outputs = json_at(sw_bytes_view(result), "/outputs");
    printf("== %s\n%soutputs: %s\n\n", title, sw_bytes_data(tree), sw_bytes_data(outputs));
    sw_bytes_free(outputs), sw_bytes_free(tree), sw_bytes_free(result), sw_operation_free(operation);
}

int main(int count, char **arguments)
{
    const struct file first[] = {{"home", "home.txt", JSON("hello")}, {"about", "about.txt", NULL},
                                 {"draft", "draft.txt", NULL}, {0}};
    /* One file has another content, one has another path, and one is no longer registered. */
    const struct file later[] = {{"home", "home.txt", JSON("hello again")}, {"about", "moved.txt", NULL}, {0}};
    char *folder = count > 1 ? arguments[1] : ".";
    only = count > 2 ? arguments[2] : NULL; /* the state is below the folder: each step may be a process of its own */
    sw_runtime_t *runtime = NULL;
    sw_engine_t *engine = NULL;
    sw_stack_t *stack = NULL;
    check(sw_runtime_new(NULL, &runtime, &error), "runtime");
    sw_provider_t files = {.struct_size = sizeof files, .version = SW_PROVIDER_VERSION, .user_data = folder,
                           .create = write_file, .update = write_file, .diff = diff_file,
                           .read = read_file, .delete_ = delete_file};
    sw_package_t package = {sizeof package, sw_text("files"), &files};
    char *settings = format(JSON({"store": "file://./state", "baseDirectory": "%s", "passphrase": "example"}), folder);
    sw_engine_options_t options = {sizeof options, runtime, sw_text(settings), &package, 1, NULL};
    check(sw_engine_new(&options, &engine, &error), "engine");
    check(sw_stack_open(engine, sw_text("files/dev"), sw_text(""), NULL, &stack, &error), "stack");
    operate(stack, "preview", SW_OPERATION_PREVIEW, first);
    operate(stack, "update", SW_OPERATION_UPDATE, first);
    operate(stack, "update with nothing to do", SW_OPERATION_UPDATE, first);
    operate(stack, "update with changes", SW_OPERATION_UPDATE, later);
    operate(stack, "refresh", SW_OPERATION_REFRESH, NULL);
    operate(stack, "destroy", SW_OPERATION_DESTROY, NULL);
    free(settings), sw_stack_free(stack), sw_engine_free(engine);
    check(sw_runtime_free(runtime), "runtime");
    return 0;
}
