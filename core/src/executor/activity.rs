//! What a run works on at a time: a call that waits for other resources is given up only when nothing else goes on.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::sync::Notify;

use crate::runtime::Clock;

/// The calls of one run. Cloning is cheap; all clones share them.
#[derive(Clone)]
pub(crate) struct Activity(Arc<Shared>);

struct Shared {
    clock: Arc<dyn Clock>,
    /// The number of calls in progress that wait for no other resource.
    working: AtomicUsize,
    /// The calls in progress that may wait for other resources, by the order of their beginning.
    waiting: Mutex<BTreeSet<u64>>,
    /// The number of beginnings and ends.
    moves: AtomicU64,
    /// The time of the last one in nanoseconds, by the clock.
    moved: AtomicU64,
    /// Wakes those that await the end of calls.
    ended: Notify,
}

/// A call that waits for no other resource; dropping it ends it.
pub(crate) struct Working(Activity);

/// A call that may wait for other resources; dropping it ends it.
pub(crate) struct Waiting {
    activity: Activity,
    number: u64,
}

impl Activity {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(Shared {
            clock,
            working: AtomicUsize::new(0),
            waiting: Mutex::default(),
            moves: AtomicU64::new(0),
            moved: AtomicU64::new(0),
            ended: Notify::new(),
        }))
    }

    /// Records a call that waits for no other resource until the guard is dropped.
    pub(crate) fn working(&self) -> Working {
        self.0.working.fetch_add(1, Ordering::SeqCst);
        self.touch();
        Working(self.clone())
    }

    /// Records a call that may wait for other resources until the guard is dropped.
    pub(crate) fn waiting(&self) -> Waiting {
        let number = self.touch();
        self.calls().insert(number);
        Waiting {
            activity: self.clone(),
            number,
        }
    }

    /// Records that the run has received a request; returns the number of this event.
    pub(crate) fn touch(&self) -> u64 {
        let now = u64::try_from(self.0.clock.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.0.moved.store(now, Ordering::SeqCst);
        self.0.moves.fetch_add(1, Ordering::SeqCst)
    }

    /// Awaits a call that may wait for other resources. `None` after `limit`, in which the time does not count that the run
    /// works on others: calls that wait for no resource are in progress then, or later ones of this kind.
    ///
    /// # Cancel safety
    /// Dropping the future drops the call.
    pub(crate) async fn within<T>(&self, limit: Duration, call: impl Future<Output = T>) -> Option<T> {
        let waiting = self.waiting();
        tokio::select! {
            biased;
            answer = call => Some(answer),
            () = self.still(waiting.number, limit) => None,
        }
    }

    /// Resolves once the run has worked on nothing for `limit`, whichever calls wait for other resources.
    pub(crate) async fn quiet(&self, limit: Duration) {
        self.still(u64::MAX, limit).await;
    }

    /// Resolves once nothing but the call `number` and earlier ones has gone on for `limit`.
    async fn still(&self, number: u64, limit: Duration) {
        let mut remaining = limit;
        loop {
            let ended = self.0.ended.notified();
            tokio::pin!(ended);
            // Registered before the calls are read, so that no end in between is missed.
            ended.as_mut().enable();
            if !self.is_still(number) {
                ended.await;
                remaining = limit;
                continue;
            }
            let moves = self.0.moves.load(Ordering::SeqCst);
            self.0.clock.wait(remaining).await;
            if self.0.moves.load(Ordering::SeqCst) == moves {
                return;
            }
            let moved = Duration::from_nanos(self.0.moved.load(Ordering::SeqCst));
            remaining = limit.saturating_sub(self.0.clock.elapsed().saturating_sub(moved));
        }
    }

    fn is_still(&self, number: u64) -> bool {
        let is_last = self.calls().last().is_none_or(|last| *last <= number);
        is_last && self.0.working.load(Ordering::SeqCst) == 0
    }

    fn calls(&self) -> MutexGuard<'_, BTreeSet<u64>> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.0.touch();
        if self.0.0.working.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.0.ended.notify_waiters();
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.activity.touch();
        self.activity.calls().remove(&self.number);
        self.activity.0.ended.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;
    use crate::runtime::VirtualClock;

    const LIMIT: Duration = Duration::from_secs(60);

    fn fixture() -> (Activity, Arc<dyn Clock>) {
        let clock: Arc<dyn Clock> = VirtualClock::start();
        (Activity::new(Arc::clone(&clock)), clock)
    }

    /// Returns the seconds after which a call that never answers is given up.
    async fn given_up(activity: &Activity, clock: &Arc<dyn Clock>) -> u64 {
        assert_eq!(activity.within(LIMIT, pending::<()>()).await, None);
        clock.elapsed().as_secs()
    }

    #[tokio::test]
    async fn a_call_is_given_up_when_nothing_has_gone_on_for_its_limit() {
        let (activity, clock) = fixture();
        assert_eq!(given_up(&activity, &clock).await, 60);
        assert_eq!(activity.within(LIMIT, async { 7 }).await, Some(7));
    }

    #[tokio::test]
    async fn the_time_of_other_calls_does_not_count() {
        let (activity, clock) = fixture();
        let working = activity.working();
        let others = async {
            clock.wait(Duration::from_secs(500)).await;
            drop(working);
        };
        let (seconds, ()) = tokio::join!(given_up(&activity, &clock), others);
        assert_eq!(seconds, 560);
    }

    #[tokio::test]
    async fn a_request_starts_the_limit_again() {
        let (activity, clock) = fixture();
        let requests = async {
            for _ in 0..3 {
                clock.wait(Duration::from_secs(50)).await;
                activity.touch();
            }
        };
        let (seconds, ()) = tokio::join!(given_up(&activity, &clock), requests);
        assert_eq!(seconds, 210);
    }

    #[tokio::test]
    async fn of_calls_that_wait_for_each_other_the_last_is_given_up_first() {
        let (activity, clock) = fixture();
        let outer = async {
            let inner = async {
                let seconds = given_up(&activity, &clock).await;
                assert_eq!(seconds, 60);
                pending::<()>().await;
            };
            assert_eq!(activity.within(LIMIT, inner).await, None);
        };
        outer.await;
        assert_eq!(clock.elapsed().as_secs(), 120);
    }
}
