//! The driver: one registration from its claim to its response, in the order of the specification.
//!
//! Each registration is a separate task. The driver awaits claims, providers, policy packs and steps without holding a
//! lock. Decisions are functions of plain data, in files of the same names; effects that collect this
//! data await, too.

use std::{ops::ControlFlow, sync::Arc};

use super::{
    Claim, ClaimGuard, Generator, Next, Purpose, RegisterOutcome, RunEnded, Targets, WaitError,
    adopt::adopt_provider,
    ask_provider::{check, diff, inputs_with_ignored_changes},
    autonaming::propose_name,
    build::{dependencies_of, new_state},
    check::{reserved_names, starts_fresh},
    context::Context,
    decide::{Decision, by_diff, without_diff},
    diff::{Change, Difference},
    import::{import, is_import},
    purpose::{is_not_plain_update, refresh_mode},
    registration::{Registering, StepChain},
    replace::replace,
    steps::{create_before_delete, keep_place, recreate, step, update},
    targets::resolve_former_urns,
};
use crate::{
    message::old_copy,
    plan::Checked,
    resource::{Goal, ProviderReference, ResourceState},
    state::StateRef,
    step::StepOp,
    token::ResourceId,
    urn::Urn,
};

impl Generator {
    /// Claims the goal's URN and record. Never waits: the order of the calls is the order of arrival.
    ///
    /// # Errors
    /// When the claim is refused; it has been reported, and the run ends.
    pub(crate) fn claim(&self, goal: &Goal) -> Result<ClaimGuard, RunEnded> {
        let options = &self.context.options;
        // Cycles are possible only in runs that keep records.
        let keeps_records = options.targeting.is_some() || options.purpose == Purpose::Refresh;
        let needs = keeps_records.then(|| dependencies_of(goal));
        let claimed = self.context.claims.claim(goal, needs);
        claimed.map_err(|error| self.context.run.bail(error.urn(), error.to_string()))
    }

    /// Applies the goal of a claimed resource.
    ///
    /// # Errors
    /// When the registration must stay unanswered because the run is ending.
    pub(crate) async fn register(
        &self,
        mut guard: ClaimGuard,
        goal: Box<Goal>,
    ) -> Result<RegisterOutcome, RunEnded> {
        let claim = guard.begin();
        if self.executor().control().is_stopped() {
            return guard.end(Err(RunEnded));
        }
        let skipped = match self.await_dependencies(&claim.urn, &goal).await {
            Ok(skipped) => skipped,
            Err(ended) => return guard.end(Err(ended)),
        };
        // Boxed: very many registrations wait for others or for their steps; their futures must not contain this one.
        let chain = match Box::pin(self.find_steps(claim, goal, skipped)).await {
            Ok(Next::Run(chain)) => chain,
            Ok(Next::Answer(outcome)) => return guard.end(Ok(outcome)),
            Err(ended) => return guard.end(Err(ended)),
        };
        guard.end(self.run(chain).await)
    }

    /// Waits for the registrations that the resource depends on. Returns the answer of a registration that is not tried
    /// because one of these failed.
    pub(super) async fn await_dependencies(
        &self,
        urn: &Urn,
        goal: &Goal,
    ) -> Result<Option<RegisterOutcome>, RunEnded> {
        let (run, base, claims) = (&self.context.run, &self.context.base, &self.context.claims);
        let needs = dependencies_of(goal);
        for need in &needs {
            adopt_provider(&self.context, need).await?;
        }
        let is_recorded_provider =
            |urn: &Urn| urn.resource_type().starts_with("pulumi:providers:") && base.live(urn).is_some();
        let mut unknown = needs
            .iter()
            .filter(|need| !claims.is_seen(need) && !is_recorded_provider(need));
        let missing = |need: &Urn| {
            let text = format!("resource {urn}'s dependency {need} refers to missing resource");
            run.bail(urn, text)
        };
        if let Some(need) = unknown.next() {
            return Err(missing(need));
        }
        match claims.wait_for(urn, needs).await {
            Ok(()) => Ok(None),
            Err(WaitError::Cycle(other)) => {
                let text = format!("resource {urn} and its dependency {other} wait for each other");
                Err(run.bail(urn, text))
            }
            Err(WaitError::Withdrawn(need)) => Err(missing(&need)),
            Err(WaitError::Failed(_)) if run.executor.options().continue_on_error => {
                let state = Arc::new(new_state(goal, urn.clone(), None));
                Ok(Some(RegisterOutcome::skipped(state)))
            }
            Err(WaitError::Failed(_) | WaitError::RunEnded) => Err(RunEnded),
        }
    }

