//! The error type of the library: a kind, a message, and structured facts.

use std::{borrow::Cow, error::Error as StdError, fmt, sync::Arc};

use serde_json::{Map, Value};

use crate::{
    message::{Language, Text},
    urn::{InvalidName, InvalidUrn, Urn},
};

/// A result whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

macro_rules! error_kinds {
    ($($(#[$doc:meta])* $variant:ident = $code:literal, $name:literal, $class:ident;)*) => {
        /// The kind of an [`Error`], for branching. Codes are stable; new ones are only appended.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[repr(i32)]
        pub enum ErrorKind {
            $($(#[$doc])* $variant = $code,)*
        }

        impl ErrorKind {
            /// Every kind, in the order of the codes; the bindings are checked against it.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the stable integer of the C ABI.
            #[must_use]
            pub const fn code(self) -> i32 {
                self as i32
            }

            /// Returns the class of the reference engine that the kind belongs to.
            #[must_use]
            pub const fn class(self) -> ErrorClass {
                match self {
                    $(Self::$variant => ErrorClass::$class,)*
                }
            }

            /// Returns the stable `snake_case` name that Python and JavaScript show.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// Returns the name of the page about the kind in the documentation: `errors/conflict` for instance.
            #[must_use]
            pub const fn page(self) -> &'static str {
                match self {
                    $(Self::$variant => concat!("errors/", $name),)*
                }
            }
        }
    };
}

/// The prefix that the reference engine gives to errors whose reason is in the diagnostics.
const BAIL: &str = "BAIL: ";

/// The reference engine's classes of errors. Each [`ErrorKind`] belongs to one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorClass {
    /// The operation failed; the reason is in the diagnostics.
    Bail,
    /// A secret could not be decrypted.
    Decrypt,
    /// Any other error.
    Internal,
}

impl ErrorClass {
    /// Returns the name: `bail`, `decrypt` or `internal`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bail => "bail",
            Self::Decrypt => "decrypt",
            Self::Internal => "internal",
        }
    }
}

error_kinds! {
    /// An invalid argument; the message names it and its place. Nothing was changed.
    InvalidInput = 1, "invalid_input", Internal;
    /// The stack, resource or file does not exist.
    NotFound = 2, "not_found", Internal;
    /// The stack's lock is held by another process, or its state was changed concurrently. Try again later.
    Conflict = 3, "conflict", Internal;
    /// A provider refused or failed a call; the message is the provider's own.
    Provider = 4, "provider", Internal;
    /// A plugin process could not be found or started, or the connection to it failed.
    Plugin = 5, "plugin", Internal;
    /// The recorded state is corrupt, of an unknown version, or would become invalid.
    State = 6, "state", Internal;
    /// Secrets could not be encrypted, or the stack's secrets provider is unknown.
    Secrets = 7, "secrets", Internal;
    /// The operation was cancelled; completed steps are recorded.
    Cancelled = 8, "cancelled", Bail;
    /// A store or service did not respond; a retry may succeed.
    Unavailable = 9, "unavailable", Internal;
    /// The program failed with an error of its own.
    Program = 10, "program", Bail;
    /// The deployment failed; the diagnostics and events contain the reasons. Completed steps are recorded.
    Failed = 11, "failed", Bail;
    /// A bug in the engine.
    Internal = 12, "internal", Internal;
    /// A secret could not be decrypted, for instance because of a wrong passphrase; the message names the configuration
    /// key when the secret is a configuration value.
    Decrypt = 13, "decrypt", Decrypt;
}

/// An error with a kind, a message, and optional facts: resource, provider, phase, hints, cause.
///
/// Cloning is cheap: the content is shared.
#[derive(Clone)]
pub struct Error(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    text: Text,
    urn: Option<Urn>,
    provider: Option<String>,
    phase: Option<&'static str>,
    config_key: Option<String>,
    hints: Vec<String>,
    source: Option<Arc<dyn StdError + Send + Sync>>,
    reported: bool,
}

impl From<InvalidName> for Error {
    fn from(error: InvalidName) -> Self {
        Self::invalid(error.to_string())
    }
}

impl From<InvalidUrn> for Error {
    fn from(error: InvalidUrn) -> Self {
        Self::invalid(error.to_string())
    }
}

impl Error {
    /// Creates an error of `kind`; `message` starts in lower case and ends without a period.
    pub fn new(kind: ErrorKind, message: impl Into<Text>) -> Self {
        Self(Arc::new(Inner {
            kind,
            text: message.into(),
            urn: None,
            provider: None,
            phase: None,
            config_key: None,
            hints: Vec::new(),
            source: None,
            reported: false,
        }))
    }

