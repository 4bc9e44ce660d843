//! YAML of project and stack files: a tree that keeps the form of scalars, so that files are written as they were read.

mod edit;
mod parse;
mod scalar;
mod write;

pub use scalar::{Resolved, Scalar, Style};

use indexmap::IndexMap;

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

    /// Returns a document's text with the entries of `new`. Unchanged entries keep their lines and comments.
    #[must_use]
    pub fn edit(source: &str, new: &Mapping) -> String {
        edit::edit(source, new)
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

    /// Returns whether this is YAML's null.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.resolved() == Some(Resolved::Null)
    }
}

#[cfg(test)]
mod tests;
