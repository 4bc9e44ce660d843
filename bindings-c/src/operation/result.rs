//! The result of an operation, with and without waiting.

use std::{ffi::c_void, sync::Arc};

use stackwright::{Language, binding, operation::OperationResult};

use super::sw_operation_t;
use crate::{
    bytes::sw_bytes_t,
    callback::{Delivery, sw_callback_t},
    error::sw_error_t,
    failure::Outcome,
    guard::{Slot, guard, live},
    picture::written,
    status::sw_status_t,
};

/// Waits until an operation and, unless its session is held, its program has ended.
///
/// Returns the status of the operation's error. `result` (which may be null) is set in either case, to JSON: `{"outcome":
/// "succeeded"|"failed"|"canceled", "error": null or an object, "changes": {"create": 3}, "hasChanges", "outputs": {…}, "steps":
/// […], "suggestedMoves": […], "diagnostics": […], "duration" (in seconds), "tree" (the steps as a text for display)}`. The outcome is `canceled` where
/// the host cancelled the operation and it ended for that; the summary among the events counts an operation whose running
/// calls were left to finish as failed, as the reference engine does. With `generatePlan` there is a `plan`, too: secrets in
/// it are encrypted, and it can constrain a later operation. The state that the operation left may be large, and is given
/// by `sw_operation_deployment`. The members of an output, by its name in `outputs`; secret values are readable:
///
/// @members OutputValue
///
/// The members of a step:
///
/// @members Step
///
/// Members of a change:
///
/// @members PropertyChange
///
/// Members of a suggested move, which the option `acceptMoves` takes:
///
/// @members SuggestedMove
///
/// Members of what follows it:
///
/// @members MovedResource
///
/// Members of a diagnostic:
///
/// @members Diagnostic
///
/// Members of an error:
///
/// @members ErrorFacts
///
/// # Safety
/// `operation` must be null or alive, `result` null or writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_operation_wait(
    operation: *const sw_operation_t,
    result: *mut *mut sw_bytes_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: null or writable by this function's contract.
        let place = unsafe { Slot::optional(result) };
        // SAFETY: null or alive by this function's contract.
        let operation = unsafe { live(operation, "the operation") }?;
        let end = operation.end();
        let result = operation
            .parts
            .shared
            .block_on_to_the_end(async { Ok(end.await) })?;
        if let Some(place) = place {
            place.fill(sw_bytes_t::boxed(document(&result)?));
        }
        result.error.clone().map_or(Ok(()), |error| Err(error.into()))
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}

/// Waits as `sw_operation_wait` does, with a callback. The callback's status is `SW_STATUS_OK` also for an operation
/// that failed; the result contains its outcome.
///
/// # Safety
/// `operation` must be null or alive, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_operation_wait_async(
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
        let end = operation.end();
        shared.deliver(delivery, async move { document(&*end.await).map(Some) });
        Ok(())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}

/// Returns the result of an operation that has ended, as `sw_operation_wait` does, without waiting; null while it runs.
///
/// # Safety
/// `operation` must be null or alive, `result` writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_operation_result(
    operation: *const sw_operation_t,
    result: *mut *mut sw_bytes_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: writable by this function's contract.
        let place = unsafe { Slot::required(result, "result") }?;
        // SAFETY: null or alive by this function's contract.
        let operation = unsafe { live(operation, "the operation") }?;
        if let Some(result) = operation.operation.result() {
            place.fill(sw_bytes_t::boxed(document(&result)?));
        }
        Ok(())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}

/// Returns the state after an operation, also one that failed or was cancelled, as a deployment document for
/// `sw_stack_import_deployment`, with encrypted secrets. Null while the operation runs, for a preview, and for an
/// operation that failed before it read the state or whose saved state is unknown.
///
/// The document is written by each call. Never blocks, so callbacks may call it. `SW_STATUS_SECRETS` when the operation
/// could not encrypt its state.
///
/// # Safety
/// `operation` must be null or alive, `deployment` writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_operation_deployment(
    operation: *const sw_operation_t,
    deployment: *mut *mut sw_bytes_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: writable by this function's contract.
        let place = unsafe { Slot::required(deployment, "deployment") }?;
        // SAFETY: null or alive by this function's contract.
        let operation = unsafe { live(operation, "the operation") }?;
        if let Some(result) = operation.operation.result()
            && let Some(document) = result.deployment()?
        {
            place.fill(sw_bytes_t::boxed(document));
        }
        Ok(())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}

/// Returns the resources with what an operation that has ended did, or would do, as a picture: a text in a form of
/// `sw_picture_form_t`, in which secrets are masked. Null while the operation runs. After an operation that failed before
/// it read the state, the picture is empty.
///
/// The picture is drawn by each call. Never blocks, so callbacks may call it.
///
/// # Safety
/// `operation` must be null or alive, `picture` writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_operation_picture(
    operation: *const sw_operation_t,
    form: i32,
    picture: *mut *mut sw_bytes_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: writable by this function's contract.
        let place = unsafe { Slot::required(picture, "picture") }?;
        // SAFETY: null or alive by this function's contract.
        let operation = unsafe { live(operation, "the operation") }?;
        if let Some(result) = operation.operation.result() {
            place.fill(sw_bytes_t::boxed(written(&result.picture(), form)?));
        }
        Ok(())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}

fn document(result: &OperationResult) -> Outcome<Vec<u8>> {
    Ok(binding::result_document(result, Language::C, true)?)
}
