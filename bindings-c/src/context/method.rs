//! Calls of methods.

use std::{ffi::c_void, future::Future};

use stackwright::{Error, Language, binding};

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

fn begin_method(context: &sw_context_t, json: &[u8]) -> Outcome<impl Future<Output = Answer> + Send + use<>> {
    let call = binding::method_call(json, Language::C)?;
    let calling = context.program.monitor.call_method(call);
    Ok(async move {
        let result = calling.await.map_err(Error::from)?;
        Ok(Some(result.to_json()?))
    })
}

/// Calls a method of a resource, a component or a provider, and waits for its result. `call` is JSON: an object with
/// `token` and any of these members.
///
/// @members CallOptions
///
/// The result is `{"result": {…}, "resultDependencies": {"name": ["urn"]}, "failures": [{"property", "reason"}]}`. A
/// call with failures of arguments returns `SW_STATUS_OK`. A failed method ends the run, so that the call returns
/// `SW_STATUS_CANCELLED`; the program should then return.
///
/// # Safety
/// `context` must be null or alive, `call` readable, `result` null or writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_context_call_method(
    context: *const sw_context_t,
    call: sw_bytes_view_t,
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
            || call.bytes("the call"),
            begin_method,
        )
    }
}

/// Calls a method as `sw_context_call_method` does, without waiting.
///
/// # Safety
/// `context` must be null or alive, `call` readable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_context_call_method_async(
    context: *const sw_context_t,
    call: sw_bytes_view_t,
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
            || call.bytes("the call"),
            begin_method,
        )
    }
}
