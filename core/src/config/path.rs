//! Paths into structured configuration: `project:servers[0].name`, with the rules of `config set --path`.

use indexmap::IndexMap;

use super::{Config, ConfigKey, ConfigValue, reserved};
use crate::{
    error::{Error, Result},
    property::{PathElement, PropertyPath},
};

/// A key and the path into its value.
struct Target {
    key: ConfigKey,
    steps: Vec<PathElement>,
}

impl Config {
    /// Returns the value at a path: `namespace:name`, followed by `.name`, `["name"]` and `[index]`. The default
    /// namespace is the project's name.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] when the path cannot be parsed.
    pub fn get_path(&self, path: &str, project: &str) -> Result<Option<&ConfigValue>> {
        let target = Target::parse(path, project)?;
        let mut value = self.get(&target.key);
        for step in &target.steps {
            value = match (value, step) {
                (Some(ConfigValue::Object(entries)), PathElement::Key(name)) => entries.get(name.as_str()),
                (Some(ConfigValue::List(items)), PathElement::Index(index)) => items.get(*index),
                _ => None,
            };
        }
        Ok(value)
    }

    /// Sets the value at a path and creates missing objects and lists; an index equal to the length appends an item.
    ///
    /// A plain text inside a structure becomes a boolean or an integer when it has the form of one.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] when the path is invalid or leads through a value of another type.
    pub fn set_path(&mut self, path: &str, project: &str, value: ConfigValue) -> Result<()> {
        let target = Target::parse(path, project)?;
        let Some((last, way)) = target.steps.split_last() else {
            self.insert(target.key, value);
            return Ok(());
        };
        let mut root = self.get(&target.key).cloned().unwrap_or(ConfigValue::Null);
        let mut place = &mut root;
        for step in way {
            place = enter(place, step, path)?;
        }
        *enter(place, last, path)? = typed(value);
        let mut clash = false;
        root.visit(&mut |inner| {
            clash |= matches!(inner, ConfigValue::Object(entries) if entries.len() == 1 && entries.contains_key("secure"));
        });
        if clash {
            return Err(reserved());
        }
        self.insert(target.key, root);
        Ok(())
    }

    /// Returns whether a path is that of a key, or leads into the key's value. A path that cannot be parsed is none.
    #[must_use]
    pub fn is_path_of(path: &str, project: &str, key: &ConfigKey) -> bool {
        Target::parse(path, project).is_ok_and(|target| target.key == *key)
    }

    /// Removes the value at a path, if there is one.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] when the path cannot be parsed.
    pub fn remove_path(&mut self, path: &str, project: &str) -> Result<Option<ConfigValue>> {
        let target = Target::parse(path, project)?;
        let Some((last, way)) = target.steps.split_last() else {
            return Ok(self.remove(&target.key));
        };
        let mut place = self.0.get_mut(&target.key);
        for step in way {
            place = match (place, step) {
                (Some(ConfigValue::Object(entries)), PathElement::Key(name)) => {
                    entries.get_mut(name.as_str())
                }
                (Some(ConfigValue::List(items)), PathElement::Index(index)) => items.get_mut(*index),
                _ => None,
            };
        }
        Ok(match (place, last) {
            (Some(ConfigValue::Object(entries)), PathElement::Key(name)) => {
                entries.shift_remove(name.as_str())
            }
            (Some(ConfigValue::List(items)), PathElement::Index(index)) if *index < items.len() => {
                Some(items.remove(*index))
            }
            _ => None,
        })
    }
}

/// Descends one step into a value; an absent value becomes an object or a list.
fn enter<'value>(
    place: &'value mut ConfigValue,
    step: &PathElement,
    path: &str,
) -> Result<&'value mut ConfigValue> {
    let empty = match &*place {
        ConfigValue::Null => true,
        ConfigValue::String(text) => text.is_empty(),
        _ => false,
    };
    if empty {
        *place = match step {
            PathElement::Key(_) => ConfigValue::Object(IndexMap::new()),
            PathElement::Index(_) => ConfigValue::List(Vec::new()),
        };
    }
    match (place, step) {
        (ConfigValue::Object(entries), PathElement::Key(name)) => {
            Ok(entries.entry(name.to_string()).or_insert(ConfigValue::Null))
        }
        (ConfigValue::List(items), PathElement::Index(index)) => {
            if *index == items.len() {
                items.push(ConfigValue::Null);
            }
            let length = items.len();
            items.get_mut(*index).ok_or_else(|| {
                Error::invalid(format!(
                    "the configuration path {path} has the index {index}, but the list has {length} items"
                ))
            })
        }
        (ConfigValue::Object(_), PathElement::Index(_)) => Err(Error::invalid(format!(
            "the configuration path {path} has an index where there is an object"
        ))),
        (ConfigValue::List(_), PathElement::Key(_)) => Err(Error::invalid(format!(
            "the configuration path {path} has a name where there is a list"
        ))),
        _ => Err(Error::invalid(format!(
            "the configuration path {path} leads into a single value"
        ))),
    }
}

/// Converts a text inside a structure to the type that it has the form of.
fn typed(value: ConfigValue) -> ConfigValue {
    let ConfigValue::String(text) = &value else {
        return value;
    };
    match text.as_str() {
        "true" => return ConfigValue::Bool(true),
        "false" => return ConfigValue::Bool(false),
        _ => {}
    }
    let digits = text.strip_prefix('-').unwrap_or(text);
    let whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let padded = digits.len() > 1 && digits.starts_with('0');
    match text.parse::<i64>() {
        Ok(number) if whole && !padded && text != "-0" => ConfigValue::Integer(number.into()),
        _ => value,
    }
}

impl Target {
    fn parse(path: &str, project: &str) -> Result<Self> {
        // A colon inside brackets is part of a name.
        let outside = &path[..path.find('[').unwrap_or(path.len())];
        let (namespace, inside) = match outside.find(':') {
            Some(colon) => (&path[..colon], &path[colon + 1..]),
            None => (project, path),
        };
        let inside = inside.strip_prefix("config:").unwrap_or(inside);
        let mut steps = PropertyPath::parse(inside)?.elements().to_vec().into_iter();
        match steps.next() {
            Some(PathElement::Key(name))
                if !namespace.is_empty() && !name.is_empty() && !name.contains(':') =>
            {
                Ok(Self {
                    key: ConfigKey::new(namespace, name),
                    steps: steps.collect(),
                })
            }
            _ => Err(Error::invalid(format!("invalid config key path {path:?}"))),
        }
    }
}
