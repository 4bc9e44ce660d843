/*
 * Plays scenarios through the C binding: the actor of scenarios/PROTOCOL.md. It forwards the director's lines to
 * the engine and the engine's calls to the director, without checks. Values pass through unchanged.
 */
#define _GNU_SOURCE
#include "scenario_functions.h"
#include "scenario_project.h"
#include "scenario_secrets.h"

/* Returns the document of a read: the members of the goal that a read accepts. */
static char *read_of(sw_bytes_view_t goal)
{
    static const char *const members[] = {"type", "name", "id", "parent", "noParent", "inputs", "dependencies",
                                          "provider", "version", "package", "additionalSecretOutputs"};
    char *document = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&document, &size);
    const char *before = "{";
    for (size_t index = 0; index < sizeof members / sizeof *members; index++) {
        char *pointer = format("/%s", members[index]);
        sw_bytes_t *value = json_at(goal, pointer);
        if (value)
            fprintf(stream, "%s\"%s\": %s", before, members[index], sw_bytes_data(value)), before = ", ";
        sw_bytes_free(value);
        free(pointer);
    }
    fputs(*before == '{' ? "{}" : "}", stream);
    fclose(stream);
    return document;
}

/* A request of a program that waits for the engine's answer; `pattern` takes the id and the result. */
struct reply {
    char *id;
    const char *pattern;
    sw_bytes_t *method; /* the token of the method that is called, or null */
};

/* Returns the failures of a method's arguments as one text; null for none. */
static char *reasons_of(sw_bytes_view_t result)
{
    char *reasons = NULL;
    for (size_t index = 0;; index++) {
        char *place = format("/failures/%zu/property", index), *why = format("/failures/%zu/reason", index);
        sw_bytes_t *property = text_at(result, place), *reason = text_at(result, why);
        free(place), free(why);
        if (!property)
            return reasons;
        char *longer = format("%s%s%s%s%s", reasons ? reasons : "", reasons ? "; " : "", sw_bytes_data(property),
            sw_bytes_length(property) ? ": " : "", or_else(reason, ""));
        free(reasons), sw_bytes_free(property), sw_bytes_free(reason);
        reasons = longer;
    }
}

static void replied(void *user_data, sw_status_t status, sw_bytes_view_t result, const sw_error_t *error)
{
    struct reply *reply = user_data;
    char *reasons = reply->method && status == SW_STATUS_OK ? reasons_of(result) : NULL;
    if (reasons) {
        /* Failures of a method's arguments are errors of the program. */
        char *text = format("call to function '%s' failed: %s", sw_bytes_data(reply->method), reasons);
        char *message = member("message", text);
        send_line("{\"id\": %s, \"error\": {\"kind\": \"program\"%s}}", reply->id, message);
        free(text), free(message), free(reasons);
    } else if (status == SW_STATUS_OK)
        send_line(reply->pattern, reply->id, result.data ? result.data : "{}");
    else
        answer_error(reply->id, error);
    sw_bytes_free(reply->method), free(reply->id), free(reply);
}

