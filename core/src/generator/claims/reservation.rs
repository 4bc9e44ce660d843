//! Reserving the records that a delete-before-replace may delete, so that their registrations wait.

use super::{Claims, Progress, Taken};
use crate::{state::StateRef, urn::Urn};

impl Taken {
    /// Tells whether a record is as the last run left it: nobody has claimed it, or who did still waits for others.
    fn is_free(&self, record: &StateRef) -> bool {
        let urn = &record.state.urn;
        if record.state.delete {
            // Registrations are about the record in use, and never about an old copy.
            return !self.operated.contains(&record.id);
        }
        if self.deleted.contains_key(urn) {
            return false;
        }
        let current = self.old_to_new.get(urn).unwrap_or(urn);
        let claimed = self.registrations.get(current);
        !self.operated.contains(&record.id)
            || claimed.is_some_and(|progress| !progress.begun && !progress.done)
    }

    /// Returns the first reservation of another's that stands in the way.
    fn reserved_among(&mut self, candidates: &[StateRef]) -> Option<&mut Progress> {
        let other = candidates.iter().find(|candidate| {
            let reserved = self.reserved.get(&candidate.id);
            reserved.is_some_and(|entry| !entry.done) && self.is_free(candidate)
        })?;
        self.reserved.get_mut(&other.id)
    }

    fn reserve(&mut self, candidates: &[StateRef]) -> Vec<StateRef> {
        let mut free = candidates.to_vec();
        free.retain(|candidate| self.is_free(candidate));
        for candidate in &free {
            self.reserved.insert(candidate.id, Progress::default());
        }
        free
    }
}

impl Claims {
    /// Reserves those of `candidates` that this run has not dealt with, so that their registrations wait. While another
    /// has reserved one of them this waits, and holds none: two can never wait for each other.
    pub(crate) async fn reserve(&self, candidates: &[StateRef]) -> Vec<StateRef> {
        loop {
            let turn = {
                let mut taken = self.taken();
                match taken.reserved_among(candidates) {
                    Some(other) => other.turn(),
                    None => return taken.reserve(candidates),
                }
            };
            drop(turn.await);
        }
    }

    /// Ends a reservation: `deleted` holds the keys when the record was deleted, and `None` when it was spared.
    pub(crate) fn release(&self, record: &StateRef, deleted: Option<Vec<String>>) {
        let mut taken = self.taken();
        if let Some(keys) = deleted {
            taken.operated.insert(record.id);
            if !record.state.delete {
                taken.deleted.insert(record.state.urn.clone(), keys);
            }
        }
        if let Some(progress) = taken.reserved.get_mut(&record.id) {
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
                match taken
                    .reserved
                    .get_mut(&record.id)
                    .filter(|progress| !progress.done)
                {
                    None => {
                        if let Some(progress) = taken.registrations.get_mut(urn) {
                            progress.begun = true;
                        }
                        return taken.deleted.get(old).cloned();
                    }
                    Some(progress) => progress.turn(),
                }
            };
            drop(turn.await);
        }
    }

    /// Tells whether a delete-before-replace has deleted a record in use that no registration has taken over since.
    pub(crate) fn is_abandoned(&self, record: &StateRef) -> bool {
        let taken = self.taken();
        let urn = &record.state.urn;
        let current = taken.old_to_new.get(urn).unwrap_or(urn);
        let is_copy = record.state.delete;
        !is_copy && taken.deleted.contains_key(urn) && !taken.registrations.contains_key(current)
    }
}
