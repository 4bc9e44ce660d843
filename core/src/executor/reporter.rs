//! The reporter of steps: their events, their counts, and their entries in the result.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use smol_str::SmolStr;

use crate::{
    diagnostic::Diagnostic,
    error::{Error, ErrorKind},
    event::{
        ChangeCounts, EventPayload, EventSink, OperationStatus, StateMetadata, StepError, StepEvent,
        StepMetadata, StepResult,
    },
    executor::{Control, ExecutorOptions, Failure, Step, StepFailure},
    resource::ResourceState,
    runtime::Clock,
    state::StateRef,
    step::StepOp,
};

/// Reports steps to the listeners of events and to the result of the operation.
pub(crate) struct Reporter {
    options: ExecutorOptions,
    clock: Arc<dyn Clock>,
    events: EventSink,
    control: Control,
    counts: ChangeCounts,
    steps: AtomicU64,
    maybe_corrupt: AtomicBool,
    /// The steps that changed something or failed, in the order in which they ended.
    changed: Mutex<Vec<StepResult>>,
    /// The records that a preview keeps with another parent, URN or options, each before and after.
    rerecorded: Mutex<Vec<Rerecorded>>,
}

/// A record before and after it has got another parent, another URN or other options.
pub(crate) type Rerecorded = [Arc<ResourceState>; 2];

/// Returns whether a kept record gets another parent, another URN or other options.
fn is_rerecorded(old: &ResourceState, new: &ResourceState) -> bool {
    old.parent != new.parent
        || old.urn != new.urn
        || old.protect != new.protect
        || old.retain_on_delete != new.retain_on_delete
        || old.options != new.options
}

impl Reporter {
    pub(super) fn new(
        options: ExecutorOptions,
        clock: Arc<dyn Clock>,
        events: EventSink,
        control: Control,
    ) -> Self {
        Self {
            options,
            clock,
            events,
            control,
            counts: ChangeCounts::new(),
            steps: AtomicU64::new(0),
            maybe_corrupt: AtomicBool::new(false),
            changed: Mutex::default(),
            rerecorded: Mutex::default(),
        }
    }

    /// Returns the event sink.
    pub(crate) fn events(&self) -> &EventSink {
        &self.events
    }

    /// Returns the number of successful steps of each kind.
    pub(crate) fn counts(&self) -> &ChangeCounts {
        &self.counts
    }

    /// Returns whether a failed call left the state of a resource unknown.
    pub(crate) fn maybe_corrupt(&self) -> bool {
        self.maybe_corrupt.load(Ordering::Relaxed)
    }

    /// Removes and returns the steps that changed something or failed, in the order in which they ended.
    pub(crate) fn take_steps(&self) -> Vec<StepResult> {
        std::mem::take(&mut *self.changed())
    }

    /// Adds the counts and the steps of another reporter of the same run.
    pub(super) fn absorb(&self, other: &Self) {
        self.counts.merge(&other.counts);
        self.maybe_corrupt
            .fetch_or(other.maybe_corrupt(), Ordering::Relaxed);
        let mut changed = other.take_steps();
        self.changed().append(&mut changed);
        let mut rerecorded = other.take_rerecorded();
        self.rerecorded().append(&mut rerecorded);
    }

    /// Removes and returns the records that a preview keeps with another parent, URN or options.
    pub(crate) fn take_rerecorded(&self) -> Vec<Rerecorded> {
        std::mem::take(&mut *self.rerecorded())
    }

    fn rerecorded(&self) -> MutexGuard<'_, Vec<Rerecorded>> {
        self.rerecorded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn changed(&self) -> MutexGuard<'_, Vec<StepResult>> {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A refresh that is an operation of its own is reported as its result, every other step as its kind.
    fn reported_op(&self, step: &Step, result_op: StepOp) -> StepOp {
        if step.op == StepOp::Refresh && self.options.reports_refresh {
            result_op
        } else {
            step.op
        }
    }

    /// Reports that a step has succeeded, and with it the deletions that were recorded with it. Such a deletion is not
    /// reported by itself: its record stays when that of its host does.
    pub(super) fn report_success(&self, step: &Step, result_op: StepOp, new: Option<&StateRef>) {
        if step.detail.is_cascaded {
            return;
        }
        for deletion in &step.cascaded {
            self.report_end(deletion, deletion.op, None);
        }
        self.report_end(step, result_op, new);
    }

    fn report_end(&self, step: &Step, result_op: StepOp, new: Option<&StateRef>) {
        self.count(step, result_op, new);
        let kept = self.keep(step, result_op, new);
        self.emit_outputs(step, result_op, new, kept);
    }

    fn count(&self, step: &Step, result_op: StepOp, new: Option<&StateRef>) {
        let counted = step.is_logical() || (step.op == StepOp::Refresh && self.options.reports_refresh);
        // A read counts when its outputs differ from the recorded ones; a first read never does.
        let unchanged_read = step.op == StepOp::Read
            && !matches!((&step.old, new), (Some(old), Some(new)) if old.state.outputs != new.state.outputs);
        if counted && !step.is_internal() && !unchanged_read {
            self.counts.add(self.reported_op(step, result_op));
        }
    }

    /// Adds a step with a change to the result; events share it.
    fn keep(&self, step: &Step, result_op: StepOp, new: Option<&StateRef>) -> Option<Arc<StepEvent>> {
        let op = self.reported_op(step, result_op);
        if self.options.preview
            && matches!(step.op, StepOp::Same | StepOp::Update)
            && let (Some(old), Some(new)) = (&step.old, new)
            && is_rerecorded(&old.state, &new.state)
        {
            let pair = [Arc::clone(&old.state), Arc::clone(&new.state)];
            self.rerecorded().push(pair);
        }
        if op == StepOp::Same
            || step.is_internal()
            || (step.op == StepOp::Refresh && !self.options.reports_refresh)
        {
            return None;
        }
        let event = Arc::new(self.step_event(step, op, new.map(|new| &new.state)));
        self.changed().push(StepResult {
            step: Arc::clone(&event),
            duration: self.duration(step),
            failure: None,
        });
        Some(event)
    }

