/*
 * Stackwright: an infrastructure deployment engine that runs inside the caller's process.
 *
 * Generated from bindings-c; do not edit. The rules that hold for every function:
 *
 * - Functions that can fail return a status. Their last parameter, `error`, may be null; when it is not, it is set to
 *   an error to be freed with sw_error_free, or to null on success.
 * - Each kind of handle has one `_free` function, which accepts null. Handles may be freed in any order.
 * - Pointers and handles must be valid for the duration of the call. A null pointer where a value is required is
 *   refused with SW_STATUS_MISUSE.
 * - Bytes passed by the caller are borrowed for the duration of the call. Returned bytes are owned by the caller, who
 *   frees them with sw_bytes_free. Texts and JSON are UTF-8.
 * - Result pointers are set to null first, so that a failed call leaves null.
 * - Handles may be used from several threads at the same time. Freeing one must not overlap with its use.
 */


#ifndef STACKWRIGHT_H
#define STACKWRIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * The version of `sw_provider_t` that this header describes.
 */
#define SW_PROVIDER_VERSION 1

/**
 * A flag of `sw_provider_t`: its functions return soon and never block, so they are called on the runtime's threads,
 * which is faster.
 */
#define SW_PROVIDER_PROMPT 1

/**
 * The version of `sw_function_t` that this header describes.
 */
#define SW_FUNCTION_VERSION 1

/**
 * A flag of `sw_function_t` and `sw_policies_t`: the function returns soon and never blocks, so it is called on the
 * runtime's threads, which is faster.
 */
#define SW_FUNCTION_PROMPT 1

/**
 * An option of `sw_context_register_hook`: the hook runs in previews, too.
 */
#define SW_HOOK_ON_DRY_RUN 1

/**
 * An option of `sw_context_register_hook`: failures of the hook are warnings, and change nothing else.
 */
#define SW_HOOK_IGNORE_ERRORS 2

/**
 * The version of `sw_policies_t` that this header describes.
 */
#define SW_POLICIES_VERSION 1

/**
 * The version of `sw_store_t` that this header describes.
 */
#define SW_STORE_VERSION 1

/**
 * The version of `sw_host_t` that this header describes.
 */
#define SW_HOST_VERSION 1

/**
 * The version of `sw_program_t` that this header describes.
 */
#define SW_PROGRAM_VERSION 1

/**
 * The result of a call. Codes are stable; new ones are appended.
 */
enum sw_status_t
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * The caller violated a rule of this ABI: a null pointer, a wrong `struct_size`, a blocking call inside a
   * callback.
   */
  SW_STATUS_MISUSE = -1,
  /**
   * The call succeeded.
   */
  SW_STATUS_OK = 0,
  /**
   * An argument is invalid; the message names it. Nothing was changed.
   */
  SW_STATUS_INVALID_INPUT = 1,
  /**
   * The stack, resource or file does not exist.
   */
  SW_STATUS_NOT_FOUND = 2,
  /**
   * Another operation holds the stack's lock or has changed its state. A later call may succeed.
   */
  SW_STATUS_CONFLICT = 3,
  /**
   * A provider refused or failed a call; the message is the provider's own.
   */
  SW_STATUS_PROVIDER = 4,
  /**
   * A plugin could not be found, started or connected to.
   */
  SW_STATUS_PLUGIN = 5,
  /**
   * The recorded state is corrupt, of an unknown version, or would become invalid.
   */
  SW_STATUS_STATE = 6,
  /**
   * Secrets could not be encrypted, or the stack's secrets provider is unknown.
   */
  SW_STATUS_SECRETS = 7,
  /**
   * The operation was cancelled; its finished steps are recorded.
   */
  SW_STATUS_CANCELLED = 8,
  /**
   * A store or service is unavailable; a later call may succeed.
   */
  SW_STATUS_UNAVAILABLE = 9,
  /**
   * The program failed.
   */
  SW_STATUS_PROGRAM = 10,
  /**
   * The deployment failed; its diagnostics and events contain the reason. Successful steps are recorded.
   */
  SW_STATUS_FAILED = 11,
  /**
   * A bug in the engine.
   */
  SW_STATUS_INTERNAL = 12,
  /**
   * A secret could not be decrypted, for instance because of a wrong passphrase. For a configuration value, the
   * message names its key.
   */
  SW_STATUS_DECRYPT = 13,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum sw_status_t sw_status_t;
#else
typedef int32_t sw_status_t;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * The condition of a write to a store of the host.
 */
enum sw_condition_t
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * None.
   */
  SW_CONDITION_ANY = 0,
  /**
   * There is no object.
   */
  SW_CONDITION_ABSENT = 1,
  /**
   * The object has the version that is passed.
   */
  SW_CONDITION_MATCH = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum sw_condition_t sw_condition_t;
#else
typedef int32_t sw_condition_t;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * The status of a provider's failed call; names and numbers are those of gRPC. After `UNKNOWN`, `INTERNAL` and
 * `DATA_LOSS` the engine treats the physical resource's state as unknown, after any other as unchanged.
 */
enum sw_provider_status_t
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  SW_PROVIDER_STATUS_CANCELLED = 1,
  SW_PROVIDER_STATUS_UNKNOWN = 2,
  SW_PROVIDER_STATUS_INVALID_ARGUMENT = 3,
  SW_PROVIDER_STATUS_DEADLINE_EXCEEDED = 4,
  SW_PROVIDER_STATUS_NOT_FOUND = 5,
  SW_PROVIDER_STATUS_ALREADY_EXISTS = 6,
  SW_PROVIDER_STATUS_PERMISSION_DENIED = 7,
  SW_PROVIDER_STATUS_RESOURCE_EXHAUSTED = 8,
  SW_PROVIDER_STATUS_FAILED_PRECONDITION = 9,
  SW_PROVIDER_STATUS_ABORTED = 10,
  SW_PROVIDER_STATUS_OUT_OF_RANGE = 11,
  SW_PROVIDER_STATUS_UNIMPLEMENTED = 12,
  SW_PROVIDER_STATUS_INTERNAL = 13,
  SW_PROVIDER_STATUS_UNAVAILABLE = 14,
  SW_PROVIDER_STATUS_DATA_LOSS = 15,
  SW_PROVIDER_STATUS_UNAUTHENTICATED = 16,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum sw_provider_status_t sw_provider_status_t;
#else
typedef int32_t sw_provider_status_t;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * The kind of an operation.
 */
enum sw_operation_kind_t
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * Reports the steps of an update without performing them; nothing is written.
   */
  SW_OPERATION_PREVIEW = 0,
  /**
   * Creates, updates and deletes resources as the program declares them.
   */
  SW_OPERATION_UPDATE = 1,
  /**
   * Reads every resource and records its actual state.
   */
  SW_OPERATION_REFRESH = 2,
  /**
   * Deletes every resource.
   */
  SW_OPERATION_DESTROY = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum sw_operation_kind_t sw_operation_kind_t;
#else
typedef int32_t sw_operation_kind_t;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * The form of a picture.
 */
enum sw_picture_form_t
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * One HTML page, which needs no other file and makes no request.
   */
  SW_PICTURE_HTML = 0,
  /**
   * A flowchart of Mermaid.
   */
  SW_PICTURE_MERMAID = 1,
  /**
   * A digraph of Graphviz.
   */
  SW_PICTURE_DOT = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum sw_picture_form_t sw_picture_form_t;
#else
typedef int32_t sw_picture_form_t;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * The severity of a diagnostic.
 */
enum sw_severity_t
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * Details for debugging.
   */
  SW_SEVERITY_DEBUG = 0,
  /**
   * Information.
   */
  SW_SEVERITY_INFO = 1,
  /**
   * A probable mistake.
   */
  SW_SEVERITY_WARNING = 2,
  /**
   * An error; the run fails.
   */
  SW_SEVERITY_ERROR = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum sw_severity_t sw_severity_t;
#else
typedef int32_t sw_severity_t;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * Bytes that the library returns. The caller owns them and frees them with `sw_bytes_free`.
 *
 * A NUL follows the last byte and is not counted, so that JSON can be used as a C string.
 */
typedef struct sw_bytes_t sw_bytes_t;

/**
 * A pending call of a host's function. The function owns it and must pass it to exactly one of
 * `sw_completion_succeed`, `sw_completion_succeed_with_version`, `sw_completion_fail`, `sw_completion_fail_with` and
 * `sw_completion_free`, from any thread,
 * also after the call was cancelled. Passing it to a second one has no effect and returns
 * `SW_STATUS_MISUSE`.
 */
typedef struct sw_completion_t sw_completion_t;

/**
 * The context of a running program, or of the code of a component or method, which borrows it and never frees it.
 *
 * In the code of a component, resources that are registered or read without a parent are below the component, and
 * functions are called with its providers.
 */
typedef struct sw_context_t sw_context_t;

/**
 * An engine: a store, a secrets provider and the providers of packages. Shared by the stacks that it opens, which may
 * outlive the handle.
 */
typedef struct sw_engine_t sw_engine_t;

/**
 * An error. The caller owns it and frees it with `sw_error_free`. Its texts are UTF-8, NUL-terminated, and valid until
 * then.
 */
typedef struct sw_error_t sw_error_t;

/**
 * An operation that runs or has ended. Freeing the handle does not end it.
 */
typedef struct sw_operation_t sw_operation_t;

/**
 * A policy pack of the host. Shared by the operations that it is handed over to, which may outlive the handle.
 */
typedef struct sw_policy_pack_t sw_policy_pack_t;

/**
 * A project: a folder with a `Pulumi.yaml`, bound to an engine. Its files are read again by each call. A call that writes
 * changes only what it names: the rest of the file keeps its bytes, with comments and order.
 */
typedef struct sw_project_t sw_project_t;

/**
 * The threads of engines. Shared by the engines that are created with it, which work until `sw_runtime_free`. A
 * process may have several.
 */
typedef struct sw_runtime_t sw_runtime_t;

/**
 * A stack: a named state, the program that declares its resources, and the operations on it. Shared by its operations,
 * which may outlive the handle.
 */
typedef struct sw_stack_t sw_stack_t;

/**
 * Borrowed bytes, valid for the duration of the call that they are passed to.
 *
 * `data` is ignored when `length` is 0; it needs no terminator.
 */
typedef struct sw_bytes_view_t {
  /**
   * The first byte.
   */
  const char *data;
  /**
   * The number of bytes.
   */
  size_t length;
} sw_bytes_view_t;

/**
 * The options of a runtime. Set `struct_size` to the structure's size and unused fields to zero.
 */
typedef struct sw_runtime_options_t {
  /**
   * `sizeof(sw_runtime_options_t)`.
   */
  size_t struct_size;
  /**
   * The number of worker threads; 0 for one per core.
   */
  uint32_t threads;
  /**
   * The maximum number of threads for blocking work of the engine: files, key derivation, hashes; 0 for 512.
   * Functions of the host that may block use none of them: each running one has a thread of its own. The number of
   * those threads has no limit, and idle ones are reused.
   */
  uint32_t blocking_threads;
  /**
   * The name of the threads; empty for `stackwright`.
   */
  struct sw_bytes_view_t thread_name;
} sw_runtime_options_t;

/**
 * Receives the result of an asynchronous call, on a thread of the runtime.
 *
 * Called EXACTLY ONCE for each call that returned `SW_STATUS_OK`, never for one that did not, and possibly before
 * that call has returned. `result` (a NUL follows it; its data is null when there is none) and `error` (null on
 * success) are borrowed for the duration of the callback. It must return soon and must not make a blocking call, which
 * returns `SW_STATUS_MISUSE` here.
 */
typedef void (*sw_callback_t)(void *user_data,
                              sw_status_t status,
                              struct sw_bytes_view_t result,
                              const struct sw_error_t *error);

/**
 * Frees the `user_data` of a table of functions. Called once, after the last call of the table's functions.
 */
typedef void (*sw_free_t)(void *user_data);

/**
 * A call of a provider, or another function of the host. `request` is JSON, followed by a NUL, and borrowed for the
 * duration of the call. The function owns the completion, and completes it before or after it returns.
 */
typedef void (*sw_call_t)(void *user_data, struct sw_bytes_view_t request, struct sw_completion_t *completion);

/**
 * Notifies the host that the call with this number (`sw_completion_id`) was cancelled, and its response is ignored.
 */
typedef void (*sw_give_up_t)(void *user_data, uint64_t call);

/**
 * A function of a program that the engine calls: a transform or a hook. The structure is copied.
 *
 * IT IS CALLED CONCURRENTLY, from any thread. It completes each call exactly once, before or after it returns and from any
 * thread, with `sw_completion_succeed`, or with `sw_completion_fail`, whose message is reported and whose status is ignored.
 * A call that is not completed within five minutes fails; it is cancelled then, and when the operation is. The completion of
 * a cancelled call must still be completed or freed. Without `SW_FUNCTION_PROMPT` in `flags`, each call has a thread of its
 * own and may block.
 *
 * A function that succeeded in being added belongs to the run, and not to the program: it may be called after the program has
 * returned, and must not use its context then. `free` is called once, after the last call, when the run and its context have
 * ended. A function that could not be added still belongs to the host, and `free` is not called.
 *
 * A transform of the stack that refuses resources without an owner and protects the others:
 *
 * ```c
 * static void protect(void *user_data, sw_bytes_view_t request, sw_completion_t *completion)
 * {
 *     sw_bytes_t *owner = NULL;
 *     sw_json_text(request, sw_text("/inputs/owner"), &owner, NULL);
 *     if (owner)
 *         sw_completion_succeed(completion, sw_text("{\"options\": {\"protect\": true}}"));
 *     else
 *         sw_completion_fail(completion, SW_PROVIDER_STATUS_UNKNOWN, sw_text("it has no owner"));
 *     sw_bytes_free(owner);
 * }
 *
 * static int32_t run(void *user_data, sw_context_t *context)
 * {
 *     sw_function_t function = {sizeof function, SW_FUNCTION_VERSION, 0, NULL, NULL, protect, NULL};
 *     return sw_context_add_transform(context, &function, NULL);
 * }
 * ```
 */
typedef struct sw_function_t {
  /**
   * `sizeof(sw_function_t)`.
   */
  size_t struct_size;
  /**
   * `SW_FUNCTION_VERSION`.
   */
  uint32_t version;
  /**
   * 0 or `SW_FUNCTION_PROMPT`.
   */
  uint32_t flags;
  /**
   * Passed to each function.
   */
  void *user_data;
  /**
   * Frees `user_data` after the last call; may be null. It must return soon.
   */
  sw_free_t free;
  /**
   * The function. Required.
   */
  sw_call_t call;
  /**
   * Called once when a call is cancelled; may be null. It must return soon.
   */
  sw_give_up_t give_up;
} sw_function_t;

/**
 * A call of a function of a policy. `policy` is the policy's name; `function` is `check`, `remediate` or `checkStack`;
 * `argument` is JSON. Each is followed by a NUL, and borrowed for the duration of the call. The function owns the
 * completion, and completes it before or after it returns.
 *
 * `check` and `remediate` get a resource: `{"type", "name", "urn", "props", "inputs", "options", "provider", "parent",
 * "dependencies", "propertyDependencies", "config"}`, `config` having the settings of the policy. `check` completes with its
 * violations, `["text", …]`; an empty response is none. `remediate`, which is called for policies of the level `remediate`
 * only, completes with the inputs that conform; an empty response leaves them as they are. `checkStack` gets
 * `{"resources": […], "config"}`, and completes with `[{"message": "text", "urn": "…"}, …]`, a violation without a URN being
 * one of the stack.
 */
typedef void (*sw_policy_call_t)(void *user_data,
                                 struct sw_bytes_view_t policy,
                                 struct sw_bytes_view_t function,
                                 struct sw_bytes_view_t argument,
                                 struct sw_completion_t *completion);

/**
 * The policies of a pack, as a function of the host. The structure is copied, with its document.
 *
 * ITS FUNCTION IS CALLED CONCURRENTLY, from any thread, and completes each call exactly once, before or after it returns,
 * with `sw_completion_succeed`, or with `sw_completion_fail`, whose message is reported: a failure ends the operation, as
 * does a call that is not completed within five minutes. Without `SW_FUNCTION_PROMPT` in `flags`, each call has a thread of
 * its own and may block.
 *
 * A pack with a mandatory policy, for any number of operations:
 *
 * ```c
 * static void check(void *user_data, sw_bytes_view_t policy, sw_bytes_view_t function, sw_bytes_view_t resource,
 *                   sw_completion_t *completion)
 * {
 *     sw_bytes_t *acl = NULL;
 *     sw_json_text(resource, sw_text("/inputs/acl"), &acl, NULL);
 *     int is_public = acl && strcmp(sw_bytes_data(acl), "public-read") == 0;
 *     sw_completion_succeed(completion, sw_text(is_public ? "[\"the bucket is public\"]" : ""));
 *     sw_bytes_free(acl);
 * }
 *
 * sw_policies_t policies = {sizeof policies, SW_POLICIES_VERSION, 0, NULL, NULL, sw_text("{\"name\": \"guard\","
 *     " \"policies\": [{\"name\": \"no-public-buckets\", \"level\": \"mandatory\"}]}"), check, NULL};
 * sw_policy_pack_new(runtime, &policies, &guard, &error);
 * const sw_policy_pack_t *packs[] = {guard};
 * sw_operation_functions_t functions = {sizeof functions, NULL, packs, 1};
 * sw_stack_start_with(stack, SW_OPERATION_UPDATE, sw_text(""), &functions, &operation, &error);
 * ```
 */
typedef struct sw_policies_t {
  /**
   * `sizeof(sw_policies_t)`.
   */
  size_t struct_size;
  /**
   * `SW_POLICIES_VERSION`.
   */
  uint32_t version;
  /**
   * 0 or `SW_FUNCTION_PROMPT`.
   */
  uint32_t flags;
  /**
   * Passed to each function.
   */
  void *user_data;
  /**
   * Frees `user_data` after the last call; may be null. It must return soon.
   */
  sw_free_t free;
  /**
   * JSON: `{"name", "version", "policies": [{"name", "level": "advisory"|"mandatory"|"remediate"|"disabled",
   * "description", "severity": "low"|"medium"|"high"|"critical", "ofStack": false}]}`. Only the names are required; a
   * policy is advisory by default. One with `ofStack` checks all resources together, with `checkStack`.
   */
  struct sw_bytes_view_t document;
  /**
   * Serves the policies. Required.
   */
  sw_policy_call_t call;
  /**
   * Called once when a call is cancelled; its completion must still be completed or freed. May be null.
   */
  sw_give_up_t give_up;
} sw_policies_t;

