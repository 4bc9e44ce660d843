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
   * @members EngineSettings
   *
   * Members of `plugins`:
   *
   * @members Plugins
   *
   * Members of `credentials`:
   *
   * @members StoreCredentials
   *
   * Members of `secrets`, for a host's table with `encrypt` and `decrypt`, or with `wrap_key` and `unwrap_key`. Data of other
   * secrets providers is decrypted as without them:
   *
   * @members SecretsSettings
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
 *
 * # Safety
 * `text` must be null or point to a NUL-terminated text.
 */
struct sw_bytes_view_t sw_text(const char *text);

/**
 * Returns the first byte; a NUL follows the last one. Null for null. Valid until `sw_bytes_free`.
 *
 * # Safety
 * `bytes` must be null or a live object of this library.
 */
const char *sw_bytes_data(const struct sw_bytes_t *bytes);

/**
 * Returns the number of bytes, without the NUL that follows; 0 for null.
 *
 * # Safety
 * `bytes` must be null or a live object of this library.
 */
size_t sw_bytes_length(const struct sw_bytes_t *bytes);

/**
 * Returns a view of owned bytes; an empty one for null. Valid until `sw_bytes_free`.
 *
 * # Safety
 * `bytes` must be null or a live object of this library.
 */
struct sw_bytes_view_t sw_bytes_view(const struct sw_bytes_t *bytes);

/**
 * Frees bytes; nothing happens for null.
 *
 * # Safety
 * `bytes` must be null or a live object of this library.
 */
void sw_bytes_free(struct sw_bytes_t *bytes);

/**
 * Returns the kind of the error; `SW_STATUS_OK` for null.
 *
 * # Safety
 * `error` must be null or a live object of this library.
 */
sw_status_t sw_error_kind(const struct sw_error_t *error);

/**
 * Returns the name of the kind, `invalid_input` for instance. The text is static.
 *
 * # Safety
 * `error` must be null or a live object of this library.
 */
const char *sw_error_kind_name(const struct sw_error_t *error);

/**
 * Returns the message; null for null.
 *
 * # Safety
 * `error` must be null or a live object of this library.
 */
const char *sw_error_message(const struct sw_error_t *error);

/**
 * Returns the message of the reference engine for such an error, for tools that match on it. It begins with `BAIL: `
 * when the diagnostics contain the reason. Null for null.
 *
 * # Safety
 * `error` must be null or a live object of this library.
 */
const char *sw_error_reference_message(const struct sw_error_t *error);

/**
 * Returns the configuration key, as `namespace:name`, whose value caused the error; null when there is none.
 *
 * # Safety
 * `error` must be null or a live object of this library.
 */
const char *sw_error_config_key(const struct sw_error_t *error);

/**
 * Returns the URN of the resource whose step failed; null when there is none.
 *
 * # Safety
 * `error` must be null or a live object of this library.
 */
const char *sw_error_urn(const struct sw_error_t *error);

/**
 * Returns the provider that reported the error; null when there is none.
 *
 * # Safety
 * `error` must be null or a live object of this library.
 */
const char *sw_error_provider(const struct sw_error_t *error);

/**
 * Returns the phase that failed, `create` for instance; null when it is unknown.
 *
 * # Safety
 * `error` must be null or a live object of this library.
 */
const char *sw_error_phase(const struct sw_error_t *error);

/**
 * Returns the number of hints; 0 for null.
 *
 * # Safety
 * `error` must be null or a live object of this library.
 */
size_t sw_error_hint_count(const struct sw_error_t *error);

/**
 * Returns the hint at `index`; null when there is none.
 *
 * # Safety
 * `error` must be null or a live object of this library.
 */
const char *sw_error_hint(const struct sw_error_t *error, size_t index);

/**
 * Frees an error; nothing happens for null.
 *
 * # Safety
 * `error` must be null or a live object of this library.
 */
void sw_error_free(struct sw_error_t *error);

/**
 * Returns the JSON text of the value at `pointer` (RFC 6901: `/inputs/path`, `/failures/0`; empty for the whole
 * document), unchanged; null when there is no such value.
 *
 * Returns `SW_STATUS_INVALID_INPUT` for a document that is not JSON and a pointer that does not begin with a slash.
 *
 * # Safety
 * `document` and `pointer` must be readable, `value` writable, `error` null or writable.
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
 *
 * # Safety
 * `document` and `pointer` must be readable, `text` writable, `error` null or writable.
 */
sw_status_t sw_json_text(struct sw_bytes_view_t document,
                         struct sw_bytes_view_t pointer,
                         struct sw_bytes_t **text,
                         struct sw_error_t **error);

/**
 * Quotes a UTF-8 text as a JSON string.
 *
 * # Safety
 * `text` must be readable, `json` writable, `error` null or writable.
 */
sw_status_t sw_json_quote(struct sw_bytes_view_t text, struct sw_bytes_t **json, struct sw_error_t **error);

