//! Queries whether resources exist.

use std::{ffi::c_void, future::Future};

use stackwright::{
    Error, Language, binding,
    property::{PropertyValue, json::value_to_plain_json},
};
use tokio_util::either::Either;

use super::{
    call::{Answer, call_async, call_blocking},
    failed_calls::CallKind,
    sw_context_t,
};
use crate::{
    bytes::{sw_bytes_t, sw_bytes_view_t},
    callback::sw_callback_t,
    error::sw_error_t,
    failure::Outcome,
    status::sw_status_t,
};

fn begin_exists(context: &sw_context_t, json: &[u8]) -> Outcome<impl Future<Output = Answer> + Send + use<>> {
    let exists = binding::exists(json, Language::C)?;
    let finding = match context.component() {
        Some(component) => Either::Left(component.exists(exists)),
        None => Either::Right(context.program.monitor.exists(exists)),
    };
    Ok(async move {
        let exists = finding.await.map_err(Error::from)?;
        let exists = exists.map_or_else(PropertyValue::unknown, PropertyValue::from);
        Ok(Some(value_to_plain_json(&exists)?))
    })
}

/// Queries whether a resource exists, which its provider reads, and waits for the answer; the resource does not become a part of the
/// stack. `exists` is JSON: an object with `type`, `id` and any of these members.
///
/// @members ExistsOptions
///
/// The result is `true` or `false`; it is the text of an unknown value while the id, an input or a resource of `dependsOn` is only
/// planned.
///
/// # Safety
/// `context` must be null or alive, `exists` readable, `result` null or writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_context_exists(
    context: *const sw_context_t,
    exists: sw_bytes_view_t,
    result: *mut *mut sw_bytes_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    // SAFETY: this function's contract is the same.
    unsafe {
        call_blocking(
            context,
            CallKind::Other,
            result,
            error,
            || exists.bytes("the query"),
            begin_exists,
        )
    }
}

/// Queries whether a resource exists as `sw_context_exists` does, without waiting.
///
/// # Safety
/// `context` must be null or alive, `exists` readable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_context_exists_async(
    context: *const sw_context_t,
    exists: sw_bytes_view_t,
    callback: sw_callback_t,
    user_data: *mut c_void,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    // SAFETY: this function's contract is the same.
    unsafe {
        call_async(
            context,
            CallKind::Other,
            callback,
            user_data,
            error,
            || exists.bytes("the query"),
            begin_exists,
        )
    }
}
