//! A thread of a pool: it serves call after call, and waits for more while it is needed.

use std::{
    sync::{Arc, PoisonError, atomic::Ordering},
    time::{Duration, Instant},
};

use pyo3::prelude::*;

use super::{
    Pool,
    state::{Call, Progress},
};

/// A longer wait for the interpreter's lock means that another thread computes: the interpreter switches after 5 ms.
const CONTENTION_THRESHOLD: Duration = Duration::from_millis(4);

/// How long a thread above the base number waits for a call.
const IDLE_TIMEOUT: Duration = Duration::from_secs(2);

/// The body of a thread of the pool.
#[pyclass(frozen, module = "stackwright._stackwright")]
pub(crate) struct Worker {
    pub(super) pool: Arc<Pool>,
}

#[pymethods]
impl Worker {
    /// Serves calls until the pool is closed or no longer needs this thread.
    fn serve(&self, py: Python<'_>) {
        let pool = &self.pool;
        // Whether the interpreter's lock was taken from a computing thread.
        let mut intruding = false;
        let mut arrived = true;
        let mut last: Option<Arc<Progress>> = None;
        loop {
            let call = pool.next(std::mem::take(&mut arrived), last.take());
            let rest = intruding && call.is_some();
            if let Some(call) = call {
                if !intruding {
                    pool.dispatch_next(py);
                }
                (call.work)(py);
                last = Some(call.progress);
                if !rest {
                    continue;
                }
            }
            let Some(woken) = py.detach(|| pool.wait(rest, last.take())) else {
                return;
            };
            intruding = woken.elapsed() >= CONTENTION_THRESHOLD;
            arrived = true;
        }
    }
}

impl Pool {
    /// Takes the next call that is not abandoned, for a thread that holds the interpreter's lock.
    fn next(&self, arrived: bool, last: Option<Arc<Progress>>) -> Option<Call> {
        // Abandoned calls are dropped after the state's lock is released: that may run code of the host.
        let mut abandoned = Vec::new();
        let mut state = self.state();
        if arrived {
            state.arriving = state.arriving.saturating_sub(1);
        }
        state.finish(last);
        loop {
            let call = state.calls.pop_front()?;
            state.taken += 1;
            if !call.progress.given_up.load(Ordering::Relaxed) {
                call.progress.running.store(true, Ordering::Relaxed);
                return Some(call);
            }
            abandoned.push(call);
        }
    }

    /// Waits for a call and returns the time of waking. Returns `None` when the thread has to end.
    ///
    /// A thread with `rest` first leaves the calls to the others for [`CONTENTION_THRESHOLD`]: they compute, so it
    /// would only compete for the lock.
    fn wait(&self, mut rest: bool, last: Option<Arc<Progress>>) -> Option<Instant> {
        let mut state = self.state();
        state.finish(last);
        state.idle += 1;
        let mut waited_long = false;
        loop {
            let spare = state.threads - state.lost > self.base;
            if state.closed || (waited_long && spare && state.calls.is_empty()) {
                state.idle -= 1;
                state.threads -= 1;
                state.above = state
                    .above
                    .min((state.threads - state.lost).saturating_sub(self.base));
                return None;
            }
            if !rest && !state.calls.is_empty() && state.arriving == 0 {
                state.arriving += 1;
                state.idle -= 1;
                return Some(now());
            }
            if rest || spare {
                let limit = if rest { CONTENTION_THRESHOLD } else { IDLE_TIMEOUT };
                let waited = self.called.wait_timeout(state, limit);
                let (woken, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
                state = woken;
                waited_long = !rest && timeout.timed_out();
                rest = false;
            } else {
                waited_long = false;
                state = self.called.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            state.notified = false;
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "it measures how long the interpreter's lock took, which no simulation owns"
)]
fn now() -> Instant {
    Instant::now()
}
