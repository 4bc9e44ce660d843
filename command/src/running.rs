//! The operations that hold locks at present, so that `cancel` ends them instead of removing these. Previews have no lock.

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
pub(crate) struct Running(Mutex<HashMap<Place, Operation>>);

impl Running {
    fn operations(&self) -> MutexGuard<'_, HashMap<Place, Operation>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an operation, until the returned value is dropped. Of several on one stack, all but the first are refused by its lock,
    /// so that only the first is kept.
    pub(crate) fn add(self: &Arc<Self>, place: Place, operation: &Operation) -> Option<Added> {
        let mut operations = self.operations();
        if operations.contains_key(&place) {
            return None;
        }
        operations.insert(place.clone(), operation.clone());
        drop(operations);
        Some(Added {
            running: Arc::clone(self),
            place,
        })
    }

    /// Cancels the operation of a stack: running steps complete and are recorded. A second call abandons running calls of providers.
    /// Returns whether there is one.
    pub(crate) fn cancel(&self, place: &Place) -> bool {
        let operation = self.operations().get(place).cloned();
        match operation {
            Some(operation) => {
                operation.cancel();
                true
            }
            None => false,
        }
    }
}

/// An operation among the running ones, which ends with this value.
pub(crate) struct Added {
    running: Arc<Running>,
    place: Place,
}

impl Drop for Added {
    fn drop(&mut self) {
        self.running.operations().remove(&self.place);
    }
}
