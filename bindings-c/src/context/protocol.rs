//! Messages of the protocol without a socket, for programs of SDKs.

use std::{ffi::c_void, future::Future};

use stackwright::Error;

use super::{
    call::{Answer, call_async, call_blocking},
    failed_calls::CallKind,
    sw_context_t,
};
use crate::{
    bytes::{sw_bytes_t, sw_bytes_view_t},
    callback::sw_callback_t,
    error::sw_error_t,
    status::sw_status_t,
};

fn begin_call(
    context: &sw_context_t,
    method: &str,
    request: &[u8],
) -> impl Future<Output = Answer> + Send + use<> {
    let calling = context
        .program
        .monitor
        .call(method, bytes::Bytes::copy_from_slice(request));
    async move { Ok(Some(calling.await.map_err(Error::from)?)) }
}

/// Calls the resource monitor with a message of the protocol (`ResourceMonitor/RegisterResource` and an encoded
/// request, for instance) and waits for the encoded response: for hosts that run an SDK's program without a socket.
///
/// # Safety
/// `context` must be null or alive, `method` and `request` readable, `response` and `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_context_call(
    context: *const sw_context_t,
    method: sw_bytes_view_t,
    request: sw_bytes_view_t,
    response: *mut *mut sw_bytes_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    // SAFETY: this function's contract is the same.
    unsafe {
        let both = || Ok((method.text("the method")?, request.bytes("the request")?));
        call_blocking(
            context,
            CallKind::Other,
            response,
            error,
            both,
            |context, (method, request)| Ok(begin_call(context, method, request)),
        )
    }
}

/// Calls the resource monitor as `sw_context_call` does, without waiting.
///
/// # Safety
/// `context` must be null or alive, `method` and `request` readable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_context_call_async(
    context: *const sw_context_t,
    method: sw_bytes_view_t,
    request: sw_bytes_view_t,
    callback: sw_callback_t,
    user_data: *mut c_void,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    // SAFETY: this function's contract is the same.
    unsafe {
        let both = || Ok((method.text("the method")?, request.bytes("the request")?));
        call_async(
            context,
            CallKind::Other,
            callback,
            user_data,
            error,
            both,
            |context, (method, request)| Ok(begin_call(context, method, request)),
        )
    }
}
