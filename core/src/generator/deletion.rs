//! Deletions: what is left of the last run when the program has said all, and in which order it goes.

use std::sync::{Arc, PoisonError};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    executor::{Step, StepDetail, run_in_order},
    generator::{Generator, gone::Gone},
    resource::ResourceState,
    state::{StateId, StateRef},
    step::StepOp,
};

/// A record that is to be deleted, with its position in the base and the kind of its step.
pub(super) type Condemned = (usize, StateRef, StepOp);

impl Generator {
    /// Deletes every record that this run has not dealt with, and the old halves of its replacements.
    ///
    /// Failures have been reported when this returns; the control tells whether there were any.
    pub(crate) async fn delete_leftovers(&self) {
        let Some((condemned, _)) = self.spare(self.condemned(&self.still_needed()), Vec::new()).await else {
            return;
        };
        if self.check_empty(&condemned) {
            self.delete_in_order(condemned).await;
        }
    }

    /// Deletes records of the base, each before what it depends on.
    pub(super) async fn delete_in_order(&self, condemned: Vec<Condemned>) {
        if condemned.is_empty() {
            // Mostly so, and then nobody need know what depends on what.
            return;
        }
        let positions: Vec<usize> = condemned.iter().map(|(position, ..)| *position).collect();
        let order = self.order_of(&positions);
        let condemned = condemned.into_iter().map(|(_, record, op)| (record, op));
        self.delete(condemned.collect(), &order).await;
    }

    /// Deletes records; `order` holds for each the places of those that must be gone before it.
    pub(super) async fn delete(&self, condemned: Vec<(StateRef, StepOp)>, order: &[Vec<usize>]) {
        if condemned.is_empty() {
            return;
        }
        let mut steps = Vec::with_capacity(condemned.len());
        let copies = self.copies_among(&condemned);
        let mut gone = Gone::default();
        for (record, op) in &condemned {
            if self.is_really_deleted(&record.state, *op) {
                gone.insert(&record.state, copies.contains(&record.id));
            }
        }
        let states = condemned.iter().map(|(record, _)| &*record.state);
        let Some(providers) = self.providers_of(states).await else {
            return;
        };
        for ((record, op), provider) in condemned.iter().zip(providers) {
            let state = &record.state;
            let detail = StepDetail {
                deleted_with_gone: gone.takes_along(state, copies.contains(&record.id)),
                ..StepDetail::default()
            };
            // Every step of an old record can be made.
            let step = Step::new(*op, Some(record.clone()), None);
            steps.extend(step.map(|step| step.with_provider(provider).with_detail(detail)));
        }
        if self.plan_steps(&steps).is_err() {
            return;
        }
        run_in_order(&self.executor, steps, order).await;
    }

    /// Returns which of the records are old copies that an earlier run has left behind.
    fn copies_among(&self, condemned: &[(StateRef, StepOp)]) -> FxHashSet<StateId> {
        let replaced = self.replaced.lock().unwrap_or_else(PoisonError::into_inner);
        let replaced: FxHashSet<StateId> = replaced.iter().map(|record| record.id).collect();
        let records = condemned.iter().map(|(record, _)| record);
        let copies = records.filter(|record| record.state.delete && !replaced.contains(&record.id));
        copies.map(|record| record.id).collect()
    }

    /// Tells whether a step on a record deletes the thing as well, and all that goes with it.
    pub(super) fn is_really_deleted(&self, state: &ResourceState, op: StepOp) -> bool {
        let deletes = match op {
            StepOp::Delete => !state.protect || self.executor.options().ignore_protect,
            StepOp::DeleteReplaced => true,
            // The record alone goes.
            _ => false,
        };
        let is_refused = state.options.delete_hooks().next().is_some();
        deletes && !is_refused && !state.retain_on_delete && !state.external
    }

    /// Returns the positions of what depends on the records of failed registrations, which the program may not have
    /// come to, and of what these and the providers that nobody has registered need: these records are still in use.
    pub(super) fn still_needed(&self) -> FxHashSet<usize> {
        let failed = self.claims.failed();
        let failed: Vec<_> = failed.iter().filter_map(|urn| self.base.position(urn)).collect();
        let records = self.base.records().iter().enumerate();
        let kept = records.filter(|(_, record)| record.state.is_provider() && self.claims.is_kept(record.id));
        let mut users: Vec<usize> = kept.map(|(position, _)| position).collect();
        if failed.is_empty() && users.is_empty() {
            return FxHashSet::default();
        }
        let graph = self.base.graph();
        let dependents = graph.transitive_dependents(&failed, true);
        users.extend(failed);
        users.extend(&dependents);
        let needed = graph.transitive_dependencies(&users);
        needed.into_iter().chain(dependents).collect()
    }

    /// Returns for each of the records at `positions` the places in that list of those that must be gone before it.
    fn order_of(&self, positions: &[usize]) -> Vec<Vec<usize>> {
        let places: FxHashMap<usize, usize> = positions
            .iter()
            .enumerate()
            .map(|(place, position)| (*position, place))
            .collect();
        let order = self.base.graph().deletion_order(positions);
        let placed = |before: Vec<usize>| {
            before
                .iter()
                .filter_map(|position| places.get(position).copied())
                .collect()
        };
        order.into_iter().map(placed).collect()
    }

    /// Returns what of the base is to be deleted, with its position there and the kind of its step.
    pub(super) fn condemned(&self, spared: &FxHashSet<usize>) -> Vec<Condemned> {
        // What was read in this run is deleted as it was found, and not as it was recorded.
        let replaced = self.replaced.lock().unwrap_or_else(PoisonError::into_inner);
        let replaced: FxHashMap<_, _> = replaced.iter().map(|record| (record.id, record)).collect();
        let forgone = self.claims.forgone();
        let mut condemned = Vec::new();
        for (position, record) in self.base.records().iter().enumerate() {
            // Views go with what they are views of, and only with that.
            if spared.contains(&position) || record.state.view_of.is_some() {
                continue;
            }
            let record = forgone.get(&record.id).unwrap_or(record);
            let state = &record.state;
            let is_copy = state.delete && !state.pending_replacement && !self.claims.is_operated(record.id);
            let op = if replaced.contains_key(&record.id) || is_copy {
                if state.external {
                    StepOp::DiscardReplaced
                } else {
                    StepOp::DeleteReplaced
                }
            } else if self.claims.is_operated(record.id) && !self.claims.is_abandoned(record) {
                continue;
            } else if state.pending_replacement || self.claims.is_abandoned(record) {
                StepOp::RemovePendingReplace
            } else if state.external {
                StepOp::Discard
            } else {
                StepOp::Delete
            };
            let mut record = record.clone();
            if let Some(replaced) = replaced.get(&record.id) {
                record.state = Arc::clone(&replaced.state);
                Arc::make_mut(&mut record.state).delete = true;
            }
            condemned.push((position, record, op));
        }
        condemned
    }
}
