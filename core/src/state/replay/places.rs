//! The position of each record: in the base, among the new ones, or removed.

use std::sync::Arc;

use super::JournalReplay;
use crate::state::{StateId, StateMark, StateRef, ciphertext};

/// The position of a record.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// An index in the base.
    Old(usize),
    /// An index among the new and changed ones.
    New(usize),
    /// Removed.
    Gone,
}

impl JournalReplay {
    /// Finds a record. The position of a base record that never moved is its identity.
    pub(super) fn place(&self, id: StateId) -> Option<Place> {
        match self.places.get(&id) {
            Some(Place::Gone) => None,
            Some(place) => Some(*place),
            None => usize::try_from(id.0)
                .ok()
                .filter(|index| *index < self.old.len())
                .map(Place::Old),
        }
    }

    pub(super) fn slot(&self, id: StateId) -> Option<&Option<StateRef>> {
        match self.place(id)? {
            Place::Old(index) => self.old.get(index),
            Place::New(index) => self.new.get(index),
            Place::Gone => None,
        }
    }

    pub(super) fn slot_mut(&mut self, id: StateId) -> Option<&mut Option<StateRef>> {
        match self.place(id)? {
            Place::Old(index) => self.old.get_mut(index),
            Place::New(index) => self.new.get_mut(index),
            Place::Gone => None,
        }
    }

    pub(super) fn remove(&mut self, id: StateId) {
        if let Some(slot) = self.slot_mut(id) {
            *slot = None;
            self.places.insert(id, Place::Gone);
        }
    }

    pub(super) fn put(&mut self, place: Place, record: StateRef) {
        self.next_state = self.next_state.max(record.id.0.saturating_add(1));
        self.places.insert(record.id, place);
        match place {
            Place::Old(index) => self.old[index] = Some(record),
            Place::New(index) if index == self.new.len() => self.new.push(Some(record)),
            Place::New(index) => self.new[index] = Some(record),
            Place::Gone => {}
        }
    }

    pub(super) fn replace(&mut self, record: StateRef) {
        if let Some(slot) = self.slot_mut(record.id) {
            if let Some(old) = slot {
                ciphertext::adopt(&old.state, &record.state);
            }
            *slot = Some(record);
        }
    }

    pub(super) fn mark(&mut self, id: StateId, mark: StateMark) {
        if let Some(Some(record)) = self.slot_mut(id) {
            let state = Arc::make_mut(&mut record.state);
            match mark {
                StateMark::Delete => state.delete = true,
                StateMark::PendingReplacement => state.pending_replacement = true,
            }
        }
    }

    pub(super) fn rebase(&mut self, records: Vec<Option<StateRef>>) {
        for id in self.new.iter().chain(&self.old).flatten().map(|record| record.id) {
            self.places.insert(id, Place::Gone);
        }
        for (index, record) in records.iter().enumerate() {
            if let Some(record) = record {
                self.places.insert(record.id, Place::Old(index));
                self.next_state = self.next_state.max(record.id.0.saturating_add(1));
            }
        }
        // Unused identities below the new length must not be read as positions in the new list.
        for id in 0..records.len() as u64 {
            self.places.entry(StateId(id)).or_insert(Place::Gone);
        }
        self.old = records;
        self.new = Vec::new();
    }
}
