//! The gate to the interpreter: it counts the engine's threads that are attached to the interpreter. A closed gate
//! rejects new ones.
//!
//! A thread that is attached while the interpreter ends, or attaches later, would end the process. A process has one
//! interpreter, and so one gate.

use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use pyo3::prelude::*;

/// How long `close_gate` waits for attached threads.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

struct State {
    closed: bool,
    inside: usize,
}

static STATE: Mutex<State> = Mutex::new(State {
    closed: false,
    inside: 0,
});
static LEFT: Condvar = Condvar::new();

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts one attached thread until it is dropped.
struct Inside;

impl Drop for Inside {
    fn drop(&mut self) {
        state().inside -= 1;
        LEFT.notify_all();
    }
}

/// Runs `work` with the interpreter's lock. Returns `None` once the gate is closed.
pub(crate) fn attach<T>(work: impl FnOnce(Python<'_>) -> T) -> Option<T> {
    {
        let mut state = state();
        if state.closed {
            return None;
        }
        state.inside += 1;
    }
    let _inside = Inside;
    Python::try_attach(work)
}

/// Rejects the engine's threads from now on and waits for attached ones. Called when the interpreter ends.
#[pyfunction]
pub(crate) fn close_gate(py: Python<'_>) {
    py.detach(|| {
        let mut state = state();
        state.closed = true;
        let waited = LEFT.wait_timeout_while(state, CLOSE_TIMEOUT, |state| state.inside > 0);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    });
}
