//! A step in the result of an operation: operation, status and duration.

use std::{sync::Arc, time::Duration};

use crate::{
    error::Error,
    event::{OperationStatus, StepEvent},
};

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, schemars::JsonSchema, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// It is part of a preview, which did nothing.
    Planned,
    /// It succeeded.
    Succeeded,
    /// It was refused before it was tried: a failed check, a duplicate URN, a missing plugin, a policy.
    Refused,
    /// It failed and changed nothing.
    Failed,
    /// It failed, but the resource exists, or was changed.
    PartiallyFailed,
    /// It failed, and what it did to the resource is not known.
    Unknown,
}

impl StepStatus {
    /// Returns the name that results in C, Python and JavaScript have.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Succeeded => "succeeded",
            Self::Refused => "refused",
            Self::Failed => "failed",
            Self::PartiallyFailed => "partially_failed",
            Self::Unknown => "unknown",
        }
    }
}

/// A step that changed a resource, or would.
#[derive(Clone, Debug)]
pub struct StepResult {
    /// The step as events show it. No event shows a refused one: it has the operation that it would have been, without
    /// properties.
    pub step: Arc<StepEvent>,
    /// How long it took; zero in previews.
    pub duration: Duration,
    /// Why it failed; `None` when it did not.
    pub failure: Option<StepError>,
}

/// Why a step failed.
#[derive(Clone, Debug)]
pub struct StepError {
    /// The state of the real resource.
    pub status: OperationStatus,
    /// The resource was refused before it came to a step.
    pub refused: bool,
    /// The error, with resource, provider and phase.
    pub error: Error,
}

impl StepResult {
    /// Returns how the step ended.
    #[must_use]
    pub fn status(&self) -> StepStatus {
        match &self.failure {
            None if self.step.planning => StepStatus::Planned,
            None => StepStatus::Succeeded,
            Some(failure) if failure.refused => StepStatus::Refused,
            Some(failure) => match failure.status {
                OperationStatus::Ok => StepStatus::Failed,
                OperationStatus::PartialFailure => StepStatus::PartiallyFailed,
                OperationStatus::Unknown => StepStatus::Unknown,
            },
        }
    }
}

impl StepResult {
    /// Returns whether the step failed with the message of `error`.
    pub(crate) fn is_failed_by(&self, error: &Error) -> bool {
        let failure = self.failure.as_ref();
        failure.is_some_and(|failure| failure.error.message() == error.message())
    }
}

impl From<StepEvent> for StepResult {
    fn from(step: StepEvent) -> Self {
        Self {
            step: Arc::new(step),
            duration: Duration::ZERO,
            failure: None,
        }
    }
}
