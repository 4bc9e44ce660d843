//! Why requests fail.

use crate::{generator::RunEnded, monitor::WireStatus};

/// Why a request fails.
pub(super) enum RequestError {
    /// The request itself: it is answered with this status.
    Status(WireStatus),
    /// The run is ending: the request is answered when the monitor has ended.
    RunEnded,
    /// The run is ending, and the request was to publish outputs.
    OutputsAfterRunEnded,
}

impl RequestError {
    /// Marks the request as one that publishes outputs.
    pub(super) fn of_outputs(self) -> Self {
        match self {
            Self::RunEnded => Self::OutputsAfterRunEnded,
            error => error,
        }
    }

    /// Prefixes the message of an invalid request.
    pub(super) fn within(self, head: &str) -> Self {
        match self {
            Self::Status(mut status) => {
                status.message.insert_str(0, head);
                Self::Status(status)
            }
            error => error,
        }
    }
}

impl From<WireStatus> for RequestError {
    fn from(status: WireStatus) -> Self {
        Self::Status(status)
    }
}

impl From<RunEnded> for RequestError {
    fn from(_: RunEnded) -> Self {
        Self::RunEnded
    }
}