/**
 * A notification of the host, without a response.
 */
typedef void (*sw_notice_t)(void *user_data);

/**
 * The code of a component or a method: a call as `sw_call_t`, with a context to register resources, read them, call
 * functions and methods, and emit diagnostics.
 *
 * The context is valid until the function has returned, its completion was completed or freed, and every callback of the
 * context's asynchronous calls has returned; also when the call was cancelled. The engine continues when those callbacks
 * have returned. Before the completion, calls with the context end with `SW_STATUS_CANCELLED` once the run has ended or
 * the call was cancelled; after it, they return `SW_STATUS_MISUSE`. `sw_context_ended_async` notifies the code of
 * both. With `SW_PROVIDER_PROMPT` only the asynchronous functions may be called in the function.
 */
typedef void (*sw_call_with_context_t)(void *user_data,
                                       struct sw_context_t *context,
                                       struct sw_bytes_view_t request,
                                       struct sw_completion_t *completion);

/**
 * A provider of one package, as a table of functions. The table is copied; `user_data` is passed to each function.
 *
 * ITS FUNCTIONS ARE CALLED CONCURRENTLY, from any thread. The comment of each function states the default behaviour
 * when it is null. All values have the plain JSON form: secrets are `{"4dabf18193072939515e22adb298388d":
 * "1b47061264138c4ac30d75fd1eb44270", "value": …}`, and during previews an unknown value is the text
 * `04da6b54-80e4-46f7-96ec-b56ff0331ba9`. Numbers that JSON cannot represent are `{"4dabf18193072939515e22adb298388d":
 * "8ad145fe-0d11-4827-bfd7-1abcbf086f5c", "value": "7ff8000000000000"}`, the value being the hex digits of their IEEE
 * 754 bits: here NaN; `7ff0000000000000` is infinity. Programs use the same form.
 *
 * A view is a part of a resource that its provider reports, and that is displayed and recorded as a separate resource:
 * `{"type", "name", "parentType", "parentName", "inputs", "outputs"}`, the parent being another view. The responses of
 * `create`, `read`, `update` and `delete_` contain the steps of views as `"viewSteps": [{"op": "create", "old", "new",
 * "keys", "diffs", "detailedDiff", "status": "ok"|"partial-failure"|"unknown", "error"}]`, as does the
 * `initFailure` of `sw_completion_fail_with`.
 *
 * Without `SW_PROVIDER_PROMPT` in `flags`, each call has a thread of its own and may block, also to wait for other
 * calls. The number of those threads has no limit. `give_up` and `free` must return soon in either case.
 */
typedef struct sw_provider_t {
  /**
   * `sizeof(sw_provider_t)`.
   */
  size_t struct_size;
  /**
   * `SW_PROVIDER_VERSION`.
   */
  uint32_t version;
  /**
   * 0 or `SW_PROVIDER_PROMPT`.
   */
  uint32_t flags;
  /**
   * Passed to each function.
   */
  void *user_data;
  /**
   * Frees `user_data` after the last call of a function; may be null.
   */
  sw_free_t free;
  /**
   * Returns the provider's capabilities: `{}` → `{"acceptSecrets": true, "acceptResources": true, "acceptOutputs":
   * true, "supportsPreview": true, "supportsAutonaming": true, "acceptByteStrings": true}`. Missing fields, and a
   * null function, mean true. `"waitsForRegistrations": true` (default: false) states that calls may wait for later
   * registrations, so that the option `parallel` is no strict limit for them; `"acceptOutputsInInvoke": true` (default:
   * false) that arguments of functions may contain output values.
   */
  sw_call_t handshake;
  /**
   * Returns the provider's version: `{}` → `{"version": "1.2.3"}`. Null: it has none.
   */
  sw_call_t plugin_info;
  /**
   * Checks the provider's own configuration, as `check` does. Null: it is unchanged and valid.
   */
  sw_call_t check_config;
  /**
   * Compares two configurations, as `diff` does. Null: the engine compares them.
   */
  sw_call_t diff_config;
  /**
   * Configures the provider: `{"urn", "name", "id", "inputs"}` → as `handshake`. Null: it needs no configuration.
   */
  sw_call_t configure;
  /**
   * Validates inputs and adds defaults: `{"urn", "type", "name", "olds", "oldOutputs", "news", "randomSeed",
   * "preview", "autonaming": {"proposedName", "mode": "propose"|"enforce"|"disable"} or null}` → `{"inputs": {…}, "failures":
   * [{"property", "reason"}]}`. Null: they are unchanged and valid.
   */
  sw_call_t check;
  /**
   * Compares a resource with its new inputs: `{"urn", "type", "name", "id", "oldInputs", "oldOutputs", "news",
   * "ignoreChanges", "preview"}` → `{"changes": "none"|"some"|"unknown", "replaces": ["path"], "stables": [],
   * "diffs": [], "detailedDiff": {"path": {"kind": "update-replace", "inputDiff": false}}, "deleteBeforeReplace":
   * false}`. Null: the engine compares the inputs.
   */
  sw_call_t diff;
  /**
   * Creates a resource: `{"urn", "type", "name", "inputs", "timeout", "preview"}` → `{"id", "outputs",
   * "viewSteps"}`. Required.
   */
  sw_call_t create;
  /**
   * Reads a resource: `{"urn", "type", "name", "id", "inputs", "outputs", "timeout", "preview", "oldViews"}`, inputs
   * and outputs being null for an import → `{"id", "inputs", "outputs", "viewSteps"}`; without outputs it does not
   * exist. Null: it is unchanged.
   */
  sw_call_t read;
  /**
   * Updates a resource in place: `{"urn", "type", "name", "id", "oldInputs", "oldOutputs", "news", "ignoreChanges",
   * "timeout", "preview", "oldViews"}` → `{"outputs", "viewSteps"}`. Null: an update fails.
   */
  sw_call_t update;
  /**
   * Deletes a resource: `{"urn", "type", "name", "id", "inputs", "outputs", "timeout", "oldViews"}` →
   * `{"viewSteps"}`. Required.
   */
  sw_call_t delete_;
  /**
   * Calls a function of the package: `{"token", "arguments", "preview"}` → `{"result": {…}, "failures": []}`.
   * Null: the package has no functions.
   */
  sw_call_t invoke;
  /**
   * Called when one call is cancelled; its completion must still be completed or freed. May be null.
   */
  sw_give_up_t give_up;
  /**
   * Cancels the running calls, which should fail soon. Not called while another operation uses the provider, because
   * it would cancel that one's calls as well. May be null.
   */
  sw_notice_t cancel;
  /**
   * Closes the provider; no call follows. May be null.
   */
  sw_notice_t close;
  /**
   * Returns the schema of the package, for tools such as code generators: `{"subpackageName", "subpackageVersion"}`,
   * both empty unless the package is parameterized → the schema, a JSON object. Null: there is none.
   */
  sw_call_t get_schema;
  /**
   * Returns a mapping from another ecosystem to the package, for converters: `{"key": "terraform", "provider":
   * "…"}`, the provider being empty when `get_mappings` names none → `{"provider", "data": base64}`; an empty
   * response when there is none. Null: there are none.
   */
  sw_call_t get_mapping;
  /**
   * Returns the providers of another ecosystem that the package has mappings for: `{"key": "terraform"}` →
   * `["name", …]`. Null, or an empty response: at most one, which `get_mapping` names.
   */
  sw_call_t get_mappings;
  /**
   * Constructs a component, which the engine has registered already: `{"urn", "type", "name", "parent", "inputs",
   * "inputDependencies": {"name": ["urn"]}, "dependencies", "providers": {"package": "<urn>::<id>"}, "protect",
   * "deleteBeforeReplace", "retainOnDelete", "ignoreChanges", "replaceOnChanges", "additionalSecretOutputs",
   * "deletedWith", "replaceWith", "replacementTrigger", "customTimeouts": {"create", "update", "delete", "read"} in seconds,
   * "aliases": ["urn"], "preview"}`, an option that the program leaves open being null or empty → `{"outputs": {…},
   * "outputDependencies": {"name": ["urn"]}}`. Null: the package has no components.
   */
  sw_call_with_context_t construct;
  /**
   * Calls a method of a resource, a component or the provider: `{"token", "arguments", "argumentDependencies":
   * {"name": ["urn"]}, "preview"}`, the argument `__self__` being a reference to the resource → `{"result": {…},
   * "resultDependencies": {"name": ["urn"]}, "failures": [{"property", "reason"}]}`. Null: the package has no methods.
   */
  sw_call_with_context_t call;
} sw_provider_t;

/**
 * A provider of the host and its package.
 */
typedef struct sw_package_t {
  /**
   * `sizeof(sw_package_t)`.
   */
  size_t struct_size;
  /**
   * The name of the package, `files` for instance: the first part of its resources' types.
   */
  struct sw_bytes_view_t package;
  /**
   * Its provider.
   */
  const struct sw_provider_t *provider;
} sw_package_t;

/**
 * Replaces an object as a whole if the condition holds, both as one step, whichever other host writes at the same time; completes
 * with the new version (a text, no JSON). When the condition does not hold, it changes nothing and fails with
 * `SW_PROVIDER_STATUS_FAILED_PRECONDITION`. `version` is empty unless the condition is `SW_CONDITION_MATCH`. A NUL follows `key`,
 * `content` and `version`, which are borrowed for the duration of the call.
 */
typedef void (*sw_store_put_t)(void *user_data,
                               struct sw_bytes_view_t key,
                               struct sw_bytes_view_t content,
                               sw_condition_t condition,
                               struct sw_bytes_view_t version,
                               struct sw_completion_t *completion);

/**
 * Copies the content of `source` to `target`, which is replaced, and completes with an empty response; fails with
 * `SW_PROVIDER_STATUS_NOT_FOUND` when there is no `source`. A NUL follows both keys, which are borrowed for the duration of the call.
 */
typedef void (*sw_store_copy_t)(void *user_data,
                                struct sw_bytes_view_t source,
                                struct sw_bytes_view_t target,
                                struct sw_completion_t *completion);

/**
 * A store of the host: named objects with conditional writes, in which an engine keeps the states of its stacks, their journals and
 * their leases. Several hosts can use the objects at once. The table is copied.
 *
 * ITS FUNCTIONS ARE CALLED CONCURRENTLY, from any thread. Each call is completed exactly once, before or after the function returns
 * and from any thread. Without `SW_FUNCTION_PROMPT` in `flags`, each call has a thread of its own and may block. A write is durable
 * when it is completed, and what was written is read from then on. Keys are texts of segments with `/` between them.
 *
 * A call that fails with another status than its function names is an error `SW_STATUS_UNAVAILABLE` that names the function and the
 * key, as is one that is not completed within two minutes, which is cancelled. A write that failed may have been done. The completion
 * of a cancelled call must still be completed or freed.
 */
typedef struct sw_store_t {
  /**
   * `sizeof(sw_store_t)`.
   */
  size_t struct_size;
  /**
   * `SW_STORE_VERSION`.
   */
  uint32_t version;
  /**
   * 0 or `SW_FUNCTION_PROMPT`.
   */
  uint32_t flags;
  /**
   * Passed to each function.
   */
  void *user_data;
  /**
   * Frees `user_data` after the last call of a function; may be null. It must return soon.
   */
  sw_free_t free;
  /**
   * Called once when a call is cancelled; may be null. It must return soon.
   */
  sw_give_up_t give_up;
  /**
   * Reads the object whose key is the request, which is no JSON: completes with `sw_completion_succeed_with_version`, or with
   * `sw_completion_succeed` and an empty response when there is no object. Required.
   */
  sw_call_t get;
  /**
   * Replaces an object. Required.
   */
  sw_store_put_t put;
  /**
   * Lists the objects whose keys start with the request, which is no JSON, in any order: `[{"key": "…", "size": 1, "modified":
   * "2026-01-02T03:04:05Z"}]`, the time being that of the last write. Required.
   */
  sw_call_t list;
  /**
   * Removes the object whose key is the request, which is no JSON; does nothing when there is none. Completes with an empty
   * response. Required.
   */
  sw_call_t delete_;
  /**
   * Copies an object. Null: objects are read and written.
   */
  sw_store_copy_t copy;
} sw_store_t;

/**
 * The host's functions that the engine calls, each of which may be null. The table is copied.
 *
 * ITS FUNCTIONS ARE CALLED CONCURRENTLY, each call on a thread of its own, and may block, except for `give_up` and
 * `free`. They complete calls as a provider does, with `sw_completion_succeed` or `sw_completion_fail`. The message of
 * a failure is reported unchanged.
 */
typedef struct sw_host_t {
  /**
   * `sizeof(sw_host_t)`.
   */
  size_t struct_size;
  /**
   * `SW_HOST_VERSION`.
   */
  uint32_t version;
  /**
   * Passed to each function.
   */
  void *user_data;
  /**
   * Frees `user_data` after the last call of a function; may be null.
   */
  sw_free_t free;
  /**
   * Called when one call is cancelled; its completion must still be completed or freed.
   */
  sw_give_up_t give_up;
  /**
   * Resolves the plugin of a provider instance: `{"kind": "resource", "name", "version" (or null), "downloadUrl",
   * "checksums": {"linux-amd64": "hex"}}` → `{"address": "127.0.0.1:4711"}` for a running plugin, `{"package":
   * "files"}` for the engine's provider of that package, `{}` for the engine's own lookup. For a policy pack `kind`
   * is `analyzer`, `path` and `config` are those of the operation's options, and the response has its address. For
   * other plugins `path` and `config` are empty.
   */
  sw_call_t resolve;
  /**
   * Returns another stack's outputs for a stack reference: `{"stack": "name"}` → a JSON object. Null: the engine
   * reads them from its store.
   */
  sw_call_t stack_outputs;
  /**
   * Returns the outputs of another stack's resources, as `stack_outputs`: `{"URN": {"type": "…", "outputs": {…}}}`.
   * Required with it.
   */
  sw_call_t stack_resource_outputs;
  /**
   * Receives an entry of a stack's journal: `{"stack": "project/name", "entry": {…}}` → `{}`. The engine continues
   * after the completion; a failure ends the operation with an error. Records are those of deployments, in which the
   * `ciphertext` of a secret is the base64 of its JSON text. An entry has `sequence`, `operation` (the number of its
   * step) and `kind`: `begin`, before the provider is called, with `op`, `pending`, `old`, `state`, `keys`, `diffs`,
   * `detailedDiff`; `success` with `op`, `resultOp`, `removed`, `marked`, `new` and the flags `inPlace`, `elided`,
   * `untargeted`, `persistedRefresh`, `deletedByRefresh`, `skippedCreate` (with `state`: the goal of a resource that
   * is neither created nor recorded); `failure` with `op`; `outputs` with `new`; `base-written` with `records` and,
   * for an edit of the state, `pendingOperations` (`kind`, `state`), each list complete;
   * `base-rebuilt` with `order`, `records`, `clearPending`; `extension` with `extensionRef` and `extension` (`name`,
   * `version`, and `value` in base64), to which later records refer. Empty fields are left out.
   */
  sw_call_t journal;
  /**
   * Encrypts secrets in place of the engine: `["text", …]` → as many texts, in order.
   */
  sw_call_t encrypt;
  /**
   * Decrypts the texts of `encrypt`, in the same form. Required with it. The message of a failure must contain no
   * secret.
   */
  sw_call_t decrypt;
  /**
   * Fetches a remote asset or archive, for its hash: `{"uri": "…"}` → the raw content, which is no JSON. Null: the
   * engine fetches it over HTTP.
   */
  sw_call_t fetch;
  /**
   * Proposes the physical name of a resource, in place of `pulumi:autonaming` of the configuration: `{"urn", "type",
   * "name", "randomSeed": base64 of 32 bytes, "preview"}` → `{"proposedName": "…", "mode":
   * "propose"|"enforce"|"disable", "deleteBeforeReplace": false, "warnIfUnsupported": false}`, of which only the
   * name is required (`disable` needs none); `{}` leaves the name to the provider. Called once for each registration
   * of a resource that is no component and no provider; a failure ends the operation. Providers receive the proposal
   * with `check`. Names derived from the seed are equal in a preview and its update.
   */
  sw_call_t propose_name;
  /**
   * Returns whether a plugin is installed, in any version when `version` is null: the request of `resolve` →
   * `{"installed": true}`; `{}` when it is not. This and the next two are called, in this order, for a plugin that
   * is found neither in the packages, by `resolve` nor in the folders of `"plugins"`; then the engine searches
   * again. Several resources and operations share one installation of a plugin. Without `skipPluginPreInstall`,
   * plugins of recorded providers are installed before an operation begins, and those that the language runtime
   * requires before the program runs.
   */
  sw_call_t is_installed;
  /**
   * Returns the latest version of a plugin without a required version: the request of `resolve` → `{"version":
   * "1.2.3"}`; `{}` leaves the choice to `install`.
   */
  sw_call_t latest_version;
  /**
   * Installs a plugin: its executable `pulumi-resource-NAME` into one of the `directories`, or into
   * `resource-NAME-vVERSION` in the `cache`. The request of `resolve` → `{}`, or `{"declined": true}` when it is not
   * installed, which leaves it missing.
   */
  sw_call_t install;
  /**
   * Encrypts the secrets of a stack whose settings have `"secrets"`: `{"stack": "project/name", "texts": ["text",
   * …]}` → as many texts, in order.
   */
  sw_call_t encrypt_for_stack;
  /**
   * Decrypts the texts of `encrypt_for_stack`, in the same form. Required with it. Secrets of referenced stacks are
   * passed with the name of the referring stack, unless `referencePassphrases` of its settings contains them. The
   * message of a failure must contain no secret.
   */
  sw_call_t decrypt_for_stack;
  /**
   * Returns the credentials of the store, a bucket or a database: `{}` → an object with the members of `credentials` in the
   * settings of the engine, with `expires` in place of `fromEnvironment` and `serviceAccount`. Called when the store is used first, and
   * again one minute before `expires`, or, without that, one minute later; calls do not overlap. A failure fails the request of
   * the store that needed the credentials; its message must contain no secret. Null: those of the settings are used.
   */
  sw_call_t credentials;
  /**
   * The host's own store, a table with a `user_data` of its own; `store` of the settings names it in messages (a URL, or a name).
   * Null: the store of the settings.
   */
  const struct sw_store_t *store;
  /**
   * Encrypts a data key with the key of a key service: `{"url": "awskms://alias/shop", "key": base64 of 32 bytes}` → the raw
   * ciphertext, which is no JSON. For an engine, a stack or a change whose `secrets` has a `url`: the engine then encrypts the
   * secrets, with the data key. The message of a failure must not contain the key.
   */
  sw_call_t wrap_key;
  /**
   * Decrypts what `wrap_key` returned: `{"url": …, "key": base64}` → the raw 32 bytes. Required with it.
   */
  sw_call_t unwrap_key;
} sw_host_t;

