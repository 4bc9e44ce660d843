//! YAML of project and stack files: a tree that keeps the form of scalars, so that files are written as they were read.

mod edit;
mod json;
mod parse;
mod place;
mod scalar;
mod write;

pub(crate) use place::change;
pub use scalar::{Resolved, Scalar, Style};

use indexmap::IndexMap;
use stackwright::Error;

/// The language of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// YAML.
    #[default]
    Yaml,
    /// JSON, which is YAML without comments and with quotes.
    Json,
}

/// Entries of a mapping, in the order of the file.
pub type Mapping = IndexMap<String, Node>;

/// A YAML value. Aliases are resolved, tags other than `!!str` are dropped.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// A single value.
    Scalar(Scalar),
    /// A list.
    Sequence(Vec<Self>),
    /// Values by name. Names that are not texts are kept as written.
    Mapping(Mapping),
}

impl Node {
    /// Parses a document; an empty one is an empty mapping. JSON is YAML.
    ///
    /// # Errors
    /// [`stackwright::ErrorKind::InvalidInput`] with the line and column of the fault.
    pub fn parse(text: &str) -> stackwright::Result<Self> {
        parse::parse(text)
    }

    /// Writes a document, with the indentation of two that the reference engine uses.
    #[must_use]
    pub fn to_yaml(&self) -> String {
        write::write(self)
    }

    /// Writes a JSON document, with the indentation of four that the reference engine uses.
    #[must_use]
    pub fn to_json(&self) -> String {
        write::json(self)
    }

    /// Returns a document's text with the entries of `new`. What does not change keeps its bytes, comments included.
    ///
    /// # Errors
    /// [`stackwright::ErrorKind::InvalidInput`] when the text is malformed, or has a form in which the change cannot be
    /// made without a loss: an anchor to which an alias refers, or an explicit key.
    pub fn edit(source: &str, new: &Mapping, format: Format) -> stackwright::Result<String> {
        match Self::parse(source)? {
            old @ Self::Mapping(_) => old.edit_parsed(source, new.clone(), format),
            _ => Err(Error::invalid("the document is no mapping")),
        }
    }

    /// As [`Self::edit`], for a text that was parsed as this mapping.
    pub(crate) fn edit_parsed(
        &self,
        source: &str,
        new: Mapping,
        format: Format,
    ) -> stackwright::Result<String> {
        edit::edit(source, self, &Self::Mapping(new), format)
    }

    /// Creates a text.
    pub fn string(text: impl Into<String>) -> Self {
        Self::Scalar(Scalar::string(text))
    }

    /// Returns the text of a scalar of any type, as written.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Scalar(scalar) => Some(scalar.text()),
            Self::Sequence(_) | Self::Mapping(_) => None,
        }
    }

    /// Returns the entries of a mapping.
    #[must_use]
    pub fn as_mapping(&self) -> Option<&Mapping> {
        match self {
            Self::Mapping(mapping) => Some(mapping),
            Self::Scalar(_) | Self::Sequence(_) => None,
        }
    }

    /// Returns the value of a scalar.
    #[must_use]
    pub fn resolved(&self) -> Option<Resolved> {
        match self {
            Self::Scalar(scalar) => Some(scalar.resolve()),
            Self::Sequence(_) | Self::Mapping(_) => None,
        }
    }

    /// Returns whether two values are equal, regardless of the form in which they are written.
    #[must_use]
    pub fn means(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Scalar(left), Self::Scalar(right)) => left == right || left.resolve() == right.resolve(),
            (Self::Sequence(left), Self::Sequence(right)) => {
                left.len() == right.len() && left.iter().zip(right).all(|(left, right)| left.means(right))
            }
            (Self::Mapping(left), Self::Mapping(right)) => {
                left.len() == right.len()
                    && left
                        .iter()
                        .all(|(name, value)| right.get(name).is_some_and(|other| value.means(other)))
            }
            _ => false,
        }
    }

    /// Returns whether this is YAML's null.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.resolved() == Some(Resolved::Null)
    }
}

#[cfg(test)]
mod tests;
