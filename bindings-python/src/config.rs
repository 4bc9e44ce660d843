//! Configuration: Python's texts, structures and secrets as the engine keeps them.

use pyo3::{
    prelude::*,
    types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString},
};
use stackwright::project::{Config, ConfigKey, ConfigValue, Plaintext};

use crate::{
    convert,
    errors::{OrRaise as _, invalid},
};

/// Reads configuration by key; a key without a namespace is the project's.
pub(crate) fn read_config(config: &Bound<'_, PyDict>, project: &str) -> PyResult<Config> {
    let py = config.py();
    let mut read = Config::new();
    for (key, entry) in config.iter() {
        let key = key.extract::<String>()?;
        let key = ConfigKey::parse_in_project(&key, project).or_raise(py)?;
        let value = value(&entry, false, 0).map_err(|error| match error {
            Some(error) => error,
            None => invalid(
                py,
                format!("the configuration {key} holds what is neither text nor structure"),
            ),
        })?;
        read.insert(key, value);
    }
    Ok(read)
}

/// Reads one value; an error without an exception says that it is of no kind that configuration has.
fn value(object: &Bound<'_, PyAny>, secret: bool, depth: usize) -> Result<ConfigValue, Option<PyErr>> {
    if depth > 100 {
        return Err(None);
    }
    if let Some(inner) = convert::secret_content(object)? {
        return value(&inner, true, depth + 1);
    }
    if let Some(ciphertext) = convert::ciphertext(object)? {
        return Ok(ConfigValue::Secure(ciphertext));
    }
    if let Ok(text) = object.cast::<PyString>() {
        let text = text.to_str()?.to_owned();
        return Ok(if secret {
            ConfigValue::Secret(Plaintext::from(text))
        } else {
            ConfigValue::String(text)
        });
    }
    if let Ok(dictionary) = object.cast::<PyDict>() {
        let entries = dictionary.iter().map(|(name, entry)| {
            let name: String = name.extract().map_err(|_| None)?;
            Ok((name, value(&entry, secret, depth + 1)?))
        });
        return entries
            .collect::<Result<_, Option<PyErr>>>()
            .map(ConfigValue::Object);
    }
    if let Ok(list) = object.cast::<PyList>() {
        let entries = list.iter().map(|entry| value(&entry, secret, depth + 1));
        return entries
            .collect::<Result<_, Option<PyErr>>>()
            .map(ConfigValue::List);
    }
    if secret {
        // Only texts are encrypted; programs read configuration as texts in any case.
        let text = if object.cast::<PyBool>().is_ok() {
            object.str()?.to_string().to_lowercase()
        } else {
            object.str()?.to_string()
        };
        return Ok(ConfigValue::Secret(Plaintext::from(text)));
    }
    if object.is_none() {
        return Ok(ConfigValue::Null);
    }
    if let Ok(truth) = object.cast::<PyBool>() {
        return Ok(ConfigValue::Bool(truth.is_true()));
    }
    if let Ok(number) = object.cast::<PyInt>() {
        return Ok(ConfigValue::Integer(number.extract().map_err(Some)?));
    }
    if let Ok(number) = object.cast::<PyFloat>() {
        return Ok(ConfigValue::Float(number.value()));
    }
    Err(None)
}
