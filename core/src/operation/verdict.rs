//! How an operation ended, in one error and in a word to people.

use super::Frame;
use crate::{
    diagnostic::{Diagnostic, Severity},
    error::{BAIL, Error, ErrorKind},
    executor::Failure,
    urn::Urn,
};

impl Frame {
    pub(super) fn noun(&self) -> &'static str {
        if self.options.dry_run { "preview" } else { "update" }
    }

    /// Finds the one error that says best why the operation failed.
    pub(super) fn verdict(&self, error: Option<Error>) -> Option<Error> {
        if error.is_some() {
            return error;
        }
        let failures = self.control.failures();
        let fatal = failures.iter().find_map(|failure| match failure {
            Failure::Fatal(error) | Failure::Program(error) => Some(error.clone()),
            Failure::Step(_) | Failure::Bail(_) => None,
        });
        if fatal.is_some() && !self.control.is_cancelled() {
            return fatal;
        }
        if self.control.is_cancelled() {
            return Some(Error::new(
                ErrorKind::Cancelled,
                format!("{BAIL}{} canceled", self.noun()),
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
        let said = first.filter(|diagnostic| diagnostic.message != format!("{} failed", self.noun()));
        let said = said.map(|diagnostic| (diagnostic.urn, diagnostic.message));
        let (urn, reason) = said.or_else(|| unsaid(&failures)).unwrap_or_default();
        let text = if reason.is_empty() {
            format!("{} failed", self.noun())
        } else {
            format!("{} failed: {reason}", self.noun())
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

    pub(super) fn say_how_it_ended(&self) {
        let noun = self.noun();
        if self.control.is_cancelled() {
            if !self.control.is_terminated() {
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
