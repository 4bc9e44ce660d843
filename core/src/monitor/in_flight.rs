//! Counts what is being worked on, so that the end of the program is not taken for the end of the work.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::sync::Notify;

/// A count that can be waited on to become zero.
#[derive(Clone, Default)]
pub(super) struct InFlight(Arc<Count>);

#[derive(Default)]
struct Count {
    running: AtomicUsize,
    idle: Notify,
}

/// One piece of work; dropping it ends it.
pub(super) struct Flight(Arc<Count>);

impl InFlight {
    /// Counts one more.
    pub(super) fn enter(&self) -> Flight {
        self.0.running.fetch_add(1, Ordering::AcqRel);
        Flight(Arc::clone(&self.0))
    }

    /// Resolves when there is none.
    pub(super) async fn idle(&self) {
        loop {
            let notified = self.0.idle.notified();
            tokio::pin!(notified);
            // Registered before the look at the count, so that no wake-up between the two is missed.
            notified.as_mut().enable();
            if self.0.running.load(Ordering::Acquire) == 0 {
                return;
            }
            notified.await;
        }
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        if self.0.running.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.idle.notify_waiters();
        }
    }
}
