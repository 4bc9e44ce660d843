//! What a registration came to.

use pyo3::{prelude::*, sync::PyOnceLock, types::PyDict};
use stackwright::monitor;

use crate::convert;

/// Returns what a registration came to as an object.
pub(super) fn registered(py: Python<'_>, registered: monitor::Registered) -> PyResult<Py<PyAny>> {
    let registered = Registered {
        registered,
        outputs: PyOnceLock::new(),
    };
    Ok(Bound::new(py, registered)?.into_any().unbind())
}

/// What a registration came to.
#[pyclass(frozen, module = "stackwright._stackwright")]
pub(crate) struct Registered {
    registered: monitor::Registered,
    outputs: PyOnceLock<Py<PyDict>>,
}

#[pymethods]
impl Registered {
    #[getter]
    fn urn(&self) -> &str {
        self.registered.urn.as_str()
    }

    /// The id; empty for components, and in previews while it is not known.
    #[getter]
    fn id(&self) -> &str {
        self.registered.id.as_str()
    }

    #[getter]
    fn outputs(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        self.outputs
            .get_or_try_init(py, || {
                convert::dictionary(py, &self.registered.outputs).map(Bound::unbind)
            })
            .map(|outputs| outputs.clone_ref(py))
    }

    /// The URNs of the resources that its outputs come from; empty except for remote components.
    #[getter]
    fn output_sources(&self) -> Vec<&str> {
        let lists = self.registered.output_dependencies.lists();
        let urns: std::collections::BTreeSet<&str> = lists.flatten().map(|urn| urn.as_str()).collect();
        urns.into_iter().collect()
    }

    /// The URNs of the resources that one of its outputs comes from, its own among them.
    fn sources_of(&self, output: &str) -> Vec<String> {
        let sources = self.registered.sources_of(output);
        sources.into_iter().map(|urn| urn.to_string()).collect()
    }

    /// True when the resource does not exist and was left out on purpose: all of its outputs are unknown.
    #[getter]
    fn unknown(&self) -> bool {
        self.registered.unknown
    }

    /// True when it failed and the run goes on all the same.
    #[getter]
    fn failed(&self) -> bool {
        self.registered.failed
    }

    /// True when it was not worked on at all, because something that it depends on failed; `failed` is true as well.
    #[getter]
    fn skipped(&self) -> bool {
        self.registered.skipped
    }
}
