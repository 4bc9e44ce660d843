//! The calls of a program that failed: of each status the last one, for a program that returns the status alone.

use std::sync::{Mutex, PoisonError};

use stackwright::{Error, ErrorKind};

use crate::{
    guard::{Failure, Outcome},
    status::sw_status_t,
};

/// The errors of a run's failed calls, at most one of each status.
#[derive(Default)]
pub(super) struct FailedCalls(Mutex<Vec<(sw_status_t, Error)>>);

impl FailedCalls {
    /// Keeps what a call failed with, in place of an earlier failure with the same status.
    pub(super) fn keep<T>(&self, outcome: Outcome<T>) -> Outcome<T> {
        if let Err(failure) = &outcome {
            let error = match failure {
                Failure::Misuse(message) => Error::new(ErrorKind::Program, message.as_str()),
                Failure::Engine(error) => error.clone(),
            };
            let status = failure.status();
            let mut errors = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            errors.retain(|(known, _)| *known != status);
            errors.push((status, error));
        }
        outcome
    }

    /// Returns what the last call with `status` failed with.
    pub(super) fn last(&self, status: sw_status_t) -> Option<Error> {
        let errors = self.0.lock().unwrap_or_else(PoisonError::into_inner);
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
        let fail = |failure: Failure| assert!(calls.keep::<()>(Err(failure)).is_err());
        fail(Failure::invalid("first"));
        fail(Failure::invalid("second"));
        fail(Failure::misuse("null"));
        assert!(calls.keep(Ok(7)).is_ok());
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
}
