//! Runs of programs in JavaScript.

use std::sync::{Mutex, PoisonError};

use stackwright::{monitor::Monitor, program::ProgramContext};
use tokio::sync::oneshot;
use tokio_util::task::TaskTracker;

/// How a program ended.
pub(crate) type Ended = stackwright::Result<()>;

/// A run that JavaScript has in hand.
pub(crate) struct Run {
    /// Where its resources go.
    pub(crate) monitor: Monitor,
    /// The calls whose answers are on their way.
    pub(crate) calls: TaskTracker,
    end: Mutex<Option<oneshot::Sender<Ended>>>,
}

impl Run {
    /// Creates a run; `end` hears how it ended.
    pub(crate) fn new(monitor: Monitor, end: oneshot::Sender<Ended>) -> Self {
        Self {
            monitor,
            calls: TaskTracker::new(),
            end: Mutex::new(Some(end)),
        }
    }

    /// Resolves when the engine wants no more of the run, and what it has answered has been sent.
    pub(crate) async fn over(&self, context: &ProgramContext) {
        context.ended().await;
        self.calls.close();
        self.calls.wait().await;
    }

    /// Ends the run; a second time does nothing.
    pub(crate) fn finish(&self, ended: Ended) {
        let end = self.end.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(end) = end {
            // The engine may have given the program up meanwhile.
            drop(end.send(ended));
        }
    }
}