static void of_program(const char *id, const char *verb, sw_bytes_view_t line)
{
    sw_bytes_t *number = json_at(line, "/program");
    struct run *run = NULL;
    pthread_mutex_lock(&runs.mutex);
    for (run = runs.first; run && run->number != strtoul(or_else(number, "0"), NULL, 10);)
        run = run->next;
    sw_bytes_free(number);
    /* The context is valid while the run has not finished. A run finishes on this thread or in `run_ended`; the mutex
     * excludes both while a call starts. */
    if (!run || run->finished) {
        pthread_mutex_unlock(&runs.mutex);
        send_line("{\"id\": %s, \"error\": {\"kind\": \"cancelled\", \"message\": \"the program has ended\"}}", id);
        return;
    }
    sw_error_t *error = NULL;
    sw_status_t status = SW_STATUS_OK;
    struct reply *reply = malloc(sizeof *reply);
    *reply = (struct reply){strdup(id), "{\"id\": %s, \"ok\": %s}", NULL};
    sw_completion_t *completion = NULL;
    int is_method = run->is_method;
    sw_bytes_t *goal = json_at(line, "/goal");
    int waits = 1;
    if (!strcmp(verb, "register")) {
        define_transforms(run->context, sw_bytes_view(goal));
        status = sw_context_register_async(run->context, sw_bytes_view(goal), replied, reply, &error);
    } else if (!strcmp(verb, "read")) {
        char *document = read_of(sw_bytes_view(goal));
        status = sw_context_read_async(run->context, sw_text(document), replied, reply, &error);
        free(document);
    } else if (!strcmp(verb, "registerOutputs")) {
        sw_bytes_t *of = text_at(line, "/of"), *outputs = json_at(line, "/outputs");
        status = sw_context_register_outputs_async(run->context, sw_bytes_view(of), sw_bytes_view(outputs), replied, reply, &error);
        sw_bytes_free(of), sw_bytes_free(outputs);
    } else if (!strcmp(verb, "invoke")) {
        reply->pattern = "{\"id\": %s, \"ok\": {\"result\": %s}}";
        status = sw_context_invoke_async(run->context, sw_bytes_view(goal), replied, reply, &error);
    } else if (!strcmp(verb, "exists")) {
        reply->pattern = "{\"id\": %s, \"ok\": {\"result\": {\"exists\": %s}}}";
        status = sw_context_exists_async(run->context, sw_bytes_view(goal), replied, reply, &error);
    } else if (!strcmp(verb, "call")) {
        reply->method = text_at(sw_bytes_view(goal), "/token");
        status = sw_context_call_method_async(run->context, sw_bytes_view(goal), replied, reply, &error);
    } else {
        waits = 0;
        if (!strcmp(verb, "export")) {
            sw_bytes_t *name = text_at(line, "/name"), *value = json_at(line, "/value");
            status = sw_context_export(run->context, sw_bytes_view(name), sw_bytes_view(value), &error);
            sw_bytes_free(name), sw_bytes_free(value);
        } else if (!strcmp(verb, "log")) {
            sw_bytes_t *severity = text_at(line, "/severity"), *message = text_at(line, "/message");
            const char *name = or_else(severity, "info");
            int level = !strcmp(name, "debug") ? SW_SEVERITY_DEBUG : !strcmp(name, "warning") ? SW_SEVERITY_WARNING
                      : !strcmp(name, "error") ? SW_SEVERITY_ERROR : SW_SEVERITY_INFO;
            status = sw_context_log(run->context, level, sw_bytes_view(message), sw_text(""), &error);
            sw_bytes_free(severity), sw_bytes_free(message);
        } else if (!strcmp(verb, "transform")) {
            status = add_transform(run->context, line, &error);
        } else if (!strcmp(verb, "registerHook")) {
            status = register_hook(run->context, line, &error);
        } else if (run->completion) { /* finish of a component or method; `body_ended` frees the run */
            completion = run->completion;
            run->finished = 1;
            unlink_run(run);
        } else { /* finish */
            sw_bytes_t *failure = text_at(line, "/error");
            run->failure = failure ? strdup(sw_bytes_data(failure)) : NULL;
            run->finished = 1;
            sw_bytes_free(failure);
            pthread_cond_broadcast(&run->changed);
        }
    }
    pthread_mutex_unlock(&runs.mutex);
    if (completion)
        complete_body(completion, is_method, line);
    sw_bytes_free(goal);
    if (waits && status == SW_STATUS_OK)
        return;
    sw_bytes_free(reply->method), free(reply->id), free(reply);
    answer(id, status, error);
}

/* ---- engine, stack and operations ---- */

struct opened {
    char *name;
    sw_stack_t *stack;
    sw_operation_t *operation; /* the running operation, or null; guarded by `at.mutex` */
};

/* The runtime, the engine and its open stacks, at most two. */
static struct {
    sw_runtime_t *runtime;
    sw_engine_t *engine;
    struct opened stacks[2];
    size_t count;
    pthread_mutex_t mutex;
} at = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* Returns the open stack that a request names, or null. */
static struct opened *opened_by(sw_bytes_view_t line, const char *member)
{
    sw_bytes_t *name = text_at(line, member);
    struct opened *found = NULL;
    for (size_t index = 0; index < at.count; index++) {
        if (!strcmp(at.stacks[index].name, or_else(name, "")))
            found = &at.stacks[index];
    }
    sw_bytes_free(name);
    return found;
}

