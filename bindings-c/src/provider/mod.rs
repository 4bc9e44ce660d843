//! Providers of the host: a table of functions as a provider of the engine.

mod bodies;
mod c_provider;
mod calls;
pub mod completion;
mod failure;
mod pending_call;
mod request;
mod response;
#[cfg(test)]
mod tests;

use std::ffi::c_void;

use crate::{bytes::sw_bytes_view_t, context::sw_context_t, foreign::sw_free_t, guard::VersionedStruct};

pub(crate) use self::{
    c_provider::CProvider,
    completion::{Answer, sw_completion_t},
    pending_call::{HostFunction, PendingCall, PolicyFunction, text_answer},
};

/// The version of `sw_provider_t` that this header describes.
pub const SW_PROVIDER_VERSION: u32 = 1;

/// A flag of `sw_provider_t`: its functions return soon and never block, so they are called on the runtime's threads,
/// which is faster.
pub const SW_PROVIDER_PROMPT: u32 = 1;

/// A call of a provider, or another function of the host. `request` is JSON, followed by a NUL, and borrowed for the
/// duration of the call. The function owns the completion, and completes it before or after it returns.
pub type sw_call_t = Option<
    unsafe extern "C" fn(user_data: *mut c_void, request: sw_bytes_view_t, completion: *mut sw_completion_t),
>;

/// The code of a component or a method: a call as `sw_call_t`, with a context to register resources, read them, call
/// functions and methods, and emit diagnostics.
///
/// The context is valid until the function has returned, its completion was completed or freed, and every callback of the
/// context's asynchronous calls has returned; also when the call was cancelled. The engine continues when those callbacks
/// have returned. Before the completion, calls with the context end with `SW_STATUS_CANCELLED` once the run has ended or
/// the call was cancelled; after it, they return `SW_STATUS_MISUSE`. `sw_context_ended_async` notifies the code of
/// both. With `SW_PROVIDER_PROMPT` only the asynchronous functions may be called in the function.
pub type sw_call_with_context_t = Option<
    unsafe extern "C" fn(
        user_data: *mut c_void,
        context: *mut sw_context_t,
        request: sw_bytes_view_t,
        completion: *mut sw_completion_t,
    ),
>;

/// A notification of the host, without a response.
pub type sw_notice_t = Option<unsafe extern "C" fn(user_data: *mut c_void)>;

/// Notifies the host that the call with this number (`sw_completion_id`) was cancelled, and its response is ignored.
pub type sw_give_up_t = Option<unsafe extern "C" fn(user_data: *mut c_void, call: u64)>;

