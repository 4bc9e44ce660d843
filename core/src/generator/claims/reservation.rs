//! Reservations: a delete-before-replace reserves the records that it may delete, so that their registrations wait. It waits
//! for the registrations that have begun: what they leave may still depend on what is deleted.

use rustc_hash::FxHashSet;
use tokio::sync::oneshot;

use super::{Claims, End, State, WaitError};
use crate::{
    generator::RunEnded,
    state::{StateId, StateRef},
    urn::Urn,
};

/// Records reserved by one delete-before-replace. Dropping it releases the remaining ones as not deleted.
pub(crate) struct Reservation<'a> {
    claims: &'a Claims,
    records: Vec<StateRef>,
    released: FxHashSet<StateId>,
}

/// The outcome of an attempt to reserve records.
enum Attempt {
    Reserved(Vec<StateRef>),
    /// This registration of one of the records is in progress.
    InProgress(Urn),
}

impl Reservation<'_> {
    /// Returns the reserved records in the order of reservation.
    pub(crate) fn records(&self) -> &[StateRef] {
        &self.records
    }

    /// Ends the reservation of one record: `deleted` contains the replaced properties when the record was deleted, and
    /// is `None` when it stays.
    pub(crate) fn release(&mut self, record: &StateRef, deleted: Option<Vec<String>>) {
        if self.released.insert(record.id) {
            self.claims.state().release(record, deleted);
        }
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        let mut state = self.claims.state();
        for record in &self.records {
            if !self.released.contains(&record.id) {
                state.release(record, None);
            }
        }
    }
}

impl State {
    /// Returns whether a record still is what the last run has left, or an old copy that waits for its deletion. A record
    /// in use is so while it is unclaimed, while its registration waits, and when that has failed.
    fn is_free(&self, record: &StateRef, is_copy: &impl Fn(StateId) -> bool) -> bool {
        let urn = &record.state.urn;
        if record.state.delete {
            // Registrations claim the record in use, never an old copy. They have claimed the one that they replaced.
            let is_replaced = is_copy(record.id) && !self.adopted.contains(&record.id);
            return is_replaced || !self.operated.contains(&record.id);
        }
        if self.deleted.contains_key(urn) {
            return false;
        }
        let claimed = self.registrations.get(self.current_urn(urn));
        !self.operated.contains(&record.id)
            || claimed.is_some_and(|registration| match registration.end.is_done {
                true => registration.failed,
                false => !registration.begun,
            })
    }

    /// Returns the first registration in progress of one of the records, except `passed` and those whose calls may wait for a
    /// later registration, which could be the one that reserves.
    fn in_progress_among(&self, candidates: &[StateRef], passed: &[Urn]) -> Option<Urn> {
        let in_use = candidates.iter().filter(|candidate| !candidate.state.delete);
        let mut urns = in_use.map(|candidate| self.current_urn(&candidate.state.urn));
        let found = urns.find(|urn| {
            let registration = self.registrations.get(*urn);
            registration.is_some_and(|it| it.begun && !it.may_wait && !it.end.is_done)
                && !passed.contains(urn)
        });
        found.cloned()
    }

    /// Returns the end of the first conflicting reservation by another delete-before-replace.
    fn reserved_among(&mut self, free: &[StateRef]) -> Option<&mut End> {
        let is_reserved = |id: &StateId| self.reserved.get(id).is_some_and(|end| !end.is_done);
        let other = free.iter().find(|candidate| is_reserved(&candidate.id))?;
        self.reserved.get_mut(&other.id)
    }

    fn reserve(&mut self, free: Vec<StateRef>) -> Vec<StateRef> {
        for candidate in &free {
            self.reserved.insert(candidate.id, End::default());
        }
        free
    }