static struct opened *opened_at(sw_bytes_view_t line)
{
    return opened_by(line, "/stack");
}

/* Resolves a package to its address. The user data is a JSON object of addresses by package. */
static void resolve(void *user_data, sw_bytes_view_t request, sw_completion_t *completion)
{
    sw_bytes_t *name = text_at(request, "/name");
    char *pointer = format("/%s", or_else(name, ""));
    sw_bytes_t *address = json_at(sw_bytes_view(user_data), pointer);
    char *answer = address ? format("{\"address\": %s}", sw_bytes_data(address)) : format("{}");
    sw_completion_succeed(completion, sw_text(answer));
    sw_bytes_free(name), sw_bytes_free(address), free(pointer), free(answer);
}

static void free_addresses(void *user_data)
{
    sw_bytes_free(user_data);
}

/* Completes with `waitsForRegistrations` if the package declares it. */
static void handshake(void *user_data, sw_bytes_view_t request, sw_completion_t *completion)
{
    const struct package *package = user_data;
    (void)request;
    sw_completion_succeed(completion, sw_text(package->waits ? "{\"waitsForRegistrations\": true}" : "{}"));
}

static sw_status_t new_engine(sw_runtime_t *runtime, sw_bytes_view_t line, sw_error_t **error)
{
    sw_package_t packages[16];
    sw_provider_t tables[16];
    size_t count = 0;
    for (; count < 16; count++) {
        char *pointer = format("/packages/%zu", count);
        sw_bytes_t *name = text_at(line, pointer);
        free(pointer);
        if (!name)
            break;
        struct package *package = calloc(1, sizeof *package);
        package->name = strdup(sw_bytes_data(name));
        char *declared = format("/waitsForRegistrations/%s", package->name);
        sw_bytes_t *waits = json_at(line, declared);
        package->waits = waits && !strcmp(sw_bytes_data(waits), "true");
        sw_bytes_free(waits), sw_bytes_free(name), free(declared);
        tables[count] = (sw_provider_t){.struct_size = sizeof *tables, .version = SW_PROVIDER_VERSION,
            .flags = SW_PROVIDER_PROMPT, .user_data = package, .free = free_package, .handshake = handshake, .check_config = check_config,
            .diff_config = diff_config, .configure = configure, .check = check, .diff = diff, .create = create,
            .read = read_resource, .update = update, .delete_ = delete_resource, .invoke = invoke,
            .give_up = give_up, .cancel = cancel_provider, .close = close_provider, .construct = construct,
            .call = call_method};
        char *limit = format("/limits/%s/declinesSecrets", package->name);
        sw_bytes_t *given = json_at(line, limit);
        if (given && strcmp(sw_bytes_data(given), "true") == 0)
            tables[count].handshake = decline_secrets;
        free(limit), sw_bytes_free(given);
        limit = format("/limits/%s/withoutDelete", package->name);
        given = json_at(line, limit);
        if (given && strcmp(sw_bytes_data(given), "true") == 0)
            tables[count].delete_ = NULL;
        free(limit), sw_bytes_free(given);
        packages[count] = (sw_package_t){sizeof *packages, sw_text(package->name), &tables[count]};
    }
    sw_bytes_t *store = json_at(line, "/store"), *passphrase = json_at(line, "/passphrase");
    sw_bytes_t *commands = json_at(line, "/commands"), *addresses = json_at(line, "/addresses");
    sw_bytes_t *secrets = json_at(line, "/secrets"), *timeouts = json_at(line, "/callTimeouts");
    sw_bytes_t *nested = json_at(line, "/nestedSecrets");
    const char *of_host = or_else(secrets, "null"), *set = or_else(nested, "null");
    char *nests = strcmp(set, "null") != 0 ? format(", \"nestedSecrets\": %s", set) : strdup("");
    int encrypts = strcmp(of_host, "null") != 0;
    char *settings = format("{\"store\": %s, \"passphrase\": %s, \"secrets\": %s, \"plugins\": {\"commands\": %s, \"callTimeouts\": %s}%s}",
        or_else(store, "null"), or_else(passphrase, "null"), of_host, or_else(commands, "{}"), or_else(timeouts, "{}"), nests);
    int resolves = strcmp(or_else(addresses, "{}"), "{}") != 0;
    sw_host_t host = {.struct_size = sizeof host, .version = SW_HOST_VERSION, .user_data = addresses,
        .free = free_addresses, .resolve = resolves ? resolve : NULL, .encrypt = encrypts ? reverse : NULL,
        .decrypt = encrypts ? reverse : NULL, .encrypt_for_stack = reverse_for_stack, .decrypt_for_stack = reverse_for_stack};
    sw_engine_options_t options = {sizeof options, runtime, sw_text(settings), packages, count, &host};
    sw_status_t status = sw_engine_new(&options, &at.engine, error);
    while (status != SW_STATUS_OK && count > 0)
        free_package(tables[--count].user_data);
    if (status != SW_STATUS_OK)
        sw_bytes_free(addresses);
    free(settings), free(nests);
    sw_bytes_free(timeouts), sw_bytes_free(nested), sw_bytes_free(secrets), sw_bytes_free(store), sw_bytes_free(passphrase), sw_bytes_free(commands);
    return status;
}

