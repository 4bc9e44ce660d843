//! Outputs of a program's components and of its stack.

use std::{ffi::c_void, future::Future};

use stackwright::{
    Error,
    property::json::{PlainValue, from_plain_json, from_slice},
    urn::Urn,
};

use super::{
    call::{Answer, call_async, call_blocking},
    failed_calls::CallKind,
    sw_context_t, usable,
};
use crate::{
    bytes::sw_bytes_view_t,
    callback::sw_callback_t,
    error::sw_error_t,
    failure::{Failure, Outcome},
    guard::guard,
    status::sw_status_t,
};

fn begin_outputs(
    context: &sw_context_t,
    urn: &str,
    json: &[u8],
) -> Outcome<impl Future<Output = Answer> + Send + use<>> {
    let urn = Urn::parse(urn)?;
    let outputs = from_plain_json(json)?;
    let registering = context.program.monitor.register_outputs(&urn, outputs);
    Ok(async move {
        registering.await.map_err(Error::from)?;
        Ok(None)
    })
}

/// Registers the outputs (a JSON object) of a component that the program registered, and waits until they are recorded.
///
/// # Safety
/// `context` must be null or alive, `urn` and `outputs` readable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_context_register_outputs(
    context: *const sw_context_t,
    urn: sw_bytes_view_t,
    outputs: sw_bytes_view_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    // SAFETY: this function's contract is the same.
    unsafe {
        let both = || Ok((urn.text("the URN")?, outputs.bytes("the outputs")?));
        call_blocking(
            context,
            CallKind::Declaration,
            std::ptr::null_mut(),
            error,
            both,
            |context, (urn, json)| begin_outputs(context, urn, json),
        )
    }
}

/// Registers outputs as `sw_context_register_outputs` does, without waiting.
///
/// # Safety
/// `context` must be null or alive, `urn` and `outputs` readable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_context_register_outputs_async(
    context: *const sw_context_t,
    urn: sw_bytes_view_t,
    outputs: sw_bytes_view_t,
    callback: sw_callback_t,
    user_data: *mut c_void,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    // SAFETY: this function's contract is the same.
    unsafe {
        let both = || Ok((urn.text("the URN")?, outputs.bytes("the outputs")?));
        call_async(
            context,
            CallKind::Declaration,
            callback,
            user_data,
            error,
            both,
            |context, (urn, json)| begin_outputs(context, urn, json),
        )
    }
}

/// Sets an output of the stack to a JSON value. Outputs are recorded when the program has ended.
///
/// Returns `SW_STATUS_INVALID_INPUT` in the code of a component or method, which returns its outputs with the completion.
///
/// # Safety
/// `context` must be null or alive, `name` and `value` readable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_context_export(
    context: *const sw_context_t,
    name: sw_bytes_view_t,
    value: sw_bytes_view_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: null or alive by this function's contract.
        let context = unsafe { usable(context) }?;
        if context.body.is_some() {
            let message = "a component or method has no stack outputs; its outputs are part of its response";
            return context
                .failed_calls
                .keep(CallKind::Other, Err(Failure::invalid(message)));
        }
        let export = || {
            // SAFETY: readable by this function's contract.
            let name = unsafe { name.text("the name") }?;
            // SAFETY: readable by this function's contract.
            let value = unsafe { value.bytes("the value") }?;
            let value: PlainValue = from_slice(value)
                .map_err(|error| Failure::invalid(format!("invalid value of output {name:?}: {error}")))?;
            context.program.monitor.export(name, value.0);
            Ok(())
        };
        context.failed_calls.keep(CallKind::Declaration, export())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}
