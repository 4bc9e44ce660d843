//! Applying one step: the provider's call that each kind of step makes, and the record that comes of it.

mod create;
mod delete;
mod import;
mod read;
mod same;
mod update;

use crate::{
    executor::{
        Executor, Step, StepFailure,
        outcome::{Applied, join_reasons},
    },
    message::Text,
    provider::{InitFailure, ProviderError, ProviderStatus},
    resource::ResourceState,
    step::StepOp,
    token::ResourceId,
};

type Result<T, E = StepFailure> = std::result::Result<T, E>;

impl Executor {
    /// Calls the provider as the step's kind asks for. Nothing is recorded here.
    pub(crate) async fn apply(&self, step: &Step) -> Result<Applied> {
        match step.op {
            StepOp::Same => self.apply_same(step).await,
            StepOp::Create | StepOp::CreateReplacement => self.apply_create(step).await,
            StepOp::Update => self.apply_update(step).await,
            StepOp::Delete | StepOp::DeleteReplaced => self.apply_delete(step).await,
            StepOp::Read | StepOp::ReadReplacement => self.apply_read(step).await,
            StepOp::Refresh => self.apply_refresh(step).await,
            StepOp::Import | StepOp::ImportReplacement => self.apply_import(step).await,
            StepOp::Replace | StepOp::Discard | StepOp::DiscardReplaced | StepOp::RemovePendingReplace => {
                Ok(Applied {
                    new: step.new.clone(),
                    ..Applied::default()
                })
            }
        }
    }

    /// Awaits a provider's call; a second cancellation gives it up. What came with a failure about views is published.
    pub(crate) async fn call<T>(
        &self,
        step: &Step,
        phase: &'static str,
        call: impl Future<Output = Result<T, ProviderError>>,
    ) -> Result<T, ProviderError> {
        let mut result = tokio::select! {
            biased;
            result = call => result,
            () = self.terminated() => Err(ProviderError::new(
                ProviderStatus::Cancelled,
                format!("the {phase} of {} was given up because the operation was terminated", step.urn),
            )),
        };
        if let Err(ProviderError {
            init_failure: Some(failure),
            ..
        }) = &mut result
        {
            step.views
                .publish_with_answer(std::mem::take(&mut failure.view_steps));
        }
        result
    }
}

/// Records what exists of a resource whose initialization failed, and returns the text of that failure.
fn take_init_failure(state: &mut ResourceState, failure: InitFailure) -> Text {
    let message = join_reasons(&failure.reasons);
    // A failure without an id is about the one that was asked about.
    if !failure.id.is_empty() {
        state.id = ResourceId::from(failure.id);
    }
    state.outputs = failure.outputs;
    state.init_errors = failure.reasons;
    state.refresh_before_update = failure.refresh_before_update;
    message
}