/**
 * The options of an engine. Set `struct_size` to the structure's size and unused fields to zero.
 */
typedef struct sw_engine_options_t {
  /**
   * `sizeof(sw_engine_options_t)`.
   */
  size_t struct_size;
  /**
   * The runtime whose threads the engine uses. Required.
   */
  struct sw_runtime_t *runtime;
  /**
   * JSON: an object with these members, of which only the store is required.
   *
   * - `allowUnfenced` (boolean): Allows a bucket whose server ignores the conditions of writes, which is refused
   *   otherwise: nothing keeps two hosts from changing a stack at once then.
   * - `baseDirectory` (string): The folder against which relative folders of the store are resolved; the working
   *   directory when left out.
   * - `credentials` (StoreCredentials): The credentials of a bucket or a database. Those that end come from a
   *   callback of the host instead.
   * - `encryptStore` (boolean): Encrypts the whole store with the secrets manager of the engine: states with all
   *   their values, histories, journals and backups, not only secrets. Names, sizes and times stay visible, and so do
   *   lock files. The store must be new, or have been encrypted from its beginning; it is opened with that manager
   *   only, and the reference engine's command refuses it.
   * - `lease` (number): How long the lease of a stack lasts that its holder does not renew, in seconds; 30 when left
   *   out. Another host takes the stack over after this time. Folders have locks that end with their process instead.
   * - `maxCallsPerPlugin` (integer): How many steps, checks and diffs of each package's providers run at a time, in
   *   all operations of the engine together; 0 has no limit beside that of each operation. A set of stacks with a
   *   limit of its own has that instead.
   * - `nestedSecrets` (boolean): Keeps secrets at any depth; true when left out. An input or output is then secret
   *   when it is at or below the path of a secret input, also where its provider returns it without the mark. With
   *   false, outputs are marked by the names of secret inputs at the top level only, as in the reference engine.
   * - `passphrase` (string): Encrypts the secrets of the engine's stacks. Left out, secrets are encoded, not
   *   encrypted, and the reference engine's command opens a stack only while it has no secret.
   * - `plugins` (Plugins): Where plugins are searched, and which processes are kept.
   * - `secrets` (SecretsSettings): The name and data that states record for the host's own encryption, where the host
   *   passes one; or the URL of a key service, where the host passes functions that wrap data keys.
   * - `store` (string): The location of the states: `file:///absolute/folder`, `file://./relative/folder`
   *   (`file://relative/folder` is the same: there is no host in it), `memory://`, a bucket (`s3://`, `gs://`,
   *   `azblob://`) or a database (`postgres://`). Where the host passes a store of its own, the name of that in
   *   messages.
   * - `telemetry` (Telemetry): Where spans are exported to; nowhere when left out.
   * - `trustedPeers` (array of integer): User ids whose processes are accepted at the other end of connections on
   *   loopback, beside those of the own user and of root: for providers and policy packs that run as another user.
   *
   * Members of `plugins`:
   *
   * - `cache` (string): A folder of installed plugins, each in its own `<kind>-<name>-v<version>`; searched last.
   * - `callTimeouts` (object of number): How long one call of a provider may take, in seconds, by the name of its
   *   package or plugin; providers of the host included. A call that takes longer fails with an error that names it,
   *   and what it was to create or change stays among the pending operations. A longer timeout of the resource
   *   (`customTimeouts`), with 30 seconds more, takes precedence. Components that it constructs and methods may wait
   *   for other resources, those that they register for instance: for these calls the time does not count in which
   *   the operation works on such. Left out, calls take as long as they take.
   * - `commands` (object of array of string or object): Commands that start plugins without an executable of their
   *   own, by name. In Python and Node the command that serves the dynamic providers of the SDK is preset.
   * - `directories` (array of string): Folders that hold executables of plugins; searched first, in this order.
   * - `download` (boolean): Downloads plugins that are not found into `cache`: from the address of their package,
   *   else from `server`. Only plugins whose version is known are downloaded. Archives are verified where the package
   *   states their checksums.
   * - `fromEnvironment` (boolean): Searches what the environment of this process names, where `path` and `cache` are
   *   left out: the folders of `PATH`, unless `PULUMI_IGNORE_AMBIENT_PLUGINS` is true, and the plugins that the
   *   reference engine has installed, in `plugins` of `PULUMI_HOME` or else of `~/.pulumi`. It is read once, when the
   *   engine is made.
   * - `ignoreVersions` (boolean): Uses the newest version in the cache, regardless of the required one. Otherwise the
   *   required one is used, else the newest that is compatible with it: a later one of the same major version or,
   *   below 1.0, of the same minor one.
   * - `path` (string): A list of folders in the form of the variable `PATH`, searched next.
   * - `poolAgeLimit` (number): How long after its start a process is used again at most, in seconds; 300 when left
   *   out.
   * - `poolCapacity` (integer): How many processes are kept for the next operation at most, 16 when left out; 0 ends
   *   each process with its operation. Processes of scripts, and of `commands` that run files or modules, are never
   *   kept.
   * - `poolIdleLimit` (number): How long an unused process is kept, in seconds; 60 when left out.
   * - `server` (string): Where plugins are downloaded from whose package has no address: a server in the reference
   *   engine's layout, `<server>/pulumi-<kind>-<name>-v<version>-<os>-<arch>.tar.gz`.
   * - `waitsForRegistrations` (array of string): Names of plugins whose calls may wait for later registrations, so
   *   that the option `parallel` is no strict limit for them.
   *
   * Members of `credentials`:
   *
   * - `accessKeyId` (string): The id of an access key of AWS, for `s3://`.
   * - `accountKey` (string): The key of a storage account, base64, for `azblob://`.
   * - `expires` (string): The time at which the credentials of a callback end, RFC 3339. They are requested again one
   *   minute before; without it, one minute after they were returned.
   * - `fromEnvironment` (boolean): Uses the variables of this process's environment, and what they refer to, as the
   *   command does. They are read once, when the engine is made. Not from a callback.
   * - `password` (string): A password, for `postgres://`.
   * - `sasToken` (string): A shared access signature as a query string, for `azblob://`.
   * - `secretAccessKey` (string): The secret access key of the same.
   * - `serviceAccount` (any JSON): The key file of a Google service account, for `gs://`: its content as a string or
   *   an object. Not from a callback.
   * - `sessionToken` (string): The session token of temporary keys.
   * - `token` (string): An OAuth token, for `gs://` and `azblob://`.
   *
   * Members of `secrets`, for a host's table with `encrypt` and `decrypt`, or with `wrap_key` and `unwrap_key`. Data of other
   * secrets providers is decrypted as without them:
   *
   * - `kind` (string): The name of the encryption in deployments; `host` when left out.
   * - `state` (any JSON): Data that states keep beside the name for later readers; never a key.
   * - `url` (string): The URL of a key (`awskms://alias/shop`). The host's functions then wrap and unwrap data keys
   *   with it, and the engine encrypts.
   */
  struct sw_bytes_view_t settings;
  /**
   * The providers in this process; null when there are none.
   */
  const struct sw_package_t *packages;
  /**
   * The number of packages.
   */
  size_t package_count;
  /**
   * The host's functions that the engine calls; null for none.
   */
  const struct sw_host_t *host;
} sw_engine_options_t;

/**
 * Receives the progress of an installation (JSON), which is borrowed for the duration of the call.
 */
typedef void (*sw_plugin_progress_t)(void *user_data, struct sw_bytes_view_t progress);

/**
 * Declares the resources of a stack. Runs on a dedicated thread and may block; several runs may overlap. Returns
 * `SW_STATUS_OK`, the status of a failed call (the run then fails with the error of the last call with that status),
 * or `SW_STATUS_PROGRAM` after `sw_context_fail`. The run also fails when a registration or an output is malformed
 * (`SW_STATUS_INVALID_INPUT`, `SW_STATUS_MISUSE`), because the resource would be deleted otherwise, or when a transform of the
 * stack is. Other failed calls do not fail the run by themselves.
 *
 * The context is valid until the function has returned and every callback of its asynchronous calls has been called.
 */
typedef int32_t (*sw_run_t)(void *user_data, struct sw_context_t *context);

/**
 * A program. The table is copied.
 */
typedef struct sw_program_t {
  /**
   * `sizeof(sw_program_t)`.
   */
  size_t struct_size;
  /**
   * `SW_PROGRAM_VERSION`.
   */
  uint32_t version;
  /**
   * Passed to `run`.
   */
  void *user_data;
  /**
   * Frees `user_data` after the last call of `run`; may be null.
   */
  sw_free_t free;
  /**
   * The program.
   */
  sw_run_t run;
} sw_program_t;

/**
 * The host's functions for one operation. Set `struct_size` to the structure's size and unused fields to zero.
 */
typedef struct sw_operation_functions_t {
  /**
   * `sizeof(sw_operation_functions_t)`.
   */
  size_t struct_size;
  /**
   * Run in place of the stack's program; null for that one.
   */
  const struct sw_program_t *program;
  /**
   * Policy packs of the host; null for none. A pack serves those of the options that have its name, with their settings;
   * one whose name is not there runs as the last of `localPolicyPacks`. Two of one name are `SW_STATUS_INVALID_INPUT`.
   */
  const struct sw_policy_pack_t *const *policy_packs;
  /**
   * The number of policy packs.
   */
  size_t policy_pack_count;
} sw_operation_functions_t;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Returns the version of the library, `0.1.0` for instance. The text is static.
 */
const char *sw_version(void);

/**
 * Returns the reference engine's class of a status code: `bail` when the diagnostics contain the reason, `decrypt` or
 * `internal`; `none` for success.
 *
 * The text is static.
 */
const char *sw_status_class_name(int32_t status);

/**
 * Returns the name of a status code, `invalid_input` for instance; `unknown` for an unknown code.
 *
 * The text is static.
 */
const char *sw_status_name(int32_t status);

/**
 * Returns a view of a NUL-terminated text; an empty one for null. The text must outlive the view.
 */
struct sw_bytes_view_t sw_text(const char *text);

/**
 * Returns the first byte; a NUL follows the last one. Null for null. Valid until `sw_bytes_free`.
 */
const char *sw_bytes_data(const struct sw_bytes_t *bytes);

/**
 * Returns the number of bytes, without the NUL that follows; 0 for null.
 */
size_t sw_bytes_length(const struct sw_bytes_t *bytes);

/**
 * Returns a view of owned bytes; an empty one for null. Valid until `sw_bytes_free`.
 */
struct sw_bytes_view_t sw_bytes_view(const struct sw_bytes_t *bytes);

/**
 * Frees bytes; nothing happens for null.
 */
void sw_bytes_free(struct sw_bytes_t *bytes);

/**
 * Returns the kind of the error; `SW_STATUS_OK` for null.
 */
sw_status_t sw_error_kind(const struct sw_error_t *error);

/**
 * Returns the name of the kind, `invalid_input` for instance. The text is static.
 */
const char *sw_error_kind_name(const struct sw_error_t *error);

/**
 * Returns the name of the page about the kind in the documentation, `errors/conflict` for instance; null for null and for
 * a misuse of the interface.
 */
const char *sw_error_page(const struct sw_error_t *error);

/**
 * Returns the message; null for null.
 */
const char *sw_error_message(const struct sw_error_t *error);

/**
 * Returns the message of the reference engine for such an error, for tools that match on it. It begins with `BAIL: `
 * when the diagnostics contain the reason. Null for null.
 */
const char *sw_error_reference_message(const struct sw_error_t *error);

/**
 * Returns the configuration key, as `namespace:name`, whose value caused the error; null when there is none.
 */
const char *sw_error_config_key(const struct sw_error_t *error);

/**
 * Returns the URN of the resource whose step failed; null when there is none.
 */
const char *sw_error_urn(const struct sw_error_t *error);

/**
 * Returns the provider that reported the error; null when there is none.
 */
const char *sw_error_provider(const struct sw_error_t *error);

/**
 * Returns the phase that failed, `create` for instance; null when it is unknown.
 */
const char *sw_error_phase(const struct sw_error_t *error);

/**
 * Returns the number of hints; 0 for null.
 */
size_t sw_error_hint_count(const struct sw_error_t *error);

/**
 * Returns the hint at `index`; null when there is none.
 */
const char *sw_error_hint(const struct sw_error_t *error, size_t index);

/**
 * Frees an error; nothing happens for null.
 */
void sw_error_free(struct sw_error_t *error);

/**
 * Returns the JSON text of the value at `pointer` (RFC 6901: `/inputs/path`, `/failures/0`; empty for the whole
 * document), unchanged; null when there is no such value.
 *
 * Returns `SW_STATUS_INVALID_INPUT` for a document that is not JSON and a pointer that does not begin with a slash.
 */
sw_status_t sw_json_get(struct sw_bytes_view_t document,
                        struct sw_bytes_view_t pointer,
                        struct sw_bytes_t **value,
                        struct sw_error_t **error);

/**
 * Returns the content of the string at `pointer`, which is that of `sw_json_get`; null when there is no such value,
 * and for a JSON null.
 *
 * Returns `SW_STATUS_INVALID_INPUT` for a value of another type.
 */
sw_status_t sw_json_text(struct sw_bytes_view_t document,
                         struct sw_bytes_view_t pointer,
                         struct sw_bytes_t **text,
                         struct sw_error_t **error);

/**
 * Quotes a UTF-8 text as a JSON string.
 */
sw_status_t sw_json_quote(struct sw_bytes_view_t text, struct sw_bytes_t **json, struct sw_error_t **error);

/**
 * Creates a runtime; `options` may be null.
 */
sw_status_t sw_runtime_new(const struct sw_runtime_options_t *options,
                           struct sw_runtime_t **runtime,
                           struct sw_error_t **error);

/**
 * Ends a runtime: cancels its operations, delivers each pending callback, then stops the threads and frees it.
 *
 * Returns when the last callback, program and provider function has returned. Afterwards only the `free` functions of
 * tables are called, when their engines, stacks and operations are freed. Those handles may be freed before or after;
 * their other functions return `SW_STATUS_MISUSE` from then on.
 *
 * Returns `SW_STATUS_MISUSE` without freeing when called from a callback, a program or a provider's function. Null is
 * ignored.
 */
sw_status_t sw_runtime_free(struct sw_runtime_t *runtime);

/**
 * Returns the facts of a run as JSON, which lives as long as the context; null for null. Its members:
 *
 * - `config` (object of string): The configuration by `namespace:name`. Structured values are JSON texts; secret ones
 *   are readable.
 * - `configSecretKeys` (array of string): The names of configuration values that are secret.
 * - `dryRun` (boolean): True during a preview.
 * - `organization` (string): The organization.
 * - `parallel` (integer): How many steps run at a time.
 * - `project` (string): The project.
 * - `rootDirectory` (string): The folder of the project, to which relative paths refer.
 * - `rootStack` (string): The URN of the stack itself.
 * - `stack` (string): The stack, without its project.
 */
const char *sw_context_info(const struct sw_context_t *context);

/**
 * Returns whether the run has ended before the program, or the call of a component or method was cancelled; the code
 * should then end soon. True for null.
 */
bool sw_context_is_ended(const struct sw_context_t *context);

/**
 * Calls the callback when the run ends before the program (with `SW_STATUS_CANCELLED`; the program should return
 * soon), or when the program has returned and its last call was completed (with `SW_STATUS_OK`).
 *
 * For the code of a component or method, it is called when the run ends or the call is cancelled before its completion
 * (with `SW_STATUS_CANCELLED`), or else after the completion and the last callback (with `SW_STATUS_OK`).
 */
sw_status_t sw_context_ended_async(const struct sw_context_t *context,
                                   sw_callback_t callback,
                                   void *user_data,
                                   struct sw_error_t **error);

/**
 * Sets the message with which the run fails when the program returns, also with `SW_STATUS_OK`. Invalid UTF-8 is
 * replaced by U+FFFD. The code of a component or method fails with it when its call is completed with success.
 */
sw_status_t sw_context_fail(const struct sw_context_t *context,
                            struct sw_bytes_view_t message,
                            struct sw_error_t **error);

/**
 * Queries whether a resource exists, which its provider reads, and waits for the answer; the resource does not become a part of the
 * stack. `exists` is JSON: an object with `type`, `id` and any of these members.
 *
 * - `dependsOn` (string or array of string): Resources that must exist before the query: one or several, each itself
 *   or its URN; an output stands for the resources that it comes from. While one of them is only planned, the result
 *   is unknown.
 * - `id` (string): The id.
 * - `inputs` (object of any JSON): What the provider needs to find it, beside the id.
 * - `package` (PackageSource): The plugin that serves the package, where that is not the one of its name: with a
 *   parameter, or with an extension.
 * - `parent` (string): The resource, or its URN, whose provider is asked when no other is named.
 * - `pluginDownloadURL` (string): The address from which the plugin of the package can be downloaded, for the
 *   resolver and the installer.
 * - `provider` (string): The provider resource that is asked, or its reference, `<urn>::<id>`. Left out, it is that
 *   of the parent, or else the default provider of the package.
 * - `type` (string): The type token.
 * - `version` (string): The version of the package.
 *
 * The result is `true` or `false`; it is the text of an unknown value while the id, an input or a resource of `dependsOn` is only
 * planned.
 */
sw_status_t sw_context_exists(const struct sw_context_t *context,
                              struct sw_bytes_view_t exists,
                              struct sw_bytes_t **result,
                              struct sw_error_t **error);

/**
 * Queries whether a resource exists as `sw_context_exists` does, without waiting.
 */
sw_status_t sw_context_exists_async(const struct sw_context_t *context,
                                    struct sw_bytes_view_t exists,
                                    sw_callback_t callback,
                                    void *user_data,
                                    struct sw_error_t **error);

/**
 * Calls a function of a package and waits for its result, a JSON object. `invoke` is JSON: an object with `token` and any of these
 * members.
 *
 * - `arguments` (object of any JSON): The arguments.
 * - `dependsOn` (string or array of string): Resources that must exist before the call: one or several, each itself
 *   or its URN; an output stands for the resources that it comes from. While one of them is only planned, the result
 *   is unknown.
 * - `inTransform` (boolean): Whether a transform of functions makes the call, which is not transformed then: that
 *   transform would wait for itself.
 * - `package` (PackageSource): The plugin that serves the package, where that is not the one of its name: with a
 *   parameter, or with an extension.
 * - `parent` (string): The resource, or its URN, whose provider is called when no other is named.
 * - `pluginDownloadURL` (string): The address from which the plugin of the package can be downloaded, for the
 *   resolver and the installer.
 * - `provider` (string): The provider resource that is called, or its reference, `<urn>::<id>`. Left out, it is that
 *   of the parent, or else the default provider of the package.
 * - `token` (string): The function, as `package:module:member`.
 * - `version` (string): The version of the package.
 *
 * The function is not called while a resource of `dependsOn`, or one that an output value in the arguments depends on, is only planned. The
 * result is the text of an unknown value then, which can be passed on as an input.
 */
