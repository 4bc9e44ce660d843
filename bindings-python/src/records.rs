//! Recorded resources and pending operations as dictionaries of their members.

use pyo3::{
    prelude::*,
    types::{PyDict, PyList},
};
use serde_json::Value;
use stackwright::{binding, resource::ResourceState, state::PendingEntry};

use crate::{convert, operation::members};

/// Returns the members of a record; inputs and outputs are dictionaries of `OutputValue`s.
pub(crate) fn record<'py>(py: Python<'py>, record: &ResourceState) -> PyResult<Bound<'py, PyDict>> {
    let facts = binding::record_facts(record);
    // Names of properties are the program's, and stay as they are.
    let members = members(py, facts, own)?;
    members.set_item("inputs", convert::outputs(py, &record.inputs)?)?;
    members.set_item("outputs", convert::outputs(py, &record.outputs)?)?;
    Ok(members)
}

/// Returns the members of a pending operation; its inputs are a dictionary of `OutputValue`s.
pub(crate) fn pending<'py>(py: Python<'py>, entry: &PendingEntry) -> PyResult<Bound<'py, PyDict>> {
    let members = members(py, binding::pending_facts(entry), own)?;
    members.set_item("inputs", convert::outputs(py, &entry.operation.resource.inputs)?)?;
    Ok(members)
}

/// Returns a list of what was converted.
pub(crate) fn list<'py>(
    py: Python<'py>,
    converted: impl Iterator<Item = PyResult<Bound<'py, PyDict>>>,
) -> PyResult<Py<PyAny>> {
    let converted = converted.collect::<PyResult<Vec<_>>>()?;
    Ok(PyList::new(py, converted)?.into_any().unbind())
}

const fn own(_: &str, _: &Value) -> Option<PyResult<Py<PyAny>>> {
    None
}
