//! Pictures of resources in their forms as text.

use pyo3::prelude::*;
use stackwright::{binding, picture, state::ResourceGraph};

use crate::errors::OrRaise as _;

/// A picture of resources; the package's class of this name wraps it.
#[pyclass(frozen, module = "stackwright._stackwright")]
pub(crate) struct Picture(pub(crate) picture::Picture);

#[pymethods]
impl Picture {
    /// Returns the resources of a plan's document.
    #[staticmethod]
    fn of_plan(py: Python<'_>, document: &str) -> PyResult<Self> {
        let picture = py.detach(|| picture::Picture::of_plan_document(document));
        picture.map(Self).or_raise(py)
    }

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

/// The resources of a stack and their references; the package's class `StackGraph` wraps it.
#[pyclass(frozen, module = "stackwright._stackwright")]
pub(crate) struct Graph {
    pub(crate) title: String,
    pub(crate) graph: ResourceGraph,
}

#[pymethods]
impl Graph {
    /// Writes the document in JSON.
    fn document(&self, py: Python<'_>) -> String {
        py.detach(|| binding::graph_document(&self.graph).to_string())
    }

    /// Returns the resources to be drawn.
    fn picture(&self, py: Python<'_>) -> Picture {
        py.detach(|| Picture(picture::Picture::of_graph(&*self.title, &self.graph)))
    }
}