sw_status_t sw_context_invoke(const struct sw_context_t *context,
                              struct sw_bytes_view_t invoke,
                              struct sw_bytes_t **result,
                              struct sw_error_t **error);

/**
 * Calls a function of a package as `sw_context_invoke` does, without waiting.
 */
sw_status_t sw_context_invoke_async(const struct sw_context_t *context,
                                    struct sw_bytes_view_t invoke,
                                    sw_callback_t callback,
                                    void *user_data,
                                    struct sw_error_t **error);

/**
 * Emits a diagnostic of a resource or, when `urn` is empty, of the whole deployment. `severity` is one of
 * `sw_severity_t`.
 */
sw_status_t sw_context_log(const struct sw_context_t *context,
                           int32_t severity,
                           struct sw_bytes_view_t message,
                           struct sw_bytes_view_t urn,
                           struct sw_error_t **error);

/**
 * Calls a method of a resource, a component or a provider, and waits for its result. `call` is JSON: an object with
 * `token` and any of these members.
 *
 * - `argumentDependencies` (object of array of string): The URNs of the resources that each argument comes from, by
 *   its name.
 * - `arguments` (object of any JSON): The arguments.
 * - `of` (string): The resource whose method it is.
 * - `package` (PackageSource): The plugin that serves the package, where that is not the one of its name: with a
 *   parameter, or with an extension.
 * - `pluginDownloadURL` (string): The address from which the plugin of the package can be downloaded, for the
 *   resolver and the installer.
 * - `provider` (string): The provider resource that is called, or its reference, `<urn>::<id>`. Left out, it is that
 *   of the resource, or else the default provider of the package.
 * - `token` (string): The method, as `package:module:Type/method`, or `pulumi:providers:package/method`.
 * - `version` (string): The version of the package.
 *
 * The result is `{"result": {…}, "resultDependencies": {"name": ["urn"]}, "failures": [{"property", "reason"}]}`. A
 * call with failures of arguments returns `SW_STATUS_OK`. A failed method ends the run, so that the call returns
 * `SW_STATUS_CANCELLED`; the program should then return.
 */
sw_status_t sw_context_call_method(const struct sw_context_t *context,
                                   struct sw_bytes_view_t call,
                                   struct sw_bytes_t **result,
                                   struct sw_error_t **error);

/**
 * Calls a method as `sw_context_call_method` does, without waiting.
 */
sw_status_t sw_context_call_method_async(const struct sw_context_t *context,
                                         struct sw_bytes_view_t call,
                                         sw_callback_t callback,
                                         void *user_data,
                                         struct sw_error_t **error);

/**
 * Registers the outputs (a JSON object) of a component that the program registered, and waits until they are recorded.
 */
sw_status_t sw_context_register_outputs(const struct sw_context_t *context,
                                        struct sw_bytes_view_t urn,
                                        struct sw_bytes_view_t outputs,
                                        struct sw_error_t **error);

/**
 * Registers outputs as `sw_context_register_outputs` does, without waiting.
 */
sw_status_t sw_context_register_outputs_async(const struct sw_context_t *context,
                                              struct sw_bytes_view_t urn,
                                              struct sw_bytes_view_t outputs,
                                              sw_callback_t callback,
                                              void *user_data,
                                              struct sw_error_t **error);

/**
 * Sets an output of the stack to a JSON value. Outputs are recorded when the program has ended.
 *
 * Returns `SW_STATUS_INVALID_INPUT` in the code of a component or method, which returns its outputs with the completion.
 */
sw_status_t sw_context_export(const struct sw_context_t *context,
                              struct sw_bytes_view_t name,
                              struct sw_bytes_view_t value,
                              struct sw_error_t **error);

/**
 * Calls the resource monitor with a message of the protocol (`ResourceMonitor/RegisterResource` and an encoded
 * request, for instance) and waits for the encoded response: for hosts that run an SDK's program without a socket.
 */
sw_status_t sw_context_call(const struct sw_context_t *context,
                            struct sw_bytes_view_t method,
                            struct sw_bytes_view_t request,
                            struct sw_bytes_t **response,
                            struct sw_error_t **error);

/**
 * Calls the resource monitor as `sw_context_call` does, without waiting.
 */
sw_status_t sw_context_call_async(const struct sw_context_t *context,
                                  struct sw_bytes_view_t method,
                                  struct sw_bytes_view_t request,
                                  sw_callback_t callback,
                                  void *user_data,
                                  struct sw_error_t **error);

/**
 * Registers a resource and waits until its step has finished.
 *
 * `registration` is JSON: an object with `type`, `name` and any of these members.
 *
 * - `additionalSecretOutputs` (array of string): Names of outputs that are secret.
 * - `aliases` (array of string or Alias): Former names: URNs, or the parts that differ.
 * - `custom` (boolean): Whether a provider manages it; `false` for a component. Left out, it is `true`.
 * - `customTimeouts` (CustomTimeouts): How long each call to the provider may take, in seconds. A provider in this
 *   process receives the limit, and keeps it itself.
 * - `deleteBeforeReplace` (boolean): A replacement deletes the old one first.
 * - `deletedWith` (string): The resource, or its URN, whose deletion deletes this one, too.
 * - `dependencies` (array of string): The URNs of all resources that must exist before it, those that its inputs come
 *   from included.
 * - `dependsOn` (string or array of string): Resources that must exist before it, beside those that its inputs come
 *   from: one or several, each itself or its URN. An output stands for the resources that it comes from.
 * - `envVarMappings` (object of string): For a provider: variables of the host's environment, by name, with the names
 *   under which its plugin sees their values, too. A provider in this process has no plugin, and ignores them.
 * - `hideDiffs` (array of string): Paths of properties whose differences are not shown.
 * - `ignoreChanges` (array of string): Paths of inputs whose changes are ignored.
 * - `importId` (string): The id of an existing resource that is imported.
 * - `inputs` (object of any JSON): The inputs.
 * - `name` (string): The name.
 * - `noParent` (boolean): Whether the resource has no parent at all, not even the stack.
 * - `package` (PackageSource): The plugin that serves the package, where that is not the one of its name: with a
 *   parameter, or with an extension.
 * - `parent` (string): The parent: a resource or its URN. Left out, it is the stack.
 * - `pluginDownloadURL` (string): The address from which the plugin of the package can be downloaded, for the
 *   resolver and the installer.
 * - `propertyDependencies` (object of array of string): The URNs of the resources that each input comes from, by its
 *   name. Left out, each input comes from all of `dependencies`.
 * - `protect` (boolean): Never deletes or replaces it.
 * - `provider` (string): The provider resource that manages it, or its reference, `<urn>::<id>`. Left out, it is that
 *   of the parent, or else the default provider of the package.
 * - `providers` (object of string): Provider resources for a component's children, by package.
 * - `remote` (boolean): Whether it is a component whose provider constructs it, with the resources below it.
 * - `replaceOnChanges` (array of string): Paths of properties whose changes replace it.
 * - `replaceWith` (string or array of string): Resources, or their URNs, whose replacement replaces this one, too:
 *   one or several.
 * - `replacementTrigger` (any JSON): A value whose change replaces the resource.
 * - `resourceHooks` (object of array of string): The names of hooks by the moment at which they run.
 * - `retainOnDelete` (boolean): Drops it from the state instead of deleting it.
 * - `transforms` (array of string): The names of transforms that are called for it and for everything below it, in
 *   this order. They are defined before.
 * - `type` (string): The type token.
 * - `version` (string): The version of the package.
 *
 * A provider's reference is `<urn>::<id>`. Members of an alias:
 *
 * - `name` (string): The name.
 * - `noParent` (boolean): Whether it had no parent.
 * - `parent` (string): The parent: a resource or its URN.
 * - `project` (string): The name of the project.
 * - `stack` (string): The name of the stack.
 * - `type` (string): The type token.
 * - `urn` (string): The whole URN, in place of parts.
 *
 * Members of `customTimeouts`:
 *
 * - `create` (number): The limit of Create.
 * - `delete` (number): The limit of Delete.
 * - `read` (number): The limit of Read.
 * - `update` (number): The limit of Update.
 *
 * Members of `package`:
 *
 * - `extension` (PackageParameter): The extension that the provider of the plugin's own package is given, so that it
 *   serves a package of another name, too.
 * - `parameterization` (PackageParameter): The parameter with which the plugin serves a package of another name.
 * - `pluginDownloadURL` (string): The address from which the plugin can be downloaded, for the resolver and the
 *   installer.
 * - `pluginName` (string): The name of the plugin.
 * - `pluginVersion` (string): The version of the plugin; left out, any.
 *
 * Members of a parameter of a package:
 *
 * - `name` (string): The name of the package.
 * - `value` (string): The value, in base64.
 * - `version` (string): The version of the package.
 *
 * The result is `{"urn", "id", "outputs", "unknown", "failed", "skipped"}`, and that of a remote component also has
 * `"outputDependencies": {"name": ["urn"]}`.
 *
 * Returns `SW_STATUS_CANCELLED` when the run ends first; the program should then return.
 */
sw_status_t sw_context_register(const struct sw_context_t *context,
                                struct sw_bytes_view_t registration,
                                struct sw_bytes_t **registered,
                                struct sw_error_t **error);

/**
 * Registers a resource as `sw_context_register` does, without waiting. Any number of registrations may be pending;
 * resources are claimed in the order of the calls.
 */
sw_status_t sw_context_register_async(const struct sw_context_t *context,
                                      struct sw_bytes_view_t registration,
                                      sw_callback_t callback,
                                      void *user_data,
                                      struct sw_error_t **error);

/**
 * Reads a resource that is not managed here and waits for the answer. `read` is JSON: an object with `type`, `name`, `id` and any of
 * these members.
 *
 * - `additionalSecretOutputs` (array of string): Names of outputs that are secret.
 * - `dependencies` (array of string): The URNs of all resources that must exist before it, those that its inputs come
 *   from included.
 * - `dependsOn` (string or array of string): Resources that must exist before it, beside those that its inputs come
 *   from: one or several, each itself or its URN. An output stands for the resources that it comes from.
 * - `id` (string): The id.
 * - `inputs` (object of any JSON): What the provider needs to find it, beside the id.
 * - `name` (string): The name.
 * - `noParent` (boolean): Whether the resource has no parent at all, not even the stack.
 * - `package` (PackageSource): The plugin that serves the package, where that is not the one of its name: with a
 *   parameter, or with an extension.
 * - `parent` (string): The parent: a resource or its URN. Left out, it is the stack.
 * - `pluginDownloadURL` (string): The address from which the plugin of the package can be downloaded, for the
 *   resolver and the installer.
 * - `provider` (string): The provider resource that reads it, or its reference, `<urn>::<id>`. Left out, it is that
 *   of the parent, or else the default provider of the package.
 * - `type` (string): The type token.
 * - `version` (string): The version of the package.
 *
 * The result is that of `sw_context_register`. Of the type `pulumi:pulumi:StackReference`, with the input `name` (`project/stack`, or
 * `organization/project/stack`), it reads another stack: `/outputs/outputs` has the outputs of that one.
 */
sw_status_t sw_context_read(const struct sw_context_t *context,
                            struct sw_bytes_view_t read,
                            struct sw_bytes_t **registered,
                            struct sw_error_t **error);

/**
 * Reads a resource as `sw_context_read` does, without waiting.
 */
sw_status_t sw_context_read_async(const struct sw_context_t *context,
                                  struct sw_bytes_view_t read,
                                  sw_callback_t callback,
                                  void *user_data,
                                  struct sw_error_t **error);

/**
 * Returns the number of the call, which is unique in this process and the argument of `give_up`; 0 for null.
 */
uint64_t sw_completion_id(const struct sw_completion_t *completion);

/**
 * Returns whether the call was cancelled. The completion must be completed or freed all the same. True for null, and once that is
 * done.
 */
bool sw_completion_is_cancelled(const struct sw_completion_t *completion);

/**
 * Completes a call with the JSON of its response (empty for one without fields) and frees the completion, also on
 * failure. A malformed response fails the call.
 */
sw_status_t sw_completion_succeed(struct sw_completion_t *completion,
                                  struct sw_bytes_view_t response);

/**
 * Completes a call of `get` of a store of the host with the content of an object and its version (a text that is not empty), and
 * frees the completion, also when this function fails.
 */
sw_status_t sw_completion_succeed_with_version(struct sw_completion_t *completion,
                                               struct sw_bytes_view_t content,
                                               struct sw_bytes_view_t version);

/**
 * Completes a call with a failure and frees the completion, also when this function fails.
 *
 * `status` is one of `sw_provider_status_t`; the message is reported unchanged.
 */
sw_status_t sw_completion_fail(struct sw_completion_t *completion,
                               int32_t status,
                               struct sw_bytes_view_t message);

/**
 * Completes a call with a failure that has details, and frees the completion, also when this function fails.
 *
 * `failure` is JSON: `{"status": 9, "message": "…", "initFailure": {"id": "…", "inputs": {…}, "outputs": {…},
 * "reasons": ["…"]}, "missingKeys": [{"name": "…", "description": "…"}], "inputErrors": [{"property": "…", "reason":
 * "…"}]}`, of which only the message is required. `initFailure` states that the resource was created or updated, but its
 * initialization failed; `inputErrors` are the inputs that a component or method refuses, by path.
 */
sw_status_t sw_completion_fail_with(struct sw_completion_t *completion,
                                    struct sw_bytes_view_t failure);

/**
 * Frees a completion without a response, which fails the call. Null is ignored.
 */
void sw_completion_free(struct sw_completion_t *completion);

/**
 * Registers a hook for the rest of the run. Resources name it in their member `resourceHooks`, by the moment at which it
 * runs: `{"BeforeCreate": ["name"]}`, and so on with `AfterCreate`, `BeforeUpdate`, `AfterUpdate`, `BeforeDelete` and
 * `AfterDelete`. It is registered before them. The names are recorded: a later run, also a destroy, registers the hooks of
 * what it deletes, and deletions at the end of a run call hooks after the program has returned.
 *
 * `options` is 0 or a sum of `SW_HOOK_ON_DRY_RUN` and `SW_HOOK_IGNORE_ERRORS`. The function gets `{"urn", "id", "name",
 * "type", "newInputs", "oldInputs", "newOutputs", "oldOutputs", "newOptions", "oldOptions"}`, what the step does not have
 * being null, and completes with an empty response. The failure of one that runs before a step fails the step; that of one
 * that runs after it is reported and fails the operation.
 *
 * Returns `SW_STATUS_INVALID_INPUT` for an empty name, and for one that a hook of either kind has.
 */
sw_status_t sw_context_register_hook(const struct sw_context_t *context,
                                     struct sw_bytes_view_t name,
                                     uint32_t options,
                                     const struct sw_function_t *function,
                                     struct sw_error_t **error);

/**
 * Registers a hook that decides whether a failed step is tried again, for the rest of the run. Resources name it in their
 * member `resourceHooks` as `{"OnError": ["name"]}`.
 *
 * The function gets `{"urn", "id", "name", "type", "newInputs", "oldInputs", "oldOutputs", "newOptions", "oldOptions",
 * "failedOperation": "create"|"update"|"delete", "errors": ["latest", "first"]}`, and completes with `{"retry": true}` for
 * another attempt, also after a pause; an empty response is none. Its own failure fails the step.
 *
 * Returns `SW_STATUS_INVALID_INPUT` for an empty name, and for one that a hook of either kind has.
 */
sw_status_t sw_context_register_error_hook(const struct sw_context_t *context,
                                           struct sw_bytes_view_t name,
                                           const struct sw_function_t *function,
                                           struct sw_error_t **error);

/**
 * Adds a transform of the stack: it is called for every resource that is registered from now on, after the transforms of the
 * resource itself and of those above it. An invalid one fails the run, since resources would be registered without it.
 *
 * The function gets `{"type", "name", "custom", "parent", "inputs", "options"}`, the options by the names that
 * `sw_context_register` gives them and without those that are not set; `dependsOn` has the dependencies. It completes with
 * `{"inputs", "options"}`: `inputs` replaces all inputs, and `options` has the options that change, of which `null` removes one.
 * What is left out is unchanged, as is everything for an empty response. Its failure refuses the registration with an error that names the resource and the transform, and so
 * does a malformed response.
 */
sw_status_t sw_context_add_transform(const struct sw_context_t *context,
                                     const struct sw_function_t *function,
                                     struct sw_error_t **error);

/**
 * Adds a transform of calls of functions: it is called for each `sw_context_invoke` from now on, also of components, one call
 * after the other. An invalid one fails the run.
 *
 * The function gets `{"token", "arguments", "options"}` with the options `provider`, `version`, `pluginDownloadURL` and
 * `pluginChecksums`, and completes with `{"arguments", "options"}`, as in `sw_context_add_transform`. A function that it calls
 * itself has `"inTransform": true`, and is not transformed: it would wait for itself.
 */
sw_status_t sw_context_add_invoke_transform(const struct sw_context_t *context,
                                            const struct sw_function_t *function,
                                            struct sw_error_t **error);

/**
 * Defines a transform that registrations with this context name in their member `transforms`: it is called for the resource,
 * in the order of the names, and for everything below it. The function is that of `sw_context_add_transform`.
 *
 * Returns `SW_STATUS_INVALID_INPUT` for an empty name, and for one that is defined already.
 */
sw_status_t sw_context_define_transform(const struct sw_context_t *context,
                                        struct sw_bytes_view_t name,
                                        const struct sw_function_t *function,
                                        struct sw_error_t **error);

/**
 * Creates a policy pack. It is given to operations in `sw_operation_functions_t`, and to `sw_stack_analyze`.
 *
 * On success the library owns the `user_data` of the policies, and calls `free` when the pack has been freed and no operation
 * has it any more. On failure it does not. A document that is no pack is `SW_STATUS_INVALID_INPUT`.
 */
sw_status_t sw_policy_pack_new(const struct sw_runtime_t *runtime,
                               const struct sw_policies_t *policies,
                               struct sw_policy_pack_t **pack,
                               struct sw_error_t **error);

