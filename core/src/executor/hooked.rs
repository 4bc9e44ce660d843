//! Running a step with hooks: those before and after it, and its attempts, of which error hooks decide how many there are.
//!
//! Hooks hold no slot: they do not count against the limit of concurrent calls.

use std::sync::Arc;

use crate::{
    diagnostic::Diagnostic,
    event::OperationStatus,
    executor::{
        Executor, Step, StepFailure, StepOutcome, call_limits::CallTurn, outcome::Settled, run::mark_old,
        views,
    },
    provider::{PublishedView, Views},
    resource::ResourceState,
    state::StateRef,
    step::StepOp,
};

/// How often a step may fail before its error hooks are no longer asked.
const MAX_FAILURES: usize = 100;

/// A failed attempt; it is recorded.
struct FailedAttempt {
    failure: StepFailure,
    /// The record of a resource that exists although the attempt failed.
    record: Option<StateRef>,
    /// The steps on views that follow the report of the failure.
    published: Vec<PublishedView>,
}

/// The attempts of one step.
struct Attempts {
    /// The step as the next attempt runs it. Once the resource exists, it is an update of its record.
    trial: Step,
    /// The goal, which a successful attempt replaces by the record.
    goal: Option<Arc<ResourceState>>,
    /// The record that a failed attempt has left.
    kept: Option<StateRef>,
    /// The errors of all attempts, the latest first.
    errors: Vec<String>,
}

impl Attempts {
    fn new(step: &Step) -> Self {
        Self {
            trial: step.clone(),
            goal: step.new.clone(),
            kept: None,
            errors: Vec::new(),
        }
    }

    /// Prepares the next attempt. What an attempt has created is recorded, and is neither lost nor created twice: the
    /// next one updates it, as the next run of the program would.
    fn prepare_next(&mut self) {
        self.trial.new.clone_from(&self.goal);
        self.trial.views = Views::default();
        if let (Some(kept), Some(goal)) = (&self.kept, &self.goal) {
            self.trial.op = StepOp::Update;
            self.trial.old = Some(kept.clone());
            self.trial.ignore_changes.clone_from(&goal.options.ignore_changes);
            self.trial.detail.pending_delete = false;
            self.trial.detail.in_place = true;
        }
    }
}

impl Executor {
    /// Runs one step that has hooks, as [`Self::run_step`] does without.
    ///
    /// # Errors
    /// The step's failure, after it has been reported and recorded.
    pub(super) async fn run_hooked(&self, step: &mut Step) -> Result<StepOutcome, StepFailure> {
        if self.control().is_stopped() {
            self.reporter.report_kept(step);
            return Err(StepFailure::cancelled());
        }
        step.started = self.runtime.clock.elapsed();
        self.reporter.report_start(step);
        // These hooks precede the entry of the beginning: one that fails, or during which the host dies, leaves no pending
        // operation, since the provider has not been called.
        if let Err(failure) = self.run_before_hooks(step).await {
            self.reporter.report_failure(step, &failure);
            return Err(failure);
        }
        let mut attempts = Attempts::new(step);
        let mut failed = None;
        loop {
            let slot = self.applier.limits.step(&attempts.trial).await;
            if self.control().is_stopped() {
                let Some(failed) = failed else {
                    self.reporter.report_given_up(step);
                    return Err(StepFailure::cancelled());
                };
                return self.give_up(step, attempts, failed).await;
            }
            match self.attempt(&mut attempts.trial, slot).await? {
                Ok(settled) => return self.complete(step, &attempts.trial, settled).await,
                Err(attempt) => {
                    let attempt = self.after_attempt(step, &mut attempts, attempt).await?;
                    if attempt.is_final {
                        return self.give_up(step, attempts, attempt.failed).await;
                    }
                    failed = Some(attempt.failed);
                    attempts.prepare_next();
                }
            }
        }
    }

    /// Runs one attempt of a step and records its effect.
    ///
    /// # Errors
    /// When the effect cannot be recorded.
    async fn attempt(
        &self,
        trial: &mut Step,
        slot: Option<CallTurn>,
    ) -> Result<Result<Settled, FailedAttempt>, StepFailure> {
        let scope = self.scope.step(trial.op, &trial.urn);
        views::open(trial, &self.recorder.views);
        let operation = self.recorder.begin(trial).await?;
        let mut applied = match scope.within(self.applier.apply(trial)).await {
            Ok(applied) => applied,
            Err(failure) => {
                scope.failed(failure.kind());
                let published = self.settle_failure(trial, operation, &failure).await?;
                return Ok(Err(FailedAttempt {
                    failure,
                    record: None,
                    published,
                }));
            }
        };
        // As for any step: another one may begin while a success becomes durable, but not while a partial failure does.
        let _held = slot.filter(|_| applied.partial_failure.is_some());
        let mut settled = self.settle(trial, operation, &mut applied).await?;
        let Some(failure) = settled.partial_failure.take() else {
            return Ok(Ok(settled));
        };
        Ok(Err(FailedAttempt {
            failure,
            record: settled.new,
            published: settled.published,
        }))
    }

