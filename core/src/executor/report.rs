//! What is told of a step: its events, its count, and its place in the result.

use std::{
    sync::{Arc, PoisonError, atomic::Ordering},
    time::Duration,
};

use smol_str::SmolStr;

use crate::{
    diagnostic::Diagnostic,
    error::{Error, ErrorKind},
    event::{EventPayload, OperationStatus, StateMetadata, StepError, StepEvent, StepMetadata, StepResult},
    executor::{Executor, Failure, Step, StepFailure},
    resource::ResourceState,
    state::{JournalRecord, OperationId, StateRef},
    step::StepOp,
};

impl Executor {
    /// A refresh that is an operation of its own is told as what it came to, every other step as what it is.
    fn told_op(&self, step: &Step, result_op: StepOp) -> StepOp {
        if step.op == StepOp::Refresh && self.options.reports_refresh {
            result_op
        } else {
            step.op
        }
    }

    pub(super) fn count(&self, step: &Step, result_op: StepOp, new: Option<&StateRef>) {
        let counted = step.is_logical() || (step.op == StepOp::Refresh && self.options.reports_refresh);
        // A read counts when it found something else than before; a first one found nothing else.
        let unchanged_read = step.op == StepOp::Read
            && !matches!((&step.old, new), (Some(old), Some(new)) if old.state.outputs != new.state.outputs);
        if counted && !step.is_internal() && !unchanged_read {
            self.counts.add(self.told_op(step, result_op));
        }
    }

    /// Keeps what changed something for the result; events share it.
    pub(super) fn keep(
        &self,
        step: &Step,
        result_op: StepOp,
        new: Option<&StateRef>,
    ) -> Option<Arc<StepEvent>> {
        let op = self.told_op(step, result_op);
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
            .push(StepResult {
                step: Arc::clone(&event),
                duration: self.time_of(step),
                failure: None,
            });
        Some(event)
    }

    pub(super) fn report_failure(&self, step: &Step, failure: &StepFailure) {
        if failure.status == OperationStatus::Unknown {
            self.maybe_corrupt.store(true, Ordering::Relaxed);
        }
        let text = if self.is_preview() {
            let planned = |text: &str| format!("Preview failed: {text}");
            failure.message.map(planned, str::to_owned)
        } else {
            failure.message.clone()
        };
        let mut diagnostic = Diagnostic::error(text);
        if step.op != StepOp::RemovePendingReplace {
            diagnostic = diagnostic.about(step.urn.clone());
        }
        self.diagnose(diagnostic);
        let steps = self.steps.fetch_add(1, Ordering::Relaxed);
        if !self.is_preview() {
            // As with the reference engine, only a diagnostic tells of a step that fails in a preview.
            self.events
                .emit_with(step.is_internal(), || EventPayload::ResourceOperationFailed {
                    step: Arc::new(self.step_event(step, step.op, step.new.as_ref())),
                    status: failure.status,
                    steps,
                });
        }
        let stop = !failure.continues && !self.options.continue_on_error;
        let error = Error::new(ErrorKind::Failed, failure.message.clone()).with_urn(step.urn.clone());
        let cause = failure.cause.clone().or_else(|| words_of_provider(step, failure));
        let error = match &cause {
            Some(cause) => error.with_facts_of(cause),
            None => error,
        };
        if !step.is_internal() {
            let result = StepResult {
                step: Arc::new(self.step_event(step, step.op, step.new.as_ref())),
                duration: self.time_of(step),
                failure: Some(StepError {
                    status: match failure.hides_a_change(step.op) {
                        true => OperationStatus::Unknown,
                        false => failure.status,
                    },
                    refused: false,
                    error: error.clone().scrubbed(|text| self.events.redactor().scrub(text)),
                }),
            };
            self.changed
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(result);
        }
        self.control.fail(Failure::Step(error), stop);
    }

