//! Destroy with the program: what it registers is kept as it is, so that it can be reached, and deleted at the end.

use std::{
    ops::ControlFlow,
    sync::{Arc, PoisonError},
};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    generator::{
        Generator, Unanswered,
        build::new_state,
        deletion::Condemned,
        planned::{Planned, step},
        purpose::{Approached, is_managed},
    },
    resource::{Goal, ResourceState},
    state::{Circles, DependencyGraph, StateRef, stable_order, valid_order},
    step::StepOp,
    urn::Urn,
};

/// A record that the program has registered and that is to be deleted when the program has ended.
pub(super) struct Removal {
    pub(super) record: StateRef,
    /// The record that it went on from.
    pub(super) old: Option<StateRef>,
}

impl Generator {
    /// Keeps the record of what a provider manages, with its old inputs; what does not exist is not made.
    pub(super) async fn keep_until_the_end(
        &self,
        urn: &Urn,
        old: Option<StateRef>,
        goal: &Goal,
    ) -> Result<Approached, Unanswered> {
        let skips = self.needs_skipped(goal);
        if !skips && !is_managed(goal) {
            return Ok(ControlFlow::Continue(old));
        }
        // What was deleted already for a replacement that never came is only a reminder.
        let kept = old
            .as_ref()
            .filter(|old| !skips && !old.state.pending_replacement);
        let Some(kept) = kept else {
            if let Some(old) = &old {
                self.claims.forgo(old);
            }
            let skipped = self.skip_create(urn, goal, old.as_ref()).await;
            return skipped.map(ControlFlow::Break);
        };
        let Some(provider) = self.provider_of(urn, goal).await? else {
            return Ok(ControlFlow::Continue(old));
        };
        let new = Arc::new(ResourceState {
            inputs: kept.state.inputs.clone(),
            // What was only read is not the program's to delete, whatever it says now.
            external: kept.state.external,
            ..new_state(goal, urn.clone(), Some(&kept.state))
        });
        let planned = Planned {
            urn: urn.clone(),
            old: Some(kept.clone()),
            chain: vec![step(StepOp::Same, Some(kept), &new, Some(provider))],
            new,
        };
        self.run(planned).await.map(ControlFlow::Break)
    }

    /// Remembers a record that is to be deleted when the program has ended.
    pub(super) fn condemn(&self, record: &StateRef, old: Option<&StateRef>) {
        let removal = Removal {
            record: record.clone(),
            old: old.cloned(),
        };
        let mut removals = self.removals.lock().unwrap_or_else(PoisonError::into_inner);
        removals.push(removal);
    }

    /// Deletes all that the program has registered, and all that it has not.
    ///
    /// Failures have been reported when this returns; the control tells whether there were any.
    pub(crate) async fn delete_everything(&self) {
        let spared = self.still_needed();
        let is_spared = |removal: &Removal| {
            let old = removal.old.as_ref();
            let position = old.and_then(|old| self.base.position(&old.state.urn));
            position.is_some_and(|position| spared.contains(&position))
        };
        let mut removals = std::mem::take(&mut *self.removals.lock().unwrap_or_else(PoisonError::into_inner));
        removals.retain(|removal| !is_spared(removal));
        let Some((left, removals)) = self.spare(self.condemned(&spared), removals).await else {
            return;
        };
        let former = former_names(&removals);
        let gone = live_urns(&left, &removals);
        let goes = |urn: &Urn| gone.contains(urn) || gone.contains(&self.claims.current_urn(urn));
        let stays = |urn: &Urn| !goes(urn) && self.is_live(urn);
        let mut condemned = Vec::with_capacity(left.len() + removals.len());
        let mut plain = Vec::with_capacity(condemned.capacity());
        let mut complete = Vec::with_capacity(condemned.capacity());
        for (_, record, op) in left {
            // What it needs may have been renamed by this run: that is no need of before, which a circle may cut.
            let state = with_all_needs(&without_needs(&record.state, stays), None, &former);
            complete.push(Arc::clone(&state));
            plain.push(state);
            condemned.push((record, op));
        }
        for Removal { record, old } in removals {
            let state = with_all_needs(&without_needs(&record.state, stays), None, &former);
            let old = old.as_ref().map(|old| without_needs(&old.state, stays));
            complete.push(with_all_needs(&state, old.as_deref(), &former));
            plain.push(state);
            let op = if record.state.external {
                StepOp::Discard
            } else {
                StepOp::Delete
            };
            condemned.push((record, op));
        }
        let order = removal_order(&complete)
            .or_else(|| removal_order(&without_circles(&complete, &plain)))
            .or_else(|| Some(order_after(&plain, &valid_order(&plain).ok()?)))
            .unwrap_or_else(|| vec![Vec::new(); plain.len()]);
        self.delete(condemned, &order).await;
    }
}

