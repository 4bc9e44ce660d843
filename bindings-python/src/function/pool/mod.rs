//! The threads that run a provider's blocking methods: few while the calls are short, more while they wait.
//!
//! A thread that holds the interpreter's lock serves call after call without letting go of it. At most one other
//! thread at a time is on its way to the lock: it gets it as soon as a running method waits for something outside
//! Python, and then wakes the next. So a thousand short calls cost one entry, and a thousand slow ones run at once.
//!
//! The base number of threads shapes bursts, and nothing waits for it: see [`Pool::watch`].

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
    state::{Call, Progress, State, Way, Work},
};
use crate::gate;

/// How long a call waits for the base number of threads before there are more.
const PATIENCE: Duration = Duration::from_millis(100);

/// The queue of calls, and the threads that serve it.
pub(crate) struct Pool {
    state: Mutex<State>,
    called: Condvar,
    /// How many threads there are at once when many calls come.
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

    /// Queues a call, and sees to it that a thread comes for it. Never waits for the interpreter. Whoever drops what
    /// it returns before the call has answered gives the call up.
    pub(crate) fn push(self: &Arc<Self>, work: Work) -> Pending {
        let progress = Arc::new(Progress::default());
        let pending = Pending {
            pool: Arc::clone(self),
            call: Some(Arc::clone(&progress)),
        };
        let way = {
            let mut state = self.state();
            if state.closed {
                return pending;
            }
            state.calls.push_back(Call { work, progress });
            state.find_way(self.base, &self.called)
        };
        self.go(way);
        pending
    }

    /// Goes a way from a thread of the engine, none of which may wait for the interpreter.
    fn go(self: &Arc<Self>, way: Way) {
        match way {
            Way::None => {}
            Way::Start => {
                let pool = Arc::clone(self);
                drop(
                    self.handle
                        .spawn_blocking(move || gate::attach(|py| pool.start(py))),
                );
            }
            Way::Watch => drop(self.handle.spawn(Arc::clone(self).watch())),
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
        let way = self.state().find_way(self.base, &self.called);
        match way {
            Way::Start => self.start(py),
            way => self.go(way),
        }
    }

    /// Lets there be more threads as long as calls wait while all threads are busy: these may wait for those.
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
            tokio::time::sleep(PATIENCE).await;
            let way = {
                let mut state = self.state();
                let working = state.threads - state.lost;
                if state.closed || state.calls.is_empty() {
                    state.watched = false;
                    state.above = state.above.min(working.saturating_sub(self.base));
                    return;
                }
                let more = growth.after(state.taken, state.calls.len());
                // Who is on its way takes the first call, and then summons the next.
                if state.idle == 0 && state.arriving == 0 {
                    state.above = (working + more).saturating_sub(self.base).max(state.above);
                }
                state.find_way(self.base, &self.called)
            };
            self.go(way);
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

/// A call that somebody waits for.
pub(crate) struct Pending {
    pool: Arc<Pool>,
    call: Option<Arc<Progress>>,
}

impl Pending {
    /// Says that the call has answered.
    pub(crate) fn answered(mut self) {
        self.call = None;
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        let Some(call) = self.call.take() else { return };
        let way = {
            let mut state = self.pool.state();
            call.given_up.store(true, Ordering::Relaxed);
            if call.running.load(Ordering::Relaxed) {
                state.lost += 1;
            }
            state.find_way(self.pool.base, &self.pool.called)
        };
        self.pool.go(way);
    }
}
