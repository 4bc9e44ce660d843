/*
 * Stackwright: an infrastructure deployment engine that runs inside your process.
 *
 * Generated from bindings-c; do not edit. The rules that hold for every function:
 *
 * - Functions that can fail return a status. Their last parameter, `error`, may be null; when it is not, it is set to
 *   an error to be freed with sw_error_free, or to null on success.
 * - A handle has exactly one `_free`, which takes null, needs no other handle, and may be called in any order.
 * - Pointers are to be valid for the length of the call, handles not freed. A null pointer where a value is required is
 *   refused with SW_STATUS_MISUSE.
 * - Bytes that you pass are lent for the length of the call. Bytes that you get are yours, to be freed with
 *   sw_bytes_free. Texts are UTF-8 and JSON is UTF-8 text.
 * - Places for results are set to null first, so that a failed call leaves null.
 * - Handles may be used from any thread, several at the same time, except for being freed.
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
 * The functions of the table return soon, so they are called right on the runtime's threads: the fastest way. A
 * function that waits for anything must not be declared so.
 */
#define SW_PROVIDER_PROMPT 1

/**
 * The version of `sw_host_t` that this header describes.
 */
#define SW_HOST_VERSION 1

/**
 * The version of `sw_program_t` that this header describes.
 */
#define SW_PROGRAM_VERSION 1

/**
 * What a call came to. Codes are stable and only ever appended to.
 */
enum sw_status_t
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * The caller broke a rule of this ABI: a null pointer, a wrong `struct_size`, a blocking call inside a callback.
   */
  SW_STATUS_MISUSE = -1,
  /**
   * The call did what it was asked to do.
   */
  SW_STATUS_OK = 0,
  /**
   * The caller passed something wrong; the message names what and where. Nothing was changed.
   */
  SW_STATUS_INVALID_INPUT = 1,
  /**
   * The stack, resource or file does not exist.
   */
  SW_STATUS_NOT_FOUND = 2,
  /**
   * Somebody else holds the stack's lock, or changed its state meanwhile. Try again later.
   */
  SW_STATUS_CONFLICT = 3,
  /**
   * A provider refused or failed a call; the message is the provider's own.
   */
  SW_STATUS_PROVIDER = 4,
  /**
   * A plugin process could not be found, started or spoken to.
   */
  SW_STATUS_PLUGIN = 5,
  /**
   * The recorded state is corrupt, of an unknown version, or would become invalid.
   */
  SW_STATUS_STATE = 6,
  /**
   * Secrets could not be encrypted, or what encrypts those of a stack is not known here.
   */
  SW_STATUS_SECRETS = 7,
  /**
   * The operation was cancelled; what had run is recorded.
   */
  SW_STATUS_CANCELLED = 8,
  /**
   * A store or service did not answer; the same call may succeed later.
   */
  SW_STATUS_UNAVAILABLE = 9,
  /**
   * The program raised an error of its own.
   */
  SW_STATUS_PROGRAM = 10,
  /**
   * The deployment failed; its diagnostics and events say where. What succeeded is recorded.
   */
  SW_STATUS_FAILED = 11,
  /**
   * A bug in the engine.
   */
  SW_STATUS_INTERNAL = 12,
  /**
   * A secret could not be decrypted, for instance because the passphrase is wrong; the message names the key of the
   * configuration when it is a value of that.
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
 * Why a provider's call failed; names and numbers are those of gRPC. After `UNKNOWN`, `INTERNAL` and `DATA_LOSS`
 * the engine takes the state of the real thing for unknown, after any other for unchanged.
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
 * What an operation does.
 */
enum sw_operation_kind_t
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * Computes the steps of an update; nothing is created, changed, deleted or written.
   */
  SW_OPERATION_PREVIEW = 0,
  /**
   * Brings the stack to the state that its program describes.
   */
  SW_OPERATION_UPDATE = 1,
  /**
   * Reads every resource and records what is there.
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
 * How much a message matters.
 */
enum sw_severity_t
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * For those who look for a fault.
   */
  SW_SEVERITY_DEBUG = 0,
  /**
   * Worth reading.
   */
  SW_SEVERITY_INFO = 1,
  /**
   * Something is probably not as intended.
   */
  SW_SEVERITY_WARNING = 2,
  /**
   * Something failed; the run fails.
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
 * Bytes that the library made for the caller. Unique: one owner, who frees them with `sw_bytes_free`.
 *
 * A NUL follows the last byte and is not counted, so that JSON can be used as a C string.
 */
typedef struct sw_bytes_t sw_bytes_t;

/**
 * One call of a host's function that waits for its answer. Unique: whoever was given it must hand it to exactly one
 * of `sw_completion_succeed`, `sw_completion_fail`, `sw_completion_fail_with` and `sw_completion_free`, from any
 * thread, also after the call was given up.
 */
typedef struct sw_completion_t sw_completion_t;

/**
 * The context of a running program. Lent to the program; never freed by it.
 */
typedef struct sw_context_t sw_context_t;

/**
 * An engine: where states live, what encrypts them, and who provides what. Shared by the stacks that it opens,
 * which outlive it.
 */
typedef struct sw_engine_t sw_engine_t;

/**
 * An error with everything that a caller may branch on or show. Unique: one owner, who frees it with
 * `sw_error_free`. Its texts are UTF-8, NUL-terminated, and live as long as it.
 */
typedef struct sw_error_t sw_error_t;

/**
 * An operation under way, or ended. Freeing the handle does not end it.
 */
typedef struct sw_operation_t sw_operation_t;

/**
 * The threads that engines work on. Shared by the engines that are built on it, which keep working until
 * `sw_runtime_free`. One process may have several.
 */
typedef struct sw_runtime_t sw_runtime_t;

