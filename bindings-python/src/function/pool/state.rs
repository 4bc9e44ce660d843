//! What a pool knows of its calls and threads, and what gets a call to a thread.

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

/// How far a call has come; both only change under the lock of the state.
#[derive(Default)]
pub(super) struct Progress {
    pub(super) running: AtomicBool,
    pub(super) given_up: AtomicBool,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) calls: VecDeque<Call>,
    /// How many calls have ever left the queue to be run.
    pub(super) taken: u64,
    /// Threads that wait for a call.
    pub(super) idle: usize,
    /// Threads that have been woken and do not hold the interpreter's lock yet.
    pub(super) arriving: usize,
    /// Whether an idle thread has been notified and has not looked yet.
    pub(super) notified: bool,
    /// All threads, also those that are being started.
    pub(super) threads: usize,
    /// Threads whose calls have been given up and run on: nobody can count on them.
    pub(super) lost: usize,
    /// How many threads there may be above the base number.
    pub(super) above: usize,
    /// Whether somebody watches how long the calls wait.
    pub(super) watched: bool,
    pub(super) closed: bool,
}

/// What gets a queued call to a thread.
pub(super) enum Way {
    /// There is a thread on its way, or nothing to do.
    None,
    /// A thread is to be started; it has been counted.
    Start,
    /// All threads are busy: time will tell whether there must be more.
    Watch,
}

impl State {
    pub(super) fn find_way(&mut self, base: usize, called: &Condvar) -> Way {
        if self.arriving > 0 || self.calls.is_empty() || self.closed {
            return Way::None;
        }
        if self.idle > 0 {
            if !self.notified {
                self.notified = true;
                called.notify_one();
            }
            return Way::None;
        }
        if self.threads - self.lost < base + self.above {
            self.arriving += 1;
            self.threads += 1;
            return Way::Start;
        }
        if std::mem::replace(&mut self.watched, true) {
            return Way::None;
        }
        Way::Watch
    }

    /// Notes that a thread has come back from a call.
    pub(super) fn finish(&mut self, last: Option<Arc<Progress>>) {
        let Some(last) = last else { return };
        last.running.store(false, Ordering::Relaxed);
        if last.given_up.load(Ordering::Relaxed) {
            self.lost -= 1;
        }
    }
}