fn former_names(removals: &[Removal]) -> FxHashMap<Urn, Urn> {
    let names = removals.iter().filter_map(|removal| {
        let former = &removal.old.as_ref()?.state.urn;
        let present = &removal.record.state.urn;
        (former != present).then(|| (former.clone(), present.clone()))
    });
    names.collect()
}

/// Returns the URNs of the records that go, old copies aside.
fn live_urns(left: &[Condemned], removals: &[Removal]) -> FxHashSet<Urn> {
    let left = left.iter().map(|(_, record, _)| record);
    let all = left.chain(removals.iter().map(|removal| &removal.record));
    let live = all.filter(|record| !record.state.delete);
    live.map(|record| record.state.urn.clone()).collect()
}

/// Takes out what a record needs of what stays: an old copy of it that goes is not what is meant.
fn without_needs(state: &Arc<ResourceState>, stays: impl Fn(&Urn) -> bool) -> Arc<ResourceState> {
    let mut needs = false;
    state.for_each_dependency(|urn| needs |= stays(urn));
    // What an old copy needs may be an old copy as well.
    if !needs || state.delete {
        return Arc::clone(state);
    }
    let mut state = ResourceState::clone(state);
    state.retain_dependencies(|urn| !stays(urn));
    Arc::new(state)
}

/// Completes what a record needs by what it needed before this run: the real thing is still as it was then.
fn with_all_needs(
    state: &Arc<ResourceState>,
    old: Option<&ResourceState>,
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
    more.retain(|urn| **urn != state.urn && !own.contains(urn));
    if more.is_empty() {
        return Arc::clone(state);
    }
    let mut complete = ResourceState::clone(state);
    complete.dependencies.extend(more.into_iter().cloned());
    Arc::new(complete)
}

/// Takes out of `complete` what was added to `plain` and lies on a circle; all other needs stay.
fn without_circles(complete: &[Arc<ResourceState>], plain: &[Arc<ResourceState>]) -> Vec<Arc<ResourceState>> {
    let circles = Circles::of(complete);
    let states = complete.iter().zip(plain).enumerate();
    let cut = states.map(|(place, (complete, plain))| {
        let own = plain.dependencies.len();
        let more = &complete.dependencies[own..];
        if !more.iter().any(|urn| circles.join(place, urn)) {
            return Arc::clone(complete);
        }
        let mut state = ResourceState::clone(plain);
        state
            .dependencies
            .extend(more.iter().filter(|urn| !circles.join(place, urn)).cloned());
        Arc::new(state)
    });
    cut.collect()
}

/// Returns for each of the records the places of those that must be gone before it; `None` when they need each other.
fn removal_order(states: &[Arc<ResourceState>]) -> Option<Vec<Vec<usize>>> {
    Some(order_after(states, &stable_order(states).ok()?))
}

/// Returns for each of the records the places of those that must be gone before it, where `order` is one in which each
/// stands after what it needs.
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
    fn what_needs_others_goes_before_them_in_whatever_order_the_records_stand() {
        let states = [state("b", &["a"]), state("a", &[]), state("c", &["b"])];
        assert_eq!(removal_order(&states), Some(vec![vec![2], vec![0], Vec::new()]));
    }

    #[test]
    fn records_that_need_each_other_have_no_order() {
        assert_eq!(removal_order(&[state("a", &["b"]), state("b", &["a"])]), None);
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
        assert_eq!(removal_order(&complete), None);
        let cut = without_circles(&complete, &plain);
        let order = removal_order(&cut).unwrap();
        assert_eq!(order, [vec![1], vec![2], vec![3], Vec::new()]);
    }

    #[test]
    fn a_dependency_that_the_program_has_dropped_still_counts() {
        let (now, before) = (state("b", &[]), state("b", &["a"]));
        let complete = with_all_needs(&now, Some(&before), &FxHashMap::default());
        assert_eq!(complete.dependencies, [urn("a")]);
    }

    #[test]
    fn a_dependency_on_something_renamed_is_one_on_what_it_is_called_now() {
        let former = FxHashMap::from_iter([(urn("a"), urn("a2"))]);
        let complete = with_all_needs(&state("b", &["a"]), None, &former);
        assert!(complete.dependencies.contains(&urn("a2")));
    }
}