/**
 * A stack: a named state, its program, and the operations on it. Shared by its operations, which outlive it.
 */
typedef struct sw_stack_t sw_stack_t;

/**
 * Bytes that somebody else owns, valid during the call that they are passed to.
 *
 * `data` is ignored when `length` is 0; it needs no terminator.
 */
typedef struct sw_bytes_view_t {
  /**
   * The first byte.
   */
  const char *data;
  /**
   * How many there are.
   */
  size_t length;
} sw_bytes_view_t;

/**
 * How a runtime is made. Set `struct_size` to the structure's size and everything else to zero or a value.
 */
typedef struct sw_runtime_options_t {
  /**
   * `sizeof(sw_runtime_options_t)`.
   */
  size_t struct_size;
  /**
   * How many threads work; 0 for one per core.
   */
  uint32_t threads;
  /**
   * How many threads the engine has beside those for what blocks in its own work: files, keys, hashes; 0 for 512.
   * Functions of the host that may block take none of them: each that runs has a thread of the library's to itself,
   * as many as there are at that time, and idle threads are used again.
   */
  uint32_t blocking_threads;
  /**
   * The name of the threads; empty for `stackwright`.
   */
  struct sw_bytes_view_t thread_name;
} sw_runtime_options_t;

/**
 * Frees the `user_data` of a table of functions. Called once, when the library will not call the table again.
 */
typedef void (*sw_free_t)(void *user_data);

/**
 * One call of a provider, or another question to the host. `request` is JSON, followed by a NUL, and lent for the
 * length of the call; the completion is the function's to answer, now or later.
 */
typedef void (*sw_call_t)(void *user_data, struct sw_bytes_view_t request, struct sw_completion_t *completion);

/**
 * Tells the host that nobody waits any more for the answer to the call with this number (`sw_completion_id`).
 */
typedef void (*sw_give_up_t)(void *user_data, uint64_t call);

/**
 * Tells the host something that needs no answer.
 */
typedef void (*sw_notice_t)(void *user_data);

/**
 * A provider of one package, as a table of functions. The table is copied; `user_data` is passed to each function.
 *
 * ITS FUNCTIONS ARE CALLED CONCURRENTLY, many at a time and from any thread. Each that is null does what the
 * comment beside it says. All values have the plain JSON form: secrets are
 * `{"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "value": …}`, and during previews an
 * unknown value is the text `04da6b54-80e4-46f7-96ec-b56ff0331ba9`. Numbers that JSON has not are
 * `{"4dabf18193072939515e22adb298388d": "8ad145fe-0d11-4827-bfd7-1abcbf086f5c", "value": "7ff8000000000000"}`, the
 * value being their bits as IEEE 754 has them: that is NaN, `7ff0000000000000` infinity. Programs have the same form.
 *
 * A view is a part of a resource that its provider tells of, and that is shown and recorded as a resource of its own:
 * `{"type", "name", "parentType", "parentName", "inputs", "outputs"}`, the parent being another view. What `create`,
 * `read`, `update` and `delete_` have done to views they answer as `"viewSteps": [{"op": "create", "old", "new",
 * "keys", "diffs", "detailedDiff", "status": "ok"|"partial-failure"|"unknown", "error"}]`, `initFailure` of
 * `sw_completion_fail_with` too.
 *
 * Without `SW_PROVIDER_PROMPT` in `flags`, each call has a thread to itself and may take its time, also to wait for
 * other calls; there are as many threads as calls run. `give_up` and `free` must return soon in either case.
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
   * Frees `user_data` when no function will be called any more; may be null.
   */
  sw_free_t free;
  /**
   * Says what the provider understands: `{}` → `{"acceptSecrets": true, "acceptResources": true, "acceptOutputs":
   * true, "supportsPreview": true, "supportsAutonaming": true, "acceptByteStrings": true}`, which is also what
   * null and left-out fields mean. `"waitsForRegistrations": true` (false when left out) says that calls may wait for
   * later registrations, so that the option `parallel` is no strict limit for them.
   */
  sw_call_t handshake;
  /**
   * Facts of the provider: `{}` → `{"version": "1.2.3"}`. Null: it has no version.
   */
  sw_call_t plugin_info;
  /**
   * Checks the provider's own configuration, as `check` does. Null: takes it as it is.
   */
  sw_call_t check_config;
  /**
   * Compares two configurations, as `diff` does. Null: nothing to say.
   */
  sw_call_t diff_config;
  /**
   * Takes the configuration: `{"urn", "name", "id", "inputs"}` → what `handshake` answers. Null: needs none.
   */
  sw_call_t configure;
  /**
   * Checks and completes inputs: `{"urn", "type", "name", "olds", "news", "randomSeed", "preview",
   * "autonaming": {"proposedName", "mode": "propose"|"enforce"|"disable"} or null}` → `{"inputs": {…}, "failures": [{"property", "reason"}]}`. Null: takes them as they are.
   */
  sw_call_t check;
  /**
   * Compares: `{"urn", "type", "name", "id", "oldInputs", "oldOutputs", "news", "ignoreChanges", "preview"}` →
   * `{"changes": "none"|"some"|"unknown", "replaces": ["path"], "stables": [], "diffs": [], "detailedDiff":
   * {"path": {"kind": "update-replace", "inputDiff": false}}, "deleteBeforeReplace": false}`. Null: the engine
   * compares the inputs itself.
   */
  sw_call_t diff;
  /**
   * Makes a resource: `{"urn", "type", "name", "inputs", "timeout", "preview"}` → `{"id", "outputs", "viewSteps"}`. Required.
   */
  sw_call_t create;
  /**
   * Reads a resource: `{"urn", "type", "name", "id", "inputs", "outputs", "timeout", "preview",
   * "oldViews"}`, inputs and outputs being null for an import → `{"id", "inputs", "outputs", "viewSteps"}`; without outputs it does not exist. Null: it is as it was recorded.
   */
  sw_call_t read;
  /**
   * Changes a resource: `{"urn", "type", "name", "id", "oldInputs", "oldOutputs", "news", "ignoreChanges",
   * "timeout", "preview", "oldViews"}` → `{"outputs", "viewSteps"}`. Null: it can not be changed in place.
   */
  sw_call_t update;
  /**
   * Removes a resource: `{"urn", "type", "name", "id", "inputs", "outputs", "timeout", "oldViews"}` →
   * `{"viewSteps"}`. Required.
   */
  sw_call_t delete_;
  /**
   * Calls a function of the package: `{"token", "arguments", "preview"}` → `{"result": {…}, "failures": []}`.
   * Null: there is none.
   */
  sw_call_t invoke;
  /**
   * Nobody waits any more for one call; its completion must still be handed back. May be null.
   */
  sw_give_up_t give_up;
  /**
   * Running calls should fail soon. Not called while the provider serves other operations as well, whose calls would be
   * meant, too. May be null.
   */
  sw_notice_t cancel;
  /**
   * No call follows. May be null.
   */
  sw_notice_t close;
  /**
   * Gives the schema of the package, for code generators and other tools: `{"subpackageName", "subpackageVersion"}`,
   * both empty unless a parameter made the package → the schema itself, a JSON object. Null: there is none.
   */
  sw_call_t get_schema;
  /**
   * Gives a mapping from another ecosystem to the package, for converters: `{"key": "terraform", "provider": "…"}`,
   * the provider being empty when `get_mappings` names none → `{"provider", "data": base64}`; an empty answer says
   * that there is none. Null: there are none.
   */
  sw_call_t get_mapping;
  /**
   * Names the foreign providers of an ecosystem that the package has mappings of: `{"key": "terraform"}` →
   * `["name", …]`. Null, or an empty answer: it has one at most, which `get_mapping` names.
   */
  sw_call_t get_mappings;
} sw_provider_t;

