//! The calls of a program, a component or a method: cancelled by the end of the run, and either waited for or completed
//! with a callback.

use std::{ffi::c_void, future::Future, sync::Arc};

use stackwright::{Error, ErrorKind};

use super::{failed_calls::CallKind, sw_context_t, usable};
use crate::{
    bytes::sw_bytes_t,
    callback::{Delivery, sw_callback_t},
    error::sw_error_t,
    failure::{Failure, Outcome},
    foreign::ensure_may_block,
    guard::{Slot, guard},
    status::sw_status_t,
};

/// The result of a call: bytes, or none.
pub(super) type Answer = Outcome<Option<Vec<u8>>>;

impl sw_context_t {
    /// Drops `call` with a cancellation error when the run ends first.
    fn until_ended(
        &self,
        call: impl Future<Output = Answer> + Send + 'static,
    ) -> impl Future<Output = Answer> + Send + 'static {
        let ended = self.ended();
        async move {
            tokio::select! {
                biased;
                answer = call => answer,
                () = ended => {
                    Err(Error::new(ErrorKind::Cancelled, "the run ended before the call was answered").into())
                }
            }
        }
    }

    fn wait(&self, call: impl Future<Output = Answer> + Send + 'static) -> Answer {
        self.shared.block_on_to_the_end(self.until_ended(call))
    }

    fn start(&self, delivery: Delivery, call: impl Future<Output = Answer> + Send + 'static) {
        let call = self.until_ended(call);
        let (this, token) = (self.this.upgrade(), self.calls.token());
        let failed_calls = Arc::clone(&self.failed_calls);
        let task = async move {
            delivery.deliver(failed_calls.keep(CallKind::Other, call.await));
            // The token keeps the engine waiting, also for the end of the context.
            drop(this);
            drop(token);
        };
        self.shared.tasks.spawn_on(task, &self.shared.handle);
    }

    pub(super) fn delivery(&self, callback: sw_callback_t, user_data: *mut c_void) -> Outcome<Delivery> {
        Delivery::new(callback, user_data, Arc::clone(&self.shared.gate))
    }
}

/// Makes a call, waits for its result and writes it to `place`.
///
/// # Safety
/// `context` must be null or alive, `place` and `error` null or writable.
pub(super) unsafe fn call_blocking<A, F: Future<Output = Answer> + Send + 'static>(
    context: *const sw_context_t,
    kind: CallKind,
    place: *mut *mut sw_bytes_t,
    error: *mut *mut sw_error_t,
    arguments: impl FnOnce() -> Outcome<A>,
    call: impl FnOnce(&sw_context_t, A) -> Outcome<F>,
) -> sw_status_t {
    let body = || {
        // SAFETY: null or writable by this function's contract.
        let place = unsafe { Slot::optional(place) };
        // SAFETY: null or alive by this function's contract.
        let context = unsafe { usable(context) }?;
        ensure_may_block()?;
        let called = || call(context, arguments()?);
        let call = context.failed_calls.keep(kind, called())?;
        // The declaration was readable, so its failure does not fail the run by itself.
        let answer = context.failed_calls.keep(CallKind::Other, context.wait(call))?;
        if let (Some(place), Some(answer)) = (place, answer) {
            place.fill(sw_bytes_t::boxed(answer));
        }
        Ok(())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}

/// Makes a call and delivers its result to a callback.
///
/// # Safety
/// `context` must be null or alive, `error` null or writable.
pub(super) unsafe fn call_async<A, F: Future<Output = Answer> + Send + 'static>(
    context: *const sw_context_t,
    kind: CallKind,
    callback: sw_callback_t,
    user_data: *mut c_void,
    error: *mut *mut sw_error_t,
    arguments: impl FnOnce() -> Outcome<A>,
    call: impl FnOnce(&sw_context_t, A) -> Outcome<F>,
) -> sw_status_t {
    let body = || {
        // SAFETY: null or alive by this function's contract.
        let context = unsafe { usable(context) }?;
        let called = || {
            if callback.is_none() {
                return Err(Failure::misuse("the callback is null"));
            }
            call(context, arguments()?)
        };
        let call = context.failed_calls.keep(kind, called())?;
        context.start(context.delivery(callback, user_data)?, call);
        Ok(())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}