    /// Keeps for the result what was refused before it became a step, unless a step says what became of the resource.
    ///
    /// `old` is its record, `new` what is known of what it was to become.
    pub(crate) fn keep_refusal(
        &self,
        op: StepOp,
        old: Option<&Arc<ResourceState>>,
        new: Option<ResourceState>,
        refusal: &Failure,
    ) {
        let new = new.map(Arc::new);
        let Some(subject) = new.as_ref().or(old) else {
            return;
        };
        let mut changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
        let is_told = changed.iter().any(|result| {
            let decides = match refusal {
                // A second registration under one URN is refused whatever became of the first.
                Failure::Bail(error) => result.is_failed_by(error),
                _ => true,
            };
            decides && result.step.metadata.urn == subject.urn
        });
        if is_told {
            return;
        }
        let step = StepEvent {
            metadata: StepMetadata {
                op,
                urn: subject.urn.clone(),
                resource_type: subject.resource_type.clone(),
                old: old.map(|old| StateMetadata(Arc::clone(old))),
                keys: Vec::new(),
                diffs: Vec::new(),
                detailed_diff: None,
                logical: true,
                provider: SmolStr::default(),
                new: new.map(StateMetadata),
            },
            planning: self.is_preview(),
        };
        changed.push(StepResult {
            step: Arc::new(step),
            duration: Duration::ZERO,
            failure: Some(StepError {
                status: OperationStatus::Ok,
                refused: true,
                error: refusal
                    .error()
                    .clone()
                    .scrubbed(|text| self.events.redactor().scrub(text)),
            }),
        });
    }

    /// Returns how long a step has taken; nothing in previews, which do not wait for providers.
    fn time_of(&self, step: &Step) -> Duration {
        if self.is_preview() || step.started.is_zero() {
            return Duration::ZERO;
        }
        self.runtime.clock.elapsed().saturating_sub(step.started)
    }

    fn step_event(&self, step: &Step, op: StepOp, new: Option<&Arc<ResourceState>>) -> StepEvent {
        let resource_type = step
            .subject()
            .map(|state| state.resource_type.clone())
            .unwrap_or_default();
        // A plain import takes the place of nothing; what goes with it only says that something was deleted.
        let old = step.old.as_ref().filter(|_| step.op != StepOp::Import);
        StepEvent {
            metadata: StepMetadata {
                op,
                urn: step.urn.clone(),
                resource_type,
                old: old.map(|old| StateMetadata(Arc::clone(&old.state))),
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

    pub(super) fn emit_pre(&self, step: &Step) {
        self.steps.fetch_add(1, Ordering::Relaxed);
        self.events.emit_with(step.is_internal(), || {
            EventPayload::ResourcePre(Arc::new(self.step_event(step, step.op, step.new.as_ref())))
        });
    }

    /// Reports outputs where the reference engine does: always in previews, else for what a provider manages, for views,
    /// for plain deletions and for refreshes. Components report theirs when they register them.
    pub(super) fn emit_outputs(
        &self,
        step: &Step,
        result_op: StepOp,
        new: Option<&StateRef>,
        kept: Option<Arc<StepEvent>>,
    ) {
        let custom = step
            .subject()
            .is_some_and(|state| state.custom || state.view_of.is_some());
        let is_reported = matches!(step.op, StepOp::Delete | StepOp::Refresh);
        if !(self.is_preview() || custom || is_reported) {
            return;
        }
        let op = self.told_op(step, result_op);
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
    pub(crate) async fn record_outputs(
        &self,
        step: &Step,
        new: StateRef,
        unchanged: bool,
    ) -> Result<(), StepFailure> {
        self.publish(&new);
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

/// Returns what the provider said as an error that names it, when it was the provider that failed.
fn words_of_provider(step: &Step, failure: &StepFailure) -> Option<Error> {
    let partial = failure.status == OperationStatus::PartialFailure;
    if failure.provider_status.is_none() && !partial {
        return None;
    }
    let phase = match step.op {
        _ if step.subject()?.is_provider() => "configure",
        StepOp::Create | StepOp::CreateReplacement => "create",
        StepOp::Update => "update",
        StepOp::Delete | StepOp::DeleteReplaced => "delete",
        StepOp::Same => "configure",
        _ => "read",
    };
    let package = step.subject()?.resource_type.asked_package();
    Some(Error::of_provider(package, phase, failure.message.clone()))
}