static void open_stack(sw_runtime_t *runtime, const char *id, sw_bytes_view_t line)
{
    sw_bytes_t *project = text_at(line, "/project"), *stack = text_at(line, "/stack");
    sw_bytes_t *config = json_at(line, "/config"), *supplied = json_at(line, "/deployment");
    sw_bytes_t *folder = json_at(line, "/projectFolder");
    char *settings = format("{\"config\": %s, \"deployment\": %s, \"project\": %s}", or_else(config, "{}"), or_else(supplied, "null"),
        or_else(folder, "null"));
    char *name = format("%s/%s", or_else(project, ""), or_else(stack, ""));
    sw_error_t *error = NULL;
    sw_status_t status = at.engine ? SW_STATUS_OK : new_engine(runtime, line, &error);
    if (status == SW_STATUS_OK && at.count == sizeof at.stacks / sizeof *at.stacks) {
        actor_error(id, "this actor opens two stacks at most");
    } else {
        struct opened *opened = &at.stacks[at.count];
        sw_program_t table = {sizeof table, SW_PROGRAM_VERSION, NULL, NULL, program};
        if (status == SW_STATUS_OK)
            status = sw_stack_open(at.engine, sw_text(name), sw_text(settings), &table, &opened->stack, &error);
        if (status == SW_STATUS_OK)
            opened->name = strdup(or_else(stack, "")), at.count++;
        answer(id, status, error);
    }
    free(settings), free(name);
    sw_bytes_free(project), sw_bytes_free(stack), sw_bytes_free(config), sw_bytes_free(supplied), sw_bytes_free(folder);
}

static void close_stacks(void)
{
    while (at.count > 0) {
        struct opened *opened = &at.stacks[--at.count];
        sw_stack_free(opened->stack), free(opened->name);
        *opened = (struct opened){0};
    }
    sw_engine_free(at.engine), at.engine = NULL;
}

struct operation {
    char *id;
    sw_operation_t *operation;
};

/* Returns the texts of an error as further members of a JSON list; null for none. */
static char *error_texts(const sw_error_t *error)
{
    char *texts = error ? member("message", sw_error_message(error)) : NULL;
    for (size_t index = 0; index < sw_error_hint_count(error); index++) {
        char *hint = member("hint", sw_error_hint(error, index));
        char *longer = format("%s%s", texts, hint);
        free(texts), free(hint);
        texts = longer;
    }
    char *listed = texts ? format(", {%s}", texts + 2) : NULL;
    free(texts);
    return listed;
}