/// A provider of one package, as a table of functions. The table is copied; `user_data` is passed to each function.
///
/// ITS FUNCTIONS ARE CALLED CONCURRENTLY, from any thread. The comment of each function states the default behaviour
/// when it is null. All values have the plain JSON form: secrets are `{"4dabf18193072939515e22adb298388d":
/// "1b47061264138c4ac30d75fd1eb44270", "value": …}`, and during previews an unknown value is the text
/// `04da6b54-80e4-46f7-96ec-b56ff0331ba9`. Numbers that JSON cannot represent are `{"4dabf18193072939515e22adb298388d":
/// "8ad145fe-0d11-4827-bfd7-1abcbf086f5c", "value": "7ff8000000000000"}`, the value being the hex digits of their IEEE
/// 754 bits: here NaN; `7ff0000000000000` is infinity. Programs use the same form.
///
/// A view is a part of a resource that its provider reports, and that is displayed and recorded as a separate resource:
/// `{"type", "name", "parentType", "parentName", "inputs", "outputs"}`, the parent being another view. The responses of
/// `create`, `read`, `update` and `delete_` contain the steps of views as `"viewSteps": [{"op": "create", "old", "new",
/// "keys", "diffs", "detailedDiff", "status": "ok"|"partial-failure"|"unknown", "error"}]`, as does the
/// `initFailure` of `sw_completion_fail_with`.
///
/// Without `SW_PROVIDER_PROMPT` in `flags`, each call has a thread of its own and may block, also to wait for other
/// calls. The number of those threads has no limit. `give_up` and `free` must return soon in either case.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sw_provider_t {
    /// `sizeof(sw_provider_t)`.
    pub struct_size: usize,
    /// `SW_PROVIDER_VERSION`.
    pub version: u32,
    /// 0 or `SW_PROVIDER_PROMPT`.
    pub flags: u32,
    /// Passed to each function.
    pub user_data: *mut c_void,
    /// Frees `user_data` after the last call of a function; may be null.
    pub free: sw_free_t,
    /// Returns the provider's capabilities: `{}` → `{"acceptSecrets": true, "acceptResources": true, "acceptOutputs":
    /// true, "supportsPreview": true, "supportsAutonaming": true, "acceptByteStrings": true}`. Missing fields, and a
    /// null function, mean true. `"waitsForRegistrations": true` (default: false) states that calls may wait for later
    /// registrations, so that the option `parallel` is no strict limit for them; `"acceptOutputsInInvoke": true` (default:
    /// false) that arguments of functions may contain output values.
    pub handshake: sw_call_t,
    /// Returns the provider's version: `{}` → `{"version": "1.2.3"}`. Null: it has none.
    pub plugin_info: sw_call_t,
    /// Checks the provider's own configuration, as `check` does. Null: it is unchanged and valid.
    pub check_config: sw_call_t,
    /// Compares two configurations, as `diff` does. Null: the engine compares them.
    pub diff_config: sw_call_t,
    /// Configures the provider: `{"urn", "name", "id", "inputs"}` → as `handshake`. Null: it needs no configuration.
    pub configure: sw_call_t,
    /// Validates inputs and adds defaults: `{"urn", "type", "name", "olds", "oldOutputs", "news", "randomSeed",
    /// "preview", "autonaming": {"proposedName", "mode": "propose"|"enforce"|"disable"} or null}` → `{"inputs": {…}, "failures":
    /// [{"property", "reason"}]}`. Null: they are unchanged and valid.
    pub check: sw_call_t,
    /// Compares a resource with its new inputs: `{"urn", "type", "name", "id", "oldInputs", "oldOutputs", "news",
    /// "ignoreChanges", "preview"}` → `{"changes": "none"|"some"|"unknown", "replaces": ["path"], "stables": [],
    /// "diffs": [], "detailedDiff": {"path": {"kind": "update-replace", "inputDiff": false}}, "deleteBeforeReplace":
    /// false}`. Null: the engine compares the inputs.
    pub diff: sw_call_t,
    /// Creates a resource: `{"urn", "type", "name", "inputs", "timeout", "preview"}` → `{"id", "outputs",
    /// "viewSteps"}`. Required.
    pub create: sw_call_t,
    /// Reads a resource: `{"urn", "type", "name", "id", "inputs", "outputs", "timeout", "preview", "oldViews"}`, inputs
    /// and outputs being null for an import → `{"id", "inputs", "outputs", "viewSteps"}`; without outputs it does not
    /// exist. Null: it is unchanged.
    pub read: sw_call_t,
    /// Updates a resource in place: `{"urn", "type", "name", "id", "oldInputs", "oldOutputs", "news", "ignoreChanges",
    /// "timeout", "preview", "oldViews"}` → `{"outputs", "viewSteps"}`. Null: an update fails.
    pub update: sw_call_t,
    /// Deletes a resource: `{"urn", "type", "name", "id", "inputs", "outputs", "timeout", "oldViews"}` →
    /// `{"viewSteps"}`. Required.
    pub delete_: sw_call_t,
    /// Calls a function of the package: `{"token", "arguments", "preview"}` → `{"result": {…}, "failures": []}`.
    /// Null: the package has no functions.
    pub invoke: sw_call_t,
    /// Called when one call is cancelled; its completion must still be completed or freed. May be null.
    pub give_up: sw_give_up_t,
    /// Cancels the running calls, which should fail soon. Not called while another operation uses the provider, because
    /// it would cancel that one's calls as well. May be null.
    pub cancel: sw_notice_t,
    /// Closes the provider; no call follows. May be null.
    pub close: sw_notice_t,
    /// Returns the schema of the package, for tools such as code generators: `{"subpackageName", "subpackageVersion"}`,
    /// both empty unless the package is parameterized → the schema, a JSON object. Null: there is none.
    pub get_schema: sw_call_t,
    /// Returns a mapping from another ecosystem to the package, for converters: `{"key": "terraform", "provider":
    /// "…"}`, the provider being empty when `get_mappings` names none → `{"provider", "data": base64}`; an empty
    /// response when there is none. Null: there are none.
    pub get_mapping: sw_call_t,
    /// Returns the providers of another ecosystem that the package has mappings for: `{"key": "terraform"}` →
    /// `["name", …]`. Null, or an empty response: at most one, which `get_mapping` names.
    pub get_mappings: sw_call_t,
    /// Constructs a component, which the engine has registered already: `{"urn", "type", "name", "parent", "inputs",
    /// "inputDependencies": {"name": ["urn"]}, "dependencies", "providers": {"package": "<urn>::<id>"}, "protect",
    /// "deleteBeforeReplace", "retainOnDelete", "ignoreChanges", "replaceOnChanges", "additionalSecretOutputs",
    /// "deletedWith", "replaceWith", "replacementTrigger", "customTimeouts": {"create", "update", "delete", "read"} in seconds,
    /// "aliases": ["urn"], "preview"}`, an option that the program leaves open being null or empty → `{"outputs": {…},
    /// "outputDependencies": {"name": ["urn"]}}`. Null: the package has no components.
    pub construct: sw_call_with_context_t,
    /// Calls a method of a resource, a component or the provider: `{"token", "arguments", "argumentDependencies":
    /// {"name": ["urn"]}, "preview"}`, the argument `__self__` being a reference to the resource → `{"result": {…},
    /// "resultDependencies": {"name": ["urn"]}, "failures": [{"property", "reason"}]}`. Null: the package has no methods.
    pub call: sw_call_with_context_t,
}

// SAFETY: the size is the first field; the rest are numbers, pointers and functions that may be null.
unsafe impl VersionedStruct for sw_provider_t {
    const MIN_STRUCT_SIZE: usize = std::mem::offset_of!(Self, invoke);
}