/**
 * Creates a runtime; `options` may be null.
 *
 * # Safety
 * `options` must be null or readable, `runtime` writable, `error` null or writable.
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
 *
 * # Safety
 * `runtime` must be null or a live object of `sw_runtime_new`.
 */
sw_status_t sw_runtime_free(struct sw_runtime_t *runtime);

/**
 * Returns the facts of a run as JSON, which lives as long as the context; null for null. Its members:
 *
 * @members RunInfo
 *
 * # Safety
 * `context` must be null or alive.
 */
const char *sw_context_info(const struct sw_context_t *context);

/**
 * Returns whether the run has ended before the program, or the call of a component or method was cancelled; the code
 * should then end soon. True for null.
 *
 * # Safety
 * `context` must be null or alive.
 */
bool sw_context_is_ended(const struct sw_context_t *context);

/**
 * Calls the callback when the run ends before the program (with `SW_STATUS_CANCELLED`; the program should return
 * soon), or when the program has returned and its last call was completed (with `SW_STATUS_OK`).
 *
 * For the code of a component or method, it is called when the run ends or the call is cancelled before its completion
 * (with `SW_STATUS_CANCELLED`), or else after the completion and the last callback (with `SW_STATUS_OK`).
 *
 * # Safety
 * `context` must be null or alive, `error` null or writable.
 */
sw_status_t sw_context_ended_async(const struct sw_context_t *context,
                                   sw_callback_t callback,
                                   void *user_data,
                                   struct sw_error_t **error);

/**
 * Sets the message with which the run fails when the program returns, also with `SW_STATUS_OK`. Invalid UTF-8 is
 * replaced by U+FFFD. The code of a component or method fails with it when its call is completed with success.
 *
 * # Safety
 * `context` must be null or alive, `message` readable, `error` null or writable.
 */
sw_status_t sw_context_fail(const struct sw_context_t *context,
                            struct sw_bytes_view_t message,
                            struct sw_error_t **error);

/**
 * Calls a function of a package and waits for its result, a JSON object. `invoke` is JSON: an object with `token` and any of these
 * members.
 *
 * @members InvokeOptions
 *
 * The function is not called while a resource of `dependsOn`, or one that an output value in the arguments depends on, is only planned. The
 * result is the text of an unknown value then, which can be passed on as an input.
 *
 * # Safety
 * `context` must be null or alive, `invoke` readable, `result` null or writable, `error` null or writable.
 */
sw_status_t sw_context_invoke(const struct sw_context_t *context,
                              struct sw_bytes_view_t invoke,
                              struct sw_bytes_t **result,
                              struct sw_error_t **error);

/**
 * Calls a function of a package as `sw_context_invoke` does, without waiting.
 *
 * # Safety
 * `context` must be null or alive, `invoke` readable, `error` null or writable.
 */
sw_status_t sw_context_invoke_async(const struct sw_context_t *context,
                                    struct sw_bytes_view_t invoke,
                                    sw_callback_t callback,
                                    void *user_data,
                                    struct sw_error_t **error);

/**
 * Emits a diagnostic of a resource or, when `urn` is empty, of the whole deployment. `severity` is one of
 * `sw_severity_t`.
 *
 * # Safety
 * `context` must be null or alive, `message` and `urn` readable, `error` null or writable.
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
 * @members CallOptions
 *
 * The result is `{"result": {…}, "resultDependencies": {"name": ["urn"]}, "failures": [{"property", "reason"}]}`. A
 * call with failures of arguments returns `SW_STATUS_OK`. A failed method ends the run, so that the call returns
 * `SW_STATUS_CANCELLED`; the program should then return.
 *
 * # Safety
 * `context` must be null or alive, `call` readable, `result` null or writable, `error` null or writable.
 */
sw_status_t sw_context_call_method(const struct sw_context_t *context,
                                   struct sw_bytes_view_t call,
                                   struct sw_bytes_t **result,
                                   struct sw_error_t **error);

/**
 * Calls a method as `sw_context_call_method` does, without waiting.
 *
 * # Safety
 * `context` must be null or alive, `call` readable, `error` null or writable.
 */
sw_status_t sw_context_call_method_async(const struct sw_context_t *context,
                                         struct sw_bytes_view_t call,
                                         sw_callback_t callback,
                                         void *user_data,
                                         struct sw_error_t **error);

/**
 * Registers the outputs (a JSON object) of a component that the program registered, and waits until they are recorded.
 *
 * # Safety
 * `context` must be null or alive, `urn` and `outputs` readable, `error` null or writable.
 */
sw_status_t sw_context_register_outputs(const struct sw_context_t *context,
                                        struct sw_bytes_view_t urn,
                                        struct sw_bytes_view_t outputs,
                                        struct sw_error_t **error);

/**
 * Registers outputs as `sw_context_register_outputs` does, without waiting.
 *
 * # Safety
 * `context` must be null or alive, `urn` and `outputs` readable, `error` null or writable.
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
 *
 * # Safety
 * `context` must be null or alive, `name` and `value` readable, `error` null or writable.
 */
