//! Claims: which URNs and aliases this run has taken, decided in the order of arrival.

mod left_out;
mod reservation;
mod waiting;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::{FxHashMap, FxHashSet};
use tokio::sync::oneshot;

use crate::{
    generator::matching,
    resource::Goal,
    state::{Base, StateId, StateRef},
    urn::Urn,
};

pub(crate) use left_out::Standing;
pub(crate) use waiting::Awaited;

/// A registration's claim: its URN, and the record that it takes over.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    /// The resource.
    pub urn: Urn,
    /// The record that it takes over, under its own URN or an alias.
    pub old: Option<StateRef>,
}

/// What is known of a registration of this run.
pub(crate) struct Registration {
    /// The URN of the record that it goes on from, where it is another.
    pub(crate) alias: Option<Urn>,
    /// Its parent.
    pub(crate) parent: Option<Urn>,
    /// It is no component.
    pub(crate) custom: bool,
}

/// Why a claim is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The parent is not a resource of this run.
    MissingParent(Urn),
    /// Another registration of this run has the URN.
    Duplicate(Urn),
    /// An alias names something that this run has taken otherwise.
    DuplicateAlias { alias: Urn, urn: Urn, other: Urn },
    /// Another registration has taken the URN as its alias.
    TakenAsAlias { urn: Urn, other: Urn },
}

/// What this run has taken so far.
#[derive(Default)]
pub(crate) struct Claims(Mutex<Taken>);

#[derive(Default)]
struct Taken {
    /// Registrations by URN; each is in flight until it has a record.
    registrations: FxHashMap<Urn, Progress>,
    /// From the URN of a taken record to the URN that took it under an alias.
    old_to_new: FxHashMap<Urn, Urn>,
    new_to_old: FxHashMap<Urn, Urn>,
    /// Records that this run has dealt with, or is dealing with.
    operated: FxHashSet<StateId>,
    /// Records that were given up again, as they had been found by then.
    forgone: FxHashMap<StateId, StateRef>,
    /// Records that were taken over as they are although no registration had claimed them.
    kept: FxHashSet<StateId>,
    /// Records that a delete-before-replace is looking at or has deleted.
    reserved: FxHashMap<StateId, Progress>,
    /// URNs whose records a delete-before-replace has deleted, with the properties that made it so.
    deleted: FxHashMap<Urn, Vec<String>>,
    /// URNs that this run replaces.
    replaced: FxHashSet<Urn>,
    /// URNs that were registered, do not exist and are not made in this run.
    skipped: FxHashSet<Urn>,
    /// Registrations that leave no record of their own, so that outputs that the program publishes of them are dropped.
    unrecorded: FxHashSet<Urn>,
    /// What targets leave alone.
    left_out: left_out::LeftOut,
    /// How many registrations have arrived.
    arrivals: u32,
    /// How many of them wait for one that arrived later; one that was dropped while it did counts on.
    forward_waits: usize,
}

/// Something that others may wait for.
#[derive(Default)]
struct Progress {
    done: bool,
    /// It waits for nothing any more, and works with its record.
    begun: bool,
    failed: bool,
    waiters: Vec<oneshot::Sender<()>>,
    /// Whom it waits for at the moment; one after the other.
    waits_for: Option<Urn>,
    custom: bool,
    /// A custom resource has published outputs of its own.
    published: bool,
    /// Targets or excludes are about it: it is named, or depends on what is.
    chosen: bool,
    /// Its place in the order of arrival.
    arrival: u32,
    /// All that it may turn out to need, until it has ended; only in runs that ask for it.
    needs: Option<Arc<[Urn]>>,
    children: Vec<Urn>,
}

impl Progress {
    /// Lets somebody wait for the end.
    fn turn(&mut self) -> oneshot::Receiver<()> {
        let (sender, turn) = oneshot::channel();
        self.waiters.push(sender);
        turn
    }

    fn finish(&mut self) {
        self.done = true;
        self.needs = None;
        for waiter in std::mem::take(&mut self.waiters) {
            // Who waited may have gone away.
            let _gone = waiter.send(());
        }
    }
}

