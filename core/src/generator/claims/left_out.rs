//! What a run with targets has decided of each registration: named or not, left out, not created.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Claims, Taken};
use crate::{
    state::{Base, EdgeKind, StateId, StateRef},
    urn::Urn,
};

/// What this run leaves out.
#[derive(Default)]
pub(super) struct LeftOut {
    /// Positions in the base of the records that were taken over as they are although the program says something else.
    records: Vec<usize>,
    /// What these need and nobody had registered when they were left out. Who registers one of them must not come to
    /// need those that need it.
    late: FxHashSet<Urn>,
    /// The URNs under which these stand in the state where the program has other ones for them, by the program's.
    recorded: FxHashMap<Urn, Urn>,
    /// Default providers that registrations ask for, with how many had arrived before the first of these.
    expected: FxHashMap<Urn, u32>,
}

/// How one resource stands to the registration of another.
pub(crate) enum Standing {
    /// It arrived before, and has ended.
    Decided,
    /// It arrived before and has not ended: all that it may turn out to need.
    Ahead(Arc<[Urn]>),
    /// It has not arrived, or later: what counts is what was recorded, under this URN. How far it has come is chance.
    Recorded(Urn),
}

impl Taken {
    /// Tells whether a record is as the last run left it. Registrations are about records in use, never about old copies.
    fn is_untouched(&self, record: &StateRef) -> bool {
        let urn = &record.state.urn;
        let current = self.old_to_new.get(urn).unwrap_or(urn);
        let is_used = self.registrations.contains_key(current) || self.deleted.contains_key(urn);
        let is_reserved = self
            .reserved
            .get(&record.id)
            .is_some_and(|progress| !progress.done);
        !(is_used && !record.state.delete || is_reserved || self.operated.contains(&record.id))
    }
}

impl Claims {
    /// Decides whether a registration counts as named: `named` itself, or, where that is followed, because one of
    /// `needs` is. All of `needs` have been decided before.
    pub(crate) fn choose(&self, urn: &Urn, named: bool, needs: Option<&[Urn]>) -> bool {
        let mut taken = self.taken();
        let is_chosen = |need: &Urn| {
            let progress = taken.registrations.get(need);
            progress.is_some_and(|progress| progress.chosen)
        };
        let chosen = named || needs.into_iter().flatten().any(is_chosen);
        if let Some(progress) = taken.registrations.get_mut(urn).filter(|_| chosen) {
            progress.chosen = true;
        }
        chosen
    }

    /// Notes that the registration of `urn` is left out with its record, and all that this needs with it.
    pub(crate) fn leave_out(&self, urn: &Urn, record: &StateRef, base: &Base) {
        let Some(position) = base.position(&record.state.urn) else {
            return;
        };
        let graph = base.graph();
        let mut taken = self.taken();
        let taken = &mut *taken;
        let arrival = taken.registrations.get(urn).map(|own| own.arrival);
        taken.left_out.records.push(position);
        let mut pending = vec![position];
        while let Some(position) = pending.pop() {
            for (need, _) in graph.dependencies(position) {
                let recorded = &base.records()[need].state.urn;
                let urn = taken.old_to_new.get(recorded).unwrap_or(recorded);
                // What has not been decided may still be left out, and then its needs count as well. Whether what
                // arrived later has been decided already is chance, and must not count.
                let decided = taken.registrations.get(urn).is_some_and(|progress| {
                    progress.done && arrival.is_some_and(|arrival| progress.arrival < arrival)
                });
                if !decided && taken.left_out.late.insert(urn.clone()) {
                    pending.push(need);
                }
            }
        }
    }

    /// Notes that the registration of `urn` is left out with a record that keeps its former URN.
    pub(crate) fn keep_former(&self, urn: &Urn, former: &Urn) {
        let mut taken = self.taken();
        taken.left_out.recorded.insert(urn.clone(), former.clone());
    }

    /// Tells whether any record that was left out keeps a former URN.
    pub(crate) fn has_former(&self) -> bool {
        !self.taken().left_out.recorded.is_empty()
    }