    /// Waits until the claimed record is neither being adopted nor reserved by a delete-before-replace; returns the
    /// replaced properties if that has deleted it.
    pub(super) async fn begin(
        &self,
        urn: &Urn,
        old: &StateRef,
        goal: &Goal,
    ) -> Result<Option<Vec<String>>, RunEnded> {
        let Context {
            claims,
            adoption,
            run,
            ..
        } = &self.context;
        if claims.is_adopted(old.id) {
            drop(adoption.lock().await);
        }
        let provider = ProviderReference::parse(&goal.provider).ok();
        let provider = provider.and_then(|reference| self.registry().get(&reference));
        let may_wait = run.executor.options().waits_for_registrations
            || provider.is_some_and(|provider| provider.waits_for_registrations);
        claims.begin(urn, old, may_wait).await
    }

    /// Finds the steps that bring a resource to its goal. `skipped` is the answer when the registration is not tried.
    async fn find_steps(
        &self,
        claim: Claim,
        mut goal: Box<Goal>,
        skipped: Option<RegisterOutcome>,
    ) -> Result<Next, RunEnded> {
        let context = &self.context;
        let Claim { urn, old } = claim;
        if let Some(skipped) = skipped {
            let checked = Box::pin(self.check_skipped(urn, old, goal, skipped)).await;
            return checked.map(Next::Answer);
        }
        let mut recreating = match &old {
            Some(old) => self.begin(&urn, old, &goal).await?,
            None => None,
        };

        // Targets and excludes.
        if let Some(targets) = self.targets() {
            let selected = targets.select(&urn, old.as_ref(), &goal, recreating.as_deref());
            if let Some(next) = Box::pin(selected).await? {
                return Ok(next);
            }
            resolve_former_urns(context, &mut goal);
        }

        // Refresh and destroy modes. A record that was deleted for another resource is not read.
        let old = if is_not_plain_update(context) && recreating.is_none() {
            match Box::pin(refresh_mode(context, &urn, old, &goal)).await? {
                ControlFlow::Continue(old) => old,
                ControlFlow::Break(next) => return Ok(next),
            }
        } else {
            old
        };

        if !context.run.executor.is_preview()
            && let Some(text) = unknown_input(&urn, &mut goal)
        {
            return refuse(context, &urn, &goal, text);
        }

        // Provider.
        let provider = context.providers.of_goal(&urn, &goal).await?;
        let seed = context.plans.seed(&urn);
        let mut registering = Registering {
            urn,
            old,
            goal,
            provider,
            seed,
            autonaming: None,
        };
        context.providers.note_renamed(&registering);
        context.plans.check_request(&registering)?;

        // Import.
        let imported = is_import(&registering.goal, registering.old_state());
        if imported {
            if let Some(text) = imported_old_copy(context, &registering) {
                return refuse(context, &registering.urn, &registering.goal, text);
            }
            // A record that was deleted for another resource cannot be replaced.
            let is_deleted = recreating.take().is_some();
            registering.old = match Box::pin(import(context, &registering, is_deleted)).await? {
                ControlFlow::Continue(record) => Some(record),
                ControlFlow::Break(failed) => return Ok(Next::Answer(failed)),
            };
        }

        // Autonaming.
        if let Some(autonamer) = self.autonamer.as_deref() {
            Box::pin(propose_name(&context.run, autonamer, &mut registering)).await?;
        }
        self.decide(&registering, recreating, imported).await
    }