impl Taken {
    /// Takes over the first record that stands under an alias of the goal.
    fn take_alias(
        &mut self,
        goal: &Goal,
        urn: &Urn,
        stack: &str,
        project: &str,
        base: &Base,
    ) -> Result<Option<StateRef>, Refusal> {
        let parent = goal.parent.as_ref();
        let parent_alias = parent.and_then(|parent| self.new_to_old.get(parent));
        for alias in matching::candidates(goal, urn, stack, project, parent_alias, &self.new_to_old) {
            let Some(record) = base.live(&alias) else { continue };
            let other = if self.registrations.contains_key(&alias) {
                Some(urn)
            } else {
                self.old_to_new.get(&alias)
            };
            if let Some(other) = other.cloned() {
                let urn = urn.clone();
                return Err(Refusal::DuplicateAlias { alias, urn, other });
            }
            self.old_to_new.insert(alias.clone(), urn.clone());
            self.new_to_old.insert(urn.clone(), alias);
            return Ok(Some(record.clone()));
        }
        Ok(None)
    }
}

impl Claims {
    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Claims the goal's URN and the record that it goes on from. Never waits.
    ///
    /// `needs` is what the goal needs, in runs that ask for [`Self::standing`].
    pub(crate) fn claim(
        &self,
        goal: &Goal,
        needs: Option<Vec<Urn>>,
        stack: &str,
        project: &str,
        base: &Base,
    ) -> Result<Claim, Refusal> {
        let mut taken = self.taken();
        let parent_type = match &goal.parent {
            Some(parent) if !taken.registrations.contains_key(parent) => {
                return Err(Refusal::MissingParent(parent.clone()));
            }
            Some(parent) => parent.qualified_type(),
            None => "",
        };
        let urn = Urn::new(
            stack,
            project,
            parent_type,
            goal.resource_type.as_str(),
            &goal.name,
        );
        if taken.registrations.contains_key(&urn) {
            return Err(Refusal::Duplicate(urn));
        }
        if let Some(other) = taken.old_to_new.get(&urn) {
            return Err(Refusal::TakenAsAlias {
                other: other.clone(),
                urn,
            });
        }
        let mut old = base.live(&urn).cloned();
        if old.is_none() {
            old = taken.take_alias(goal, &urn, stack, project, base)?;
        }
        // Nothing is refused any more: a refused claim has no end, so that others must not find it.
        taken.arrivals = taken.arrivals.wrapping_add(1);
        let progress = Progress {
            custom: goal.custom,
            arrival: taken.arrivals,
            ..Progress::default()
        };
        taken.registrations.insert(urn.clone(), progress);
        let parent = goal.parent.as_ref();
        if let Some(parent) = parent.and_then(|parent| taken.registrations.get_mut(parent)) {
            parent.children.push(urn.clone());
        }
        if let Some(record) = &old {
            taken.operated.insert(record.id);
        }
        if let Some(mut needs) = needs {
            // It may fail, or be left out: then it needs what it needed.
            if let Some(record) = &old {
                record.state.for_each_dependency(|need| needs.push(need.clone()));
                needs.extend(record.state.provider_urn());
            }
            if let Some(progress) = taken.registrations.get_mut(&urn) {
                progress.needs = Some(needs.into());
            }
        }
        Ok(Claim { urn, old })
    }

    /// Gives a claim back as if it had never been made: its record may be claimed again, or is left over.
    pub(crate) fn withdraw(&self, claim: &Claim) {
        let mut taken = self.taken();
        if let Some(mut progress) = taken.registrations.remove(&claim.urn) {
            progress.finish();
        }
        if let Some(alias) = taken.new_to_old.remove(&claim.urn) {
            taken.old_to_new.remove(&alias);
        }
        if let Some(record) = &claim.old {
            taken.operated.remove(&record.id);
        }
    }

    /// Ends a registration and wakes all that wait for its record.
    pub(crate) fn finish(&self, urn: &Urn, succeeded: bool) {
        if let Some(progress) = self.taken().registrations.get_mut(urn) {
            progress.failed = !succeeded;
            progress.finish();
        }
    }

    /// Tells whether [`Self::take_over`] has taken a record over.
    pub(crate) fn is_kept(&self, id: StateId) -> bool {
        self.taken().kept.contains(&id)
    }