sw_status_t sw_context_export(const struct sw_context_t *context,
                              struct sw_bytes_view_t name,
                              struct sw_bytes_view_t value,
                              struct sw_error_t **error);

/**
 * Calls the resource monitor with a message of the protocol (`ResourceMonitor/RegisterResource` and an encoded
 * request, for instance) and waits for the encoded response: for hosts that run an SDK's program without a socket.
 *
 * # Safety
 * `context` must be null or alive, `method` and `request` readable, `response` and `error` null or writable.
 */
sw_status_t sw_context_call(const struct sw_context_t *context,
                            struct sw_bytes_view_t method,
                            struct sw_bytes_view_t request,
                            struct sw_bytes_t **response,
                            struct sw_error_t **error);

/**
 * Calls the resource monitor as `sw_context_call` does, without waiting.
 *
 * # Safety
 * `context` must be null or alive, `method` and `request` readable, `error` null or writable.
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
 * @members ResourceOptions
 *
 * A provider's reference is `<urn>::<id>`. Members of an alias:
 *
 * @members Alias
 *
 * Members of `customTimeouts`:
 *
 * @members CustomTimeouts
 *
 * Members of `package`:
 *
 * @members PackageSource
 *
 * Members of a parameter of a package:
 *
 * @members PackageParameter
 *
 * The result is `{"urn", "id", "outputs", "unknown", "failed", "skipped"}`, and that of a remote component also has
 * `"outputDependencies": {"name": ["urn"]}`.
 *
 * Returns `SW_STATUS_CANCELLED` when the run ends first; the program should then return.
 *
 * # Safety
 * `context` must be null or alive, `registration` readable, `registered` null or writable, `error` null or writable.
 */
sw_status_t sw_context_register(const struct sw_context_t *context,
                                struct sw_bytes_view_t registration,
                                struct sw_bytes_t **registered,
                                struct sw_error_t **error);

/**
 * Registers a resource as `sw_context_register` does, without waiting. Any number of registrations may be pending;
 * resources are claimed in the order of the calls.
 *
 * # Safety
 * `context` must be null or alive, `registration` readable, `error` null or writable.
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
 * @members ReadOptions
 *
 * The result is that of `sw_context_register`. Of the type `pulumi:pulumi:StackReference`, with the input `name` (`project/stack`, or
 * `organization/project/stack`), it reads another stack: `/outputs/outputs` has the outputs of that one.
 *
 * # Safety
 * `context` must be null or alive, `read` readable, `registered` null or writable, `error` null or writable.
 */
sw_status_t sw_context_read(const struct sw_context_t *context,
                            struct sw_bytes_view_t read,
                            struct sw_bytes_t **registered,
                            struct sw_error_t **error);

/**
 * Reads a resource as `sw_context_read` does, without waiting.
 *
 * # Safety
 * `context` must be null or alive, `read` readable, `error` null or writable.
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
 *
 * # Safety
 * `response` must be readable.
 */
sw_status_t sw_completion_succeed(struct sw_completion_t *completion,
                                  struct sw_bytes_view_t response);

/**
 * Completes a call of `get` of a store of the host with the content of an object and its version (a text that is not empty), and
 * frees the completion, also when this function fails.
 *
 * # Safety
 * `content` and `version` must be readable.
 */
sw_status_t sw_completion_succeed_with_version(struct sw_completion_t *completion,
                                               struct sw_bytes_view_t content,
                                               struct sw_bytes_view_t version);

/**
 * Completes a call with a failure and frees the completion, also when this function fails.
 *
 * `status` is one of `sw_provider_status_t`; the message is reported unchanged.
 *
 * # Safety
 * `message` must be readable.
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
 *
 * # Safety
 * `failure` must be readable.
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
 *
 * # Safety
 * `context` must be null or alive, `name` readable, `function` null or readable, `error` null or writable.
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
 *
 * # Safety
 * `context` must be null or alive, `name` readable, `function` null or readable, `error` null or writable.
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
 *
 * # Safety
 * `context` must be null or alive, `function` null or readable, `error` null or writable.
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
 *
 * # Safety
 * `context` must be null or alive, `function` null or readable, `error` null or writable.
 */
sw_status_t sw_context_add_invoke_transform(const struct sw_context_t *context,
                                            const struct sw_function_t *function,
                                            struct sw_error_t **error);

/**
 * Defines a transform that registrations with this context name in their member `transforms`: it is called for the resource,
 * in the order of the names, and for everything below it. The function is that of `sw_context_add_transform`.
 *
 * Returns `SW_STATUS_INVALID_INPUT` for an empty name, and for one that is defined already.
 *
 * # Safety
 * `context` must be null or alive, `name` readable, `function` null or readable, `error` null or writable.
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
 *
 * # Safety
 * `runtime` must be null or alive, `policies` null or readable, as must what it points to; `pack` writable, `error` null or
 * writable.
 */
