//! What is really deleted in this run, so that what lives in it needs no deletion of its own.

use rustc_hash::FxHashSet;

use crate::{resource::ResourceState, urn::Urn};

/// The URNs of things that are deleted together, apart from those that only lose their record.
///
/// A URN can have a record and old copies at the same time: when the one goes, the other may stay.
#[derive(Default)]
pub(super) struct Gone<'a> {
    live: FxHashSet<&'a Urn>,
    copies: FxHashSet<&'a Urn>,
}

impl<'a> Gone<'a> {
    /// Adds a record whose thing is deleted; `is_copy` says that an earlier run has left it behind.
    pub(super) fn insert(&mut self, state: &'a ResourceState, is_copy: bool) {
        let urns = if is_copy { &mut self.copies } else { &mut self.live };
        urns.insert(&state.urn);
    }

    /// Tells whether what the record is deleted with is among them. Only an old copy can mean another one.
    pub(super) fn takes_along(&self, state: &ResourceState, is_copy: bool) -> bool {
        let host = state.options.deleted_with.as_ref();
        host.is_some_and(|host| self.live.contains(host) || (is_copy && self.copies.contains(host)))
    }
}
