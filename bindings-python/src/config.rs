//! Configuration: converts Python's texts, structures and secrets to the engine's values.

use pyo3::{
    prelude::*,
    types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString},
};
use stackwright::{
    config::{Config, ConfigKey, ConfigValue},
    property::json::PlainValue,
};

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
        let value = read_value(&key.to_string(), &entry)?;
        read.insert(key, value);
    }
    Ok(read)
}

/// Reads the value of a key or path.
pub(crate) fn read_value(key: &str, entry: &Bound<'_, PyAny>) -> PyResult<ConfigValue> {
    let py = entry.py();
    value(entry, 0).map_err(|misfit| match misfit {
        Misfit::Raised(error) => error,
        Misfit::Kind(kind) => invalid(
            py,
            format!("config: the value of {key} is or holds {kind}, which is neither text nor structure"),
        ),
        Misfit::Depth => invalid(
            py,
            format!(
                "config: the value of {key} contains itself, or is nested more than {MAX_CONFIG_DEPTH} levels deep"
            ),
        ),
    })
}

/// The maximum nesting of structures.
const MAX_CONFIG_DEPTH: usize = 100;

/// Why a value is not a configuration value.
enum Misfit {
    /// It is or contains a value of this unsupported kind.
    Kind(String),
    Depth,
    Raised(PyErr),
}

impl From<PyErr> for Misfit {
    fn from(error: PyErr) -> Self {
        Self::Raised(error)
    }
}

/// Reads one value.
fn value(object: &Bound<'_, PyAny>, depth: usize) -> Result<ConfigValue, Misfit> {
    if depth > MAX_CONFIG_DEPTH {
        return Err(Misfit::Depth);
    }
    if let Some(inner) = convert::secret_content(object)? {
        return Ok(secret(&inner)?);
    }
    if let Some((inner, is_secret)) = convert::output_content(object)? {
        return if is_secret {
            Ok(secret(&inner)?)
        } else {
            value(&inner, depth + 1)
        };
    }
    if let Some(ciphertext) = convert::ciphertext(object)? {
        return Ok(ConfigValue::Secure(ciphertext));
    }
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(ConfigValue::plain(text.to_str()?));
    }
    if let Ok(dictionary) = object.cast::<PyDict>() {
        if dictionary.len() == 1
            && let Some(ciphertext) = dictionary.get_item("secure")?
        {
            // The form of configuration files, which reserve a mapping with only this key.
            return match ciphertext.extract() {
                Ok(ciphertext) => Ok(ConfigValue::Secure(ciphertext)),
                Err(_) => Err(Misfit::Kind(format!(
                    "{{\"secure\": …}} around {}",
                    convert::kind_of(&ciphertext)
                ))),
            };
        }
        let entries = dictionary.iter().map(|(name, entry)| {
            let kind = || Misfit::Kind(format!("a key that is {}", convert::kind_of(&name)));
            let name: String = name.extract().map_err(|_| kind())?;
            Ok((name, value(&entry, depth + 1)?))
        });
        return entries.collect::<Result<_, Misfit>>().map(ConfigValue::Object);
    }
    if let Ok(list) = object.cast::<PyList>() {
        let entries = list.iter().map(|entry| value(&entry, depth + 1));
        return entries.collect::<Result<_, Misfit>>().map(ConfigValue::List);
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

/// Makes a secret. Only texts are encrypted, so any other value becomes its JSON text, which is also what programs read
/// for structures.
fn secret(content: &Bound<'_, PyAny>) -> PyResult<ConfigValue> {
    let py = content.py();
    if let Ok(text) = content.cast::<PyString>() {
        return Ok(ConfigValue::secret(text.to_str()?));
    }
    let content = convert::read_value(content, "the secret")?;
    let json = serde_json::to_value(PlainValue(content)).map_err(|error| invalid(py, error.to_string()))?;
    ConfigValue::secret_from_plain_json(json).or_raise(py)
}
