//! The failed calls of a program: the last one of each status, for programs that return only a status. Malformed
//! declarations are reported to the engine.

use std::sync::{Mutex, PoisonError};

use stackwright::{Error, ErrorKind};

use crate::{
    failure::{Failure, Outcome},
    status::sw_status_t,
};

/// The kind of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallKind {
    /// Declares a resource or an output, whose absence would delete it, or a transform of the whole stack, whose absence would
    /// change resources.
    Declaration,
    /// Any other call.
    Other,
}

/// The errors of a run's failed calls.
pub(crate) struct FailedCalls {
    /// At most one for each status.
    last: Mutex<Vec<(sw_status_t, Error)>>,
    /// Receives the errors of malformed declarations.
    report: Box<dyn Fn(&Error) + Send + Sync>,
}

impl FailedCalls {
    /// Creates the list of a run; `report` receives the errors of malformed declarations.
    pub(super) fn new(report: impl Fn(&Error) + Send + Sync + 'static) -> Self {
        Self {
            last: Mutex::default(),
            report: Box::new(report),
        }
    }

    /// Records the error of a failed call, in place of an earlier one with the same status.
    pub(crate) fn keep<T>(&self, kind: CallKind, outcome: Outcome<T>) -> Outcome<T> {
        if let Err(failure) = &outcome {
            let error = match failure {
                Failure::Misuse(message) => Error::new(ErrorKind::Program, message.as_str()),
                Failure::Engine(error) => error.clone(),
            };
            let status = failure.status();
            let is_malformed = matches!(
                status,
                sw_status_t::SW_STATUS_INVALID_INPUT | sw_status_t::SW_STATUS_MISUSE
            );
            if is_malformed && kind == CallKind::Declaration {
                (self.report)(&error);
            }
            let mut errors = self.last.lock().unwrap_or_else(PoisonError::into_inner);
            errors.retain(|(known, _)| *known != status);
            errors.push((status, error));
        }
        outcome
    }

    /// Returns the error of the last call that failed with `status`.
    pub(super) fn last(&self, status: sw_status_t) -> Option<Error> {
        let errors = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let found = errors.iter().find(|(known, _)| *known == status);
        found.map(|(_, error)| error.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn the_last_failure_of_each_status_is_kept() {
        let calls = FailedCalls::new(|_| {});
        let fail = |failure: Failure| assert!(calls.keep::<()>(CallKind::Other, Err(failure)).is_err());
        fail(Failure::invalid("first"));
        fail(Failure::invalid("second"));
        fail(Failure::misuse("null"));
        assert!(calls.keep(CallKind::Declaration, Ok(7)).is_ok());
        let message = |status| calls.last(status).map(|error| error.message().to_owned());
        assert_eq!(
            message(sw_status_t::SW_STATUS_INVALID_INPUT).as_deref(),
            Some("second")
        );
        assert_eq!(message(sw_status_t::SW_STATUS_MISUSE).as_deref(), Some("null"));
        assert_eq!(message(sw_status_t::SW_STATUS_PROVIDER), None);
        let misuse = calls.last(sw_status_t::SW_STATUS_MISUSE).unwrap();
        assert_eq!(misuse.kind(), ErrorKind::Program);
    }

    #[test]
    fn only_malformed_declarations_are_reported() {
        let reported = Arc::new(Mutex::new(Vec::new()));
        let reports = Arc::clone(&reported);
        let calls = FailedCalls::new(move |error| reports.lock().unwrap().push(error.message().to_owned()));
        let fail = |kind, failure: Failure| assert!(calls.keep::<()>(kind, Err(failure)).is_err());
        fail(CallKind::Other, Failure::invalid("asked"));
        fail(
            CallKind::Declaration,
            Error::new(ErrorKind::Provider, "the provider failed").into(),
        );
        assert!(reported.lock().unwrap().is_empty());
        fail(CallKind::Declaration, Failure::invalid("first"));
        fail(CallKind::Declaration, Failure::misuse("second"));
        assert_eq!(*reported.lock().unwrap(), ["first", "second"]);
    }
}
