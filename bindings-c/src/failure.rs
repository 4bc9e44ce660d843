//! Failures of exported functions, before they are converted to a status and an error object.

use crate::status::sw_status_t;

/// The reason for which an exported function failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The caller violated a rule of the ABI.
    Misuse(String),
    /// An error of the engine.
    Engine(stackwright::Error),
}

impl Failure {
    pub(crate) fn misuse(message: impl Into<String>) -> Self {
        Self::Misuse(message.into())
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::Engine(stackwright::Error::invalid(message.into()))
    }

    pub(crate) fn status(&self) -> sw_status_t {
        match self {
            Self::Misuse(_) => sw_status_t::SW_STATUS_MISUSE,
            Self::Engine(error) => sw_status_t::of(error.kind()),
        }
    }
}

impl From<stackwright::Error> for Failure {
    fn from(error: stackwright::Error) -> Self {
        Self::Engine(error)
    }
}

impl From<stackwright::urn::InvalidUrn> for Failure {
    fn from(invalid: stackwright::urn::InvalidUrn) -> Self {
        Self::Engine(invalid.into())
    }
}

/// The result of an exported function's body.
pub(crate) type Outcome<T> = Result<T, Failure>;
