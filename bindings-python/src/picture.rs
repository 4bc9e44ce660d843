//! Pictures of resources in their forms as text.

use pyo3::prelude::*;
use stackwright::picture;

/// A picture of resources; the package's class of this name wraps it.
#[pyclass(frozen, module = "stackwright._stackwright")]
pub(crate) struct Picture(pub(crate) picture::Picture);

#[pymethods]
impl Picture {
    /// The operation and the stack.
    #[getter]
    fn title(&self) -> &str {
        self.0.title()
    }

    /// Writes an HTML page.
    fn to_html(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.to_html())
    }

    /// Writes a flowchart of Mermaid.
    fn to_mermaid(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.to_mermaid())
    }

    /// Writes a digraph of Graphviz.
    fn to_dot(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.to_dot())
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }
}
