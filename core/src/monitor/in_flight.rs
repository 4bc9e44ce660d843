//! The number of requests in flight, for which the end of a run waits.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::sync::Notify;

/// A count that can be awaited to become zero, and that accepts no more once it was.
#[derive(Clone, Default)]
pub(super) struct InFlight(Arc<Count>);

#[derive(Default)]
struct Count {
    /// The number in flight; [`SEALED`] is added when no more are accepted.
    running: AtomicUsize,
    idle: Notify,
}

const SEALED: usize = 1 << (usize::BITS - 1);

/// One request; dropping it ends it.
pub(super) struct Flight(Arc<Count>);

impl InFlight {
    /// Counts one more; `None` when no more are accepted.
    pub(super) fn enter(&self) -> Option<Flight> {
        let one_more = |running: usize| (running & SEALED == 0).then_some(running + 1);
        let entered = self
            .0
            .running
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, one_more);
        entered.is_ok().then(|| Flight(Arc::clone(&self.0)))
    }

    /// Waits until there is none, and accepts no more from that moment.
    pub(super) async fn seal(&self) {
        loop {
            let notified = self.0.idle.notified();
            tokio::pin!(notified);
            // Registered before the count is read, so that no wake-up in between is missed.
            notified.as_mut().enable();
            let sealed = self
                .0
                .running
                .compare_exchange(0, SEALED, Ordering::AcqRel, Ordering::Acquire);
            match sealed {
                Err(running) if running & SEALED == 0 => notified.await,
                _ => return,
            }
        }
    }

    /// Accepts no more, although some may be in flight.
    pub(super) fn seal_now(&self) {
        self.0.running.fetch_or(SEALED, Ordering::AcqRel);
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        if self.0.running.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.idle.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_was_idle_once_takes_nothing_more() {
        let work = InFlight::default();
        let (first, second) = (work.enter().unwrap(), work.enter().unwrap());
        let sealing = tokio::spawn({
            let work = work.clone();
            async move { work.seal().await }
        });
        drop(first);
        tokio::task::yield_now().await;
        assert!(!sealing.is_finished(), "one is still in flight");
        drop(second);
        sealing.await.unwrap();
        assert!(work.enter().is_none());
        work.seal().await;
    }

    #[tokio::test]
    async fn what_is_sealed_at_once_lets_go_what_it_has() {
        let work = InFlight::default();
        let flight = work.enter().unwrap();
        work.seal_now();
        assert!(work.enter().is_none());
        drop(flight);
        work.seal().await;
    }
}
