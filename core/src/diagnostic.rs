//! Diagnostics: what the engine, a provider or the program tells people. Data, never errors.

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
    /// Worth reading.
    #[serde(rename = "info")]
    Info,
    /// Text that a child process wrote to its error stream.
    #[serde(rename = "info#err")]
    InfoError,
    /// Something is probably not as intended.
    #[serde(rename = "warning")]
    Warning,
    /// Something failed.
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

/// One message about a deployment, with the resource that it is about.
#[derive(Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// How much it matters.
    pub severity: Severity,
    /// The text, without prefix, colour or trailing newline.
    pub message: Text,
    /// The resource that it is about; `None` for the whole deployment.
    pub urn: Option<Urn>,
    /// Groups the parts of a message that arrives in pieces; 0 when it does not.
    pub stream_id: i32,
    /// True when it is worth showing only while the operation runs.
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

    /// Names the resource that it is about.
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
