//! The end of a run as its program sees it.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio_util::sync::CancellationToken;

use crate::monitor::{WireStatus, in_flight::InFlight};

/// The stages of the end of one run.
#[derive(Default)]
pub(super) struct Shutdown {
    /// The program has signalled its end.
    pub(super) signalled: CancellationToken,
    /// Whether a call of [`Self::signal_and_wait`] has given that signal: one of several at the same time does.
    has_signalled: AtomicBool,
    /// All steps are done, deletions included.
    pub(super) finished: CancellationToken,
    /// The monitor has ended.
    pub(super) closed: CancellationToken,
    /// The clients that are still to be notified of a cancellation.
    pub(super) cancellations: InFlight,
}

impl Shutdown {
    /// Signals that the program will register nothing more, and waits until all steps are done.
    pub(super) async fn signal_and_wait(&self) -> Result<(), WireStatus> {
        if self.has_signalled.swap(true, Ordering::Relaxed) {
            return Err(WireStatus::unknown("Already waiting for shutdown"));
        }
        self.signalled.cancel();
        tokio::select! {
            biased;
            () = self.finished.cancelled() => Ok(()),
            () = self.closed.cancelled() => Err(WireStatus::shut_down("waiting for shutdown")),
        }
    }
}
