//! What an operation shows: lines or a tree for readers, its events as lines of JSON, the digest of a preview, or the outcome.

mod digest;
mod live;
mod outcome;

use std::time::Duration;

use stackwright::{
    event::{EngineEvent, EventJson},
    operation::OperationResult,
};

use crate::{display, failure::Result, invocation::Invocation};

pub(super) use digest::Digest;
pub(super) use live::Live;
pub(super) use outcome::Outcome;

/// The time between two drawings of a tree.
const FRAME_INTERVAL: Duration = Duration::from_millis(100);

/// The time between two heartbeats, as in the reference engine.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(1);

/// The steps that documents list beside those that change something.
#[derive(Clone, Copy, Default)]
pub(super) struct Listed {
    /// Unchanged resources.
    pub(super) sames: bool,
    /// The halves of replacements.
    pub(super) replacement_steps: bool,
}

/// Shows the events of an operation.
pub(super) enum Display {
    /// Lines for readers.
    Progress(Box<display::Lines>),
    /// A tree on a terminal.
    Live(Box<Live>),
    /// The events as lines of JSON, without those of steps that the program did not request.
    Lines,
    /// One document at the end of a preview.
    Digest(Box<Digest>),
    /// The outcome as one line at the end.
    Outcome(Outcome),
}

impl Display {
    /// Shows an event.
    pub(super) fn event(&mut self, invocation: &Invocation, event: &EngineEvent, json: &EventJson) {
        match self {
            Self::Progress(lines) => invocation.write(&lines.event(event, json)),
            Self::Live(live) => live.event(event, json),
            Self::Lines if event.internal => {}
            Self::Lines => invocation.print(json.line(event)),
            Self::Digest(digest) => digest.event(event, json),
            Self::Outcome(outcome) => outcome.event(event),
        }
    }

    /// Returns the time between two drawings; `None` where time changes nothing that is shown.
    pub(super) const fn interval(&self) -> Option<Duration> {
        match self {
            Self::Live(_) => Some(FRAME_INTERVAL),
            Self::Progress(lines) if lines.has_heartbeats() => Some(HEARTBEAT_INTERVAL),
            Self::Progress(_) | Self::Lines | Self::Digest(_) | Self::Outcome(_) => None,
        }
    }

    /// Shows what has changed since the last drawing.
    pub(super) fn draw(&mut self, invocation: &Invocation) {
        match self {
            Self::Live(live) => invocation.write(&live.frame()),
            Self::Progress(lines) => invocation.write(&lines.heartbeat()),
            Self::Lines | Self::Digest(_) | Self::Outcome(_) => {}
        }
    }

    /// Shows that the operation has been cancelled, for the `count`-th time.
    pub(super) fn cancelled(&mut self, count: u8) {
        if let Self::Live(live) = self {
            live.cancelled(count);
        }
    }

    /// Shows the end of an operation.
    pub(super) fn end(self, invocation: &Invocation, result: &OperationResult) -> Result {
        let document = match self {
            Self::Digest(digest) => Some(digest.document(result)?),
            Self::Outcome(outcome) => outcome.line(result)?,
            Self::Live(live) => {
                invocation.write(&live.end(result));
                None
            }
            Self::Progress(_) | Self::Lines => None,
        };
        if let Some(document) = document {
            invocation.print(document);
        }
        Ok(())
    }
}