sw_status_t sw_policy_pack_new(const struct sw_runtime_t *runtime,
                               const struct sw_policies_t *policies,
                               struct sw_policy_pack_t **pack,
                               struct sw_error_t **error);

/**
 * Frees a policy pack's handle; operations that have it continue with it. Null is ignored.
 *
 * # Safety
 * `pack` must be null or a live object of `sw_policy_pack_new`.
 */
void sw_policy_pack_free(struct sw_policy_pack_t *pack);

/**
 * Creates an engine.
 *
 * On success the library owns the `user_data` of the tables of the packages, the host and its store, and calls their `free`. On
 * failure it does not.
 *
 * # Safety
 * `options` must be null or readable, as must what it points to; `engine` writable, `error` null or writable.
 */
sw_status_t sw_engine_new(const struct sw_engine_options_t *options,
                          struct sw_engine_t **engine,
                          struct sw_error_t **error);

/**
 * Returns the stacks of `project`, or all when it is empty, as a JSON array in the order of their names. Checkpoints are only
 * read with `resource_counts`. The members of a stack:
 *
 * @members StackSummary
 *
 * Members of its last update:
 *
 * @members LastUpdate
 *
 * Members of its lock:
 *
 * @members LockHolder
 *
 * # Safety
 * `engine` must be null or alive, `project` readable, `stacks` writable, `error` null or writable.
 */
sw_status_t sw_engine_stacks(const struct sw_engine_t *engine,
                             struct sw_bytes_view_t project,
                             bool resource_counts,
                             struct sw_bytes_t **stacks,
                             struct sw_error_t **error);

/**
 * Frees an engine's handle; its stacks and operations continue. Null is ignored.
 *
 * # Safety
 * `engine` must be null or a live object of `sw_engine_new`.
 */
void sw_engine_free(struct sw_engine_t *engine);

/**
 * Lists, installs or removes plugins in the engine's folder of installed plugins (`cache` of its plugins), and gives an answer (JSON).
 *
 * `request` is a JSON object with one of these members: `{"install": {"name": "files", "version": "1.0.0", "file": "files.tar.gz"}}`.
 *
 * @members PluginRequest
 *
 * Those of `list` and `remove`, each of which is answered by an array of plugins:
 *
 * @members PluginSelection
 *
 * Those of `install`, which is answered by the plugin:
 *
 * @members PluginInstallation
 *
 * Those of a plugin:
 *
 * @members InstalledPlugin
 *
 * `progress` may be null. It is called with `user_data` during this call, on any thread, one call at a time; it returns soon and calls
 * no function of the library that blocks. The members of its argument:
 *
 * @members PluginProgress
 *
 * Several processes can install the same plugin at a time: one does, and the others wait for it. A plugin that is installed stays,
 * unless `reinstall` is true. A download is tried five times. Errors: `INVALID_INPUT` for a request that is none; `NOT_FOUND` for a
 * file that does not exist; `UNAVAILABLE` when a download fails; `PLUGIN` for an archive that is damaged, too large, of another checksum or
 * without the plugin. After an error, nothing is installed, and what was installed stays.
 *
 * # Safety
 * `engine` must be null or alive, `request` readable, `answer` writable, `error` null or writable.
 */
sw_status_t sw_engine_plugins(const struct sw_engine_t *engine,
                              struct sw_bytes_view_t request,
                              sw_plugin_progress_t progress,
                              void *user_data,
                              struct sw_bytes_t **answer,
                              struct sw_error_t **error);

/**
 * Cancels an operation: running steps finish and are recorded. The second call also cancels running calls of
 * providers. Further calls, and calls after the end, have no effect. May be called from callbacks.
 *
 * # Safety
 * `operation` must be null or alive.
 */
sw_status_t sw_operation_cancel(const struct sw_operation_t *operation);

/**
 * Ends the session of an operation that was started with `holdSession`, and waits until it has ended: pending calls
 * fail because the monitor shut down, and the providers are released. For another operation, it waits for the end.
 * Further calls have no effect. Freeing the handle releases the session without waiting.
 *
 * # Safety
 * `operation` must be null or alive, `error` null or writable.
 */
sw_status_t sw_operation_release(const struct sw_operation_t *operation,
                                 struct sw_error_t **error);

/**
 * Ends the session as `sw_operation_release` does, without waiting; the callback's result has no data.
 *
 * # Safety
 * `operation` must be null or alive, `error` null or writable.
 */
sw_status_t sw_operation_release_async(const struct sw_operation_t *operation,
                                       sw_callback_t callback,
                                       void *user_data,
                                       struct sw_error_t **error);

/**
 * Frees an operation's handle; the operation continues. Null is ignored.
 *
 * # Safety
 * `operation` must be null or a live object of `sw_stack_start`.
 */
void sw_operation_free(struct sw_operation_t *operation);

