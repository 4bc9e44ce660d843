//! One registration, from its claim to its answer. Each runs in a task of its own and holds nothing while it waits.

use std::{ops::ControlFlow, sync::Arc};

use rustc_hash::FxHashSet;

use crate::{
    executor::Step,
    generator::{
        Claim, ClaimGuard, Generator, RegisterOutcome, Unanswered,
        build::new_state,
        claims::{Awaited, Refusal},
        difference::{Difference, Verdict},
        planned::{Planned, done, step},
        skipped,
    },
    plan::Checked,
    provider::{Autonaming, ProviderHandle},
    resource::{Goal, ProviderReference},
    state::StateRef,
    step::StepOp,
    urn::Urn,
};

/// A registration in progress.
pub(super) struct Registering {
    pub(super) urn: Urn,
    pub(super) old: Option<StateRef>,
    pub(super) goal: Box<Goal>,
    pub(super) provider: Option<ProviderHandle>,
    /// 32 bytes that stay the same however often the inputs are checked.
    pub(super) seed: Vec<u8>,
    /// What the provider is told about the real thing's name, however often the inputs are checked.
    pub(super) autonaming: Option<Autonaming>,
}

/// What a registration comes to.
pub(super) enum Decision {
    /// It is answered already.
    Answer(RegisterOutcome),
    /// Steps have to run.
    Run(Planned),
}

impl Generator {
    /// Claims the goal's URN and record. Never waits: the order of the calls is the order of arrival.
    ///
    /// # Errors
    /// When the claim is refused; it has been reported, and the run ends.
    pub(crate) fn claim(self: &Arc<Self>, goal: &Goal) -> Result<ClaimGuard, Unanswered> {
        let needs = self.may_find_circles().then(|| dependencies_of(goal));
        let (stack, project) = (&self.options.stack, &self.options.project);
        let refusal = match self.claims.claim(goal, needs, stack, project, &self.base) {
            Ok(claim) => return Ok(ClaimGuard::new(self, claim)),
            Err(refusal) => refusal,
        };
        Err(match refusal {
            Refusal::MissingParent(parent) => {
                let urn = Urn::new(&self.options.stack, &self.options.project, parent.qualified_type(), goal.resource_type.as_str(), &goal.name);
                self.bail(Some(&urn), format!("could not find parent resource {parent}"))
            }
            Refusal::Duplicate(urn) => {
                self.bail(Some(&urn), format!("Duplicate resource URN '{urn}'; try giving it a unique name"))
            }
            Refusal::DuplicateAlias { alias, urn, other } => self.bail(
                Some(&urn),
                format!("Duplicate resource alias '{alias}' applied to resource with URN '{urn}' conflicting with resource with URN '{other}'"),
            ),
            Refusal::TakenAsAlias { urn, other } => self.bail(
                Some(&urn),
                format!("Duplicate resource URN '{urn}' conflicting with alias on resource with URN '{other}'"),
            ),
        })
    }

    /// Brings a claimed resource to its goal.
    ///
    /// # Errors
    /// When the registration must stay unanswered because the run is ending.
    pub(crate) async fn register(
        &self,
        mut guard: ClaimGuard,
        goal: Box<Goal>,
    ) -> Result<RegisterOutcome, Unanswered> {
        let claim = guard.begin();
        if self.executor.control().is_stopped() {
            return guard.end(Err(Unanswered::Ending));
        }
        // Very many may be on their way. While they wait for others, and while their steps run, nothing of how the steps
        // are found is held, which therefore has a room of its own.
        let skipped = match self.await_dependencies(&claim.urn, &goal).await {
            Ok(skipped) => skipped,
            Err(unanswered) => return guard.end(Err(unanswered)),
        };
        let planned = match Box::pin(self.generate(claim, goal, skipped)).await {
            Ok(Decision::Run(planned)) => planned,
            Ok(Decision::Answer(outcome)) => return guard.end(Ok(outcome)),
            Err(unanswered) => return guard.end(Err(unanswered)),
        };
        guard.end(self.run(planned).await)
    }

