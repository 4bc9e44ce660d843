//! One registration, from its claim to its answer. Each runs in a task of its own and holds nothing while it waits.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::{
    diagnostic::{Diagnostic, Severity},
    executor::{Step, StepDetail, StepOp},
    generator::{
        Claim, Generator, RegisterOutcome, Unanswered,
        build::new_state,
        claims::{Awaited, Refusal},
        difference::{Difference, Verdict, interpret, trigger_fires},
        skipped,
    },
    property::{PropertyMap, path::PropertyPath},
    provider::{CheckFailure, CheckRequest, DiffChanges, DiffRequest, ProviderError, ProviderHandle},
    resource::{Goal, ProviderReference, ResourceState},
    state::StateRef,
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
}

/// What a registration comes to.
enum Decision {
    /// It is answered already.
    Answer(RegisterOutcome),
    /// These steps make this record of it.
    Run(Arc<ResourceState>, Vec<Option<Step>>),
}

impl Generator {
    /// Claims the goal's URN and record. Never waits: the order of the calls is the order of arrival.
    ///
    /// # Errors
    /// When the claim is refused; it has been reported, and the run ends.
    pub fn claim(&self, goal: &Goal) -> Result<Claim, Unanswered> {
        let refusal = match self
            .claims
            .claim(goal, &self.options.stack, &self.options.project, &self.base)
        {
            Ok(claim) => return Ok(claim),
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
    pub async fn register(&self, claim: Claim, goal: Box<Goal>) -> Result<RegisterOutcome, Unanswered> {
        let urn = claim.urn.clone();
        // A registration that is dropped half-way must not leave others waiting for it.
        let mut finish = FinishOnDrop {
            generator: self,
            urn: &urn,
            succeeded: false,
        };
        let outcome = self.generate(claim, goal).await;
        finish.succeeded = matches!(&outcome, Ok(outcome) if outcome.succeeded);
        drop(finish);
        outcome
    }

    async fn generate(&self, claim: Claim, goal: Box<Goal>) -> Result<RegisterOutcome, Unanswered> {
        let Claim { urn, old } = claim;
        if self.executor.control().is_stopped() {
            return Err(Unanswered::Ending);
        }
        if let Some(skipped) = self.await_dependencies(&urn, &goal).await? {
            return Box::pin(self.check_skipped(urn, old, goal, skipped)).await;
        }
        let recreating = match &old {
            Some(old) => self.claims.begin(&urn, old).await,
            None => None,
        };
        let provider = self.provider_of(&urn, &goal).await?;
        let mut registering = Registering {
            urn,
            old,
            goal,
            provider,
            seed: self.seed(),
        };
        let mut imported = false;
        if self.must_import(&registering) && recreating.is_none() {
            // Rare, and so it is kept out of what every registration has room for.
            registering.old = Some(Box::pin(self.import(&registering)).await?);
            imported = true;
        }
        match self.decide(&registering, recreating, imported).await? {
            Decision::Answer(outcome) => Ok(outcome),
            Decision::Run(new, chain) => {
                // Very many may be on their way: none holds its goal while its steps run.
                let Registering { urn, old, goal, .. } = registering;
                drop(goal);
                self.run(urn, old, new, chain).await
            }
        }
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
        let registering = Registering {
            urn,
            old,
            goal,
            provider: Some(provider.clone()),
            seed: self.seed(),
        };
        let news = self.with_ignored_changes(&registering, olds.as_ref());
        let inputs = self.check(&registering, &provider, olds, news).await?;
        Arc::make_mut(&mut outcome.state).inputs = inputs;
        Ok(outcome)
    }

    fn seed(&self) -> Vec<u8> {
        let mut seed = vec![0; 32];
        self.executor.runtime().random.fill(&mut seed);
        seed
    }

    /// Keeps a recorded provider that the program names without registering it, so that it is not left over.
    async fn keep_provider(&self, urn: &Urn) -> Result<(), Unanswered> {
        if !urn.resource_type().starts_with("pulumi:providers:") {
            return Ok(());
        }
        let Some(record) = self.base.live(urn).filter(|record| self.claims.keep(record)) else {
            return Ok(());
        };
        let detail = StepDetail {
            untargeted: true,
            ..StepDetail::default()
        };
        let step = Step::new(
            StepOp::Same,
            Some(record.clone()),
            Some(Arc::clone(&record.state)),
        );
        match step {
            Some(step) => match self.executor.run_step(&mut step.with_detail(detail)).await {
                Ok(_) => Ok(()),
                Err(_) => Err(Unanswered::Ending),
            },
            None => Ok(()),
        }
    }

    /// Awaits a provider that is made from its record. When that fails the run ends; so it does at a termination.
    pub(super) async fn loaded<T>(
        &self,
        urn: &Urn,
        loading: impl Future<Output = crate::error::Result<T>>,
    ) -> Result<T, Unanswered> {
        tokio::select! {
            biased;
            loaded = loading => loaded.map_err(|error| self.bail(Some(urn), error.message())),
            () = self.executor.terminated() => Err(Unanswered::Ending),
        }
    }

    /// Finds who manages the resource.
    pub(super) async fn provider_of(
        &self,
        urn: &Urn,
        goal: &Goal,
    ) -> Result<Option<ProviderHandle>, Unanswered> {
        if !goal.custom {
            return Ok(None);
        }
        if goal.resource_type.is_provider() {
            return Ok(Some(self.registry.manager()));
        }
        if let Some(provider) = self.registry.get_named(&goal.provider) {
            return Ok(Some(provider));
        }
        let reference = ProviderReference::parse(&goal.provider).map_err(|error| {
            self.bail(
                Some(urn),
                format!(
                    "bad provider reference '{}' for resource {urn}: {error}",
                    goal.provider
                ),
            )
        })?;
        if let Some(provider) = self.registry.get(&reference) {
            return Ok(Some(provider));
        }
        // A provider that the program does not register any more may still be the one that it names.
        match self.base.provider(&reference) {
            Some(state) => self.loaded(urn, self.registry.ensure(state)).await.map(Some),
            None => Err(self.bail(
                Some(urn),
                format!("unknown provider '{reference}' for resource '{urn}'"),
            )),
        }
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
                let difference = if target {
                    Difference::replacement("id")
                } else {
                    self.difference(registering, old, &new).await?
                };
                match difference.verdict {
                    Verdict::Same if imported => return Ok(Decision::Answer(done(Arc::clone(&old.state)))),
                    Verdict::Same => vec![step(StepOp::Same, Some(old), &new, provider)],
                    Verdict::Update => {
                        vec![step(StepOp::Update, Some(old), &new, provider).map(|step| Step {
                            ignore_changes: goal.ignore_changes.clone(),
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
        Ok(Decision::Run(new, chain))
    }

    /// Runs the decided steps and turns what came of them into the registration's answer.
    pub(super) async fn run(
        &self,
        urn: Urn,
        old: Option<StateRef>,
        new: Arc<ResourceState>,
        chain: Vec<Option<Step>>,
    ) -> Result<RegisterOutcome, Unanswered> {
        let mut steps = Vec::with_capacity(chain.len());
        steps.extend(chain.into_iter().flatten());
        let chain = steps;
        let replaced = chain
            .iter()
            .find(|step| step.op == StepOp::CreateReplacement && step.detail.pending_delete)
            .and_then(|step| step.old.clone());
        let op = chain.last().map_or(StepOp::Same, |step| step.op);
        let is_replacement = chain.iter().any(|step| step.op == StepOp::CreateReplacement);
        if is_replacement {
            self.claims.mark_replaced(&urn);
        }
        // The steps hold what they need of what was asked for; it only matters here where a failure is an answer.
        let asked = self.executor.options().continue_on_error.then_some(new);
        match self.executor.run_chain(chain).await {
            Ok(outcome) => {
                if let Some(old) = replaced {
                    self.note_replaced(old);
                }
                // Every chain of a registration ends in a record.
                let Some(record) = outcome.new else {
                    return asked.map(done).ok_or(Unanswered::Ending);
                };
                if !record.state.custom {
                    self.note_component(op, old, record.clone());
                }
                Ok(done(record.state))
            }
            Err(failure) => match asked {
                Some(asked) => self.after_failure(&failure, &asked),
                None => Err(Unanswered::Ending),
            },
        }
    }

    /// Asks the provider to check inputs; what it finds wrong ends the run.
    pub(super) async fn check(
        &self,
        registering: &Registering,
        provider: &ProviderHandle,
        olds: Option<PropertyMap>,
        news: PropertyMap,
    ) -> Result<PropertyMap, Unanswered> {
        let urn = &registering.urn;
        let request = CheckRequest {
            urn: urn.clone(),
            resource_type: registering.goal.resource_type.clone(),
            name: urn.name().to_owned(),
            olds,
            news,
            random_seed: registering.seed.clone(),
            preview: self.executor.is_preview(),
        };
        let response = self.consult(urn, provider.provider.check(request)).await?;
        if response.failures.is_empty() {
            return Ok(response.inputs);
        }
        for failure in &response.failures {
            let text = check_failure_text(registering, failure, &response.inputs);
            self.executor.diagnose(Diagnostic::error(text).about(urn.clone()));
        }
        let message = format!("resource {urn} is invalid");
        self.executor
            .control()
            .fail(crate::executor::Failure::Bail(message), true);
        Err(Unanswered::Ending)
    }

    /// Awaits a question to a provider. A failed one ends the run; so does a termination.
    pub(super) async fn consult<T>(
        &self,
        urn: &Urn,
        question: impl Future<Output = Result<T, ProviderError>>,
    ) -> Result<T, Unanswered> {
        let answered = async {
            let _slot = self.executor.question().await;
            question.await
        };
        tokio::select! {
            biased;
            answer = answered => answer.map_err(|error| {
                if self.executor.control().is_cancelled() { Unanswered::Ending } else { self.bail(Some(urn), error.message) }
            }),
            () = self.executor.terminated() => Err(Unanswered::Ending),
        }
    }

    fn with_ignored_changes(&self, registering: &Registering, old: Option<&PropertyMap>) -> PropertyMap {
        let goal = &registering.goal;
        let (Some(old), false) = (old, goal.ignore_changes.is_empty()) else {
            return goal.inputs.clone();
        };
        let (inputs, failed) = without_ignored(&goal.ignore_changes, old, goal.inputs.clone());
        if !failed.is_empty() {
            let text = format!(
                "cannot ignore changes in added or removed elements of the path: \"{}\"",
                failed.join(", ")
            );
            self.executor
                .diagnose(Diagnostic::new(Severity::Info, text).about(registering.urn.clone()));
        }
        inputs
    }

    /// Finds out what differs between the record and the goal.
    async fn difference(
        &self,
        registering: &Registering,
        old: &StateRef,
        new: &ResourceState,
    ) -> Result<Difference, Unanswered> {
        let urn = &registering.urn;
        if new
            .replace_with
            .iter()
            .any(|other| self.claims.is_replaced(other))
        {
            return Ok(Difference::replacement("replaceWith"));
        }
        if new
            .deleted_with
            .as_ref()
            .is_some_and(|other| self.claims.is_replaced(other))
        {
            return Ok(Difference::replacement("deletedWith"));
        }
        let trigger = new.replacement_trigger.as_ref();
        if !self.executor.is_preview()
            && trigger.is_some_and(crate::property::PropertyValue::contains_unknowns)
        {
            return Err(self.bail(
                Some(urn),
                format!("replacement trigger contains unknowns for {urn}"),
            ));
        }
        if self.provider_replaces(registering, &old.state, new).await? {
            return Ok(Difference::replacement("provider"));
        }
        if trigger_fires(old.state.replacement_trigger.as_ref(), trigger) {
            return Ok(Difference::replacement(""));
        }
        let Some(provider) = &registering.provider else {
            return Ok(Difference::of_component(&old.state.inputs, &new.inputs));
        };
        if self.options.use_legacy_diff && old.state.inputs == new.inputs {
            return Ok(Difference::default());
        }
        let request = diff_request(
            &old.state,
            new.inputs.clone(),
            &new.ignore_changes,
            self.executor.is_preview(),
        );
        let response = self
            .consult(
                urn,
                provider.provider.diff(DiffRequest {
                    urn: urn.clone(),
                    ..request
                }),
            )
            .await?;
        if let Some(text) = &response.unavailable {
            self.executor
                .diagnose(Diagnostic::warning(text.clone()).about(urn.clone()));
        }
        let paths = self.parsed_paths(urn, &new.replace_on_changes)?;
        // What the engine compares itself is what Check gave, and that may have put an ignored change back.
        let compared = if response.changes == DiffChanges::Unknown {
            without_ignored(&new.ignore_changes, &old.state.inputs, new.inputs.clone()).0
        } else {
            new.inputs.clone()
        };
        Ok(interpret(
            response,
            &old.state.inputs,
            &compared,
            &paths,
            !old.state.init_errors.is_empty(),
            old.state.pending_replacement,
        ))
    }

    pub(super) fn parsed_paths(&self, urn: &Urn, paths: &[String]) -> Result<Vec<PropertyPath>, Unanswered> {
        paths
            .iter()
            .map(|text| {
                PropertyPath::parse(text).map_err(|error| self.bail(Some(urn), error.message().to_owned()))
            })
            .collect()
    }

    /// Tells whether another provider manages the resource now, and one that cannot go on with what exists.
    async fn provider_replaces(
        &self,
        registering: &Registering,
        old: &ResourceState,
        new: &ResourceState,
    ) -> Result<bool, Unanswered> {
        if old.provider == new.provider {
            return Ok(false);
        }
        let (Ok(before), Ok(after)) = (
            ProviderReference::parse(&old.provider),
            ProviderReference::parse(&new.provider),
        ) else {
            return Ok(true);
        };
        let renamed = before.urn != after.urn && self.claims.current_urn(&before.urn) == after.urn;
        if renamed {
            return Ok(false);
        }
        let Some(recorded) = self.base.provider(&before) else {
            return Ok(true);
        };
        let question = self.registry.replaces_resources(recorded, &after);
        self.consult(&registering.urn, question).await
    }

    fn is_replace_target(&self, urn: &Urn) -> bool {
        self.options
            .replace_targets
            .iter()
            .any(|target| target == urn.as_str())
    }
}

/// Puts back what is ignored at `paths`; also returns the paths where that cannot be done.
fn without_ignored<'a>(
    paths: &'a [String],
    old: &PropertyMap,
    mut inputs: PropertyMap,
) -> (PropertyMap, Vec<&'a str>) {
    let mut failed = Vec::new();
    for text in paths {
        let Ok(path) = PropertyPath::parse(text) else {
            continue;
        };
        if !path.reset(old, &mut inputs) {
            failed.push(text.as_str());
        }
    }
    (inputs, failed)
}

/// Builds the question whether a recorded resource differs from new inputs.
pub(super) fn diff_request(
    old: &ResourceState,
    news: PropertyMap,
    ignore_changes: &[String],
    preview: bool,
) -> DiffRequest {
    DiffRequest {
        urn: old.urn.clone(),
        resource_type: old.resource_type.clone(),
        name: old.urn.name().to_owned(),
        id: old.id.clone(),
        old_inputs: old.inputs.clone(),
        old_outputs: old.outputs.clone(),
        news,
        ignore_changes: ignore_changes.to_vec(),
        preview,
    }
}

/// Builds a step of a chain.
pub(super) fn step(
    op: StepOp,
    old: Option<&StateRef>,
    new: &Arc<ResourceState>,
    provider: Option<ProviderHandle>,
) -> Option<Step> {
    Step::new(op, old.cloned(), Some(Arc::clone(new))).map(|step| step.with_provider(provider))
}

/// Builds the steps of a replacement whose old half goes at the end of the run.
impl Generator {
    pub(super) fn create_before_delete(
        &self,
        old: &StateRef,
        new: &Arc<ResourceState>,
        provider: Option<ProviderHandle>,
        difference: &Difference,
    ) -> Vec<Option<Step>> {
        let detail = StepDetail {
            pending_delete: true,
            ..StepDetail::default()
        };
        [StepOp::CreateReplacement, StepOp::Replace]
            .into_iter()
            .map(|op| {
                step(op, Some(old), new, provider.clone()).map(|step| {
                    step.with_detail(detail).with_diff(
                        difference.keys.clone(),
                        difference.diffs.clone(),
                        difference.detailed.clone(),
                    )
                })
            })
            .collect()
    }
}

/// Returns the resources that must have records before one with this goal can have its own.
fn dependencies_of(goal: &Goal) -> Vec<Urn> {
    let listed = goal
        .parent
        .iter()
        .chain(&goal.dependencies)
        .chain(goal.property_dependencies.lists().flatten())
        .chain(&goal.deleted_with)
        .chain(&goal.replace_with);
    let mut seen = FxHashSet::default();
    let mut targets: Vec<Urn> = listed.filter(|urn| seen.insert(*urn)).cloned().collect();
    let provider = goal.provider.rsplit_once("::").map(|(urn, _)| urn);
    targets.extend(provider.and_then(|urn| Urn::parse(urn).ok()));
    targets
}

fn done(state: Arc<ResourceState>) -> RegisterOutcome {
    RegisterOutcome {
        state,
        succeeded: true,
        unknown: false,
        skipped: false,
    }
}

fn check_failure_text(registering: &Registering, failure: &CheckFailure, inputs: &PropertyMap) -> String {
    let resource_type = &registering.goal.resource_type;
    let (name, reason) = (registering.urn.name(), &failure.reason);
    if failure.property.is_empty() {
        return format!("{resource_type} resource '{name}' has a problem: {reason}");
    }
    let value = PropertyPath::parse(&failure.property)
        .ok()
        .and_then(|path| path.get(inputs).cloned());
    // The reference engine prints the value in braces; a secret one is not printed at all.
    let value = value.map_or_else(
        || "{<nil>}".to_owned(),
        |value| format!("{{{}}}", plain_text(&value)),
    );
    format!(
        "{resource_type} resource '{name}': property {} value {value} has a problem: {reason}",
        failure.property
    )
}

fn plain_text(value: &crate::property::PropertyValue) -> String {
    match value {
        crate::property::PropertyValue::String(text) => text.to_string(),
        crate::property::PropertyValue::Null => "<nil>".to_owned(),
        crate::property::PropertyValue::Number(number) => number.to_string(),
        _ if value.contains_secrets() => "[secret]".to_owned(),
        _ => format!("{value:?}"),
    }
}

/// Ends a registration however its task ends.
pub(super) struct FinishOnDrop<'a> {
    pub(super) generator: &'a Generator,
    pub(super) urn: &'a Urn,
    pub(super) succeeded: bool,
}

impl Drop for FinishOnDrop<'_> {
    fn drop(&mut self) {
        self.generator.claims.finish(self.urn, self.succeeded);
    }
}
