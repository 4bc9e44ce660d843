//! From the engine to Python: dictionaries, lists and plain values; wrapper classes only for kinds that Python lacks.

use pyo3::{
    IntoPyObjectExt as _,
    prelude::*,
    types::{PyBytes, PyDict, PyList, PyString},
};
use serde_json::Value;
use stackwright::{
    binding,
    property::{
        Archive, ArchiveSource, Asset, AssetSource, PropertyMap, PropertyValue, ResourceReference, Unknown,
    },
};

use super::types::Types;

/// The largest magnitude up to which doubles represent every integer: 2^53.
const MAX_EXACT_INTEGER: f64 = 9_007_199_254_740_992.0;

/// Converts a map to a dictionary.
pub(crate) fn dictionary<'py>(py: Python<'py>, map: &PropertyMap) -> PyResult<Bound<'py, PyDict>> {
    let dictionary = PyDict::new(py);
    for (key, element) in map.iter() {
        dictionary.set_item(PyString::intern(py, key), value(py, element)?)?;
    }
    Ok(dictionary)
}

/// Makes a dictionary of the outputs of a stack, each an `OutputValue`.
pub(crate) fn outputs<'py>(py: Python<'py>, outputs: &PropertyMap) -> PyResult<Bound<'py, PyDict>> {
    let class = Types::get(py)?.output_value.bind(py);
    let dictionary = PyDict::new(py);
    for (name, output) in binding::output_values(outputs).iter() {
        let element = value(py, output.unwrapped())?;
        dictionary.set_item(name.as_str(), class.call1((element, output.is_secret()))?)?;
    }
    Ok(dictionary)
}

/// Makes a Python value. Whole numbers become `int`.
pub(crate) fn value<'py>(py: Python<'py>, element: &PropertyValue) -> PyResult<Bound<'py, PyAny>> {
    Ok(match element {
        PropertyValue::Null => py.None().into_bound(py),
        PropertyValue::Bool(truth) => truth.into_bound_py_any(py)?,
        PropertyValue::Number(number) => self::number(py, *number)?,
        PropertyValue::String(text) => PyString::new(py, text).into_any(),
        PropertyValue::Bytes(bytes) => PyBytes::new(py, bytes).into_any(),
        PropertyValue::Array(values) => {
            let list = PyList::empty(py);
            for element in values.iter() {
                list.append(value(py, element)?)?;
            }
            list.into_any()
        }
        PropertyValue::Object(map) => dictionary(py, map)?.into_any(),
        PropertyValue::Asset(asset) => self::asset(py, asset)?,
        PropertyValue::Archive(archive) => self::archive(py, archive)?,
        PropertyValue::ResourceReference(reference) => self::reference(py, reference)?,
        PropertyValue::Secret(secret) => self::secret(py, value(py, &secret.element)?)?,
        PropertyValue::Output(output) => {
            let inner = match &output.element {
                Some(element) => value(py, element)?,
                None => unknown(py, Unknown::String)?,
            };
            if output.secret { secret(py, inner)? } else { inner }
        }
        PropertyValue::Unknown(kind) => unknown(py, *kind)?,
    })
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the number is whole and within the range of exact integers"
)]
fn number(py: Python<'_>, number: f64) -> PyResult<Bound<'_, PyAny>> {
    let whole = number.trunc() == number
        && number.abs() <= MAX_EXACT_INTEGER
        && !(number == 0.0 && number.is_sign_negative());
    if whole {
        (number as i64).into_bound_py_any(py)
    } else {
        number.into_bound_py_any(py)
    }
}

fn secret<'py>(py: Python<'py>, inner: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    Types::get(py)?.secret.bind(py).call1((inner,))
}

fn unknown(py: Python<'_>, kind: Unknown) -> PyResult<Bound<'_, PyAny>> {
    let unknowns = &Types::get(py)?.unknowns;
    unknowns
        .get(kind as usize)
        .map(|unknown| unknown.bind(py).clone())
        .ok_or_else(|| crate::errors::misuse("a kind of unknown has no Python object"))
}

fn asset<'py>(py: Python<'py>, asset: &Asset) -> PyResult<Bound<'py, PyAny>> {
    let keywords = PyDict::new(py);
    match &asset.source {
        AssetSource::Text(text) => keywords.set_item("text", text)?,
        AssetSource::Path(path) => keywords.set_item("path", path)?,
        AssetSource::Uri(uri) => keywords.set_item("uri", uri)?,
    }
    keywords.set_item("hash", asset.hash.as_str())?;
    Types::get(py)?.asset.bind(py).call((), Some(&keywords))
}

fn archive<'py>(py: Python<'py>, archive: &Archive) -> PyResult<Bound<'py, PyAny>> {
    let keywords = PyDict::new(py);
    match &archive.source {
        ArchiveSource::Assets(assets) => {
            let entries = PyDict::new(py);
            for (name, element) in assets {
                entries.set_item(name, value(py, element)?)?;
            }
            keywords.set_item("assets", entries)?;
        }
        ArchiveSource::Path(path) => keywords.set_item("path", path)?,
        ArchiveSource::Uri(uri) => keywords.set_item("uri", uri)?,
    }
    keywords.set_item("hash", archive.hash.as_str())?;
    Types::get(py)?.archive.bind(py).call((), Some(&keywords))
}

fn reference<'py>(py: Python<'py>, reference: &ResourceReference) -> PyResult<Bound<'py, PyAny>> {
    let id = match &reference.id {
        None => py.None().into_bound(py),
        Some(Ok(id)) => PyString::new(py, id.as_str()).into_any(),
        Some(Err(kind)) => unknown(py, *kind)?,
    };
    Types::get(py)?.resource_reference.bind(py).call1((
        reference.urn.as_str(),
        id,
        reference.package_version.as_str(),
    ))
}

/// Makes the Python value of JSON.
pub(crate) fn json(py: Python<'_>, value: &Value) -> PyResult<Py<PyAny>> {
    match value {
        Value::Null => Ok(py.None()),
        Value::Bool(flag) => flag.into_py_any(py),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(whole), _) => whole.into_py_any(py),
            (None, Some(whole)) => whole.into_py_any(py),
            (None, None) => number.as_f64().into_py_any(py),
        },
        Value::String(text) => text.into_py_any(py),
        Value::Array(items) => {
            let list = PyList::empty(py);
            for item in items {
                list.append(json(py, item)?)?;
            }
            list.into_py_any(py)
        }
        Value::Object(members) => {
            let dictionary = PyDict::new(py);
            for (name, member) in members {
                dictionary.set_item(name, json(py, member)?)?;
            }
            dictionary.into_py_any(py)
        }
    }
}
