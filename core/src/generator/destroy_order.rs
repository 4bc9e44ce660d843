//! The order of a destroy with the program: each record is deleted before its current and former dependencies, and before what was
//! below the components among the former ones.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    generator::deletions::{PendingDeletion, RegisteredDeletion},
    resource::ResourceState,
    state::{Cycles, DependencyGraph, StateRef, stable_order, valid_order},
    urn::Urn,
};

/// Returns for each deletion, the pending ones first, the indices of those that must be deleted before it.
///
/// `inside` returns the URNs of the records below the components on which a record of the base depends, `current` the URN of a
/// record in this run, and `is_live` whether a URN has a record besides its old copies.
pub(super) fn destroy_order(
    pending: &[PendingDeletion],
    registered: &[RegisteredDeletion],
    inside: impl Fn(&StateRef) -> Vec<Urn>,
    current: impl Fn(&Urn) -> Urn,
    is_live: impl Fn(&Urn) -> bool,
) -> Vec<Vec<usize>> {
    let former = former_names(registered);
    let deleted = live_urns(pending, registered);
    let is_deleted = |urn: &Urn| deleted.contains(urn) || deleted.contains(&current(urn));
    let stays = |urn: &Urn| !is_deleted(urn) && is_live(urn);
    let mut plain = Vec::with_capacity(pending.len() + registered.len());
    let mut complete = Vec::with_capacity(plain.capacity());
    for PendingDeletion { record, .. } in pending {
        // A dependency that this run renamed is no former dependency, which a cycle may drop.
        let state = with_all_needs(&without_needs(&record.state, stays), None, Vec::new(), &former);
        let inside = inside(record).into_iter().filter(|urn| !stays(urn)).collect();
        complete.push(with_all_needs(&state, None, inside, &former));
        plain.push(state);
    }
    for RegisteredDeletion { record, old } in registered {
        let state = with_all_needs(&without_needs(&record.state, stays), None, Vec::new(), &former);
        let inside = old.as_ref().map(&inside).unwrap_or_default();
        let inside = inside.into_iter().filter(|urn| !stays(urn)).collect();
        let old = old.as_ref().map(|old| without_needs(&old.state, stays));
        complete.push(with_all_needs(&state, old.as_deref(), inside, &former));
        plain.push(state);
    }
    deletion_order(&complete)
        .or_else(|| deletion_order(&without_cycles(&complete, &plain)))
        .or_else(|| Some(order_after(&plain, &valid_order(&plain).ok()?)))
        .unwrap_or_else(|| vec![Vec::new(); plain.len()])
}

/// Returns the current URNs of renamed records by their former ones.
fn former_names(registered: &[RegisteredDeletion]) -> FxHashMap<Urn, Urn> {
    let names = registered.iter().filter_map(|deletion| {
        let former = &deletion.old.as_ref()?.state.urn;
        let present = &deletion.record.state.urn;
        (former != present).then(|| (former.clone(), present.clone()))
    });
    names.collect()
}

/// Returns the URNs of the deleted records, except old copies.
fn live_urns(pending: &[PendingDeletion], registered: &[RegisteredDeletion]) -> FxHashSet<Urn> {
    let pending = pending.iter().map(|deletion| &deletion.record);
    let all = pending.chain(registered.iter().map(|deletion| &deletion.record));
    let live = all.filter(|record| !record.state.delete);
    live.map(|record| record.state.urn.clone()).collect()
}

/// Removes the dependencies of a record on records that stay: they are not to a deleted old copy of the same URN.
fn without_needs(state: &Arc<ResourceState>, stays: impl Fn(&Urn) -> bool) -> Arc<ResourceState> {
    let mut needs = false;
    state.for_each_dependency(|urn| needs |= stays(urn));
    // The dependencies of an old copy may be old copies as well.
    if !needs || state.delete {
        return Arc::clone(state);
    }
    let mut state = ResourceState::clone(state);
    state.retain_dependencies(|urn| !stays(urn));
    Arc::new(state)
}

/// Adds the dependencies that a record had before this run, `inside` components as well: the real resource still has them.
fn with_all_needs(
    state: &Arc<ResourceState>,
    old: Option<&ResourceState>,
    inside: Vec<Urn>,
    former: &FxHashMap<Urn, Urn>,
) -> Arc<ResourceState> {
    let mut own = FxHashSet::default();
    let mut more = Vec::new();
    state.for_each_dependency(|urn| {
        own.insert(urn);
        more.extend(former.get(urn));
    });
    if let Some(old) = old {
        old.for_each_dependency(|urn| {
            if old.parent.as_ref() != Some(urn) {
                more.push(former.get(urn).unwrap_or(urn));
            }
        });
    }
    more.extend(inside.iter().map(|urn| former.get(urn).unwrap_or(urn)));
    more.retain(|urn| **urn != state.urn && !own.contains(urn));
    if more.is_empty() {
        return Arc::clone(state);
    }
    let mut complete = ResourceState::clone(state);
    complete.dependencies.extend(more.into_iter().cloned());
    Arc::new(complete)
}

