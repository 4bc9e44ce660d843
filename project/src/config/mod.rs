//! Configuration in stack files: YAML in which `{secure: <ciphertext>}` marks a secret.

use indexmap::IndexMap;

use stackwright::{
    Error, ErrorKind, Result,
    config::{Config, ConfigKey, ConfigValue},
};

use crate::yaml::{Mapping, Node, Resolved, Scalar, Style};

/// The key that marks a ciphertext.
const SECURE: &str = "secure";

/// Values with a YAML form in stack files and project files.
pub trait AsYaml: Sized {
    /// Parses YAML or JSON text.
    ///
    /// # Errors
    /// As [`Self::from_yaml`], and [`ErrorKind::InvalidInput`] for a text that is neither.
    fn parse(text: &str) -> Result<Self> {
        Self::from_yaml(&Node::parse(text)?)
    }

    /// Reads a node.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for another shape: a configuration that is no mapping, a key without a namespace, a
    /// mapping whose single key is `secure` and whose value is no text.
    fn from_yaml(node: &Node) -> Result<Self>;

    /// Returns the node that [`Self::from_yaml`] reads.
    ///
    /// # Errors
    /// [`ErrorKind::Secrets`] when a secret is not encrypted yet.
    fn to_yaml(&self) -> Result<Node>;
}

impl AsYaml for Config {
    fn from_yaml(node: &Node) -> Result<Self> {
        if node.is_null() {
            return Ok(Self::new());
        }
        let Some(entries) = node.as_mapping() else {
            return Err(Error::invalid("`config` must be a mapping"));
        };
        let mut config = Self::new();
        for (name, node) in entries {
            config.insert(ConfigKey::parse(name)?, of_entry(name, node)?);
        }
        Ok(config)
    }

    fn to_yaml(&self) -> Result<Node> {
        let mut entries = Mapping::with_capacity(self.len());
        for (key, value) in self.iter() {
            let node = value.to_yaml().map_err(|error| {
                Error::new(
                    error.kind(),
                    format!("configuration key {key}: {}", error.message()),
                )
            })?;
            entries.insert(key.to_string(), node);
        }
        Ok(Node::Mapping(entries))
    }
}

/// Returns the node of a changed value; what is equal in the old value keeps its form, which is that of `before`.
pub(crate) fn keep_form(before: &Node, old: &ConfigValue, new: &ConfigValue) -> Result<Node> {
    if old == new {
        return Ok(before.clone());
    }
    match (before, old, new) {
        (Node::Mapping(nodes), ConfigValue::Object(old), ConfigValue::Object(new)) => {
            if new.len() == 1 && new.contains_key(SECURE) {
                return Err(reserved());
            }
            let entries = new.iter().map(|(name, value)| {
                let node = match (nodes.get(name), old.get(name)) {
                    (Some(before), Some(old)) => keep_form(before, old, value)?,
                    _ => value.to_yaml()?,
                };
                Ok((name.clone(), node))
            });
            entries.collect::<Result<_>>().map(Node::Mapping)
        }
        (Node::Sequence(nodes), ConfigValue::List(old), ConfigValue::List(new)) => {
            // An item that was removed or added moves the later ones.
            let start = old.iter().zip(new).take_while(|(old, new)| old == new).count();
            let ends = old[start..].iter().rev().zip(new[start..].iter().rev());
            let end = ends.take_while(|(old, new)| old == new).count();
            let items = new.iter().enumerate().map(|(index, value)| {
                let moved = if index + end >= new.len() {
                    index + old.len() - new.len()
                } else {
                    index
                };
                match (nodes.get(moved), old.get(moved)) {
                    (Some(before), Some(old)) => keep_form(before, old, value),
                    _ => value.to_yaml(),
                }
            });
            items.collect::<Result<_>>().map(Node::Sequence)
        }
        _ => new.to_yaml(),
    }
}

/// Reads the value of one key, in the form of top-level values.
pub(crate) fn of_entry(name: &str, node: &Node) -> Result<ConfigValue> {
    let value = match node.resolved() {
        // The text of dates, unlike that of other scalars, differs at the top level.
        Some(Resolved::Date(date)) => ConfigValue::String(format!("{date} 00:00:00 +0000 UTC")),
        _ => ConfigValue::from_yaml(node)
            .map_err(|error| Error::invalid(format!("configuration key {name}: {}", error.message())))?,
    };
    Ok(value.normalised())
}

impl AsYaml for ConfigValue {
    fn from_yaml(node: &Node) -> Result<Self> {
        Ok(match node {
            Node::Scalar(scalar) => match scalar.resolve() {
                Resolved::Null => Self::Null,
                Resolved::Bool(value) => Self::Bool(value),
                Resolved::Integer(value) => Self::Integer(value),
                Resolved::Float(value) => Self::Float(value),
                Resolved::Date(date) => Self::String(format!("{date}T00:00:00Z")),
                Resolved::String(text) => Self::String(text),
            },
            Node::Sequence(items) => Self::List(items.iter().map(Self::from_yaml).collect::<Result<_>>()?),
            Node::Mapping(entries) => {
                if let (1, Some(value)) = (entries.len(), entries.get(SECURE)) {
                    return match value.resolved() {
                        Some(Resolved::String(ciphertext)) => Ok(Self::Secure(ciphertext)),
                        _ => Err(reserved()),
                    };
                }
                let entries = entries
                    .iter()
                    .map(|(name, value)| Ok((name.clone(), Self::from_yaml(value)?)))
                    .collect::<Result<IndexMap<_, _>>>()?;
                Self::Object(entries)
            }
        })
    }

    fn to_yaml(&self) -> Result<Node> {
        let plain = |text: String| Node::Scalar(Scalar::new(text, Style::Plain));
        Ok(match self {
            Self::Null => plain("null".to_owned()),
            Self::Bool(_) | Self::Integer(_) => plain(self.scalar_text().unwrap_or_default()),
            Self::Float(value) if value.is_nan() => plain(".nan".to_owned()),
            Self::Float(value) if value.is_infinite() => {
                plain(if *value > 0.0 { ".inf" } else { "-.inf" }.to_owned())
            }
            Self::Float(_) => plain(self.scalar_text().unwrap_or_default()),
            Self::String(text) => Node::string(text.as_str()),
            Self::Secure(ciphertext) => {
                let entry = (SECURE.to_owned(), Node::string(ciphertext.as_str()));
                Node::Mapping(std::iter::once(entry).collect())
            }
            Self::Secret(_) => return Err(Error::new(ErrorKind::Secrets, "a secret is not encrypted")),
            Self::List(items) => Node::Sequence(items.iter().map(Self::to_yaml).collect::<Result<_>>()?),
            Self::Object(entries) => {
                if entries.len() == 1 && entries.contains_key(SECURE) {
                    return Err(reserved());
                }
                let entries = entries
                    .iter()
                    .map(|(name, value)| Ok((name.clone(), value.to_yaml()?)))
                    .collect::<Result<Mapping>>()?;
                Node::Mapping(entries)
            }
        })
    }
}

fn reserved() -> Error {
    Error::invalid("maps with the single key \"secure\" are reserved")
}

#[cfg(test)]
mod tests;