/**
 * Waits for the next event, a line of the reference engine's event log (JSON); null after the last one, which is the
 * cancel event. Every event comes, from the first on, however slow the caller is. One call at a time: another gets
 * `SW_STATUS_MISUSE`. Members that can be absent are marked as optional.
 *
 * @events
 *
 * # Safety
 * `operation` must be null or alive, `event` writable, `error` null or writable.
 */
sw_status_t sw_operation_next_event(const struct sw_operation_t *operation,
                                    struct sw_bytes_t **event,
                                    struct sw_error_t **error);

/**
 * Gets the next event as `sw_operation_next_event` does, with a callback; its result has no data after the last one.
 *
 * # Safety
 * `operation` must be null or alive, `error` null or writable.
 */
sw_status_t sw_operation_next_event_async(const struct sw_operation_t *operation,
                                          sw_callback_t callback,
                                          void *user_data,
                                          struct sw_error_t **error);

/**
 * Waits for the next lines that show the operation to a reader: a text of whole lines, which ends with a newline; null after the
 * last one. Secrets are masked. Lines and events are pulled independently: what is pulled first has all from the beginning, the other
 * what is still to come. One call at a time: another gets `SW_STATUS_MISUSE`.
 *
 * # Safety
 * `operation` must be null or alive, `output` writable, `error` null or writable.
 */
sw_status_t sw_operation_next_output(const struct sw_operation_t *operation,
                                     struct sw_bytes_t **output,
                                     struct sw_error_t **error);

/**
 * Gets the next lines as `sw_operation_next_output` does, with a callback; its result has no data after the last one.
 *
 * # Safety
 * `operation` must be null or alive, `error` null or writable.
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
 * @members OutputValue
 *
 * The members of a step:
 *
 * @members Step
 *
 * Members of a change:
 *
 * @members PropertyChange
 *
 * Members of a suggested move, which the option `acceptMoves` takes:
 *
 * @members SuggestedMove
 *
 * Members of what follows it:
 *
 * @members MovedResource
 *
 * Members of a diagnostic:
 *
 * @members Diagnostic
 *
 * Members of an error:
 *
 * @members ErrorFacts
 *
 * # Safety
 * `operation` must be null or alive, `result` null or writable, `error` null or writable.
 */
sw_status_t sw_operation_wait(const struct sw_operation_t *operation,
                              struct sw_bytes_t **result,
                              struct sw_error_t **error);

/**
 * Waits as `sw_operation_wait` does, with a callback. The callback's status is `SW_STATUS_OK` also for an operation
 * that failed; the result contains its outcome.
 *
 * # Safety
 * `operation` must be null or alive, `error` null or writable.
 */
sw_status_t sw_operation_wait_async(const struct sw_operation_t *operation,
                                    sw_callback_t callback,
                                    void *user_data,
                                    struct sw_error_t **error);

/**
 * Returns the result of an operation that has ended, as `sw_operation_wait` does, without waiting; null while it runs.
 *
 * # Safety
 * `operation` must be null or alive, `result` writable, `error` null or writable.
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
 *
 * # Safety
 * `operation` must be null or alive, `deployment` writable, `error` null or writable.
 */
sw_status_t sw_operation_deployment(const struct sw_operation_t *operation,
                                    struct sw_bytes_t **deployment,
                                    struct sw_error_t **error);

/**
 * Opens a stack, named `project/stack`.
 *
 * `settings` is JSON, or empty: an object with any of these members.
 *
 * @members StackSettings
 *
 * A value of `config` is any JSON; programs read lists and objects as their JSON text. `{"value": "text", "secret": true}` is a
 * secret; one inside a structure is marked as values of resources are; one that is encrypted already is
 * `{"secure": "ciphertext"}`.
 *
 * `secrets` encrypts the stack's secrets with `encrypt_for_stack` of the host's table; its members:
 *
 * @members SecretsSettings
 *
 * With `deployment`, each operation leaves the new state as `sw_operation_deployment` gives it; the document is checked as
 * `sw_stack_import_deployment` checks it. `program` is run by previews and updates; it may be null when each brings its own, and
 * must be null beside `languageRuntime`. On success it is taken over.
 *
 * # Safety
 * `engine` must be null or alive, `name` and `settings` readable, `program` null or readable, `stack` writable,
 * `error` null or writable.
 */
sw_status_t sw_stack_open(const struct sw_engine_t *engine,
                          struct sw_bytes_view_t name,
                          struct sw_bytes_view_t settings,
                          const struct sw_program_t *program,
                          struct sw_stack_t **stack,
                          struct sw_error_t **error);

/**
 * Creates a stack. An existing one is a `CONFLICT` error. Otherwise as `sw_stack_open`, without the setting `create`.
 *
 * # Safety
 * As `sw_stack_open`.
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
 *
 * # Safety
 * As `sw_stack_open`.
 */
sw_status_t sw_engine_select_stack(const struct sw_engine_t *engine,
                                   struct sw_bytes_view_t name,
                                   struct sw_bytes_view_t settings,
                                   const struct sw_program_t *program,
                                   struct sw_stack_t **stack,
                                   struct sw_error_t **error);

