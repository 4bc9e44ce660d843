//! The outcomes and the failures of steps.

use std::sync::Arc;

use crate::{
    error::Error,
    event::OperationStatus,
    message::Text,
    provider::{ProviderError, ProviderStatus, PublishedView},
    resource::ResourceState,
    state::StateRef,
    step::StepOp,
};

/// The effect of a step, before it is recorded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Applied {
    /// The new record; `None` when there is none.
    pub(crate) new: Option<Arc<ResourceState>>,
    /// Set when the resource exists although the step failed.
    pub(crate) partial_failure: Option<Text>,
    /// The result of a refresh.
    pub(crate) result_op: Option<StepOp>,
    /// Warnings about the resource.
    pub(crate) warnings: Vec<Text>,
}

impl Applied {
    /// Creates the effect of a step that leaves the record `new`.
    pub(super) fn of(new: impl Into<Option<Arc<ResourceState>>>) -> Self {
        Self {
            new: new.into(),
            ..Self::default()
        }
    }
}

/// The effect of a step after it has been recorded, and before it is reported.
pub(super) struct Settled {
    /// The new record; `None` when there is none.
    pub(super) new: Option<StateRef>,
    /// The result of a refresh; the kind of any other step.
    pub(super) result_op: StepOp,
    /// Set when the resource exists although the step failed.
    pub(super) partial_failure: Option<StepFailure>,
    /// The steps on views that follow the report.
    pub(super) published: Vec<PublishedView>,
    /// The first failure of a published step on a view that was removed before.
    pub(super) of_views: Option<StepFailure>,
}

/// The outcome of a step for its chain and its registration.
#[derive(Clone, Debug, Default)]
pub(crate) struct StepOutcome {
    /// The new record.
    pub new: Option<StateRef>,
}

/// Why a step failed.
#[derive(Clone, Debug)]
pub(crate) struct StepFailure {
    /// The message; that of the provider, unchanged, where the provider failed.
    pub message: Text,
    /// The status of the resource.
    pub status: OperationStatus,
    /// True when the failure must not stop other steps: deletion of a protected resource.
    pub continues: bool,
    /// True when the step never ran because the operation was ending.
    pub cancelled: bool,
    /// The status of a provider that failed.
    pub provider_status: Option<ProviderStatus>,
    /// True when the provider's response was unreadable or missing: the step may have had its effect.
    pub outcome_unknown: bool,
    /// True when the provider's call took too long and was given up.
    pub timed_out: bool,
    /// The engine's error that caused the failure, for instance a missing plugin.
    pub cause: Option<Error>,
}

impl StepFailure {
    /// Returns whether the effect of a step on its resource is unknown: a creating or updating one got no readable
    /// response, or a deleting one was given up.
    pub(super) fn hides_a_change(&self, op: StepOp) -> bool {
        let makes = matches!(op, StepOp::Create | StepOp::CreateReplacement | StepOp::Update);
        let deletes = matches!(op, StepOp::Delete | StepOp::DeleteReplaced);
        self.outcome_unknown && (makes || deletes && self.timed_out)
    }

    /// Returns the kind of the failure: the status of a provider, or the kind of the engine's error.
    pub(super) fn kind(&self) -> String {
        match (self.provider_status, &self.cause) {
            (Some(status), _) => status.to_string(),
            (None, Some(cause)) => cause.kind().name().to_owned(),
            (None, None) if self.cancelled => "cancelled".to_owned(),
            (None, None) => "failed".to_owned(),
        }
    }

    /// Returns whether a provider's call has failed.
    pub(super) fn is_of_provider(&self) -> bool {
        let partial = self.status == OperationStatus::PartialFailure;
        self.provider_status.is_some() || self.outcome_unknown || partial
    }

    /// Creates a failure of the engine: the resource is unchanged.
    pub(crate) fn new(message: impl Into<Text>) -> Self {
        Self {
            message: message.into(),
            status: OperationStatus::Ok,
            continues: false,
            cancelled: false,
            provider_status: None,
            outcome_unknown: false,
            timed_out: false,
            cause: None,
        }
    }

    /// Creates the failure of a step that did not run because the operation was ending.
    pub(crate) fn cancelled() -> Self {
        Self {
            cancelled: true,
            ..Self::new("the operation was canceled")
        }
    }

    /// Creates the failure of a provider's call.
    pub(crate) fn provider(error: &ProviderError) -> Self {
        let unknown = !error.must_wait && error.status.leaves_state_unknown() || error.is_timeout();
        Self {
            status: if unknown {
                OperationStatus::Unknown
            } else {
                OperationStatus::Ok
            },
            provider_status: Some(error.status),
            outcome_unknown: error.outcome_unknown,
            timed_out: error.is_timeout(),
            cause: error.cause.clone(),
            ..Self::new(error.text())
        }
    }
}

/// Returns the text of the reasons why the initialization of a resource failed.
pub(crate) fn join_reasons(reasons: &[String]) -> Text {
    let count = reasons.len();
    let noun = if count == 1 { "error" } else { "errors" };
    let mut text = format!("{count} {noun} occurred:\n");
    for reason in reasons {
        text.push_str("\t* ");
        text.push_str(reason);
        text.push('\n');
    }
    text.push('\n');
    Text::pair(
        text,
        format!("it exists, but its initialization failed: {}", reasons.join("; ")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_states_what_is_known_of_the_resource() {
        let refused = ProviderError::new(ProviderStatus::Unknown, "no");
        let waits = ProviderError {
            must_wait: true,
            ..refused.clone()
        };
        let timed_out = ProviderError::without_answer(ProviderStatus::DeadlineExceeded, "too long");
        let status = |error| StepFailure::provider(error).status;
        assert_eq!(status(&refused), OperationStatus::Unknown);
        assert_eq!(status(&waits), OperationStatus::Ok);
        assert_eq!(status(&timed_out), OperationStatus::Unknown);
    }

    #[test]
    fn the_beginning_of_a_step_that_was_given_up_stays_on_record() {
        let timed_out = ProviderError::without_answer(ProviderStatus::DeadlineExceeded, "too long");
        let lost = ProviderError::without_answer(ProviderStatus::Unavailable, "the plugin has ended");
        let hides = |error, op| StepFailure::provider(error).hides_a_change(op);
        for op in [StepOp::Create, StepOp::CreateReplacement, StepOp::Update] {
            assert!(hides(&timed_out, op) && hides(&lost, op), "{op:?}");
        }
        for op in [StepOp::Delete, StepOp::DeleteReplaced] {
            assert!(hides(&timed_out, op) && !hides(&lost, op), "{op:?}");
        }
        assert!(!hides(&timed_out, StepOp::Read));
    }
}
