//! Functions of a program that the engine calls: transforms and hooks.

pub mod hook;
pub mod transform;

use std::{ffi::c_void, sync::Arc};

use stackwright::{Error, ErrorKind};

use crate::{
    context::{CallKind, sw_context_t, usable},
    error::sw_error_t,
    failure::{Failure, Outcome},
    foreign::{UserData, sw_free_t},
    guard::{VersionedStruct, guard, sized},
    provider::{HostFunction, PendingCall, sw_call_t, sw_give_up_t, text_answer},
    runtime::Shared,
    status::sw_status_t,
};

/// The version of `sw_function_t` that this header describes.
pub const SW_FUNCTION_VERSION: u32 = 1;

/// A flag of `sw_function_t` and `sw_policies_t`: the function returns soon and never blocks, so it is called on the
/// runtime's threads, which is faster.
pub const SW_FUNCTION_PROMPT: u32 = 1;

/// A function of a program that the engine calls: a transform or a hook. The structure is copied.
///
/// IT IS CALLED CONCURRENTLY, from any thread. It completes each call exactly once, before or after it returns and from any
/// thread, with `sw_completion_succeed`, or with `sw_completion_fail`, whose message is reported and whose status is ignored.
/// A call that is not completed within five minutes fails; it is cancelled then, and when the operation is. The completion of
/// a cancelled call must still be completed or freed. Without `SW_FUNCTION_PROMPT` in `flags`, each call has a thread of its
/// own and may block.
///
/// A function that succeeded in being added belongs to the run, and not to the program: it may be called after the program has
/// returned, and must not use its context then. `free` is called once, after the last call, when the run and its context have
/// ended. A function that could not be added still belongs to the host, and `free` is not called.
///
/// A transform of the stack that refuses resources without an owner and protects the others:
///
/// ```c
/// static void protect(void *user_data, sw_bytes_view_t request, sw_completion_t *completion)
/// {
///     sw_bytes_t *owner = NULL;
///     sw_json_text(request, sw_text("/inputs/owner"), &owner, NULL);
///     if (owner)
///         sw_completion_succeed(completion, sw_text("{\"options\": {\"protect\": true}}"));
///     else
///         sw_completion_fail(completion, SW_PROVIDER_STATUS_UNKNOWN, sw_text("it has no owner"));
///     sw_bytes_free(owner);
/// }
///
/// static int32_t run(void *user_data, sw_context_t *context)
/// {
///     sw_function_t function = {sizeof function, SW_FUNCTION_VERSION, 0, NULL, NULL, protect, NULL};
///     return sw_context_add_transform(context, &function, NULL);
/// }
/// ```
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sw_function_t {
    /// `sizeof(sw_function_t)`.
    pub struct_size: usize,
    /// `SW_FUNCTION_VERSION`.
    pub version: u32,
    /// 0 or `SW_FUNCTION_PROMPT`.
    pub flags: u32,
    /// Passed to each function.
    pub user_data: *mut c_void,
    /// Frees `user_data` after the last call; may be null. It must return soon.
    pub free: sw_free_t,
    /// The function. Required.
    pub call: sw_call_t,
    /// Called once when a call is cancelled; may be null. It must return soon.
    pub give_up: sw_give_up_t,
}

// SAFETY: the size is the first field; the rest are numbers, pointers and functions that may be null.
unsafe impl VersionedStruct for sw_function_t {
    const MIN_STRUCT_SIZE: usize = size_of::<Self>();
}

/// A function of the host.
pub(crate) struct CFunction {
    function: HostFunction,
    give_up: sw_give_up_t,
    prompt: bool,
    data: Arc<UserData>,
    shared: Arc<Shared>,
}

impl CFunction {
    /// Reads a function of the host; `what` names it in failures.
    ///
    /// # Safety
    /// `function` must be null or readable for its `struct_size`.
    unsafe fn new(function: *const sw_function_t, what: &str, shared: &Arc<Shared>) -> Outcome<Self> {
        // SAFETY: null or readable by this function's contract.
        let function = unsafe { sized(function, &format!("the structure of the {what}")) }?
            .ok_or_else(|| Failure::misuse(format!("the {what} is null")))?;
        if function.version != SW_FUNCTION_VERSION {
            return Err(Failure::misuse(format!("the {what} has an unknown version")));
        }
        let prompt = is_prompt(function.flags, what)?;
        let call = function
            .call
            .ok_or_else(|| Failure::misuse(format!("the {what} has no call function")))?;
        Ok(Self {
            function: HostFunction::Plain(call),
            give_up: function.give_up,
            prompt,
            data: Arc::new(UserData::new(function.user_data, function.free)),
            shared: Arc::clone(shared),
        })
    }

    /// Calls the function; `what` names it in errors. Dropping the future cancels the call.
    async fn ask(&self, what: &str, request: Vec<u8>) -> stackwright::Result<Vec<u8>> {
        let call = PendingCall {
            function: self.function.clone(),
            give_up: self.give_up,
            data: Arc::clone(&self.data),
            prompt: self.prompt,
        };
        let answer = call.answer(&self.shared, request).await;
        text_answer(answer, ErrorKind::Program, what)
    }
}

/// Reads the flags of a function; `what` names it in failures.
pub(crate) fn is_prompt(flags: u32, what: &str) -> Outcome<bool> {
    if flags & !SW_FUNCTION_PROMPT != 0 {
        return Err(Failure::misuse(format!("the {what} has unknown flags")));
    }
    Ok(flags & SW_FUNCTION_PROMPT != 0)
}

/// Reads the response of a function; `what` names it in the error.
fn response<T: Default + serde::de::DeserializeOwned>(what: &str, json: &[u8]) -> stackwright::Result<T> {
    if json.is_empty() {
        return Ok(T::default());
    }
    serde_json::from_slice(json).map_err(|error| {
        Error::new(
            ErrorKind::Program,
            format!("malformed {what} response from the host: {error}"),
        )
    })
}

/// Adds a function to a run with `add`, and takes over its `user_data` when that succeeds; `what` names it in failures.
///
/// # Safety
/// `context` must be null or alive, `function` null or readable, `error` null or writable.
unsafe fn add_function(
    context: *const sw_context_t,
    kind: CallKind,
    function: *const sw_function_t,
    what: &str,
    error: *mut *mut sw_error_t,
    add: impl FnOnce(&sw_context_t, Arc<CFunction>) -> Outcome<()>,
) -> sw_status_t {
    let body = || {
        // SAFETY: null or alive by this function's contract.
        let context = unsafe { usable(context) }?;
        let added = || {
            // SAFETY: null or readable by this function's contract.
            let function = Arc::new(unsafe { CFunction::new(function, what, &context.shared) }?);
            add(context, Arc::clone(&function))?;
            function.data.adopt();
            Ok(())
        };
        context.failed_calls.keep(kind, added())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}