/**
 * Selects a stack, and creates it when it does not exist. Otherwise as `sw_stack_open`, without the setting `create`.
 *
 * # Safety
 * As `sw_stack_open`.
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
 *
 * # Safety
 * `stack` must be null or alive, `count` null or writable, `error` null or writable.
 */
sw_status_t sw_stack_unlock(const struct sw_stack_t *stack,
                            size_t *count,
                            struct sw_error_t **error);

/**
 * Removes the locks of one owner, `user@host` or `user@host:process` as the error of a locked stack names it, and sets `count` (which
 * may be null) to their number. In a bucket or a database the owner loses its lease, too, so that an operation which still runs writes
 * no more.
 *
 * # Safety
 * `stack` must be null or alive, `owner` readable, `count` null or writable, `error` null or writable.
 */
sw_status_t sw_stack_break_lock(const struct sw_stack_t *stack,
                                struct sw_bytes_view_t owner,
                                size_t *count,
                                struct sw_error_t **error);

/**
 * Removes the stack and its history from the store. A stack with resources is only removed with `force`. A stack that is locked elsewhere
 * is waited for `wait_for_lock` seconds; 0 is no wait.
 *
 * # Safety
 * `stack` must be null or alive, `error` null or writable.
 */
sw_status_t sw_stack_remove(const struct sw_stack_t *stack,
                            bool force,
                            double wait_for_lock,
                            struct sw_error_t **error);

/**
 * Frees a stack's handle; its state remains and its operations continue. Null is ignored.
 *
 * # Safety
 * `stack` must be null or a live object of `sw_stack_open`.
 */
void sw_stack_free(struct sw_stack_t *stack);

/**
 * Analyzes the recorded state with policy packs, without a program, and waits for the result. Neither the state nor a lock is
 * written, and nothing is remediated.
 *
 * `options` is a JSON array of policy packs, whose members `sw_stack_start` lists, or empty. `packs` are `pack_count` packs
 * of the host, as in `sw_operation_functions_t`; null for none.
 *
 * `analysis` is set to a JSON object with these members:
 *
 * @members PolicyAnalysis
 *
 * Members of a violation:
 *
 * @members PolicyViolation
 *
 * # Safety
 * `stack` must be null or alive, `options` readable, `packs` null or readable, as must what it points to, `analysis`
 * writable, `error` null or writable.
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
 * @members StateEdit
 *
 * Those of `rename`:
 *
 * @members RenameEdit
 *
 * Those of `delete`:
 *
 * @members DeleteEdit
 *
 * Those of `protect`, `unprotect`, `taint` and `untaint`:
 *
 * @members RecordSelection
 *
 * Those of `restore`:
 *
 * @members RestoreEdit
 *
 * Those of `importDeployment`:
 *
 * @members ImportDeploymentEdit
 *
 * Those of `renameStack`:
 *
 * @members RenameStackEdit
 *
 * Those of `changeSecrets`, whose `secrets` encrypts with `encrypt_for_stack` of the host's table, or has `wrap_key` wrap the data key:
 *
 * @members ChangeSecretsEdit
 *
 * Those of the report:
 *
 * @members EditReport
 *
 * Those of a record in it:
 *
 * @members EditedRecord
 *
 * An unknown URN is a `NOT_FOUND` error with the nearest ones as hints; what protection, dependents or an existing resource refuse
 * is `CONFLICT`. A handle of a renamed stack keeps the former name, and one whose encryption was changed the
 * former key: the engine opens the stack with the new one. The history keeps the former key, which `restore` takes.
 *
 * # Safety
 * `stack` must be null or alive, `edit` readable, `report` null or writable, `error` null or writable.
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
 * @members MoveResources
 *
 * Those of `move`:
 *
 * @members MoveEdit
 *
 * Those of the report, each as `sw_stack_edit` gives it:
 *
 * @members MoveReport
 *
 * The providers of the resources are copied, unless the destination has them already. A resource whose parent stays is below the
 * destination itself. References between resources that move and others are removed, which the report names. Secrets are encrypted
 * with the key of the destination, and pending operations of the resources move, too.
 *
 * An unknown URN is a `NOT_FOUND` error with the nearest ones as hints; a resource or a provider that the destination has already is
 * `CONFLICT`, and so is an operation that runs on one of both stacks. When the process ends during the move, the next opening of
 * either stack finishes or forgets it.
 *
 * # Safety
 * `stack` and `destination` must be null or alive, `edit` readable, `report` null or writable, `error` null or writable.
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
 * @members PendingOperation
 *
 * # Safety
 * `stack` must be null or alive, `pending` writable, `error` null or writable.
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
 *
 * # Safety
 * `stack` must be null or alive, `pending`, `resource_id` and `options` readable, `operation` writable, `error` null or
 * writable.
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
 *
 * # Safety
 * `stack` must be null or alive, `pending` and `resource_id` readable, `resource` writable, `error` null or writable.
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
 *
 * # Safety
 * `stack` must be null or alive, `pending` readable, `forgotten` writable, `error` null or writable.
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
 * @members OperationOptions
 *
 * Members of a policy pack:
 *
 * @members PolicyPack
 *
 * `program` is run in place of the stack's; it may be null. A refresh runs a program only with `refreshProgram`, a
 * destroy only with `destroyProgram`. On success the library owns its `user_data`. An operation that cannot begin
 * fails in `sw_operation_wait`.
 *
 * # Safety
 * `stack` must be null or alive, `options` readable, `program` null or readable, `operation` writable, `error` null
 * or writable.
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
 *
 * # Safety
 * `stack` must be null or alive, `options` readable, `functions` null or readable, as must what it points to, `operation`
 * writable, `error` null or writable.
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
 * @members ImportRequest
 *
 * Members of a resource to import:
 *
 * @members ImportResource
 *
 * Members of a parameterization:
 *
 * @members ImportParameterization
 *
 * Members of an extension:
 *
 * @members ImportExtension
 *
 * `options` is JSON, or empty, as for `sw_stack_start`. The member `imported` of the result:
 *
 * @members ImportReport
 *
 * Members of an imported resource, whose values have the plain JSON form:
 *
 * @members ImportedResource
 *
 * Members of the source code:
 *
 * @members ImportCode
 *
 * # Safety
 * `stack` must be null or alive, `request` and `options` readable, `operation` writable, `error` null or writable.
 */
