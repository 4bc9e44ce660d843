//! Cascaded deletions: a resource that is `deletedWith` a deleted one needs no call of its own.

use rustc_hash::FxHashSet;

use crate::{resource::ResourceState, urn::Urn};

/// The URNs of real resources that are deleted together, without records that are only removed.
///
/// A URN can have a record and old copies: one can be deleted while the other stays.
#[derive(Default)]
pub(super) struct DeletedSet<'a> {
    live: FxHashSet<&'a Urn>,
    copies: FxHashSet<&'a Urn>,
}

impl<'a> DeletedSet<'a> {
    /// Adds the record of a deleted real resource; `is_copy` is true for an old copy of an earlier run.
    pub(super) fn insert(&mut self, state: &'a ResourceState, is_copy: bool) {
        let urns = if is_copy { &mut self.copies } else { &mut self.live };
        urns.insert(&state.urn);
    }

    /// Returns whether the `deletedWith` of the record is in the set. Only an old copy can refer to another old copy.
    pub(super) fn has_host_of(&self, state: &ResourceState, is_copy: bool) -> bool {
        let host = state.options.deleted_with.as_ref();
        host.is_some_and(|host| self.live.contains(host) || (is_copy && self.copies.contains(host)))
    }
}
