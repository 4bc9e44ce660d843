//! The outcome of an operation: its error and its terminal message.

use super::{OperationKind, OperationRun};
use crate::{
    diagnostic::Diagnostic,
    error::{Error, ErrorKind},
    event::{OperationOutcome, Summary},
    executor::{AbandonedCall, Control, Failure},
    message::Message,
};

/// The messages that end operations: the texts of the reference engine, which calls refreshes and destroys updates,
/// too.
const TERMINAL_MESSAGES: [&str; 4] = [
    "update failed",
    "preview failed",
    "update canceled",
    "preview canceled",
];

/// What the message of a failed import adds, before the text of its first failure.
const IMPORT_FAILURE: &str = ": step application failed: ";

/// The hint of an import of several resources that has failed.
const KEPT_IMPORTS: &str =
    "the resources that could be imported are recorded: `imported` of the result has the outcome of each";

/// Maximum number of abandoned calls in an error.
const MAX_ABANDONED: usize = 5;

/// Returns whether a message only reports that the operation has failed.
pub(super) fn is_terminal(message: &str) -> bool {
    let is_of_import = |noun: &&str| {
        message
            .strip_prefix(noun)
            .is_some_and(|rest| rest.starts_with(IMPORT_FAILURE))
    };
    TERMINAL_MESSAGES.contains(&message) || TERMINAL_MESSAGES.iter().any(is_of_import)
}

/// The cancellations by the host when the verb ended. Later ones no longer change the outcome, so that all reports of
/// it agree.
#[derive(Clone, Copy)]
pub(super) struct Ending {
    /// The host has cancelled the operation.
    pub(super) cancelled: bool,
    /// The host has cancelled it a second time, and running calls were abandoned.
    pub(super) terminated: bool,
}

impl Ending {
    /// Returns the cancellations so far.
    pub(super) fn of(control: &Control) -> Self {
        Self {
            cancelled: control.is_cancelled(),
            terminated: control.is_terminated(),
        }
    }

    /// Returns the outcome of an operation with `error`.
    pub(super) fn outcome(self, error: Option<&Error>) -> OperationOutcome {
        match error {
            None => OperationOutcome::Succeeded,
            Some(error) if error.kind() == ErrorKind::Cancelled || self.terminated => {
                OperationOutcome::Canceled
            }
            Some(_) => OperationOutcome::Failed,
        }
    }

    /// Returns the outcome for the summary among the events: as in the reference engine, an operation is only canceled
    /// when calls were abandoned.
    pub(super) fn summary_outcome(self, outcome: OperationOutcome) -> OperationOutcome {
        match outcome {
            OperationOutcome::Canceled if !self.terminated => OperationOutcome::Failed,
            outcome => outcome,
        }
    }
}

/// Returns the name of the operation in messages of the reference engine.
pub(super) fn noun(run: &OperationRun) -> &'static str {
    if run.options.dry_run { "preview" } else { "update" }
}

/// Returns the name of the operation in errors.
fn name(run: &OperationRun) -> &'static str {
    if run.options.dry_run {
        "preview"
    } else {
        run.kind.name()
    }
}

/// Returns the operation and its stack, as a title.
pub(super) fn title(run: &OperationRun) -> String {
    let stack = format!("{}/{}", run.stack.project, run.stack.stack);
    match (run.options.dry_run, run.kind) {
        (true, OperationKind::Update) => format!("Preview of {stack}"),
        (true, kind) => format!("Preview of the {} of {stack}", kind.name()),
        (false, kind) => {
            let mut name = kind.name().to_owned();
            name.get_mut(..1).map(str::make_ascii_uppercase);
            format!("{name} of {stack}")
        }
    }
}

/// Returns the error of the operation: the one with the most precise reason.
pub(super) fn error_of(run: &OperationRun, error: Option<Error>, cancelled: bool) -> Option<Error> {
    if error.is_some() {
        return error;
    }
    let failures = run.control.failures();
    if cancelled {
        return Some(cancellation(run));
    }
    let fatal = failures.iter().find_map(|failure| match failure {
        Failure::Fatal(error) | Failure::Program(error) => Some(error.clone()),
        Failure::Step(_) | Failure::Bail(_) | Failure::Generation(_) | Failure::Callback(_) => None,
    });
    fatal.or_else(|| failures.into_iter().next().map(|failure| failed(run, failure)))
}

