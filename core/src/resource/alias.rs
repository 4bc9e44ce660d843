//! Aliases: former names of a resource.

use crate::urn::Urn;

/// One former name of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Alias {
    /// A whole URN.
    Urn(Urn),
    /// The parts that differ; the rest is the resource's own.
    Spec {
        /// The former name, when it differs.
        name: Option<String>,
        /// The former type, when it differs.
        resource_type: Option<String>,
        /// The former stack, when it differs.
        stack: Option<String>,
        /// The former project, when it differs.
        project: Option<String>,
        /// The former parent, when it differs.
        parent: Option<Urn>,
        /// True when the resource had no parent.
        no_parent: bool,
    },
}
