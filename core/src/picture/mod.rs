//! Pictures of resources: what an operation did or would do, or what a stack has, as a graph.
//!
//! ```
//! use stackwright::picture::Picture;
//! use stackwright::state::Snapshot;
//!
//! let graph = Picture::of_state("dev", &Snapshot::default());
//! assert!(graph.is_empty());
//! assert!(graph.to_html().contains("<title>dev</title>"));
//! assert!(graph.to_mermaid().starts_with("flowchart LR"));
//! assert!(graph.to_dot().starts_with("digraph"));
//! ```

mod build;
mod html;
mod node;
mod text;

#[cfg(test)]
mod tests;

use serde::Serialize;

use crate::urn::Urn;

pub use node::{PictureChange, PictureNode};

/// Resources with their parents, dependencies and changes; secrets are masked.
///
/// Its forms are one HTML page without requests to other hosts ([`Self::to_html`]), a Mermaid flowchart
/// ([`Self::to_mermaid`]), and a Graphviz digraph ([`Self::to_dot`]).
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Picture {
    title: String,
    /// Whether steps are shown as what would happen.
    planned: bool,
    /// How the operation ended: `succeeded`, `failed` or `canceled`; `None` for a state and a plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<&'static str>,
    /// Its error.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// The outputs of the stack that change; all of them where none does.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    outputs: Vec<PictureChange>,
    nodes: Vec<PictureNode>,
}

impl Picture {
    /// Returns the title: the operation and the stack.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Returns the resources, parents before children.
    #[must_use]
    pub fn nodes(&self) -> &[PictureNode] {
        &self.nodes
    }

    /// Returns the error of the operation, secrets masked; `None` when it succeeded, and for a state and a plan.
    #[must_use]
    pub fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// Returns the outputs of the stack that change; all of them where none does.
    #[must_use]
    pub fn outputs(&self) -> &[PictureChange] {
        &self.outputs
    }

    /// Returns the number of resources.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns whether there is no resource.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Returns the node of a resource; that of an old copy only where there is no other.
    #[must_use]
    pub fn node(&self, urn: &Urn) -> Option<&PictureNode> {
        let mut nodes = self.nodes.iter().filter(|node| node.urn == *urn);
        nodes.clone().find(|node| !node.old_copy).or_else(|| nodes.next())
    }
}
