//! The decisions of a targeted run about registrations: selected, kept as recorded, or not created.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Claims, State};
use crate::{
    state::{EdgeKind, StateId, StateRef},
    urn::Urn,
};

/// Records that this run keeps unchanged although the program registers another goal.
#[derive(Default)]
pub(super) struct Kept {
    /// Their positions in the base.
    records: Vec<usize>,
    /// Their dependencies that were not registered by then. A registration of one of these must not come to depend on a
    /// kept record that needs it.
    late: FxHashSet<Urn>,
    /// By the registered URN, the former URN that a kept record has in the state.
    former_urns: FxHashMap<Urn, Urn>,
    /// Default providers that registrations require, with the number of registrations that had arrived before the
    /// first.
    expected: FxHashMap<Urn, u32>,
}

/// The position of one resource relative to the registration of another.
pub(crate) enum DependencyOrder {
    /// It arrived earlier and has ended.
    Earlier,
    /// It arrived earlier and has not ended. Contains all its possible dependencies.
    Pending(Arc<[Urn]>),
    /// It has not arrived, or arrived later: the record of this URN is used, because its progress depends on timing.
    Later(Urn),
}

impl State {
    /// Returns whether a record is unchanged since the last run. Registrations claim records in use, never old copies.
    fn is_untouched(&self, record: &StateRef) -> bool {
        let urn = &record.state.urn;
        let is_used =
            self.registrations.contains_key(self.current_urn(urn)) || self.deleted.contains_key(urn);
        let reserved = self.reserved.get(&record.id);
        let is_reserved = reserved.is_some_and(|end| !end.is_done);
        !(is_used && !record.state.delete || is_reserved || self.operated.contains(&record.id))
    }
}

impl Claims {
    /// Returns whether targets or excludes name a registration: itself (`named`), or one of the `needs` to follow, all
    /// of which have been decided before. Keeps the answer for the dependents of the registration.
    pub(crate) fn mark_named(&self, urn: &Urn, named: bool, needs: Option<&[Urn]>) -> bool {
        let mut state = self.state();
        let is_named = |need: &Urn| state.registrations.get(need).is_some_and(|other| other.named);
        let named = named || needs.into_iter().flatten().any(is_named);
        if let Some(registration) = state.registrations.get_mut(urn).filter(|_| named) {
            registration.named = true;
        }
        named
    }

    /// Records that the registration of `urn` keeps its record, and with it everything that the record needs.
    pub(crate) fn keep_record(&self, urn: &Urn, record: &StateRef) {
        let Some(position) = self.base.position(&record.state.urn) else {
            return;
        };
        let mut state = self.state();
        let state = &mut *state;
        let arrival = state.arrival(urn);
        state.kept.records.push(position);
        let mut pending = vec![position];
        while let Some(position) = pending.pop() {
            for (need, _) in self.base.graph().dependencies(position) {
                let recorded = &self.base.records()[need].state.urn;
                let urn = state.old_to_new.get(recorded).unwrap_or(recorded);
                // The record of an undecided registration may still be kept, and then its needs count as well. Later
                // registrations count as undecided, because their progress depends on timing.
                let decided = state.registrations.get(urn).is_some_and(|other| {
                    other.end.is_done && arrival.is_some_and(|arrival| other.arrival < arrival)
                });
                if !decided && state.kept.late.insert(urn.clone()) {
                    pending.push(need);
                }
            }
        }
    }

    /// Records that the kept record of `urn` has a former URN.
    pub(crate) fn keep_former_urn(&self, urn: &Urn, former: &Urn) {
        let mut state = self.state();
        state.kept.former_urns.insert(urn.clone(), former.clone());
    }

    /// Returns whether any kept record has a former URN.
    pub(crate) fn has_former_urns(&self) -> bool {
        !self.state().kept.former_urns.is_empty()
    }

