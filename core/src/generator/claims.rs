//! Claims: which URNs and aliases this run has taken, decided in the order of arrival.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rustc_hash::{FxHashMap, FxHashSet};
use tokio::sync::oneshot;

use crate::{
    generator::matching,
    resource::Goal,
    state::{Base, StateId, StateRef},
    urn::Urn,
};

/// A registration's claim: its URN, and the record that it takes over.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The resource.
    pub urn: Urn,
    /// The record that it takes over, under its own URN or an alias.
    pub old: Option<StateRef>,
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
    /// Providers that are used although no registration has claimed them.
    kept: FxHashSet<StateId>,
    /// Records that a delete-before-replace is looking at or has deleted.
    reserved: FxHashMap<Urn, Progress>,
    /// URNs whose records a delete-before-replace has deleted, with the properties that made it so.
    deleted: FxHashMap<Urn, Vec<String>>,
    /// URNs that this run replaces.
    replaced: FxHashSet<Urn>,
}

/// Something that others may wait for.
#[derive(Default)]
struct Progress {
    done: bool,
    /// It waits for nothing any more, and works with its record.
    begun: bool,
    failed: bool,
    waiters: Vec<oneshot::Sender<()>>,
    waits_for: Vec<Urn>,
    custom: bool,
    /// A custom resource has published outputs of its own.
    published: bool,
    children: Vec<Urn>,
}

impl Progress {
    fn finish(&mut self) {
        self.done = true;
        for waiter in self.waiters.drain(..) {
            // Who waited may have gone away.
            let _gone = waiter.send(());
        }
    }
}

/// How waiting for other registrations ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Awaited {
    /// All have records.
    Ready,
    /// This one failed.
    Failed(Urn),
    /// This one was given back, and so was never there.
    Withdrawn(Urn),
    /// They wait for each other.
    Cycle(Urn),
}

impl Taken {
    /// Tells whether a record is as the last run left it: nobody has claimed it, or who did still waits for others.
    fn is_free(&self, record: &StateRef) -> bool {
        let urn = &record.state.urn;
        if self.deleted.contains_key(urn) {
            return false;
        }
        let current = self.old_to_new.get(urn).unwrap_or(urn);
        let claimed = self.registrations.get(current);
        !self.operated.contains(&record.id)
            || claimed.is_some_and(|progress| !progress.begun && !progress.done)
    }

    fn reserve(&mut self, candidates: &[StateRef]) -> Vec<StateRef> {
        let mut free = candidates.to_vec();
        free.retain(|candidate| self.is_free(candidate));
        for candidate in &free {
            self.reserved
                .insert(candidate.state.urn.clone(), Progress::default());
        }
        free
    }
}

impl Claims {
    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Claims the goal's URN and the record that it goes on from. Never waits.
    pub(crate) fn claim(
        &self,
        goal: &Goal,
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
        let progress = Progress {
            custom: goal.custom,
            ..Progress::default()
        };
        taken.registrations.insert(urn.clone(), progress);
        let parent = goal.parent.as_ref();
        if let Some(parent) = parent.and_then(|parent| taken.registrations.get_mut(parent)) {
            parent.children.push(urn.clone());
        }
        if let Some(other) = taken.old_to_new.get(&urn) {
            return Err(Refusal::TakenAsAlias {
                other: other.clone(),
                urn,
            });
        }
        let mut old = base.live(&urn).cloned();
        if old.is_none() {
            let parent_alias = goal
                .parent
                .as_ref()
                .and_then(|parent| taken.new_to_old.get(parent));
            for alias in matching::candidates(goal, &urn, stack, project, parent_alias, &taken.new_to_old) {
                let Some(record) = base.live(&alias) else { continue };
                if taken.registrations.contains_key(&alias) {
                    return Err(Refusal::DuplicateAlias {
                        alias,
                        other: urn.clone(),
                        urn,
                    });
                }
                if let Some(other) = taken.old_to_new.get(&alias) {
                    return Err(Refusal::DuplicateAlias {
                        other: other.clone(),
                        alias,
                        urn,
                    });
                }
                taken.old_to_new.insert(alias.clone(), urn.clone());
                taken.new_to_old.insert(urn.clone(), alias);
                old = Some(record.clone());
                break;
            }
        }
        if let Some(record) = &old {
            taken.operated.insert(record.id);
        }
        Ok(Claim { urn, old })
    }

