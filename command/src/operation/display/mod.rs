//! What an operation shows: progress for readers, its events as lines of JSON, the digest of a preview, or the outcome.

mod diagnostics;
mod digest;
mod outcome;
mod policies;
mod progress;
mod rows;
mod summary;
mod values;

use stackwright::{
    event::{EngineEvent, EventJson},
    operation::OperationResult,
};

use crate::{failure::Result, invocation::Invocation};

pub(super) use digest::Digest;
pub(super) use outcome::Outcome;
pub(super) use progress::{Progress, Shown};

/// Shows the events of an operation.
pub(super) enum Display {
    /// Progress for readers.
    Progress(Box<Progress>),
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
            Self::Progress(progress) => progress.event(invocation, event, json),
            Self::Lines if event.internal => {}
            Self::Lines => invocation.print(json.line(event)),
            Self::Digest(digest) => digest.event(event, json),
            Self::Outcome(outcome) => outcome.event(event),
        }
    }

    /// Shows the end of an operation.
    pub(super) fn end(self, invocation: &Invocation, result: &OperationResult) -> Result {
        let document = match self {
            Self::Digest(digest) => Some(digest.document(result)?),
            Self::Outcome(outcome) => outcome.line(result)?,
            Self::Progress(_) | Self::Lines => None,
        };
        if let Some(document) = document {
            invocation.print(document);
        }
        Ok(())
    }
}
