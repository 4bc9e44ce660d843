//! What a step came to, and how steps fail.

use std::sync::Arc;

use crate::{
    error::Error,
    event::OperationStatus,
    message::Text,
    provider::{ProviderError, ProviderStatus},
    resource::ResourceState,
    state::StateRef,
    step::StepOp,
};

/// What applying a step gave, before it is recorded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Applied {
    /// The record that there is now; `None` when there is none.
    pub(crate) new: Option<Arc<ResourceState>>,
    /// Set when the real thing exists although the step failed.
    pub(crate) partial_failure: Option<Text>,
    /// What a refresh came to.
    pub(crate) result_op: Option<StepOp>,
    /// Warnings about the resource.
    pub(crate) warnings: Vec<String>,
}

/// What a finished step leaves to its chain and to the registration behind it.
#[derive(Clone, Debug, Default)]
pub(crate) struct StepOutcome {
    /// The record that there is now.
    pub new: Option<StateRef>,
}

/// Why a step failed.
#[derive(Clone, Debug)]
pub(crate) struct StepFailure {
    /// Why it failed: the provider's own words, unchanged, where the provider failed.
    pub message: Text,
    /// What is known of the real thing.
    pub status: OperationStatus,
    /// True when the failure must not stop other work: a protected resource was to be deleted.
    pub continues: bool,
    /// True when the step never ran because the operation was ending.
    pub cancelled: bool,
    /// The provider's status, when it was the provider that failed.
    pub provider_status: Option<ProviderStatus>,
    /// True when the provider was asked and gave no readable answer: the step may have done what it was for.
    pub outcome_unknown: bool,
    /// The error of the engine's behind the provider's words: its plugin is missing, for instance.
    pub cause: Option<Error>,
}

impl StepFailure {
    /// Returns whether a step that makes something got no readable answer, so that what it made is not known.
    pub(super) fn hides_a_change(&self, op: StepOp) -> bool {
        let makes = matches!(op, StepOp::Create | StepOp::CreateReplacement | StepOp::Update);
        self.outcome_unknown && makes
    }

    /// Creates a failure of the engine's own making: nothing happened to the real thing.
    pub(crate) fn new(message: impl Into<Text>) -> Self {
        Self {
            message: message.into(),
            status: OperationStatus::Ok,
            continues: false,
            cancelled: false,
            provider_status: None,
            outcome_unknown: false,
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

    /// Creates the failure of a provider's call whose status tells what is known of the real thing.
    pub(crate) fn provider(error: &ProviderError) -> Self {
        let unknown = error.status.leaves_state_unknown();
        Self {
            status: if unknown {
                OperationStatus::Unknown
            } else {
                OperationStatus::Ok
            },
            provider_status: Some(error.status),
            outcome_unknown: error.outcome_unknown,
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
