//! A renamed project or stack: its root stack is deleted, and another one created.

use crate::{resource::ResourceState, urn::Urn};

/// The root stacks before and after.
#[derive(Clone, Copy)]
pub(super) struct RenamedProject<'a> {
    pub(super) old: &'a Urn,
    pub(super) new: &'a Urn,
}

impl<'a> RenamedProject<'a> {
    /// Returns the deleted and the created root stack, where they are of different projects or stacks.
    pub(super) fn of(deleted: &[&'a ResourceState], created: &[&'a ResourceState]) -> Option<Self> {
        let root = |records: &[&'a ResourceState]| {
            let mut urns = records.iter().map(|state| &state.urn);
            urns.find(|urn| urn.is_root_stack())
        };
        let (old, new) = (root(deleted)?, root(created)?);
        let is_other = old.project() != new.project() || old.stack() != new.stack();
        is_other.then_some(Self { old, new })
    }
}
