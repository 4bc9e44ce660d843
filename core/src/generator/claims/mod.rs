//! Claims: which URNs and records the registrations of this run have claimed, in the order of arrival.
//!
//! A claim checks first and inserts last, under a lock that is never held across an await. It is held by one
//! [`ClaimGuard`], which ends it in any case.

mod error;
mod guard;
mod kept;
mod reservation;
mod waiting;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::{FxHashMap, FxHashSet};
use tokio::sync::oneshot;

use crate::{
    executor::Control,
    generator::matching,
    moves::AppliedMoves,
    resource::{Goal, ResourceState},
    state::{PriorState, StateId, StateRef},
    urn::Urn,
};

pub(crate) use error::ClaimError;
pub(crate) use guard::ClaimGuard;
pub(crate) use kept::DependencyOrder;
pub(crate) use reservation::Reservation;
pub(crate) use waiting::WaitError;

/// A registration's claim: its URN and its record.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    /// The resource.
    pub urn: Urn,
    /// Its record, under its own URN or an alias.
    pub old: Option<StateRef>,
}

/// The facts of a registration of this run.
pub(crate) struct RegistrationInfo {
    /// The URN of its record, if that is another one.
    pub(crate) alias: Option<Urn>,
    /// Its parent.
    pub(crate) parent: Option<Urn>,
    /// True for a custom resource.
    pub(crate) custom: bool,
}

/// The claims of one run.
pub(crate) struct Claims {
    stack: String,
    project: String,
    base: Arc<PriorState>,
    control: Control,
    /// The moves that the operation applies.
    moves: AppliedMoves,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    registrations: FxHashMap<Urn, Registration>,
    /// From the URN of a claimed record to the URN that claimed it under an alias.
    old_to_new: FxHashMap<Urn, Urn>,
    new_to_old: FxHashMap<Urn, Urn>,
    /// Records that this run has processed or is processing.
    operated: FxHashSet<StateId>,
    /// Records whose claims were released, in their state at that time.
    released: FxHashMap<StateId, StateRef>,
    /// Unclaimed records that were adopted as they are.
    adopted: FxHashSet<StateId>,
    /// Records that a delete-before-replace reserves or has reserved.
    reserved: FxHashMap<StateId, End>,
    /// URNs whose records a delete-before-replace has deleted, with the properties that caused it.
    deleted: FxHashMap<Urn, Vec<String>>,
    /// URNs that this run replaces.
    replaced: FxHashSet<Urn>,
    /// Registered URNs that do not exist and are not created in this run.
    skipped: FxHashMap<Urn, Arc<ResourceState>>,
    /// Registrations without a record of their own: outputs that the program publishes of them are dropped.
    unrecorded: FxHashSet<Urn>,
    /// Records that targets keep as they are.
    kept: kept::Kept,
    /// The number of registrations that have arrived.
    arrivals: u32,
    /// The number of registrations that wait for a later one; a wait that was dropped still counts.
    forward_waits: usize,
}

/// The end of a registration or reservation, for which others wait.
#[derive(Default)]
struct End {
    is_done: bool,
    waiters: Vec<oneshot::Sender<()>>,
}

/// A registration; it is in flight until it has a record.
#[derive(Default)]
struct Registration {
    end: End,
    /// All waits are over; the record is in use.
    begun: bool,
    /// Calls of its provider may wait for a later registration.
    may_wait: bool,
    failed: bool,
    /// The registration that it currently waits for.
    waits_for: Option<Urn>,
    custom: bool,
    /// A custom resource has published outputs of its own.
    published: bool,
    /// Targets or excludes name it, or a dependency of it where dependents count.
    named: bool,
    /// Its position in the order of arrival.
    arrival: u32,
    /// All its possible dependencies, until it has ended; only in runs that need them.
    needs: Option<Arc<[Urn]>>,
    children: Vec<Urn>,
}

impl End {
    /// Returns a receiver for the end.
    fn turn(&mut self) -> oneshot::Receiver<()> {
        let (sender, turn) = oneshot::channel();
        self.waiters.push(sender);
        turn
    }

    fn finish(&mut self) {
        self.is_done = true;
        for waiter in std::mem::take(&mut self.waiters) {
            // The receiver may have been dropped.
            let _dropped = waiter.send(());
        }
    }
}

impl State {
    fn arrival(&self, urn: &Urn) -> Option<u32> {
        self.registrations
            .get(urn)
            .map(|registration| registration.arrival)
    }

    /// Returns the current URN of a record: its own, or that of the resource that claimed it.
    fn current_urn<'a>(&'a self, urn: &'a Urn) -> &'a Urn {
        self.old_to_new.get(urn).unwrap_or(urn)
    }
}

