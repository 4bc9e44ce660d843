//! The threads that run a provider's blocking methods: few while the calls are short, more while they wait.
//!
//! A thread that holds the interpreter's lock serves call after call without releasing it. At most one other thread at
//! a time waits for the lock: it gets it as soon as a running method blocks outside Python, and then wakes the next.
//! So a thousand short calls acquire the lock once, and a thousand slow ones run concurrently.
//!
//! The base number of threads is no hard limit: see [`Pool::watch`].

mod growth;
mod state;
mod worker;

use std::{
    sync::{Arc, Condvar, Mutex, PoisonError, atomic::Ordering},
    time::Duration,
};

use pyo3::prelude::*;
use tokio::runtime::Handle;

pub(crate) use self::worker::Worker;
use self::{
    growth::Growth,
    state::{Call, Dispatch, Progress, State, Work},
};
use crate::gate;

/// The time between two checks of whether queued calls need more threads than the base number.
const GROWTH_INTERVAL: Duration = Duration::from_millis(100);

/// The queue of calls, and the threads that serve it.
pub(crate) struct Pool {
    state: Mutex<State>,
    called: Condvar,
    /// The number of threads that start without delay.
    base: usize,
    handle: Handle,
    /// Starts one more Python thread that calls [`Worker::serve`]; must not block.
    start_thread: Py<PyAny>,
}

impl Pool {
    pub(crate) fn new(base: usize, handle: Handle, start_thread: Py<PyAny>) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::default(),
            called: Condvar::new(),
            base,
            handle,
            start_thread,
        })
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a call and dispatches a thread for it, without waiting for the interpreter. Dropping the result before
    /// the call has answered abandons the call.
    pub(crate) fn push(self: &Arc<Self>, work: Work) -> Pending {
        let progress = Arc::new(Progress::default());
        let pending = Pending {
            pool: Arc::clone(self),
            call: Some(Arc::clone(&progress)),
        };
        let dispatch = {
            let mut state = self.state();
            if state.closed {
                return pending;
            }
            state.calls.push_back(Call { work, progress });
            state.next_dispatch(self.base, &self.called)
        };
        self.dispatch(dispatch);
        pending
    }

    /// Carries out a dispatch from a thread of the engine, without waiting for the interpreter.
    fn dispatch(self: &Arc<Self>, dispatch: Dispatch) {
        match dispatch {
            Dispatch::None => {}
            Dispatch::Start => {
                let pool = Arc::clone(self);
                drop(
                    self.handle
                        .spawn_blocking(move || gate::attach(|py| pool.start(py))),
                );
            }
            Dispatch::Watch => drop(self.handle.spawn(Arc::clone(self).watch())),
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

    /// Dispatches one more thread for the remaining calls; called with the interpreter's lock held.
    fn dispatch_next(self: &Arc<Self>, py: Python<'_>) {
        let dispatch = self.state().next_dispatch(self.base, &self.called);
        match dispatch {
            Dispatch::Start => self.start(py),
            dispatch => self.dispatch(dispatch),
        }
    }

    /// Adds threads while calls wait and all threads are busy, since a running call may depend on a queued one.
    #[expect(
        clippy::disallowed_methods,
        reason = "it measures how long threads of the interpreter take, which no simulation owns"
    )]
    async fn watch(self: Arc<Self>) {
        let mut growth = {
            let state = self.state();
            Growth::new(state.taken, state.calls.len())
        };
        loop {
            tokio::time::sleep(GROWTH_INTERVAL).await;
            let dispatch = {
                let mut state = self.state();
                let working = state.threads - state.lost;
                if state.closed || state.calls.is_empty() {
                    state.watched = false;
                    state.above = state.above.min(working.saturating_sub(self.base));
                    return;
                }
                let more = growth.after(state.taken, state.calls.len());
                // An arriving thread takes the first call and then dispatches the next thread.
                if state.idle == 0 && state.arriving == 0 {
                    state.above = (working + more).saturating_sub(self.base).max(state.above);
                }
                state.next_dispatch(self.base, &self.called)
            };
            self.dispatch(dispatch);
        }
    }

    /// Ends the threads after their current calls; queued calls are dropped.
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

/// A call whose caller waits for the answer.
pub(crate) struct Pending {
    pool: Arc<Pool>,
    call: Option<Arc<Progress>>,
}

impl Pending {
    /// Marks the call as answered.
    pub(crate) fn answered(mut self) {
        self.call = None;
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        let Some(call) = self.call.take() else { return };
        let dispatch = {
            let mut state = self.pool.state();
            call.given_up.store(true, Ordering::Relaxed);
            if call.running.load(Ordering::Relaxed) {
                state.lost += 1;
            }
            state.next_dispatch(self.pool.base, &self.pool.called)
        };
        self.pool.dispatch(dispatch);
    }
}
