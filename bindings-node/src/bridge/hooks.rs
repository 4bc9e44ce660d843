//! The hooks of the operations that run, by their names: the package registers a hook that many resources have once.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use stackwright::monitor::RunInfo;

/// The package's numbers of registered hooks, by operation and name. All runs of an operation share its facts.
#[derive(Default)]
pub(crate) struct HookNames(Mutex<Vec<OfOperation>>);

struct OfOperation {
    facts: Arc<RunInfo>,
    numbers: HashMap<String, u32>,
}

impl HookNames {
    fn lock(&self) -> MutexGuard<'_, Vec<OfOperation>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of the hook of this name.
    pub(crate) fn find(&self, facts: &Arc<RunInfo>, name: &str) -> Option<u32> {
        let operations = self.lock();
        let operation = operations.iter().find(|it| Arc::ptr_eq(&it.facts, facts))?;
        operation.numbers.get(name).copied()
    }

    /// Adds a hook; returns whether it is the first one of its operation.
    pub(super) fn add(&self, facts: &Arc<RunInfo>, name: String, number: u32) -> bool {
        let mut operations = self.lock();
        if let Some(operation) = operations.iter_mut().find(|it| Arc::ptr_eq(&it.facts, facts)) {
            operation.numbers.insert(name, number);
            return false;
        }
        operations.push(OfOperation {
            facts: Arc::clone(facts),
            numbers: HashMap::from([(name, number)]),
        });
        true
    }

    /// Drops the hooks of an operation.
    pub(super) fn remove(&self, facts: &Arc<RunInfo>) {
        self.lock().retain(|it| !Arc::ptr_eq(&it.facts, facts));
    }
}