    /// Reports that a step has failed, and fails the run.
    pub(super) fn report_failure(&self, step: &Step, failure: &StepFailure) {
        if failure.status == OperationStatus::Unknown {
            self.maybe_corrupt.store(true, Ordering::Relaxed);
        }
        let text = if self.options.preview {
            let planned = |text: &str| format!("Preview failed: {text}");
            failure.message.map(planned, str::to_owned)
        } else {
            failure.message.clone()
        };
        let mut diagnostic = Diagnostic::error(text);
        if step.op != StepOp::RemovePendingReplace {
            diagnostic = diagnostic.about(step.urn.clone());
        }
        self.events.diagnostic(diagnostic);
        self.emit_failed(step, failure.status);
        self.report_kept(step);
        let stop = !failure.continues && !self.options.continue_on_error;
        let error = Error::new(ErrorKind::Failed, failure.message.clone()).with_urn(step.urn.clone());
        let cause = failure.cause.clone().or_else(|| provider_error(step, failure));
        let error = match &cause {
            Some(cause) => error.with_facts_of(cause),
            None => error,
        };
        if !step.is_internal() {
            let result = StepResult {
                step: Arc::new(self.step_event(step, step.op, step.new.as_ref())),
                duration: self.duration(step),
                failure: Some(StepError {
                    status: match failure.hides_a_change(step.op) {
                        true => OperationStatus::Unknown,
                        false => failure.status,
                    },
                    refused: false,
                    error: error.clone().scrubbed(|text| self.events.redactor().scrub(text)),
                }),
            };
            self.changed().push(result);
        }
        self.control.fail(Failure::Step(error), stop);
    }

    /// Reports that a step which was announced does not run, because the run has ended. The reason has been reported.
    pub(crate) fn report_given_up(&self, step: &Step) {
        self.emit_failed(step, OperationStatus::Ok);
        self.report_kept(step);
    }

    /// Reports that the deletions which would have been recorded with a step have removed nothing, because it did not.
    pub(crate) fn report_kept(&self, step: &Step) {
        for deletion in &step.cascaded {
            self.emit_failed(deletion, OperationStatus::Ok);
        }
    }

    fn emit_failed(&self, step: &Step, status: OperationStatus) {
        let steps = self.steps.fetch_add(1, Ordering::Relaxed);
        // As in the reference engine, a step that fails in a preview is reported by its diagnostic alone.
        if !self.options.preview {
            self.events
                .emit_with(step.is_internal(), || EventPayload::ResourceOperationFailed {
                    step: Arc::new(self.step_event(step, step.op, step.new.as_ref())),
                    status,
                    steps,
                });
        }
    }

    /// Adds a resource that was refused before it had a step to the result, unless the result has a step of the
    /// resource.
    ///
    /// `old` is its record, `new` the known part of its goal.
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
        let mut changed = self.changed();
        let is_reported = changed.iter().any(|result| {
            let decides = match refusal {
                // A second registration under one URN is refused independently of the first.
                Failure::Bail(error) | Failure::Callback(error) => result.is_failed_by(error),
                _ => true,
            };
            decides && result.step.metadata.urn == subject.urn
        });
        if is_reported {
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
            planning: self.options.preview,
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

    /// Returns the duration of a step; zero in previews.
    fn duration(&self, step: &Step) -> Duration {
        if self.options.preview || step.started.is_zero() {
            return Duration::ZERO;
        }
        self.clock.elapsed().saturating_sub(step.started)
    }

    fn step_event(&self, step: &Step, op: StepOp, new: Option<&Arc<ResourceState>>) -> StepEvent {
        let resource_type = step
            .subject()
            .map(|state| state.resource_type.clone())
            .unwrap_or_default();
        // A plain import replaces nothing; its old record only marks a deleted resource.
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
            planning: self.options.preview,
        }
    }

    /// Announces a step.
    pub(super) fn report_start(&self, step: &Step) {
        self.steps.fetch_add(1, Ordering::Relaxed);
        self.events.emit_with(step.is_internal(), || {
            EventPayload::ResourcePre(Arc::new(self.step_event(step, step.op, step.new.as_ref())))
        });
    }

    /// Reports outputs where the reference engine does: always in previews, else for resources of providers, for views,
    /// for plain deletions and for refreshes. Components report theirs when they register them.
    fn emit_outputs(
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
        if !(self.options.preview || custom || is_reported) {
            return;
        }
        let op = self.reported_op(step, result_op);
        self.events.emit_with(step.is_internal(), || {
            let kept = kept.filter(|kept| kept.metadata.op == op);
            EventPayload::ResourceOutputs(
                kept.unwrap_or_else(|| Arc::new(self.step_event(step, op, new.map(|new| &new.state)))),
            )
        });
    }

    /// Reports the outputs that a component or the stack registered.
    pub(super) fn report_outputs(&self, step: &Step, new: &StateRef) {
        self.events.emit_with(step.is_internal(), || {
            EventPayload::ResourceOutputs(Arc::new(self.step_event(step, step.op, Some(&new.state))))
        });
    }
}

/// Returns the message of a provider that failed as an error that names the provider.
fn provider_error(step: &Step, failure: &StepFailure) -> Option<Error> {
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
