//! The trace: what has happened during an operation, in order, for those who wait for it and those who judge it.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::sync::watch;

/// The label that stands for a while in which nothing happens: what waits for it is a slow call.
pub const QUIET: &str = "quiet";

/// How long such a while is. Longer than an engine may take from one call's end to the next call's beginning.
const QUIET_PERIOD: Duration = Duration::from_secs(1);

/// What has happened, as labels in order: `create a` when a call begins, `create a done` when it has been answered,
/// `issued a` and `registered a` around a registration, `cancel 1` after the first cancellation.
#[derive(Debug)]
pub struct Trace {
    labels: Mutex<Vec<String>>,
    length: watch::Sender<usize>,
    /// How often it has been quiet while something waited for that.
    quiets: watch::Sender<usize>,
}

impl Default for Trace {
    fn default() -> Self {
        Self {
            labels: Mutex::default(),
            length: watch::Sender::new(0),
            quiets: watch::Sender::new(0),
        }
    }
}

impl Trace {
    /// Notes that something has happened and returns its place.
    pub fn note(&self, label: impl Into<String>) -> usize {
        let mut labels = self.labels.lock().unwrap_or_else(PoisonError::into_inner);
        labels.push(label.into());
        let length = labels.len();
        drop(labels);
        self.length.send_replace(length);
        length - 1
    }

    /// Waits until `label` has happened; for [`QUIET`], until nothing has happened for a while.
    ///
    /// # Errors
    /// A text that says what was waited for and what has happened instead, after `limit`.
    pub async fn wait_for(&self, label: &str, limit: Duration) -> Result<(), String> {
        let mut length = self.length.subscribe();
        let wait = async {
            if label == QUIET {
                return self.quiet().await;
            }
            while !self.has(label) {
                if length.changed().await.is_err() {
                    break;
                }
            }
        };
        if within(limit, wait).await.is_some() {
            return Ok(());
        }
        Err(format!(
            "gave up waiting for `{label}`; so far: {}",
            self.labels().join(", ")
        ))
    }

    /// Waits until nothing has happened for a while; all that wait for it go on together.
    async fn quiet(&self) {
        let (mut length, mut quiets) = (self.length.subscribe(), self.quiets.subscribe());
        loop {
            tokio::select! {
                biased;
                _ = quiets.changed() => return,
                changed = within(QUIET_PERIOD, length.changed()) => {
                    if changed.is_none() {
                        self.quiets.send_modify(|quiets| *quiets += 1);
                        return;
                    }
                }
            }
        }
    }

    /// Tells whether `label` has happened.
    pub fn has(&self, label: &str) -> bool {
        let labels = self.labels.lock().unwrap_or_else(PoisonError::into_inner);
        labels.iter().any(|happened| happened == label)
    }

    /// Returns all that has happened.
    pub fn labels(&self) -> Vec<String> {
        self.labels.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Waits for `future` no longer than `limit`.
#[expect(
    clippy::disallowed_methods,
    reason = "the engine's clock is part of what is tested here"
)]
pub async fn within<T>(limit: Duration, future: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(limit, future).await.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_wait_ends_when_its_label_happens_before_or_after_it_began() {
        let trace = Trace::default();
        trace.note("a");
        trace.wait_for("a", Duration::ZERO).await.unwrap();
        let later = async { trace.note("b") };
        let (waited, _) = futures::join!(trace.wait_for("b", Duration::from_secs(60)), later);
        waited.unwrap();
    }

    #[tokio::test]
    async fn a_wait_for_quiet_begins_anew_when_something_happens() {
        let trace = Trace::default();
        let began = tokio::time::Instant::now();
        let later = async {
            assert!(
                within(Duration::from_millis(900), std::future::pending::<()>())
                    .await
                    .is_none()
            );
            trace.note("create a");
        };
        let (waited, ()) = futures::join!(trace.wait_for(QUIET, Duration::from_secs(60)), later);
        waited.unwrap();
        assert!(began.elapsed() >= Duration::from_millis(1900));
    }

    #[tokio::test]
    async fn all_that_wait_for_quiet_go_on_together() {
        let trace = Trace::default();
        let call = |label: &'static str| {
            let trace = &trace;
            async move {
                trace.wait_for(QUIET, Duration::from_secs(60)).await.unwrap();
                trace.note(label);
            }
        };
        futures::join!(call("a done"), call("b done"), call("c done"));
        assert_eq!(*trace.quiets.borrow(), 1);
    }

    #[tokio::test]
    async fn a_wait_in_vain_says_what_has_happened() {
        let trace = Trace::default();
        trace.note("create a");
        let error = trace.wait_for("create b", Duration::ZERO).await.unwrap_err();
        assert_eq!(error, "gave up waiting for `create b`; so far: create a");
    }
}
