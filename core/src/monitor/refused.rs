//! Registrations that were refused: what they are about is in use, although the program has not registered it.

use std::sync::{Mutex, PoisonError};

use crate::{
    error::Error,
    generator::Generator,
    monitor::{Registration, goal::goal_of, request_error::RequestError},
    property::PropertyMap,
    resource::Goal,
};

/// The refused registrations of one run, with their errors.
#[derive(Default)]
pub(super) struct RefusedRegistrations(Mutex<Vec<(Goal, Error)>>);

impl RefusedRegistrations {
    /// Notes a registration that is refused. One that ends with its run is none.
    pub(super) fn note(&self, registration: &Registration, error: &RequestError) {
        if matches!(error, RequestError::Status(_)) {
            self.note_goal(goal_of(&mut registration.clone()), error);
        }
    }

    /// Notes a goal whose registration is refused.
    pub(super) fn note_goal(&self, goal: Goal, error: &RequestError) {
        if let RequestError::Status(status) = error {
            self.note_error(goal, status.clone().into());
        }
    }

    /// Notes a goal whose registration is refused, or is not made, with an error.
    pub(super) fn note_error(&self, mut goal: Goal, error: Error) {
        goal.inputs = PropertyMap::new();
        let mut refused = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        refused.push((goal, error));
    }

    /// Returns the error of the first one whose resource is recorded, and has not been registered otherwise.
    pub(super) fn lost(&self, generator: &Generator) -> Option<Error> {
        let refused = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        refused.iter().find_map(|(goal, error)| {
            let record = generator.leftover_of(goal)?;
            let error = error.clone().with_urn(record.state.urn.clone());
            Some(error.with_hint(
                "the program went on after this failure, and the run would have deleted the resource as one that it does not register",
            ))
        })
    }
}
