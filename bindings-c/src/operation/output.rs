//! The lines that show an operation to a reader, pulled one by one.

use std::{ffi::c_void, sync::Arc};

use stackwright_command::display::{Following, Form, Paint, ScreenSize};

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

/// Lines have no size.
const UNSIZED: ScreenSize = ScreenSize { columns: 0, rows: 0 };

impl sw_operation_t {
    fn take_output(&self) -> Outcome<Taken<Following>> {
        let follow = || Following::new(&self.operation, self.title.clone(), Form::Lines, Paint::PLAIN);
        Source::take(
            &self.output,
            follow,
            "another call waits for the next lines already",
        )
    }
}

async fn next(mut taken: Taken<Following>) -> Outcome<Option<Vec<u8>>> {
    let Some(following) = taken.source() else {
        return Ok(None);
    };
    Ok(following.next(UNSIZED).await.map(String::into_bytes))
}

/// Waits for the next lines that show the operation to a reader: a text of whole lines, which ends with a newline; null after the
/// last one. Secrets are masked. Lines and events are pulled independently: what is pulled first has all from the beginning, the other
/// what is still to come. One call at a time: another gets `SW_STATUS_MISUSE`.
///
/// # Safety
/// `operation` must be null or alive, `output` writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_operation_next_output(
    operation: *const sw_operation_t,
    output: *mut *mut sw_bytes_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: writable by this function's contract.
        let place = unsafe { Slot::required(output, "output") }?;
        // SAFETY: null or alive by this function's contract.
        let operation = unsafe { live(operation, "the operation") }?;
        ensure_may_block()?;
        let next = next(operation.take_output()?);
        if let Some(lines) = operation.parts.shared.block_on_to_the_end(next)? {
            place.fill(sw_bytes_t::boxed(lines));
        }
        Ok(())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}

/// Gets the next lines as `sw_operation_next_output` does, with a callback; its result has no data after the last one.
///
/// # Safety
/// `operation` must be null or alive, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_operation_next_output_async(
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
        let taken = operation.take_output()?;
        let delivery = Delivery::new(callback, user_data, Arc::clone(&shared.gate))?;
        // The output is back in its place before the callback, which may ask for the next lines.
        shared.deliver(delivery, next(taken));
        Ok(())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}
