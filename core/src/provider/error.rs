//! How a provider's call fails: the status, the message unchanged, and the details that the protocol defines.

use std::fmt;

use crate::{error::Error, message::Text, property::PropertyMap, provider::ViewStep};

/// The result of a provider's call.
pub type ProviderResult<T> = Result<T, ProviderError>;

/// The status of a failed call; names and numbers are those of gRPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of gRPC")]
pub enum ProviderStatus {
    Cancelled = 1,
    Unknown = 2,
    InvalidArgument = 3,
    DeadlineExceeded = 4,
    NotFound = 5,
    AlreadyExists = 6,
    PermissionDenied = 7,
    ResourceExhausted = 8,
    FailedPrecondition = 9,
    Aborted = 10,
    OutOfRange = 11,
    Unimplemented = 12,
    Internal = 13,
    Unavailable = 14,
    DataLoss = 15,
    Unauthenticated = 16,
}

impl ProviderStatus {
    /// Returns the status of a gRPC code; codes that gRPC does not define are `Unknown`.
    #[must_use]
    pub const fn from_code(code: i32) -> Self {
        match code {
            1 => Self::Cancelled,
            3 => Self::InvalidArgument,
            4 => Self::DeadlineExceeded,
            5 => Self::NotFound,
            6 => Self::AlreadyExists,
            7 => Self::PermissionDenied,
            8 => Self::ResourceExhausted,
            9 => Self::FailedPrecondition,
            10 => Self::Aborted,
            11 => Self::OutOfRange,
            12 => Self::Unimplemented,
            13 => Self::Internal,
            14 => Self::Unavailable,
            15 => Self::DataLoss,
            16 => Self::Unauthenticated,
            _ => Self::Unknown,
        }
    }

    /// Tells whether such a failure leaves the state of the real thing unknown.
    #[must_use]
    pub const fn leaves_state_unknown(self) -> bool {
        matches!(self, Self::Unknown | Self::Internal | Self::DataLoss)
    }
}

impl fmt::Display for ProviderStatus {
    /// Writes the name that programs in Go know the status by.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cancelled => formatter.write_str("Canceled"),
            other => write!(formatter, "{other:?}"),
        }
    }
}

/// A resource that exists, but whose initialization failed.
#[derive(Clone, Debug, Default)]
pub struct InitFailure {
    /// The id of what exists.
    pub id: String,
    /// The inputs as the provider sees them; only Read's count.
    pub inputs: Option<PropertyMap>,
    /// The outputs so far.
    pub outputs: PropertyMap,
    /// Why the initialization failed.
    pub reasons: Vec<String>,
    /// Whether the resource wants to be read before each update.
    pub refresh_before_update: bool,
    /// Steps on views that were taken all the same, and that the provider has not published yet.
    pub view_steps: Vec<ViewStep>,
}

/// A failed call.
#[derive(Clone, Debug)]
pub struct ProviderError {
    /// The status.
    pub status: ProviderStatus,
    /// The provider's own words.
    pub message: String,
    /// Set when the resource exists all the same.
    pub init_failure: Option<Box<InitFailure>>,
    /// True when the call was sent and no readable answer came: the answer is malformed, or the provider died. The call
    /// may have done what it was for.
    pub outcome_unknown: bool,
    /// Configuration keys that are missing, with their descriptions.
    pub missing_keys: Vec<(String, String)>,
    /// The error of the engine's that kept the provider from being asked: its plugin is missing, for instance.
    pub cause: Option<Error>,
}

impl ProviderError {
    /// Creates an error.
    pub fn new(status: ProviderStatus, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            init_failure: None,
            outcome_unknown: false,
            missing_keys: Vec::new(),
            cause: None,
        }
    }

    /// Returns the message for tools and for people: an error of the engine's may have other words for people.
    pub(crate) fn text(&self) -> Text {
        let cause = self.cause.as_ref().map(Error::text);
        match cause.filter(|text| text.reference() == self.message) {
            Some(text) => text.clone(),
            None => Text::from(&self.message),
        }
    }

    /// Creates the error of a call that did not reach the provider.
    pub(crate) fn unreached(error: &Error) -> Self {
        Self {
            cause: Some(error.clone()),
            ..Self::new(ProviderStatus::Unavailable, error.text().reference())
        }
    }

    /// Creates the error of a call that the provider does not know.
    pub fn unimplemented(message: impl Into<String>) -> Self {
        Self::new(ProviderStatus::Unimplemented, message)
    }

    /// Creates the error of a call that was made and got no readable answer: what it did is not known.
    pub fn without_answer(status: ProviderStatus, message: impl Into<String>) -> Self {
        Self {
            outcome_unknown: true,
            ..Self::new(status, message)
        }
    }

    /// Creates the error of a call that made or changed the resource `id`, of which the provider said what cannot be read. A
    /// record keeps the id, and the outputs that it had; without an id, only that the outcome is not known.
    pub fn unreadable(id: impl Into<String>, message: impl Into<String>) -> Self {
        let (id, message) = (id.into(), message.into());
        if id.is_empty() {
            return Self::without_answer(ProviderStatus::Internal, message);
        }
        Self {
            outcome_unknown: true,
            ..Self::init_failed(InitFailure {
                id,
                reasons: vec![message],
                ..InitFailure::default()
            })
        }
    }

    /// Creates the error of a resource that exists, but whose initialization failed.
    pub fn init_failed(failure: InitFailure) -> Self {
        let mut error = Self::new(ProviderStatus::Unknown, failure.reasons.join(", "));
        error.init_failure = Some(Box::new(failure));
        error
    }
}

impl fmt::Display for ProviderError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for ProviderError {}
