//! Pictures of resources in their forms as text.

use napi::Result;
use napi_derive::napi;
use stackwright::{binding, picture, state::ResourceGraph};

use crate::errors;

/// A picture of resources.
#[napi]
pub struct Picture(pub(crate) picture::Picture);

#[napi]
impl Picture {
    /// Returns the resources of a plan's document.
    #[napi(factory, catch_unwind)]
    pub fn of_plan(document: String) -> Result<Self> {
        let picture = picture::Picture::of_plan_document(&document);
        picture.map(Self).map_err(|error| errors::to_napi(&error))
    }

    /// Returns the operation and the stack.
    #[napi(catch_unwind)]
    pub fn title(&self) -> String {
        self.0.title().to_owned()
    }

    /// Returns the number of resources.
    #[napi(catch_unwind)]
    pub fn size(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }

    /// Writes an HTML page.
    #[napi(catch_unwind)]
    pub fn to_html(&self) -> String {
        self.0.to_html()
    }

    /// Writes a flowchart of Mermaid.
    #[napi(catch_unwind)]
    pub fn to_mermaid(&self) -> String {
        self.0.to_mermaid()
    }

    /// Writes a digraph of Graphviz.
    #[napi(catch_unwind)]
    pub fn to_dot(&self) -> String {
        self.0.to_dot()
    }
}

/// The resources of a stack and their references.
#[napi]
pub struct Graph {
    pub(crate) title: String,
    pub(crate) graph: ResourceGraph,
}

#[napi]
impl Graph {
    /// Writes the document in JSON.
    #[napi(catch_unwind)]
    pub fn document(&self) -> String {
        binding::graph_document(&self.graph).to_string()
    }

    /// Returns the resources to be drawn.
    #[napi(catch_unwind)]
    pub fn picture(&self) -> Picture {
        Picture(picture::Picture::of_graph(&*self.title, &self.graph))
    }
}