    /// Notes that the record of a provider that no registration has claimed is still in use; true the first time.
    pub(crate) fn keep(&self, record: &StateRef) -> bool {
        let mut taken = self.taken();
        !taken.registrations.contains_key(&record.state.urn)
            && taken.operated.insert(record.id)
            && taken.kept.insert(record.id)
    }

    /// Tells whether [`Self::keep`] has kept a record.
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

    /// Returns the URN under which a record is known in this run: its own, or that of the resource that took it over.
    pub(crate) fn current_urn(&self, urn: &Urn) -> Urn {
        self.taken()
            .old_to_new
            .get(urn)
            .cloned()
            .unwrap_or_else(|| urn.clone())
    }

    /// Ends a registration and wakes all that wait for its record.
    pub(crate) fn finish(&self, urn: &Urn, succeeded: bool) {
        if let Some(progress) = self.taken().registrations.get_mut(urn) {
            progress.failed = !succeeded;
            progress.finish();
        }
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

    /// Waits until every resource of this run among `urns` has a record. `urn` is the one who waits.
    pub(crate) async fn wait_for(&self, urn: &Urn, urns: Vec<Urn>) -> Awaited {
        if urns.is_empty() {
            return Awaited::Ready;
        }
        for target in urns {
            if target == *urn {
                continue;
            }
            let turn = {
                let mut taken = self.taken();
                let Some(progress) = taken.registrations.get(&target) else {
                    continue;
                };
                if progress.failed {
                    return Awaited::Failed(target);
                }
                if progress.done {
                    continue;
                }
                if leads_to(&taken.registrations, &target, urn) {
                    return Awaited::Cycle(target);
                }
                if let Some(own) = taken.registrations.get_mut(urn) {
                    own.waits_for.push(target.clone());
                }
                let (sender, turn) = oneshot::channel();
                if let Some(progress) = taken.registrations.get_mut(&target) {
                    progress.waiters.push(sender);
                }
                turn
            };
            drop(turn.await);
            let mut taken = self.taken();
            if let Some(own) = taken.registrations.get_mut(urn) {
                own.waits_for.clear();
            }
            match taken.registrations.get(&target) {
                None => return Awaited::Withdrawn(target),
                Some(progress) if progress.failed => return Awaited::Failed(target),
                Some(_) => {}
            }
        }
        Awaited::Ready
    }

    /// Waits for the registrations of `urns` and of all that is below the components among them; then returns the custom
    /// resources that these stand for: a component stands for what is below it, as far as the first custom resources.
    pub(crate) async fn settled(&self, urns: &[Urn]) -> Vec<Urn> {
        loop {
            let (customs, turns) = self.expand(urns);
            if turns.is_empty() {
                return customs;
            }
            for turn in turns {
                drop(turn.await);
            }
        }
    }

    fn expand(&self, urns: &[Urn]) -> (Vec<Urn>, Vec<oneshot::Receiver<()>>) {
        let mut taken = self.taken();
        let (mut customs, mut turns) = (Vec::new(), Vec::new());
        let mut pending = urns.to_vec();
        let mut seen = FxHashSet::default();
        while let Some(urn) = pending.pop() {
            let Some(progress) = taken.registrations.get_mut(&urn) else {
                continue;
            };
            if !seen.insert(urn.clone()) {
                continue;
            }
            if !progress.done {
                let (sender, turn) = oneshot::channel();
                progress.waiters.push(sender);
                turns.push(turn);
            }
            if progress.custom {
                customs.push(urn);
            } else {
                pending.extend(progress.children.iter().cloned());
            }
        }
        (customs, turns)
    }

    /// Reserves those of `candidates` that this run has not dealt with, so that their registrations wait. While another
    /// has reserved one of them this waits, and holds none: two can never wait for each other.
    pub(crate) async fn reserve(&self, candidates: &[StateRef]) -> Vec<StateRef> {
        loop {
            let turn = {
                let mut taken = self.taken();
                let others = candidates.iter().find(|candidate| {
                    let reserved = taken.reserved.get(&candidate.state.urn);
                    reserved.is_some_and(|entry| !entry.done) && taken.is_free(candidate)
                });
                let Some(other) = others.map(|candidate| candidate.state.urn.clone()) else {
                    return taken.reserve(candidates);
                };
                let (sender, turn) = oneshot::channel();
                if let Some(entry) = taken.reserved.get_mut(&other) {
                    entry.waiters.push(sender);
                }
                turn
            };
            drop(turn.await);
        }
    }

    /// Ends a reservation: `deleted` holds the keys when the record was deleted, and `None` when it was spared.
    pub(crate) fn release(&self, record: &StateRef, deleted: Option<Vec<String>>) {
        let mut taken = self.taken();
        if let Some(keys) = deleted {
            taken.operated.insert(record.id);
            taken.deleted.insert(record.state.urn.clone(), keys);
        }
        if let Some(progress) = taken.reserved.get_mut(&record.state.urn) {
            progress.finish();
        }
    }

    /// Lets the registration of `urn` begin with its record, as soon as no delete-before-replace looks at that; then
    /// tells the keys if it was deleted.
    pub(crate) async fn begin(&self, urn: &Urn, record: &StateRef) -> Option<Vec<String>> {
        let old = &record.state.urn;
        loop {
            let turn = {
                let mut taken = self.taken();
                match taken.reserved.get_mut(old).filter(|progress| !progress.done) {
                    None => {
                        if let Some(progress) = taken.registrations.get_mut(urn) {
                            progress.begun = true;
                        }
                        return taken.deleted.get(old).cloned();
                    }
                    Some(progress) => {
                        let (sender, turn) = oneshot::channel();
                        progress.waiters.push(sender);
                        turn
                    }
                }
            };
            drop(turn.await);
        }
    }

    /// Notes that this run replaces `urn`.
    pub(crate) fn mark_replaced(&self, urn: &Urn) {
        self.taken().replaced.insert(urn.clone());
    }

    /// Tells which of `urns` this run replaces.
    pub(crate) fn is_replaced(&self, urn: &Urn) -> bool {
        self.taken().replaced.contains(urn)
    }

    /// Returns the recorded URNs of the resources whose registrations failed.
    pub(crate) fn failed(&self) -> Vec<Urn> {
        let taken = self.taken();
        let failed = taken.registrations.iter().filter(|(_, progress)| progress.failed);
        failed
            .map(|(urn, _)| taken.new_to_old.get(urn).unwrap_or(urn).clone())
            .collect()
    }

    /// Tells whether a delete-before-replace has deleted a record that no registration has taken over since.
    pub(crate) fn is_abandoned(&self, record: &StateRef) -> bool {
        let taken = self.taken();
        let urn = &record.state.urn;
        let current = taken.old_to_new.get(urn).unwrap_or(urn);
        taken.deleted.contains_key(urn) && !taken.registrations.contains_key(current)
    }

    /// Tells whether this run has dealt with a record.
    pub(crate) fn is_operated(&self, id: StateId) -> bool {
        self.taken().operated.contains(&id)
    }
}

/// Tells whether waiting for `from` means, in the end, waiting for `to`.
fn leads_to(registrations: &FxHashMap<Urn, Progress>, from: &Urn, to: &Urn) -> bool {
    let mut pending = vec![from];
    let mut visited = FxHashSet::default();
    while let Some(urn) = pending.pop() {
        if urn == to {
            return true;
        }
        if visited.insert(urn) {
            pending.extend(
                registrations
                    .get(urn)
                    .into_iter()
                    .flat_map(|progress| &progress.waits_for),
            );
        }
    }
    false
}
