//! The effect of one step: the provider call of each kind of step, and the resulting record. One file for each kind.

mod create;
mod delete;
mod import;
mod planned_import;
mod read;
mod refresh;
mod same;
mod update;

use std::sync::Arc;

use crate::{
    executor::{
        AbandonedCall, Activity, Control, ExecutorOptions, Step, StepFailure,
        call_limits::CallLimits,
        outcome::{Applied, join_reasons},
        sanitize::Sanitizer,
    },
    message::Text,
    property::PropertyMap,
    provider::{InitFailure, ProviderError, ProviderStatus},
    resource::ResourceState,
    runtime::{Clock, Timestamp},
    step::StepOp,
    token::ResourceId,
};

type Result<T, E = StepFailure> = std::result::Result<T, E>;

/// Applies steps: makes the provider call of each kind. It records nothing.
pub(super) struct Applier {
    pub(super) options: ExecutorOptions,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) control: Control,
    pub(super) limits: CallLimits,
    pub(super) sanitizer: Sanitizer,
    pub(super) activity: Activity,
}

impl Applier {
    /// Applies a step; a refresh completes it with the differences that it finds.
    pub(super) async fn apply(&self, step: &mut Step) -> Result<Applied> {
        match step.op {
            StepOp::Same => same::same(self, step).await,
            StepOp::Create | StepOp::CreateReplacement => create::create(self, step).await,
            StepOp::Update => update::update(self, step).await,
            StepOp::Delete | StepOp::DeleteReplaced => delete::delete(self, step).await,
            StepOp::Read | StepOp::ReadReplacement => read::read(self, step).await,
            StepOp::Refresh => refresh::refresh(self, step).await,
            StepOp::Import | StepOp::ImportReplacement => match &step.import {
                Some(planned) => planned_import::import(self, step, planned).await,
                None => import::import(self, step).await,
            },
            StepOp::Replace | StepOp::Discard | StepOp::DiscardReplaced | StepOp::RemovePendingReplace => {
                Ok(Applied::of(step.new.clone()))
            }
        }
    }

    /// Awaits a provider's call; a second cancellation abandons it. Steps on views that came with a failure are
    /// published.
    async fn call<T>(
        &self,
        step: &Step,
        phase: &'static str,
        call: impl Future<Output = Result<T, ProviderError>>,
    ) -> Result<T, ProviderError> {
        let _working = self.activity.working();
        let mut result = tokio::select! {
            biased;
            result = call => {
                self.control.note_end(|| AbandonedCall::on(&step.urn, phase));
                result
            }
            () = self.control.terminated() => {
                self.control.abandon(AbandonedCall::on(&step.urn, phase));
                Err(ProviderError::new(
                    ProviderStatus::Cancelled,
                    format!("the {phase} of {} was given up because the operation was terminated", step.urn),
                ))
            }
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

    /// Marks the values at or below the path of a secret in `source`, unless the engine's settings turn that off. Texts
    /// that become secret are redacted from then on.
    pub(super) fn with_secrets_of(&self, values: PropertyMap, source: &PropertyMap) -> PropertyMap {
        if !self.options.nested_secrets {
            return values;
        }
        let marked = values.with_secrets_of(source);
        if !marked.same_content(&values) {
            self.sanitizer.learn(&marked);
        }
        marked
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

/// Returns the new record of a step that must have one.
fn goal(step: &Step) -> Result<&Arc<ResourceState>> {
    let missing = || StepFailure::new("a step without a new record");
    step.new.as_ref().ok_or_else(missing)
}

/// Returns the old record of a step that must have one.
fn record(step: &Step) -> Result<&Arc<ResourceState>> {
    let missing = || StepFailure::new("a step without an old record");
    step.old.as_ref().map(|old| &old.state).ok_or_else(missing)
}

/// Records the state of a resource whose initialization failed, and returns the text of that failure.
fn take_init_failure(state: &mut ResourceState, failure: InitFailure) -> Text {
    let message = join_reasons(&failure.reasons);
    // A failure without an id keeps the id of the request.
    if !failure.id.is_empty() {
        state.id = ResourceId::from(failure.id);
    }
    state.outputs = failure.outputs;
    state.init_errors = failure.reasons;
    state.refresh_before_update = failure.refresh_before_update;
    message
}