/**
 * A provider with the package that it serves.
 */
typedef struct sw_package_t {
  /**
   * `sizeof(sw_package_t)`.
   */
  size_t struct_size;
  /**
   * The package, `files` for instance: the first part of its resources' types.
   */
  struct sw_bytes_view_t package;
  /**
   * Its provider.
   */
  const struct sw_provider_t *provider;
} sw_package_t;

/**
 * What the host wants to be asked and told, as a table of functions, each of which may be null. The table is copied.
 *
 * ITS FUNCTIONS ARE CALLED CONCURRENTLY, each on a thread to itself, and may take their time, but for `give_up` and
 * `free`. They answer as those of a provider do, with `sw_completion_succeed` or `sw_completion_fail`; the message of a
 * failure reaches people unchanged.
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
   * Frees `user_data` when no function will be called any more; may be null.
   */
  sw_free_t free;
  /**
   * Nobody waits any more for one call; its completion must still be handed back.
   */
  sw_give_up_t give_up;
  /**
   * Says what serves a provider instance: `{"kind": "resource", "name", "version" (or null), "downloadUrl",
   * "checksums": {"linux-amd64": "hex"}}` → `{"address": "127.0.0.1:4711"}` for a provider that listens there,
   * `{"package": "files"}` for the one that the engine was given for that package, `{}` for what the engine finds.
   * For a policy pack `kind` is `analyzer`, `path` and `config` are those of the operation's options, and the answer is
   * its address. For plugins `path` and `config` are empty.
   */
  sw_call_t resolve;
  /**
   * Gives another stack's outputs for a stack reference: `{"stack": "name"}` → a JSON object. Null: the engine
   * reads them from its store.
   */
  sw_call_t stack_outputs;
  /**
   * Gives what there is of another stack's resources, as `stack_outputs` does: `{"URN": {"type": "…", "outputs": {…}}}`.
   * Required beside it.
   */
  sw_call_t stack_resource_outputs;
  /**
   * Takes an entry of a stack's journal: `{"stack": "project/name", "entry": {…}}` → `{}`. The engine goes on when it
   * is answered; a failure refuses the entry, and the operation ends with it. Records are those of deployments, in
   * which the `ciphertext` of a secret is the base64 of its JSON text.
   * An entry has `sequence`, `operation` (the number of its step) and `kind`: `begin`, before the provider is called,
   * with `op`, `pending`, `old`, `state`, `keys`, `diffs`, `detailedDiff`; `success` with `op`, `resultOp`, `removed`,
   * `marked`, `new` and the flags `inPlace`, `elided`, `untargeted`, `persistedRefresh`, `deletedByRefresh`,
   * `skippedCreate` (with `state`: what was asked for, is not made and not recorded); `failure` with `op`; `outputs` with
   * `new`; `base-written` with `records`; `base-rebuilt` with `order`, `records`, `clearPending`. Fields with nothing in
   * them are left out.
   */
  sw_call_t journal;
  /**
   * Encrypts secrets in place of the engine, in order: `["text", …]` → as many texts.
   */
  sw_call_t encrypt;
  /**
   * Decrypts what `encrypt` made, in the same way. Required beside it. The message of a failure must hold no secret.
   */
  sw_call_t decrypt;
  /**
   * Gets what the URI of a remote asset or archive names, for its hash: `{"uri": "…"}` → the content itself, which is
   * no JSON. Null: the engine does so, over HTTP.
   */
  sw_call_t fetch;
  /**
   * Says how the real thing of a resource is to be named, in the stead of `pulumi:autonaming` of the configuration:
   * `{"urn", "type", "name", "randomSeed": base64 of 32 bytes, "preview"}` → `{"proposedName": "…", "mode":
   * "propose"|"enforce"|"disable", "deleteBeforeReplace": false, "warnIfUnsupported": false}`, of which only the name is
   * required (`disable` needs none); `{}` leaves the name to the provider. Asked once for each registration of a
   * resource that is no component and no provider; a failure ends the operation. Providers get the answer with `check`.
   * Names that are drawn from the seed are in an update those that its preview showed.
   */
  sw_call_t propose_name;
  /**
   * Tells whether a plugin is installed, in any version when `version` is null: what `resolve` is asked → `{"installed":
   * true}`; `{}` when it is not. This and the next two are asked, in this order, about a plugin that neither the
   * packages, `resolve` nor the folders of `"plugins"` gave; then the engine looks once more. However many resources and
   * operations need a plugin, it is asked for once at a time. Without `skipPluginPreInstall`, this
   * happens before an operation begins for what recorded providers need, and before the program runs for what its
   * language runtime requires.
   */
  sw_call_t is_installed;
  /**
   * Gives the latest version of a plugin when none is wanted: what `resolve` is asked → `{"version": "1.2.3"}`; `{}`
   * leaves it to `install` which one that is.
   */
  sw_call_t latest_version;
  /**
   * Puts a plugin where the engine looks for it, its executable `pulumi-resource-NAME` into one of the `directories` or
   * into `resource-NAME-vVERSION` in the `cache`: what `resolve` is asked → `{}`; `{"declined": true}` for what is not to be
   * installed, which then is missing.
   */
  sw_call_t install;
  /**
   * Encrypts the secrets of one stack, whose settings have `"secrets"`: `{"stack": "project/name", "texts": ["text", …]}` →
   * as many texts, in order.
   */
  sw_call_t encrypt_for_stack;
  /**
   * Decrypts what `encrypt_for_stack` made for the stack, in the same way. Required beside it. Secrets of stacks that the
   * stack refers to come with the name of the stack that refers, unless `referencePassphrases` of its settings has them.
   * The message of a failure must hold no secret.
   */
  sw_call_t decrypt_for_stack;
} sw_host_t;