    /// Finds the steps. `skipped` is what the registration is answered with when it is not tried.
    async fn generate(
        &self,
        claim: Claim,
        mut goal: Box<Goal>,
        skipped: Option<RegisterOutcome>,
    ) -> Result<Decision, Unanswered> {
        let Claim { urn, old } = claim;
        if let Some(skipped) = skipped {
            if self.is_left_out(&urn, &goal) {
                return Ok(Decision::Answer(skipped));
            }
            let skipped = Box::pin(self.check_skipped(urn, old, goal, skipped)).await;
            return skipped.map(Decision::Answer);
        }
        let mut recreating = match &old {
            Some(old) => self.begin(&urn, old).await,
            None => None,
        };
        if let Some(targeting) = self.options.targeting.as_deref() {
            let aimed = self.aim(targeting, &urn, old.as_ref(), &goal, recreating.as_deref());
            if let Some(decision) = Box::pin(aimed).await? {
                return Ok(decision);
            }
            self.aim_at_records(&mut goal);
        }
        // Nothing is asked of a record that another's replacement has deleted already.
        let old = if self.deviates() && recreating.is_none() {
            match Box::pin(self.approach(&urn, old, &goal)).await? {
                ControlFlow::Continue(old) => old,
                ControlFlow::Break(outcome) => return Ok(Decision::Answer(outcome)),
            }
        } else {
            old
        };
        let provider = self.provider_of(&urn, &goal).await?;
        let seed = self.seed(&urn);
        let mut registering = Registering {
            urn,
            old,
            goal,
            provider,
            seed,
            autonaming: None,
        };
        self.note_renamed_provider(&registering);
        self.plan_request(&registering)?;
        let mut imported = false;
        if self.must_import(&registering) {
            // Of what was deleted for another's replacement only a reminder is left, which goes with the import.
            let is_reminder = recreating.take().is_some();
            // Rare, and so it is kept out of what every registration has room for.
            registering.old = match Box::pin(self.import(&registering, is_reminder)).await? {
                ControlFlow::Continue(imported) => Some(imported),
                ControlFlow::Break(outcome) => return Ok(Decision::Answer(outcome)),
            };
            imported = true;
        }
        if let Some(autonamer) = self.autonamer.as_deref() {
            Box::pin(self.name(autonamer, &mut registering)).await?;
        }
        self.decide(&registering, recreating, imported).await
    }

    /// Waits until the record that a registration has claimed is not being taken over for something else, and until no
    /// delete-before-replace looks at it; then returns the keys if that has deleted it.
    pub(super) async fn begin(&self, urn: &Urn, old: &StateRef) -> Option<Vec<String>> {
        if self.claims.is_kept(old.id) {
            drop(self.keeping.lock().await);
        }
        self.claims.begin(urn, old).await
    }

    /// Waits for the records that the resource's own must stand behind.
    pub(super) async fn await_dependencies(
        &self,
        urn: &Urn,
        goal: &Goal,
    ) -> Result<Option<RegisterOutcome>, Unanswered> {
        let targets = dependencies_of(goal);
        for target in &targets {
            self.keep_provider(target).await?;
        }
        let missing = |missing: &Urn| {
            self.bail(
                Some(urn),
                format!("resource {urn}'s dependency {missing} refers to missing resource"),
            )
        };
        if let Some(target) = targets.iter().find(|target| !self.knows(target)) {
            return Err(missing(target));
        }
        match self.claims.wait_for(urn, targets).await {
            Awaited::Ready => Ok(None),
            Awaited::Cycle(other) => Err(self.bail(
                Some(urn),
                format!("resource {urn} and its dependency {other} wait for each other"),
            )),
            Awaited::Withdrawn(target) => Err(missing(&target)),
            Awaited::Failed(_) if self.executor.options().continue_on_error => {
                Ok(Some(skipped(Arc::new(new_state(goal, urn.clone(), None)))))
            }
            Awaited::Failed(_) => Err(Unanswered::Ending),
        }
    }

    /// Tells whether a dependency can stand in the snapshot: a resource of this run, or a provider of the last one.
    fn knows(&self, urn: &Urn) -> bool {
        self.claims.is_seen(urn)
            || (urn.resource_type().starts_with("pulumi:providers:") && self.base.live(urn).is_some())
    }

    /// Has the inputs of a resource checked that is not tried, as long as there is a provider to ask.
    async fn check_skipped(
        &self,
        urn: Urn,
        old: Option<StateRef>,
        goal: Box<Goal>,
        mut outcome: RegisterOutcome,
    ) -> Result<RegisterOutcome, Unanswered> {
        let reference = ProviderReference::parse(&goal.provider).ok();
        let Some(provider) = reference.and_then(|reference| self.registry.get(&reference)) else {
            return Ok(outcome);
        };
        // What was not made has no outputs, and an update may not ask about unknown inputs.
        if !self.executor.is_preview() && goal.inputs.contains_unknowns() {
            return Ok(outcome);
        }
        let olds = old.as_ref().map(|old| old.state.inputs.clone());
        let seed = self.seed(&urn);
        let mut registering = Registering {
            urn,
            old,
            goal,
            provider: Some(provider.clone()),
            seed,
            autonaming: None,
        };
        if let Some(autonamer) = self.autonamer.as_deref() {
            self.name(autonamer, &mut registering).await?;
        }
        let news = self.with_ignored_changes(&registering, olds.as_ref());
        let inputs = self.check(&registering, &provider, olds, news).await?;
        Arc::make_mut(&mut outcome.state).inputs = inputs;
        Ok(outcome)
    }

