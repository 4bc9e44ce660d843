//! Providers written in C: a table of functions that becomes a provider of the engine.

mod calls;
pub mod completion;
mod failure;
mod question;
mod request;
mod response;
mod table;
#[cfg(test)]
mod tests;

use std::ffi::c_void;

use crate::{bytes::sw_bytes_view_t, foreign::sw_free_t, guard::Growing};

pub(crate) use self::{
    completion::{Answer, sw_completion_t},
    question::Question,
    table::Table,
};

/// The version of `sw_provider_t` that this header describes.
pub const SW_PROVIDER_VERSION: u32 = 1;

/// The functions of the table return soon, so they are called right on the runtime's threads: the fastest way. A
/// function that waits for anything must not be declared so.
pub const SW_PROVIDER_PROMPT: u32 = 1;

/// One call of a provider, or another question to the host. `request` is JSON, followed by a NUL, and lent for the
/// length of the call; the completion is the function's to answer, now or later.
pub type sw_call_t = Option<
    unsafe extern "C" fn(user_data: *mut c_void, request: sw_bytes_view_t, completion: *mut sw_completion_t),
>;

/// Tells the host something that needs no answer.
pub type sw_notice_t = Option<unsafe extern "C" fn(user_data: *mut c_void)>;

/// Tells the host that nobody waits any more for the answer to the call with this number (`sw_completion_id`).
pub type sw_give_up_t = Option<unsafe extern "C" fn(user_data: *mut c_void, call: u64)>;

/// A provider of one package, as a table of functions. The table is copied; `user_data` is passed to each function.
///
/// ITS FUNCTIONS ARE CALLED CONCURRENTLY, many at a time and from any thread. Each that is null does what the
/// comment beside it says. All values have the plain JSON form: secrets are
/// `{"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "value": …}`, and during previews an
/// unknown value is the text `04da6b54-80e4-46f7-96ec-b56ff0331ba9`. Numbers that JSON has not are
/// `{"4dabf18193072939515e22adb298388d": "8ad145fe-0d11-4827-bfd7-1abcbf086f5c", "value": "7ff8000000000000"}`, the
/// value being their bits as IEEE 754 has them: that is NaN, `7ff0000000000000` infinity. Programs have the same form.
///
/// A view is a part of a resource that its provider tells of, and that is shown and recorded as a resource of its own:
/// `{"type", "name", "parentType", "parentName", "inputs", "outputs"}`, the parent being another view. What `create`,
/// `read`, `update` and `delete_` have done to views they answer as `"viewSteps": [{"op": "create", "old", "new",
/// "keys", "diffs", "detailedDiff", "status": "ok"|"partial-failure"|"unknown", "error"}]`, `initFailure` of
/// `sw_completion_fail_with` too.
///
/// Without `SW_PROVIDER_PROMPT` in `flags`, each call has a thread to itself and may take its time, also to wait for
/// other calls; there are as many threads as calls run. `give_up` and `free` must return soon in either case.
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
    /// Frees `user_data` when no function will be called any more; may be null.
    pub free: sw_free_t,
    /// Says what the provider understands: `{}` → `{"acceptSecrets": true, "acceptResources": true, "acceptOutputs":
    /// true, "supportsPreview": true, "supportsAutonaming": true, "acceptByteStrings": true}`, which is also what
    /// null and left-out fields mean. `"waitsForRegistrations": true` (false when left out) says that calls may wait for
    /// later registrations, so that the option `parallel` is no strict limit for them.
    pub handshake: sw_call_t,
    /// Facts of the provider: `{}` → `{"version": "1.2.3"}`. Null: it has no version.
    pub plugin_info: sw_call_t,
    /// Checks the provider's own configuration, as `check` does. Null: takes it as it is.
    pub check_config: sw_call_t,
    /// Compares two configurations, as `diff` does. Null: nothing to say.
    pub diff_config: sw_call_t,
    /// Takes the configuration: `{"urn", "name", "id", "inputs"}` → what `handshake` answers. Null: needs none.
    pub configure: sw_call_t,
    /// Checks and completes inputs: `{"urn", "type", "name", "olds", "news", "randomSeed", "preview",
    /// "autonaming": {"proposedName", "mode": "propose"|"enforce"|"disable"} or null}` → `{"inputs": {…}, "failures": [{"property", "reason"}]}`. Null: takes them as they are.
    pub check: sw_call_t,
    /// Compares: `{"urn", "type", "name", "id", "oldInputs", "oldOutputs", "news", "ignoreChanges", "preview"}` →
    /// `{"changes": "none"|"some"|"unknown", "replaces": ["path"], "stables": [], "diffs": [], "detailedDiff":
    /// {"path": {"kind": "update-replace", "inputDiff": false}}, "deleteBeforeReplace": false}`. Null: the engine
    /// compares the inputs itself.
    pub diff: sw_call_t,
    /// Makes a resource: `{"urn", "type", "name", "inputs", "timeout", "preview"}` → `{"id", "outputs", "viewSteps"}`. Required.
    pub create: sw_call_t,
    /// Reads a resource: `{"urn", "type", "name", "id", "inputs", "outputs", "timeout", "preview",
    /// "oldViews"}`, inputs and outputs being null for an import → `{"id", "inputs", "outputs", "viewSteps"}`; without outputs it does not exist. Null: it is as it was recorded.
    pub read: sw_call_t,
    /// Changes a resource: `{"urn", "type", "name", "id", "oldInputs", "oldOutputs", "news", "ignoreChanges",
    /// "timeout", "preview", "oldViews"}` → `{"outputs", "viewSteps"}`. Null: it can not be changed in place.
    pub update: sw_call_t,
    /// Removes a resource: `{"urn", "type", "name", "id", "inputs", "outputs", "timeout", "oldViews"}` →
    /// `{"viewSteps"}`. Required.
    pub delete_: sw_call_t,
    /// Calls a function of the package: `{"token", "arguments", "preview"}` → `{"result": {…}, "failures": []}`.
    /// Null: there is none.
    pub invoke: sw_call_t,
    /// Nobody waits any more for one call; its completion must still be handed back. May be null.
    pub give_up: sw_give_up_t,
    /// Running calls should fail soon. Not called while the provider serves other operations as well, whose calls would be
    /// meant, too. May be null.
    pub cancel: sw_notice_t,
    /// No call follows. May be null.
    pub close: sw_notice_t,
    /// Gives the schema of the package, for code generators and other tools: `{"subpackageName", "subpackageVersion"}`,
    /// both empty unless a parameter made the package → the schema itself, a JSON object. Null: there is none.
    pub get_schema: sw_call_t,
    /// Gives a mapping from another ecosystem to the package, for converters: `{"key": "terraform", "provider": "…"}`,
    /// the provider being empty when `get_mappings` names none → `{"provider", "data": base64}`; an empty answer says
    /// that there is none. Null: there are none.
    pub get_mapping: sw_call_t,
    /// Names the foreign providers of an ecosystem that the package has mappings of: `{"key": "terraform"}` →
    /// `["name", …]`. Null, or an empty answer: it has one at most, which `get_mapping` names.
    pub get_mappings: sw_call_t,
}

// SAFETY: the size comes first; the rest are numbers, pointers and functions that may be null.
unsafe impl Growing for sw_provider_t {
    const SHORTEST: usize = std::mem::offset_of!(Self, invoke);
}
