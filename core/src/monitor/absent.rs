//! What the protocol has and this engine does not: the one refusal of each, by whatever way it is asked for.

use std::fmt;

use crate::{monitor::WireStatus, provider::ProviderStatus};

/// A part of the protocol that is not there, with the name that the request has for it.
#[derive(Debug)]
pub(super) enum Absent {
    Call(String),
    ExistsResource,
    StackTransform,
    InvokeTransform,
    ResourceHook(String),
    ErrorHook(String),
}

impl fmt::Display for Absent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call(token) => write!(formatter, "calling the method {token:?} of a resource"),
            Self::ExistsResource => formatter.write_str("asking whether a resource exists"),
            Self::StackTransform => formatter.write_str("transforming resources"),
            Self::InvokeTransform => formatter.write_str("transforming function calls"),
            Self::ResourceHook(name) => write!(formatter, "the resource hook {name:?}"),
            Self::ErrorHook(name) => write!(formatter, "the error hook {name:?}"),
        }
    }
}

impl From<Absent> for WireStatus {
    fn from(what: Absent) -> Self {
        Self::new(
            ProviderStatus::Unimplemented,
            format!("{what} is not supported by this engine"),
        )
    }
}
