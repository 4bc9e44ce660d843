//! The step generator: compares recorded state and goals, and produces steps.
//!
//! [`driver`] runs each registration from its claim to its response, as a separate task. Decisions are functions of
//! plain data in files of the same names; only [`claims`] depend on the order of arrival: they decide under a lock that
//! is never held across an await.

mod adopt;
mod ask_provider;
mod autonaming;
mod build;
mod check;
mod claims;
mod context;
mod decide;
mod delete_first;
mod cascade;
mod deleted_with;
mod deletions;
mod dependents;
mod destroy_order;
mod diff;
mod driver;
mod empty;
mod end_of_run;
mod import;
mod matching;
mod outputs;
mod plans;
mod policies;
mod providers;
mod purpose;
mod read;
mod refresh;
mod refusals;
mod registration;
mod replace;
mod replacements;
mod run;
mod steps;
mod targets;

use std::sync::Arc;

use crate::{
    autonaming::Autonamer,
    executor::Executor,
    message::Text,
    moves::AppliedMoves,
    plan::Planning,
    policy::Policies,
    property::PropertyMap,
    provider::ProviderRegistry,
    resource::{Goal, ResourceState},
    state::{PriorState, StateRef},
    urn::Urn,
};

pub(crate) use claims::ClaimGuard;
pub(crate) use empty::EmptyProgram;
pub(crate) use purpose::Purpose;
pub(crate) use run::RunEnded;
pub(crate) use targets::{References, Targeting};

use build::new_state;
use claims::{Claim, Claims, DependencyOrder, Reservation, WaitError};
use context::Context;
use deletions::Deletions;
use outputs::Outputs;
use plans::Plans;
use policies::PolicyChecks;
use providers::ProviderLookup;
use registration::Next;
use replacements::Replacements;
use run::Run;
use targets::Targets;

/// The user's options for the generator.
#[derive(Clone, Debug, Default)]
pub(crate) struct GeneratorOptions {
    /// The stack's name.
    pub stack: String,
    /// The treatment of an update that would delete every resource because the program has registered none.
    pub empty: EmptyProgram,
    /// The project's name.
    pub project: String,
    /// The resources to work on and to replace; `None` without such options.
    pub targeting: Option<Arc<Targeting>>,
    /// Inputs are compared without calling the provider.
    pub use_legacy_diff: bool,
    /// Resource references are not sent to programs.
    pub disable_resource_references: bool,
    /// Output values are not sent to programs.
    pub disable_output_values: bool,
    /// The purpose of the run.
    pub purpose: Purpose,
    /// The moves to apply.
    pub moves: AppliedMoves,
    /// Each record is read when the program registers it.
    pub refreshes: bool,
}

/// Computes the steps for goals and runs them with the executor.
pub(crate) struct Generator {
    context: Context,
    outputs: Outputs,
    deletions: Deletions,
    policies: Option<PolicyChecks>,
    /// `None` leaves names to the providers.
    autonamer: Option<Arc<dyn Autonamer>>,
}

/// The response of a registration.
#[derive(Clone, Debug)]
pub(crate) struct RegisterOutcome {
    /// The record; in previews with its known part.
    pub state: Arc<ResourceState>,
    /// False when the step failed and the run continues.
    pub succeeded: bool,
    /// True when the resource does not exist and its creation was skipped.
    pub unknown: bool,
    /// True when it was not tried because a dependency failed.
    pub skipped: bool,
}

impl RegisterOutcome {
    /// The response of a registration with a record.
    fn done(state: Arc<ResourceState>) -> Self {
        Self {
            state,
            succeeded: true,
            unknown: false,
            skipped: false,
        }
    }

    /// The response of a registration whose step failed.
    fn failed(state: Arc<ResourceState>) -> Self {
        Self {
            succeeded: false,
            ..Self::done(state)
        }
    }

    /// The response of a registration that was not tried because a dependency failed.
    fn skipped(state: Arc<ResourceState>) -> Self {
        Self {
            skipped: true,
            ..Self::failed(state)
        }
    }
}

impl Generator {
    /// Creates a generator over the recorded state.
    #[must_use]
    pub(crate) fn new(
        options: GeneratorOptions,
        base: Arc<PriorState>,
        executor: Arc<Executor>,
        registry: Arc<ProviderRegistry>,
    ) -> Self {
        let control = executor.control().clone();
        let claims = Claims::new(&options.stack, &options.project, &base, control);
        let claims = claims.with_moves(options.moves.clone());
        let run = Run { executor };
        let context = Context {
            options,
            claims: Arc::new(claims),
            providers: ProviderLookup {
                registry,
                base: Arc::clone(&base),
                run: run.clone(),
            },
            plans: Plans::new(run.clone()),
            base,
            run,
            replacements: Replacements::default(),
            adoption: tokio::sync::Mutex::default(),
        };
        Self {
            context,
            outputs: Outputs::default(),
            deletions: Deletions::default(),
            policies: None,
            autonamer: None,
        }
    }