/**
 * What an engine is made of. Set `struct_size` to the structure's size and what is not needed to zero.
 */
typedef struct sw_engine_options_t {
  /**
   * `sizeof(sw_engine_options_t)`.
   */
  size_t struct_size;
  /**
   * The threads to work on.
   */
  struct sw_runtime_t *runtime;
  /**
   * JSON: an object with these members, of which only the store is required.
   *
   * - `baseDirectory` (string): The folder against which relative folders of the store are resolved; the working
   *   directory when left out.
   * - `passphrase` (string): Encrypts the secrets of the engine's stacks. Left out, secrets are encoded, not
   *   encrypted, and the reference engine's command opens a stack only while it has no secret.
   * - `plugins` (Plugins): Where plugins are searched, and which processes are kept.
   * - `secrets` (SecretsSettings): The name and data that states record for the host's own encryption, where the host
   *   passes one.
   * - `store` (string): The location of the states: `file:///absolute/folder`, `file://./relative/folder`
   *   (`file://relative/folder` is the same: there is no host in it) or `memory://`.
   * - `trustedPeers` (array of integer): User ids whose processes are accepted at the other end of connections on
   *   loopback, beside those of the own user and of root: for providers and policy packs that run as another user.
   *
   * Members of `plugins`:
   *
   * - `cache` (string): A folder of installed plugins, each in its own `<kind>-<name>-v<version>`; searched last.
   * - `commands` (object of array of string or object): Commands that start plugins without an executable of their
   *   own, by name. In Python and Node the command that serves the dynamic providers of the SDK is preset.
   * - `directories` (array of string): Folders that hold executables of plugins; searched first, in this order.
   * - `ignoreVersions` (boolean): Uses the newest version in the cache, regardless of the required one.
   * - `path` (string): A list of folders in the form of the variable `PATH`, searched next.
   * - `poolAgeLimit` (number): How long after its start a process is used again at most, in seconds; 300 when left
   *   out.
   * - `poolCapacity` (integer): How many processes are kept for the next operation at most, 16 when left out; 0 ends
   *   each process with its operation. Processes of scripts, and of `commands` that run files or modules, are never
   *   kept.
   * - `poolIdleLimit` (number): How long an unused process is kept, in seconds; 60 when left out.
   * - `waitsForRegistrations` (array of string): Names of plugins whose calls may wait for later registrations, so
   *   that the option `parallel` is no strict limit for them.
   *
   * Members of `secrets`, for a host's table that has `encrypt` and `decrypt`; data that is encrypted otherwise is opened as
   * without them:
   *
   * - `kind` (string): The name of the encryption in deployments; `host` when left out.
   * - `state` (any JSON): Data that states keep beside the name for later readers; never a key.
   */
  struct sw_bytes_view_t settings;
  /**
   * Providers in this process; null when there are none.
   */
  const struct sw_package_t *packages;
  /**
   * How many packages there are.
   */
  size_t package_count;
  /**
   * What the host wants to be asked and told; null when nothing.
   */
  const struct sw_host_t *host;
} sw_engine_options_t;

/**
 * Takes the result of an asynchronous call, on a thread of the runtime.
 *
 * Called EXACTLY ONCE for each call that returned `SW_STATUS_OK`, never for one that did not, and possibly before
 * that call has returned. `result` (a NUL follows it; its data is null when there is none) and `error` (null on
 * success) are lent for the length of the callback. It must return soon and must not make a call that waits: those
 * return `SW_STATUS_MISUSE` here.
 */
typedef void (*sw_callback_t)(void *user_data,
                              sw_status_t status,
                              struct sw_bytes_view_t result,
                              const struct sw_error_t *error);

