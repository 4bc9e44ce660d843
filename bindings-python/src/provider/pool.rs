//! The threads that run a provider's blocking methods: few while the calls are short, more while they wait.
//!
//! A thread that holds the interpreter's lock serves call after call without letting go of it. At most one other
//! thread at a time is on its way to the lock: it gets it as soon as a running method waits for something outside
//! Python, and then wakes the next. So a thousand short calls cost one entry, and a thousand slow ones run at once.

use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, PoisonError},
    time::{Duration, Instant},
};

use pyo3::prelude::*;

use crate::gate;

/// A lock that took this long was held by a thread that computes: the interpreter takes it away after 5 ms.
const COMPUTING: Duration = Duration::from_millis(4);

type Call = Box<dyn FnOnce(Python<'_>) + Send>;

#[derive(Default)]
struct State {
    calls: VecDeque<Call>,
    /// Threads that wait for a call.
    idle: usize,
    /// Threads that have been woken and do not hold the interpreter's lock yet.
    arriving: usize,
    /// Whether an idle thread has been notified and has not looked yet.
    notified: bool,
    /// All threads, also those that are being started.
    threads: usize,
    closed: bool,
}

/// The queue of calls, and the threads that serve it.
pub(crate) struct Pool {
    state: Mutex<State>,
    called: Condvar,
    limit: usize,
    /// Starts one more Python thread that calls [`Worker::serve`]; must not block.
    start_thread: Py<PyAny>,
}

impl Pool {
    pub(crate) fn new(limit: usize, start_thread: Py<PyAny>) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::default(),
            called: Condvar::new(),
            limit,
            start_thread,
        })
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a call, and sees to it that a thread comes for it. Never waits for the interpreter.
    pub(crate) fn push(self: &Arc<Self>, handle: &tokio::runtime::Handle, call: Call) {
        let mut state = self.state();
        if state.closed {
            return;
        }
        state.calls.push_back(call);
        if state.arriving > 0 {
            return;
        }
        if state.idle > 0 {
            self.wake(&mut state);
        } else if state.threads < self.limit {
            state.arriving += 1;
            state.threads += 1;
            drop(state);
            let pool = Arc::clone(self);
            // The start needs the interpreter, for which no thread of the engine may wait.
            drop(handle.spawn_blocking(move || gate::attach(|py| pool.start(py))));
        }
    }

    fn wake(&self, state: &mut State) {
        if !state.notified {
            state.notified = true;
            self.called.notify_one();
        }
    }

    fn start(self: &Arc<Self>, py: Python<'_>) {
        let worker = Worker {
            pool: Arc::clone(self),
        };
        if let Err(error) = self.start_thread.call1(py, (worker,)) {
            error.write_unraisable(py, None);
            let mut state = self.state();
            state.arriving -= 1;
            state.threads -= 1;
        }
    }

    /// Lets one more thread come for the calls that are left; called with the interpreter's lock held.
    fn summon(self: &Arc<Self>, py: Python<'_>) {
        let mut state = self.state();
        if state.arriving > 0 || state.calls.is_empty() || state.closed {
            return;
        }
        if state.idle > 0 {
            self.wake(&mut state);
        } else if state.threads < self.limit {
            state.arriving += 1;
            state.threads += 1;
            drop(state);
            self.start(py);
        }
    }

    /// Ends the threads once they are done with what they run; queued calls are given up.
    pub(crate) fn close(&self) {
        let calls = {
            let mut state = self.state();
            state.closed = true;
            std::mem::take(&mut state.calls)
        };
        self.called.notify_all();
        drop(calls);
    }
}

/// What a thread of the pool runs.
#[pyclass(frozen, module = "stackwright._stackwright")]
pub(crate) struct Worker {
    pool: Arc<Pool>,
}

#[pymethods]
impl Worker {
    /// Serves calls until the pool is closed.
    fn serve(&self, py: Python<'_>) {
        let pool = &self.pool;
        // Whether the interpreter's lock had to be taken from a thread that was computing.
        let mut intruding = false;
        let mut arrived = true;
        loop {
            let call = {
                let mut state = pool.state();
                if arrived {
                    state.arriving = state.arriving.saturating_sub(1);
                    arrived = false;
                }
                state.calls.pop_front()
            };
            let rest = intruding && call.is_some();
            if let Some(call) = call {
                if !intruding {
                    pool.summon(py);
                }
                call(py);
                if !rest {
                    continue;
                }
            }
            let Some(woken) = py.detach(|| pool.wait(rest)) else {
                return;
            };
            intruding = woken.elapsed() >= COMPUTING;
            arrived = true;
        }
    }
}

impl Pool {
    /// Waits to be woken for a call and returns when that was; `None` when the pool is closed.
    ///
    /// A thread that should `rest` leaves the calls to the others for a moment: they compute, so that it can only
    /// take turns with them.
    fn wait(&self, mut rest: bool) -> Option<Instant> {
        let mut state = self.state();
        state.idle += 1;
        loop {
            if state.closed {
                state.idle -= 1;
                state.threads -= 1;
                return None;
            }
            if !rest && !state.calls.is_empty() && state.arriving == 0 {
                state.arriving += 1;
                state.idle -= 1;
                return Some(now());
            }
            if rest {
                let waited = self.called.wait_timeout(state, COMPUTING);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
                rest = false;
            } else {
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
