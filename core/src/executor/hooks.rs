//! Hooks of resources: which ones a step has, their arguments, and the effects of their failures.

use std::sync::Arc;

use crate::{
    callback::{ErrorHookCall, HookCall, within_deadline},
    diagnostic::Diagnostic,
    error::{Error, ErrorKind, Result},
    executor::{AbandonedCall, Executor, Failure, Step, StepFailure},
    message::Text,
    resource::{HookMoment, ResourceState},
    state::StateRef,
    step::StepOp,
    token::ResourceId,
    urn::Urn,
};

/// Returns the moments before and after a kind of step; `None` for one without hooks.
const fn moments(op: StepOp) -> Option<(HookMoment, HookMoment)> {
    match op {
        StepOp::Create | StepOp::CreateReplacement => {
            Some((HookMoment::BeforeCreate, HookMoment::AfterCreate))
        }
        StepOp::Update => Some((HookMoment::BeforeUpdate, HookMoment::AfterUpdate)),
        StepOp::Delete | StepOp::DeleteReplaced => Some((HookMoment::BeforeDelete, HookMoment::AfterDelete)),
        StepOp::Same
        | StepOp::Replace
        | StepOp::Read
        | StepOp::ReadReplacement
        | StepOp::Refresh
        | StepOp::Discard
        | StepOp::DiscardReplaced
        | StepOp::RemovePendingReplace
        | StepOp::Import
        | StepOp::ImportReplacement => None,
    }
}

/// Returns the moment after a step at which a component with registered outputs has reached its goal; `None` when it
/// was not changed.
const fn completion(op: StepOp) -> Option<HookMoment> {
    match op {
        // The last step of a replacement is its marker.
        StepOp::Create | StepOp::CreateReplacement | StepOp::Replace => Some(HookMoment::AfterCreate),
        StepOp::Update => Some(HookMoment::AfterUpdate),
        _ => None,
    }
}

/// Returns whether hooks run around a step, or after a deletion that is recorded with it.
pub(crate) fn has_hooks(step: &Step) -> bool {
    let is_hooked = |step: &Step| {
        let subject = step.subject().filter(|_| moments(step.op).is_some());
        subject.is_some_and(|state| !state.options.resource_hooks.is_empty())
    };
    is_hooked(step) || step.cascaded.iter().any(is_hooked)
}

/// Returns the old record of a step for its hooks: a creation has none, also when it replaces a resource.
fn old_record(step: &Step) -> Option<Arc<ResourceState>> {
    let creates = matches!(
        step.op,
        StepOp::Create | StepOp::CreateReplacement | StepOp::Replace
    );
    let old = step.old.as_ref().filter(|_| !creates)?;
    Some(Arc::clone(&old.state))
}

/// Returns the arguments of hooks; `new` is the record after the step, if there is one yet.
fn arguments(step: &Step, new: Option<&StateRef>) -> HookCall {
    let old = old_record(step);
    let id = match (new, &old) {
        (Some(new), _) => new.state.id.clone(),
        (None, Some(old)) => old.id.clone(),
        (None, None) => ResourceId::default(),
    };
    HookCall {
        urn: step.urn.clone(),
        id,
        new: new.map(|new| Arc::clone(&new.state)).or_else(|| step.new.clone()),
        old,
        new_outputs: new.map(|new| new.state.outputs.clone()),
    }
}

/// Returns the text of a hook's failure.
fn failure_text(which: &str, name: &str, error: &Error) -> Text {
    let describe = |text: &str| format!("{which} hook {name:?} failed: {text}");
    error.text().map(describe, describe)
}

/// Returns the failure of a step, or of the run after it, with that of a hook as its cause.
fn failure(which: &str, name: &str, error: Error) -> Error {
    let failure = Error::new(ErrorKind::Failed, failure_text(which, name, &error));
    failure.with_phase("hook").with_source(error)
}

impl Executor {
    /// Runs the hooks before a step. All hooks around it must be registered: none runs otherwise.
    ///
    /// # Errors
    /// The first failure of a hook.
    pub(super) async fn run_before_hooks(&self, step: &Step) -> Result<(), StepFailure> {
        let (Some((before, after)), Some(subject)) = (moments(step.op), step.subject()) else {
            return Ok(());
        };
        let (before, after) = (subject.options.hooks(before), subject.options.hooks(after));
        let names = before.iter().chain(after).map(String::as_str);
        let registered = self.hooks().require(names);
        registered.map_err(|error| StepFailure::new(error.text().clone()))?;
        let ran = self.run_hooks("before", before, || arguments(step, None)).await;
        ran.map_err(|error| StepFailure {
            cause: Some(error.clone()),
            ..StepFailure::new(error.text().clone())
        })
    }

