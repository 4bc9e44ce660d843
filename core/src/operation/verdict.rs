//! How an operation ended, in one error and in a word to people.

use super::Frame;
use crate::{
    diagnostic::{Diagnostic, Severity},
    error::{BAIL, Error, ErrorKind},
    event::OperationOutcome,
    executor::{Control, Failure},
    urn::Urn,
};

/// What messages end operations with: the reference engine's words, which call refreshes and destroys updates, too.
const LAST_WORDS: [&str; 4] = [
    "update failed",
    "preview failed",
    "update canceled",
    "preview canceled",
];

/// Tells whether a message only says that the operation has ended badly.
pub(super) fn is_last_word(message: &str) -> bool {
    LAST_WORDS.contains(&message)
}

/// What the host had asked for when the work was over. What it asks for later no longer changes how the operation ended:
/// everything that tells of that says the same.
#[derive(Clone, Copy)]
pub(super) struct Ending {
    /// The host has cancelled the operation.
    pub(super) cancelled: bool,
    /// It has insisted, and running calls were given up.
    pub(super) terminated: bool,
}

impl Ending {
    /// Looks at what has been asked for so far.
    pub(super) fn of(control: &Control) -> Self {
        Self {
            cancelled: control.is_cancelled(),
            terminated: control.is_terminated(),
        }
    }

    /// Says how an operation ended that came to `error`.
    pub(super) fn outcome(self, error: Option<&Error>) -> OperationOutcome {
        match error {
            None => OperationOutcome::Succeeded,
            Some(error) if error.kind() == ErrorKind::Cancelled || self.terminated => {
                OperationOutcome::Canceled
            }
            Some(_) => OperationOutcome::Failed,
        }
    }

    /// Says how the summary of events counts that: as the reference engine's does, to which an operation is only canceled
    /// when calls were given up.
    pub(super) fn summed_up(self, outcome: OperationOutcome) -> OperationOutcome {
        match outcome {
            OperationOutcome::Canceled if !self.terminated => OperationOutcome::Failed,
            outcome => outcome,
        }
    }
}

impl Frame {
    /// Returns what messages call the operation, as the reference engine's do.
    pub(super) fn noun(&self) -> &'static str {
        if self.options.dry_run { "preview" } else { "update" }
    }

    /// Returns what the error calls the operation: by its own name.
    fn deed(&self) -> &'static str {
        if self.options.dry_run {
            "preview"
        } else {
            self.kind.name()
        }
    }

    /// Finds the one error that says best why the operation failed.
    pub(super) fn verdict(&self, error: Option<Error>, cancelled: bool) -> Option<Error> {
        if error.is_some() {
            return error;
        }
        let failures = self.control.failures();
        let fatal = failures.iter().find_map(|failure| match failure {
            Failure::Fatal(error) | Failure::Program(error) => Some(error.clone()),
            Failure::Step(_) | Failure::Bail(_) => None,
        });
        if fatal.is_some() && !cancelled {
            return fatal;
        }
        if cancelled {
            return Some(Error::new(
                ErrorKind::Cancelled,
                format!("{BAIL}{} canceled", self.deed()),
            ));
        }
        if failures.is_empty() {
            return None;
        }
        let first = self
            .events
            .diagnostics()
            .into_iter()
            .find(|diagnostic| diagnostic.severity == Severity::Error);
        // That it failed is no reason why; a policy, for instance, has its reason told as an event of its own.
        let said = first.filter(|diagnostic| !is_last_word(&diagnostic.message));
        let said = said.map(|diagnostic| (diagnostic.urn, diagnostic.message));
        let (urn, reason) = said.or_else(|| unsaid(&failures)).unwrap_or_default();
        let text = if reason.is_empty() {
            format!("{} failed", self.deed())
        } else {
            format!("{} failed: {reason}", self.deed())
        };
        let mut error = Error::new(ErrorKind::Failed, text);
        if let Some(cause) = self.control.error_behind(&reason) {
            error = error.with_facts_of(&cause);
        }
        Some(match urn {
            Some(urn) => error.with_urn(urn),
            None => error,
        })
    }

    pub(super) fn say_how_it_ended(&self, ending: Ending) {
        let noun = self.noun();
        if ending.cancelled {
            if !ending.terminated {
                self.events
                    .diagnostic(Diagnostic::error(format!("{noun} canceled")));
            }
        } else if self
            .control
            .failures()
            .iter()
            .any(|failure| matches!(failure, Failure::Step(_)))
        {
            self.events
                .diagnostic(Diagnostic::error(format!("{noun} failed")));
        }
    }
}

/// Returns the reason of a failure that no message has told.
fn unsaid(failures: &[Failure]) -> Option<(Option<Urn>, String)> {
    failures.iter().find_map(|failure| match failure {
        Failure::Step(Some(error)) | Failure::Bail(Some(error)) => {
            Some((error.urn().cloned(), error.message().to_owned()))
        }
        _ => None,
    })
}
