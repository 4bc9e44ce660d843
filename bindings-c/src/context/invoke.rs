//! Calls of packages' functions.

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

fn begin_invoke(context: &sw_context_t, json: &[u8]) -> Outcome<impl Future<Output = Answer> + Send + use<>> {
    let invoke = binding::invoke(json, Language::C)?;
    let invoking = match context.component() {
        Some(component) => Either::Left(component.invoke(invoke)),
        None => Either::Right(context.program.monitor.invoke_known(invoke)),
    };
    Ok(async move {
        let result = match invoking.await.map_err(Error::from)? {
            Some(result) => PropertyValue::from(result),
            None => PropertyValue::unknown(),
        };
        Ok(Some(value_to_plain_json(&result)?))
    })
}

/// Calls a function of a package and waits for its result, a JSON object. `invoke` is JSON: an object with `token` and any of these
/// members.
///
/// @members InvokeOptions
///
/// The function is not called while a resource of `dependsOn`, or one that an output value in the arguments depends on, is only planned. The
/// result is the text of an unknown value then, which can be passed on as an input.
///
/// # Safety
/// `context` must be null or alive, `invoke` readable, `result` null or writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_context_invoke(
    context: *const sw_context_t,
    invoke: sw_bytes_view_t,
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
            || invoke.bytes("the invoke"),
            begin_invoke,
        )
    }
}

/// Calls a function of a package as `sw_context_invoke` does, without waiting.
///
/// # Safety
/// `context` must be null or alive, `invoke` readable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_context_invoke_async(
    context: *const sw_context_t,
    invoke: sw_bytes_view_t,
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
            || invoke.bytes("the invoke"),
            begin_invoke,
        )
    }
}
