/* The project of the scenario actor's stack: its files, its settings, and the tags of the stack. */
#ifndef STACKWRIGHT_SCENARIO_PROJECT_H
#define STACKWRIGHT_SCENARIO_PROJECT_H

#include "scenario_lines.h"

/* The members of a request `project`. */
struct project_request {
    sw_bytes_t *part, *stack, *path, *passphrase, *value, *values, *paths, *shown;
};

static char *truth(bool value)
{
    return format("%s", value ? "true" : "false");
}

/* Changes or reads the tags of a stack; `found` is what was found as JSON. */
static sw_status_t act_on_tags(const sw_stack_t *stack, const struct project_request *request, char **found, sw_error_t **error)
{
    const char *part = or_else(request->part, "");
    sw_bytes_t *document = NULL;
    bool existed = false;
    sw_status_t status;
    if (!strcmp(part, "tag")) {
        sw_bytes_t *text = NULL;
        sw_json_text(text_of(request->value), sw_text(""), &text, NULL);
        status = sw_stack_set_tag(stack, text_of(request->path), text_of(text), error);
        sw_bytes_free(text);
    } else if (!strcmp(part, "untag")) {
        status = sw_stack_remove_tag(stack, text_of(request->path), &existed, error);
        *found = truth(existed);
    } else {
        status = sw_stack_list_tags(stack, &document, error);
        *found = document ? format("%s", sw_bytes_data(document)) : NULL;
    }
    sw_bytes_free(document);
    return status;
}

/* Changes or reads the files of a project; `found` is what was found as JSON. */
static sw_status_t act_on_files(const sw_project_t *project, const struct project_request *request, char **found, sw_error_t **error)
{
    const char *part = or_else(request->part, "");
    sw_bytes_view_t stack = text_of(request->stack), path = text_of(request->path), passphrase = text_of(request->passphrase);
    sw_bytes_t *document = NULL;
    bool existed = false;
    size_t removed = 0;
    sw_status_t status = SW_STATUS_MISUSE;
    if (!strcmp(part, "facts"))
        status = sw_project_facts(project, &document, error);
    else if (!strcmp(part, "settings"))
        status = sw_project_settings(project, stack, &document, error);
    else if (!strcmp(part, "write"))
        status = sw_project_set(project, path, text_of(request->value), error);
    else if (!strcmp(part, "erase"))
        status = sw_project_remove(project, path, &existed, error), *found = truth(existed);
    else if (!strcmp(part, "get"))
        status = sw_project_get_config(project, stack, path, passphrase, &document, error);
    else if (!strcmp(part, "list"))
        status = sw_project_list_config(project, stack, !strcmp(or_else(request->shown, ""), "true"), passphrase, &document, error);
    else if (!strcmp(part, "set"))
        status = sw_project_set_all_config(project, stack, text_of(request->values), passphrase, error);
    else if (!strcmp(part, "remove"))
        status = sw_project_remove_config(project, stack, text_of(request->paths), &removed, error), *found = format("%zu", removed);
    if (document)
        *found = format("%s", sw_bytes_data(document));
    sw_bytes_free(document);
    return status;
}

/* Answers the request `project`. */
static void act_on_project(const sw_engine_t *engine, const sw_stack_t *stack, const char *id, sw_bytes_view_t line)
{
    sw_bytes_t *folder = text_at(line, "/folder"), *marked = json_at(line, "/marked");
    struct project_request request = {text_at(line, "/part"), text_at(line, "/stack"), text_at(line, "/path"),
        text_at(line, "/passphrase"), json_at(line, "/value"), marked ? marked : json_at(line, "/values"),
        json_at(line, "/paths"), json_at(line, "/showSecrets")};
    const char *part = or_else(request.part, "");
    sw_error_t *error = NULL;
    sw_project_t *project = NULL;
    char *found = NULL;
    sw_status_t status;
    if (!strcmp(part, "tag") || !strcmp(part, "untag") || !strcmp(part, "tags")) {
        status = act_on_tags(stack, &request, &found, &error);
    } else {
        status = sw_project_open(engine, text_of(folder), &project, &error);
        if (status == SW_STATUS_OK)
            status = act_on_files(project, &request, &found, &error);
    }
    if (status == SW_STATUS_OK)
        send_line("{\"id\": %s, \"ok\": {\"found\": %s}}", id, found ? found : "null");
    else if (error)
        answer(id, status, error);
    else
        actor_error(id, "this actor cannot do that to a project");
    sw_project_free(project), free(found), sw_bytes_free(folder);
    sw_bytes_free(request.part), sw_bytes_free(request.stack), sw_bytes_free(request.path), sw_bytes_free(request.passphrase);
    sw_bytes_free(request.value), sw_bytes_free(request.values), sw_bytes_free(request.paths), sw_bytes_free(request.shown);
}

#endif
