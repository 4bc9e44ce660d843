//! Policy packs of the host: a document of policies, and a function that serves them.

use std::{collections::BTreeSet, ffi::c_void, sync::Arc};

use async_trait::async_trait;
use stackwright::{
    ErrorKind,
    operation::OperationOptions,
    policy::{PolicyHost, PolicyPack, PolicyPackOption},
};

use crate::{
    bytes::sw_bytes_view_t,
    callback::terminated,
    error::sw_error_t,
    failure::{Failure, Outcome},
    foreign::{UserData, sw_free_t},
    function::is_prompt,
    guard::{Slot, VersionedStruct, guard, live, sized},
    provider::{HostFunction, PendingCall, PolicyFunction, sw_completion_t, sw_give_up_t, text_answer},
    runtime::{Shared, sw_runtime_t},
    status::sw_status_t,
};

/// The version of `sw_policies_t` that this header describes.
pub const SW_POLICIES_VERSION: u32 = 1;

/// A call of a function of a policy. `policy` is the policy's name; `function` is `check`, `remediate` or `checkStack`;
/// `argument` is JSON. Each is followed by a NUL, and borrowed for the duration of the call. The function owns the
/// completion, and completes it before or after it returns.
///
/// `check` and `remediate` get a resource: `{"type", "name", "urn", "props", "inputs", "options", "provider", "parent",
/// "dependencies", "propertyDependencies", "config"}`, `config` having the settings of the policy. `check` completes with its
/// violations, `["text", …]`; an empty response is none. `remediate`, which is called for policies of the level `remediate`
/// only, completes with the inputs that conform; an empty response leaves them as they are. `checkStack` gets
/// `{"resources": […], "config"}`, and completes with `[{"message": "text", "urn": "…"}, …]`, a violation without a URN being
/// one of the stack.
pub type sw_policy_call_t = Option<
    unsafe extern "C" fn(
        user_data: *mut c_void,
        policy: sw_bytes_view_t,
        function: sw_bytes_view_t,
        argument: sw_bytes_view_t,
        completion: *mut sw_completion_t,
    ),
>;

/// The policies of a pack, as a function of the host. The structure is copied, with its document.
///
/// ITS FUNCTION IS CALLED CONCURRENTLY, from any thread, and completes each call exactly once, before or after it returns,
/// with `sw_completion_succeed`, or with `sw_completion_fail`, whose message is reported: a failure ends the operation, as
/// does a call that is not completed within five minutes. Without `SW_FUNCTION_PROMPT` in `flags`, each call has a thread of
/// its own and may block.
///
/// A pack with a mandatory policy, for any number of operations:
///
/// ```c
/// static void check(void *user_data, sw_bytes_view_t policy, sw_bytes_view_t function, sw_bytes_view_t resource,
///                   sw_completion_t *completion)
/// {
///     sw_bytes_t *acl = NULL;
///     sw_json_text(resource, sw_text("/inputs/acl"), &acl, NULL);
///     int is_public = acl && strcmp(sw_bytes_data(acl), "public-read") == 0;
///     sw_completion_succeed(completion, sw_text(is_public ? "[\"the bucket is public\"]" : ""));
///     sw_bytes_free(acl);
/// }
///
/// sw_policies_t policies = {sizeof policies, SW_POLICIES_VERSION, 0, NULL, NULL, sw_text("{\"name\": \"guard\","
///     " \"policies\": [{\"name\": \"no-public-buckets\", \"level\": \"mandatory\"}]}"), check, NULL};
/// sw_policy_pack_new(runtime, &policies, &guard, &error);
/// const sw_policy_pack_t *packs[] = {guard};
/// sw_operation_functions_t functions = {sizeof functions, NULL, packs, 1};
/// sw_stack_start_with(stack, SW_OPERATION_UPDATE, sw_text(""), &functions, &operation, &error);
/// ```
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sw_policies_t {
    /// `sizeof(sw_policies_t)`.
    pub struct_size: usize,
    /// `SW_POLICIES_VERSION`.
    pub version: u32,
    /// 0 or `SW_FUNCTION_PROMPT`.
    pub flags: u32,
    /// Passed to each function.
    pub user_data: *mut c_void,
    /// Frees `user_data` after the last call; may be null. It must return soon.
    pub free: sw_free_t,
    /// JSON: `{"name", "version", "policies": [{"name", "level": "advisory"|"mandatory"|"remediate"|"disabled",
    /// "description", "severity": "low"|"medium"|"high"|"critical", "ofStack": false}]}`. Only the names are required; a
    /// policy is advisory by default. One with `ofStack` checks all resources together, with `checkStack`.
    pub document: sw_bytes_view_t,
    /// Serves the policies. Required.
    pub call: sw_policy_call_t,
    /// Called once when a call is cancelled; its completion must still be completed or freed. May be null.
    pub give_up: sw_give_up_t,
}

// SAFETY: the size is the first field; the rest are numbers, pointers and functions that may be null.
unsafe impl VersionedStruct for sw_policies_t {
    const MIN_STRUCT_SIZE: usize = size_of::<Self>();
}

/// A policy pack of the host. Shared by the operations that it is handed over to, which may outlive the handle.
pub struct sw_policy_pack_t {
    pack: PolicyPack,
}

/// The function of a pack.
struct CPolicies {
    function: PolicyFunction,
    give_up: sw_give_up_t,
    prompt: bool,
    data: Arc<UserData>,
    shared: Arc<Shared>,
}

