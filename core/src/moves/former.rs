//! The former name of a resource: the parts in which an old URN differs from the new one.

use crate::{resource::ResourceState, urn::Urn};

/// The parts of an alias; those that are left out are the resource's own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Former<'a> {
    pub(super) name: Option<&'a str>,
    pub(super) resource_type: Option<&'a str>,
    pub(super) parent: FormerParent<'a>,
    pub(super) stack: Option<&'a str>,
    pub(super) project: Option<&'a str>,
}

/// The former parent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum FormerParent<'a> {
    /// The present one, or the record that its alias finds.
    #[default]
    Present,
    /// None, or the root stack.
    None,
    /// Another one.
    Other(&'a Urn),
    /// One that the record does not name: only the whole URN is an alias.
    Unnamed(&'a Urn),
}

impl<'a> Former<'a> {
    /// Returns the parts of `old` that differ. `follows_parent` is true where an alias of the parent finds its record's
    /// parent.
    pub(super) fn between(old: &'a ResourceState, new: &ResourceState, follows_parent: bool) -> Self {
        let (before, after) = (&old.urn, &new.urn);
        let parent = if follows_parent || types_above(before) == types_above(after) {
            FormerParent::Present
        } else if types_above(before).is_empty() {
            FormerParent::None
        } else {
            match &old.parent {
                Some(parent) if parent.qualified_type() == types_above(before) => FormerParent::Other(parent),
                _ => FormerParent::Unnamed(before),
            }
        };
        let differing = |old: &'a str, new: &str| Some(old).filter(|old| *old != new);
        Self {
            name: differing(before.name(), after.name()),
            resource_type: differing(before.resource_type(), after.resource_type()),
            parent,
            stack: differing(before.stack(), after.stack()),
            project: differing(before.project(), after.project()),
        }
    }
}

/// Returns the types of the parents in a URN, joined by `$`.
fn types_above(urn: &Urn) -> &str {
    urn.qualified_type()
        .rsplit_once('$')
        .map_or("", |(above, _)| above)
}