    /// Adds the plan to follow and the plan to make.
    #[must_use]
    pub(crate) fn with_planning(mut self, planning: Option<Arc<Planning>>) -> Self {
        self.context.plans.planning = planning;
        self
    }

    /// Adds policy packs.
    #[must_use]
    pub(crate) fn with_policies(self, policies: Option<Arc<Policies>>) -> Self {
        let run = self.context.run.clone();
        Self {
            policies: policies.map(|policies| PolicyChecks { policies, run }),
            ..self
        }
    }

    /// Adds the autonamer.
    #[must_use]
    pub(crate) fn with_autonamer(self, autonamer: Option<Arc<dyn Autonamer>>) -> Self {
        Self { autonamer, ..self }
    }

    /// Returns the options.
    #[must_use]
    pub(crate) fn options(&self) -> &GeneratorOptions {
        &self.context.options
    }

    /// Returns the executor.
    #[must_use]
    pub(crate) fn executor(&self) -> &Arc<Executor> {
        &self.context.run.executor
    }

    /// Returns the providers of this run.
    #[must_use]
    pub(crate) fn registry(&self) -> &Arc<ProviderRegistry> {
        &self.context.providers.registry
    }

    /// Returns the recorded state before this run.
    #[must_use]
    pub(crate) fn base(&self) -> &Arc<PriorState> {
        &self.context.base
    }

    /// Returns whether a resource was registered in this run.
    #[must_use]
    pub(crate) fn is_registered(&self, urn: &Urn) -> bool {
        self.context.claims.is_seen(urn)
    }

    /// Returns the URNs registered in this run, in no order.
    pub(crate) fn registered(&self) -> Vec<Urn> {
        self.context.claims.seen()
    }

    /// Reports an error of a resource and ends the run.
    pub(crate) fn bail(&self, urn: &Urn, message: impl Into<Text>) -> RunEnded {
        self.context.run.bail(urn, message)
    }

    /// Returns the response of a claimed registration whose provider failed while the run continues.
    pub(crate) fn skip(&self, claim: ClaimGuard, goal: &Goal) -> Result<RegisterOutcome, RunEnded> {
        let state = new_state(goal, claim.urn().clone(), None);
        claim.end(Ok(RegisterOutcome::skipped(Arc::new(state))))
    }

    /// Waits for the registrations of `urns` and of everything below the components among them; then returns the custom
    /// resources that these represent. Unregistered URNs are ignored. The caller ends the wait with the run.
    pub(crate) async fn settled(&self, urns: &[Urn]) -> Vec<Urn> {
        self.context.claims.settled(urns).await
    }

    /// Records the outputs of a component; those of the root stack are kept until [`Self::finish_stack_outputs`].
    ///
    /// # Errors
    /// When no outputs of the component are expected, or the run is ending.
    pub(crate) async fn register_outputs(&self, urn: &Urn, outputs: PropertyMap) -> Result<(), RunEnded> {
        self.outputs.register(&self.context, urn, outputs).await
    }

    /// Records that the next registration requires a default provider, in runs with targets.
    pub(crate) fn expect_provider(&self, provider: impl FnOnce() -> Option<Urn>) {
        if self.context.options.targeting.is_some()
            && let Some(provider) = provider()
        {
            self.context.claims.expect(provider);
        }
    }

    /// Replaces the URNs of skipped resources in references by those of the program.
    pub(crate) fn refer_to_registered(&self, references: References<'_>) {
        targets::refer_to_registered(&self.context, references);
    }

    /// Returns the record that a goal would get, unless a registration has it.
    pub(crate) fn leftover_of(&self, goal: &Goal) -> Option<StateRef> {
        self.context.claims.leftover_of(goal)
    }

    /// Returns the program's URN of a resource; its response may have contained a former one.
    pub(crate) fn registered_urn(&self, urn: &Urn) -> Urn {
        targets::registered_urn(&self.context, urn)
    }

    /// Returns the record of a resource registered in this run, under its own or a former URN.
    pub(crate) fn record_of(&self, urn: &Urn) -> Option<Arc<ResourceState>> {
        targets::record_of(&self.context, urn)
    }

    /// Returns the state of a resource registered in this run: its record, or the state that it would have where it does not
    /// exist and is not created.
    pub(crate) fn registered_state(&self, urn: &Urn) -> Option<Arc<ResourceState>> {
        let skipped = || self.context.claims.skipped(urn);
        self.record_of(urn).or_else(skipped)
    }
}
