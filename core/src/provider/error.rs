//! Failures of a provider's call: the status, the unchanged message, and the details that the protocol defines.

use std::fmt;

use crate::{
    error::Error,
    message::Text,
    property::PropertyMap,
    provider::{CheckFailure, ViewStep},
};

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

    /// Returns whether such a failure leaves the state of the physical resource unknown.
    #[must_use]
    pub const fn leaves_state_unknown(self) -> bool {
        matches!(self, Self::Unknown | Self::Internal | Self::DataLoss)
    }
}

impl fmt::Display for ProviderStatus {
    /// Writes the name of the status in Go's gRPC library.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cancelled => formatter.write_str("Canceled"),
            other => write!(formatter, "{other:?}"),
        }
    }
}

/// The state of a resource that exists, but whose initialization failed.
#[derive(Clone, Debug, Default)]
pub struct InitFailure {
    /// Its id.
    pub id: String,
    /// The inputs as read by the provider; used for Read only.
    pub inputs: Option<PropertyMap>,
    /// The outputs so far.
    pub outputs: PropertyMap,
    /// The reasons of the failure.
    pub reasons: Vec<String>,
    /// Whether the resource is read before each update.
    pub refresh_before_update: bool,
    /// Steps on views that were performed, and that the provider has not published yet.
    pub view_steps: Vec<ViewStep>,
}

/// A failed call.
#[derive(Clone, Debug)]
pub struct ProviderError {
    /// The status.
    pub status: ProviderStatus,
    /// The provider's message, unchanged.
    pub message: String,
    /// Set if the resource exists despite the failure.
    pub init_failure: Option<Box<InitFailure>>,
    /// True if the call was sent but no response could be decoded: the response is malformed, or the provider ended.
    /// The call may have taken effect.
    pub outcome_unknown: bool,
    /// True if a Create or Update could not begin because the provider has to wait: nothing was created or changed.
    pub must_wait: bool,
    /// Missing configuration keys with their descriptions.
    pub missing_keys: Vec<(String, String)>,
    /// The inputs that a component or a method refuses, by path.
    pub input_errors: Vec<CheckFailure>,
    /// The engine's error that prevented the call: a missing plugin, for instance.
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
            must_wait: false,
            missing_keys: Vec::new(),
            input_errors: Vec::new(),
            cause: None,
        }
    }

    /// Returns the message in the reference's and in the library's wording; they may differ for an error of the engine.
    pub(crate) fn text(&self) -> Text {
        let cause = self.cause.as_ref().map(Error::text);
        match cause.filter(|text| text.reference() == self.message) {
            Some(text) => text.clone(),
            None => Text::from(&self.message),
        }
    }

    /// Creates the error of a call that was not sent.
    pub(crate) fn unreached(error: &Error) -> Self {
        Self {
            cause: Some(error.clone()),
            ..Self::new(ProviderStatus::Unavailable, error.text().reference())
        }
    }

    /// Creates the error of a call that the provider does not implement.
    pub fn unimplemented(message: impl Into<String>) -> Self {
        Self::new(ProviderStatus::Unimplemented, message)
    }

    /// Creates the error of a call that was sent and got no decodable response: its effect is unknown.
    pub fn without_answer(status: ProviderStatus, message: impl Into<String>) -> Self {
        Self {
            outcome_unknown: true,
            ..Self::new(status, message)
        }
    }

    /// Returns whether the engine gave up a call that took too long.
    pub(crate) fn is_timeout(&self) -> bool {
        self.outcome_unknown && self.status == ProviderStatus::DeadlineExceeded
    }

    /// Creates the error of a call that created or changed the resource `id` with a malformed response. The record
    /// keeps the id and the previous outputs; with an empty id, only the outcome is marked unknown.
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