/// Returns the error of an operation that has changed something, or would, although it was to change nothing.
pub(super) fn unexpected_changes(run: &OperationRun, summary: Option<&Summary>) -> Option<Error> {
    let changes = summary
        .filter(|_| run.options.expect_no_changes)?
        .resource_changes
        .iter();
    let changes: Vec<String> = changes
        .filter(|(op, count)| is_change(op) && **count > 0)
        .map(|(op, count)| format!("{op} {count}"))
        .collect();
    if changes.is_empty() {
        return None;
    }
    let (operation, changes) = (name(run), changes.join(", "));
    let message = Message::UnexpectedChanges {
        operation,
        noun: noun(run),
        changes: &changes,
    };
    Some(Error::new(ErrorKind::Failed, message).with_phase("expect_no_changes"))
}

/// Returns whether a kind of step changes a resource.
pub(super) fn is_change(op: &str) -> bool {
    !matches!(op, "same" | "read")
}

/// Returns the error of a cancelled operation. That of a timeout names the calls that were in progress then.
fn cancellation(run: &OperationRun) -> Error {
    let operation = name(run);
    let Some(timeout) = run.control.timed_out() else {
        return Error::new(ErrorKind::Cancelled, Message::Cancelled { operation });
    };
    let calls = run.control.unfinished_at_timeout();
    let mut abandoned: Vec<String> = (calls.iter().take(MAX_ABANDONED))
        .map(|call| call.text.clone())
        .collect();
    if calls.len() > MAX_ABANDONED {
        abandoned.push(format!("{} other calls", calls.len() - MAX_ABANDONED));
    }
    let message = Message::TimedOut {
        operation,
        seconds: timeout.as_secs_f64(),
        abandoned: &abandoned,
    };
    let error = Error::new(ErrorKind::Cancelled, message);
    let Some(first) = calls.into_iter().next() else {
        return error;
    };
    let AbandonedCall {
        method,
        provider,
        urn,
        ..
    } = first;
    let error = error.with_phase(method);
    let error = match provider {
        Some(provider) => error.with_provider(provider),
        None => error,
    };
    match urn {
        Some(urn) => error.with_urn(urn),
        None => error,
    }
}

/// Returns the error of an operation that failed with `failure`. The first line of its library text names the resource,
/// its provider and the cause.
fn failed(run: &OperationRun, failure: Failure) -> Error {
    let (error, of_reference): (_, fn(&str) -> String) = match failure {
        Failure::Step(error) => (error, |text| {
            format!("step executor errored: step application failed: {text}")
        }),
        Failure::Generation(error) => (error, |_| "step generator errored".to_owned()),
        Failure::Bail(error) | Failure::Callback(error) | Failure::Program(error) | Failure::Fatal(error) => {
            (error, str::to_owned)
        }
    };
    let place = place(&error);
    let operation = name(run);
    let text = error
        .text()
        .map(of_reference, |text| format!("{operation} failed: {place}{text}"));
    let error = error.with_text(text).with_kind(ErrorKind::Failed);
    let rows = run.import.as_ref().map_or(0, |request| request.resources.len());
    match run.kind == OperationKind::Import && !run.options.dry_run && rows > 1 {
        true => error.with_hint(KEPT_IMPORTS),
        false => error,
    }
}

/// Emits the message that ends the operation.
pub(super) fn emit_terminal_message(run: &OperationRun, ending: Ending) {
    let noun = noun(run);
    if ending.cancelled {
        if !ending.terminated {
            run.events
                .diagnostic(Diagnostic::error(format!("{noun} canceled")));
        }
        return;
    }
    let failures = run.control.failures();
    let is_of_work = |failure: &&Failure| matches!(failure, Failure::Step(_) | Failure::Generation(_));
    let Some(failure) = failures.iter().find(is_of_work) else {
        return;
    };
    let text = match run.kind {
        OperationKind::Import => {
            let reason = failure.error().text().reference();
            format!("{noun} failed{IMPORT_FAILURE}{reason}")
        }
        _ => format!("{noun} failed"),
    };
    run.events.diagnostic(Diagnostic::error(text));
}

/// Returns the resource, the provider and the phase of an error that its text does not contain, as the beginning of a
/// sentence.
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