/// Removes from `complete` the dependencies that were added to `plain` and lie on a cycle.
fn without_cycles(complete: &[Arc<ResourceState>], plain: &[Arc<ResourceState>]) -> Vec<Arc<ResourceState>> {
    let cycles = Cycles::of(complete);
    let states = complete.iter().zip(plain).enumerate();
    let cut = states.map(|(place, (complete, plain))| {
        let own = plain.dependencies.len();
        let more = &complete.dependencies[own..];
        if !more.iter().any(|urn| cycles.are_joined(place, urn)) {
            return Arc::clone(complete);
        }
        let mut state = ResourceState::clone(plain);
        state
            .dependencies
            .extend(more.iter().filter(|urn| !cycles.are_joined(place, urn)).cloned());
        Arc::new(state)
    });
    cut.collect()
}

/// Returns for each record the indices of those to delete before it; `None` for a cycle.
fn deletion_order(states: &[Arc<ResourceState>]) -> Option<Vec<Vec<usize>>> {
    Some(order_after(states, &stable_order(states).ok()?))
}

/// Returns for each record the indices of those to delete before it; in `order`, each is after its dependencies.
fn order_after(states: &[Arc<ResourceState>], order: &[usize]) -> Vec<Vec<usize>> {
    let sorted: Vec<_> = order.iter().map(|&place| Arc::clone(&states[place])).collect();
    let all: Vec<usize> = (0..sorted.len()).collect();
    let mut before = vec![Vec::new(); states.len()];
    for (index, first) in DependencyGraph::new(&sorted)
        .deletion_order(&all)
        .into_iter()
        .enumerate()
    {
        before[order[index]] = first.into_iter().map(|index| order[index]).collect();
    }
    before
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::TypeToken;

    fn state(name: &str, dependencies: &[&str]) -> Arc<ResourceState> {
        let resource_type = TypeToken::from("test:index:Thing");
        let mut state = ResourceState::new(urn(name), resource_type, true);
        state.dependencies = dependencies.iter().map(|name| urn(name)).collect();
        Arc::new(state)
    }

    fn urn(name: &str) -> Urn {
        Urn::new("dev", "project", "", "test:index:Thing", name)
    }

    #[test]
    fn dependents_are_deleted_first_in_any_order_of_the_records() {
        let states = [state("b", &["a"]), state("a", &[]), state("c", &["b"])];
        assert_eq!(deletion_order(&states), Some(vec![vec![2], vec![0], Vec::new()]));
    }

    #[test]
    fn records_that_need_each_other_have_no_order() {
        assert_eq!(deletion_order(&[state("a", &["b"]), state("b", &["a"])]), None);
    }

    #[test]
    fn of_what_was_needed_only_that_on_a_circle_does_not_count() {
        let plain = [
            state("b", &[]),
            state("a", &["b"]),
            state("c", &[]),
            state("d", &[]),
        ];
        let complete = [
            state("b", &["a"]),
            state("a", &["b"]),
            state("c", &["a"]),
            state("d", &["c"]),
        ];
        assert_eq!(deletion_order(&complete), None);
        let cut = without_cycles(&complete, &plain);
        let order = deletion_order(&cut).unwrap();
        assert_eq!(order, [vec![1], vec![2], vec![3], Vec::new()]);
    }

    #[test]
    fn a_dependency_that_the_program_has_dropped_still_counts() {
        let (now, before) = (state("b", &[]), state("b", &["a"]));
        let complete = with_all_needs(&now, Some(&before), Vec::new(), &FxHashMap::default());
        assert_eq!(complete.dependencies, [urn("a")]);
    }

    #[test]
    fn a_dependency_on_something_renamed_is_one_on_what_it_is_called_now() {
        let former = FxHashMap::from_iter([(urn("a"), urn("a2"))]);
        let complete = with_all_needs(&state("b", &["a"]), None, Vec::new(), &former);
        assert!(complete.dependencies.contains(&urn("a2")));
    }

    #[test]
    fn what_was_below_a_component_still_counts() {
        let former = FxHashMap::from_iter([(urn("inside"), urn("inside2"))]);
        let complete = with_all_needs(
            &state("b", &["box"]),
            None,
            vec![urn("inside"), urn("box")],
            &former,
        );
        assert_eq!(complete.dependencies, [urn("box"), urn("inside2")]);
    }
}
