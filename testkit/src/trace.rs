//! The trace: the labels of an operation in order, for waits and for checks.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::sync::watch;

use crate::wait::at_most;

/// The label of a quiet period; a rule that waits for it makes a call slow.
pub const QUIET: &str = "quiet";

/// The length of a quiet period. Longer than an engine takes from the end of one call to the begin of the next.
const QUIET_PERIOD: Duration = Duration::from_secs(1);

/// What has happened, as labels in order: `create a` when a call begins, `create a done` when it has been answered,
/// `issued a` and `registered a` around a registration, `cancel 1` after the first cancellation.
#[derive(Debug)]
pub struct Trace {
    labels: Mutex<Vec<String>>,
    length: watch::Sender<usize>,
    /// The number of quiet periods that were waited for.
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
    /// Appends a label and returns its index.
    pub fn note(&self, label: impl Into<String>) -> usize {
        let mut labels = self.labels.lock().unwrap_or_else(PoisonError::into_inner);
        labels.push(label.into());
        let length = labels.len();
        drop(labels);
        self.length.send_replace(length);
        length - 1
    }

    /// Waits until `label` has occurred; for [`QUIET`], until no label has occurred for `QUIET_PERIOD`.
    ///
    /// # Errors
    /// A text that names the label and those that have occurred, after `limit`.
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
        if at_most(limit, wait).await.is_some() {
            return Ok(());
        }
        Err(format!(
            "gave up waiting for `{label}`; so far: {}",
            self.labels().join(", ")
        ))
    }

    /// Waits for a quiet period; all waits end together.
    async fn quiet(&self) {
        let (mut length, mut quiets) = (self.length.subscribe(), self.quiets.subscribe());
        loop {
            tokio::select! {
                biased;
                _ = quiets.changed() => return,
                changed = at_most(QUIET_PERIOD, length.changed()) => {
                    if changed.is_none() {
                        self.quiets.send_modify(|quiets| *quiets += 1);
                        return;
                    }
                }
            }
        }
    }

    /// Returns whether `label` has occurred.
    pub fn has(&self, label: &str) -> bool {
        let labels = self.labels.lock().unwrap_or_else(PoisonError::into_inner);
        labels.iter().any(|happened| happened == label)
    }

    /// Returns all labels.
    pub fn labels(&self) -> Vec<String> {
        self.labels.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
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
                at_most(Duration::from_millis(500), std::future::pending::<()>())
                    .await
                    .is_none()
            );
            trace.note("create a");
        };
        let (waited, ()) = futures::join!(trace.wait_for(QUIET, Duration::from_secs(60)), later);
        waited.unwrap();
        assert!(began.elapsed() >= Duration::from_millis(1500));
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
    async fn a_wait_in_vain_lists_the_labels() {
        let trace = Trace::default();
        trace.note("create a");
        let error = trace.wait_for("create b", Duration::ZERO).await.unwrap_err();
        assert_eq!(error, "gave up waiting for `create b`; so far: create a");
    }
}
