//! A table of entries that wait for JavaScript, by number.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// A table of waiting entries. Numbers are 32-bit integers, which JavaScript represents exactly.
pub(crate) struct Pending<T>(Mutex<Table<T>>);

struct Table<T> {
    waiting: HashMap<u32, T>,
    next: u32,
}

impl<T> Default for Pending<T> {
    fn default() -> Self {
        Self(Mutex::new(Table {
            waiting: HashMap::new(),
            next: 0,
        }))
    }
}

impl<T> Pending<T> {
    fn lock(&self) -> MutexGuard<'_, Table<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Inserts an entry and returns its number.
    pub(crate) fn put(&self, entry: T) -> u32 {
        let mut table = self.lock();
        loop {
            let number = table.next;
            table.next = table.next.wrapping_add(1);
            if let std::collections::hash_map::Entry::Vacant(place) = table.waiting.entry(number) {
                place.insert(entry);
                return number;
            }
        }
    }

    /// Removes an entry by a number from JavaScript.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "unknown numbers match no entry"
    )]
    pub(crate) fn take(&self, number: f64) -> Option<T> {
        self.remove(number as u32)
    }

    /// Removes an entry.
    pub(crate) fn remove(&self, number: u32) -> Option<T> {
        self.lock().waiting.remove(&number)
    }

    /// Removes all entries, and returns them.
    pub(crate) fn take_all(&self) -> Vec<T> {
        let waiting = std::mem::take(&mut self.lock().waiting);
        waiting.into_values().collect()
    }
}

impl<T: Clone> Pending<T> {
    /// Returns a copy of an entry.
    pub(crate) fn get(&self, number: u32) -> Option<T> {
        self.lock().waiting.get(&number).cloned()
    }
}
