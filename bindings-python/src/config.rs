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
        let Ok(key) = key.extract::<String>() else {
            let kind = convert::kind_of(&key);
            return Err(invalid(
                py,
                format!("config takes a dictionary whose keys are texts, not {kind}"),
            ));
        };
        let key = ConfigKey::parse_in_project(&key, project).or_raise(py)?;
        let value = value(&entry, false, 0).map_err(|misfit| match misfit {
            Misfit::Raised(error) => error,
            Misfit::Kind(kind) => invalid(
                py,
                format!("config: the value of {key} is or holds {kind}, which is neither text nor structure"),
            ),
            Misfit::Depth => invalid(
                py,
                format!(
                    "config: the value of {key} contains itself, or is nested more than {DEEPEST} levels deep"
                ),
            ),
        })?;
        read.insert(key, value);
    }
    Ok(read)
}

/// How deep structures may be nested.
const DEEPEST: usize = 100;

/// Why a value cannot be one of a configuration.
enum Misfit {
    /// It is, or holds, something of a kind that configuration has not.
    Kind(String),
    Depth,
    Raised(PyErr),
}

impl From<PyErr> for Misfit {
    fn from(error: PyErr) -> Self {
        Self::Raised(error)
    }
}

fn value(object: &Bound<'_, PyAny>, secret: bool, depth: usize) -> Result<ConfigValue, Misfit> {
    if depth > DEEPEST {
        return Err(Misfit::Depth);
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
            let kind = || Misfit::Kind(format!("a key that is {}", convert::kind_of(&name)));
            let name: String = name.extract().map_err(|_| kind())?;
            Ok((name, value(&entry, secret, depth + 1)?))
        });
        return entries.collect::<Result<_, Misfit>>().map(ConfigValue::Object);
    }
    if let Ok(list) = object.cast::<PyList>() {
        let entries = list.iter().map(|entry| value(&entry, secret, depth + 1));
        return entries.collect::<Result<_, Misfit>>().map(ConfigValue::List);
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
        return Ok(ConfigValue::Integer(number.extract()?));
    }
    if let Ok(number) = object.cast::<PyFloat>() {
        return Ok(ConfigValue::Float(number.value()));
    }
    Err(Misfit::Kind(convert::kind_of(object)))
}
