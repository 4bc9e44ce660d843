//! A limit of calls that the engines of a process share.

use std::sync::Arc;

use pyo3::prelude::*;

use crate::{errors::OrRaise as _, runtime::Runtime};

/// The limit of calls of each plugin; see [`stackwright::fleet::PluginLimits`].
#[pyclass(frozen, module = "stackwright._stackwright")]
pub(crate) struct PluginLimits {
    pub(crate) limits: stackwright::fleet::PluginLimits,
    /// The engines that share the limit may end before it.
    _runtime: Arc<Runtime>,
}

#[pymethods]
impl PluginLimits {
    /// Creates a limit of `limit` calls for each plugin; 0 is none.
    #[new]
    fn new(py: Python<'_>, limit: u32) -> PyResult<Self> {
        let runtime = Runtime::start(1).or_raise(py)?;
        let core = stackwright::runtime::Runtime::system(runtime.handle(py)?.clone());
        Ok(Self {
            limits: stackwright::fleet::PluginLimits::new(limit, core),
            _runtime: runtime,
        })
    }
}