sw_status_t sw_stack_import_resources(const struct sw_stack_t *stack,
                                      struct sw_bytes_view_t request,
                                      struct sw_bytes_view_t options,
                                      struct sw_operation_t **operation,
                                      struct sw_error_t **error);

/**
 * Returns the state as a deployment document (JSON). Its secrets are encrypted, and in plain text with `show_secrets`.
 *
 * # Safety
 * `stack` must be null or alive, `deployment` writable, `error` null or writable.
 */
sw_status_t sw_stack_export_deployment(const struct sw_stack_t *stack,
                                       bool show_secrets,
                                       struct sw_bytes_t **deployment,
                                       struct sw_error_t **error);

/**
 * Gives the stack's outputs as a JSON object by name. Secret values are `[secret]` unless they are to be shown. The members of
 * an output:
 *
 * @members OutputValue
 *
 * # Safety
 * `stack` must be null or alive, `outputs` writable, `error` null or writable.
 */
sw_status_t sw_stack_outputs(const struct sw_stack_t *stack,
                             bool show_secrets,
                             struct sw_bytes_t **outputs,
                             struct sw_error_t **error);

/**
 * Returns the history as a JSON array of the reference engine's records, newest first. The `version` of a record is the number by
 * which `restore` of `sw_stack_edit` takes it, counted from 1, the oldest.
 *
 * # Safety
 * `stack` must be null or alive, `history` writable, `error` null or writable.
 */
sw_status_t sw_stack_history(const struct sw_stack_t *stack,
                             struct sw_bytes_t **history,
                             struct sw_error_t **error);

/**
 * Returns a page of the history, as `sw_stack_history` does. Pages have `limit` records, and are counted from 1; with the
 * limit 0, the first page has all records. Records of other pages are not read.
 *
 * # Safety
 * `stack` must be null or alive, `history` writable, `error` null or writable.
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
 * @members ResourceRecord
 *
 * Members of an input or output:
 *
 * @members OutputValue
 *
 * # Safety
 * `stack` must be null or alive, `resources` writable, `error` null or writable.
 */
sw_status_t sw_stack_resources(const struct sw_stack_t *stack,
                               bool show_secrets,
                               struct sw_bytes_t **resources,
                               struct sw_error_t **error);

/**
 * Returns the record of a URN as a JSON object with the members that `sw_stack_resources` lists. An unknown one is a
 * `NOT_FOUND` error, whose hints name the most similar URNs.
 *
 * # Safety
 * `stack` must be null or alive, `urn` readable, `resource` writable, `error` null or writable.
 */
sw_status_t sw_stack_resource(const struct sw_stack_t *stack,
                              struct sw_bytes_view_t urn,
                              bool show_secrets,
                              struct sw_bytes_t **resource,
                              struct sw_error_t **error);

/**
 * Returns the recorded resources and the references between them as a JSON object with these members:
 *
 * @members ResourceGraph
 *
 * Members of a node:
 *
 * @members GraphNode
 *
 * Members of an edge:
 *
 * @members GraphEdge
 *
 * # Safety
 * `stack` must be null or alive, `graph` writable, `error` null or writable.
 */
sw_status_t sw_stack_graph(const struct sw_stack_t *stack,
                           struct sw_bytes_t **graph,
                           struct sw_error_t **error);

/**
 * Replaces the state by a deployment document. An invalid one is an error, and the state is unchanged.
 *
 * # Safety
 * `stack` must be null or alive, `deployment` readable, `error` null or writable.
 */