    /// Creates an [`ErrorKind::InvalidInput`] error.
    pub fn invalid(message: impl Into<Text>) -> Self {
        Self::new(ErrorKind::InvalidInput, message)
    }

    /// Creates an [`ErrorKind::Internal`] error.
    pub fn internal(message: impl Into<Text>) -> Self {
        Self::new(ErrorKind::Internal, message)
    }

    fn edit(mut self, change: impl FnOnce(&mut Inner)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }

    /// Sets the resource that the error is about.
    #[must_use]
    pub fn with_urn(self, urn: Urn) -> Self {
        self.edit(|inner| inner.urn = Some(urn))
    }

    /// Sets the provider (package or reference) that returned the error.
    #[must_use]
    pub fn with_provider(self, provider: impl Into<String>) -> Self {
        self.edit(|inner| inner.provider = Some(provider.into()))
    }

    /// Sets the phase that failed: `check`, `diff`, `create`, `load`, `save`…
    #[must_use]
    pub fn with_phase(self, phase: &'static str) -> Self {
        self.edit(|inner| inner.phase = Some(phase))
    }

    /// Sets the configuration key, as `namespace:name`, whose value is invalid.
    #[must_use]
    pub fn with_config_key(self, key: impl Into<String>) -> Self {
        self.edit(|inner| inner.config_key = Some(key.into()))
    }

