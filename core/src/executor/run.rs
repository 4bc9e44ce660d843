//! Running a step from its announcement to its report, and steps one after the other as a chain.

use std::sync::{Arc, PoisonError, atomic::Ordering};

use crate::{
    diagnostic::{Diagnostic, Severity},
    error::Error,
    event::{EventPayload, OperationStatus, StateMetadata, StepEvent, StepMetadata},
    executor::{Executor, Failure, Step, StepFailure, StepOp, StepOutcome, outcome::Applied},
    provider::ProviderStatus,
    resource::{PendingOperationKind, ResourceState},
    state::{JournalRecord, OperationId, StateId, StateMark, StateRef, may_elide},
};

impl Executor {
    /// Runs steps one after the other; the first failure ends the chain.
    ///
    /// # Errors
    /// The failure of the step that failed, after it has been reported and recorded.
    pub async fn run_chain(&self, mut chain: Vec<Step>) -> Result<StepOutcome, StepFailure> {
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

    /// Runs one step: announcement, beginning, the provider's call, end, report.
    ///
    /// The step is borrowed, and its record is not held twice: very many may be on their way at the same time.
    ///
    /// # Errors
    /// The step's failure, after it has been reported and recorded.
    pub async fn run_step(&self, step: &mut Step) -> Result<StepOutcome, StepFailure> {
        let slot = if self.works(step) {
            Some(self.slots.acquire().await)
        } else {
            None
        };
        if self.control.is_stopped() {
            return Err(StepFailure::cancelled());
        }
        self.emit_pre(step);
        let operation = self.begin(step).await?;
        match self.applied(step).await {
            Ok(applied) => {
                // The provider has done its work: another may begin while this end becomes durable. Where the step
                // failed all the same, nothing may begin before that is known.
                let _held = slot.filter(|_| applied.partial_failure.is_some());
                self.succeed(step, operation, applied).await
            }
            Err(failure) => {
                // Nobody knows how a call ends that was given up: its beginning stays on record.
                let given_up = self.control.is_terminated()
                    && failure.provider_status == Some(ProviderStatus::Cancelled);
                if !given_up {
                    self.record(operation, JournalRecord::Failure { op: step.op })
                        .await?;
                }
                self.report_failure(step, &failure);
                Err(failure)
            }
        }
    }

    /// Does the step's work, and finds out what a refresh came to.
    async fn applied(&self, step: &mut Step) -> Result<Applied, StepFailure> {
        let mut applied = self.apply(step).await?;
        // The refresh before an update is not reported, so nobody asks what it came to.
        let reported = self.options.reports_refresh || step.op != StepOp::Refresh;
        if reported && let Some((diffs, detailed)) = self.refresh_result(step, &mut applied).await? {
            step.diffs = diffs;
            step.detailed_diff = detailed;
        }
        Ok(applied)
    }

    /// Tells whether the step takes a slot: whether a provider works for it.
    fn works(&self, step: &Step) -> bool {
        let Some(subject) = step.subject() else {
            return false;
        };
        subject.custom && !subject.is_provider() && step.provider.is_some() && step.op != StepOp::Same
    }

    async fn begin(&self, step: &Step) -> Result<OperationId, StepFailure> {
        let Some(journal) = &self.journal else {
            return Ok(OperationId(0));
        };
        let operation = journal.next_operation_id();
        let pending = pending_kind(step);
        if pending.is_some() {
            let record = JournalRecord::Begin {
                op: step.op,
                pending,
                old: step.old.clone(),
                new: step.new.clone(),
                keys: step.keys.clone(),
                diffs: step.diffs.clone(),
                detailed_diff: step.detailed_diff.clone(),
            };
            self.record(operation, record).await?;
        }
        Ok(operation)
    }

    /// Makes an entry durable. A store that refuses ends the run: nothing may happen that is not recorded.
    ///
    /// The entry is on its way when this is called; the future only tells when it is durable.
    pub(crate) fn record(
        &self,
        operation: OperationId,
        record: JournalRecord,
    ) -> impl Future<Output = Result<(), StepFailure>> + Send {
        let appended = self
            .journal
            .as_ref()
            .map(|journal| journal.append(operation, record));
        async move {
            match appended {
                Some(appended) => appended.await.map_err(|error| self.fatal(error)),
                None => Ok(()),
            }
        }
    }

    pub(crate) fn fatal(&self, error: Error) -> StepFailure {
        let failure = StepFailure {
            cancelled: true,
            ..StepFailure::new(error.message())
        };
        self.control.fail(Failure::Fatal(error), true);
        failure
    }

    async fn succeed(
        &self,
        step: &mut Step,
        operation: OperationId,
        applied: Applied,
    ) -> Result<StepOutcome, StepFailure> {
        let result_op = applied.result_op.unwrap_or(step.op);
        let new = applied.new.map(|state| mark_secrets(step, state));
        if new.is_some() {
            self.warn_of_secret_id(step);
        }
        let new = new.map(|state| self.identify(step, state));
        if let (Some(new), Some(asked)) = (&new, &mut step.new) {
            // What was asked for has become what there is; nobody needs the former any more.
            asked.clone_from(&new.state);
        }
        if let Some(end) = self.end(step, result_op, new.as_ref()) {
            self.record(operation, end).await?;
        }
        if let Some(new) = new.as_ref().filter(|_| step.op != StepOp::Replace) {
            self.publish(&new.state);
        }
        for warning in applied.warnings {
            self.diagnose(Diagnostic::new(Severity::Warning, warning).about(step.urn.clone()));
        }
        mark_old(step);
        let Some(message) = applied.partial_failure else {
            self.count(step, result_op, new.as_ref());
            let kept = self.keep(step, result_op, new.as_ref());
            self.emit_outputs(step, result_op, new.as_ref(), kept);
            return Ok(StepOutcome {
                new,
                result_op: Some(result_op),
            });
        };
        let failure = StepFailure {
            status: OperationStatus::PartialFailure,
            ..StepFailure::new(message)
        };
        step.new = new.map(|new| new.state);
        self.report_failure(step, &failure);
        Err(failure)
    }

    /// Ids are never secret, whatever a resource's options ask for.
    fn warn_of_secret_id(&self, step: &Step) {
        let Some(new) = step.new.as_ref().filter(|_| step.op != StepOp::Replace) else {
            return;
        };
        if new.additional_secret_outputs.iter().any(|name| name == "id") {
            let text = "The 'id' property cannot be made secret. See pulumi/pulumi#2717 for more details.";
            self.diagnose(Diagnostic::new(Severity::Warning, text).about(step.urn.clone()));
        }
    }

    fn identify(&self, step: &Step, state: Arc<ResourceState>) -> StateRef {
        // A refreshed record stays the record that it is, and so does one in which nothing worth a write changed.
        let kept = step
            .old
            .as_ref()
            .filter(|old| step.op == StepOp::Refresh || is_elided(step, old, &state));
        let kept = kept.map(|old| old.id);
        let id = kept.unwrap_or_else(|| match &self.journal {
            Some(journal) => journal.next_state_id(),
            None => StateId(u64::MAX),
        });
        StateRef { id, state }
    }

    /// Returns what the journal is to hold of the end of a step that brought something about.
    fn end(&self, step: &Step, result_op: StepOp, new: Option<&StateRef>) -> Option<JournalRecord> {
        let skipped = step.detail.skipped_create || matches!(step.op, StepOp::Replace);
        if self.journal.is_none() || skipped {
            return None;
        }
        let old = step.old.as_ref();
        let mut removed = Vec::new();
        let mut marked = Vec::new();
        let mut recorded = new.cloned();
        match step.op {
            StepOp::CreateReplacement | StepOp::ImportReplacement | StepOp::ReadReplacement => {
                if step.detail.pending_delete || step.op != StepOp::CreateReplacement {
                    marked.extend(old.map(|old| (old.id, StateMark::Delete)));
                } else {
                    // Deleted before: the record stayed only to say that a replacement was pending.
                    removed.extend(old.map(|old| old.id));
                }
            }
            StepOp::DeleteReplaced if step.detail.replacing => {
                marked.extend(old.map(|old| (old.id, StateMark::PendingReplacement)));
                recorded = None;
            }
            StepOp::Delete
            | StepOp::DeleteReplaced
            | StepOp::Discard
            | StepOp::DiscardReplaced
            | StepOp::RemovePendingReplace => {
                removed.extend(old.map(|old| old.id));
                recorded = None;
            }
            _ => removed.extend(old.map(|old| old.id)),
        }
        let elided = matches!((old, &recorded), (Some(old), Some(new)) if is_elided(step, old, &new.state));
        Some(JournalRecord::Success {
            op: step.op,
            result_op,
            removed,
            marked,
            in_place: step.op == StepOp::Refresh,
            new: recorded,
            elided,
        })
    }

    fn count(&self, step: &Step, result_op: StepOp, new: Option<&StateRef>) {
        let op = if step.op == StepOp::Refresh && self.options.reports_refresh {
            result_op
        } else {
            step.op
        };
        let counted = step.is_logical() || (step.op == StepOp::Refresh && self.options.reports_refresh);
        // A read counts when it found something else than before; a first one found nothing else.
        let unchanged_read = step.op == StepOp::Read
            && !matches!((&step.old, new), (Some(old), Some(new)) if old.state.outputs != new.state.outputs);
        if counted && !step.is_internal() && !unchanged_read {
            self.counts.add(op);
        }
    }

    /// Keeps what changed something for the result; events share it.
    fn keep(&self, step: &Step, result_op: StepOp, new: Option<&StateRef>) -> Option<Arc<StepEvent>> {
        let op = if step.op == StepOp::Refresh {
            result_op
        } else {
            step.op
        };
        if op == StepOp::Same
            || step.is_internal()
            || (step.op == StepOp::Refresh && !self.options.reports_refresh)
        {
            return None;
        }
        let event = Arc::new(self.step_event(step, op, new.map(|new| &new.state)));
        self.changed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(Arc::clone(&event));
        Some(event)
    }

    fn report_failure(&self, step: &Step, failure: &StepFailure) {
        if failure.status == OperationStatus::Unknown {
            self.maybe_corrupt.store(true, Ordering::Relaxed);
        }
        let text = if self.is_preview() {
            format!("Preview failed: {}", failure.message)
        } else {
            failure.message.clone()
        };
        let mut diagnostic = Diagnostic::error(text);
        if step.op != StepOp::RemovePendingReplace {
            diagnostic = diagnostic.about(step.urn.clone());
        }
        self.diagnose(diagnostic);
        let steps = self.steps.fetch_add(1, Ordering::Relaxed);
        self.events
            .emit_with(step.is_internal(), || EventPayload::ResourceOperationFailed {
                step: Arc::new(self.step_event(step, step.op, step.new.as_ref())),
                status: failure.status,
                steps,
            });
        let stop = !failure.continues && !self.options.continue_on_error;
        self.control.fail(Failure::Step, stop);
    }

    fn step_event(&self, step: &Step, op: StepOp, new: Option<&Arc<ResourceState>>) -> StepEvent {
        let resource_type = step
            .subject()
            .map(|state| state.resource_type.clone())
            .unwrap_or_default();
        StepEvent {
            metadata: StepMetadata {
                op,
                urn: step.urn.clone(),
                resource_type,
                old: step.old.as_ref().map(|old| StateMetadata(Arc::clone(&old.state))),
                new: new.map(|state| StateMetadata(Arc::clone(state))),
                keys: step.keys.clone(),
                diffs: step.diffs.clone(),
                detailed_diff: step.detailed_diff.clone(),
                logical: op == step.op && step.is_logical(),
                provider: step
                    .subject()
                    .map(|state| state.provider.clone())
                    .unwrap_or_default(),
            },
            planning: self.is_preview(),
        }
    }

    fn emit_pre(&self, step: &Step) {
        self.steps.fetch_add(1, Ordering::Relaxed);
        self.events.emit_with(step.is_internal(), || {
            EventPayload::ResourcePre(Arc::new(self.step_event(step, step.op, step.new.as_ref())))
        });
    }

    /// Reports outputs where the reference engine does: always in previews, else for what a provider manages, for
    /// removals and for refreshes. Components report theirs when they register them.
    fn emit_outputs(
        &self,
        step: &Step,
        result_op: StepOp,
        new: Option<&StateRef>,
        kept: Option<Arc<StepEvent>>,
    ) {
        let custom = step.subject().is_some_and(|state| state.custom);
        let removal = matches!(
            step.op,
            StepOp::Delete
                | StepOp::DeleteReplaced
                | StepOp::Discard
                | StepOp::DiscardReplaced
                | StepOp::RemovePendingReplace
        );
        if !(self.is_preview() || custom || removal || step.op == StepOp::Refresh) {
            return;
        }
        let op = if self.options.reports_refresh && step.op == StepOp::Refresh {
            result_op
        } else {
            step.op
        };
        self.events.emit_with(step.is_internal(), || {
            let kept = kept.filter(|kept| kept.metadata.op == op);
            EventPayload::ResourceOutputs(
                kept.unwrap_or_else(|| Arc::new(self.step_event(step, op, new.map(|new| &new.state)))),
            )
        });
    }

    /// Reports and records the outputs that a component or the stack registered.
    ///
    /// # Errors
    /// When the entry cannot be made durable.
    pub async fn record_outputs(
        &self,
        step: &Step,
        new: StateRef,
        unchanged: bool,
    ) -> Result<(), StepFailure> {
        self.publish(&new.state);
        self.record(
            OperationId(0),
            JournalRecord::Outputs {
                new: new.clone(),
                elided: unchanged,
            },
        )
        .await?;
        self.events.emit_with(step.is_internal(), || {
            EventPayload::ResourceOutputs(Arc::new(self.step_event(step, step.op, Some(&new.state))))
        });
        Ok(())
    }
}

/// Shows the old half of a replacement as it is once the new half exists.
fn mark_old(step: &mut Step) {
    if let (true, Some(old)) = (step.detail.pending_delete, &mut step.old) {
        Arc::make_mut(&mut old.state).delete = true;
    }
}

/// Tells whether the step's end may wait to be written until the operation's.
fn is_elided(step: &Step, old: &StateRef, new: &Arc<ResourceState>) -> bool {
    match step.op {
        StepOp::Same => may_elide(&old.state, new),
        StepOp::Refresh => Arc::ptr_eq(&old.state, new),
        StepOp::Read => *old.state == **new,
        _ => false,
    }
}

/// Returns what a crash in the middle of the step leaves behind.
fn pending_kind(step: &Step) -> Option<PendingOperationKind> {
    match step.op {
        StepOp::Create | StepOp::CreateReplacement => Some(PendingOperationKind::Creating),
        StepOp::Update => Some(PendingOperationKind::Updating),
        StepOp::Delete | StepOp::DeleteReplaced | StepOp::Discard | StepOp::DiscardReplaced => {
            Some(PendingOperationKind::Deleting)
        }
        StepOp::Read | StepOp::ReadReplacement => {
            // Reading again what is recorded leaves nothing to ask about after a crash.
            step.old.is_none().then_some(PendingOperationKind::Reading)
        }
        StepOp::Import | StepOp::ImportReplacement => Some(PendingOperationKind::Importing),
        StepOp::Same | StepOp::Replace | StepOp::Refresh | StepOp::RemovePendingReplace => None,
    }
}

/// Wraps the outputs that the resource's options, or its secret inputs, make secret.
fn mark_secrets(step: &Step, state: Arc<ResourceState>) -> Arc<ResourceState> {
    if step.op == StepOp::Replace {
        return state;
    }
    let outputs = state
        .outputs
        .with_secret_outputs(&state.additional_secret_outputs, &state.inputs);
    if outputs.same_content(&state.outputs) {
        return state;
    }
    let mut state = state;
    Arc::make_mut(&mut state).outputs = outputs;
    state
}
