//! The old copies of the resources that this run has replaced; they are deleted at its end, or before what they depend on.

use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::state::{StateId, StateRef};

/// The old copies that the replacements of one run have left.
#[derive(Default)]
pub(super) struct Replacements(Mutex<Vec<StateRef>>);

impl Replacements {
    /// Records the old half of a replacement.
    pub(super) fn note(&self, old: StateRef) {
        // A pending replacement was deleted before, and its record is removed by the replacement.
        if !old.state.pending_replacement {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(old);
        }
    }

    /// Returns a record as an old copy if this run has replaced it.
    pub(super) fn copy_of(&self, id: StateId) -> Option<StateRef> {
        let replaced = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        replaced.iter().find(|copy| copy.id == id).map(as_copy)
    }

    /// Returns whether the old copy of a record exists.
    pub(super) fn contains(&self, id: StateId) -> bool {
        let replaced = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        replaced.iter().any(|copy| copy.id == id)
    }

    /// Removes an old copy that was deleted before the end of the run.
    pub(super) fn forget(&self, id: StateId) {
        let mut replaced = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        replaced.retain(|copy| copy.id != id);
    }

    /// Returns the identities of all old copies.
    pub(super) fn ids(&self) -> FxHashSet<StateId> {
        let replaced = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        replaced.iter().map(|copy| copy.id).collect()
    }

    /// Returns all old copies.
    pub(super) fn copies(&self) -> FxHashMap<StateId, StateRef> {
        let replaced = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        replaced.iter().map(|copy| (copy.id, as_copy(copy))).collect()
    }
}

fn as_copy(replaced: &StateRef) -> StateRef {
    let mut copy = replaced.clone();
    Arc::make_mut(&mut copy.state).delete = true;
    copy
}