    fn release(&mut self, record: &StateRef, deleted: Option<Vec<String>>) {
        if let Some(keys) = deleted {
            self.operated.insert(record.id);
            if !record.state.delete {
                self.deleted.insert(record.state.urn.clone(), keys);
            }
        }
        if let Some(end) = self.reserved.get_mut(&record.id) {
            end.finish();
        }
    }
}

impl Claims {
    /// Reserves, for the registration of `urn`, the unprocessed records and the old copies among what `find` returns, so that
    /// their registrations wait. `is_copy` returns whether this run has left an old copy of a record.
    ///
    /// While another reservation has one of them, this waits without reserving any: two reservations never wait for each
    /// other. It also waits for the registrations in progress of these records, except for those that wait for this one, or
    /// whose calls may.
    pub(crate) async fn reserve(
        &self,
        urn: &Urn,
        find: impl Fn() -> Vec<StateRef>,
        is_copy: impl Fn(StateId) -> bool,
    ) -> Result<Reservation<'_>, RunEnded> {
        let mut passed = vec![urn.clone()];
        loop {
            let reserving = self.unreserved(|state| {
                let mut candidates = find();
                if let Some(other) = state.in_progress_among(&candidates, &passed) {
                    return Ok(Attempt::InProgress(other));
                }
                candidates.retain(|candidate| state.is_free(candidate, &is_copy));
                match state.reserved_among(&candidates) {
                    Some(other) => Err(other.turn()),
                    None => Ok(Attempt::Reserved(state.reserve(candidates))),
                }
            });
            match reserving.await? {
                Attempt::Reserved(records) => {
                    return Ok(Reservation {
                        records,
                        claims: self,
                        released: FxHashSet::default(),
                    });
                }
                Attempt::InProgress(other) => match self.wait_for(urn, vec![other.clone()]).await {
                    Ok(()) | Err(WaitError::Failed(_) | WaitError::Withdrawn(_)) => {}
                    Err(WaitError::Cycle(_)) => passed.push(other),
                    Err(WaitError::RunEnded) => return Err(RunEnded),
                },
            }
        }
    }

    /// Returns whether the registration that has claimed a record in use has failed.
    pub(crate) fn has_failed(&self, record: &StateRef) -> bool {
        let state = self.state();
        let registration = state.registrations.get(state.current_urn(&record.state.urn));
        !record.state.delete && registration.is_some_and(|registration| registration.failed)
    }

    /// Repeats `attempt`, which returns the end of a conflicting reservation.
    async fn unreserved<T>(
        &self,
        mut attempt: impl FnMut(&mut State) -> Result<T, oneshot::Receiver<()>>,
    ) -> Result<T, RunEnded> {
        loop {
            let attempted = attempt(&mut self.state());
            match attempted {
                Ok(found) => return Ok(found),
                Err(turn) => self.turn(turn).await?,
            }
        }
    }

    /// Lets the registration of `urn` begin with its record once that is not reserved. Returns the replaced properties
    /// if a delete-before-replace has deleted the record. `may_wait`: calls of its provider may wait for later registrations.
    pub(crate) async fn begin(
        &self,
        urn: &Urn,
        record: &StateRef,
        may_wait: bool,
    ) -> Result<Option<Vec<String>>, RunEnded> {
        let beginning = self.unreserved(|state| {
            if let Some(end) = state.reserved.get_mut(&record.id).filter(|end| !end.is_done) {
                return Err(end.turn());
            }
            if let Some(registration) = state.registrations.get_mut(urn) {
                registration.begun = true;
                registration.may_wait = may_wait;
            }
            Ok(state.deleted.get(&record.state.urn).cloned())
        });
        beginning.await
    }

    /// Returns whether a delete-before-replace has deleted a record in use that no registration has claimed since.
    pub(crate) fn is_abandoned(&self, record: &StateRef) -> bool {
        let state = self.state();
        let urn = &record.state.urn;
        !record.state.delete
            && state.deleted.contains_key(urn)
            && !state.registrations.contains_key(state.current_urn(urn))
    }
}