/**
 * Says which resources a stack is to have. Runs on a thread of its own and may block; several runs may be under way
 * at the same time. Returns `SW_STATUS_OK`, or the status that it failed with: the one of a call that it made (the run
 * then fails with the error of the last call with that status), or `SW_STATUS_PROGRAM` after `sw_context_fail`. The run also
 * fails when a registration or an output could not be read (`SW_STATUS_INVALID_INPUT`, `SW_STATUS_MISUSE`): without it, the
 * resource would be deleted. A program may do without what the engine refuses.
 *
 * The context is lent until the function has returned and every callback of its asynchronous calls has been called.
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
   * Frees `user_data` when `run` will not be called any more; may be null.
   */
  sw_free_t free;
  /**
   * The program.
   */
  sw_run_t run;
} sw_program_t;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Returns the version of the library, `0.1.0` for instance. The text lives as long as the library.
 */
const char *sw_version(void);

/**
 * Returns what a host that sorts errors as the reference engine does takes a status code for: `bail` when the
 * diagnostics say what was wrong, `decrypt` or `internal`; `none` for success.
 *
 * The text lives as long as the library.
 */
const char *sw_status_class_name(int32_t status);

/**
 * Returns the name of a status code, `invalid_input` for instance; `unknown` for a code that does not exist.
 *
 * The text lives as long as the library.
 */
const char *sw_status_name(int32_t status);

/**
 * Views a NUL-terminated text; a null pointer gives an empty view. The text must outlive the view.
 */
struct sw_bytes_view_t sw_text(const char *text);

/**
 * Returns the first byte; a NUL follows the last one. Null for null. Valid until `sw_bytes_free`.
 */
const char *sw_bytes_data(const struct sw_bytes_t *bytes);

/**
 * Returns how many bytes there are, without the NUL that follows; 0 for null.
 */
size_t sw_bytes_length(const struct sw_bytes_t *bytes);

/**
 * Views owned bytes, for passing them on; an empty view for null. Valid until `sw_bytes_free`.
 */
struct sw_bytes_view_t sw_bytes_view(const struct sw_bytes_t *bytes);

/**
 * Frees bytes; nothing happens for null.
 */
void sw_bytes_free(struct sw_bytes_t *bytes);

/**
 * Returns what kind of error it is; `SW_STATUS_OK` for null.
 */
sw_status_t sw_error_kind(const struct sw_error_t *error);

/**
 * Returns the name of the kind, `invalid_input` for instance. The text lives as long as the library.
 */
const char *sw_error_kind_name(const struct sw_error_t *error);

/**
 * Returns the text for people; null for null.
 */
const char *sw_error_message(const struct sw_error_t *error);

/**
 * Returns the text that the reference engine gives such an error, for tools that match on it: one whose reason stands in
 * the diagnostics begins with `BAIL: `. Null for null.
 */
const char *sw_error_reference_message(const struct sw_error_t *error);

/**
 * Returns the configuration key, as `namespace:name`, whose value the error is about; null when it is not about one.
 */
const char *sw_error_config_key(const struct sw_error_t *error);

/**
 * Returns the URN of the resource that the error is about; null when it is not about one.
 */
const char *sw_error_urn(const struct sw_error_t *error);

/**
 * Returns the provider that the error came from; null when none is known.
 */
const char *sw_error_provider(const struct sw_error_t *error);

/**
 * Returns the phase that failed, `create` for instance; null when none is known.
 */
const char *sw_error_phase(const struct sw_error_t *error);

/**
 * Returns how many pieces of advice come with the error; 0 for null.
 */
size_t sw_error_hint_count(const struct sw_error_t *error);

/**
 * Returns a piece of advice for people; null when there is none at `index`.
 */
const char *sw_error_hint(const struct sw_error_t *error, size_t index);

/**
 * Frees an error; nothing happens for null.
 */
void sw_error_free(struct sw_error_t *error);

/**
 * Finds the value at `pointer` (RFC 6901: `/inputs/path`, `/failures/0`; empty for the whole document) and gives its
 * JSON text as it stands in the document; null when there is no such value.
 *
 * Returns `SW_STATUS_INVALID_INPUT` when what was read on the way is not JSON.
 */
sw_status_t sw_json_get(struct sw_bytes_view_t document,
                        struct sw_bytes_view_t pointer,
                        struct sw_bytes_t **value,
                        struct sw_error_t **error);

/**
 * Finds the value at `pointer` as `sw_json_get` does and gives the text of the string that it must be; null when
 * there is no such value, or null stands there.
 *
 * Returns `SW_STATUS_INVALID_INPUT` when something else stands there.
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
 * Makes a runtime; `options` may be null.
 */
sw_status_t sw_runtime_new(const struct sw_runtime_options_t *options,
                           struct sw_runtime_t **runtime,
                           struct sw_error_t **error);

/**
 * Ends a runtime: cancels what runs on it, lets each pending callback fire, then stops the threads and frees it.
 *
 * Returns when the last callback, program and provider function has returned; none runs afterwards, but for the
 * `free` functions of tables whose engines, stacks and operations are freed later. Those handles may be freed before
 * or after, and answer `SW_STATUS_MISUSE` to everything else from here on.
 *
 * Returns `SW_STATUS_MISUSE`, with nothing freed, when called from a callback, a program or a provider's function.
 * Nothing happens for null.
 */
sw_status_t sw_runtime_free(struct sw_runtime_t *runtime);

/**
 * Returns a number that no other call in this process has: what `give_up` of the provider's table is told.
 */
uint64_t sw_completion_id(const struct sw_completion_t *completion);

/**
 * Tells whether nobody waits for the answer any more; the completion must be handed back all the same.
 */
bool sw_completion_is_cancelled(const struct sw_completion_t *completion);

/**
 * Answers a call with the JSON of its response (empty for one without fields) and frees the completion, whatever
 * the returned status. JSON that is not a response makes the call fail.
 */
