//! What a program says to people.

use stackwright::{diagnostic::Severity, urn::Urn};

use super::{failed_calls::Purpose, sw_context_t};
use crate::{
    bytes::sw_bytes_view_t,
    error::sw_error_t,
    failure::Failure,
    guard::{guard, live},
    status::sw_status_t,
};

/// How much a message matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum sw_severity_t {
    /// For those who look for a fault.
    SW_SEVERITY_DEBUG = 0,
    /// Worth reading.
    SW_SEVERITY_INFO = 1,
    /// Something is probably not as intended.
    SW_SEVERITY_WARNING = 2,
    /// Something failed; the run fails.
    SW_SEVERITY_ERROR = 3,
}

/// Says something to people, about a resource or, when `urn` is empty, about the whole deployment. `severity` is one
/// of `sw_severity_t`.
///
/// # Safety
/// `context` must be null or alive, `message` and `urn` readable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_context_log(
    context: *const sw_context_t,
    severity: i32,
    message: sw_bytes_view_t,
    urn: sw_bytes_view_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: null or alive by this function's contract.
        let context = unsafe { live(context, "the context") }?;
        let log = || {
            // SAFETY: readable by this function's contract.
            let message = unsafe { message.text("the message") }?;
            // SAFETY: readable by this function's contract.
            let urn = unsafe { urn.text("the URN") }?;
            let urn = if urn.is_empty() {
                None
            } else {
                Some(Urn::parse(urn)?)
            };
            let severity = match severity {
                0 => Severity::Debug,
                1 => Severity::Info,
                2 => Severity::Warning,
                3 => Severity::Error,
                other => return Err(Failure::misuse(format!("there is no severity {other}"))),
            };
            context.program.monitor.log(severity, message, urn);
            Ok(())
        };
        context.failed_calls.keep(Purpose::Asks, log())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}