/* Collects the events, waits for the end, and sends the result. */
static void *follow(void *user_data)
{
    struct operation *started = user_data;
    sw_bytes_t *event = NULL, *result = NULL;
    char *events = NULL;
    size_t size = 0;
    FILE *list = open_memstream(&events, &size);
    for (int first = 1; sw_operation_next_event(started->operation, &event, NULL) == SW_STATUS_OK && event; first = 0) {
        fprintf(list, first ? "%s" : ", %s", sw_bytes_data(event));
        sw_bytes_free(event);
    }
    fclose(list);
    sw_error_t *failure = NULL;
    sw_operation_wait(started->operation, &result, &failure);
    pthread_mutex_lock(&at.mutex);
    for (size_t index = 0; index < at.count; index++) {
        if (at.stacks[index].operation == started->operation)
            at.stacks[index].operation = NULL;
    }
    pthread_mutex_unlock(&at.mutex);
    sw_bytes_t *outcome = json_at(sw_bytes_view(result), "/outcome"), *error = json_at(sw_bytes_view(result), "/error");
    sw_bytes_t *dropped = json_at(sw_bytes_view(result), "/droppedPending");
    sw_bytes_t *changes = json_at(sw_bytes_view(result), "/changes"), *outputs = json_at(sw_bytes_view(result), "/outputs");
    sw_bytes_t *plan = json_at(sw_bytes_view(result), "/plan"), *left = NULL;
    sw_bytes_t *imported = json_at(sw_bytes_view(result), "/imported");
    sw_bytes_t *steps = json_at(sw_bytes_view(result), "/steps"), *moves = json_at(sw_bytes_view(result), "/suggestedMoves");
    sw_bytes_t *diagnostics = json_at(sw_bytes_view(result), "/diagnostics"), *tree = json_at(sw_bytes_view(result), "/tree");
    if (sw_operation_deployment(started->operation, &left, NULL) != SW_STATUS_OK)
        left = NULL;
    char *hints = error_texts(failure);
    send_line("{\"id\": %s, \"ok\": {\"imported\": %s, \"deployment\": %s, \"plan\": %s, \"outcome\": %s, \"error\": %s, \"changes\": %s, \"droppedPending\": %s, \"outputs\": %s, \"events\": [%s], \"texts\": [%s, %s, %s, %s%s]}}",
        started->id, or_else(imported, "null"), or_else(left, "null"), or_else(plan, "null"), or_else(outcome, "null"), or_else(error, "null"), or_else(changes, "{}"), or_else(dropped, "[]"), or_else(outputs, "{}"), events,
        or_else(steps, "null"), or_else(moves, "null"), or_else(diagnostics, "null"), or_else(tree, "null"), hints ? hints : "");
    sw_bytes_free(steps), sw_bytes_free(moves), sw_bytes_free(diagnostics), sw_bytes_free(tree), free(hints), sw_error_free(failure);
    sw_bytes_free(dropped), sw_bytes_free(outcome), sw_bytes_free(error), sw_bytes_free(changes), sw_bytes_free(outputs), sw_bytes_free(plan), sw_bytes_free(left), sw_bytes_free(imported), sw_bytes_free(result);
    sw_operation_free(started->operation);
    free(events), free(started->id), free(started);
    return NULL;
}

/* Follows an operation on a thread of its own. */
static void follow_operation(struct opened *opened, const char *id, sw_operation_t *operation)
{
    struct operation *started = malloc(sizeof *started);
    *started = (struct operation){strdup(id), operation};
    pthread_mutex_lock(&at.mutex);
    opened->operation = operation;
    pthread_mutex_unlock(&at.mutex);
    pthread_t thread;
    if (pthread_create(&thread, NULL, follow, started) != 0)
        abort();
    pthread_detach(thread);
}

/* Starts the adoption of a pending operation's resource. */
static void adopt(const char *id, sw_bytes_view_t line)
{
    sw_bytes_t *pending = text_at(line, "/adoption/pending"), *resource_id = text_at(line, "/adoption/resourceId");
    sw_bytes_t *replace = json_at(line, "/adoption/replace"), *options = json_at(line, "/options");
    struct opened *opened = opened_at(line);
    sw_error_t *error = NULL;
    sw_operation_t *operation = NULL;
    sw_status_t status = sw_stack_adopt_pending(opened ? opened->stack : NULL, text_of(pending), text_of(resource_id),
        !strcmp(or_else(replace, "false"), "true"), text_of(options), &operation, &error);
    sw_bytes_free(pending), sw_bytes_free(resource_id), sw_bytes_free(replace), sw_bytes_free(options);
    if (status == SW_STATUS_OK)
        follow_operation(opened, id, operation);
    else
        answer(id, status, error);
}

