//! The operations that run at present, so that `cancel` ends them instead of removing their locks. Previews have no lock, and several can
//! run on one stack.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use stackwright::operation::Operation;

/// A stack in a store, by the store's URL and the full name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    pub(crate) store: String,
    pub(crate) stack: String,
}

/// The running operations of all invocations of a command.
#[derive(Default)]
pub(crate) struct Running(Mutex<Operations>);

#[derive(Default)]
struct Operations {
    locked: HashMap<Place, Operation>,
    /// The previews, by numbers that are given once.
    previews: HashMap<u64, (Place, Operation)>,
    number: u64,
}

impl Running {
    fn operations(&self) -> MutexGuard<'_, Operations> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an operation, until the returned value is dropped. Of several on one stack, all but the first are refused by its lock,
    /// so that only the first is kept.
    pub(crate) fn add(self: &Arc<Self>, place: Place, operation: &Operation) -> Option<Added> {
        let mut operations = self.operations();
        if operations.locked.contains_key(&place) {
            return None;
        }
        operations.locked.insert(place.clone(), operation.clone());
        drop(operations);
        Some(Added {
            running: Arc::clone(self),
            entry: Entry::Locked(place),
        })
    }

    /// Adds a preview, until the returned value is dropped.
    pub(crate) fn add_preview(self: &Arc<Self>, place: Place, operation: &Operation) -> Added {
        let mut operations = self.operations();
        operations.number += 1;
        let number = operations.number;
        operations.previews.insert(number, (place, operation.clone()));
        drop(operations);
        Added {
            running: Arc::clone(self),
            entry: Entry::Preview(number),
        }
    }

    /// Cancels the operation of a stack, and its previews: running steps complete and are recorded. A second call abandons running calls of
    /// providers. Returns whether an operation holds the lock.
    pub(crate) fn cancel(&self, place: &Place) -> bool {
        let operations = self.operations();
        let locked = operations.locked.get(place).cloned();
        let previews = operations.previews.values().filter(|(of, _)| of == place);
        let cancelled: Vec<Operation> = previews.map(|(_, preview)| preview.clone()).collect();
        drop(operations);
        for operation in locked.iter().chain(&cancelled) {
            operation.cancel();
        }
        locked.is_some()
    }
}

/// Where a running operation is kept.
enum Entry {
    Locked(Place),
    Preview(u64),
}

/// An operation among the running ones, which ends with this value.
pub(crate) struct Added {
    running: Arc<Running>,
    entry: Entry,
}

impl Drop for Added {
    fn drop(&mut self) {
        let mut operations = self.running.operations();
        match &self.entry {
            Entry::Locked(place) => drop(operations.locked.remove(place)),
            Entry::Preview(number) => drop(operations.previews.remove(number)),
        }
    }
}
