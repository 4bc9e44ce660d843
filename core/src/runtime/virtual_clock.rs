//! A clock for tests, which only moves when every task waits.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use tokio::sync::oneshot;

use super::{Clock, Timestamp};

/// Number of turns of every other task before all tasks count as waiting.
const IDLE_TURNS: usize = 64;

/// A clock that advances to the next deadline when every task waits.
#[derive(Default)]
pub(crate) struct VirtualClock(Mutex<Deadlines>);

#[derive(Default)]
struct Deadlines {
    now: Duration,
    number: usize,
    waiting: BTreeMap<(Duration, usize), oneshot::Sender<()>>,
}

impl VirtualClock {
    /// Starts a clock, which advances until it is dropped.
    pub(crate) fn start() -> Arc<Self> {
        let clock = Arc::new(Self::default());
        let weak = Arc::downgrade(&clock);
        drop(tokio::spawn(async move {
            while weak.strong_count() > 0 {
                for _ in 0..IDLE_TURNS {
                    tokio::task::yield_now().await;
                }
                if let Some(clock) = weak.upgrade() {
                    clock.advance();
                }
            }
        }));
        clock
    }

    fn advance(&self) {
        let mut deadlines = self.0.lock().unwrap();
        deadlines.waiting.retain(|_, waiter| !waiter.is_closed());
        if let Some(((deadline, _), waiter)) = deadlines.waiting.pop_first() {
            deadlines.now = deadline;
            waiter.send(()).unwrap();
        }
    }
}

#[async_trait]
impl Clock for VirtualClock {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn elapsed(&self) -> Duration {
        self.0.lock().unwrap().now
    }

    fn since_boot(&self) -> Option<Duration> {
        Some(self.elapsed())
    }

    async fn wait(&self, duration: Duration) {
        let (waiter, reached) = oneshot::channel();
        {
            let mut deadlines = self.0.lock().unwrap();
            deadlines.number += 1;
            let place = (deadlines.now + duration, deadlines.number);
            deadlines.waiting.insert(place, waiter);
        }
        reached.await.unwrap();
    }
}
