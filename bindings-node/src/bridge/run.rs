//! Runs of programs in JavaScript.

use std::sync::{Mutex, PoisonError};

use stackwright::{monitor::Monitor, program::ProgramContext};
use tokio::sync::oneshot;
use tokio_util::task::TaskTracker;

/// How a program ended.
pub(crate) type Ended = stackwright::Result<()>;

/// A run whose program runs in JavaScript.
pub(crate) struct Run {
    /// Receives the program's calls.
    pub(crate) monitor: Monitor,
    /// The calls that are not answered yet.
    pub(crate) calls: TaskTracker,
    end: Mutex<Option<oneshot::Sender<Ended>>>,
}

impl Run {
    /// Creates a run; `end` receives its result.
    pub(crate) fn new(monitor: Monitor, end: oneshot::Sender<Ended>) -> Self {
        Self {
            monitor,
            calls: TaskTracker::new(),
            end: Mutex::new(Some(end)),
        }
    }

    /// Resolves when the engine has ended the run and all answers have been sent.
    pub(crate) async fn drained(&self, context: &ProgramContext) {
        context.ended().await;
        self.calls.close();
        self.calls.wait().await;
    }

    /// Ends the run; a second call has no effect.
    pub(crate) fn finish(&self, ended: Ended) {
        let end = self.end.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(end) = end {
            // The engine may have dropped the program meanwhile.
            drop(end.send(ended));
        }
    }
}
