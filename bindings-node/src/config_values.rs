//! Values of configuration, from those of JavaScript.

use napi::{Env, Result, bindgen_prelude::Unknown};
use stackwright::{
    Error,
    config::{Config, ConfigKey, ConfigValue},
    property::{PropertyValue, json::PlainValue},
};

use crate::{convert, errors};

/// Reads values by key; a key without a namespace is the project's.
pub(crate) fn keyed_values(env: &Env, project: &str, values: &Unknown<'_>) -> Result<Config> {
    let values = convert::map_of(env, values, "config")?;
    let entries = values.into_iter().map(|(name, value)| {
        let key = ConfigKey::parse_in_project(&name, project)?;
        Ok((key, config_value(value).map_err(|error| named(&name, &error))?))
    });
    entries
        .collect::<stackwright::Result<Config>>()
        .map_err(|error| errors::to_napi(&error))
}

/// Reads values by path.
pub(crate) fn path_values(env: &Env, values: &Unknown<'_>) -> Result<Vec<(String, ConfigValue)>> {
    let values = convert::map_of(env, values, "config")?;
    let entries = values.into_iter().map(|(path, value)| {
        let value = config_value(value).map_err(|error| named(&path, &error))?;
        Ok((path.to_string(), value))
    });
    entries
        .collect::<stackwright::Result<_>>()
        .map_err(|error| errors::to_napi(&error))
}

fn named(name: &str, error: &Error) -> Error {
    Error::invalid(format!("config {name}: {}", error.message()))
}

/// Makes a configuration value from the engine's plain JSON form, which marks secrets.
fn config_value(value: PropertyValue) -> stackwright::Result<ConfigValue> {
    let json = serde_json::to_value(PlainValue(value))
        .map_err(|error| Error::invalid(format!("the value cannot be written: {error}")))?;
    ConfigValue::from_plain_json(json)
}