/**
 * Frees a policy pack's handle; operations that have it continue with it. Null is ignored.
 */
void sw_policy_pack_free(struct sw_policy_pack_t *pack);

/**
 * Creates an engine.
 *
 * On success the library owns the `user_data` of the tables of the packages, the host and its store, and calls their `free`. On
 * failure it does not.
 */
sw_status_t sw_engine_new(const struct sw_engine_options_t *options,
                          struct sw_engine_t **engine,
                          struct sw_error_t **error);

/**
 * Returns the stacks of `project`, or all when it is empty, as a JSON array in the order of their names. Checkpoints are only
 * read with `resource_counts`. The members of a stack:
 *
 * - `lastUpdate` (LastUpdate): The newest operation in the history, of any kind; null when there is none.
 * - `lock` (LockHolder): The holder of the lock; null when there is no lock, or the next operation replaces it
 *   because its process has ended.
 * - `modified` (string): When the checkpoint was last written, also by an operation that still runs, in the form of
 *   RFC 3339.
 * - `name` (string): The name, as `project/stack`.
 * - `problems` (array of string): What cannot be read of the stack: each names the file and the reason.
 * - `resourceCount` (integer): The number of records in the checkpoint, with the stack itself, providers and old
 *   copies; null when the count was not requested, or the checkpoint cannot be read.
 *
 * Members of its last update:
 *
 * - `ended` (string): When it ended, likewise.
 * - `kind` (string): The kind: `update`, `refresh`, `destroy`, `import`, `resource-import`…
 * - `message` (string): The note of the user.
 * - `result` (string): The result: `succeeded`, `failed` or `in-progress`.
 * - `started` (string): When it began, to the second, in the form of RFC 3339.
 *
 * Members of its lock:
 *
 * - `host` (string): The host.
 * - `isRunning` (boolean): Whether the process is known to run. It is not known for those of other hosts and of other
 *   programs.
 * - `operation` (string): The operation that runs: `update` for instance. Only locks of this engine state it.
 * - `process` (integer): The number of the process on that host.
 * - `since` (string): When the lock was taken, in the form of RFC 3339.
 * - `user` (string): The user.
 */
sw_status_t sw_engine_stacks(const struct sw_engine_t *engine,
                             struct sw_bytes_view_t project,
                             bool resource_counts,
                             struct sw_bytes_t **stacks,
                             struct sw_error_t **error);

/**
 * Returns what the engine has counted since it was made, and what runs now, as a JSON object. It contains names and numbers, and no
 * value of a resource, of a configuration or of a secret. The members:
 *
 * - `journal` (JournalMetrics): What was written to journals.
 * - `locks` (LockMetrics): The locks of stacks.
 * - `operations` (array of OperationMetrics): The operations of each verb that has begun, sorted by verb, previews
 *   last.
 * - `plugins` (array of PluginProcessMetrics): The plugin processes that run, sorted by process number.
 * - `pluginsStarted` (integer): How many plugin processes have been started.
 * - `providerCalls` (object of CallMetrics): The calls of providers by package.
 * - `store` (StoreMetrics): The calls of the store.
 *
 * Members of the operations of a verb:
 *
 * - `canceled` (integer): How many were cancelled.
 * - `failed` (integer): How many have failed.
 * - `isPreview` (boolean): Whether these are previews.
 * - `running` (integer): How many run.
 * - `succeeded` (integer): How many have succeeded.
 * - `verb` (string): The verb: `update`, `refresh`, `destroy`, `import` or `adopt`.
 *
 * Members of the calls of a package:
 *
 * - `failed` (integer): How many have returned an error.
 * - `inFlight` (integer): How many have not ended.
 * - `total` (integer): How many have begun.
 *
 * Members of a plugin process:
 *
 * - `kind` (string): The kind of the plugin: `resource`, `language` or `analyzer`.
 * - `name` (string): The name of the plugin, which for providers is that of the package.
 * - `pid` (integer): The number of the process.
 * - `residentMemory` (integer): The resident memory in bytes; null where the system does not state it.
 *
 * Members of the journals:
 *
 * - `bytes` (integer): The number of bytes, as they were given to the store.
 * - `entries` (integer): The number of entries.
 *
 * Members of the store:
 *
 * - `calls` (object of integer): How many have begun, by method: `get`, `put`, `append`, `list`, `delete`, `copy` and
 *   `lock`.
 * - `failed` (integer): How many have returned an error, conflicts included.
 *
 * Members of the locks:
 *
 * - `taken` (integer): How many were taken.
 * - `waited` (number): How long the waits have taken that have ended, in seconds.
 * - `waiting` (integer): How many are waited for now.
 * - `waits` (integer): How many were waited for, those that are waited for now included.
 */
sw_status_t sw_engine_metrics(const struct sw_engine_t *engine,
                              struct sw_bytes_t **metrics,
                              struct sw_error_t **error);

/**
 * Frees an engine's handle; its stacks and operations continue. Null is ignored.
 */
void sw_engine_free(struct sw_engine_t *engine);

/**
 * Lists, installs or removes plugins in the engine's folder of installed plugins (`cache` of its plugins), and gives an answer (JSON).
 *
 * `request` is a JSON object with one of these members: `{"install": {"name": "files", "version": "1.0.0", "file": "files.tar.gz"}}`.
 *
 * - `install` (PluginInstallation): Installs a plugin.
 * - `list` (PluginSelection): Lists plugins.
 * - `remove` (PluginSelection): Removes plugins. At least one member selects them.
 *
 * Those of `list` and `remove`, each of which is answered by an array of plugins:
 *
 * - `kind` (resource, analyzer, language, converter, tool): The kind.
 * - `name` (string): The name.
 * - `versions` (string): A range of versions: `>=1.2.0 <2.0.0`, or a version, which is that version alone.
 *
 * Those of `install`, which is answered by the plugin:
 *
 * - `checksum` (string): The SHA-256 checksum of the archive in hexadecimal digits, which is verified; left out,
 *   nothing is.
 * - `file` (string): The path of a local archive (`.tar.gz`).
 * - `kind` (resource, analyzer, language, converter, tool): The kind; `resource` when left out.
 * - `name` (string): The name.
 * - `reinstall` (boolean): Replaces an installed plugin of this version, which otherwise stays.
 * - `server` (string): A server in the reference engine's layout: the address of the archive is
 *   `<server>/pulumi-<kind>-<name>-v<version>-<os>-<arch>.tar.gz`. The engine's own server when all three are left
 *   out.
 * - `url` (string): The address of an archive.
 * - `version` (string): The version.
 *
 * Those of a plugin:
 *
 * - `installed` (string): When it was installed, in the form of RFC 3339; null where the file system does not say.
 * - `kind` (string): The kind: `resource`, `analyzer`, `language`, `converter` or `tool`.
 * - `lastUsed` (string): When its folder was last read, likewise.
 * - `name` (string): The name. A `/` in it is an `_`.
 * - `path` (string): The path of its folder.
 * - `size` (integer): The size of its files in bytes.
 * - `version` (string): The version.
 *
 * `progress` may be null. It is called with `user_data` during this call, on any thread, one call at a time; it returns soon and calls
 * no function of the library that blocks. The members of its argument:
 *
 * - `attempt` (integer): The number of the download that failed, from 1; null for other stages.
 * - `bytes` (integer): How many bytes of the archive have been downloaded or unpacked.
 * - `reason` (string): Why it failed; null for other stages.
 * - `stage` (string): What happens: `downloading` and `unpacking` at the beginning, at each mebibyte and at the end;
 *   `retrying` before a failed download is tried again; `installed` at the end.
 * - `total` (integer): The size of the archive in bytes; null where it is not known.
 *
 * Several processes can install the same plugin at a time: one does, and the others wait for it. A plugin that is installed stays,
 * unless `reinstall` is true. A download is tried five times. Errors: `INVALID_INPUT` for a request that is none; `NOT_FOUND` for a
 * file that does not exist; `UNAVAILABLE` when a download fails; `PLUGIN` for an archive that is damaged, too large, of another checksum or
 * without the plugin. After an error, nothing is installed, and what was installed stays.
 */
sw_status_t sw_engine_plugins(const struct sw_engine_t *engine,
                              struct sw_bytes_view_t request,
                              sw_plugin_progress_t progress,
                              void *user_data,
                              struct sw_bytes_t **answer,
                              struct sw_error_t **error);

/**
 * Returns the document of a plan as a picture: a text in a form of `sw_picture_form_t`. It needs no key: encrypted secrets are masked, and
 * texts outside of them are shown as the document has them. A plan has the new values of the properties that change, and no others.
 */
sw_status_t sw_plan_picture(struct sw_bytes_view_t plan,
                            int32_t form,
                            struct sw_bytes_t **picture,
                            struct sw_error_t **error);

/**
 * Cancels an operation: running steps finish and are recorded. The second call also cancels running calls of
 * providers. Further calls, and calls after the end, have no effect. May be called from callbacks.
 */
sw_status_t sw_operation_cancel(const struct sw_operation_t *operation);

/**
 * Ends the session of an operation that was started with `holdSession`, and waits until it has ended: pending calls
 * fail because the monitor shut down, and the providers are released. For another operation, it waits for the end.
 * Further calls have no effect. Freeing the handle releases the session without waiting.
 */
sw_status_t sw_operation_release(const struct sw_operation_t *operation,
                                 struct sw_error_t **error);

/**
 * Ends the session as `sw_operation_release` does, without waiting; the callback's result has no data.
 */
sw_status_t sw_operation_release_async(const struct sw_operation_t *operation,
                                       sw_callback_t callback,
                                       void *user_data,
                                       struct sw_error_t **error);

/**
 * Frees an operation's handle; the operation continues. Null is ignored.
 */
void sw_operation_free(struct sw_operation_t *operation);

/**
 * Waits for the next event, a line of the reference engine's event log (JSON); null after the last one, which is the
 * cancel event. Every event comes, from the first on, however slow the caller is. One call at a time: another gets
 * `SW_STATUS_MISUSE`. Members that can be absent are marked as optional.
 *
 * EngineEvent:
 *
 * - `cancelEvent` (CancelEvent, optional): The stream ends.
 * - `diagnosticEvent` (DiagnosticEvent, optional): A message.
 * - `policyAnalyzeStackSummaryEvent` (PolicyAnalyzeStackSummaryEvent, optional): A policy pack has analyzed all
 *   resources.
 * - `policyAnalyzeSummaryEvent` (PolicyAnalyzeSummaryEvent, optional): A policy pack has analyzed a resource.
 * - `policyEvent` (PolicyEvent, optional): A policy is violated.
 * - `policyLoadEvent` (PolicyLoadEvent, optional): Policy packs are being loaded.
 * - `policyRemediateSummaryEvent` (PolicyRemediateSummaryEvent, optional): A policy pack has answered what it would
 *   rewrite.
 * - `policyRemediationEvent` (PolicyRemediationEvent, optional): A policy has rewritten inputs.
 * - `preludeEvent` (PreludeEvent, optional): The operation begins.
 * - `progressEvent` (ProgressEvent, optional): A plugin is downloaded or installed.
 * - `resOpFailedEvent` (ResourceFailedEvent, optional): A step has failed.
 * - `resOutputsEvent` (ResourceOutputsEvent, optional): A step has run.
 * - `resourcePreEvent` (ResourcePreEvent, optional): A step is about to run.
 * - `sequence` (integer): Counts from 0 without gaps.
 * - `stdoutEvent` (StdoutEvent, optional): The program wrote to its standard output.
 * - `suggestedMovesEvent` (SuggestedMovesEvent, optional): There are moves that are suggested, or were applied.
 * - `summaryEvent` (SummaryEvent, optional): The work is over.
 * - `timestamp` (integer): When it happened, in seconds since 1970.
 *
 * DiagnosticEvent:
 *
 * - `color` (string): Whether the message has colour codes: `never`.
 * - `ephemeral` (boolean, optional): True for messages about progress, which are not kept.
 * - `message` (string): The text that the reference engine gives the message, with a newline at its end.
 * - `prefix` (string, optional): What precedes the message where it is displayed: `warning: ` for instance.
 * - `severity` (Severity): The severity.
 * - `urn` (string, optional): The URN of the resource that the message is about.
 *
 * PolicyAnalyzeStackSummaryEvent:
 *
 * - `failed` (array of string, optional): Policies that found something.
 * - `passed` (array of string, optional): Policies that found nothing.
 * - `policyPackName` (string): The pack.
 * - `policyPackVersion` (string): The version of the pack; empty when it has none.
 * - `policyPackVersionTag` (string): The same.
 * - `resourceUrn` (string, optional): The URN of the resource; none where all resources were analyzed together.
 *
 * PolicyAnalyzeSummaryEvent:
 *
 * - `failed` (array of string, optional): Policies that found something.
 * - `passed` (array of string, optional): Policies that found nothing.
 * - `policyPackName` (string): The pack.
 * - `policyPackVersion` (string): The version of the pack; empty when it has none.
 * - `policyPackVersionTag` (string): The same.
 * - `resourceUrn` (string, optional): The URN of the resource; none where all resources were analyzed together.
 *
 * PolicyEvent:
 *
 * - `color` (string): Whether the text has colour codes: `never`.
 * - `enforcementLevel` (EnforcementLevel): How strictly the policy is enforced: a violation of an advisory one does
 *   not fail the operation.
 * - `message` (string): The text of the violation, with a newline at its end.
 * - `policyName` (string): The policy.
 * - `policyPackName` (string): Its pack.
 * - `policyPackVersion` (string): The version of the pack; empty when it has none.
 * - `policyPackVersionTag` (string): The same.
 * - `resourceUrn` (string): The URN of the resource; that of the stack where the policy is about all resources.
 * - `severity` (PolicySeverity, optional): How grave the violation is, where the policy has that.
 *
 * PolicyRemediateSummaryEvent:
 *
 * - `failed` (array of string, optional): Policies that found something.
 * - `passed` (array of string, optional): Policies that found nothing.
 * - `policyPackName` (string): The pack.
 * - `policyPackVersion` (string): The version of the pack; empty when it has none.
 * - `policyPackVersionTag` (string): The same.
 * - `resourceUrn` (string, optional): The URN of the resource; none where all resources were analyzed together.
 *
 * PolicyRemediationEvent:
 *
 * - `after` (object of any JSON, optional): The inputs after.
 * - `before` (object of any JSON, optional): The inputs before.
 * - `color` (string): Whether texts have colour codes: `never`.
 * - `policyName` (string): The policy.
 * - `policyPackName` (string): Its pack.
 * - `policyPackVersion` (string): The version of the pack; empty when it has none.
 * - `policyPackVersionTag` (string): The same.
 * - `resourceUrn` (string): The URN of the resource.
 *
 * PreludeEvent:
 *
 * - `config` (object of string): The configuration by `namespace:name`; secret values are `[secret]`.
 *
 * ProgressEvent:
 *
 * - `done` (boolean): Whether it has ended.
 * - `id` (string): The name of the plugin, the same in all of its events.
 * - `message` (string): A text for users.
 * - `received` (integer): The bytes so far.
 * - `total` (integer): All bytes; 0 where that is not known.
 * - `type` (string): What happens: `plugin-download` or `plugin-install`.
 *
 * ResourceFailedEvent:
 *
 * - `metadata` (StepMetadata): The step.
 * - `status` (integer): What is known of the real resource: 0 it is as before, 1 it was changed in part, 2 nothing.
 * - `steps` (integer): How many steps have been run, as the reference engine counts them.
 *
 * ResourceOutputsEvent:
 *
 * - `metadata` (StepMetadata): The step.
 * - `planning` (boolean, optional): True during a preview.
 *
 * ResourcePreEvent:
 *
 * - `metadata` (StepMetadata): The step.
 * - `planning` (boolean, optional): True during a preview.
 *
 * StdoutEvent:
 *
 * - `color` (string): Whether the text has colour codes: `never`.
 * - `message` (string): The text.
 *
 * SuggestedMovesEvent:
 *
 * - `moves` (array of SuggestedMove): The moves, the most probable ones first.
 *
 * SummaryEvent:
 *
 * - `PolicyPacks` (object of string): The policy packs that were asked: by name, the version, or `(local)` for a pack
 *   of the user.
 * - `durationSeconds` (integer): How long the operation took, in whole seconds, rounded up.
 * - `isPreview` (boolean): True for a preview.
 * - `maybeCorrupt` (boolean): True when a provider left the state of a real resource unknown.
 * - `resourceChanges` (object of integer): How many resources each kind of step was applied to.
 * - `result` (Outcome): How the operation ended, as the reference engine counts it: one that was cancelled while its
 *   running calls were left to finish has `failed`.
 *
 * PropertyDifference:
 *
 * - `diffKind` (DiffKind): How it differs.
 * - `inputDiff` (boolean): True when the difference is between old and new inputs, false when between the old state
 *   and new inputs.
 *
 * StateMetadata:
 *
 * - `custom` (boolean, optional): True for resources of a provider, false for components.
 * - `delete` (boolean, optional): True for an old copy that is to be deleted.
 * - `external` (boolean, optional): Whether the resource was only read.
 * - `hideDiffs` (array of string, optional): Paths of properties whose differences are not shown.
 * - `id` (string): The id that the provider gave; empty for components.
 * - `initErrors` (array of string, optional): Why the initialization failed.
 * - `inputs` (object of any JSON): The inputs.
 * - `outputs` (object of any JSON): The outputs.
 * - `parent` (string): The URN of the parent; empty when there is none.
 * - `protect` (boolean, optional): Whether the resource must not be deleted.
 * - `provider` (string): The reference to the provider; empty for components and providers.
 * - `retainOnDelete` (boolean, optional): Whether the provider keeps the resource when it is deleted from the state.
 * - `taint` (boolean, optional): Whether the resource is replaced by the next update.
 * - `type` (string): The type.
 * - `urn` (string): The URN.
 *
 * StepMetadata:
 *
 * - `detailedDiff` (object of PropertyDifference): How each differs, by path; `null` when the provider gave no
 *   details, which is not the same as none.
 * - `diffs` (array of string, optional): The properties that differ.
 * - `keys` (array of string, optional): The properties that force a replacement.
 * - `logical` (boolean, optional): True for steps that count as one change of one resource.
 * - `new` (StateMetadata): The state after; `null` when there is none.
 * - `old` (StateMetadata): The state before; `null` when there is none.
 * - `op` (StepOp): What the step does.
 * - `provider` (string): The reference to the provider; empty for components and providers.
 * - `type` (string): The type of the resource.
 * - `urn` (string): The URN of the resource.
 *
 * Texts with certain values:
 *
 * - DiffKind: add, add-replace, delete, delete-replace, update, update-replace
 * - StepOp: same, create, update, delete, replace, create-replacement, delete-replaced, read, read-replacement,
 *   refresh, discard, discard-replaced, remove-pending-replace, import, import-replacement
 * - StepStatus: planned, succeeded, refused, failed, partially_failed, unknown
 * - Severity: debug, info, info#err, warning, error
 * - EnforcementLevel: advisory, mandatory, remediate, disabled
 * - PolicySeverity: low, medium, high, critical
 * - ImportOutcome: imported, existing, failed, not_tried
 * - ReferenceKind: parent, dependency, property, deletedWith, replaceWith, provider, viewOf
 * - PendingOperationKind: creating, updating, deleting, reading, importing
 * - EditKind: renamed, changed, moved, added, removed
 * - Outcome: succeeded, failed, canceled
 */
