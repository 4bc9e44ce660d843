//! Failures of entries, before they become a status and an error object.

use crate::status::sw_status_t;

/// Why an entry did not do what it was asked to.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The caller broke a rule of the ABI.
    Misuse(String),
    /// The engine says no.
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

/// The result of what an entry does.
pub(crate) type Outcome<T> = Result<T, Failure>;
