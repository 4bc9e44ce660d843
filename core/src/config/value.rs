//! Configuration values: texts, structures, and secrets at any depth.

use std::fmt;

use indexmap::IndexMap;
use zeroize::Zeroizing;

use super::json;
use crate::error::{Error, Result};

/// A configuration value, or a part of one. Scalars are texts at the top level and keep their types below it.
#[derive(Clone, PartialEq)]
pub enum ConfigValue {
    /// No value.
    Null,
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Integer(i128),
    /// Any other number.
    Float(f64),
    /// A text.
    String(String),
    /// A secret text, encrypted by the stack's secrets manager.
    Secure(String),
    /// A secret text that is not encrypted yet.
    Secret(Plaintext),
    /// A list.
    List(Vec<Self>),
    /// Values by name.
    Object(IndexMap<String, Self>),
}

/// A secret text in plaintext, wiped when it is dropped. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Plaintext(Zeroizing<String>);

impl Plaintext {
    /// Returns the text.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl From<String> for Plaintext {
    fn from(text: String) -> Self {
        Self(Zeroizing::new(text))
    }
}

impl From<&str> for Plaintext {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

impl fmt::Debug for Plaintext {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[secret]")
    }
}

impl ConfigValue {
    /// Creates a plain text.
    pub fn plain(text: impl Into<String>) -> Self {
        Self::String(text.into())
    }

    /// Creates a secret from its plaintext.
    pub fn secret(text: impl Into<String>) -> Self {
        Self::Secret(text.into().into())
    }

    /// Returns whether the value contains a secret at any depth.
    #[must_use]
    pub fn is_secure(&self) -> bool {
        let mut secure = false;
        self.visit(&mut |inner| secure |= matches!(inner, Self::Secure(_) | Self::Secret(_)));
        secure
    }

    /// Returns the text of a scalar as programs receive it; `None` for lists and objects, whose text is JSON.
    #[must_use]
    pub fn scalar_text(&self) -> Option<String> {
        Some(match self {
            Self::Null => String::new(),
            Self::Bool(value) => value.to_string(),
            Self::Integer(value) => value.to_string(),
            Self::Float(value) => json::float_as_text(*value),
            Self::String(text) => text.clone(),
            Self::Secure(ciphertext) => ciphertext.clone(),
            Self::Secret(plaintext) => plaintext.reveal().to_owned(),
            Self::List(_) | Self::Object(_) => return None,
        })
    }

    /// Converts a value to its top-level form: scalars become texts.
    pub fn normalised(self) -> Self {
        match self {
            Self::Null | Self::Bool(_) | Self::Integer(_) | Self::Float(_) => {
                Self::String(self.scalar_text().unwrap_or_default())
            }
            other => other,
        }
    }

    /// Converts a value to a secret one. A structure becomes a secret as a whole, whose plaintext is its JSON text.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] for a number that JSON cannot express, [`crate::ErrorKind::Secrets`] for a
    /// structure with an encrypted value inside.
    pub fn into_secret(self) -> Result<Self> {
        match &self {
            Self::Secure(_) | Self::Secret(_) => Ok(self),
            _ => Ok(Self::secret(self.to_text()?)),
        }
    }

    /// Returns the text that programs receive: that of a scalar, JSON for any other value.
    ///
    /// # Errors
    /// Those of [`Self::into_secret`].
    pub fn to_text(&self) -> Result<String> {
        match self.scalar_text() {
            Some(text) => Ok(text),
            None => json::to_json(self, json::Secrets::Reveal),
        }
    }

    /// Returns the value as JSON, with secrets in plaintext.
    ///
    /// # Errors
    /// Those of [`Self::into_secret`].
    pub fn to_plain_json(&self) -> Result<serde_json::Value> {
        let text = json::to_json(self, json::Secrets::Reveal)?;
        serde_json::from_str(&text)
            .map_err(|error| Error::internal(format!("a configuration value is no JSON: {error}")))
    }

    /// Calls `look` for this value and each nested value, in order.
    pub(super) fn visit(&self, look: &mut impl FnMut(&Self)) {
        look(self);
        match self {
            Self::List(items) => items.iter().for_each(|item| item.visit(look)),
            Self::Object(entries) => entries.values().for_each(|value| value.visit(look)),
            _ => {}
        }
    }

    /// Calls `change` for this value and each nested value, in the order of [`Self::visit`].
    pub(super) fn visit_mut(&mut self, change: &mut impl FnMut(&mut Self)) {
        change(self);
        match self {
            Self::List(items) => items.iter_mut().for_each(|item| item.visit_mut(change)),
            Self::Object(entries) => entries.values_mut().for_each(|value| value.visit_mut(change)),
            _ => {}
        }
    }

    /// Adds the entries of `base` whose names this object does not have.
    pub(super) fn merge_under(&mut self, base: &Self) {
        let (Self::Object(own), Self::Object(base)) = (self, base) else {
            return;
        };
        for (name, value) in base {
            match own.get_mut(name) {
                Some(own) => own.merge_under(value),
                None => {
                    own.insert(name.clone(), value.clone());
                }
            }
        }
    }
}

impl fmt::Debug for ConfigValue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => formatter.write_str("null"),
            Self::Bool(value) => fmt::Debug::fmt(value, formatter),
            Self::Integer(value) => fmt::Debug::fmt(value, formatter),
            Self::Float(value) => fmt::Debug::fmt(value, formatter),
            Self::String(text) => fmt::Debug::fmt(text, formatter),
            Self::Secure(_) | Self::Secret(_) => formatter.write_str("[secret]"),
            Self::List(items) => fmt::Debug::fmt(items, formatter),
            Self::Object(entries) => fmt::Debug::fmt(entries, formatter),
        }
    }
}