sw_status_t sw_completion_succeed(struct sw_completion_t *completion,
                                  struct sw_bytes_view_t response);

/**
 * Answers a call with a failure and frees the completion, whatever the returned status.
 *
 * `status` is one of `sw_provider_status_t`; the message is shown unchanged.
 */
sw_status_t sw_completion_fail(struct sw_completion_t *completion,
                               int32_t status,
                               struct sw_bytes_view_t message);

/**
 * Answers a call with a failure that has more to say than a message, and frees the completion, whatever the status.
 *
 * `failure` is JSON: `{"status": 9, "message": "…", "initFailure": {"id": "…", "inputs": {…}, "outputs": {…},
 * "reasons": ["…"]}, "missingKeys": [{"name": "…", "description": "…"}]}`, of which only the message is required.
 * `initFailure` says that the resource exists but did not come up as wanted.
 */
sw_status_t sw_completion_fail_with(struct sw_completion_t *completion,
                                    struct sw_bytes_view_t failure);

/**
 * Frees a completion without an answer: the call fails. Nothing happens for null.
 */
void sw_completion_free(struct sw_completion_t *completion);

/**
 * Makes an engine.
 *
 * On success the tables of the packages and of the host are taken over: their `free` will be called. On failure they are not.
 */
sw_status_t sw_engine_new(const struct sw_engine_options_t *options,
                          struct sw_engine_t **engine,
                          struct sw_error_t **error);

/**
 * Lists stacks as a JSON array of `project/stack`; those of one project, or of all when `project` is empty.
 */
sw_status_t sw_engine_stacks(const struct sw_engine_t *engine,
                             struct sw_bytes_view_t project,
                             struct sw_bytes_t **stacks,
                             struct sw_error_t **error);

/**
 * Frees an engine; its stacks and operations go on. Nothing happens for null.
 */
void sw_engine_free(struct sw_engine_t *engine);

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
 * Returns whether the run has ended without the program, which should return soon; true for null.
 */
bool sw_context_is_ended(const struct sw_context_t *context);

/**
 * Calls a callback when the run ends without the program (with `SW_STATUS_CANCELLED`; the program should return soon),
 * or, at the latest, when the program has returned and its last call was answered (with `SW_STATUS_OK`).
 */
sw_status_t sw_context_ended_async(const struct sw_context_t *context,
                                   sw_callback_t callback,
                                   void *user_data,
                                   struct sw_error_t **error);

/**
 * Sets why the program fails; the run fails with this message when the program returns, also with `SW_STATUS_OK`. Bytes that are
 * not UTF-8 are replaced.
 */
sw_status_t sw_context_fail(const struct sw_context_t *context,
                            struct sw_bytes_view_t message,
                            struct sw_error_t **error);

/**
 * Calls a function of a package and waits for its result, a JSON object. `invoke` is JSON: an object with `token` and any of these
 * members.
 *
 * - `arguments` (object of any JSON): The arguments.
 * - `dependsOn` (string or array of string): Resources that must exist before the call: one or several, each itself
 *   or its URN; an output stands for the resources that it comes from. While one of them is only planned, the result
 *   is unknown.
 * - `parent` (string): The resource, or its URN, whose provider is called when no other is named.
 * - `pluginDownloadURL` (string): The address from which the plugin of the package can be downloaded, for the
 *   resolver and the installer.
 * - `provider` (string): The provider resource that is called, or its reference, `<urn>::<id>`. Left out, it is that
 *   of the parent, or else the default provider of the package.
 * - `token` (string): The function, as `package:module:member`.
 * - `version` (string): The version of the package.
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
 * Says something to people, about a resource or, when `urn` is empty, about the whole deployment. `severity` is one
 * of `sw_severity_t`.
 */
sw_status_t sw_context_log(const struct sw_context_t *context,
                           int32_t severity,
                           struct sw_bytes_view_t message,
                           struct sw_bytes_view_t urn,
                           struct sw_error_t **error);

/**
 * Publishes the outputs (a JSON object) of a component that the program registered, and waits until they are
 * recorded.
 */
sw_status_t sw_context_register_outputs(const struct sw_context_t *context,
                                        struct sw_bytes_view_t urn,
                                        struct sw_bytes_view_t outputs,
                                        struct sw_error_t **error);

/**
 * Publishes outputs as `sw_context_register_outputs` does, without waiting.
 */
sw_status_t sw_context_register_outputs_async(const struct sw_context_t *context,
                                              struct sw_bytes_view_t urn,
                                              struct sw_bytes_view_t outputs,
                                              sw_callback_t callback,
                                              void *user_data,
                                              struct sw_error_t **error);

/**
 * Sets one of the stack's outputs to a JSON value; they are recorded when the program has ended.
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
 * Registers a resource and waits until it is as it should be.
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
 * - `hideDiffs` (array of string): Paths of properties whose differences are not shown.
 * - `ignoreChanges` (array of string): Paths of inputs whose changes are ignored.
 * - `importId` (string): The id of an existing resource that is imported.
 * - `inputs` (object of any JSON): The inputs.
 * - `name` (string): The name.
 * - `noParent` (boolean): Whether the resource has no parent at all, not even the stack.
 * - `parent` (string): The parent: a resource or its URN. Left out, it is the stack.
 * - `pluginDownloadURL` (string): The address from which the plugin of the package can be downloaded, for the
 *   resolver and the installer.
 * - `propertyDependencies` (object of array of string): The URNs of the resources that each input comes from, by its
 *   name. Left out, each input comes from all of `dependencies`.
 * - `protect` (boolean): Never deletes or replaces it.
 * - `provider` (string): The provider resource that manages it, or its reference, `<urn>::<id>`. Left out, it is that
 *   of the parent, or else the default provider of the package.
 * - `providers` (object of string): Provider resources for a component's children, by package.
 * - `replaceOnChanges` (array of string): Paths of properties whose changes replace it.
 * - `replaceWith` (string or array of string): Resources, or their URNs, whose replacement replaces this one, too:
 *   one or several.
 * - `replacementTrigger` (any JSON): A value whose change replaces the resource.
 * - `resourceHooks` (object of array of string): The names of hooks by the moment at which they run.
 * - `retainOnDelete` (boolean): Drops it from the state instead of deleting it.
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
 * The result is `{"urn", "id", "outputs", "unknown", "failed", "skipped"}`.
 *
 * Returns `SW_STATUS_CANCELLED` when the run ends first; the program should then return.
 */
