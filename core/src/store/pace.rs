//! The least time between two writes of one object: servers of buckets refuse more.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use crate::runtime::Clock;

/// The least time between two writes of an object of a remote store: a limit of Google Cloud Storage.
pub(super) const REWRITE_INTERVAL: Duration = Duration::from_secs(1);

/// Delays writes of objects that were written before.
pub(super) struct Pace {
    clock: Arc<dyn Clock>,
    interval: Duration,
    /// When the last write of each object began, where that is less than the interval ago.
    begun: Mutex<BTreeMap<String, Duration>>,
}

impl Pace {
    pub(super) fn new(clock: Arc<dyn Clock>, interval: Duration) -> Self {
        Self {
            clock,
            interval,
            begun: Mutex::default(),
        }
    }

    /// Waits until an object may be written, and notes that it is.
    pub(super) async fn admit(&self, key: &str) {
        while let Some(wait) = self.delay(key) {
            self.clock.wait(wait).await;
        }
    }

    /// Returns how long a write must wait; `None` when it begins now.
    fn delay(&self, key: &str) -> Option<Duration> {
        let now = self.clock.elapsed();
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        begun.retain(|_, at| *at + self.interval > now);
        match begun.get(key) {
            Some(at) => Some(*at + self.interval - now),
            None => {
                if !self.interval.is_zero() {
                    begun.insert(key.to_owned(), now);
                }
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::VirtualClock;

    #[tokio::test]
    async fn an_object_is_written_once_within_the_interval_and_others_do_not_wait() {
        let clock = VirtualClock::start();
        let pace = Pace::new(Arc::clone(&clock) as _, REWRITE_INTERVAL);
        let begin = clock.elapsed();
        pace.admit("a").await;
        pace.admit("b").await;
        assert_eq!(clock.elapsed(), begin);
        let (pace, clock) = (&pace, &clock);
        let ends = futures::future::join_all((0..3).map(|_| async move {
            pace.admit("a").await;
            clock.elapsed() - begin
        }))
        .await;
        let mut ends = ends;
        ends.sort_unstable();
        assert_eq!(ends, [1, 2, 3].map(|count| REWRITE_INTERVAL * count));
        clock.wait(REWRITE_INTERVAL).await;
        let later = clock.elapsed();
        pace.admit("a").await;
        assert_eq!(clock.elapsed(), later);
        assert_eq!(pace.begun.lock().unwrap().len(), 1, "old ones are forgotten");
    }

    #[tokio::test]
    async fn without_an_interval_nothing_waits() {
        let clock = VirtualClock::start();
        let pace = Pace::new(Arc::clone(&clock) as _, Duration::ZERO);
        let begin = clock.elapsed();
        for _ in 0..3 {
            pace.admit("a").await;
        }
        assert_eq!(clock.elapsed(), begin);
    }
}
