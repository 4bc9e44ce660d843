//! Running a step from its announcement to its report, and steps one after the other as a chain.

use std::sync::Arc;

use crate::{
    diagnostic::{Diagnostic, Severity},
    event::OperationStatus,
    executor::{
        Executor, Step, StepFailure, StepOutcome,
        hooks::has_hooks,
        outcome::{Applied, Settled},
        views::{self, ViewRunner},
    },
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
        reason = "its future would hold the argument twice, and very many run at the same time"
    )]
    pub(crate) fn run_chain(
        &self,
        mut chain: Vec<Step>,
    ) -> impl Future<Output = Result<StepOutcome, StepFailure>> + Send {
        async move {
            let mut outcome = StepOutcome::default();
            for step in &mut chain {
                if let (StepOp::Replace, Some(created)) = (step.op, &outcome.new) {
                    // The marker shows the new copy, and that the deletion of the old one is pending.
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
    /// The step is borrowed, so that its record is stored once: very many may run concurrently.
    ///
    /// # Errors
    /// The step's failure, after it has been reported and recorded.
    pub(crate) async fn run_step(&self, step: &mut Step) -> Result<StepOutcome, StepFailure> {
        if has_hooks(step) {
            // Boxed: rare, and large.
            return Box::pin(self.run_hooked(step)).await;
        }
        let slot = self.applier.limits.step(step).await;
        if self.control().is_stopped() {
            self.reporter.report_kept(step);
            return Err(StepFailure::cancelled());
        }
        step.started = self.runtime.clock.elapsed();
        let scope = self.scope.step(step.op, &step.urn);
        self.reporter.report_start(step);
        views::open(step, &self.recorder.views);
        tracing::debug!(target: "stackwright::step", op = step.op.name(), urn = &*self.scope.redacted(step.urn.as_str()), "a step begins");
        let operation = self.recorder.begin(step).await?;
        if self.control().is_terminated() {
            self.withdraw(step, operation).await?;
            self.reporter.report_given_up(step);
            return Err(StepFailure::cancelled());
        }
        // Not a match around the following code: its subject would be held across the wait. Boxed, so that the memory
        // of the call is free while very many steps wait for their beginning or their end to be durable.
        let mut applied = match scope.within(Box::pin(self.applier.apply(step))).await {
            Ok(applied) => applied,
            Err(failure) => {
                tracing::debug!(target: "stackwright::step", op = step.op.name(), urn = &*self.scope.redacted(step.urn.as_str()), error = failure.kind(), "a step has failed");
                scope.failed(failure.kind());
                return Box::pin(self.fail(step, operation, failure)).await;
            }
        };
        if applied.partial_failure.is_some() {
            scope.failed("partial_failure");
        }
        // The provider has finished: another step may begin while this end becomes durable. After a partial failure, no
        // step may begin before it is recorded.
        let _held = slot.filter(|_| applied.partial_failure.is_some());
        self.succeed(step, operation, &mut applied).await
    }

    /// Records that a step whose beginning is recorded does not run: its provider was not called.
    async fn withdraw(&self, step: &Step, operation: OperationId) -> Result<(), StepFailure> {
        views::close(step, &self.reporter);
        let record = JournalRecord::Failure { op: step.op };
        self.recorder.record(operation, record).await
    }

    /// Records and reports that a step has failed.
    async fn fail(
        &self,
        step: &Step,
        operation: OperationId,
        failure: StepFailure,
    ) -> Result<StepOutcome, StepFailure> {
        let after = self.settle_failure(step, operation, &failure).await?;
        self.reporter.report_failure(step, &failure);
        self.views().follow_failed(step, after).await?;
        Err(failure)
    }

    /// Records that a step has failed; returns the steps on views that follow its report.
    pub(super) async fn settle_failure(
        &self,
        step: &Step,
        operation: OperationId,
        failure: &StepFailure,
    ) -> Result<Vec<PublishedView>, StepFailure> {
        let published = views::close(step, &self.reporter);
        let removes = step.new.is_none();
        let (before, after) = match removes {
            true => (published, Vec::new()),
            false => (Vec::new(), published),
        };
        self.views().follow_failed(step, before).await?;
        // The outcome of an abandoned call, or of one without a readable response, is unknown: the beginning stays
        // recorded.
        let abandoned =
            self.control().is_terminated() && failure.provider_status == Some(ProviderStatus::Cancelled);
        if !(abandoned || failure.hides_a_change(step.op)) {
            let record = JournalRecord::Failure { op: step.op };
            self.recorder.record(operation, record).await?;
        }
        Ok(after)
    }

    async fn succeed(
        &self,
        step: &mut Step,
        operation: OperationId,
        applied: &mut Applied,
    ) -> Result<StepOutcome, StepFailure> {
        let settled = self.settle(step, operation, applied).await?;
        let new = settled.new;
        let Some(failure) = settled.partial_failure else {
            self.reporter
                .report_success(step, settled.result_op, new.as_ref());
            self.follow(step, new.as_ref(), settled.published).await?;
            // The resource is removed, according to its provider; the failed step of a view fails the deletion
            // nevertheless.
            return settled.of_views.map_or_else(|| Ok(StepOutcome { new }), Err);
        };
        step.new = new.as_ref().map(|new| Arc::clone(&new.state));
        self.reporter.report_failure(step, &failure);
        self.follow(step, new.as_ref(), settled.published).await?;
        Err(failure)
    }

    /// Records the effect of a step: nothing of it is lost from here on.
    pub(super) async fn settle(
        &self,
        step: &mut Step,
        operation: OperationId,
        applied: &mut Applied,
    ) -> Result<Settled, StepFailure> {
        let recorder = &self.recorder;
        let result_op = applied.result_op.unwrap_or(step.op);
        let new = applied.new.take().map(|state| self.mark_secrets(step, state));
        if new.is_some() {
            self.warn_of_secret_id(step);
        }
        let new = new.map(|state| recorder.identify(step, state));
        if let (Some(new), Some(goal)) = (&new, &mut step.new) {
            // The goal has become the record, and is no longer needed.
            goal.clone_from(&new.state);
        }
        let mut published = views::close(step, &self.reporter);
        let removes = new.is_none() && !step.detail.is_cascaded;
        let mut of_views = None;
        if removes && (!published.is_empty() || recorder.views.has_of_old(step)) {
            let published = std::mem::take(&mut published);
            of_views = Box::pin(self.views().dismiss(step, result_op, published)).await?;
        }
        let cascaded = step.cascaded.iter();
        for deletion in cascaded.filter(|deletion| recorder.views.has_of_old(deletion)) {
            Box::pin(self.views().dismiss(deletion, deletion.op, Vec::new())).await?;
        }
        let end = recorder.end(step, result_op, new.as_ref());
        if let Err(failure) = recorder.record(operation, end).await {
            self.name_unrecorded(step, new.as_ref());
            return Err(failure);
        }
        let exists = step.op != StepOp::Replace && !step.detail.skipped_create;
        if let Some(new) = new.as_ref().filter(|_| exists) {
            recorder.publish(new);
        }
        for warning in applied.warnings.drain(..) {
            self.diagnose(Diagnostic::new(Severity::Warning, warning).about(step.urn.clone()));
        }
        mark_old(step);
        let partial_failure = applied.partial_failure.take().map(|message| StepFailure {
            status: OperationStatus::PartialFailure,
            ..StepFailure::new(message)
        });
        Ok(Settled {
            new,
            result_op,
            partial_failure,
            published,
            of_views,
        })
    }

    /// Runs the steps on the views of a resource that has a record.
    pub(super) async fn follow(
        &self,
        step: &Step,
        new: Option<&StateRef>,
        published: Vec<PublishedView>,
    ) -> Result<(), StepFailure> {
        match new {
            // Boxed: rare, and large.
            Some(new) if !published.is_empty() || self.recorder.views.has_of_old(step) => {
                Box::pin(self.views().follow(step, new, published)).await
            }
            _ => Ok(()),
        }
    }

    pub(super) fn views(&self) -> ViewRunner<'_> {
        ViewRunner {
            recorder: &self.recorder,
            reporter: &self.reporter,
            sanitizer: &self.applier.sanitizer,
        }
    }

    /// Records and reports the outputs that a component or the stack registered. The hooks after the change of a component
    /// run in between.
    ///
    /// # Errors
    /// When the entry cannot be made durable.
    pub(crate) async fn record_outputs(
        &self,
        step: &Step,
        new: StateRef,
        unchanged: bool,
    ) -> Result<(), StepFailure> {
        self.recorder.publish(&new);
        let record = JournalRecord::Outputs {
            new: new.clone(),
            elide_write: unchanged,
        };
        self.recorder.record(OperationId(0), record).await?;
        self.run_completion_hooks(step, &new).await;
        self.reporter.report_outputs(step, &new);
        Ok(())
    }

    /// Wraps the outputs that the resource's options, or its secret inputs, make secret.
    fn mark_secrets(&self, step: &Step, mut state: Arc<ResourceState>) -> Arc<ResourceState> {
        if step.op == StepOp::Replace || step.detail.untargeted {
            return state;
        }
        let marked = state
            .outputs
            .with_secret_outputs(&state.options.additional_secret_outputs, &state.inputs);
        let marked = self.applier.with_secrets_of(marked, &state.inputs);
        if !marked.same_content(&state.outputs) {
            Arc::make_mut(&mut state).outputs = marked;
        }
        state
    }

    /// Names the id of a created resource that could not be recorded: the state may have only its pending creation.
    fn name_unrecorded(&self, step: &Step, new: Option<&StateRef>) {
        let creates = matches!(step.op, StepOp::Create | StepOp::CreateReplacement);
        let real = new.filter(|new| creates && new.state.custom && !new.state.is_provider());
        let Some(id) = real.map(|new| &new.state.id).filter(|id| !id.is_empty()) else {
            return;
        };
        let text = format!(
            "the resource was created with the id {:?}, which could not be recorded at once. Where its creation is a pending operation \
             afterwards, adopt_pending() with this id as resource_id (resourceId in Node) records it; an update would create it again.",
            id.as_str()
        );
        self.diagnose(Diagnostic::new(Severity::Error, text).about(step.urn.clone()));
    }

    /// Warns of an id that is to be secret: ids never are.
    fn warn_of_secret_id(&self, step: &Step) {
        let Some(new) = step.new.as_ref().filter(|_| step.op != StepOp::Replace) else {
            return;
        };
        let mut secret = new.options.additional_secret_outputs.iter();
        if secret.any(|name| name == "id") {
            self.diagnose(Diagnostic::warning(Message::SecretId).about(step.urn.clone()));
        }
    }
}

/// Sets the record of a replacement's old half after the new half was created.
pub(super) fn mark_old(step: &mut Step) {
    if let (true, Some(old)) = (step.detail.pending_delete, &mut step.old) {
        Arc::make_mut(&mut old.state).delete = true;
    }
}
