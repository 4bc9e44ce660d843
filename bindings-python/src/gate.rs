//! The gate to the interpreter: how threads of the engine come in, and how its end keeps them out.
//!
//! A thread that is inside while the interpreter ends, or comes back into it, would end the process. There is one
//! interpreter in a process, and so one gate.

use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use pyo3::prelude::*;

/// How long the interpreter's end waits for threads that are inside.
const PATIENCE: Duration = Duration::from_secs(1);

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

/// Counts a thread that is inside, until it is dropped.
struct Inside;

impl Drop for Inside {
    fn drop(&mut self) {
        state().inside -= 1;
        LEFT.notify_all();
    }
}

/// Runs `work` with the interpreter's lock; `None` when the interpreter ends.
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

/// Lets no thread of the engine in any more, and waits for those that are inside: for the end of the interpreter.
#[pyfunction]
pub(crate) fn close_gate(py: Python<'_>) {
    py.detach(|| {
        let mut state = state();
        state.closed = true;
        let waited = LEFT.wait_timeout_while(state, PATIENCE, |state| state.inside > 0);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    });
}
