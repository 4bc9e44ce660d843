//! The hooks that programs have registered, by run.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use pyo3::prelude::*;
use stackwright::monitor::Monitor;
use tokio::runtime::Handle;

/// The hooks that the programs of an engine have registered, by run: one object is registered once in a run.
#[derive(Default)]
pub(crate) struct RegisteredHooks(Mutex<Vec<HooksOfRun>>);

/// The hooks of one run by name, each with the object that it was made from.
struct HooksOfRun {
    /// The address of the facts of the run, which it keeps.
    run: usize,
    objects: BTreeMap<String, Py<PyAny>>,
}

fn key(monitor: &Monitor) -> usize {
    Arc::as_ptr(monitor.run_info()).addr()
}

impl RegisteredHooks {
    /// Returns the object that is registered under a name in a run.
    pub(crate) fn get(&self, py: Python<'_>, monitor: &Monitor, name: &str) -> Option<Py<PyAny>> {
        let run = key(monitor);
        let runs = self.runs();
        let found = runs.iter().find(|hooks| hooks.run == run)?;
        found.objects.get(name).map(|object| object.clone_ref(py))
    }

    /// Notes a registered object until the end of the run.
    pub(crate) fn insert(
        self: &Arc<Self>,
        monitor: &Monitor,
        handle: &Handle,
        name: &str,
        object: Py<PyAny>,
    ) {
        let run = key(monitor);
        let mut runs = self.runs();
        if let Some(hooks) = runs.iter_mut().find(|hooks| hooks.run == run) {
            hooks.objects.insert(name.to_owned(), object);
            return;
        }
        runs.push(HooksOfRun {
            run,
            objects: BTreeMap::from([(name.to_owned(), object)]),
        });
        drop(runs);
        // The monitor keeps the facts of the run, so that their address is no other's.
        let (hooks, monitor) = (Arc::clone(self), monitor.clone());
        drop(handle.spawn(async move {
            monitor.closed().await;
            hooks.forget(&monitor);
        }));
    }

    fn forget(&self, monitor: &Monitor) {
        let run = key(monitor);
        let mut runs = self.runs();
        let position = runs.iter().position(|hooks| hooks.run == run);
        let forgotten = position.map(|position| runs.swap_remove(position));
        drop(runs);
        // To drop the objects may run code of the host.
        drop(forgotten);
    }

    fn runs(&self) -> MutexGuard<'_, Vec<HooksOfRun>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
