/* The functions of the scenario actor: transforms, hooks and policies, whose calls go to the director. */
#ifndef STACKWRIGHT_SCENARIO_FUNCTIONS_H
#define STACKWRIGHT_SCENARIO_FUNCTIONS_H

#include "scenario_runs.h"

/* ---- transforms and hooks of programs ---- */

struct named {
    char *name;
    int preview;
};

static void free_named(void *user_data)
{
    struct named *named = user_data;
    free(named->name), free(named);
}

/* Returns a function of a program, whose calls go to the director by this name. */
static sw_function_t function_named(sw_context_t *context, const char *name, sw_call_t call)
{
    struct named *named = malloc(sizeof *named);
    sw_bytes_t *preview = json_at(sw_text(sw_context_info(context)), "/dryRun");
    *named = (struct named){strdup(name), !strcmp(or_else(preview, ""), "true")};
    sw_bytes_free(preview);
    return (sw_function_t){sizeof(sw_function_t), SW_FUNCTION_VERSION, SW_FUNCTION_PROMPT, named, free_named, call, give_up};
}

/* Asks the director with members behind those of the request, a JSON object. */
static void ask_by_name(const char *method, char *members, sw_bytes_view_t request, sw_completion_t *completion)
{
    char *whole = format("%.*s%s}", (int)request.length - 1, request.data, members);
    ask_before("", method, sw_text(whole), completion, NULL);
    free(whole), free(members);
}

static void transform_resource(void *user_data, sw_bytes_view_t request, sw_completion_t *completion)
{
    const struct named *named = user_data;
    ask_by_name("transform", member("transform", named->name), request, completion);
}

static void transform_invoke(void *user_data, sw_bytes_view_t request, sw_completion_t *completion)
{
    const struct named *named = user_data;
    ask_by_name("transformInvoke", member("transform", named->name), request, completion);
}

static void run_hook(void *user_data, sw_bytes_view_t request, sw_completion_t *completion)
{
    const struct named *named = user_data;
    char *name = member("hook", named->name), *members = format("%s, \"preview\": %s", name, named->preview ? "true" : "false");
    free(name);
    ask_by_name("hook", members, request, completion);
}

/* Defines the transforms that a goal names, unless they are defined already. */
static void define_transforms(sw_context_t *context, sw_bytes_view_t goal)
{
    for (size_t index = 0;; index++) {
        char *pointer = format("/transforms/%zu", index);
        sw_bytes_t *name = text_at(goal, pointer);
        free(pointer);
        if (!name)
            return;
        sw_function_t function = function_named(context, sw_bytes_data(name), transform_resource);
        if (sw_context_define_transform(context, sw_bytes_view(name), &function, NULL) != SW_STATUS_OK)
            free_named(function.user_data);
        sw_bytes_free(name);
    }
}

static sw_status_t add_transform(sw_context_t *context, sw_bytes_view_t line, sw_error_t **error)
{
    sw_bytes_t *name = text_at(line, "/name"), *of = text_at(line, "/of");
    int of_invokes = !strcmp(or_else(of, ""), "invokes");
    sw_function_t function = function_named(context, or_else(name, ""), of_invokes ? transform_invoke : transform_resource);
    sw_status_t status = of_invokes ? sw_context_add_invoke_transform(context, &function, error)
                                    : sw_context_add_transform(context, &function, error);
    if (status != SW_STATUS_OK)
        free_named(function.user_data);
    sw_bytes_free(name), sw_bytes_free(of);
    return status;
}

static int is_true(sw_bytes_view_t line, const char *pointer)
{
    sw_bytes_t *value = json_at(line, pointer);
    int found = !strcmp(or_else(value, ""), "true");
    sw_bytes_free(value);
    return found;
}

static sw_status_t register_hook(sw_context_t *context, sw_bytes_view_t line, sw_error_t **error)
{
    sw_bytes_t *name = text_at(line, "/name");
    sw_function_t function = function_named(context, or_else(name, ""), run_hook);
    uint32_t options = (is_true(line, "/onDryRun") ? SW_HOOK_ON_DRY_RUN : 0)
                     | (is_true(line, "/ignoreErrors") ? SW_HOOK_IGNORE_ERRORS : 0);
    sw_status_t status = is_true(line, "/error")
        ? sw_context_register_error_hook(context, sw_bytes_view(name), &function, error)
        : sw_context_register_hook(context, sw_bytes_view(name), options, &function, error);
    if (status != SW_STATUS_OK)
        free_named(function.user_data);
    sw_bytes_free(name);
    return status;
}

/* ---- functions of packs of policies ---- */

static void serve_policy(void *pack, sw_bytes_view_t policy, sw_bytes_view_t function, sw_bytes_view_t argument,
    sw_completion_t *completion)
{
    char *method = format("policy.%s", function.data), *name = member("policy", policy.data);
    char *request = format("{\"argument\": %s%s}", argument.data, name);
    ask_before(pack, method, sw_text(request), completion, NULL);
    free(method), free(name), free(request);
}

/* Creates the packs that the options name and the request describes; returns their number. */
static size_t new_packs(sw_runtime_t *runtime, sw_bytes_view_t line, const sw_policy_pack_t *packs[16])
{
    static const char *const members[] = {"requiredPolicies", "localPolicyPacks"};
    size_t count = 0;
    for (size_t list = 0; list < 2; list++) {
        for (size_t index = 0; count < 16; index++) {
            char *pointer = format("/options/%s/%zu", members[list], index);
            sw_bytes_t *option = json_at(line, pointer), *name = text_at(sw_bytes_view(option), "/name");
            free(pointer);
            pointer = format("/policyPacks/%s", or_else(name, ""));
            sw_bytes_t *document = json_at(line, pointer);
            free(pointer);
            sw_policy_pack_t *pack = NULL;
            if (document) {
                sw_policies_t policies = {sizeof policies, SW_POLICIES_VERSION, SW_FUNCTION_PROMPT,
                    strdup(sw_bytes_data(name)), free, sw_bytes_view(document), serve_policy, give_up};
                if (sw_policy_pack_new(runtime, &policies, &pack, NULL) == SW_STATUS_OK)
                    packs[count++] = pack;
                else
                    free(policies.user_data);
            }
            int ended = option == NULL;
            sw_bytes_free(option), sw_bytes_free(name), sw_bytes_free(document);
            if (ended)
                break;
        }
    }
    return count;
}

#endif
