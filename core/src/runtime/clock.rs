//! Time: the wall clock for records, a monotonic one for durations, and waiting.

use std::time::Duration;

use async_trait::async_trait;

/// A point of wall-clock time with nanoseconds, as records and history need it.
pub type Timestamp = jiff::Timestamp;

/// The source of time.
#[async_trait]
pub trait Clock: Send + Sync + 'static {
    /// Returns the wall-clock time.
    fn now(&self) -> Timestamp;

    /// Returns the time since an arbitrary fixed moment; never goes backwards.
    fn elapsed(&self) -> Duration;

    /// Returns the time since the start of the operating system, which all processes of one system share; `None`, as by default,
    /// where it is unknown.
    fn since_boot(&self) -> Option<Duration> {
        None
    }

    /// Waits for `duration`.
    async fn wait(&self, duration: Duration);
}

/// The operating system's clocks.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

#[async_trait]
#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that reads the system's clocks"
)]
impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn elapsed(&self) -> Duration {
        static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
        START.get_or_init(std::time::Instant::now).elapsed()
    }

    fn since_boot(&self) -> Option<Duration> {
        // Time for which the machine slept counts.
        let text = std::fs::read_to_string("/proc/uptime").ok()?;
        let seconds = text.split_ascii_whitespace().next()?.parse().ok()?;
        Duration::try_from_secs_f64(seconds).ok()
    }

    async fn wait(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}
