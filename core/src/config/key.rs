//! Keys of configuration: `namespace:name`.

use std::fmt;

use smol_str::SmolStr;

use crate::error::{Error, Result};

/// The key of a configuration value. Keys are ordered by namespace, then by name.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConfigKey {
    namespace: SmolStr,
    name: SmolStr,
}

impl ConfigKey {
    /// Creates a key from its parts.
    pub fn new(namespace: impl Into<SmolStr>, name: impl Into<SmolStr>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    /// Parses `namespace:name`, or the old form `namespace:config:name`.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] when the text has another form.
    pub fn parse(text: &str) -> Result<Self> {
        let parts = text.split_once(':').map(|(namespace, rest)| {
            let name = rest.strip_prefix("config:").unwrap_or(rest);
            (namespace, name)
        });
        match parts {
            Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() && !name.contains(':') => {
                Ok(Self::new(namespace, name))
            }
            _ => Err(Error::invalid(format!(
                "could not parse {text} as a configuration key \
                 (configuration keys should be of the form `<namespace>:<name>`)"
            ))),
        }
    }

    /// Parses a key whose namespace may be omitted; the default is the project's name.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] when the text has another form.
    pub fn parse_in_project(text: &str, project: &str) -> Result<Self> {
        if !text.is_empty() && !text.contains(':') {
            return Ok(Self::new(project, text));
        }
        Self::parse(text)
    }

    /// Returns the part before the colon: a project or a package.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Returns the part after the colon.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for ConfigKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.namespace, self.name)
    }
}

impl fmt::Debug for ConfigKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl std::str::FromStr for ConfigKey {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::parse(text)
    }
}
