//! The handle of a running operation.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use crate::{
    event::{EventSink, EventStream},
    executor::Control,
    operation::{OperationResult, SessionLease},
};

/// A running operation. Dropping the handle does not end it; cloning shares it.
///
/// Its session (the monitor, the loaded providers) ends with it, unless the options hold it: then it ends when it is
/// released, or when the last handle is dropped.
#[derive(Clone)]
pub struct Operation {
    pub(crate) events: EventSink,
    pub(crate) first: Arc<Mutex<Option<EventStream>>>,
    pub(crate) control: Control,
    pub(crate) result: watch::Receiver<Option<Arc<OperationResult>>>,
    pub(crate) session: Arc<SessionLease>,
}

impl Operation {
    /// Returns the events: all of them for the first caller, the later ones for others, and for all callers when the
    /// options do not buffer events ([`crate::operation::OperationOptions::no_events`]).
    #[must_use]
    pub fn events(&self) -> EventStream {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner).take();
        first.unwrap_or_else(|| self.events.subscribe())
    }

    /// Cancels the operation: running steps complete and are recorded. A second call abandons running provider calls.
    pub fn cancel(&self) {
        self.control.cancel();
    }

    /// Waits for the end. Any number of callers may wait.
    pub async fn wait(&self) -> Arc<OperationResult> {
        let mut result = self.result.clone();
        loop {
            if let Some(result) = result.borrow_and_update().clone() {
                return result;
            }
            if result.changed().await.is_err() {
                // The operation's task always stores a result, even when it panics.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Ends the session and waits for its end: pending requests fail with the shutdown of the monitor, and the
    /// providers are released. Waits for the result first. Further calls have no effect.
    pub async fn release(&self) {
        self.session.0.release().await;
    }

    /// Returns whether it has ended, without waiting.
    #[must_use]
    pub fn result(&self) -> Option<Arc<OperationResult>> {
        self.result.borrow().clone()
    }
}