sw_status_t sw_operation_next_event(const struct sw_operation_t *operation,
                                    struct sw_bytes_t **event,
                                    struct sw_error_t **error);

/**
 * Gets the next event as `sw_operation_next_event` does, with a callback; its result has no data after the last one.
 */
sw_status_t sw_operation_next_event_async(const struct sw_operation_t *operation,
                                          sw_callback_t callback,
                                          void *user_data,
                                          struct sw_error_t **error);

/**
 * Waits for the next lines that show the operation to a reader: a text of whole lines, which ends with a newline; null after the
 * last one. Secrets are masked. Lines and events are pulled independently: what is pulled first has all from the beginning, the other
 * what is still to come. One call at a time: another gets `SW_STATUS_MISUSE`.
 */
sw_status_t sw_operation_next_output(const struct sw_operation_t *operation,
                                     struct sw_bytes_t **output,
                                     struct sw_error_t **error);

/**
 * Gets the next lines as `sw_operation_next_output` does, with a callback; its result has no data after the last one.
 */
sw_status_t sw_operation_next_output_async(const struct sw_operation_t *operation,
                                           sw_callback_t callback,
                                           void *user_data,
                                           struct sw_error_t **error);

/**
 * Waits until an operation and, unless its session is held, its program has ended.
 *
 * Returns the status of the operation's error. `result` (which may be null) is set in either case, to JSON: `{"outcome":
 * "succeeded"|"failed"|"canceled", "error": null or an object, "changes": {"create": 3}, "hasChanges", "outputs": {…}, "steps":
 * […], "suggestedMoves": […], "diagnostics": […], "duration" (in seconds), "tree" (the steps as a text for display)}`. The outcome is `canceled` where
 * the host cancelled the operation and it ended for that; the summary among the events counts an operation whose running
 * calls were left to finish as failed, as the reference engine does. With `generatePlan` there is a `plan`, too: secrets in
 * it are encrypted, and it can constrain a later operation. The state that the operation left may be large, and is given
 * by `sw_operation_deployment`. The members of an output, by its name in `outputs`; secret values are readable:
 *
 * - `secret` (boolean): Whether the value is secret, or holds a secret.
 * - `value` (any JSON): The value in plain JSON form. Text for display has `[secret]` in place of a secret one.
 *
 * The members of a step:
 *
 * - `changes` (array of PropertyChange): The properties that change in a resource that existed before, with their
 *   values.
 * - `diffs` (array of string): The properties that differ.
 * - `duration` (number): How long it took, in seconds.
 * - `error` (ErrorFacts): The error of a failed step.
 * - `keys` (array of string): The properties that force a replacement.
 * - `name` (string): The name of the resource.
 * - `op` (StepOp): What the step does: `create`, `update`, `delete`, `same`, `replace`, `create-replacement`…
 * - `status` (StepStatus): How the step ended: `planned` in a preview; `refused` where it was not tried (a failed
 *   check, a missing plugin, a duplicate URN, a policy), `failed` where nothing was changed, `partially_failed` where
 *   the resource exists all the same, `unknown` where the effect of the step is not known: the state records a
 *   pending operation.
 * - `type` (string): The type of the resource.
 * - `urn` (string): The URN of the resource.
 *
 * Members of a change:
 *
 * - `kind` (DiffKind): The kind of change.
 * - `new` (any JSON): The value after, likewise.
 * - `old` (any JSON): The value before, in plain JSON form, secrets masked; `null` where there was none, or where it
 *   is not known.
 * - `path` (string): The path of the property: `tags.owner`, `rules[0].port`.
 *
 * Members of a suggested move, which the option `acceptMoves` takes:
 *
 * - `accepted` (boolean): Whether the operation has applied it, because its options accept it.
 * - `alias` (string): The option of the new resource that has the same effect, as source code in the language of the
 *   program: Python, TypeScript or Rust. For programs in other languages, and in C, it is the member `aliases` of the
 *   resource's options as JSON.
 * - `confidence` (number): How sure the suggestion is, from 0 to 1; `null` for a move that the options list although
 *   it is not suggested.
 * - `following` (array of MovedResource): The resources below it, or of its stack, that move with it.
 * - `newUrn` (string): The URN that the program registers, which the update would create.
 * - `oldUrn` (string): The recorded URN, which the update would delete.
 * - `reason` (string): What differs, and what is equal. A change of the provider or of the type is part of it.
 *
 * Members of what follows it:
 *
 * - `newUrn` (string): The URN that the program registers.
 * - `oldUrn` (string): The recorded URN.
 *
 * Members of a diagnostic:
 *
 * - `message` (string): The message to display.
 * - `messageArguments` (object of any JSON): The arguments of a message with a code, by name.
 * - `messageCode` (string): The stable name of the message, where it has one: `target_not_found` for instance.
 * - `referenceMessage` (string): The text that the reference engine gives such a message, for tools that match on it.
 * - `severity` (Severity): The severity.
 * - `urn` (string): The URN of the resource that the message is about.
 *
 * Members of an error:
 *
 * - `class` (string): The class of the kind, which groups kinds by their remedy.
 * - `configKey` (string): The configuration key that is missing or wrong.
 * - `hints` (array of string): What the caller can do, in the style of the caller's language.
 * - `kind` (string): The stable name of the kind: `invalid_input`, `conflict`, `provider`…
 * - `message` (string): The message to display.
 * - `messageArguments` (object of any JSON): The arguments of a message with a code, by name.
 * - `messageCode` (string): The stable name of the message, where it has one: `target_not_found` for instance.
 * - `phase` (string): The phase that failed: `check`, `diff`, `create`…
 * - `provider` (string): The package of the provider that failed.
 * - `reason` (string): The text of the cause.
 * - `referenceMessage` (string): The text that the reference engine gives such a message, for tools that match on it.
 * - `urn` (string): The URN of the resource that failed.
 */
sw_status_t sw_operation_wait(const struct sw_operation_t *operation,
                              struct sw_bytes_t **result,
                              struct sw_error_t **error);

/**
 * Waits as `sw_operation_wait` does, with a callback. The callback's status is `SW_STATUS_OK` also for an operation
 * that failed; the result contains its outcome.
 */
sw_status_t sw_operation_wait_async(const struct sw_operation_t *operation,
                                    sw_callback_t callback,
                                    void *user_data,
                                    struct sw_error_t **error);

/**
 * Returns the result of an operation that has ended, as `sw_operation_wait` does, without waiting; null while it runs.
 */
sw_status_t sw_operation_result(const struct sw_operation_t *operation,
                                struct sw_bytes_t **result,
                                struct sw_error_t **error);

/**
 * Returns the state after an operation, also one that failed or was cancelled, as a deployment document for
 * `sw_stack_import_deployment`, with encrypted secrets. Null while the operation runs, for a preview, and for an
 * operation that failed before it read the state or whose saved state is unknown.
 *
 * The document is written by each call. Never blocks, so callbacks may call it. `SW_STATUS_SECRETS` when the operation
 * could not encrypt its state.
 */
sw_status_t sw_operation_deployment(const struct sw_operation_t *operation,
                                    struct sw_bytes_t **deployment,
                                    struct sw_error_t **error);

/**
 * Returns the resources with what an operation that has ended did, or would do, as a picture: a text in a form of
 * `sw_picture_form_t`, in which secrets are masked. Null while the operation runs. After an operation that failed before
 * it read the state, the picture is empty.
 *
 * The picture is drawn by each call. Never blocks, so callbacks may call it.
 */
sw_status_t sw_operation_picture(const struct sw_operation_t *operation,
                                 int32_t form,
                                 struct sw_bytes_t **picture,
                                 struct sw_error_t **error);

/**
 * Opens a stack, named `project/stack`.
 *
 * `settings` is JSON, or empty: an object with any of these members.
 *
 * - `config` (object of any JSON): The configuration by `namespace:name`, or by name for the project's own: texts,
 *   structures, and secrets. A value that is encrypted already is `{"secure": "v1:…"}`, as files have it.
 * - `create` (boolean): Whether a stack that does not exist is created. Left out, it is created when there is a
 *   program; without one, its first update or import creates it, and operations that only read it fail with
 *   `not_found` until then.
 * - `deployment` (object of any JSON): The state, as a deployment document. The stack lives in memory then, apart
 *   from the engine's store, which may have another stack of the same name: `create` has no effect, there is no
 *   history, and the deployment of a result is all that remains of an operation, also of a failed or cancelled one.
 *   Later operations of the same stack continue from there. `{}` is a new stack. A malformed document fails with
 *   `state`, a wrong passphrase for its secrets with `decrypt`.
 * - `encryptionSalt` (string): The salt of the values of `config` that are encrypted already, as `encryptionsalt` of
 *   the stack's configuration file has it; the engine needs the passphrase. A stack without a state encrypts its own
 *   secrets with it, too. Left out, the configuration is decrypted as the state is.
 * - `languageRuntime` (string): The address of a language runtime that runs the program, in place of one of the host.
 * - `organization` (string): The organization that programs see, `organization` when left out. It is no part of the
 *   stack's name.
 * - `passphrase` (string): Encrypts the stack's secrets, in place of the engine's passphrase. A wrong one fails with
 *   `decrypt` when the stack has secrets.
 * - `programEnvironment` (object of string): Variables of the environment of the program in the folder of `project`,
 *   beside those that plugins inherit.
 * - `project` (string): The folder of a project, with its `Pulumi.yaml`: the stack takes configuration, encryption
 *   salt, the defaults of declared configuration and runtime options from there, again for each operation, and its
 *   name can leave out the project. Values of `config` and `runtimeOptions` replace those of the files. Without a
 *   program of the host, each update runs the one in the folder, in a process of its own. A relative path begins at
 *   the working directory.
 * - `referencePassphrases` (object of string): The passphrases of other stacks by their names (`project/stack`), for
 *   references to them. A stack that is not named here is opened as this one is.
 * - `rootDirectory` (string): The folder of the project, which must exist. Relative paths of assets, and source
 *   positions, are relative to it.
 * - `runtimeOptions` (object of any JSON): The options of the project's runtime by name (`virtualenv`,
 *   `typescript`…), each any JSON. Plugins find them in their environment, as `PULUMI_RUNTIME_NAME`: texts as they
 *   are, other values as JSON. Language runtimes receive the values.
 * - `secrets` (SecretsSettings): The host's own encryption of the stack's secrets, or a key service, in place of the
 *   engine's.
 * - `tags` (object of string): Notes of the host about the stack, by name: a name has at most 40 characters, a value
 *   at most 256.
 *
 * A value of `config` is any JSON; programs read lists and objects as their JSON text. `{"value": "text", "secret": true}` is a
 * secret; one inside a structure is marked as values of resources are; one that is encrypted already is
 * `{"secure": "ciphertext"}`.
 *
 * `secrets` encrypts the stack's secrets with `encrypt_for_stack` of the host's table; its members:
 *
 * - `kind` (string): The name of the encryption in deployments; `host` when left out.
 * - `state` (any JSON): Data that states keep beside the name for later readers; never a key.
 * - `url` (string): The URL of a key (`awskms://alias/shop`). The host's functions then wrap and unwrap data keys
 *   with it, and the engine encrypts.
 *
 * With `deployment`, each operation leaves the new state as `sw_operation_deployment` gives it; the document is checked as
 * `sw_stack_import_deployment` checks it. `program` is run by previews and updates; it may be null when each brings its own, and
 * must be null beside `languageRuntime`. On success it is taken over.
 */
sw_status_t sw_stack_open(const struct sw_engine_t *engine,
                          struct sw_bytes_view_t name,
                          struct sw_bytes_view_t settings,
                          const struct sw_program_t *program,
                          struct sw_stack_t **stack,
                          struct sw_error_t **error);

/**
 * Creates a stack. An existing one is a `CONFLICT` error. Otherwise as `sw_stack_open`, without the setting `create`.
 */
sw_status_t sw_engine_create_stack(const struct sw_engine_t *engine,
                                   struct sw_bytes_view_t name,
                                   struct sw_bytes_view_t settings,
                                   const struct sw_program_t *program,
                                   struct sw_stack_t **stack,
                                   struct sw_error_t **error);

/**
 * Selects an existing stack. For a missing one, the error's hints name similar stacks. Otherwise as `sw_stack_open`,
 * without the setting `create`.
 */
sw_status_t sw_engine_select_stack(const struct sw_engine_t *engine,
                                   struct sw_bytes_view_t name,
                                   struct sw_bytes_view_t settings,
                                   const struct sw_program_t *program,
                                   struct sw_stack_t **stack,
                                   struct sw_error_t **error);

/**
 * Selects a stack, and creates it when it does not exist. Otherwise as `sw_stack_open`, without the setting `create`.
 */
sw_status_t sw_engine_create_or_select_stack(const struct sw_engine_t *engine,
                                             struct sw_bytes_view_t name,
                                             struct sw_bytes_view_t settings,
                                             const struct sw_program_t *program,
                                             struct sw_stack_t **stack,
                                             struct sw_error_t **error);

/**
 * Removes every lock of the stack, for instance those of crashed processes, and sets `count` (which may be null) to
 * their number. Operations that are running are not cancelled.
 */
sw_status_t sw_stack_unlock(const struct sw_stack_t *stack,
                            size_t *count,
                            struct sw_error_t **error);

/**
 * Removes the locks of one owner, `user@host` or `user@host:process` as the error of a locked stack names it, and sets `count` (which
 * may be null) to their number. In a bucket or a database the owner loses its lease, too, so that an operation which still runs writes
 * no more.
 */
sw_status_t sw_stack_break_lock(const struct sw_stack_t *stack,
                                struct sw_bytes_view_t owner,
                                size_t *count,
                                struct sw_error_t **error);

/**
 * Removes the stack and its history from the store. A stack with resources is only removed with `force`. A stack that is locked elsewhere
 * is waited for `wait_for_lock` seconds; 0 is no wait.
 */
sw_status_t sw_stack_remove(const struct sw_stack_t *stack,
                            bool force,
                            double wait_for_lock,
                            struct sw_error_t **error);

/**
 * Frees a stack's handle; its state remains and its operations continue. Null is ignored.
 */
void sw_stack_free(struct sw_stack_t *stack);

/**
 * Analyzes the recorded state with policy packs, without a program, and waits for the result. Neither the state nor a lock is
 * written, and nothing is remediated.
 *
 * `options` is a JSON object with these members, or empty. The members of a policy pack are those that `sw_stack_start` lists.
 *
 * - `callbackTimeout` (number): How long one call of a policy may take, in seconds; 300 by default. One that takes
 *   longer fails the analysis, whose error names the policy.
 * - `localPolicyPacks` (array of PolicyPack): Policy packs of the user.
 * - `requiredPolicies` (array of PolicyPack): Policy packs that an organization requires, which run first.
 *
 * `packs` are `pack_count` packs of the host, as in `sw_operation_functions_t`; null for none.
 *
 * `analysis` is set to a JSON object with these members:
 *
 * - `diagnostics` (array of Diagnostic): Warnings about the state and the settings of packs, and the output of packs.
 * - `passed` (boolean): Whether no mandatory policy is violated.
 * - `policyPacks` (object of string): The packs: by name, the version, or `(local)`.
 * - `resources` (integer): The number of analyzed resources.
 * - `violations` (array of PolicyViolation): The violations: those of each resource, in the order of the state, then
 *   those of all resources together. Secrets in messages are masked.
 *
 * Members of a violation:
 *
 * - `level` (EnforcementLevel): How strictly the policy is enforced.
 * - `message` (string): The message to display.
 * - `name` (string): The name of the resource.
 * - `pack` (string): Its pack.
 * - `packVersion` (string): The version of the pack; empty when it has none.
 * - `policy` (string): The policy.
 * - `severity` (PolicySeverity): The severity, if the policy sets one.
 * - `urn` (string): The URN of the resource; that of the root stack for a policy over all resources.
 */
sw_status_t sw_stack_analyze(const struct sw_stack_t *stack,
                             struct sw_bytes_view_t options,
                             const struct sw_policy_pack_t *const *packs,
                             size_t pack_count,
                             struct sw_bytes_t **analysis,
                             struct sw_error_t **error);