    /// Returns the former URN of the kept record of `urn`.
    pub(crate) fn former_urn(&self, urn: &Urn) -> Option<Urn> {
        self.state().kept.former_urns.get(urn).cloned()
    }

    /// Returns the URN that the program has registered for a kept record with a former URN.
    pub(crate) fn registered_as(&self, former: &Urn) -> Option<Urn> {
        let state = self.state();
        let urn = state.old_to_new.get(former)?;
        state.kept.former_urns.contains_key(urn).then(|| urn.clone())
    }

    /// Adopts an unclaimed record that a kept one needs; false when this run has dealt with it or a registration will.
    pub(crate) fn adopt(&self, record: &StateRef) -> bool {
        let mut state = self.state();
        if !state.is_untouched(record) {
            return false;
        }
        state.operated.insert(record.id);
        if !record.state.delete {
            state.kept.records.extend(self.base.position(&record.state.urn));
        }
        state.adopted.insert(record.id)
    }

    /// Adopts the old copy of a provider that this run has replaced; false when it was adopted before.
    pub(crate) fn adopt_copy(&self, id: StateId) -> bool {
        self.state().adopted.insert(id)
    }

    /// Returns whether a record was adopted.
    pub(crate) fn is_adopted(&self, id: StateId) -> bool {
        self.state().adopted.contains(&id)
    }

    /// Returns whether this run has not processed a record so far.
    pub(crate) fn is_untouched(&self, record: &StateRef) -> bool {
        self.state().is_untouched(record)
    }

    /// Records that the next registration to arrive requires a default provider, which is registered later.
    pub(crate) fn expect(&self, provider: Urn) {
        let mut state = self.state();
        let arrivals = state.arrivals;
        state.kept.expected.entry(provider).or_insert(arrivals);
    }

    /// Returns whether a registration that arrived before that of `urn` requires a default provider.
    pub(crate) fn is_expected(&self, provider: &Urn, urn: &Urn) -> bool {
        let state = self.state();
        let expected = state.kept.expected.get(provider);
        matches!((expected, state.arrival(urn)), (Some(before), Some(arrival)) if *before + 1 < arrival)
    }

    /// Returns whether the registration of `other` arrived before that of `urn`.
    pub(crate) fn arrived_before(&self, other: &Urn, urn: &Urn) -> bool {
        let state = self.state();
        matches!((state.arrival(other), state.arrival(urn)), (Some(other), Some(own)) if other < own)
    }

    /// Returns whether a kept record needs `urn`, which was not registered by then.
    pub(crate) fn is_late(&self, urn: &Urn) -> bool {
        self.state().kept.late.contains(urn)
    }

    /// Returns the position of `other` relative to the registration of `urn`.
    pub(crate) fn dependency_order(&self, other: &Urn, urn: &Urn) -> DependencyOrder {
        let state = self.state();
        let arrival = state.arrival(urn);
        match state.registrations.get(other) {
            Some(other) if arrival.is_none_or(|own| other.arrival < own) => {
                if other.end.is_done {
                    DependencyOrder::Earlier
                } else {
                    DependencyOrder::Pending(other.needs.clone().unwrap_or_default())
                }
            }
            _ => DependencyOrder::Later(state.new_to_old.get(other).unwrap_or(other).clone()),
        }
    }

    /// Returns the positions in the base of the kept records.
    pub(crate) fn kept_records(&self) -> Vec<usize> {
        self.state().kept.records.clone()
    }

    /// Returns the URN of a kept record that a provider manages.
    pub(crate) fn kept_user_of(&self, provider: &StateRef) -> Option<Urn> {
        let base = &self.base;
        let position = base.position(&provider.state.urn)?;
        let state = self.state();
        let user = state.kept.records.iter().find(|&&record| {
            let mut needs = base.graph().dependencies(record);
            needs.any(|(need, kind)| need == position && kind == EdgeKind::Provider)
        });
        user.map(|&record| base.records()[record].state.urn.clone())
    }
}
