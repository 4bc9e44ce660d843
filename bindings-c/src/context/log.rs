//! Diagnostics of a program.

use stackwright::{diagnostic::Severity, urn::Urn};

use super::{failed_calls::CallKind, sw_context_t, usable};
use crate::{bytes::sw_bytes_view_t, error::sw_error_t, failure::Failure, guard::guard, status::sw_status_t};

/// The severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum sw_severity_t {
    /// Details for debugging.
    SW_SEVERITY_DEBUG = 0,
    /// Information.
    SW_SEVERITY_INFO = 1,
    /// A probable mistake.
    SW_SEVERITY_WARNING = 2,
    /// An error; the run fails.
    SW_SEVERITY_ERROR = 3,
}

/// Emits a diagnostic of a resource or, when `urn` is empty, of the whole deployment. `severity` is one of
/// `sw_severity_t`.
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
        let context = unsafe { usable(context) }?;
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
                other => return Err(Failure::misuse(format!("unknown severity {other}"))),
            };
            context.program.monitor.log(severity, message, urn);
            Ok(())
        };
        context.failed_calls.keep(CallKind::Other, log())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}