    /// Checks and compares the inputs, and decides which steps to run.
    async fn decide(
        &self,
        registering: &Registering,
        recreating: Option<Vec<String>>,
        imported: bool,
    ) -> Result<Next, RunEnded> {
        let context = &self.context;
        let Registering { urn, old, goal, .. } = registering;
        let old_state = registering.old_state();
        let is_targeted = self.is_replace_target(urn) || old_state.is_some_and(|old| old.taint);
        let fresh = starts_fresh(old_state, recreating.is_some(), is_targeted);
        let (mut new, checked) = self.check_goal(registering, fresh, imported).await?;

        // Policies, which may rewrite the inputs; plans hold what Check returned.
        let plans = &context.plans;
        let planned_inputs = (plans.exist() && checked == Checked::First).then(|| new.inputs.clone());
        if let Some(policies) = &self.policies {
            Box::pin(policies.remediate(registering, &mut new)).await?;
            Box::pin(policies.analyze(goal, &new)).await?;
        }

        // Diff and decision.
        let decision = match (without_diff(old_state, recreating), old) {
            (None, Some(old)) => {
                let difference = diff(context, registering, old, &new, is_targeted).await?;
                if let Some(inputs) = planned_inputs.filter(|_| difference.change != Change::Replace) {
                    plans.check_inputs(registering, &inputs, imported, Checked::Kept)?;
                }
                by_diff(difference, imported)
            }
            (decision, _) => decision.unwrap_or(Decision::Create),
        };

        // Steps.
        let provider = registering.provider.clone();
        let steps = match (decision, old) {
            (Decision::Create, _) | (_, None) => vec![step(StepOp::Create, None, &new, provider)],
            (Decision::Recreate(keys), Some(old)) => recreate(old, &new, provider, keys),
            (Decision::ReplaceExternal, Some(old)) => {
                create_before_delete(old, &new, provider, &Difference::default())
            }
            (Decision::Imported, Some(old)) => {
                return Ok(Next::Answer(RegisterOutcome::done(Arc::clone(&old.state))));
            }
            (Decision::Same, Some(old)) => vec![step(StepOp::Same, Some(old), &new, provider)],
            (Decision::Update(difference), Some(old)) => {
                let ignored = goal.options.ignore_changes.clone();
                vec![update(old, &new, provider, difference, ignored)]
            }
            (Decision::Replace(difference), Some(old)) => {
                let policies = self.policies.as_ref();
                let replaced = replace(context, policies, registering, old, new, difference, is_targeted);
                return Box::pin(replaced).await;
            }
        };
        Ok(Next::Run(registering.chain(new, steps)))
    }

    /// Checks the goal; returns the state with the checked inputs, and what the plan holds of them.
    async fn check_goal(
        &self,
        registering: &Registering,
        fresh: bool,
        imported: bool,
    ) -> Result<(Arc<ResourceState>, Checked), RunEnded> {
        let context = &self.context;
        let Registering { urn, goal, .. } = registering;
        let old_state = registering.old_state();
        let mut new = Arc::new(new_state(goal, urn.clone(), old_state));
        for text in reserved_names(goal) {
            context.run.warn(urn, text);
        }
        let mut inputs = inputs_with_ignored_changes(context, registering, old_state.map(|old| &old.inputs));
        if let Some(provider) = &registering.provider {
            let continued = old_state.filter(|_| !fresh);
            let news = if fresh { goal.inputs.clone() } else { inputs };
            inputs = check(context, registering, provider, continued, news).await?;
        }
        Arc::make_mut(&mut new).inputs = inputs;
        let checked = if fresh || registering.provider.is_none() {
            Checked::Once
        } else {
            Checked::First
        };
        context
            .plans
            .check_inputs(registering, &new.inputs, imported, checked)?;
        Ok((new, checked))
    }

    /// Runs the steps of a registration and turns their outcome into its answer.
    ///
    /// Not an `async fn`, which would store its arguments twice: very many run concurrently.
    fn run(&self, chain: StepChain) -> impl Future<Output = Result<RegisterOutcome, RunEnded>> + Send {
        let context = &self.context;
        let (run, claims, plans) = (&context.run, &context.claims, &context.plans);
        let StepChain { urn, old, new, .. } = chain;
        let mut steps = Vec::with_capacity(chain.steps.len());
        steps.extend(chain.steps.into_iter().flatten());
        let allowed = if chain.is_checked {
            Ok(())
        } else {
            plans.check_steps(&steps)
        };
        if old.as_ref().is_some_and(|old| claims.is_adopted(old.id)) {
            steps.iter_mut().for_each(keep_place);
        }
        let replacement = steps.iter().find(|step| step.op == StepOp::CreateReplacement);
        let replaced = replacement.filter(|step| step.detail.pending_delete);
        let replaced = replaced.and_then(|step| step.old.clone());
        let op = steps.last().map_or(StepOp::Same, |step| step.op);
        if replacement.is_some() {
            claims.mark_replaced(&urn);
        }
        // The steps own the goal's record; the registration needs it only when a failure has a response.
        let asked = run.executor.options().continue_on_error.then_some(new);
        async move {
            allowed?;
            match run.executor.run_chain(steps).await {
                Ok(outcome) => {
                    // Every chain of a registration ends in a record.
                    let record = outcome.new.ok_or(RunEnded)?;
                    self.note_record(op, old, replaced, &record);
                    Ok(RegisterOutcome::done(record.state))
                }
                Err(failure) => run.after_failure(&failure, &asked.ok_or(RunEnded)?),
            }
        }
    }