impl Claims {
    pub(crate) fn new(stack: &str, project: &str, base: &Arc<PriorState>, control: Control) -> Self {
        Self {
            stack: stack.to_owned(),
            project: project.to_owned(),
            base: Arc::clone(base),
            control,
            moves: AppliedMoves::default(),
            state: Mutex::default(),
        }
    }

    /// Adds the moves to apply.
    #[must_use]
    pub(crate) fn with_moves(self, moves: AppliedMoves) -> Self {
        Self { moves, ..self }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Claims the goal's URN and its record. Never waits: the order of the calls is the order of
    /// arrival.
    ///
    /// `needs` are the goal's dependencies, in runs that use [`Self::dependency_order`].
    pub(crate) fn claim(
        self: &Arc<Self>,
        goal: &Goal,
        needs: Option<Vec<Urn>>,
    ) -> Result<ClaimGuard, ClaimError> {
        let mut state = self.state();
        let parent = goal.parent.as_ref();
        let parent_type = parent.map_or("", |parent| parent.qualified_type());
        let resource_type = goal.resource_type.as_str();
        let urn = Urn::new(&self.stack, &self.project, parent_type, resource_type, &goal.name);
        if let Some(parent) = parent.filter(|parent| !state.registrations.contains_key(*parent)) {
            let parent = parent.clone();
            return Err(ClaimError::MissingParent { parent, urn });
        }
        if state.registrations.contains_key(&urn) {
            return Err(ClaimError::Duplicate(urn));
        }
        if let Some(other) = state.old_to_new.get(&urn).cloned() {
            return Err(ClaimError::TakenAsAlias { other, urn });
        }
        let (old, alias) = match self.base.live(&urn) {
            Some(old) => (Some(old.clone()), None),
            None => self.record_under_alias(&state, goal, &urn)?.unzip(),
        };
        // No refusal after this point: a refused claim changes nothing, because no guard would end it.
        if let Some(alias) = alias {
            state.old_to_new.insert(alias.clone(), urn.clone());
            state.new_to_old.insert(urn.clone(), alias);
        }
        state.arrivals = state.arrivals.wrapping_add(1);
        let needs = needs.map(|mut needs| {
            // After a failure, or with its record kept, it needs what the record needs.
            if let Some(record) = &old {
                record.state.for_each_dependency(|need| needs.push(need.clone()));
                needs.extend(record.state.provider_urn());
            }
            needs.into()
        });
        let registration = Registration {
            custom: goal.custom,
            arrival: state.arrivals,
            needs,
            ..Registration::default()
        };
        state.registrations.insert(urn.clone(), registration);
        if let Some(parent) = parent.and_then(|parent| state.registrations.get_mut(parent)) {
            parent.children.push(urn.clone());
        }
        if let Some(record) = &old {
            state.operated.insert(record.id);
        }
        Ok(ClaimGuard::new(self, Claim { urn, old }))
    }

    /// Finds the first record with an alias of the goal as URN, and that alias.
    fn record_under_alias(
        &self,
        state: &State,
        goal: &Goal,
        urn: &Urn,
    ) -> Result<Option<(StateRef, Urn)>, ClaimError> {
        let parent = goal.parent.as_ref();
        let parent_alias = parent.and_then(|parent| state.new_to_old.get(parent));
        let (stack, project) = (&self.stack, &self.project);
        let aliases = matching::candidates(goal, urn, stack, project, parent_alias, &state.new_to_old);
        // An accepted move precedes the aliases of the program, and those that follow from the former name of a parent.
        for alias in self.moves.former(urn).into_iter().chain(aliases) {
            if self.moves.is_for_another(&alias, urn) {
                continue;
            }
            let Some(record) = self.base.live(&alias) else {
                continue;
            };
            let other = if state.registrations.contains_key(&alias) {
                Some(urn)
            } else {
                state.old_to_new.get(&alias)
            };
            return match other.cloned() {
                None => Ok(Some((record.clone(), alias))),
                Some(other) => {
                    let urn = urn.clone();
                    Err(ClaimError::DuplicateAlias { alias, urn, other })
                }
            };
        }
        Ok(None)
    }

    /// Returns the record that a goal would claim, unless another claim has it.
    pub(crate) fn leftover_of(&self, goal: &Goal) -> Option<StateRef> {
        let state = self.state();
        let parent_type = goal.parent.as_ref().map_or("", |parent| parent.qualified_type());
        let resource_type = goal.resource_type.as_str();
        let urn = Urn::new(&self.stack, &self.project, parent_type, resource_type, &goal.name);
        let record = match self.base.live(&urn) {
            Some(record) => record.clone(),
            None => self.record_under_alias(&state, goal, &urn).ok()??.0,
        };
        (!state.operated.contains(&record.id)).then_some(record)
    }

    /// Withdraws a claim as if it had never been made: another registration may claim its record.
    fn withdraw(&self, claim: &Claim) {
        let mut state = self.state();
        if let Some(mut registration) = state.registrations.remove(&claim.urn) {
            registration.end.finish();
        }
        if let Some(alias) = state.new_to_old.remove(&claim.urn) {
            state.old_to_new.remove(&alias);
        }
        if let Some(record) = &claim.old {
            state.operated.remove(&record.id);
        }
    }

    /// Ends a registration and wakes those that wait for its record.
    fn finish(&self, urn: &Urn, succeeded: bool) {
        if let Some(registration) = self.state().registrations.get_mut(urn) {
            registration.failed = !succeeded;
            registration.needs = None;
            registration.end.finish();
        }
    }

    /// Releases the claim of a record, which then counts as unregistered, in its current state.
    pub(crate) fn release_claim(&self, record: &StateRef) {
        let mut state = self.state();
        state.operated.remove(&record.id);
        state.released.insert(record.id, record.clone());
    }

    /// Returns the records whose claims were released, in their state at that time.
    pub(crate) fn released(&self) -> FxHashMap<StateId, StateRef> {
        self.state().released.clone()
    }

    /// Records that a custom resource publishes outputs, and returns the URN that its record had before this run;
    /// `None` unless it has a record and does so for the first time.
    pub(crate) fn publishes(&self, urn: &Urn) -> Option<Urn> {
        let mut state = self.state();
        let registration = state.registrations.get_mut(urn)?;
        if !registration.custom || !registration.end.is_done || registration.failed || registration.published
        {
            return None;
        }
        registration.published = true;
        Some(state.new_to_old.get(urn).unwrap_or(urn).clone())
    }

    /// Returns whether a URN was claimed.
    pub(crate) fn is_seen(&self, urn: &Urn) -> bool {
        self.state().registrations.contains_key(urn)
    }

    /// Returns the facts of a registration. Searches all registrations: for failed ones only.
    pub(crate) fn registration(&self, urn: &Urn) -> Option<RegistrationInfo> {
        let state = self.state();
        let registration = state.registrations.get(urn)?;
        let mut others = state.registrations.iter();
        let parent = others.find(|(_, other)| other.children.contains(urn));
        Some(RegistrationInfo {
            alias: state.new_to_old.get(urn).cloned(),
            parent: parent.map(|(urn, _)| urn.clone()),
            custom: registration.custom,
        })
    }

    /// Returns the registered URNs, in no order.
    pub(crate) fn seen(&self) -> Vec<Urn> {
        self.state().registrations.keys().cloned().collect()
    }

    /// Returns the recorded URNs of the resources whose registrations failed.
    pub(crate) fn failed(&self) -> Vec<Urn> {
        let state = self.state();
        let failed = state.registrations.iter().filter(|(_, other)| other.failed);
        failed
            .map(|(urn, _)| state.new_to_old.get(urn).unwrap_or(urn).clone())
            .collect()
    }

    /// Returns the current URN of a record: its own, or that of the resource that claimed it.
    pub(crate) fn current_urn(&self, urn: &Urn) -> Urn {
        self.state().current_urn(urn).clone()
    }

    /// Returns whether this run has processed a record.
    pub(crate) fn is_operated(&self, id: StateId) -> bool {
        self.state().operated.contains(&id)
    }

    /// Records that this run replaces `urn`.
    pub(crate) fn mark_replaced(&self, urn: &Urn) {
        self.state().replaced.insert(urn.clone());
    }

    /// Returns whether this run replaces `urn`.
    pub(crate) fn is_replaced(&self, urn: &Urn) -> bool {
        self.state().replaced.contains(urn)
    }

    /// Records that the resource of this state does not exist and is not created in this run.
    pub(crate) fn mark_skipped(&self, state: &Arc<ResourceState>) {
        self.state().skipped.insert(state.urn.clone(), Arc::clone(state));
    }

    /// Returns the state that a resource would have that is not created in this run.
    pub(crate) fn skipped(&self, urn: &Urn) -> Option<Arc<ResourceState>> {
        self.state().skipped.get(urn).cloned()
    }

    /// Returns whether any registered resource is not created in this run.
    pub(crate) fn has_skipped(&self) -> bool {
        !self.state().skipped.is_empty()
    }

    /// Returns whether `urn` was registered and is not created in this run.
    pub(crate) fn is_skipped(&self, urn: &Urn) -> bool {
        self.state().skipped.contains_key(urn)
    }

    /// Records that the registration of `urn` has no record of its own.
    pub(crate) fn mark_unrecorded(&self, urn: &Urn) {
        self.state().unrecorded.insert(urn.clone());
    }

    /// Returns whether the registration of `urn` has ended without a record of its own.
    pub(crate) fn is_unrecorded(&self, urn: &Urn) -> bool {
        self.state().unrecorded.contains(urn)
    }
}

#[cfg(test)]
mod tests;