/* Analyzes the state with the packs that a request names: those with a document are functions of this actor. */
static sw_status_t analyze(const sw_stack_t *stack, sw_bytes_view_t line, sw_bytes_t **found, sw_error_t **error)
{
    const sw_policy_pack_t *packs[16];
    size_t count = new_packs(at.runtime, line, packs);
    sw_bytes_t *options = json_at(line, "/options");
    sw_status_t status = sw_stack_analyze(stack, sw_bytes_view(options), packs, count, found, error);
    while (count > 0)
        sw_policy_pack_free((sw_policy_pack_t *)packs[--count]);
    sw_bytes_free(options);
    return status;
}

/* Answers what is read without a program. */
static void *inspect(void *user_data)
{
    char *line_text = user_data;
    sw_bytes_view_t line = {line_text, strlen(line_text)};
    sw_bytes_t *id = json_at(line, "/id"), *part = text_at(line, "/part"), *found = NULL;
    sw_bytes_t *pending = text_at(line, "/pending"), *resource_id = text_at(line, "/resourceId");
    sw_bytes_t *limit = json_at(line, "/limit"), *page = json_at(line, "/page"), *dry_run = json_at(line, "/dryRun");
    sw_bytes_t *edit = json_at(line, "/edit");
    struct opened *opened = opened_at(line);
    struct opened *destination = opened_by(line, "/destination");
    const sw_stack_t *stack = opened ? opened->stack : NULL;
    const char *name = or_else(part, ""), *of_page = or_else(page, "1");
    sw_error_t *error = NULL;
    sw_status_t status = SW_STATUS_MISUSE;
    if (!strcmp(name, "resources"))
        status = sw_stack_resources(stack, false, &found, &error);
    else if (!strcmp(name, "graph"))
        status = sw_stack_graph(stack, &found, &error);
    else if (!strcmp(name, "pending"))
        status = sw_stack_pending(stack, false, &found, &error);
    else if (!strcmp(name, "stacks"))
        status = sw_engine_stacks(at.engine, sw_text(""), true, &found, &error);
    else if (!strcmp(name, "history"))
        status = sw_stack_history_page(stack, strtoul(or_else(limit, "0"), NULL, 10),
            strcmp(of_page, "null") ? strtoul(of_page, NULL, 10) : 1, &found, &error);
    else if (!strcmp(name, "pendingResource"))
        status = sw_stack_read_pending(stack, text_of(pending), text_of(resource_id), false, &found, &error);
    else if (!strcmp(name, "forget"))
        status = sw_stack_forget_pending(stack, text_of(pending), !strcmp(or_else(dry_run, "false"), "true"), 0, &found, &error);
    else if (!strcmp(name, "analysis"))
        status = analyze(stack, line, &found, &error);
    else if (!strcmp(name, "edit"))
        status = sw_stack_edit(stack, text_of(edit), &found, &error);
    else if (!strcmp(name, "move"))
        status = sw_stack_move_resources(stack, destination ? destination->stack : NULL, text_of(edit), &found, &error);
    if (status == SW_STATUS_OK)
        send_line("{\"id\": %s, \"ok\": {\"found\": %s}}", or_else(id, "0"), sw_bytes_data(found));
    else if (error)
        answer(or_else(id, "0"), status, error);
    else
        actor_error(or_else(id, "0"), "this actor cannot read that");
    sw_bytes_free(found), sw_bytes_free(part), sw_bytes_free(pending), sw_bytes_free(resource_id), sw_bytes_free(limit);
    sw_bytes_free(page), sw_bytes_free(dry_run), sw_bytes_free(edit), sw_bytes_free(id), free(line_text);
    return NULL;
}

static void start(sw_runtime_t *runtime, const char *id, sw_bytes_view_t line)
{
    static const char *const names[] = {"preview", "update", "refresh", "destroy"};
    sw_bytes_t *verb = text_at(line, "/operation"), *options = json_at(line, "/options");
    int kind = 0;
    while (kind < 4 && strcmp(names[kind], or_else(verb, "")) != 0)
        kind++;
    sw_error_t *error = NULL;
    sw_operation_t *operation = NULL;
    struct opened *opened = opened_at(line);
    const sw_policy_pack_t *packs[16];
    sw_operation_functions_t functions = {sizeof functions, NULL, packs, new_packs(runtime, line, packs)};
    sw_status_t status;
    if (strcmp(or_else(verb, ""), "import") == 0) {
        sw_bytes_t *request = json_at(line, "/request");
        status = sw_stack_import_resources(opened ? opened->stack : NULL, sw_bytes_view(request), sw_bytes_view(options), &operation,
            &error);
        sw_bytes_free(request);
    } else {
        status = sw_stack_start_with(opened ? opened->stack : NULL, kind, sw_bytes_view(options), &functions, &operation, &error);
    }
    while (functions.policy_pack_count > 0)
        sw_policy_pack_free((sw_policy_pack_t *)packs[--functions.policy_pack_count]);
    sw_bytes_free(verb), sw_bytes_free(options);
    if (status != SW_STATUS_OK) {
        answer(id, status, error);
        return;
    }
    follow_operation(opened, id, operation);
}

