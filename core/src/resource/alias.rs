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

impl Alias {
    /// Returns the URN that an alias of the resource `own` denotes, below its parent.
    pub(crate) fn urn(&self, own: &Urn, own_parent: Option<&Urn>) -> Urn {
        match self {
            Self::Urn(urn) => urn.clone(),
            Self::Spec {
                name,
                resource_type,
                stack,
                project,
                parent,
                no_parent,
            } => {
                let parent = parent.as_ref().or(own_parent).filter(|_| !no_parent);
                Urn::new(
                    stack.as_deref().unwrap_or(own.stack()),
                    project.as_deref().unwrap_or(own.project()),
                    parent
                        .filter(|parent| !parent.is_root_stack())
                        .map_or("", Urn::qualified_type),
                    resource_type.as_deref().unwrap_or(own.resource_type()),
                    name.as_deref().unwrap_or(own.name()),
                )
            }
        }
    }
}