    /// Notes that a custom resource publishes outputs, and returns the URN that its record had before this run; `None`
    /// unless it is there and does so for the first time.
    pub(crate) fn publishes(&self, urn: &Urn) -> Option<Urn> {
        let mut taken = self.taken();
        let progress = taken.registrations.get_mut(urn)?;
        if !progress.custom || !progress.done || progress.failed || progress.published {
            return None;
        }
        progress.published = true;
        Some(taken.new_to_old.get(urn).unwrap_or(urn).clone())
    }

    /// Tells whether a URN was claimed.
    pub(crate) fn is_seen(&self, urn: &Urn) -> bool {
        self.taken().registrations.contains_key(urn)
    }

    /// Returns what is known of a registration. Looks at all registrations: it is meant for those that failed.
    pub(crate) fn registration(&self, urn: &Urn) -> Option<Registration> {
        let taken = self.taken();
        let progress = taken.registrations.get(urn)?;
        let mut above = taken.registrations.iter();
        let parent = above.find(|(_, progress)| progress.children.contains(urn));
        Some(Registration {
            alias: taken.new_to_old.get(urn).cloned(),
            parent: parent.map(|(urn, _)| urn.clone()),
            custom: progress.custom,
        })
    }

    /// Returns what was registered, in no order.
    pub(crate) fn seen(&self) -> Vec<Urn> {
        self.taken().registrations.keys().cloned().collect()
    }

    /// Returns the URN under which a record is known in this run: its own, or that of the resource that took it over.
    pub(crate) fn current_urn(&self, urn: &Urn) -> Urn {
        self.taken()
            .old_to_new
            .get(urn)
            .cloned()
            .unwrap_or_else(|| urn.clone())
    }

    /// Notes that this run replaces `urn`.
    pub(crate) fn mark_replaced(&self, urn: &Urn) {
        self.taken().replaced.insert(urn.clone());
    }

    /// Tells which of `urns` this run replaces.
    pub(crate) fn is_replaced(&self, urn: &Urn) -> bool {
        self.taken().replaced.contains(urn)
    }

    /// Notes that `urn` does not exist and is not made in this run.
    pub(crate) fn skip(&self, urn: &Urn) {
        self.taken().skipped.insert(urn.clone());
    }

    /// Tells whether anything registered is not made in this run.
    pub(crate) fn has_skipped(&self) -> bool {
        !self.taken().skipped.is_empty()
    }

    /// Tells whether `urn` was registered and is not made in this run.
    pub(crate) fn is_skipped(&self, urn: &Urn) -> bool {
        self.taken().skipped.contains(urn)
    }

    /// Notes that the registration of `urn` leaves no record of its own.
    pub(crate) fn leave_unrecorded(&self, urn: &Urn) {
        self.taken().unrecorded.insert(urn.clone());
    }

    /// Tells whether the registration of `urn` has left no record of its own.
    pub(crate) fn is_unrecorded(&self, urn: &Urn) -> bool {
        self.taken().unrecorded.contains(urn)
    }

    /// Gives up a record that was claimed, so that it is left over, as it has been found meanwhile, like one that nobody
    /// has registered.
    pub(crate) fn forgo(&self, record: &StateRef) {
        let mut taken = self.taken();
        taken.operated.remove(&record.id);
        taken.forgone.insert(record.id, record.clone());
    }

    /// Returns the records that were given up, as they were found.
    pub(crate) fn forgone(&self) -> FxHashMap<StateId, StateRef> {
        self.taken().forgone.clone()
    }

    /// Returns the recorded URNs of the resources whose registrations failed.
    pub(crate) fn failed(&self) -> Vec<Urn> {
        let taken = self.taken();
        let failed = taken.registrations.iter().filter(|(_, progress)| progress.failed);
        failed
            .map(|(urn, _)| taken.new_to_old.get(urn).unwrap_or(urn).clone())
            .collect()
    }

    /// Tells whether this run has dealt with a record.
    pub(crate) fn is_operated(&self, id: StateId) -> bool {
        self.taken().operated.contains(&id)
    }
}

#[cfg(test)]
mod tests;
