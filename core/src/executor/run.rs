//! Running a step from its announcement to its report, and steps one after the other as a chain.

use std::sync::Arc;

use crate::{
    diagnostic::{Diagnostic, Severity},
    event::OperationStatus,
    executor::{Executor, Step, StepFailure, StepOutcome, outcome::Applied, slots::Call},
    message::Message,
    provider::{ProviderStatus, PublishedView},
    resource::ResourceState,
    state::{JournalRecord, OperationId, StateRef},
    step::StepOp,
};

impl Executor {
    /// Runs steps one after the other; the first failure ends the chain.
    ///
    /// # Errors
    /// The failure of the step that failed, after it has been reported and recorded.
    #[expect(
        clippy::manual_async_fn,
        reason = "it would keep its argument twice, and very many run at the same time"
    )]
    pub(crate) fn run_chain(
        &self,
        mut chain: Vec<Step>,
    ) -> impl Future<Output = Result<StepOutcome, StepFailure>> + Send {
        async move {
            let mut outcome = StepOutcome::default();
            for step in &mut chain {
                if let (StepOp::Replace, Some(created)) = (step.op, &outcome.new) {
                    // The marker shows what was created, and that the old copy waits for its deletion.
                    step.new = Some(Arc::clone(&created.state));
                    mark_old(step);
                }
                let marks_only = step.op == StepOp::Replace;
                let finished = self.run_step(step).await?;
                if finished.new.is_some() && !marks_only {
                    outcome = finished;
                }
            }
            Ok(outcome)
        }
    }

    /// Runs one step: announcement, beginning, the provider's call, end, report.
    ///
    /// The step is borrowed, and its record is not held twice: very many may be on their way at the same time.
    ///
    /// # Errors
    /// The step's failure, after it has been reported and recorded.
    pub(crate) async fn run_step(&self, step: &mut Step) -> Result<StepOutcome, StepFailure> {
        let slot = match self.counted_step(step) {
            Some(call) => Some(self.slots.acquire(call).await),
            None => None,
        };
        if self.control.is_stopped() {
            return Err(StepFailure::cancelled());
        }
        step.started = self.runtime.clock.elapsed();
        self.emit_pre(step);
        self.open_views(step);
        let operation = self.begin(step).await?;
        // Not a match around what follows: its subject would be held as long as that waits. And in a room of its own,
        // which is gone while very many wait for their beginning or their end to be durable.
        let mut applied = match Box::pin(self.applied(step)).await {
            Ok(applied) => applied,
            Err(failure) => return Box::pin(self.failed(step, operation, failure)).await,
        };
        // The provider has done its work: another may begin while this end becomes durable. Where the step
        // failed all the same, nothing may begin before that is known.
        let _held = slot.filter(|_| applied.partial_failure.is_some());
        self.succeed(step, operation, &mut applied).await
    }

    /// Records and reports that a step has failed.
    async fn failed(
        &self,
        step: &Step,
        operation: OperationId,
        failure: StepFailure,
    ) -> Result<StepOutcome, StepFailure> {
        let published = self.close_views(step);
        let removes = step.new.is_none();
        let (before, after) = match removes {
            true => (published, Vec::new()),
            false => (Vec::new(), published),
        };
        self.follow_failed(step, before).await?;
        // How a call ends that was given up is not known, nor what one did that got no readable answer: its beginning
        // stays on record.
        let given_up =
            self.control.is_terminated() && failure.provider_status == Some(ProviderStatus::Cancelled);
        if !(given_up || failure.hides_a_change(step.op)) {
            self.record(operation, JournalRecord::Failure { op: step.op })
                .await?;
        }
        self.report_failure(step, &failure);
        self.follow_failed(step, after).await?;
        Err(failure)
    }

    /// Does the step's work, and finds out what a refresh came to.
    async fn applied(&self, step: &mut Step) -> Result<Applied, StepFailure> {
        let mut applied = self.apply(step).await?;
        if self.tells_of_refresh(step)
            && let Some((diffs, detailed)) = self.refresh_result(step, &mut applied).await?
        {
            step.diffs = diffs;
            step.detailed_diff = detailed;
        }
        Ok(applied)
    }

    /// Returns the provider's call that the step makes; `None` where it takes no slot.
    fn counted_step(&self, step: &Step) -> Option<Call> {
        let provider = step.provider.as_ref().filter(|_| self.works(step))?;
        let waits = provider.waits_for_registrations;
        Some(self.counted_call(&step.urn, step.op.method()?, waits))
    }

    /// Tells whether a provider works for the step.
    pub(super) fn works(&self, step: &Step) -> bool {
        let Some(subject) = step.subject() else {
            return false;
        };
        subject.custom && !subject.is_provider() && step.provider.is_some() && step.op != StepOp::Same
    }

    async fn succeed(
        &self,
        step: &mut Step,
        operation: OperationId,
        applied: &mut Applied,
    ) -> Result<StepOutcome, StepFailure> {
        let result_op = applied.result_op.unwrap_or(step.op);
        let new = applied.new.take().map(|state| mark_secrets(step, state));
        if new.is_some() {
            self.warn_of_secret_id(step);
        }
        let new = new.map(|state| self.identify(step, state));
        if let (Some(new), Some(asked)) = (&new, &mut step.new) {
            // What was asked for has become what there is; nobody needs the former any more.
            asked.clone_from(&new.state);
        }
        let mut published = self.close_views(step);
        let dismisses = new.is_none() && !step.detail.goes_along;
        let mut of_views = None;
        if dismisses && (!published.is_empty() || self.has_views(step)) {
            let published = std::mem::take(&mut published);
            of_views = Box::pin(self.dismiss_views(step, result_op, published)).await?;
        }
        for guest in step.along.iter().filter(|guest| self.has_views(guest)) {
            Box::pin(self.dismiss_views(guest, guest.op, Vec::new())).await?;
        }
        let end = self.end(step, result_op, new.as_ref());
        self.record(operation, end).await?;
        let exists = step.op != StepOp::Replace && !step.detail.skipped_create;
        if let Some(new) = new.as_ref().filter(|_| exists) {
            self.publish(new);
        }
        for warning in applied.warnings.drain(..) {
            self.diagnose(Diagnostic::new(Severity::Warning, warning).about(step.urn.clone()));
        }
        mark_old(step);
        let Some(message) = applied.partial_failure.take() else {
            self.count(step, result_op, new.as_ref());
            let kept = self.keep(step, result_op, new.as_ref());
            self.emit_outputs(step, result_op, new.as_ref(), kept);
            self.follow(step, new.as_ref(), published).await?;
            // The record is gone, as its provider says; the failed step of a view fails the deletion all the same.
            return of_views.map_or_else(|| Ok(StepOutcome { new }), Err);
        };
        let failure = StepFailure {
            status: OperationStatus::PartialFailure,
            ..StepFailure::new(message)
        };
        step.new = new.as_ref().map(|new| Arc::clone(&new.state));
        self.report_failure(step, &failure);
        self.follow(step, new.as_ref(), published).await?;
        Err(failure)
    }

    /// Runs what is to be done to the views of a resource that has a record.
    async fn follow(
        &self,
        step: &Step,
        new: Option<&StateRef>,
        published: Vec<PublishedView>,
    ) -> Result<(), StepFailure> {
        match new {
            // Rare, and much to hold.
            Some(new) if !published.is_empty() || self.has_views(step) => {
                Box::pin(self.follow_views(step, new, published)).await
            }
            _ => Ok(()),
        }
    }

    /// Ids are never secret, whatever a resource's options ask for.
    fn warn_of_secret_id(&self, step: &Step) {
        let Some(new) = step.new.as_ref().filter(|_| step.op != StepOp::Replace) else {
            return;
        };
        if new
            .options
            .additional_secret_outputs
            .iter()
            .any(|name| name == "id")
        {
            self.diagnose(Diagnostic::warning(Message::SecretId).about(step.urn.clone()));
        }
    }
}

/// Shows the old half of a replacement as it is once the new half exists.
fn mark_old(step: &mut Step) {
    if let (true, Some(old)) = (step.detail.pending_delete, &mut step.old) {
        Arc::make_mut(&mut old.state).delete = true;
    }
}

/// Wraps the outputs that the resource's options, or its secret inputs, make secret.
fn mark_secrets(step: &Step, state: Arc<ResourceState>) -> Arc<ResourceState> {
    if step.op == StepOp::Replace || step.detail.untargeted {
        return state;
    }
    let outputs = state
        .outputs
        .with_secret_outputs(&state.options.additional_secret_outputs, &state.inputs);
    if outputs.same_content(&state.outputs) {
        return state;
    }
    let mut state = state;
    Arc::make_mut(&mut state).outputs = outputs;
    state
}
