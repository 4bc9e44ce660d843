//! What an operation shows while it runs: progress for readers, or its events as lines of JSON.

mod diagnostics;
mod progress;
mod rows;
mod summary;
mod values;

use stackwright::event::{EngineEvent, EventJson};

use crate::invocation::Invocation;

pub(super) use progress::{Progress, Shown};

/// Shows the events of an operation.
pub(super) enum Display {
    /// Progress for readers.
    Progress(Box<Progress>),
    /// The events as lines of JSON, without those of steps that the program did not request.
    Lines,
}

impl Display {
    /// Shows an event.
    pub(super) fn event(&mut self, invocation: &Invocation, event: &EngineEvent, json: &EventJson) {
        match self {
            Self::Progress(progress) => progress.event(invocation, event, json),
            Self::Lines if event.internal => {}
            Self::Lines => invocation.print(json.line(event)),
        }
    }
}
