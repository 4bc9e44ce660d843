//! The context of a running program, or of the code of a component or method: its information, its failure, and the end
//! of the run.

mod body;
mod call;
mod failed_calls;
pub mod exists;
pub mod invoke;
pub mod log;
pub mod method;
pub mod outputs;
pub mod protocol;
pub mod registration;

use std::{
    collections::HashMap,
    ffi::{CString, c_char, c_void},
    sync::{Arc, Mutex, PoisonError, Weak},
};

use stackwright::{Error, ErrorKind, binding, monitor::ResourceTransform, program::ProgramContext, urn::Urn};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    bytes::sw_bytes_view_t,
    callback::sw_callback_t,
    error::sw_error_t,
    failure::{Failure, Outcome},
    guard::{guard, live},
    runtime::Shared,
    status::sw_status_t,
};

use body::Body;
pub(crate) use body::OpenContext;
pub(crate) use failed_calls::{CallKind, FailedCalls};

/// The context of a running program, or of the code of a component or method, which borrows it and never frees it.
///
/// In the code of a component, resources that are registered or read without a parent are below the component, and
/// functions are called with its providers.
pub struct sw_context_t {
    /// This context, which an asynchronous call keeps alive until its callback has returned.
    this: Weak<Self>,
    pub(crate) program: ProgramContext,
    /// The component or method whose code has the context; `None` for a program.
    body: Option<Body>,
    info: CString,
    pub(crate) shared: Arc<Shared>,
    /// The asynchronous calls whose callbacks have not returned yet.
    calls: TaskTracker,
    failure: Mutex<Option<Error>>,
    pub(crate) failed_calls: Arc<FailedCalls>,
    /// The transforms that registrations with this context can name.
    transforms: Mutex<HashMap<String, Arc<dyn ResourceTransform>>>,
    /// Cancelled when the program has ended.
    over: CancellationToken,
    /// The callbacks that wait for the end of the run or the program.
    notices: TaskTracker,
}

impl sw_context_t {
    /// Creates the context of a program.
    pub(crate) fn of_program(
        program: ProgramContext,
        root: &Urn,
        shared: Arc<Shared>,
    ) -> stackwright::Result<Arc<Self>> {
        Self::new(program, root, None, shared)
    }

    fn new(
        program: ProgramContext,
        root: &Urn,
        body: Option<Body>,
        shared: Arc<Shared>,
    ) -> stackwright::Result<Arc<Self>> {
        let info = binding::run_document(&program.info, root)?;
        let monitor = program.monitor.clone();
        let failed_calls = FailedCalls::new(move |error| monitor.declaration_unreadable(error));
        Ok(Arc::new_cyclic(|this| Self {
            this: Weak::clone(this),
            program,
            body,
            // JSON has no NUL inside.
            info: CString::new(info).unwrap_or_default(),
            shared,
            calls: TaskTracker::new(),
            failure: Mutex::default(),
            failed_calls: Arc::new(failed_calls),
            transforms: Mutex::default(),
            over: CancellationToken::new(),
            notices: TaskTracker::new(),
        }))
    }

    /// Resolves when the run has ended, or the engine has cancelled the call of the component or method.
    fn ended(&self) -> impl Future<Output = ()> + Send + use<> {
        let program = self.program.clone();
        let cancellation = self.body.as_ref().map(Body::cancellation);
        async move {
            let Some(cancellation) = cancellation else {
                return program.ended().await;
            };
            tokio::select! {
                () = program.ended() => {}
                () = cancellation.cancelled() => {}
            }
        }
    }

    /// Waits until every callback of the code's calls has returned, then calls those that wait for the end.
    pub(crate) async fn finish(&self) {
        self.calls.close();
        self.calls.wait().await;
        self.over.cancel();
        self.notices.close();
        self.notices.wait().await;
    }

    /// Takes the error that `sw_context_fail` has set.
    pub(crate) fn failure(&self) -> Option<Error> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Returns the error of the last call that failed with `status`.
    pub(crate) fn failed_with(&self, status: sw_status_t) -> Option<Error> {
        self.failed_calls.last(status)
    }
}

/// Returns the context of a call that has not been completed yet.
///
/// # Safety
/// `context` must be null or alive for as long as the reference is used.
pub(crate) unsafe fn usable<'a>(context: *const sw_context_t) -> Outcome<&'a sw_context_t> {
    // SAFETY: this function's contract is the same.
    let context = unsafe { live(context, "the context") }?;
    match &context.body {
        Some(body) if body.is_completed() => Err(Failure::misuse(body.completion_text())),
        _ => Ok(context),
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

/// Returns whether the run has ended before the program, or the call of a component or method was cancelled; the code
/// should then end soon. True for null.
///
/// # Safety
/// `context` must be null or alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_context_is_ended(context: *const sw_context_t) -> bool {
    // SAFETY: null or alive by this function's contract.
    unsafe { context.as_ref() }.is_none_or(|context| {
        let is_cancelled = context.body.as_ref().is_some_and(Body::is_cancelled);
        is_cancelled || context.program.monitor.is_closed()
    })
}

/// Calls the callback when the run ends before the program (with `SW_STATUS_CANCELLED`; the program should return
/// soon), or when the program has returned and its last call was completed (with `SW_STATUS_OK`).
///
/// For the code of a component or method, it is called when the run ends or the call is cancelled before its completion
/// (with `SW_STATUS_CANCELLED`), or else after the completion and the last callback (with `SW_STATUS_OK`).
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
        let context = unsafe { usable(context) }?;
        let delivery = context
            .failed_calls
            .keep(CallKind::Other, context.delivery(callback, user_data))?;
        let (this, ended, over) = (context.this.upgrade(), context.ended(), context.over.clone());
        let token = context.notices.token();
        let task = async move {
            let outcome = tokio::select! {
                biased;
                () = over.cancelled() => Ok(None),
                () = ended => Err(Error::new(ErrorKind::Cancelled, "the run has ended").into()),
            };
            delivery.deliver(outcome);
            drop(this);
            drop(token);
        };
        drop(context.shared.tasks.spawn_on(task, &context.shared.handle));
        Ok(())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}

/// Sets the message with which the run fails when the program returns, also with `SW_STATUS_OK`. Invalid UTF-8 is
/// replaced by U+FFFD. The code of a component or method fails with it when its call is completed with success.
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
        let context = unsafe { usable(context) }?;
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