    /// Runs the hooks after a step that has been recorded, and after the deletions that were recorded with it.
    ///
    /// Those of a component follow its outputs, and those of a deletion that is recorded with that of another resource
    /// follow that one.
    pub(super) async fn run_after_hooks(&self, step: &Step, new: Option<&StateRef>) {
        let is_component = new.is_some_and(|new| !new.state.custom);
        if !(is_component || step.detail.is_cascaded) {
            let moment = moments(step.op).map(|(_, after)| after);
            self.run_hooks_after(step, moment, new).await;
        }
        for deletion in &step.cascaded {
            let moment = moments(deletion.op).map(|(_, after)| after);
            self.run_hooks_after(deletion, moment, None).await;
        }
    }

    /// Runs the hooks after the step of a component whose outputs have been recorded.
    pub(super) async fn run_completion_hooks(&self, step: &Step, new: &StateRef) {
        if !new.state.custom {
            self.run_hooks_after(step, completion(step.op), Some(new)).await;
        }
    }

    /// Runs the hooks of a moment after a step. A failure is reported and fails the run, not the step: its effect is
    /// recorded.
    async fn run_hooks_after(&self, step: &Step, moment: Option<HookMoment>, new: Option<&StateRef>) {
        let (Some(moment), Some(subject)) = (moment, step.subject()) else {
            return;
        };
        let names = subject.options.hooks(moment);
        let ran = self.run_hooks("after", names, || arguments(step, new)).await;
        if let Err(error) = ran {
            self.diagnose(Diagnostic::error(error.text().clone()).about(step.urn.clone()));
            let error = error.with_urn(step.urn.clone());
            let stop = !self.options().continue_on_error;
            self.control().fail(Failure::Step(error), stop);
        }
    }

    /// Runs hooks one after the other; the first failure ends them. `which` is `before` or `after`.
    async fn run_hooks(&self, which: &str, names: &[String], arguments: impl Fn() -> HookCall) -> Result<()> {
        for name in names {
            let registered = self.hooks().of_resource(name);
            let (hook, options) = registered.map_err(|error| error.with_kind(ErrorKind::Failed))?;
            if self.is_preview() && !options.on_dry_run {
                continue;
            }
            let call = arguments();
            let urn = call.urn.clone();
            let ran = self.until_cancelled(which, name, &urn, hook.run(call)).await;
            let Err(error) = ran else {
                continue;
            };
            if !options.ignore_errors {
                return Err(failure(which, name, error));
            }
            let text = failure_text(which, name, &error);
            self.diagnose(Diagnostic::warning(text).about(urn));
        }
        Ok(())
    }

    /// Asks all error hooks of a failed step whether it is tried again: one that agrees is enough. `id` is that of the
    /// resource, if it exists; `errors` has those of all attempts, the latest first.
    ///
    /// # Errors
    /// The first failure of a hook, which ends the others.
    pub(super) async fn ask_error_hooks(
        &self,
        step: &Step,
        id: &ResourceId,
        errors: &[String],
    ) -> Result<bool, Text> {
        let (Some(operation), Some(subject)) = (step.op.method(), step.subject()) else {
            return Ok(false);
        };
        let mut retries = false;
        for name in subject.options.hooks(HookMoment::OnError) {
            let hook = self.hooks().of_error(name);
            let hook = hook.map_err(|error| error.text().clone())?;
            let call = ErrorHookCall {
                urn: step.urn.clone(),
                id: id.clone(),
                new: step.new.clone(),
                old: old_record(step),
                failed_operation: operation,
                errors: errors.to_vec(),
            };
            let asked = self.until_cancelled("error", name, &step.urn, hook.should_retry(call));
            let answer = asked.await;
            retries |= answer.map_err(|error| failure_text("error", name, &error))?;
        }
        Ok(retries)
    }

    /// Returns whether a step has error hooks that a program of this run can have registered.
    pub(super) fn has_error_hooks(&self, step: &Step) -> bool {
        let subject = step.subject().filter(|_| self.options().has_program);
        subject.is_some_and(|state| !state.options.hooks(HookMoment::OnError).is_empty())
    }