    pub(super) fn seed(&self, urn: &Urn) -> Vec<u8> {
        if let Some(planned) = self.planned_seed(urn) {
            return planned;
        }
        let mut seed = vec![0; 32];
        self.executor.runtime().random.fill(&mut seed);
        seed
    }

    /// Checks, compares and finds the steps.
    async fn decide(
        &self,
        registering: &Registering,
        recreating: Option<Vec<String>>,
        imported: bool,
    ) -> Result<Decision, Unanswered> {
        let Registering { urn, old, goal, .. } = registering;
        let mut new = Arc::new(new_state(goal, urn.clone(), old.as_ref().map(|old| &*old.state)));
        let target = self.is_replace_target(urn) || old.as_ref().is_some_and(|old| old.state.taint);
        let fresh = recreating.is_some() || target || old.as_ref().is_none_or(|old| old.state.external);
        self.warn_of_internal_keys(registering);
        let goal_inputs = self.with_ignored_changes(registering, old.as_ref().map(|old| &old.state.inputs));
        if let Some(provider) = &registering.provider {
            let olds = old
                .as_ref()
                .filter(|_| !fresh)
                .map(|old| old.state.inputs.clone());
            let news = if fresh {
                goal.inputs.clone()
            } else {
                goal_inputs.clone()
            };
            let checked = self.check(registering, provider, olds, news).await?;
            Arc::make_mut(&mut new).inputs = checked;
        } else {
            Arc::make_mut(&mut new).inputs = goal_inputs;
        }
        let checked = if fresh || registering.provider.is_none() {
            Checked::Once
        } else {
            Checked::First
        };
        self.plan_inputs(registering, &new.inputs, imported, checked)?;
        // Policies may rewrite them, which is no matter of plans.
        let checked_inputs = self.planning.is_some().then(|| new.inputs.clone());
        if let Some(policies) = &self.policies {
            Box::pin(self.remediate(policies, registering, &mut new)).await?;
            Box::pin(self.analyze(policies, goal, &new)).await?;
        }
        let provider = registering.provider.clone();
        let chain = match old {
            None => vec![step(StepOp::Create, None, &new, provider)],
            Some(old) if recreating.is_some() => {
                let keys = recreating.unwrap_or_default();
                vec![
                    step(StepOp::Replace, Some(old), &new, provider.clone()),
                    step(StepOp::CreateReplacement, Some(old), &new, provider)
                        .map(|step| step.with_diff(keys, Vec::new(), None)),
                ]
            }
            Some(old) if old.state.external => {
                self.create_before_delete(old, &new, provider, &Difference::default())
            }
            Some(old) => {
                let difference = self.difference(registering, old, &new, target).await?;
                if let Some(inputs) = &checked_inputs
                    && checked == Checked::First
                    && !matches!(difference.verdict, Verdict::Replace)
                {
                    self.plan_inputs(registering, inputs, imported, Checked::Kept)?;
                }
                match difference.verdict {
                    Verdict::Same if imported => return Ok(Decision::Answer(done(Arc::clone(&old.state)))),
                    Verdict::Same => vec![step(StepOp::Same, Some(old), &new, provider)],
                    Verdict::Update => {
                        vec![step(StepOp::Update, Some(old), &new, provider).map(|step| Step {
                            ignore_changes: goal.options.ignore_changes.clone(),
                            ..step.with_diff(difference.keys, difference.diffs, difference.detailed)
                        })]
                    }
                    Verdict::Replace => {
                        let replacement = self.replace(registering, old, new, difference, target);
                        return Box::pin(replacement).await.map(Decision::Answer);
                    }
                }
            }
        };
        Ok(Decision::Run(registering.planned(new, chain)))
    }

    fn is_replace_target(&self, urn: &Urn) -> bool {
        let targeting = self.options.targeting.as_ref();
        targeting.is_some_and(|targeting| targeting.replaced.contains(urn))
    }
}

/// Returns the resources that must have records before one with this goal can have its own.
pub(super) fn dependencies_of(goal: &Goal) -> Vec<Urn> {
    let listed = goal
        .parent
        .iter()
        .chain(&goal.dependencies)
        .chain(goal.property_dependencies.lists().flatten())
        .chain(&goal.options.deleted_with)
        .chain(&goal.options.replace_with);
    let mut seen = FxHashSet::default();
    let mut targets: Vec<Urn> = listed.filter(|urn| seen.insert(*urn)).cloned().collect();
    let provider = goal.provider.rsplit_once("::").map(|(urn, _)| urn);
    targets.extend(provider.and_then(|urn| Urn::parse(urn).ok()));
    targets
}
