//! Options of resources and calls as Python objects: checked where a program writes them, read where they are sent.

use pyo3::{
    prelude::*,
    sync::PyOnceLock,
    types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyMapping, PyModule, PySequence, PyString, PyType},
};
use serde_json::{Map, Value};
use stackwright::{
    Language,
    binding::{self, OptionsOf},
    monitor::Registration,
    resource::PropertyDependencies,
    urn::Urn,
};

use crate::{convert, errors::OrRaise as _};

/// How deep options may nest. A deeper value is no option, or contains itself.
const MAX_OPTION_DEPTH: usize = 8;

/// The option that is a property value.
const TRIGGER: &str = "replacement_trigger";

/// Reads URNs.
pub(super) fn urns(py: Python<'_>, texts: Vec<String>) -> PyResult<Vec<Urn>> {
    texts.iter().map(|text| convert::urn(py, text)).collect()
}

/// Reads which resources each input depends on; inputs that are not named depend on none.
pub(crate) fn property_dependencies(
    py: Python<'_>,
    dependencies: Option<&Bound<'_, PyDict>>,
) -> PyResult<PropertyDependencies> {
    let mut by_property = PropertyDependencies::new();
    for (property, texts) in dependencies.into_iter().flat_map(|dictionary| dictionary.iter()) {
        let property: String = property.extract()?;
        by_property.insert(property, urns(py, texts.extract()?)?);
    }
    Ok(by_property)
}

/// Checks options where a program writes them; `of` is `resource`, `read` or `invoke`, and `owner` names their owner in errors.
#[pyfunction]
pub(crate) fn check_options(of: &str, options: &Bound<'_, PyDict>, owner: &str) -> PyResult<()> {
    let py = options.py();
    let of = OptionsOf::named(of).or_raise(py)?;
    binding::check_options(of, document(options)?, Language::Python, owner).or_raise(py)
}

/// Reads options, resolved to URNs and references, into a registration that has nothing else yet. `token` is the type or the
/// function that their provider serves; `None` where it serves others.
pub(super) fn read(
    options: Option<&Bound<'_, PyDict>>,
    token: Option<&str>,
    owner: &str,
) -> PyResult<Registration> {
    let Some(options) = options else {
        return Ok(Registration::default());
    };
    let py = options.py();
    let mut registration =
        binding::registration_of_options(document(options)?, token, Language::Python, owner).or_raise(py)?;
    if let Some(trigger) = options.get_item(TRIGGER)? {
        registration.options.replacement_trigger =
            Some(convert::read_value(&trigger, "the replacement trigger")?);
    }
    Ok(registration)
}

/// Returns options as a document. The property value among them is left out.
fn document(options: &Bound<'_, PyDict>) -> PyResult<Value> {
    let mut members = Map::new();
    for (name, option) in options.iter() {
        let name: String = name.extract()?;
        let option = if name == TRIGGER {
            Value::Null
        } else {
            value(&option, 0)?
        };
        members.insert(name, option);
    }
    Ok(Value::Object(members))
}

/// Returns a value as JSON, with a stand-in for what has none.
fn value(object: &Bound<'_, PyAny>, depth: usize) -> PyResult<Value> {
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(text.to_str()?.into());
    }
    if object.is_none() {
        return Ok(Value::Null);
    }
    if let Ok(truth) = object.cast::<PyBool>() {
        return Ok(truth.is_true().into());
    }
    if object.cast::<PyInt>().is_ok() {
        return Ok(match object.extract::<i64>() {
            Ok(number) => number.into(),
            Err(_) => object.extract::<f64>().map_or_else(|_| other(object), number),
        });
    }
    if let Ok(float) = object.cast::<PyFloat>() {
        return Ok(number(float.value()));
    }
    if let Some(stand_in) = awaited(object)? {
        return Ok(stand_in);
    }
    if depth < MAX_OPTION_DEPTH && object.cast::<PyBytes>().is_err() {
        if let Ok(mapping) = object.cast::<PyMapping>() {
            return members(mapping, depth);
        }
        if let Ok(sequence) = object.cast::<PySequence>() {
            let elements = sequence.try_iter()?;
            return elements.map(|element| value(&element?, depth + 1)).collect();
        }
    }
    Ok(other(object))
}

fn members(mapping: &Bound<'_, PyMapping>, depth: usize) -> PyResult<Value> {
    let mut members = Map::new();
    for pair in mapping.items()?.iter() {
        let (key, member): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair.extract()?;
        let Ok(name) = key.extract::<String>() else {
            let key = convert::kind_of(&key);
            return Ok(binding::stand_in(&format!(
                "a dictionary with a key that is {key}"
            )));
        };
        members.insert(name, value(&member, depth + 1)?);
    }
    Ok(Value::Object(members))
}

fn number(number: f64) -> Value {
    serde_json::Number::from_f64(number).map_or_else(|| binding::stand_in(&number.to_string()), Value::Number)
}

fn other(object: &Bound<'_, PyAny>) -> Value {
    binding::stand_in(&convert::kind_of(object))
}

/// Returns what stands in for a resource or an output.
fn awaited(object: &Bound<'_, PyAny>) -> PyResult<Option<Value>> {
    static CLASSES: PyOnceLock<[Py<PyType>; 2]> = PyOnceLock::new();
    let py = object.py();
    let [resource, awaited] = CLASSES.get_or_try_init(py, || {
        let class = |module: &str, name: &str| -> PyResult<Py<PyType>> {
            let class = PyModule::import(py, module)?.getattr(name)?;
            Ok(class.cast_into::<PyType>()?.unbind())
        };
        Ok::<_, PyErr>([
            class("stackwright.resource", "Resource")?,
            class("stackwright.values", "Awaited")?,
        ])
    })?;
    Ok(if object.is_instance(resource.bind(py))? {
        Some(binding::stand_in("a resource"))
    } else if object.is_instance(awaited.bind(py))? {
        Some(binding::stand_in("an output"))
    } else {
        None
    })
}
