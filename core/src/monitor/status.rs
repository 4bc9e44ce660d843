//! Errors of monitor calls: a gRPC status without the transport.

use std::fmt;

use crate::{
    error::{Error, ErrorKind},
    provider::ProviderStatus,
};

/// A failed call's status; the codes are those of gRPC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireStatus {
    /// The gRPC code.
    pub code: i32,
    /// The library's text.
    pub message: String,
}

impl WireStatus {
    /// Creates a status.
    pub fn new(code: ProviderStatus, message: impl Into<String>) -> Self {
        Self {
            code: code as i32,
            message: message.into(),
        }
    }

    /// Creates the status of an invalid request.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ProviderStatus::InvalidArgument, message)
    }

    /// Creates the status that the reference engine gives most failures.
    pub fn unknown(message: impl Into<String>) -> Self {
        Self::new(ProviderStatus::Unknown, message)
    }

    /// Creates the status of a call whose task panicked.
    pub(super) fn internal(error: &Error) -> Self {
        Self::new(ProviderStatus::Internal, error.text().reference())
    }

    /// Creates the status of a call that the end of the run aborted.
    #[must_use]
    pub fn shut_down(doing: &str) -> Self {
        Self::new(
            ProviderStatus::Unavailable,
            format!("resource monitor shut down while {doing}"),
        )
    }

    /// Creates the status of a request whose failure ends the run: that of a component or a method.
    pub(super) fn run_failed() -> Self {
        Self::unknown("resource monitor shut down")
    }

    /// Returns whether the end of the run aborted the call, or the call ended the run.
    #[must_use]
    pub fn is_shut_down(&self) -> bool {
        self.code == ProviderStatus::Unavailable as i32 || *self == Self::run_failed()
    }
}

impl fmt::Display for WireStatus {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for WireStatus {}

impl From<WireStatus> for Error {
    fn from(status: WireStatus) -> Self {
        let kind = match ProviderStatus::from_code(status.code) {
            _ if status.is_shut_down() => ErrorKind::Cancelled,
            ProviderStatus::InvalidArgument => ErrorKind::InvalidInput,
            ProviderStatus::NotFound => ErrorKind::NotFound,
            _ => ErrorKind::Provider,
        };
        Self::new(kind, status.message)
    }
}