#[async_trait]
impl PolicyHost for CPolicies {
    async fn call(&self, policy: &str, function: &str, argument: Vec<u8>) -> stackwright::Result<Vec<u8>> {
        let names = [policy, function].map(|name| terminated(name.as_bytes().to_vec()));
        let call = PendingCall {
            function: HostFunction::OfPolicy(self.function, Arc::new(names)),
            give_up: self.give_up,
            data: Arc::clone(&self.data),
            prompt: self.prompt,
        };
        let answer = call.answer(&self.shared, argument).await;
        text_answer(answer, ErrorKind::Program, function)
    }
}

/// Creates a policy pack. It is given to operations in `sw_operation_functions_t`, and to `sw_stack_analyze`.
///
/// On success the library owns the `user_data` of the policies, and calls `free` when the pack has been freed and no operation
/// has it any more. On failure it does not. A document that is no pack is `SW_STATUS_INVALID_INPUT`.
///
/// # Safety
/// `runtime` must be null or alive, `policies` null or readable, as must what it points to; `pack` writable, `error` null or
/// writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_policy_pack_new(
    runtime: *const sw_runtime_t,
    policies: *const sw_policies_t,
    pack: *mut *mut sw_policy_pack_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: writable by this function's contract.
        let place = unsafe { Slot::required(pack, "policy pack") }?;
        // SAFETY: null or alive by this function's contract.
        let shared = Arc::clone(&unsafe { live(runtime, "the runtime") }?.shared);
        shared.ensure_open()?;
        // SAFETY: null or readable by this function's contract.
        let pack = unsafe { read(policies, shared) }?;
        place.fill(Box::into_raw(Box::new(sw_policy_pack_t { pack })));
        Ok(())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}

/// Reads policies and takes over their `user_data`.
///
/// # Safety
/// `policies` must be null or readable, as must what it points to.
unsafe fn read(policies: *const sw_policies_t, shared: Arc<Shared>) -> Outcome<PolicyPack> {
    // SAFETY: null or readable by this function's contract.
    let policies = unsafe { sized(policies, "the structure of the policies") }?
        .ok_or_else(|| Failure::misuse("the policies are null"))?;
    if policies.version != SW_POLICIES_VERSION {
        return Err(Failure::misuse("the policies have an unknown version"));
    }
    let prompt = is_prompt(policies.flags, "structure of the policies")?;
    let function = policies
        .call
        .ok_or_else(|| Failure::misuse("the policies have no call function"))?;
    // SAFETY: readable by this function's contract.
    let document = unsafe { policies.document.bytes("the document of the policies") }?;
    let data = Arc::new(UserData::new(policies.user_data, policies.free));
    let host: Arc<dyn PolicyHost> = Arc::new(CPolicies {
        function,
        give_up: policies.give_up,
        prompt,
        data: Arc::clone(&data),
        shared,
    });
    let pack = PolicyPack::from_json(document, &host)?;
    data.adopt();
    Ok(pack)
}

/// Frees a policy pack's handle; operations that have it continue with it. Null is ignored.
///
/// # Safety
/// `pack` must be null or a live object of `sw_policy_pack_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_policy_pack_free(pack: *mut sw_policy_pack_t) {
    if !pack.is_null() {
        // SAFETY: created by `sw_policy_pack_new`, and not freed before by this function's contract.
        drop(unsafe { Box::from_raw(pack) });
    }
}

/// Policy packs of the host.
pub(crate) struct Packs(Vec<PolicyPack>);

impl Packs {
    /// Reads a list of packs.
    ///
    /// # Safety
    /// `packs` must be null or readable for `count` pointers, each null or alive.
    pub(crate) unsafe fn new(packs: *const *const sw_policy_pack_t, count: usize) -> Outcome<Self> {
        if count > 0 && packs.is_null() {
            return Err(Failure::misuse("the policy packs are null"));
        }
        let mut read = Vec::new();
        for index in 0..count {
            // SAFETY: the index is below the number of packs.
            let pack = unsafe { packs.add(index) };
            // SAFETY: readable by this function's contract.
            let pack = unsafe { pack.read() };
            // SAFETY: null or alive by this function's contract.
            read.push(unsafe { live(pack, "a policy pack") }?.pack.clone());
        }
        let mut names = BTreeSet::new();
        if let Some(pack) = read.iter().find(|pack| !names.insert(&pack.name)) {
            let name = &pack.name;
            return Err(Failure::invalid(format!("there are two policy packs {name:?}")));
        }
        Ok(Self(read))
    }

    /// Adds the packs to the options of an operation: each to those that have its name, else as one of its own.
    pub(crate) fn serve_operation(self, options: &mut OperationOptions) {
        for pack in self.0 {
            let is_required = serve(&pack, &mut options.required_policies);
            let is_local = serve(&pack, &mut options.local_policy_packs);
            if !(is_required || is_local) {
                options.local_policy_packs.push(pack.into());
            }
        }
    }

    /// Adds the packs to those of an analysis, as [`Self::serve_operation`] does.
    pub(crate) fn serve_analysis(self, options: &mut Vec<PolicyPackOption>) {
        for pack in self.0 {
            if !serve(&pack, options) {
                options.push(pack.into());
            }
        }
    }
}

/// Gives the functions of a pack to the options that have its name; returns whether there are any.
fn serve(pack: &PolicyPack, options: &mut [PolicyPackOption]) -> bool {
    let mut serves = false;
    for option in options.iter_mut().filter(|option| option.name == pack.name) {
        option.host = Some(pack.clone());
        serves = true;
    }
    serves
}
