//! Diagnostics: messages of the engine, a provider or the program. Data, never errors.

use std::fmt;

use crate::{message::Text, urn::Urn};

/// The severity of a [`Diagnostic`]; the names are those of the event log.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    schemars::JsonSchema,
    serde::Serialize,
    serde::Deserialize,
)]
pub enum Severity {
    /// Details for debugging.
    #[serde(rename = "debug")]
    Debug,
    /// General information.
    #[serde(rename = "info")]
    Info,
    /// Text that a child process wrote to its error stream.
    #[serde(rename = "info#err")]
    InfoError,
    /// A probable mistake.
    #[serde(rename = "warning")]
    Warning,
    /// A failure.
    #[serde(rename = "error")]
    Error,
}

impl Severity {
    /// Returns the name that the event log uses.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::InfoError => "info#err",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// A message about a deployment or one of its resources.
#[derive(Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The severity.
    pub severity: Severity,
    /// The text, without prefix, colour or trailing newline.
    pub message: Text,
    /// The resource; `None` for the whole deployment.
    pub urn: Option<Urn>,
    /// The id of the stream that the message is part of; 0 for a message in one piece.
    pub stream_id: i32,
    /// True when the message is only of interest while the operation runs.
    pub ephemeral: bool,
}

impl Diagnostic {
    /// Creates a diagnostic about the whole deployment.
    pub fn new(severity: Severity, message: impl Into<Text>) -> Self {
        Self {
            severity,
            message: message.into(),
            urn: None,
            stream_id: 0,
            ephemeral: false,
        }
    }

    /// Creates an error diagnostic about the whole deployment.
    pub fn error(message: impl Into<Text>) -> Self {
        Self::new(Severity::Error, message)
    }

    /// Creates a warning about the whole deployment.
    pub fn warning(message: impl Into<Text>) -> Self {
        Self::new(Severity::Warning, message)
    }

    /// Sets the resource.
    #[must_use]
    pub fn about(mut self, urn: Urn) -> Self {
        self.urn = Some(urn);
        self
    }
}

impl fmt::Debug for Diagnostic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.severity.name(), self.message)?;
        match &self.urn {
            Some(urn) => write!(formatter, " [{urn}]"),
            None => Ok(()),
        }
    }
}
