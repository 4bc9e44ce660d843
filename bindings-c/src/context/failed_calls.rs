//! The calls of a program that failed: of each status the last one, for a program that returns the status alone, and the
//! first refused declaration.

use std::sync::{Mutex, PoisonError};

use stackwright::{Error, ErrorKind};

use crate::{
    guard::{Failure, Outcome},
    status::sw_status_t,
};

/// What a call is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// It declares a resource or an output, whose absence means that it is to be deleted. Refused is what never reaches the
    /// engine, because it cannot be read.
    Declares,
    /// It asks, or says something.
    Asks,
}

/// The errors of a run's failed calls.
#[derive(Default)]
pub(super) struct FailedCalls {
    /// At most one of each status.
    last: Mutex<Vec<(sw_status_t, Error)>>,
    refused: Mutex<Option<Error>>,
}

impl FailedCalls {
    /// Keeps what a call failed with, in place of an earlier failure with the same status.
    pub(super) fn keep<T>(&self, purpose: Purpose, outcome: Outcome<T>) -> Outcome<T> {
        if let Err(failure) = &outcome {
            let error = match failure {
                Failure::Misuse(message) => Error::new(ErrorKind::Program, message.as_str()),
                Failure::Engine(error) => error.clone(),
            };
            let status = failure.status();
            let is_refused = matches!(
                status,
                sw_status_t::SW_STATUS_INVALID_INPUT | sw_status_t::SW_STATUS_MISUSE
            );
            if is_refused && purpose == Purpose::Declares {
                let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
                refused.get_or_insert_with(|| error.clone());
            }
            let mut errors = self.last.lock().unwrap_or_else(PoisonError::into_inner);
            errors.retain(|(known, _)| *known != status);
            errors.push((status, error));
        }
        outcome
    }

    /// Returns what the first refused declaration failed with.
    pub(super) fn refused(&self) -> Option<Error> {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.clone()
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
    use super::*;

    #[test]
    fn the_last_failure_of_each_status_is_kept() {
        let calls = FailedCalls::default();
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
    fn the_first_refused_declaration_is_kept_and_no_other_failure() {
        let calls = FailedCalls::default();
        let fail = |purpose, failure: Failure| assert!(calls.keep::<()>(purpose, Err(failure)).is_err());
        fail(Purpose::Asks, Failure::invalid("asked"));
        fail(
            Purpose::Declares,
            Error::new(ErrorKind::Provider, "the provider failed").into(),
        );
        assert!(calls.refused().is_none());
        fail(Purpose::Declares, Failure::invalid("first"));
        fail(Purpose::Declares, Failure::misuse("second"));
        assert_eq!(
            calls.refused().map(|error| error.message().to_owned()).as_deref(),
            Some("first")
        );
    }
}
