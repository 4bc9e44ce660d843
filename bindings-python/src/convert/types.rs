//! The Python classes for kinds of values that Python has no type for.

use pyo3::{
    prelude::*,
    sync::PyOnceLock,
    types::{PyModule, PyType},
};

/// The classes of `stackwright.values`, looked up once.
pub(super) struct Types {
    pub(super) secret: Py<PyType>,
    pub(super) output_value: Py<PyType>,
    pub(super) ciphertext: Py<PyType>,
    pub(super) unknown: Py<PyType>,
    /// The unknowns by kind, in the order of the engine's enum.
    pub(super) unknowns: Vec<Py<PyAny>>,
    pub(super) asset: Py<PyType>,
    pub(super) archive: Py<PyType>,
    pub(super) resource_reference: Py<PyType>,
    /// The base class of outputs and resources, which `find_outputs` finds.
    pub(super) awaited: Py<PyType>,
}

static TYPES: PyOnceLock<Types> = PyOnceLock::new();

impl Types {
    pub(super) fn get(py: Python<'_>) -> PyResult<&Self> {
        TYPES.get_or_try_init(py, || {
            let values = PyModule::import(py, "stackwright.values")?;
            let class = |name: &str| -> PyResult<Py<PyType>> {
                Ok(values.getattr(name)?.cast_into::<PyType>()?.unbind())
            };
            Ok(Self {
                secret: class("Secret")?,
                output_value: class("OutputValue")?,
                ciphertext: class("Ciphertext")?,
                unknown: class("Unknown")?,
                unknowns: values.getattr("_UNKNOWNS")?.extract()?,
                asset: class("Asset")?,
                archive: class("Archive")?,
                resource_reference: class("ResourceReference")?,
                awaited: class("Awaited")?,
            })
        })
    }
}
