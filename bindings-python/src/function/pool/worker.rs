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

/// A lock that took this long was held by a thread that computes: the interpreter takes it away after 5 ms.
const COMPUTING: Duration = Duration::from_millis(4);

/// How long a thread above the base number waits for a call.
const IDLE: Duration = Duration::from_secs(2);

/// What a thread of the pool runs.
#[pyclass(frozen, module = "stackwright._stackwright")]
pub(crate) struct Worker {
    pub(super) pool: Arc<Pool>,
}

#[pymethods]
impl Worker {
    /// Serves calls until the pool is closed, or has threads enough without this one.
    fn serve(&self, py: Python<'_>) {
        let pool = &self.pool;
        // Whether the interpreter's lock had to be taken from a thread that was computing.
        let mut intruding = false;
        let mut arrived = true;
        let mut last: Option<Arc<Progress>> = None;
        loop {
            let call = pool.next(std::mem::take(&mut arrived), last.take());
            let rest = intruding && call.is_some();
            if let Some(call) = call {
                if !intruding {
                    pool.summon(py);
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
            intruding = woken.elapsed() >= COMPUTING;
            arrived = true;
        }
    }
}

impl Pool {
    /// Takes the next call that somebody waits for, for a thread that holds the interpreter's lock.
    fn next(&self, arrived: bool, last: Option<Arc<Progress>>) -> Option<Call> {
        // What nobody waits for is dropped without the lock: that may run code of the host.
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

    /// Waits to be woken for a call and returns when that was; `None` when the thread is to end.
    ///
    /// A thread that should `rest` leaves the calls to the others for a moment: they compute, so that it can only
    /// take turns with them.
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
                let patience = if rest { COMPUTING } else { IDLE };
                let waited = self.called.wait_timeout(state, patience);
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
