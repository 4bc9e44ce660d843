//! Configuration in stack files: YAML in which `{secure: <ciphertext>}` marks a secret.

use indexmap::IndexMap;

use super::{Config, ConfigKey, ConfigValue};
use crate::{
    error::{Error, ErrorKind, Result},
    project::yaml::{Mapping, Node, Resolved, Scalar, Style},
};

/// The name that marks a ciphertext.
const SECURE: &str = "secure";

impl Config {
    /// Parses a mapping of keys in the form of stack files, as YAML or as JSON text.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] with what is wrong.
    pub fn parse(text: &str) -> Result<Self> {
        Self::from_yaml(&Node::parse(text)?)
    }

    /// Reads the `config` entry of a stack file.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] when it is no mapping or a key has no namespace.
    pub fn from_yaml(node: &Node) -> Result<Self> {
        if node.is_null() {
            return Ok(Self::new());
        }
        let Some(entries) = node.as_mapping() else {
            return Err(Error::invalid("`config` must be a mapping"));
        };
        let mut config = Self::new();
        for (name, node) in entries {
            config.insert(ConfigKey::parse(name)?, Self::of_entry(name, node)?);
        }
        Ok(config)
    }

    /// Reads the value of one key, in the form that values have at the top.
    pub(in crate::project) fn of_entry(name: &str, node: &Node) -> Result<ConfigValue> {
        let value = match node.resolved() {
            // A date is the one scalar whose text depends on where it stands.
            Some(Resolved::Date(date)) => ConfigValue::String(format!("{date} 00:00:00 +0000 UTC")),
            _ => ConfigValue::from_yaml(node)
                .map_err(|error| Error::invalid(format!("configuration key {name}: {}", error.message())))?,
        };
        Ok(value.normalised())
    }

    /// Returns the `config` entry of a stack file.
    ///
    /// # Errors
    /// [`ErrorKind::Secrets`] when a secret is not encrypted yet.
    pub fn to_yaml(&self) -> Result<Node> {
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

impl ConfigValue {
    /// Reads a value as a stack file or a project file holds it.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] when a mapping has the single key `secure` with something else than a text.
    pub fn from_yaml(node: &Node) -> Result<Self> {
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

    /// Returns the value as a stack file holds it.
    ///
    /// # Errors
    /// [`ErrorKind::Secrets`] when a secret is not encrypted yet.
    pub fn to_yaml(&self) -> Result<Node> {
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

pub(super) fn reserved() -> Error {
    Error::invalid("maps with the single key \"secure\" are reserved")
}