    /// Decides what follows a failed attempt. The views that it has published are recorded before the next one.
    ///
    /// # Errors
    /// When they cannot be recorded.
    async fn after_attempt(
        &self,
        step: &Step,
        attempts: &mut Attempts,
        mut failed: FailedAttempt,
    ) -> Result<AfterAttempt, StepFailure> {
        attempts
            .errors
            .insert(0, failed.failure.message.reference().to_owned());
        // A preview records nothing: its next attempt is the same again.
        if let Some(record) = failed.record.as_ref().filter(|_| !self.is_preview()) {
            attempts.kept = Some(record.clone());
        }
        match self.retries(step, attempts, &failed.failure).await {
            Ok(false) => Ok(AfterAttempt {
                failed,
                is_final: true,
            }),
            Ok(true) => {
                let published = std::mem::take(&mut failed.published);
                let followed = self.follow_attempt(&attempts.trial, &failed, published).await;
                // The failed step of a view is reported, and has ended the run: its owner has failed, too.
                followed.inspect_err(|_| self.reporter.report_failure(step, &failed.failure))?;
                Ok(AfterAttempt {
                    failed,
                    is_final: false,
                })
            }
            Err(failure) => Ok(AfterAttempt {
                failed: FailedAttempt { failure, ..failed },
                is_final: true,
            }),
        }
    }

    /// Returns whether a failed step is tried again. A run that has ended tries nothing again.
    ///
    /// # Errors
    /// The failure of the step, when an error hook has failed.
    async fn retries(
        &self,
        step: &Step,
        attempts: &Attempts,
        failure: &StepFailure,
    ) -> Result<bool, StepFailure> {
        if !(failure.is_of_provider() && self.has_error_hooks(step)) || self.control().is_cancelled() {
            return Ok(false);
        }
        if attempts.errors.len() >= MAX_FAILURES {
            let text = format!("maximum number of error hook retries ({MAX_FAILURES}) reached");
            self.diagnose(Diagnostic::warning(text).about(step.urn.clone()));
            return Ok(false);
        }
        let existing = attempts.kept.as_ref().or(match step.new {
            // The old record of a replacement is that of another resource.
            Some(_) if step.op != StepOp::Update => None,
            _ => step.old.as_ref(),
        });
        let id = existing.map(|record| record.state.id.clone()).unwrap_or_default();
        match self.ask_error_hooks(step, &id, &attempts.errors).await {
            Ok(retries) => Ok(retries && !self.control().is_stopped()),
            // The hooks were given up: the reason of the end is the cancellation.
            Err(_) if self.control().is_cancelled() => Ok(false),
            Err(text) => {
                let describe = |text: &str| format!("error hooks execution failed: {text}");
                let original = failure.message.library();
                let message = text.map(describe, |text| {
                    format!("{}; the step had failed with: {original}", describe(text))
                });
                Err(StepFailure {
                    message,
                    ..failure.clone()
                })
            }
        }
    }

    /// Runs the steps on the views that a failed attempt has published.
    async fn follow_attempt(
        &self,
        trial: &Step,
        failed: &FailedAttempt,
        published: Vec<PublishedView>,
    ) -> Result<(), StepFailure> {
        match &failed.record {
            Some(record) => self.follow(trial, Some(record), published).await,
            None => self.views().follow_failed(trial, published).await,
        }
    }

    /// Reports that the last attempt of a step has failed.
    async fn give_up(
        &self,
        step: &mut Step,
        attempts: Attempts,
        mut failed: FailedAttempt,
    ) -> Result<StepOutcome, StepFailure> {
        let Attempts { trial, kept, .. } = attempts;
        let record = failed.record.as_ref().or(kept.as_ref());
        if let Some(record) = record {
            step.new = Some(Arc::clone(&record.state));
            mark_old(step);
            if failed.failure.status == OperationStatus::Ok {
                // An earlier attempt has created or changed the resource.
                failed.failure.status = OperationStatus::PartialFailure;
            }
        }
        self.reporter.report_failure(step, &failed.failure);
        let published = std::mem::take(&mut failed.published);
        self.follow_attempt(&trial, &failed, published).await?;
        Err(failed.failure)
    }

    /// Runs the hooks after a step that has succeeded, and reports it. `trial` is its last attempt.
    async fn complete(
        &self,
        step: &mut Step,
        trial: &Step,
        settled: Settled,
    ) -> Result<StepOutcome, StepFailure> {
        let new = settled.new;
        if let Some(new) = &new {
            step.new = Some(Arc::clone(&new.state));
        }
        mark_old(step);
        // The effect is recorded: a failure of these hooks fails the run, and not the step.
        self.run_after_hooks(step, new.as_ref()).await;
        self.reporter.report_success(step, step.op, new.as_ref());
        self.follow(trial, new.as_ref(), settled.published).await?;
        settled.of_views.map_or_else(|| Ok(StepOutcome { new }), Err)
    }
}

/// What follows a failed attempt.
struct AfterAttempt {
    failed: FailedAttempt,
    /// There is no further attempt.
    is_final: bool,
}