    /// Adds a hint, shown after the message. An engine function is written as `name()` at its beginning.
    #[must_use]
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        self.edit(|inner| inner.hints.push(hint.into()))
    }

    /// Returns the error with another kind.
    #[must_use]
    pub(crate) fn with_kind(self, kind: ErrorKind) -> Self {
        if self.kind() == kind {
            return self;
        }
        self.edit(|inner| inner.kind = kind)
    }

    /// Prefixes the message with the stack's name.
    #[must_use]
    pub(crate) fn of_stack(self, stack: &impl fmt::Display) -> Self {
        let named = |text: &str| format!("stack '{stack}': {text}");
        let text = self.0.text.map(named, named);
        self.with_text(text)
    }

    /// Creates an error from a provider's own message.
    pub(crate) fn of_provider(package: &str, phase: &'static str, words: impl Into<Text>) -> Self {
        Self::new(ErrorKind::Provider, words)
            .with_provider(package)
            .with_phase(phase)
    }

    /// Replaces the message.
    #[must_use]
    pub(crate) fn with_text(self, text: Text) -> Self {
        self.edit(|inner| inner.text = text)
    }

    /// Copies the facts of another error, except its message: provider, phase, configuration key, hints and cause.
    #[must_use]
    pub(crate) fn with_facts_of(self, other: &Self) -> Self {
        let other = &other.0;
        self.edit(|inner| {
            inner.provider.clone_from(&other.provider);
            inner.phase = other.phase;
            inner.config_key.clone_from(&other.config_key);
            inner.hints.clone_from(&other.hints);
            inner.source.clone_from(&other.source);
        })
    }

    /// Sets the cause.
    #[must_use]
    pub fn with_source(self, source: impl StdError + Send + Sync + 'static) -> Self {
        self.edit(|inner| inner.source = Some(Arc::new(source)))
    }

    /// Applies `redact` to the message and the hints. A cause whose text contains a secret is dropped.
    #[must_use]
    pub(crate) fn scrubbed(self, redact: impl Fn(&str) -> Cow<'_, str>) -> Self {
        let scrub = |text: &String| match redact(text) {
            Cow::Owned(scrubbed) => Some(scrubbed),
            Cow::Borrowed(_) => None,
        };
        let has_secret = |source: &Arc<dyn StdError + Send + Sync>| scrub(&source.to_string()).is_some();
        let text = self.0.text.scrubbed(&redact);
        let drops_source = self.0.source.as_ref().is_some_and(has_secret);
        if text.is_none() && !drops_source && self.0.hints.iter().all(|hint| scrub(hint).is_none()) {
            return self;
        }
        self.edit(|inner| {
            if let Some(text) = text {
                inner.text = text;
            }
            for hint in &mut inner.hints {
                if let Some(scrubbed) = scrub(hint) {
                    *hint = scrubbed;
                }
            }
            inner.source.take_if(|_| drops_source);
        })
    }

    /// Marks the error as reported by a diagnostic, so that it is not reported again.
    #[must_use]
    pub fn already_reported(self) -> Self {
        self.edit(|inner| inner.reported = true)
    }

    /// Returns whether the error has been reported by a diagnostic.
    #[must_use]
    pub fn is_reported(&self) -> bool {
        self.0.reported
    }

    /// Returns the kind.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the message.
    #[must_use]
    pub fn message(&self) -> &str {
        self.0.text.library()
    }

    /// Returns the message of the reference engine for tools that match on it. It begins with `BAIL: ` when the reason
    /// is in the diagnostics.
    #[must_use]
    pub fn reference_message(&self) -> Cow<'_, str> {
        let text = self.0.text.reference();
        match self.kind().class() {
            ErrorClass::Bail => Cow::Owned(format!("{BAIL}{text}")),
            ErrorClass::Decrypt | ErrorClass::Internal => Cow::Borrowed(text),
        }
    }

    /// Returns both the library's and the reference engine's message.
    #[must_use]
    pub fn text(&self) -> &Text {
        &self.0.text
    }

    /// Returns the message code, if any: `protected_from_deletion` for instance.
    #[must_use]
    pub fn message_code(&self) -> Option<&'static str> {
        self.0.text.code()
    }

    /// Returns the arguments of a coded message.
    #[must_use]
    pub fn message_arguments(&self) -> Option<&Map<String, Value>> {
        self.0.text.arguments()
    }

    /// Returns the configuration key, as `namespace:name`, whose value is invalid.
    #[must_use]
    pub fn config_key(&self) -> Option<&str> {
        self.0.config_key.as_deref()
    }

    /// Returns the resource that the error is about, if any.
    #[must_use]
    pub fn urn(&self) -> Option<&Urn> {
        self.0.urn.as_ref()
    }

    /// Returns the provider that returned the error, if known.
    #[must_use]
    pub fn provider(&self) -> Option<&str> {
        self.0.provider.as_deref()
    }

    /// Returns the phase that failed, if known.
    #[must_use]
    pub fn phase(&self) -> Option<&'static str> {
        self.0.phase
    }

    /// Returns the hints.
    #[must_use]
    pub fn hints(&self) -> &[String] {
        &self.0.hints
    }

    /// Returns the hints, with engine functions in the naming style of `language`.
    #[must_use]
    pub fn hints_in(&self, language: Language) -> Vec<Cow<'_, str>> {
        self.0.hints.iter().map(|hint| language.hint(hint)).collect()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.message())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({})", self.message(), self.0.kind.name())?;
        if let Some(urn) = &self.0.urn {
            write!(formatter, "\n  urn: {urn}")?;
        }
        if let Some(provider) = &self.0.provider {
            write!(formatter, "\n  provider: {provider}")?;
        }
        if let Some(phase) = self.0.phase {
            write!(formatter, "\n  phase: {phase}")?;
        }
        if let Some(key) = &self.0.config_key {
            write!(formatter, "\n  config key: {key}")?;
        }
        for hint in &self.0.hints {
            write!(formatter, "\n  hint: {hint}")?;
        }
        if let Some(source) = &self.0.source {
            write!(formatter, "\n  caused by: {source}")?;
        }
        Ok(())
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_ref().map(|source| source.as_ref() as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reported_errors_are_of_class_bail_and_failed_decryption_of_class_decrypt() {
        let of = |class: ErrorClass| -> Vec<&str> {
            let kinds = ErrorKind::ALL.iter().filter(|kind| kind.class() == class);
            kinds.map(|kind| kind.name()).collect()
        };
        assert_eq!(of(ErrorClass::Bail), ["cancelled", "program", "failed"]);
        assert_eq!(of(ErrorClass::Decrypt), ["decrypt"]);
        assert_eq!(of(ErrorClass::Internal).len(), ErrorKind::ALL.len() - 4);
    }

    #[test]
    fn known_secrets_are_taken_out_of_message_hints_and_cause() {
        fn redact(text: &str) -> Cow<'_, str> {
            match text.contains("hunter2") {
                true => text.replace("hunter2", "[secret]").into(),
                false => text.into(),
            }
        }
        let error = Error::new(ErrorKind::Program, "the password was hunter2")
            .with_hint("not hunter2")
            .with_source(std::io::Error::other("hunter2 is wrong"));
        let scrubbed = error.scrubbed(redact);
        assert!(!format!("{scrubbed:?}").contains("hunter2"), "{scrubbed:?}");
        assert!(scrubbed.message().starts_with("the password was ["));
        let harmless = Error::new(ErrorKind::Program, "no").with_source(std::io::Error::other("why"));
        assert!(StdError::source(&harmless.scrubbed(redact)).is_some());
    }
}