sw_status_t sw_context_register(const struct sw_context_t *context,
                                struct sw_bytes_view_t registration,
                                struct sw_bytes_t **registered,
                                struct sw_error_t **error);

/**
 * Registers a resource as `sw_context_register` does, without waiting: any number may be under way. Resources are
 * claimed in the order of the calls.
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
 * Asks an operation to end: what runs finishes and is recorded. A second time, running calls of providers are given
 * up. Further times, and after the end, nothing happens. May be called from callbacks.
 */
sw_status_t sw_operation_cancel(const struct sw_operation_t *operation);

/**
 * Ends the session of an operation that was started with `holdSession`, and waits until nothing of it is left: what
 * was unanswered is told that the monitor shut down, and the providers are let go. Of another operation, it waits for
 * the end. Any number of calls is one; freeing the handle releases without waiting.
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
 * Frees an operation's handle; the operation goes on. Nothing happens for null.
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
 * - `resOpFailedEvent` (ResourceFailedEvent, optional): A step has failed.
 * - `resOutputsEvent` (ResourceOutputsEvent, optional): A step has run.
 * - `resourcePreEvent` (ResourcePreEvent, optional): A step is about to run.
 * - `sequence` (integer): Counts from 0 without gaps.
 * - `stdoutEvent` (StdoutEvent, optional): The program wrote to its standard output.
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
 * - Outcome: succeeded, failed, canceled
 * - PolicySeverity: low, medium, high, critical
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
 * Waits for the end of an operation and, unless its session is held, of its program.
 *
 * Returns the status of the operation's error. `result` (which may be null) is set in either case, to JSON: `{"outcome":
 * "succeeded"|"failed"|"canceled", "error": null or an object, "changes": {"create": 3}, "hasChanges", "outputs": {…}, "steps":
 * […], "diagnostics": […], "duration" (in seconds), "tree" (the steps as a text for display)}`. The outcome is `canceled` where
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
 * that failed: its result says how it ended.
 */
sw_status_t sw_operation_wait_async(const struct sw_operation_t *operation,
                                    sw_callback_t callback,
                                    void *user_data,
                                    struct sw_error_t **error);

/**
 * Gives the result of an operation that has ended, as `sw_operation_wait` does, without waiting; null while it runs.
 */
sw_status_t sw_operation_result(const struct sw_operation_t *operation,
                                struct sw_bytes_t **result,
                                struct sw_error_t **error);

/**
 * Gives the state that an operation left, also one that failed or was cancelled, as a deployment document that
 * `sw_stack_import_deployment` takes, secrets encrypted. Null while the operation runs, for a preview, and where the operation failed
 * before it read the state, or so that it is not known what is saved of it.
 *
 * The document is written at each call, and costs nothing otherwise; the call does not block, so that callbacks may
 * make it, too. `SW_STATUS_SECRETS` when the operation could not encrypt what it was to save.
 */
sw_status_t sw_operation_deployment(const struct sw_operation_t *operation,
                                    struct sw_bytes_t **deployment,
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
 * - `referencePassphrases` (object of string): The passphrases of other stacks by their names (`project/stack`), for
 *   references to them. A stack that is not named here is opened as this one is.
 * - `rootDirectory` (string): The folder of the project, which must exist. Relative paths of assets, and source
 *   positions, are relative to it.
 * - `runtimeOptions` (object of any JSON): The options of the project's runtime by name (`virtualenv`,
 *   `typescript`…), each any JSON. Plugins find them in their environment, as `PULUMI_RUNTIME_NAME`: texts as they
 *   are, other values as JSON. Language runtimes receive the values.
 * - `secrets` (SecretsSettings): The host's own encryption of the stack's secrets, in place of the engine's.
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
 * Creates a stack, which must not exist: one that does is a conflict. Otherwise as `sw_stack_open`, without its setting
 * `create`.
 */
sw_status_t sw_engine_create_stack(const struct sw_engine_t *engine,
                                   struct sw_bytes_view_t name,
                                   struct sw_bytes_view_t settings,
                                   const struct sw_program_t *program,
                                   struct sw_stack_t **stack,
                                   struct sw_error_t **error);

/**
 * Selects a stack, which must exist: for one that does not, the error's hints name those like it. Otherwise as
 * `sw_stack_open`, without its setting `create`.
 */
sw_status_t sw_engine_select_stack(const struct sw_engine_t *engine,
                                   struct sw_bytes_view_t name,
                                   struct sw_bytes_view_t settings,
                                   const struct sw_program_t *program,
                                   struct sw_stack_t **stack,
                                   struct sw_error_t **error);

/**
 * Selects a stack, and creates it when it does not exist. Otherwise as `sw_stack_open`, without its setting `create`.
 */
sw_status_t sw_engine_create_or_select_stack(const struct sw_engine_t *engine,
                                             struct sw_bytes_view_t name,
                                             struct sw_bytes_view_t settings,
                                             const struct sw_program_t *program,
                                             struct sw_stack_t **stack,
                                             struct sw_error_t **error);