/**
 * Changes the state without a provider, as one change, and gives a report (JSON) of what that did. An edit that changes nothing
 * writes nothing; after an error, the state is as it was.
 *
 * `edit` is a JSON object with one kind of edit, and `dryRun`: `{"rename": {"urn": "urn:pulumi:…", "name": "new"}, "dryRun": true}`.
 * Its members:
 *
 * - `changeSecrets` (ChangeSecretsEdit): Encrypts the secrets with another passphrase, or by another encryption.
 * - `delete` (DeleteEdit): Removes records.
 * - `dryRun` (boolean): Whether nothing is written, and the report has what the edit would do.
 * - `importDeployment` (ImportDeploymentEdit): Replaces the state by a deployment document.
 * - `protect` (RecordSelection): Protects resources from deletion, until the program registers them without
 *   protection.
 * - `rename` (RenameEdit): Gives a resource another name, parent or type.
 * - `renameStack` (RenameStackEdit): Gives the stack another name.
 * - `repair` (RepairEdit): Sorts the records, and removes references to records that do not exist. It has no members.
 * - `restore` (RestoreEdit): Replaces the state by one of the history.
 * - `taint` (RecordSelection): Marks resources for replacement by the next update.
 * - `unprotect` (RecordSelection): Removes the protection.
 * - `untaint` (RecordSelection): Removes these marks.
 * - `waitForLock` (number): How long the edit waits for the stack while an operation or another host has locked it,
 *   in seconds. Left out, it fails at once. A dry run does not lock the stack.
 *
 * Those of `rename`:
 *
 * - `name` (string): The new name; neither empty nor with `::`.
 * - `noParent` (boolean): The resource has no parent afterwards, not even the stack itself.
 * - `parent` (string): The URN of the new parent; that of the stack itself for a resource at the top level.
 * - `type` (string): The new type: `package:module:Member` for resources of providers.
 * - `urn` (string): The URN of the resource.
 *
 * Those of `delete`:
 *
 * - `all` (boolean): All records, in place of URNs.
 * - `dependents` (boolean): The records of everything that depends on them are removed, too: children, dependents,
 *   resources of a provider, and views. Without it, dependents refuse the removal.
 * - `force` (boolean): Protected records are removed, too.
 * - `id` (string): The id of the record, where several have the URN: old copies that are pending deletion.
 * - `urns` (array of string): The URNs of the resources.
 *
 * Those of `protect`, `unprotect`, `taint` and `untaint`:
 *
 * - `all` (boolean): All records, in place of URNs: the stack itself, components, providers and views included.
 * - `urns` (array of string): The URNs of the resources.
 *
 * Those of `restore`:
 *
 * - `passphrase` (string): The passphrase of that state, where the secrets manager of the stack was changed since;
 *   left out, it is the stack's.
 * - `time` (string): The last operation that had ended at this time, in the form of RFC 3339.
 * - `version` (integer): The number of the operation, counted from 1, the oldest.
 *
 * Those of `importDeployment`:
 *
 * - `deployment` (string): The document, as text.
 * - `force` (boolean): Whether a state that is invalid, or another stack's, is accepted.
 *
 * Those of `renameStack`:
 *
 * - `name` (string): The name, `stack` or `project/stack`.
 *
 * Those of `changeSecrets`, whose `secrets` encrypts with `encrypt_for_stack` of the host's table, or has `wrap_key` wrap the data key:
 *
 * - `passphrase` (string): The new passphrase.
 * - `secrets` (SecretsSettings): The host's own encryption, or a key service.
 *
 * Those of the report:
 *
 * - `dryRun` (boolean): Whether it was a dry run, which writes nothing.
 * - `records` (array of EditedRecord): The records that it touched: those of the state in its order, then removed
 *   ones, then those of pending operations. None for an edit that changes none.
 * - `settings` (string): What it did to the settings file of the stack: `renamed`, or `encrypted` with the new key.
 * - `text` (string): The report as text for users: each record with the references that it lost, and the warnings.
 * - `warnings` (array of string): What the user should know.
 *
 * Those of a record in it:
 *
 * - `fields` (array of string): The fields that differ, by their names in the deployment format.
 * - `formerUrn` (string): Its URN before the edit, where that is another one.
 * - `kind` (EditKind): What happened to it.
 * - `pendingDeletion` (boolean): Whether it is an old copy that is pending deletion.
 * - `pendingOperation` (PendingOperationKind): The kind of the pending operation to which it belongs; `null` for a
 *   record of the state.
 * - `removedReferences` (array of RemovedReference): The references that are gone.
 * - `urn` (string): Its URN after the edit; that of a removed record before it.
 *
 * An unknown URN is a `NOT_FOUND` error with the nearest ones as hints; what protection, dependents or an existing resource refuse
 * is `CONFLICT`. A handle of a renamed stack keeps the former name, and one whose encryption was changed the
 * former key: the engine opens the stack with the new one. The history keeps the former key, which `restore` takes.
 */
sw_status_t sw_stack_edit(const struct sw_stack_t *stack,
                          struct sw_bytes_view_t edit,
                          struct sw_bytes_t **report,
                          struct sw_error_t **error);

/**
 * Moves resources, and all below them, to another stack of this or another engine, and gives a report (JSON) of what that did to
 * both. No provider is called. After an error, both states are as they were.
 *
 * `edit` is a JSON object: `{"move": {"urns": ["urn:pulumi:…"]}, "dryRun": true}`. Its members:
 *
 * - `dryRun` (boolean): Whether nothing is written, and the report has what the move would do.
 * - `move` (MoveEdit): The resources.
 * - `waitForLock` (number): How long the move waits for both stacks while an operation or another host has locked
 *   one, in seconds. Left out, it fails at once. A dry run does not lock the stacks.
 *
 * Those of `move`:
 *
 * - `includeParents` (boolean): The parents of the resources move, too, up to the stack itself, and everything below
 *   them.
 * - `urns` (array of string): The URNs of the resources; that of the stack itself selects all below it. Providers
 *   cannot be named: they are copied where they are needed.
 *
 * Those of the report, each as `sw_stack_edit` gives it:
 *
 * - `destination` (EditReport): The stack that has them now. Records that came from the source have their URNs there
 *   as former ones.
 * - `source` (EditReport): The stack that had the resources: they are removed, and other records lose their
 *   references to them.
 * - `text` (string): The reports of both stacks as text for users.
 *
 * The providers of the resources are copied, unless the destination has them already. A resource whose parent stays is below the
 * destination itself. References between resources that move and others are removed, which the report names. Secrets are encrypted
 * with the key of the destination, and pending operations of the resources move, too.
 *
 * An unknown URN is a `NOT_FOUND` error with the nearest ones as hints; a resource or a provider that the destination has already is
 * `CONFLICT`, and so is an operation that runs on one of both stacks. When the process ends during the move, the next opening of
 * either stack finishes or forgets it.
 */
sw_status_t sw_stack_move_resources(const struct sw_stack_t *stack,
                                    const struct sw_stack_t *destination,
                                    struct sw_bytes_view_t edit,
                                    struct sw_bytes_t **report,
                                    struct sw_error_t **error);

/**
 * Returns the pending operations as a JSON array: what an interrupted run has begun, and whose outcome is not known. Secret
 * values are `[secret]` unless they are to be shown. The members of a pending operation:
 *
 * - `id` (string): The id by which the pending operation is adopted, read or forgotten. It stays the same while
 *   others come and go; where several are equal in kind, URN and id of the resource, they have new ids once one of
 *   them is gone.
 * - `inProgress` (boolean): Whether the process that holds the stack's lock may be executing it.
 * - `inputs` (object of OutputValue): The inputs of the resource by name.
 * - `kind` (PendingOperationKind): The kind of the change.
 * - `name` (string): The name of the resource.
 * - `resourceId` (string): The id of the resource; empty when it is not known, as for most creations.
 * - `type` (string): The type of the resource.
 * - `urn` (string): The URN of the resource.
 */
sw_status_t sw_stack_pending(const struct sw_stack_t *stack,
                             bool show_secrets,
                             struct sw_bytes_t **pending,
                             struct sw_error_t **error);

/**
 * Starts an operation that records the resource of a pending operation: its provider reads it, and the operation is no longer
 * pending.
 *
 * `pending` is the id of the pending operation; `resource_id` is that of the resource, or empty for the one that the pending
 * operation has. With `replace`, a record of another resource with the same URN is replaced: that resource stays as it is, and is
 * not managed any more. Without it, such a record fails the operation with a `CONFLICT` error. `options` are those of
 * `sw_stack_start`.
 */
sw_status_t sw_stack_adopt_pending(const struct sw_stack_t *stack,
                                   struct sw_bytes_view_t pending,
                                   struct sw_bytes_view_t resource_id,
                                   bool replace,
                                   struct sw_bytes_view_t options,
                                   struct sw_operation_t **operation,
                                   struct sw_error_t **error);

/**
 * Reads the resource of a pending operation without recording it, and returns it as a JSON object with the members that
 * `sw_stack_resources` lists, or as `null` when it does not exist. The ids are as for `sw_stack_adopt_pending`.
 */
sw_status_t sw_stack_read_pending(const struct sw_stack_t *stack,
                                  struct sw_bytes_view_t pending,
                                  struct sw_bytes_view_t resource_id,
                                  bool show_secrets,
                                  struct sw_bytes_t **resource,
                                  struct sw_error_t **error);

/**
 * Removes a pending operation from the state, and returns it as a JSON object with the members that `sw_stack_pending` lists.
 * With `dry_run`, it stays. A stack that is locked elsewhere is waited for `wait_for_lock` seconds; 0 is no wait.
 */
sw_status_t sw_stack_forget_pending(const struct sw_stack_t *stack,
                                    struct sw_bytes_view_t pending,
                                    bool dry_run,
                                    double wait_for_lock,
                                    struct sw_bytes_t **forgotten,
                                    struct sw_error_t **error);

/**
 * Starts an operation without waiting for it. `kind` is one of `sw_operation_kind_t`.
 *
 * `options` is JSON, or empty: an object with any of these members.
 *
 * - `acceptMoves` (boolean or array of object): Moves that an update, or a preview of one, applies as aliases: `true`
 *   for all suggestions with a confidence of at least 0.7, or a list of moves, each with the recorded URN and the new
 *   one. A list can have suggestions that are less probable, and moves that nothing suggests: the update must delete
 *   the one and create the other. The update is previewed first to find the moves, so that the program runs twice;
 *   with `true` again, eight times at most, where further moves can show when others are applied. The result lists
 *   the suggestions that were not accepted, too. A move that does not fit (any more) is refused before anything
 *   changes.
 * - `allowEmpty` (boolean): Whether an update may delete every resource because its program registered none (the
 *   stack and default providers do not count). Without it such an update is refused before anything is deleted, and a
 *   preview warns: most often the program is a module that an earlier operation has imported already, so that it does
 *   not run again.
 * - `callbackTimeout` (number): How long one call of a transform, a hook or a policy may take, in seconds; 300 by
 *   default. One that takes longer has failed, and is cancelled. A transform may return outputs of other resources:
 *   the time in which the operation works on others does not count for it. Error hooks that wait before they ask for
 *   a retry need more than their longest delay.
 * - `clearPendingCreates` (boolean): Drops interrupted creations from the state when the operation has succeeded.
 *   Left out, they stay pending, because whether they created anything is not known.
 * - `continueOnError` (boolean): A failed step stops only the steps that depend on it.
 * - `debug` (boolean): Includes diagnostics of the severity `debug` in the events.
 * - `destroyProgram` (boolean): A destroy runs the program, which determines how providers are configured. Then
 *   everything is deleted, the resources that the program registers included.
 * - `disableOutputValues` (boolean): Does not announce output values to programs.
 * - `disableProviderPreview` (boolean): Previews show inputs as outputs, and never call Create and Update of a
 *   package's provider.
 * - `disableRefreshBeforeUpdate` (boolean): An update does not first read the resources whose providers require that.
 *   `refresh` reads them all the same.
 * - `disableResourceReferences` (boolean): Does not announce resource references to programs.
 * - `dryRun` (boolean): Computes the steps without running them: nothing is created, changed, deleted or written.
 * - `excludeDependents` (boolean): Resources that depend on an excluded one are excluded, too. Without `excludes` it
 *   has no effect.
 * - `excludeProtected` (boolean): A destroy leaves protected resources as they are, with all that their records refer
 *   to. Which these are is decided under the stack's lock. It cannot be combined with `targets` or `excludes`; other
 *   operations refuse it.
 * - `excludes` (array of string): URNs of resources that the operation leaves as they are, globs as in `targets`.
 *   Without effect beside targets.
 * - `expectNoChanges` (boolean): Fails the operation when it has changed a resource, or a preview when it would
 *   change one: the error has the kind `failed`, and names the changes. An update has made and recorded them by then;
 *   a preview makes none.
 * - `experimental` (boolean): Accepted without effect: no behaviour depends on it.
 * - `generatePlan` (boolean): Records the steps as a plan, with its document. Left out, previews of updates keep a
 *   plan without a document, which can constrain an update of the same process; `false` keeps none.
 * - `holdSession` (boolean): Keeps the monitor and the providers after the result, until the operation is released or
 *   its last handle is dropped. Registrations that failed or came too late stay unanswered until then.
 * - `ignoreProtect` (boolean): Deletes and replaces protected resources, too.
 * - `importPendingCreates` (object of string): The ids of resources that interrupted creations have made, by URN.
 *   Each is read and recorded before the operation does anything else, and its creation is no longer pending. An id
 *   that its provider does not know fails the operation, as does one whose URN has another record; a URN without an
 *   interrupted creation is a warning.
 * - `localPolicyPacks` (array of PolicyPack): Policy packs of the user, which run after the required ones.
 * - `message` (string): A note for the history.
 * - `noEvents` (boolean): Emits events only while a listener is attached: a later listener does not receive earlier
 *   events.
 * - `parallel` (integer): How many calls of Create, Update, Delete and Read run at a time, those of refreshes and
 *   imports included; 0 is the default of 16, 2147483647 no limit. Of Check and Diff, 16 times as many run. The limit
 *   is strict, except for providers whose calls may wait for later registrations: see `waitsForRegistrations`.
 *   Invokes do not count.
 * - `parallelDiff` (boolean): Accepted without effect: Check and Diff of different resources always run at the same
 *   time.
 * - `plan` (object of any JSON or string): The plan that constrains an update, a destroy, or a preview of one: the
 *   result of a preview, or a plan's document. Steps, inputs and options that the plan does not foresee are refused
 *   before a provider is called, and fail the operation. Plans do not record the options `retainOnDelete`,
 *   `deletedWith`, `replaceOnChanges` and `hideDiffs` of resources, nor plain reads: these may differ.
 * - `refresh` (boolean): Reads every resource before an update or a destroy. Left out, the project file decides
 *   (`options.refresh`).
 * - `refreshProgram` (boolean): A refresh runs the program: each resource is read when the program registers it, by a
 *   provider with the program's configuration; the others are read at the end. With `refresh`, an update, or a
 *   destroy that runs its program, reads each resource when the program registers it, instead of all of them first.
 * - `replaceTargets` (array of string): URNs of resources that are replaced, whether they differ or not; globs as in
 *   `targets`.
 * - `requiredPolicies` (array of PolicyPack): Policy packs that an organization requires. Where a program runs, each
 *   resource is checked by them.
 * - `runId` (string): The id of this run: up to 128 letters, digits, `.`, `_` and `-`, or two such texts with a `/`
 *   between them, the id of a set of runs and that of one of them. It is recorded in the lock and in the history. An
 *   operation whose id one of the eight newest records of the stack's history has is not run again: its recorded
 *   result is returned, without steps, and another kind of operation with that id is refused. One with the id of an
 *   operation that still runs waits for its end first. Where nothing shows whether that one still runs (the store has
 *   no leases, and only a lock file names its process, of another host or before a restart of this one), it waits for
 *   `waitForLock`, a minute when left out, and fails with `conflict` then: the error states what frees the stack. So
 *   an operation whose answer was lost can be requested again, from any host. Operations of a set, or with the id
 *   itself, end when that is cancelled in the store. A preview has no record, and runs each time.
 * - `showSecrets` (boolean): Keeps secret values in the inputs and outputs of events: as secrets whose `ciphertext`
 *   is the base64 of their JSON text, as the `b64` secrets manager has them. Left out, they are `[secret]`.
 * - `skipPluginPreInstall` (boolean): Installs plugins only when they are needed. Left out, an engine with an
 *   installer installs in advance what the state's providers need, and what the program's language runtime requires.
 * - `snippets` (array of object of any JSON): Not supported: an operation with it is refused before it begins.
 *   Snippets are pieces of program in PCL beside the program. Snippets of a state are kept by operations that run no
 *   program; one that runs a program is refused while the state has any, because their resources would not be
 *   registered, and so deleted.
 * - `strict` (boolean): Previews an update or a destroy first, where no plan is given, and constrains it by the
 *   result.
 * - `targetDependents` (boolean): Resources that depend on a target are targets, too. Without `targets` it has no
 *   effect.
 * - `targetSnippets` (array of any JSON): Not supported: an operation with it is refused before it begins. The only
 *   snippets that the operation works on.
 * - `targets` (array of string): URNs of the only resources that the operation works on. In a glob, `*` matches any
 *   text without a colon and `**` any text. A resource that is not selected keeps its record (a component still
 *   publishes outputs), or is not created: its outputs are unknown then. Providers and the stack itself are always
 *   selected. A target that matches no resource fails the operation.
 * - `timeout` (number): How long the operation may take, in seconds. When it takes longer, it is cancelled: running
 *   steps complete, and no other begins. Calls of providers and policies that have not ended 30 seconds later are
 *   given up, so that their outcome is unknown; transforms and hooks are at once. The error, of the kind `cancelled`,
 *   states the timeout and names such calls. Left out, there is no limit.
 * - `traceparent` (string): The span of the caller that the operation is within, where the engine exports spans: the
 *   header `traceparent` of W3C Trace Context. Left out, in Python and Node it is the current span of OpenTelemetry,
 *   and elsewhere there is none.
 * - `unfinishedStacks` (array of string): The names of stacks (`project/stack`) that are being changed: a program
 *   that reads the outputs of one fails at once, and the result names the stack. Those of a set that runs on several
 *   hosts, for instance, which runs such a program again when the stack has ended.
 * - `useLegacyDiff` (boolean): Compares inputs before providers are called for a diff.
 * - `useLegacyRefreshDiff` (boolean): A refresh reports the differences of outputs, without calling providers for a
 *   diff.
 * - `waitForLock` (number): How long the operation waits for the stack while another one has locked it, in seconds.
 *   Left out, it fails at once. The error, of the kind `conflict`, names the host, the process, the user and the
 *   operation of the holder. A preview does not lock the stack.
 * - `waitsForRegistrations` (boolean): Calls of every provider may wait for the effect of a later registration or
 *   step. Left out, that holds for providers and plugins that declare it. When all calls that `parallel` allows stand
 *   still while others queue, some of them no longer count, so that more than `parallel` run.
 *
 * Members of a policy pack:
 *
 * - `address` (string): The address at which the pack's analyzer listens: `host:port`, or an `http` URL. Left out,
 *   the engine's resolver is asked for an `analyzer` of this name and version, with path and settings; one without an
 *   answer leaves it to the path.
 * - `checksums` (object of string): Hex checksums by platform, for the resolver.
 * - `config` (object of any JSON): Settings by policy, and for `all`: an enforcement level (`advisory`, `mandatory`,
 *   `remediate`, `disabled`), or an object with `enforcementLevel` and the members of the policy's own schema.
 * - `downloadUrl` (string): The address from which the pack can be downloaded, for the resolver.
 * - `name` (string): The name of the pack, in requests to the resolver and in errors. Defaults to the path.
 * - `path` (string): The folder of the pack, with its `PulumiPolicy.yaml`. Without an address, and when the engine's
 *   resolver names none, the engine starts the pack. A relative path begins at the project's folder.
 * - `version` (string): The required version; any, when left out.
 *
 * `program` is run in place of the stack's; it may be null. A refresh runs a program only with `refreshProgram`, a
 * destroy only with `destroyProgram`. On success the library owns its `user_data`. An operation that cannot begin
 * fails in `sw_operation_wait`.
 */
