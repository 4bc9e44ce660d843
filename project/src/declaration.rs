//! Declarations of a project's configuration: types, defaults, fixed values, secrecy.

use stackwright::{
    Error, Result,
    config::{ConfigKey, ConfigValue},
};

use crate::{
    config::AsYaml as _,
    yaml::{Mapping, Node, Resolved},
};

/// The declared type of a configuration value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigType {
    /// Any text.
    String,
    /// A whole number.
    Integer,
    /// Any number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// A list, whose items have the given type, if any.
    Array(Option<Box<Self>>),
    /// Values by name.
    Object,
}

/// The declaration of one key.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConfigDeclaration {
    /// The type; `None` admits any value.
    pub value_type: Option<ConfigType>,
    /// The value for stacks that do not set the key.
    pub default: Option<ConfigValue>,
    /// The same, for keys of any namespace.
    pub value: Option<ConfigValue>,
    /// Whether stacks must encrypt it.
    pub secret: bool,
    /// The description.
    pub description: Option<String>,
}

impl ConfigType {
    fn parse(key: &str, entries: &Mapping) -> Result<Option<Self>> {
        let Some(node) = entries.get("type") else {
            return Ok(None);
        };
        let unknown = || Error::invalid(format!("project config '{key}' has an unknown type"));
        Ok(Some(match node.as_text().ok_or_else(unknown)? {
            "string" => Self::String,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            "object" => Self::Object,
            "array" => {
                let items = match entries.get("items").and_then(Node::as_mapping) {
                    Some(items) => Self::parse(key, items)?,
                    None => None,
                };
                Self::Array(items.map(Box::new))
            }
            _ => return Err(unknown()),
        }))
    }

    /// Returns whether a value has the type. A top-level scalar, which is always a text, is parsed.
    fn admits(&self, value: &ConfigValue) -> bool {
        let text = match value {
            // Encrypted values cannot be checked.
            ConfigValue::Secure(_) | ConfigValue::Secret(_) => return true,
            ConfigValue::List(items) => {
                let Self::Array(item_type) = self else {
                    return false;
                };
                return item_type
                    .as_ref()
                    .is_none_or(|item_type| items.iter().all(|item| item_type.admits(item)));
            }
            ConfigValue::Object(_) => return *self == Self::Object,
            ConfigValue::Null => return *self == Self::String,
            scalar => scalar.scalar_text().unwrap_or_default(),
        };
        match self {
            Self::String => true,
            Self::Integer => text.parse::<i64>().is_ok(),
            Self::Number => text.parse::<f64>().is_ok(),
            Self::Boolean => text == "true" || text == "false",
            Self::Array(_) | Self::Object => false,
        }
    }

    /// Returns whether a default of the project file has the type. Unlike the value of a stack, it is not a text: a number is no
    /// string, and a text is a number only when it reads like one.
    fn admits_default(&self, value: &ConfigValue) -> bool {
        match (self, value) {
            (_, ConfigValue::Null | ConfigValue::Secure(_) | ConfigValue::Secret(_))
            | (Self::String, ConfigValue::String(_))
            | (Self::Integer, ConfigValue::Integer(_))
            | (Self::Number, ConfigValue::Integer(_) | ConfigValue::Float(_))
            | (Self::Boolean, ConfigValue::Bool(_)) => true,
            (Self::Integer | Self::Number | Self::Boolean, ConfigValue::String(_)) => self.admits(value),
            (Self::Object, value) => matches!(value, ConfigValue::Object(_)),
            (Self::Array(item_type), ConfigValue::List(items)) => item_type
                .as_ref()
                .is_none_or(|item_type| items.iter().all(|item| item_type.admits_default(item))),
            _ => false,
        }
    }
}

impl std::fmt::Display for ConfigType {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Object => "object",
            Self::Array(None) => "array",
            Self::Array(Some(items)) => return write!(formatter, "array<{items}>"),
        })
    }
}

impl ConfigDeclaration {
    /// The entries by which a mapping is a declaration, not a value.
    const ENTRIES: [&str; 6] = ["type", "items", "default", "value", "secret", "description"];

    /// Reads an entry of a project's `config`: a declaration, or a bare value that is the default.
    ///
    /// # Errors
    /// [`stackwright::ErrorKind::InvalidInput`] when its parts contradict each other.
    pub(super) fn parse(key: &str, project: &str, node: &Node) -> Result<(ConfigKey, Self)> {
        let config_key = ConfigKey::parse_in_project(key, project)?;
        let foreign = config_key.namespace() != project;
        let declaration = match node.as_mapping() {
            Some(entries) if entries.keys().all(|name| Self::ENTRIES.contains(&name.as_str())) => {
                let read = |name: &str| entries.get(name).map(ConfigValue::from_yaml).transpose();
                Self {
                    value_type: ConfigType::parse(key, entries)?,
                    default: read("default")?,
                    value: read("value")?,
                    secret: entries.get("secret").and_then(Node::resolved) == Some(Resolved::Bool(true)),
                    description: entries
                        .get("description")
                        .and_then(Node::as_text)
                        .map(str::to_owned),
                }
            }
            Some(_) => {
                return Err(Error::invalid(format!(
                    "project config '{key}' is a mapping that holds more than a declaration"
                ))
                .with_hint("write an object as `value:` or `default:` of the key"));
            }
            None if node.is_null() => Self::default(),
            None => {
                let value = Some(ConfigValue::from_yaml(node)?);
                if foreign {
                    Self {
                        value,
                        ..Self::default()
                    }
                } else {
                    Self {
                        default: value,
                        ..Self::default()
                    }
                }
            }
        };
        if declaration.default.is_some() && declaration.value.is_some() {
            return Err(Error::invalid(format!(
                "project config '{key}' cannot have both a 'default' and 'value' attribute"
            )));
        }
        if let (Some(value_type), Some(default)) = (&declaration.value_type, &declaration.default)
            && !foreign
            && !value_type.admits_default(default)
        {
            let fault = format!(
                "The default value specified for configuration key '{key}' is not of the expected type '{value_type}'"
            );
            let hint = format!(
                "write a `default:` of the type, or the `type:` of the default, below `config: {key}:`"
            );
            return Err(Error::invalid(fault).with_hint(hint));
        }
        if foreign {
            for (name, present) in [
                ("default", declaration.default.is_some()),
                ("type", declaration.value_type.is_some()),
            ] {
                if present {
                    return Err(Error::invalid(format!(
                        "configuration key '{key}' is not namespaced by the project and should not define a '{name}' attribute"
                    )));
                }
            }
        }
        Ok((config_key, declaration))
    }

    /// Returns the value for stacks that do not set the key.
    pub(super) fn fallback(&self) -> Option<&ConfigValue> {
        self.value.as_ref().or(self.default.as_ref())
    }

    /// Returns what is wrong with the value of a stack.
    pub(super) fn fault(&self, stack: &str, key: &str, value: &ConfigValue) -> Option<String> {
        if self.secret && !value.is_secure() {
            return Some(format!(
                "Stack '{stack}' with configuration key '{key}' must be encrypted as it's secret"
            ));
        }
        let value_type = self.value_type.as_ref()?;
        (!value_type.admits(value))
            .then(|| format!("Stack '{stack}' with configuration key '{key}' must be of type '{value_type}'"))
    }
}
