//! How an operation ended, in one error and in a word to people.

use super::OperationRun;
use crate::{
    diagnostic::Diagnostic,
    error::{Error, ErrorKind},
    event::OperationOutcome,
    executor::{Control, Failure},
    message::Message,
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

impl OperationRun {
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
        if cancelled {
            let operation = self.deed();
            return Some(Error::new(ErrorKind::Cancelled, Message::Cancelled { operation }));
        }
        let fatal = failures.iter().find_map(|failure| match failure {
            Failure::Fatal(error) | Failure::Program(error) => Some(error.clone()),
            Failure::Step(_) | Failure::Bail(_) | Failure::Generation(_) => None,
        });
        fatal.or_else(|| failures.into_iter().next().map(|failure| self.failed(failure)))
    }

    /// Returns the error of an operation that failed for `failure`: for people its first line names the resource, its
    /// provider and the cause.
    fn failed(&self, failure: Failure) -> Error {
        let (error, of_reference): (_, fn(&str) -> String) = match failure {
            Failure::Step(error) => (error, |text| {
                format!("step executor errored: step application failed: {text}")
            }),
            Failure::Generation(error) => (error, |_| "step generator errored".to_owned()),
            Failure::Bail(error) | Failure::Program(error) | Failure::Fatal(error) => (error, str::to_owned),
        };
        let place = place(&error);
        let operation = self.deed();
        let text = error
            .text()
            .map(of_reference, |text| format!("{operation} failed: {place}{text}"));
        error.with_text(text).with_kind(ErrorKind::Failed)
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
            .any(|failure| matches!(failure, Failure::Step(_) | Failure::Generation(_)))
        {
            self.events
                .diagnostic(Diagnostic::error(format!("{noun} failed")));
        }
    }
}

/// Returns what of an error's resource, provider and phase its text does not name, as the beginning of a sentence.
fn place(error: &Error) -> String {
    let text = error.message();
    let subject = error.urn().map(|urn| {
        let (name, resource_type) = (urn.name(), urn.resource_type());
        match text.contains(urn.as_str()) || text.contains(name) && text.contains(resource_type) {
            true => String::new(),
            false => format!("resource `{name}` ({resource_type})"),
        }
    });
    let of_provider = error.provider().filter(|provider| !provider.is_empty());
    let doing = match (of_provider, error.phase()) {
        (Some(provider), Some(phase)) => format!("{phase} by provider `{provider}`"),
        (Some(provider), None) => format!("provider `{provider}`"),
        (None, _) => String::new(),
    };
    let parts = [subject.unwrap_or_default(), doing];
    let parts: Vec<&str> = parts
        .iter()
        .map(String::as_str)
        .filter(|part| !part.is_empty())
        .collect();
    match parts.is_empty() {
        true => String::new(),
        false => format!("{}: ", parts.join(", ")),
    }
}