    /// Awaits the call of a hook until its deadline, or until the run is cancelled; none begins after that.
    async fn until_cancelled<T>(
        &self,
        which: &str,
        name: &str,
        urn: &Urn,
        call: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let cancelled = || Error::new(ErrorKind::Cancelled, "the operation was canceled");
        if self.control().is_cancelled() {
            return Err(cancelled());
        }
        let _working = self.activity().working();
        let _awaiting = self.awaiting_code();
        tokio::select! {
            biased;
            result = within_deadline(call, self.options().callback_timeout, self.runtime()) => result,
            () = self.control().cancelled() => {
                let text = format!("{which} hook {name:?} of {urn} did not return");
                self.control().abandon(AbandonedCall::of_function(text, "hook", Some(urn)));
                Err(cancelled())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        resource::HookMoment::{
            AfterCreate, AfterDelete, AfterUpdate, BeforeCreate, BeforeDelete, BeforeUpdate,
        },
        state::StateId,
        token::TypeToken,
    };

    fn record(edit: impl FnOnce(&mut ResourceState)) -> StateRef {
        let urn = Urn::new("dev", "shop", "", "pkg:index:Type", "a");
        let mut state = ResourceState::new(urn, TypeToken::from("pkg:index:Type"), true);
        edit(&mut state);
        StateRef {
            id: StateId(1),
            state: Arc::new(state),
        }
    }

    fn bind(state: &mut ResourceState, moment: HookMoment) {
        let hooks = &mut state.options.resource_hooks;
        hooks.insert(moment.name().to_owned(), vec!["drain".to_owned()]);
    }

    #[test]
    fn each_half_of_a_replacement_has_the_hooks_of_a_creation_or_a_deletion() {
        let table = [
            (StepOp::Create, Some((BeforeCreate, AfterCreate))),
            (StepOp::CreateReplacement, Some((BeforeCreate, AfterCreate))),
            (StepOp::Update, Some((BeforeUpdate, AfterUpdate))),
            (StepOp::Delete, Some((BeforeDelete, AfterDelete))),
            (StepOp::DeleteReplaced, Some((BeforeDelete, AfterDelete))),
            (StepOp::Same, None),
            (StepOp::Import, None),
            (StepOp::Discard, None),
            (StepOp::RemovePendingReplace, None),
        ];
        for (op, expected) in table {
            assert_eq!(moments(op), expected, "{op}");
        }
    }

    #[test]
    fn a_component_is_complete_after_the_last_step_of_its_change() {
        let table = [
            (StepOp::Create, Some(AfterCreate)),
            (StepOp::Replace, Some(AfterCreate)),
            (StepOp::Update, Some(AfterUpdate)),
            (StepOp::Same, None),
        ];
        for (op, expected) in table {
            assert_eq!(completion(op), expected, "{op}");
        }
    }

    #[test]
    fn a_step_has_the_hooks_of_its_record_and_of_deletions_that_are_recorded_with_it() {
        let plain = record(|_| {});
        let hooked = record(|state| bind(state, BeforeDelete));
        let delete = |record: &StateRef| Step::new(StepOp::Delete, Some(record.clone()), None).unwrap();
        assert!(!has_hooks(&delete(&plain)));
        assert!(has_hooks(&delete(&hooked)));
        let host = Step {
            cascaded: Box::new([delete(&hooked)]),
            ..delete(&plain)
        };
        assert!(has_hooks(&host));
        let same = Step::new(StepOp::Same, Some(hooked.clone()), Some(hooked.state)).unwrap();
        assert!(!has_hooks(&same));
    }

    #[test]
    fn the_arguments_have_what_the_step_knows_at_the_moment() {
        let old = record(|state| state.id = "a-1".into());
        let new = record(|state| state.id = "a-2".into());
        let goal = Some(Arc::clone(&new.state));
        let step = |op, old: Option<&StateRef>, goal| Step::new(op, old.cloned(), goal).unwrap();
        let has = |call: &HookCall| (call.new.is_some(), call.old.is_some(), call.new_outputs.is_some());

        let replacement = step(StepOp::CreateReplacement, Some(&old), goal.clone());
        let before = arguments(&replacement, None);
        assert_eq!((has(&before), before.id.as_str()), ((true, false, false), ""));
        let after = arguments(&replacement, Some(&new));
        assert_eq!((has(&after), after.id.as_str()), ((true, false, true), "a-2"));
        let update = arguments(&step(StepOp::Update, Some(&old), goal), None);
        assert_eq!((has(&update), update.id.as_str()), ((true, true, false), "a-1"));
        let delete = arguments(&step(StepOp::Delete, Some(&old), None), None);
        assert_eq!((has(&delete), delete.id.as_str()), ((false, true, false), "a-1"));
    }
}
