//! Property paths: the position of a value in a map, with `*` for any name or index of a level.

mod access;
mod parse;
mod reset;
#[cfg(test)]
mod tests;

use std::fmt;

use crate::property::Key;

pub(crate) use reset::reset_all;

/// One level of a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PathElement {
    /// A name in an object; `*` means every name, and every index of an array.
    Key(Key),
    /// An index in an array.
    Index(usize),
}

impl PathElement {
    /// Returns whether this means every name or index.
    #[must_use]
    pub fn is_wildcard(&self) -> bool {
        matches!(self, Self::Key(key) if key == "*")
    }
}

impl From<usize> for PathElement {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

impl From<&str> for PathElement {
    fn from(key: &str) -> Self {
        Self::Key(key.into())
    }
}

impl From<Key> for PathElement {
    fn from(key: Key) -> Self {
        Self::Key(key)
    }
}

/// The path from a map to a value inside.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PropertyPath(Vec<PathElement>);

impl PropertyPath {
    /// Creates a path of these elements.
    #[must_use]
    pub const fn new(elements: Vec<PathElement>) -> Self {
        Self(elements)
    }

    /// Returns the elements from the root inwards.
    #[must_use]
    pub fn elements(&self) -> &[PathElement] {
        &self.0
    }

    /// Returns whether this path equals `other` or is a prefix of it, including wildcards.
    #[must_use]
    pub fn contains(&self, other: &Self) -> bool {
        self.0.len() <= other.0.len()
            && self
                .0
                .iter()
                .zip(&other.0)
                .all(|(own, theirs)| own.is_wildcard() || own == theirs)
    }

    /// Adds an element at the end.
    pub fn push(&mut self, element: impl Into<PathElement>) {
        self.0.push(element.into());
    }

    /// Removes the last element.
    pub fn pop(&mut self) -> Option<PathElement> {
        self.0.pop()
    }
}

/// Writes the form of the protocol: plain names of letters, digits and underscores, else `["…"]`.
impl fmt::Display for PropertyPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, element) in self.0.iter().enumerate() {
            match element {
                PathElement::Index(index) => write!(formatter, "[{index}]")?,
                PathElement::Key(key) if is_bare(key) => {
                    let dot = if position == 0 { "" } else { "." };
                    write!(formatter, "{dot}{key}")?;
                }
                PathElement::Key(key) => write!(formatter, "[\"{}\"]", key.replace('"', "\\\""))?,
            }
        }
        Ok(())
    }
}

fn is_bare(key: &str) -> bool {
    !key.is_empty()
        && key
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

impl serde::Serialize for PropertyPath {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
