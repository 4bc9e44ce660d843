//! The context of a running program: its information, its failure, and the end of the run.

mod call;
mod failed_calls;
pub mod invoke;
pub mod log;
pub mod outputs;
pub mod protocol;
pub mod registration;

use std::{
    ffi::{CString, c_char, c_void},
    sync::{Arc, Mutex, PoisonError},
};

use stackwright::{Error, ErrorKind, binding, program::ProgramContext, urn::Urn};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    bytes::sw_bytes_view_t,
    callback::sw_callback_t,
    error::sw_error_t,
    guard::{guard, live},
    runtime::Shared,
    status::sw_status_t,
};

pub(crate) use call::error_of;
use failed_calls::{CallKind, FailedCalls};

/// The context of a running program, which borrows it and never frees it.
pub struct sw_context_t {
    program: ProgramContext,
    info: CString,
    shared: Arc<Shared>,
    /// The asynchronous calls whose callbacks have not returned yet.
    calls: TaskTracker,
    failure: Mutex<Option<Error>>,
    failed_calls: Arc<FailedCalls>,
    /// Cancelled when the program has ended.
    over: CancellationToken,
    /// The callbacks that wait for the end of the run or the program.
    notices: TaskTracker,
}

impl sw_context_t {
    pub(crate) fn new(program: ProgramContext, root: &Urn, shared: Arc<Shared>) -> stackwright::Result<Self> {
        let info = binding::run_document(&program.info, root)?;
        let monitor = program.monitor.clone();
        let failed_calls = FailedCalls::new(move |error| monitor.declaration_unreadable(error));
        Ok(Self {
            program,
            // JSON has no NUL inside.
            info: CString::new(info).unwrap_or_default(),
            shared,
            calls: TaskTracker::new(),
            failure: Mutex::default(),
            failed_calls: Arc::new(failed_calls),
            over: CancellationToken::new(),
            notices: TaskTracker::new(),
        })
    }

    /// Waits until every callback of the program's calls has returned, then calls those that wait for the end.
    pub(crate) async fn finish(&self) {
        self.calls.close();
        self.calls.wait().await;
        self.over.cancel();
        self.notices.close();
        self.notices.wait().await;
    }

    pub(crate) fn failure(&self) -> Option<Error> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Returns the error of the last call that failed with `status`.
    pub(crate) fn failed_with(&self, status: sw_status_t) -> Option<Error> {
        self.failed_calls.last(status)
    }
}

/// Returns the facts of a run as JSON, which lives as long as the context; null for null. Its members:
///
/// @members RunInfo
///
/// # Safety
/// `context` must be null or alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_context_info(context: *const sw_context_t) -> *const c_char {
    // SAFETY: null or alive by this function's contract.
    unsafe { context.as_ref() }.map_or(std::ptr::null(), |context| context.info.as_ptr())
}

/// Returns whether the run has ended before the program, which should then return soon; true for null.
///
/// # Safety
/// `context` must be null or alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_context_is_ended(context: *const sw_context_t) -> bool {
    // SAFETY: null or alive by this function's contract.
    unsafe { context.as_ref() }.is_none_or(|context| context.program.monitor.is_closed())
}

/// Calls the callback when the run ends before the program (with `SW_STATUS_CANCELLED`; the program should return
/// soon), or when the program has returned and its last call was completed (with `SW_STATUS_OK`).
///
/// # Safety
/// `context` must be null or alive, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_context_ended_async(
    context: *const sw_context_t,
    callback: sw_callback_t,
    user_data: *mut c_void,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: null or alive by this function's contract.
        let context = unsafe { live(context, "the context") }?;
        let delivery = context
            .failed_calls
            .keep(CallKind::Other, context.delivery(callback, user_data))?;
        let (program, over) = (context.program.clone(), context.over.clone());
        let token = context.notices.token();
        let task = async move {
            let outcome = tokio::select! {
                biased;
                () = over.cancelled() => Ok(None),
                () = program.ended() => Err(Error::new(ErrorKind::Cancelled, "the run has ended").into()),
            };
            delivery.deliver(outcome);
            drop(token);
        };
        drop(context.shared.tasks.spawn_on(task, &context.shared.handle));
        Ok(())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}

/// Sets the message with which the run fails when the program returns, also with `SW_STATUS_OK`. Invalid UTF-8 is
/// replaced by U+FFFD.
///
/// # Safety
/// `context` must be null or alive, `message` readable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_context_fail(
    context: *const sw_context_t,
    message: sw_bytes_view_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: null or alive by this function's contract.
        let context = unsafe { live(context, "the context") }?;
        // SAFETY: readable by this function's contract.
        let bytes = unsafe { message.bytes("the message") };
        // The run fails also when the message is unreadable.
        let text = String::from_utf8_lossy(bytes.as_deref().unwrap_or_default());
        let text = match text.trim() {
            "" => "the program failed without a message",
            _ => &*text,
        };
        *context.failure.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(Error::new(ErrorKind::Program, text));
        bytes.map(|_| ())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}