    /// Returns the former URN that the record of `urn` keeps, where it does.
    pub(crate) fn former(&self, urn: &Urn) -> Option<Urn> {
        self.taken().left_out.recorded.get(urn).cloned()
    }

    /// Returns the URN that the program has registered for a record that keeps its former URN, `former`.
    pub(crate) fn registered_as(&self, former: &Urn) -> Option<Urn> {
        let taken = self.taken();
        let urn = taken.old_to_new.get(former)?;
        taken.left_out.recorded.contains_key(urn).then(|| urn.clone())
    }

    /// Takes over, with a record that is left out, another one that it needs; false when this run deals with that anyway,
    /// or has deleted it.
    pub(crate) fn take_over(&self, record: &StateRef, base: &Base) -> bool {
        let mut taken = self.taken();
        if !taken.is_untouched(record) {
            return false;
        }
        taken.operated.insert(record.id);
        if !record.state.delete {
            taken.left_out.records.extend(base.position(&record.state.urn));
        }
        taken.kept.insert(record.id)
    }

    /// The same for the old copy of a provider that this run has replaced.
    pub(crate) fn take_over_copy(&self, id: StateId) -> bool {
        self.taken().kept.insert(id)
    }

    /// Tells whether this run has not dealt with a record so far.
    pub(crate) fn is_untouched(&self, record: &StateRef) -> bool {
        self.taken().is_untouched(record)
    }

    /// Notes that the registration that arrives next asks for a default provider, which it registers in its own time.
    pub(crate) fn expect(&self, provider: Urn) {
        let mut taken = self.taken();
        let arrivals = taken.arrivals;
        taken.left_out.expected.entry(provider).or_insert(arrivals);
    }

    /// Tells whether a registration that arrived before that of `urn` asks for a default provider.
    pub(crate) fn is_expected(&self, provider: &Urn, urn: &Urn) -> bool {
        let taken = self.taken();
        let arrival = taken.registrations.get(urn).map(|progress| progress.arrival);
        let expected = taken.left_out.expected.get(provider);
        matches!((expected, arrival), (Some(before), Some(arrival)) if *before + 1 < arrival)
    }

    /// Tells whether the registration of `other` arrived before that of `urn`.
    pub(crate) fn arrived_before(&self, other: &Urn, urn: &Urn) -> bool {
        let taken = self.taken();
        let arrival = |urn: &Urn| taken.registrations.get(urn).map(|progress| progress.arrival);
        matches!((arrival(other), arrival(urn)), (Some(other), Some(own)) if other < own)
    }

    /// Tells whether something that was left out needs `urn`, which nobody had registered then.
    pub(crate) fn is_late(&self, urn: &Urn) -> bool {
        self.taken().left_out.late.contains(urn)
    }

    /// Tells how `other` stands to the registration of `urn`.
    pub(crate) fn standing(&self, other: &Urn, urn: &Urn) -> Standing {
        let taken = self.taken();
        let arrival = |urn: &Urn| taken.registrations.get(urn).map(|progress| progress.arrival);
        match taken.registrations.get(other) {
            Some(other) if arrival(urn).is_none_or(|own| other.arrival < own) => {
                if other.done {
                    Standing::Decided
                } else {
                    Standing::Ahead(other.needs.clone().unwrap_or_default())
                }
            }
            _ => Standing::Recorded(taken.new_to_old.get(other).unwrap_or(other).clone()),
        }
    }

    /// Returns the positions in the base of the records that were left out.
    pub(crate) fn left_out(&self) -> Vec<usize> {
        self.taken().left_out.records.clone()
    }

    /// Tells whether a record that was left out is managed by a provider.
    pub(crate) fn is_left_out_with(&self, provider: &StateRef, base: &Base) -> Option<Urn> {
        let position = base.position(&provider.state.urn)?;
        let taken = self.taken();
        let users = taken.left_out.records.iter().find(|&&record| {
            let mut needs = base.graph().dependencies(record);
            needs.any(|(need, kind)| need == position && kind == EdgeKind::Provider)
        });
        users.map(|&record| base.records()[record].state.urn.clone())
    }
}
