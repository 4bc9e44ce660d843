//! Rebuilding after a refresh: what points to a vanished resource is cut or moved up to the grandparent.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    resource::ResourceState,
    state::{StateId, StateRef},
    urn::Urn,
};

/// The list of records as a rebuild leaves it; what a `BaseRebuilt` entry records.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rebuilt {
    /// The identities that remain, in order.
    pub order: Vec<StateId>,
    /// The records whose content the rebuild changed.
    pub repaired: Vec<StateRef>,
}

/// Cuts from `remaining` all references to records that do not stand before the one that refers to them.
///
/// A record whose parent is gone gets the nearest ancestor that is left; its URN stays as it is. `before` are the
/// records from before the refresh, which know the parents of those that are gone.
#[must_use]
pub fn rebuild(remaining: &[StateRef], before: &[Arc<ResourceState>]) -> Rebuilt {
    let mut earlier: FxHashSet<&Urn> = FxHashSet::default();
    let mut parents: Option<FxHashMap<&Urn, Option<&Urn>>> = None;
    let mut repaired = Vec::new();
    for record in remaining {
        let state = &record.state;
        let mut dangling = false;
        state.for_each_dependency(|urn| dangling |= !earlier.contains(urn));
        if dangling {
            let parents = parents.get_or_insert_with(|| parents_of(before));
            let ancestor = nearest(state.parent.as_ref(), &earlier, parents);
            let state = Arc::new(cut(state, ancestor.cloned(), &earlier));
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

fn parents_of(before: &[Arc<ResourceState>]) -> FxHashMap<&Urn, Option<&Urn>> {
    let mut parents = FxHashMap::default();
    for record in before {
        // The parent of the record in use counts, not that of an old copy.
        if record.delete {
            parents.entry(&record.urn).or_insert(record.parent.as_ref());
        } else {
            parents.insert(&record.urn, record.parent.as_ref());
        }
    }
    parents
}

fn nearest<'a>(
    mut parent: Option<&'a Urn>,
    earlier: &FxHashSet<&Urn>,
    parents: &FxHashMap<&'a Urn, Option<&'a Urn>>,
) -> Option<&'a Urn> {
    // A damaged state may have a cycle of parents; no chain is longer than there are records.
    for _ in 0..=parents.len() {
        match parent {
            Some(urn) if !earlier.contains(urn) => parent = parents.get(urn).copied().flatten(),
            _ => return parent,
        }
    }
    None
}

fn cut(state: &ResourceState, parent: Option<Urn>, earlier: &FxHashSet<&Urn>) -> ResourceState {
    let mut state = state.clone();
    state.parent = parent;
    state.retain_dependencies(|urn| earlier.contains(urn));
    state
}