    /// Records for the rest of the run that a registration has its record.
    fn note_record(&self, op: StepOp, old: Option<StateRef>, replaced: Option<StateRef>, record: &StateRef) {
        let context = &self.context;
        if let Some(replaced) = replaced {
            context.replacements.note(replaced);
        }
        context.plans.note_outputs(&record.state);
        if context.options.purpose == Purpose::Destroy {
            self.deletions.note_registered(record, old.as_ref());
        }
        if !record.state.custom {
            self.outputs.expect(context, op, old, record.clone());
        }
    }

    /// Checks the inputs of a resource that is not tried, if its provider is loaded.
    async fn check_skipped(
        &self,
        urn: Urn,
        old: Option<StateRef>,
        goal: Box<Goal>,
        mut outcome: RegisterOutcome,
    ) -> Result<RegisterOutcome, RunEnded> {
        let context = &self.context;
        if let Some(targets) = self.targets()
            && !targets.is_selected(&urn, &goal, &dependencies_of(&goal))
        {
            return Ok(outcome);
        }
        let reference = ProviderReference::parse(&goal.provider).ok();
        let provider = reference.and_then(|reference| self.registry().get(&reference));
        // Its provider may lack the extension that the inputs belong to.
        let Some(provider) = provider.filter(|_| goal.extension.is_none()) else {
            return Ok(outcome);
        };
        // The outputs of failed resources are unknown, and in an update Check must not get unknown inputs.
        if !context.run.executor.is_preview() && goal.inputs.contains_unknowns() {
            return Ok(outcome);
        }
        let seed = context.plans.seed(&urn);
        let mut registering = Registering {
            urn,
            old,
            goal,
            provider: Some(provider.clone()),
            seed,
            autonaming: None,
        };
        if let Some(autonamer) = self.autonamer.as_deref() {
            propose_name(&context.run, autonamer, &mut registering).await?;
        }
        let old = registering.old_state();
        let news = inputs_with_ignored_changes(context, &registering, old.map(|old| &old.inputs));
        let inputs = check(context, &registering, &provider, old, news).await?;
        Arc::make_mut(&mut outcome.state).inputs = inputs;
        Ok(outcome)
    }

    /// Returns the targets and excludes of the run.
    pub(super) fn targets(&self) -> Option<Targets<'_>> {
        let targeting = self.context.options.targeting.as_deref()?;
        Some(Targets {
            targeting,
            context: &self.context,
        })
    }

    fn is_replace_target(&self, urn: &Urn) -> bool {
        let targeting = self.context.options.targeting.as_ref();
        targeting.is_some_and(|targeting| targeting.replaced.contains(urn))
    }
}

/// Refuses a registration: ends the run, or this resource alone when the run continues after errors.
fn refuse(context: &Context, urn: &Urn, goal: &Goal, text: String) -> Result<Next, RunEnded> {
    if !context.run.executor.options().continue_on_error {
        return Err(context.run.bail(urn, text));
    }
    context.run.fault(urn, text);
    let state = Arc::new(new_state(goal, urn.clone(), None));
    Ok(Next::Answer(RegisterOutcome::skipped(state)))
}

/// Returns why an import would record an old copy, which the end of the run deletes.
fn imported_old_copy(context: &Context, registering: &Registering) -> Option<String> {
    let id = ResourceId::from(registering.goal.options.import_id.as_str());
    let resource = new_state(&registering.goal, registering.urn.clone(), None);
    let copy = context.base.old_copy(&resource, &id)?;
    Some(old_copy(id.as_str(), copy.urn.as_str()))
}

/// Returns why a resource with unknown inputs is refused in a run that is no preview, which would make it without them. A
/// component, which is nothing real, is recorded without.
fn unknown_input(urn: &Urn, goal: &mut Goal) -> Option<String> {
    let place = goal.inputs.unknown_place()?;
    if !goal.custom {
        goal.inputs = std::mem::take(&mut goal.inputs).without_unknowns();
        return None;
    }
    Some(format!(
        "the input '{place}' of the resource '{urn}' is unknown, which is possible in previews only: what it comes from does \
         not exist, because it is not among the targets or has failed; or a function, a component, a method, a transform or a policy returned it"
    ))
}