sw_status_t sw_stack_import_deployment(const struct sw_stack_t *stack,
                                       struct sw_bytes_view_t deployment,
                                       struct sw_error_t **error);

/**
 * Returns the tags that are kept with the stack as a JSON object by name. Those of the setting `tags` are not among them.
 *
 * # Safety
 * `stack` must be null or alive, `tags` writable, `error` null or writable.
 */
sw_status_t sw_stack_list_tags(const struct sw_stack_t *stack,
                               struct sw_bytes_t **tags,
                               struct sw_error_t **error);

/**
 * Sets a tag that is kept with the stack, where the reference engine keeps it.
 *
 * # Safety
 * `stack` must be null or alive, `name` and `value` readable, `error` null or writable.
 */
sw_status_t sw_stack_set_tag(const struct sw_stack_t *stack,
                             struct sw_bytes_view_t name,
                             struct sw_bytes_view_t value,
                             struct sw_error_t **error);

/**
 * Removes a tag, and sets `existed` (which may be null) to whether there was one.
 *
 * # Safety
 * `stack` must be null or alive, `name` readable, `existed` null or writable, `error` null or writable.
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
 *
 * # Safety
 * `engine` must be null or alive, `folder` readable, `project` writable, `error` null or writable.
 */
sw_status_t sw_project_open(const struct sw_engine_t *engine,
                            struct sw_bytes_view_t folder,
                            struct sw_project_t **project,
                            struct sw_error_t **error);

/**
 * Returns the content of the project file as JSON. Its members:
 *
 * @members ProjectFacts
 *
 * Members of a declaration:
 *
 * @members ConfigDeclaration
 *
 * # Safety
 * `project` must be null or alive, `facts` writable, `error` null or writable.
 */
sw_status_t sw_project_facts(const struct sw_project_t *project,
                             struct sw_bytes_t **facts,
                             struct sw_error_t **error);

/**
 * Sets the value at a path of the project file (`description`, `template.config.region`); `value` is JSON. A change after which
 * the file would be no project file is refused.
 *
 * # Safety
 * `project` must be null or alive, `path` and `value` readable, `error` null or writable.
 */
sw_status_t sw_project_set(const struct sw_project_t *project,
                           struct sw_bytes_view_t path,
                           struct sw_bytes_view_t value,
                           struct sw_error_t **error);

/**
 * Removes the value at a path of the project file, and sets `existed` (which may be null) to whether there was one.
 *
 * # Safety
 * `project` must be null or alive, `path` readable, `existed` null or writable, `error` null or writable.
 */
sw_status_t sw_project_remove(const struct sw_project_t *project,
                              struct sw_bytes_view_t path,
                              bool *existed,
                              struct sw_error_t **error);

/**
 * Returns the settings of a stack apart from its configuration as JSON. `stack` is its name, with or without the project. The
 * members:
 *
 * @members StackFile
 *
 * # Safety
 * `project` must be null or alive, `stack` readable, `settings` writable, `error` null or writable.
 */
sw_status_t sw_project_settings(const struct sw_project_t *project,
                                struct sw_bytes_view_t stack,
                                struct sw_bytes_t **settings,
                                struct sw_error_t **error);

/**
 * Returns the value at a path of a stack's configuration (`size`, `aws:tags["a"].b[0]`) as JSON, decrypted. Keys without a
 * namespace are the project's own. `passphrase` takes the place of the engine's; empty for that one. The members:
 *
 * @members ConfigEntry
 *
 * # Safety
 * `project` must be null or alive, `stack`, `path` and `passphrase` readable, `entry` writable, `error` null or writable.
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
 *
 * # Safety
 * `project` must be null or alive, `stack` and `passphrase` readable, `entries` writable, `error` null or writable.
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
 *
 * # Safety
 * `project` must be null or alive, `stack`, `values` and `passphrase` readable, `error` null or writable.
 */
sw_status_t sw_project_set_all_config(const struct sw_project_t *project,
                                      struct sw_bytes_view_t stack,
                                      struct sw_bytes_view_t values,
                                      struct sw_bytes_view_t passphrase,
                                      struct sw_error_t **error);

/**
 * Removes values of a stack's configuration, in one write, and sets `removed` (which may be null) to how many there were.
 * `paths` is a JSON array.
 *
 * # Safety
 * `project` must be null or alive, `stack` and `paths` readable, `removed` null or writable, `error` null or writable.
 */
sw_status_t sw_project_remove_config(const struct sw_project_t *project,
                                     struct sw_bytes_view_t stack,
                                     struct sw_bytes_view_t paths,
                                     size_t *removed,
                                     struct sw_error_t **error);

/**
 * Frees a project's handle; its files remain. Null is ignored.
 *
 * # Safety
 * `project` must be null or a live object of `sw_project_open`.
 */
void sw_project_free(struct sw_project_t *project);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* STACKWRIGHT_H */