sw_status_t sw_stack_start(const struct sw_stack_t *stack,
                           int32_t kind,
                           struct sw_bytes_view_t options,
                           const struct sw_program_t *program,
                           struct sw_operation_t **operation,
                           struct sw_error_t **error);

/**
 * Starts an operation as `sw_stack_start` does, with functions of the host; `functions` may be null. The handles of policy
 * packs can be freed from then on.
 */
sw_status_t sw_stack_start_with(const struct sw_stack_t *stack,
                                int32_t kind,
                                struct sw_bytes_view_t options,
                                const struct sw_operation_functions_t *functions,
                                struct sw_operation_t **operation,
                                struct sw_error_t **error);

/**
 * Starts an import without waiting for it: existing resources are read from their providers, and recorded as managed from
 * then on. With `dryRun` among the options nothing is written.
 *
 * `request` is JSON: an object with any of these members.
 *
 * - `file` (object of any JSON): An import file of the reference engine, in place of the members above.
 * - `generateCode` (boolean): Whether the result has source code of the imported resources; `true` when left out. For
 *   code of the Pulumi SDKs the provider of each package is asked for its schema.
 * - `nameTable` (object of string): URNs of recorded resources by names, which `parent` and `provider` can have.
 * - `protect` (boolean): Whether each imported resource is protected, so that an update or a destroy does not delete
 *   it; `true` when left out.
 * - `providerInputs` (object of object of any JSON): The configuration of providers of `nameTable` that are not
 *   recorded, by name. An input of the provider among `resources` is the better place.
 * - `resources` (array of ImportResource): The resources, in any order: parents and providers may follow.
 *
 * Members of a resource to import:
 *
 * - `component` (boolean): Whether it is a component, which is recorded without a call of a provider.
 * - `extension` (ImportExtension): An extension that the resource needs. Where the package of its type is the
 *   extension itself, `provider` is one of the package that is extended.
 * - `id` (string): The id by which the provider finds it. Components and providers have none.
 * - `inputs` (object of any JSON): Inputs that complete those that the provider returns, and never replace them.
 *   Those of a provider are its configuration. Secrets may be encrypted by the stack's secrets manager, as a state
 *   has them.
 * - `logicalName` (string): The name in the URN, where it is not `name`.
 * - `name` (string): The name for references of other resources to it and in source code; that of the URN, too, where
 *   `logicalName` is left out.
 * - `outputs` (object of any JSON): The outputs, as a state has them. The provider is not asked for the resource
 *   then: its inputs are `inputs`.
 * - `parameterization` (ImportParameterization): The parameter by which another plugin serves the package, whose
 *   version `version` is.
 * - `parent` (string): The parent: the name of another resource of the import, of `nameTable` or of a recorded
 *   resource, in this order, or a URN. A name that several recorded resources have is refused. Left out, it is the
 *   stack.
 * - `pluginDownloadUrl` (string): The address from which the plugin of the default provider is installed.
 * - `properties` (array of string): The names of the inputs to keep; left out, all that the provider returns.
 * - `provider` (string): The provider, likewise. Left out, it is the default provider of the package, also below a
 *   parent with another one.
 * - `remote` (boolean): Whether its provider constructs the component.
 * - `type` (string): The type token: `package:module:member`. The type of a provider is `pulumi:providers:package`:
 *   it is created, with `inputs` as its configuration.
 * - `version` (string): The version of the package that the default provider has; left out, the newest that the state
 *   has.
 *
 * Members of a parameterization:
 *
 * - `pluginName` (string): The name of the plugin.
 * - `pluginVersion` (string): The version of the plugin.
 * - `value` (string): The parameter, in base64.
 *
 * Members of an extension:
 *
 * - `name` (string): The name of the extension.
 * - `value` (string): Its value, in base64.
 * - `version` (string): Its version.
 *
 * `options` is JSON, or empty, as for `sw_stack_start`. The member `imported` of the result:
 *
 * - `code` (ImportCode): Programs that declare the imported resources.
 * - `configuration` (object of string): The values of the configuration that the programs read, as texts by key: the
 *   secrets among the inputs. One that is no text is its JSON.
 * - `resources` (array of ImportedResource): The requested resources, in the order of the request.
 *
 * Members of an imported resource, whose values have the plain JSON form:
 *
 * - `error` (ErrorFacts): Why it was not imported.
 * - `id` (string): The id; empty for components.
 * - `inputs` (object of any JSON): The inputs, as they are recorded. Secrets are marked.
 * - `name` (string): The name in the request.
 * - `outcome` (ImportOutcome): What has become of it: `imported` (in a preview: it can be), `existing` where it was
 *   recorded before, `failed`, or `not_tried` because its parent or its provider failed.
 * - `outputs` (object of any JSON): The outputs, as they are recorded. Secrets are marked.
 * - `parent` (string): The URN of its parent; none for a child of the stack.
 * - `protect` (boolean): Whether it is protected.
 * - `provider` (string): The reference of its provider; empty for providers and components.
 * - `type` (string): The type.
 * - `urn` (string): The URN.
 *
 * Members of the source code:
 *
 * - `c` (string): A program of this library for C.
 * - `python` (string): A program of this library for Python; empty where no code was requested, as all others.
 * - `rust` (string): A program of this library for Rust.
 * - `sdkPython` (string): A program of the Pulumi SDK for Python, where the provider of a package serves its schema;
 *   it has the resources of such packages alone.
 * - `sdkTypescript` (string): A program of the Pulumi SDK for TypeScript, likewise.
 * - `typescript` (string): A program of this library for Node: TypeScript that is JavaScript, too.
 */
sw_status_t sw_stack_import_resources(const struct sw_stack_t *stack,
                                      struct sw_bytes_view_t request,
                                      struct sw_bytes_view_t options,
                                      struct sw_operation_t **operation,
                                      struct sw_error_t **error);

/**
 * Returns the state as a deployment document (JSON). Its secrets are encrypted, and in plain text with `show_secrets`.
 */
sw_status_t sw_stack_export_deployment(const struct sw_stack_t *stack,
                                       bool show_secrets,
                                       struct sw_bytes_t **deployment,
                                       struct sw_error_t **error);

/**
 * Gives the stack's outputs as a JSON object by name. Secret values are `[secret]` unless they are to be shown. The members of
 * an output:
 *
 * - `secret` (boolean): Whether the value is secret, or holds a secret.
 * - `value` (any JSON): The value in plain JSON form. Text for display has `[secret]` in place of a secret one.
 */
sw_status_t sw_stack_outputs(const struct sw_stack_t *stack,
                             bool show_secrets,
                             struct sw_bytes_t **outputs,
                             struct sw_error_t **error);

/**
 * Returns the history as a JSON array of the reference engine's records, newest first. The `version` of a record is the number by
 * which `restore` of `sw_stack_edit` takes it, counted from 1, the oldest.
 */
sw_status_t sw_stack_history(const struct sw_stack_t *stack,
                             struct sw_bytes_t **history,
                             struct sw_error_t **error);

/**
 * Returns a page of the history, as `sw_stack_history` does. Pages have `limit` records, and are counted from 1; with the
 * limit 0, the first page has all records. Records of other pages are not read.
 */
sw_status_t sw_stack_history_page(const struct sw_stack_t *stack,
                                  size_t limit,
                                  size_t page,
                                  struct sw_bytes_t **history,
                                  struct sw_error_t **error);

/**
 * Returns the recorded resources as a JSON array, each after those that it refers to. Secret values are `[secret]` unless they
 * are to be shown. While an operation runs, that is the state as it was recorded when it was read. The members of a resource:
 *
 * - `additionalSecretOutputs` (array of string): The names of outputs that are secret by its options.
 * - `created` (string): When it was created, in the form of RFC 3339.
 * - `custom` (boolean): Whether a provider manages it; components and the stack itself are not custom.
 * - `delete` (boolean): Whether it is an old copy that waits for its deletion.
 * - `deletedWith` (string): The URN of the resource whose deletion makes its own unnecessary.
 * - `dependencies` (array of string): The URNs of the resources that it depends on as a whole.
 * - `external` (boolean): Whether it is only read, and managed elsewhere.
 * - `id` (string): The id that its provider gave it; empty for components, and for the stack itself.
 * - `ignoreChanges` (array of string): The paths of inputs whose changes are ignored.
 * - `importId` (string): The id that its program imported it by; empty when it was not.
 * - `initErrors` (array of string): What has failed in its initialization; empty when it succeeded.
 * - `inputs` (object of OutputValue): The inputs by name, as its provider checked them.
 * - `modified` (string): When it was last changed, likewise.
 * - `name` (string): The name.
 * - `outputs` (object of OutputValue): The outputs by name.
 * - `parent` (string): The URN of its parent.
 * - `pendingReplacement` (boolean): Whether it was deleted for a replacement that has not been created yet.
 * - `propertyDependencies` (object of array of string): The URNs of the resources that its inputs depend on, by the
 *   names of the inputs.
 * - `protect` (boolean): Whether its deletion is refused.
 * - `provider` (string): The reference of its provider, `urn::id`; empty for components and providers.
 * - `replaceWith` (array of string): The URNs of the resources with which it is replaced.
 * - `retainOnDelete` (boolean): Whether its deletion keeps the real resource.
 * - `sourcePosition` (string): Where its program registered it, as `file:///…#line,column`.
 * - `taint` (boolean): Whether the next update replaces it.
 * - `type` (string): The type.
 * - `urn` (string): The URN. Only an old copy that waits for its deletion shares it with another record.
 * - `viewOf` (string): The URN of the resource that it is a view of.
 *
 * Members of an input or output:
 *
 * - `secret` (boolean): Whether the value is secret, or holds a secret.
 * - `value` (any JSON): The value in plain JSON form. Text for display has `[secret]` in place of a secret one.
 */
sw_status_t sw_stack_resources(const struct sw_stack_t *stack,
                               bool show_secrets,
                               struct sw_bytes_t **resources,
                               struct sw_error_t **error);

/**
 * Returns the record of a URN as a JSON object with the members that `sw_stack_resources` lists. An unknown one is a
 * `NOT_FOUND` error, whose hints name the most similar URNs.
 */
sw_status_t sw_stack_resource(const struct sw_stack_t *stack,
                              struct sw_bytes_view_t urn,
                              bool show_secrets,
                              struct sw_bytes_t **resource,
                              struct sw_error_t **error);

/**
 * Returns the recorded resources and the references between them as a JSON object with these members:
 *
 * - `edges` (array of GraphEdge): The references, in the order of the resources that refer.
 * - `nodes` (array of GraphNode): The resources: each stands after all that it refers to.
 *
 * Members of a node:
 *
 * - `delete` (boolean): Whether it is an old copy that waits for its deletion. It can have the URN of another node.
 * - `id` (string): The id that its provider gave it; empty for components.
 * - `name` (string): The name.
 * - `type` (string): The type.
 * - `urn` (string): The URN.
 *
 * Members of an edge:
 *
 * - `kind` (ReferenceKind): The kind of the reference.
 * - `property` (string): The name of the input that depends on the other resource, for the kind `property`.
 * - `source` (integer): The position of the resource that refers, among the nodes.
 * - `target` (integer): The position of the resource that it refers to, which is lower.
 */
sw_status_t sw_stack_graph(const struct sw_stack_t *stack,
                           struct sw_bytes_t **graph,
                           struct sw_error_t **error);

/**
 * Returns the recorded resources as a picture: a text in a form of `sw_picture_form_t`, in which secrets are masked.
 */
sw_status_t sw_stack_picture(const struct sw_stack_t *stack,
                             int32_t form,
                             struct sw_bytes_t **picture,
                             struct sw_error_t **error);

/**
 * Replaces the state by a deployment document. An invalid one is an error, and the state is unchanged.
 */
sw_status_t sw_stack_import_deployment(const struct sw_stack_t *stack,
                                       struct sw_bytes_view_t deployment,
                                       struct sw_error_t **error);

/**
 * Returns the tags that are kept with the stack as a JSON object by name. Those of the setting `tags` are not among them.
 */
sw_status_t sw_stack_list_tags(const struct sw_stack_t *stack,
                               struct sw_bytes_t **tags,
                               struct sw_error_t **error);

/**
 * Sets a tag that is kept with the stack, where the reference engine keeps it.
 */
sw_status_t sw_stack_set_tag(const struct sw_stack_t *stack,
                             struct sw_bytes_view_t name,
                             struct sw_bytes_view_t value,
                             struct sw_error_t **error);

/**
 * Removes a tag, and sets `existed` (which may be null) to whether there was one.
 */
sw_status_t sw_stack_remove_tag(const struct sw_stack_t *stack,
                                struct sw_bytes_view_t name,
                                bool *existed,
                                struct sw_error_t **error);

/**
 * Opens the project of a folder. A relative path begins at the working directory. A folder without a project file is a
 * `NOT_FOUND` error.
 *
 * A stack takes its settings from a project when its setting `project` is the path of the folder.
 */
sw_status_t sw_project_open(const struct sw_engine_t *engine,
                            struct sw_bytes_view_t folder,
                            struct sw_project_t **project,
                            struct sw_error_t **error);

/**
 * Returns the content of the project file as JSON. Its members:
 *
 * - `author` (string): The author.
 * - `backendUrl` (string): The URL of the store of states. The engine's own store is used all the same.
 * - `config` (array of ConfigDeclaration): The declared configuration, in the order of the file.
 * - `description` (string): The description.
 * - `document` (object of any JSON): The whole file, as plain JSON.
 * - `folder` (string): The folder of the file.
 * - `license` (string): The license.
 * - `main` (string): The path of the program, relative to the folder.
 * - `name` (string): The name.
 * - `packages` (any JSON): Packages by name, as written.
 * - `path` (string): The path of the file.
 * - `plugins` (any JSON): Plugins at fixed paths, as written.
 * - `refresh` (string): `always` when updates and destroys refresh first.
 * - `requiredVersion` (string): The versions of the reference engine that the project admits. They are not compared.
 * - `runtime` (string): The language of the program: `python`, `nodejs`…
 * - `runtimeOptions` (object of any JSON): The options of the language's runtime, by name.
 * - `stackConfigDir` (string): The folder of the settings files of stacks, relative to the folder.
 * - `template` (any JSON): The template that the project was made from, as written.
 * - `website` (string): The website.
 *
 * Members of a declaration:
 *
 * - `default` (any JSON): The value of stacks that do not set the key.
 * - `description` (string): The description.
 * - `key` (string): The key, as `namespace:name`.
 * - `secret` (boolean): Whether stacks must encrypt the value.
 * - `type` (string): The type: `string`, `integer`, `number`, `boolean`, `object`, `array` or `array<string>`; any
 *   when left out.
 * - `value` (any JSON): The same, for keys of other namespaces.
 */
sw_status_t sw_project_facts(const struct sw_project_t *project,
                             struct sw_bytes_t **facts,
                             struct sw_error_t **error);

/**
 * Sets the value at a path of the project file (`description`, `template.config.region`); `value` is JSON. A change after which
 * the file would be no project file is refused.
 */
sw_status_t sw_project_set(const struct sw_project_t *project,
                           struct sw_bytes_view_t path,
                           struct sw_bytes_view_t value,
                           struct sw_error_t **error);

/**
 * Removes the value at a path of the project file, and sets `existed` (which may be null) to whether there was one.
 */
sw_status_t sw_project_remove(const struct sw_project_t *project,
                              struct sw_bytes_view_t path,
                              bool *existed,
                              struct sw_error_t **error);

/**
 * Returns the settings of a stack apart from its configuration as JSON. `stack` is its name, with or without the project. The
 * members:
 *
 * - `encryptedKey` (string): The data key, encrypted by the key service.
 * - `encryptionSalt` (string): The salt of the passphrase, with a value to check it.
 * - `environment` (any JSON): The imported environments, as written. A stack that imports some is not opened.
 * - `exists` (boolean): Whether there is such a file.
 * - `path` (string): The path of the file.
 * - `secretsProvider` (string): The kind of the secrets manager: `passphrase`, `default`, or the URL of a key
 *   service.
 */
sw_status_t sw_project_settings(const struct sw_project_t *project,
                                struct sw_bytes_view_t stack,
                                struct sw_bytes_t **settings,
                                struct sw_error_t **error);

/**
 * Returns the value at a path of a stack's configuration (`size`, `aws:tags["a"].b[0]`) as JSON, decrypted. Keys without a
 * namespace are the project's own. `passphrase` takes the place of the engine's; empty for that one. The members:
 *
 * - `objectValue` (any JSON): The structure. Left out for a single value, and for a secret that is not shown.
 * - `secret` (boolean): Whether the value is secret, or holds a secret.
 * - `value` (string): The text that programs read; that of a structure is JSON. Left out for a secret that is not
 *   shown.
 */
sw_status_t sw_project_get_config(const struct sw_project_t *project,
                                  struct sw_bytes_view_t stack,
                                  struct sw_bytes_view_t path,
                                  struct sw_bytes_view_t passphrase,
                                  struct sw_bytes_t **entry,
                                  struct sw_error_t **error);

/**
 * Returns a stack's configuration as a JSON object by key, with the defaults of declared keys. Secrets have no value unless they
 * are to be shown; the members of a value are those of `sw_project_get_config`.
 */
sw_status_t sw_project_list_config(const struct sw_project_t *project,
                                   struct sw_bytes_view_t stack,
                                   bool show_secrets,
                                   struct sw_bytes_view_t passphrase,
                                   struct sw_bytes_t **entries,
                                   struct sw_error_t **error);

/**
 * Sets values of a stack's configuration, in one write. `values` is a JSON object by path; a value is as in the setting `config`
 * of `sw_stack_open`, so that `{"value": "text", "secret": true}` is a secret. The file gets the salt of the stack's state, or a
 * new one, when it has a first secret. A value of a key that is declared as secret is encrypted in any case, unless it has
 * `"secret": false`.
 */
sw_status_t sw_project_set_all_config(const struct sw_project_t *project,
                                      struct sw_bytes_view_t stack,
                                      struct sw_bytes_view_t values,
                                      struct sw_bytes_view_t passphrase,
                                      struct sw_error_t **error);

/**
 * Removes values of a stack's configuration, in one write, and sets `removed` (which may be null) to how many there were.
 * `paths` is a JSON array.
 */
sw_status_t sw_project_remove_config(const struct sw_project_t *project,
                                     struct sw_bytes_view_t stack,
                                     struct sw_bytes_view_t paths,
                                     size_t *removed,
                                     struct sw_error_t **error);

/**
 * Frees a project's handle; its files remain. Null is ignored.
 */
void sw_project_free(struct sw_project_t *project);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* STACKWRIGHT_H */
