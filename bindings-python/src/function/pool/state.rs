//! The calls and threads of a pool, and the decision whether a queued call needs another thread.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Condvar,
        atomic::{AtomicBool, Ordering},
    },
};

use pyo3::prelude::*;

pub(super) type Work = Box<dyn FnOnce(Python<'_>) + Send>;

/// A call in the queue or on a thread.
pub(super) struct Call {
    pub(super) work: Work,
    pub(super) progress: Arc<Progress>,
}

/// The progress of a call; both flags only change under the lock of the state.
#[derive(Default)]
pub(super) struct Progress {
    pub(super) running: AtomicBool,
    pub(super) given_up: AtomicBool,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) calls: VecDeque<Call>,
    /// The number of calls that have left the queue so far.
    pub(super) taken: u64,
    /// Threads that wait for a call.
    pub(super) idle: usize,
    /// Threads that have been woken and do not hold the interpreter's lock yet.
    pub(super) arriving: usize,
    /// Whether an idle thread has been notified and has not woken yet.
    pub(super) notified: bool,
    /// All threads, including those that are starting.
    pub(super) threads: usize,
    /// Threads that still run an abandoned call, and so are not available.
    pub(super) lost: usize,
    /// The number of threads allowed above the base number.
    pub(super) above: usize,
    /// Whether a `Pool::watch` task runs.
    pub(super) watched: bool,
    pub(super) closed: bool,
}

/// How a queued call gets a thread.
pub(super) enum Dispatch {
    /// A thread is arriving already, or there is nothing to do.
    None,
    /// A thread has to be started; the counters include it.
    Start,
    /// All threads are busy: `Pool::watch` has to run.
    Watch,
}

impl State {
    pub(super) fn next_dispatch(&mut self, base: usize, called: &Condvar) -> Dispatch {
        if self.arriving > 0 || self.calls.is_empty() || self.closed {
            return Dispatch::None;
        }
        if self.idle > 0 {
            if !self.notified {
                self.notified = true;
                called.notify_one();
            }
            return Dispatch::None;
        }
        if self.threads - self.lost < base + self.above {
            self.arriving += 1;
            self.threads += 1;
            return Dispatch::Start;
        }
        if std::mem::replace(&mut self.watched, true) {
            return Dispatch::None;
        }
        Dispatch::Watch
    }

    /// Records that a thread has finished a call.
    pub(super) fn finish(&mut self, last: Option<Arc<Progress>>) {
        let Some(last) = last else { return };
        last.running.store(false, Ordering::Relaxed);
        if last.given_up.load(Ordering::Relaxed) {
            self.lost -= 1;
        }
    }
}
