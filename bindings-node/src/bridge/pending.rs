//! Things that wait for an answer from JavaScript, by number.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// A table of waiting things. Numbers are small and whole, so that JavaScript can hold them.
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

    /// Keeps a thing and returns its number.
    pub(crate) fn put(&self, thing: T) -> u32 {
        let mut table = self.lock();
        loop {
            let number = table.next;
            table.next = table.next.wrapping_add(1);
            if let std::collections::hash_map::Entry::Vacant(place) = table.waiting.entry(number) {
                place.insert(thing);
                return number;
            }
        }
    }

    /// Takes a thing out by the number that JavaScript gave.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a number that was never given out finds nothing"
    )]
    pub(crate) fn take(&self, number: f64) -> Option<T> {
        self.remove(number as u32)
    }

    /// Takes a thing out.
    pub(crate) fn remove(&self, number: u32) -> Option<T> {
        self.lock().waiting.remove(&number)
    }

    /// Drops all that waits.
    pub(crate) fn clear(&self) {
        let waiting = std::mem::take(&mut self.lock().waiting);
        drop(waiting);
    }
}

impl<T: Clone> Pending<T> {
    /// Returns a thing and leaves it there.
    pub(crate) fn get(&self, number: u32) -> Option<T> {
        self.lock().waiting.get(&number).cloned()
    }
}
