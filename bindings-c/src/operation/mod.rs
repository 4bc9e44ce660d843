//! Operations: their handle, cancellation and release.

pub mod events;
pub mod output;
pub mod result;
mod source;

use std::{
    ffi::c_void,
    future::Future,
    sync::{Arc, Mutex},
};

use stackwright::operation::{Operation, OperationOptions, OperationResult};
use stackwright_command::display::{Following, Title};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::{events::Listener, source::Source};
use crate::{
    callback::{Delivery, sw_callback_t},
    engine::Parts,
    error::sw_error_t,
    failure::Outcome,
    guard::{guard, live},
    status::sw_status_t,
};

/// An operation that runs or has ended. Freeing the handle does not end it.
pub struct sw_operation_t {
    operation: Operation,
    parts: Arc<Parts>,
    /// The runs of the program that have not returned yet.
    running: TaskTracker,
    /// Whether the session stays open after the result, until it is released.
    held: bool,
    /// Cancelled when the handle is freed.
    freed: CancellationToken,
    show_secrets: bool,
    title: Title,
    events: Arc<Mutex<Source<Listener>>>,
    output: Arc<Mutex<Source<Following>>>,
}

impl sw_operation_t {
    pub(crate) fn new(
        operation: Operation,
        parts: Arc<Parts>,
        running: TaskTracker,
        options: &OperationOptions,
        title: Title,
    ) -> Self {
        running.close();
        let handle = Self {
            operation,
            parts,
            running,
            held: options.hold_session,
            freed: CancellationToken::new(),
            show_secrets: options.show_secrets,
            title,
            events: Arc::default(),
            output: Arc::default(),
        };
        handle.cancel_at_the_end();
        handle
    }

    /// Spawns the task that cancels the operation and its running calls when the runtime ends, and releases a held
    /// session.
    fn cancel_at_the_end(&self) {
        let operation = self.operation.clone();
        let closing: CancellationToken = self.parts.shared.closing.clone();
        let (held, freed) = (self.held, self.freed.clone());
        let end = self.end();
        let task = async move {
            tokio::pin!(end);
            tokio::select! {
                () = closing.cancelled() => {
                    operation.cancel();
                    operation.cancel();
                    drop(end.await);
                }
                _result = &mut end => {}
            }
            if held {
                tokio::select! {
                    () = closing.cancelled() => {}
                    () = freed.cancelled() => {}
                }
                operation.release().await;
            }
        };
        drop(self.parts.shared.tasks.spawn_on(task, &self.parts.shared.handle));
    }

    /// Waits until the operation has ended and, unless its session is held, its program has returned.
    fn end(&self) -> impl Future<Output = Arc<OperationResult>> + Send + use<> {
        let (operation, running, held) = (self.operation.clone(), self.running.clone(), self.held);
        async move {
            let result = operation.wait().await;
            if !held {
                running.wait().await;
            }
            result
        }
    }

    /// Ends the session and waits until the program has returned.
    fn released(&self) -> impl Future<Output = Outcome<()>> + Send + use<> {
        let (operation, running) = (self.operation.clone(), self.running.clone());
        async move {
            operation.release().await;
            running.wait().await;
            Ok(())
        }
    }
}

impl Drop for sw_operation_t {
    fn drop(&mut self) {
        self.freed.cancel();
    }
}

/// Cancels an operation: running steps finish and are recorded. The second call also cancels running calls of
/// providers. Further calls, and calls after the end, have no effect. May be called from callbacks.
///
/// # Safety
/// `operation` must be null or alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_operation_cancel(operation: *const sw_operation_t) -> sw_status_t {
    let body = || {
        // SAFETY: null or alive by this function's contract.
        let operation = unsafe { live(operation, "the operation") }?;
        operation.operation.cancel();
        Ok(())
    };
    // SAFETY: null is allowed.
    unsafe { guard(std::ptr::null_mut(), body) }
}

/// Ends the session of an operation that was started with `holdSession`, and waits until it has ended: pending calls
/// fail because the monitor shut down, and the providers are released. For another operation, it waits for the end.
/// Further calls have no effect. Freeing the handle releases the session without waiting.
///
/// # Safety
/// `operation` must be null or alive, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_operation_release(
    operation: *const sw_operation_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: null or alive by this function's contract.
        let operation = unsafe { live(operation, "the operation") }?;
        let releasing = operation.released();
        operation.parts.shared.block_on_to_the_end(releasing)
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}

/// Ends the session as `sw_operation_release` does, without waiting; the callback's result has no data.
///
/// # Safety
/// `operation` must be null or alive, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_operation_release_async(
    operation: *const sw_operation_t,
    callback: sw_callback_t,
    user_data: *mut c_void,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: null or alive by this function's contract.
        let operation = unsafe { live(operation, "the operation") }?;
        let shared = &operation.parts.shared;
        shared.ensure_open()?;
        let delivery = Delivery::new(callback, user_data, Arc::clone(&shared.gate))?;
        let releasing = operation.released();
        shared.deliver(delivery, async move { releasing.await.map(|()| None) });
        Ok(())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}

/// Frees an operation's handle; the operation continues. Null is ignored.
///
/// # Safety
/// `operation` must be null or a live object of `sw_stack_start`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_operation_free(operation: *mut sw_operation_t) {
    if !operation.is_null() {
        // SAFETY: created by `sw_stack_start`, and not freed before by this function's contract.
        drop(unsafe { Box::from_raw(operation) });
    }
}
