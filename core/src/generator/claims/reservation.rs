//! Reservations: a delete-before-replace reserves the records that it may delete, so that their registrations wait.

use rustc_hash::FxHashSet;
use tokio::sync::oneshot;

use super::{Claims, End, State};
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
    /// Returns whether a record is unchanged since the last run: unclaimed, or claimed by a registration that still
    /// waits.
    fn is_free(&self, record: &StateRef) -> bool {
        let urn = &record.state.urn;
        if record.state.delete {
            // Registrations claim the record in use, never an old copy.
            return !self.operated.contains(&record.id);
        }
        if self.deleted.contains_key(urn) {
            return false;
        }
        let claimed = self.registrations.get(self.current_urn(urn));
        !self.operated.contains(&record.id)
            || claimed.is_some_and(|registration| !registration.begun && !registration.end.is_done)
    }

    /// Returns the end of the first conflicting reservation by another delete-before-replace.
    fn reserved_among(&mut self, candidates: &[StateRef]) -> Option<&mut End> {
        let other = candidates.iter().find(|candidate| {
            let reserved = self.reserved.get(&candidate.id);
            reserved.is_some_and(|end| !end.is_done) && self.is_free(candidate)
        })?;
        self.reserved.get_mut(&other.id)
    }

    fn reserve(&mut self, candidates: &[StateRef]) -> Vec<StateRef> {
        let mut free = candidates.to_vec();
        free.retain(|candidate| self.is_free(candidate));
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
    /// Reserves the unprocessed records among `candidates`, so that their registrations wait. While another reservation
    /// has one of them, this waits without reserving any: two reservations never wait for each other.
    pub(crate) async fn reserve(&self, candidates: &[StateRef]) -> Result<Reservation<'_>, RunEnded> {
        let reserving = self.unreserved(|state| match state.reserved_among(candidates) {
            Some(other) => Err(other.turn()),
            None => Ok(state.reserve(candidates)),
        });
        Ok(Reservation {
            records: reserving.await?,
            claims: self,
            released: FxHashSet::default(),
        })
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
    /// if a delete-before-replace has deleted the record.
    pub(crate) async fn begin(&self, urn: &Urn, record: &StateRef) -> Result<Option<Vec<String>>, RunEnded> {
        let beginning = self.unreserved(|state| {
            if let Some(end) = state.reserved.get_mut(&record.id).filter(|end| !end.is_done) {
                return Err(end.turn());
            }
            if let Some(registration) = state.registrations.get_mut(urn) {
                registration.begun = true;
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
