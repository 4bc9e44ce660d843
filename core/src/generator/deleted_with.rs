//! Deletions that delete other resources as well: what is `deletedWith` a deleted resource needs no call of its own.

use rustc_hash::FxHashSet;

use crate::{resource::ResourceState, urn::Urn};

/// The URNs of real things that are deleted together; records that are only removed are not among them.
///
/// A URN can have a record and old copies at the same time: one can be deleted while the other stays.
#[derive(Default)]
pub(super) struct DeletedSet<'a> {
    live: FxHashSet<&'a Urn>,
    copies: FxHashSet<&'a Urn>,
}

impl<'a> DeletedSet<'a> {
    /// Adds a record whose real thing is deleted; `is_copy` says that an earlier run has left it as an old copy.
    pub(super) fn insert(&mut self, state: &'a ResourceState, is_copy: bool) {
        let urns = if is_copy { &mut self.copies } else { &mut self.live };
        urns.insert(&state.urn);
    }

    /// Tells whether the resource that the record is deleted with is in the set. Only an old copy can refer to another.
    pub(super) fn has_host_of(&self, state: &ResourceState, is_copy: bool) -> bool {
        let host = state.options.deleted_with.as_ref();
        host.is_some_and(|host| self.live.contains(host) || (is_copy && self.copies.contains(host)))
    }
}
