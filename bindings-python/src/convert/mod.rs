//! Values: converts between the engine's property values and Python values, without a serialized form in between.

mod from_python;
mod nesting;
mod to_python;
mod types;

use pyo3::{prelude::*, types::PyDict};
use stackwright::{
    Error,
    property::{
        PropertyMap, PropertyValue,
        json::{from_plain_json, to_plain_json},
    },
};

use crate::errors::{OrRaise as _, to_exception};
use nesting::Above;

pub(crate) use from_python::{ciphertext, find_outputs, kind_of, output_content, secret_content, urn};
pub(crate) use nesting::MAX_VALUE_DEPTH;
pub(crate) use to_python::{dictionary, json, outputs, value};

/// Reads a dictionary of inputs or outputs; `what` names it in the message of a misfit.
pub(crate) fn read_map(object: &Bound<'_, PyAny>, what: &str) -> PyResult<PropertyMap> {
    let py = object.py();
    from_python::map(object, &Above::ROOT)
        .map_err(|misfit| to_exception(py, &Error::invalid(misfit.describe(what))))
}

/// Reads one value; `what` names it in the message of a misfit.
pub(crate) fn read_value(object: &Bound<'_, PyAny>, what: &str) -> PyResult<PropertyValue> {
    let py = object.py();
    from_python::value(object, &Above::ROOT)
        .map_err(|misfit| to_exception(py, &Error::invalid(misfit.describe(what))))
}

/// Converts values to the engine's form and back, as a provider receives them.
#[pyfunction]
pub(crate) fn round_trip<'py>(values: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
    dictionary(values.py(), &read_map(values, "the values")?)
}

/// Writes values as plain JSON, with the protocol's signatures for types that JSON lacks. Secrets are in plain text.
#[pyfunction]
pub(crate) fn to_json(values: &Bound<'_, PyAny>) -> PyResult<String> {
    let py = values.py();
    let text = to_plain_json(&read_map(values, "the values")?).or_raise(py)?;
    String::from_utf8(text).map_err(|error| to_exception(py, &Error::internal(error.to_string())))
}

/// Reads values from plain JSON.
#[pyfunction]
pub(crate) fn from_json<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyDict>> {
    dictionary(py, &from_plain_json(text.as_bytes()).or_raise(py)?)
}
