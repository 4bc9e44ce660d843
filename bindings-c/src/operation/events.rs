//! The events of an operation, pulled one by one.

use std::{ffi::c_void, sync::Arc};

use stackwright::event::{EventJson, EventStream};

use super::{
    source::{Source, Taken},
    sw_operation_t,
};
use crate::{
    bytes::sw_bytes_t,
    callback::{Delivery, sw_callback_t},
    error::sw_error_t,
    failure::{Failure, Outcome},
    foreign::ensure_may_block,
    guard::{Slot, guard, live},
    status::sw_status_t,
};

pub(super) struct Listener {
    stream: EventStream,
    /// Only the operation's own writer knows what is secret in it.
    writer: EventJson,
}

impl sw_operation_t {
    /// Takes the events for one call. Before the first one, the operation itself keeps them, or makes none where its options exclude
    /// that.
    fn take_events(&self) -> Outcome<Taken<Listener>> {
        let listen = || {
            let stream = self.operation.events();
            let writer = stream.json(self.show_secrets);
            Listener { stream, writer }
        };
        let busy = "another call waits for the next event already";
        Source::take(&self.events, listen, busy)
    }
}

async fn next(mut taken: Taken<Listener>) -> Outcome<Option<Vec<u8>>> {
    let Some(listener) = taken.source() else {
        return Ok(None);
    };
    let event = listener.stream.next().await;
    Ok(event.map(|event| listener.writer.line(&event).into_bytes()))
}

/// Waits for the next event, a line of the reference engine's event log (JSON); null after the last one, which is the
/// cancel event. Every event comes, from the first on, however slow the caller is. One call at a time: another gets
/// `SW_STATUS_MISUSE`. Members that can be absent are marked as optional.
///
/// @events
///
/// # Safety
/// `operation` must be null or alive, `event` writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_operation_next_event(
    operation: *const sw_operation_t,
    event: *mut *mut sw_bytes_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: writable by this function's contract.
        let place = unsafe { Slot::required(event, "event") }?;
        // SAFETY: null or alive by this function's contract.
        let operation = unsafe { live(operation, "the operation") }?;
        ensure_may_block()?;
        let next = next(operation.take_events()?);
        if let Some(event) = operation.parts.shared.block_on_to_the_end(next)? {
            place.fill(sw_bytes_t::boxed(event));
        }
        Ok(())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}

/// Gets the next event as `sw_operation_next_event` does, with a callback; its result has no data after the last one.
///
/// # Safety
/// `operation` must be null or alive, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_operation_next_event_async(
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
        if callback.is_none() {
            return Err(Failure::misuse("the callback is null"));
        }
        let taken = operation.take_events()?;
        let delivery = Delivery::new(callback, user_data, Arc::clone(&shared.gate))?;
        // The stream is back in its place before the callback, which may ask for the next event.
        shared.deliver(delivery, next(taken));
        Ok(())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}
