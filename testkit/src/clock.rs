//! A clock for tests that must not wait.

use std::time::Duration;

use async_trait::async_trait;
use stackwright::runtime::{Clock, SystemClock, Timestamp};

/// The system's clock, on which waits of some lengths end at once: those for which the function returns true.
#[derive(Clone, Copy, Debug)]
pub struct SkippingClock(pub fn(Duration) -> bool);

#[async_trait]
impl Clock for SkippingClock {
    fn now(&self) -> Timestamp {
        SystemClock.now()
    }

    fn elapsed(&self) -> Duration {
        SystemClock.elapsed()
    }

    async fn wait(&self, duration: Duration) {
        if (self.0)(duration) {
            tokio::task::yield_now().await;
        } else {
            SystemClock.wait(duration).await;
        }
    }
}