static int handle(sw_runtime_t *runtime, sw_bytes_view_t line)
{
    sw_bytes_t *call = json_at(line, "/call");
    if (call) {
        answered(line, sw_bytes_data(call));
        sw_bytes_free(call);
        return 1;
    }
    sw_bytes_t *id = json_at(line, "/id"), *verb = text_at(line, "/do"), *document = NULL;
    const char *number = or_else(id, "0"), *name = or_else(verb, "");
    sw_error_t *error = NULL;
    sw_status_t status;
    int more = 1;
    if (!strcmp(name, "hello")) {
        send_line("{\"id\": %s, \"ok\": {\"binding\": \"c\", \"references\": \"resolved\", \"hooks\": true}}", number);
    } else if (!strcmp(name, "open")) {
        open_stack(runtime, number, line);
    } else if (!strcmp(name, "importState")) {
        document = json_at(line, "/deployment");
        struct opened *opened = opened_at(line);
        status = sw_stack_import_deployment(opened ? opened->stack : NULL, sw_bytes_view(document), &error);
        answer(number, status, error);
    } else if (!strcmp(name, "exportState")) {
        struct opened *opened = opened_at(line);
        status = sw_stack_export_deployment(opened ? opened->stack : NULL, true, &document, &error);
        if (status == SW_STATUS_OK)
            send_line("{\"id\": %s, \"ok\": %s}", number, sw_bytes_data(document));
        else
            answer(number, status, error);
    } else if (!strcmp(name, "project")) {
        struct opened *opened = opened_at(line);
        act_on_project(at.engine, opened ? opened->stack : NULL, number, line);
    } else if (!strcmp(name, "inspect")) {
        /* The director answers calls of providers meanwhile. */
        pthread_t thread;
        if (pthread_create(&thread, NULL, inspect, strndup(line.data, line.length)) != 0)
            abort();
        pthread_detach(thread);
    } else if (!strcmp(name, "start")) {
        sw_bytes_t *kind = text_at(line, "/operation");
        if (!strcmp(or_else(kind, ""), "adopt"))
            adopt(number, line);
        else
            start(runtime, number, line);
        sw_bytes_free(kind);
    } else if (!strcmp(name, "cancel")) {
        struct opened *opened = opened_at(line);
        pthread_mutex_lock(&at.mutex);
        if (opened && opened->operation)
            sw_operation_cancel(opened->operation);
        pthread_mutex_unlock(&at.mutex);
        send_line("{\"id\": %s, \"ok\": {}}", number);
    } else if (!strcmp(name, "close") || !strcmp(name, "bye")) {
        close_stacks();
        more = strcmp(name, "bye") != 0;
        send_line("{\"id\": %s, \"ok\": {}}", number);
    } else if (strstr(" register read registerOutputs invoke exists call export log transform registerHook finish ", name) && *name) {
        of_program(number, name, line);
    } else {
        actor_error(number, "this actor does not know what to do");
    }
    sw_bytes_free(document), sw_bytes_free(id), sw_bytes_free(verb);
    return more;
}

int main(void)
{
    sw_runtime_t *runtime = NULL;
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length;
    if (sw_runtime_new(NULL, &runtime, NULL) != SW_STATUS_OK)
        return 1;
    at.runtime = runtime;
    while ((length = getline(&line, &capacity, stdin)) > 0 && handle(runtime, (sw_bytes_view_t){line, (size_t)length}))
        ;
    free(line);
    close_stacks();
    /* Calls that the director left unanswered end with the process. */
    return 0;
}
