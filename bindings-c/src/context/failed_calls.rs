//! The calls of a program that failed: of each status the last one, for a program that returns the status alone. Declarations
//! that could not be read are reported to the engine.

use std::sync::{Mutex, PoisonError};

use stackwright::{Error, ErrorKind};

use crate::{
    failure::{Failure, Outcome},
    status::sw_status_t,
};

/// What a call is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// It declares a resource or an output, whose absence means that it is to be deleted.
    Declares,
    /// It asks, or says something.
    Asks,
}

/// The errors of a run's failed calls.
pub(super) struct FailedCalls {
    /// At most one of each status.
    last: Mutex<Vec<(sw_status_t, Error)>>,
    /// Takes the errors of declarations that could not be read.
    report: Box<dyn Fn(&Error) + Send + Sync>,
}

impl FailedCalls {
    /// Creates the list of a run; `report` takes the errors of declarations that could not be read.
    pub(super) fn new(report: impl Fn(&Error) + Send + Sync + 'static) -> Self {
        Self {
            last: Mutex::default(),
            report: Box::new(report),
        }
    }

    /// Keeps what a call failed with, in place of an earlier failure with the same status.
    pub(super) fn keep<T>(&self, purpose: Purpose, outcome: Outcome<T>) -> Outcome<T> {
        if let Err(failure) = &outcome {
            let error = match failure {
                Failure::Misuse(message) => Error::new(ErrorKind::Program, message.as_str()),
                Failure::Engine(error) => error.clone(),
            };
            let status = failure.status();
            let is_unreadable = matches!(
                status,
                sw_status_t::SW_STATUS_INVALID_INPUT | sw_status_t::SW_STATUS_MISUSE
            );
            if is_unreadable && purpose == Purpose::Declares {
                (self.report)(&error);
            }
            let mut errors = self.last.lock().unwrap_or_else(PoisonError::into_inner);
            errors.retain(|(known, _)| *known != status);
            errors.push((status, error));
        }
        outcome
    }

    /// Returns what the last call with `status` failed with.
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
        let fail = |failure: Failure| assert!(calls.keep::<()>(Purpose::Asks, Err(failure)).is_err());
        fail(Failure::invalid("first"));
        fail(Failure::invalid("second"));
        fail(Failure::misuse("null"));
        assert!(calls.keep(Purpose::Declares, Ok(7)).is_ok());
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
    fn declarations_that_cannot_be_read_are_reported_and_no_other_failure() {
        let reported = Arc::new(Mutex::new(Vec::new()));
        let reports = Arc::clone(&reported);
        let calls = FailedCalls::new(move |error| reports.lock().unwrap().push(error.message().to_owned()));
        let fail = |purpose, failure: Failure| assert!(calls.keep::<()>(purpose, Err(failure)).is_err());
        fail(Purpose::Asks, Failure::invalid("asked"));
        fail(
            Purpose::Declares,
            Error::new(ErrorKind::Provider, "the provider failed").into(),
        );
        assert!(reported.lock().unwrap().is_empty());
        fail(Purpose::Declares, Failure::invalid("first"));
        fail(Purpose::Declares, Failure::misuse("second"));
        assert_eq!(*reported.lock().unwrap(), ["first", "second"]);
    }
}