/**
 * Removes every lock of the stack, regardless of its holder, and returns how many there were: for locks of machines that no
 * longer exist. An operation of a holder that still runs continues. `count` may be null.
 */
sw_status_t sw_stack_unlock(const struct sw_stack_t *stack,
                            size_t *count,
                            struct sw_error_t **error);

/**
 * Removes the stack and its history from the store. One that still has resources is only removed by force.
 */
sw_status_t sw_stack_remove(const struct sw_stack_t *stack, bool force, struct sw_error_t **error);

/**
 * Frees a stack's handle; its state and its operations go on. Nothing happens for null.
 */
void sw_stack_free(struct sw_stack_t *stack);

/**
 * Starts an operation and returns at once. `kind` is one of `sw_operation_kind_t`.
 *
 * `options` is JSON, or empty: an object with any of these members.
 *
 * - `allowEmpty` (boolean): Whether an update may delete every resource because its program registered none (the
 *   stack and default providers do not count). Without it such an update is refused before anything is deleted, and a
 *   preview warns: most often the program is a module that an earlier operation has imported already, so that it does
 *   not run again.
 * - `clearPendingCreates` (boolean): Drops interrupted creations from the state when the operation has succeeded.
 *   Left out, they stay pending, because whether they created anything is not known.
 * - `continueOnError` (boolean): A failed step stops only the steps that depend on it.
 * - `debug` (boolean): Includes diagnostics of the severity `debug` in the events.
 * - `destroyProgram` (boolean): A destroy runs the program, which determines how providers are configured. Then
 *   everything is deleted, the resources that the program registers included.
 * - `disableOutputValues` (boolean): Does not announce output values to programs.
 * - `disableProviderPreview` (boolean): Previews show inputs as outputs, and never call Create and Update of a
 *   package's provider.
 * - `disableResourceReferences` (boolean): Does not announce resource references to programs.
 * - `dryRun` (boolean): Computes the steps without running them: nothing is created, changed, deleted or written.
 * - `excludeDependents` (boolean): Resources that depend on an excluded one are excluded, too. Without `excludes` it
 *   has no effect.
 * - `excludes` (array of string): URNs of resources that the operation leaves as they are, globs as in `targets`.
 *   Without effect beside targets.
 * - `experimental` (boolean): Accepted without effect: no behaviour depends on it.
 * - `generatePlan` (boolean): Records the steps as a plan, with its document. Left out, previews of updates keep a
 *   plan without a document, which can constrain an update of the same process; `false` keeps none.
 * - `holdSession` (boolean): Keeps the monitor and the providers after the result, until the operation is released or
 *   its last handle is dropped. Registrations that failed or came too late stay unanswered until then.
 * - `ignoreProtect` (boolean): Deletes and replaces protected resources, too.
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
 * - `refresh` (boolean): Reads every resource before an update or a destroy.
 * - `refreshProgram` (boolean): A refresh runs the program: each resource is read when the program registers it, by a
 *   provider that is configured as the program says; the others are read at the end. With `refresh`, an update, or a
 *   destroy that runs its program, reads each resource when the program registers it, instead of all of them first.
 * - `replaceTargets` (array of string): URNs of resources that are replaced, whether they differ or not; globs as in
 *   `targets`.
 * - `requiredPolicies` (array of PolicyPack): Policy packs that an organization requires. Where a program runs, each
 *   resource is checked by them.
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
 * - `useLegacyDiff` (boolean): Compares inputs before providers are called for a diff.
 * - `useLegacyRefreshDiff` (boolean): A refresh reports the differences of outputs, without calling providers for a
 *   diff.
 * - `waitsForRegistrations` (boolean): Calls of every provider may wait for the effect of a later registration or
 *   step. Left out, that holds for providers and plugins that declare it. When all calls that `parallel` allows stand
 *   still while others queue, some of them no longer count, so that more than `parallel` run.
 *
 * Members of a policy pack:
 *
 * - `address` (string): The address at which the pack's analyzer listens: `host:port`, or an `http` URL. Left out,
 *   the engine's resolver is asked for an `analyzer` of this name and version, with path and settings.
 * - `checksums` (object of string): Hex checksums by platform, for the resolver.
 * - `config` (object of any JSON): Settings by policy, and for `all`: an enforcement level (`advisory`, `mandatory`,
 *   `remediate`, `disabled`), or an object with `enforcementLevel` and the members of the policy's own schema.
 * - `downloadUrl` (string): The address from which the pack can be downloaded, for the resolver.
 * - `name` (string): The name of the pack, in requests to the resolver and in errors. Defaults to the path.
 * - `path` (string): The folder or file of the pack, for the resolver.
 * - `version` (string): The required version; any, when left out.
 *
 * `program` is run instead of the stack's; it may be null. A refresh runs a program only with `refreshProgram`, a destroy
 * only with `destroyProgram`. On success it is taken over. An operation that cannot begin fails in `sw_operation_wait`.
 */
sw_status_t sw_stack_start(const struct sw_stack_t *stack,
                           int32_t kind,
                           struct sw_bytes_view_t options,
                           const struct sw_program_t *program,
                           struct sw_operation_t **operation,
                           struct sw_error_t **error);

/**
 * Gives the state as a deployment document (JSON). Its secrets stay encrypted unless they are to be shown.
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
 * Gives the history as a JSON array of the reference engine's records, newest first.
 */
sw_status_t sw_stack_history(const struct sw_stack_t *stack,
                             struct sw_bytes_t **history,
                             struct sw_error_t **error);

/**
 * Replaces the state by a deployment document. One that is not valid leaves the state as it was.
 */
sw_status_t sw_stack_import_deployment(const struct sw_stack_t *stack,
                                       struct sw_bytes_view_t deployment,
                                       struct sw_error_t **error);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* STACKWRIGHT_H */
