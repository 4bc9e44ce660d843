//! Rebuilding after a refresh: references to resources that are gone are cut.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::{
    resource::ResourceState,
    state::{StateId, StateRef},
    urn::Urn,
};

/// The list of records as a rebuild leaves it; what a `BaseRebuilt` entry records.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Rebuilt {
    /// The identities that remain, in order.
    pub order: Vec<StateId>,
    /// The records whose content the rebuild changed.
    pub repaired: Vec<StateRef>,
}

/// Cuts from `remaining` all references to records that do not stand before the one that refers to them.
///
/// A record whose parent is gone has none afterwards; its URN stays as it is.
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
        // Whoever still calls it by a former name is set right when the aliases are resolved.
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
