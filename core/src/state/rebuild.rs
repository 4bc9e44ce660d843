//! Rebuilding after a refresh: references to deleted resources are removed.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::{
    resource::ResourceState,
    state::{StateId, StateRef},
    urn::Urn,
};

/// The list of records after a rebuild, as a `BaseRebuilt` entry records it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Rebuilt {
    /// The remaining identities, in order.
    pub order: Vec<StateId>,
    /// The records that the rebuild changed.
    pub repaired: Vec<StateRef>,
}

/// Removes from `remaining` all references to records that do not stand before the referring one.
///
/// A record whose parent was removed has no parent afterwards. Its URN does not change.
#[must_use]
pub(crate) fn rebuild(remaining: &[StateRef]) -> Rebuilt {
    let mut earlier: FxHashSet<&Urn> = FxHashSet::default();
    let mut repaired = Vec::new();
    for record in remaining {
        let state = &record.state;
        let mut dangling = false;
        state.for_each_dependency(|urn| dangling |= !earlier.contains(urn));
        if dangling {
            let state = Arc::new(cut(state, &earlier));
            repaired.push(StateRef { id: record.id, state });
        }
        earlier.insert(&state.urn);
        // References to a former URN are rewritten when the aliases are resolved.
        earlier.extend(&state.aliases);
    }
    Rebuilt {
        order: remaining.iter().map(|record| record.id).collect(),
        repaired,
    }
}

fn cut(state: &ResourceState, earlier: &FxHashSet<&Urn>) -> ResourceState {
    let mut state = state.clone();
    state.parent = state.parent.filter(|parent| earlier.contains(parent));
    state.retain_dependencies(|urn| earlier.contains(urn));
    state
}
