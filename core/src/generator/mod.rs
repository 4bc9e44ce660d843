//! The step generator: old state and goal in, steps out. Decisions are pure functions; only the task around them waits.
//!
//! Each registration is a task of its own ([`Generator::register`]). What must be decided in the order of arrival, the
//! claims of URNs and of aliases, is decided under a lock that is never held while anybody waits.

mod autonaming;
mod build;
mod claim_guard;
mod claims;
mod delete_first;
mod deletion;
mod dependents;
mod destroy;
mod difference;
mod empty;
mod gone;
mod hooks;
mod import;
mod matching;
mod outputs;
mod planned;
mod planning;
mod policy;
mod providers;
mod purpose;
mod questions;
mod read;
mod refresh;
mod refusals;
mod register;
mod replacement;
mod skipped_create;
mod targets;

use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;

use crate::{
    autonaming::Autonamer,
    diagnostic::Diagnostic,
    error::{Error, ErrorKind},
    executor::{Executor, Failure, StepFailure},
    message::Text,
    plan::Planning,
    policy::Policies,
    provider::ProviderRegistry,
    resource::{Goal, ResourceState},
    state::{Base, StateRef},
    urn::Urn,
};

pub(crate) use claim_guard::ClaimGuard;
pub(crate) use claims::Claim;
pub(crate) use claims::Claims;
pub(crate) use empty::EmptyProgram;
pub(crate) use purpose::Purpose;
pub(crate) use targets::References;
pub(crate) use targets::Targeting;

use build::new_state;

/// What the user's options say to the generator.
#[derive(Clone, Debug, Default)]
pub(crate) struct GeneratorOptions {
    /// The stack's name.
    pub stack: String,
    /// What becomes of an update that would delete every resource because the program has registered none.
    pub empty: EmptyProgram,
    /// The project's name.
    pub project: String,
    /// Which resources are worked on and replaced; `None` when nothing is said of that.
    pub targeting: Option<Arc<Targeting>>,
    /// Inputs are compared without asking the provider.
    pub use_legacy_diff: bool,
    /// Programs are not told of resource references.
    pub disable_resource_references: bool,
    /// Programs are not told of output values.
    pub disable_output_values: bool,
    /// What registrations are for.
    pub purpose: Purpose,
    /// Each record is read when the program registers it.
    pub refreshes: bool,
}

/// Turns goals into steps and hands them to the executor.
pub(crate) struct Generator {
    options: GeneratorOptions,
    base: Arc<Base>,
    claims: Claims,
    executor: Arc<Executor>,
    registry: Arc<ProviderRegistry>,
    components: Mutex<FxHashMap<Urn, outputs::Component>>,
    replaced: Mutex<Vec<StateRef>>,
    /// Held while records are taken over that no registration has claimed.
    keeping: tokio::sync::Mutex<()>,
    /// What is to be deleted although the program has registered it.
    removals: Mutex<Vec<destroy::Removal>>,
    /// `None` where nobody asks about plans.
    planning: Option<Arc<Planning>>,
    policies: Option<Arc<Policies>>,
    /// `None` where names are left to providers.
    autonamer: Option<Arc<dyn Autonamer>>,
}

/// How a registration that was answered came out.
#[derive(Clone, Debug)]
pub(crate) struct RegisterOutcome {
    /// The record; in previews as far as it is known.
    pub state: Arc<ResourceState>,
    /// False when the step failed and the run goes on all the same.
    pub succeeded: bool,
    /// True when the resource does not exist and was left out on purpose.
    pub unknown: bool,
    /// True when it failed because something that it depends on did: nothing was tried.
    pub skipped: bool,
}

/// Why a registration is not answered.
#[derive(Clone, Debug)]
pub(crate) enum Unanswered {
    /// The run is ending; the registration stays unanswered until the monitor shuts down.
    Ending,
}

impl Generator {
    /// Creates a generator over what was recorded.
    #[must_use]
    pub(crate) fn new(
        options: GeneratorOptions,
        base: Arc<Base>,
        executor: Arc<Executor>,
        registry: Arc<ProviderRegistry>,
    ) -> Self {
        Self {
            options,
            base,
            claims: Claims::default(),
            executor,
            registry,
            components: Mutex::default(),
            replaced: Mutex::default(),
            keeping: tokio::sync::Mutex::default(),
            removals: Mutex::default(),
            planning: None,
            policies: None,
            autonamer: None,
        }
    }

    /// Has each registration, and in the end all of them together, looked at by policy packs.
    #[must_use]
    pub(crate) fn with_policies(self, policies: Option<Arc<Policies>>) -> Self {
        Self { policies, ..self }
    }

    /// Returns what the user's options say.
    #[must_use]
    pub(crate) fn options(&self) -> &GeneratorOptions {
        &self.options
    }

    /// Returns the executor.
    #[must_use]
    pub(crate) fn executor(&self) -> &Arc<Executor> {
        &self.executor
    }

    /// Returns the providers of this run.
    #[must_use]
    pub(crate) fn registry(&self) -> &Arc<ProviderRegistry> {
        &self.registry
    }

    /// Returns what was recorded before this run.
    #[must_use]
    pub(crate) fn base(&self) -> &Arc<Base> {
        &self.base
    }

    /// Tells whether a resource was registered in this run.
    #[must_use]
    pub(crate) fn is_registered(&self, urn: &Urn) -> bool {
        self.claims.is_seen(urn)
    }

    /// Returns what was registered in this run, in no order.
    pub(crate) fn registered(&self) -> Vec<Urn> {
        self.claims.seen()
    }

    /// Answers a claimed registration whose provider failed while the run goes on.
    pub(crate) fn skip(&self, claim: ClaimGuard, goal: &Goal) -> Result<RegisterOutcome, Unanswered> {
        let skipped = skipped(Arc::new(new_state(goal, claim.urn().clone(), None)));
        claim.end(Ok(skipped))
    }

    /// Waits for the registrations of `urns` and of what is below the components among them; then returns the custom
    /// resources that these stand for. URNs that nobody has registered are left out.
    pub(crate) async fn settled(&self, urns: &[Urn]) -> Vec<Urn> {
        self.claims.settled(urns).await
    }

    /// Remembers an old copy that is to be deleted at the end of the run.
    fn note_replaced(&self, old: StateRef) {
        if old.state.pending_replacement {
            // It was deleted before, and its record has gone with the replacement.
            return;
        }
        self.replaced
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(old);
    }

    /// Refuses a registration: says why, and ends the run.
    pub(crate) fn bail(&self, urn: Option<&Urn>, message: impl Into<Text>) -> Unanswered {
        self.bail_because(urn, message, None)
    }

    /// The same with the error behind it.
    pub(crate) fn bail_because(
        &self,
        urn: Option<&Urn>,
        message: impl Into<Text>,
        cause: Option<Error>,
    ) -> Unanswered {
        let text = self.tell_fault(urn, message);
        let error = Error::new(ErrorKind::Failed, text);
        let error = match &cause {
            Some(cause) => error.with_facts_of(cause),
            None => error,
        };
        self.executor
            .control()
            .fail(Failure::Bail(about(error, urn)), true);
        Unanswered::Ending
    }

    /// Says what is wrong, and goes on so that all else that is wrong is found too: the run fails in the end.
    pub(crate) fn fault(&self, urn: Option<&Urn>, message: impl Into<Text>) {
        let error = Error::new(ErrorKind::Failed, self.tell_fault(urn, message));
        let failure = Failure::Generation(about(error, urn));
        self.executor.control().fail(failure, false);
    }

    /// Says what is wrong; returns the text.
    pub(crate) fn tell_fault(&self, urn: Option<&Urn>, message: impl Into<Text>) -> Text {
        let text = message.into();
        let mut diagnostic = Diagnostic::error(text.clone());
        if let Some(urn) = urn {
            diagnostic = diagnostic.about(urn.clone());
        }
        self.executor.diagnose(diagnostic);
        text
    }

    /// Ends the run for faults that have been reported; `error` says what the run fails with.
    pub(crate) fn end_for(&self, error: Error) -> Unanswered {
        self.executor.control().fail(Failure::Bail(error), true);
        Unanswered::Ending
    }

    /// Turns a failed step into the registration's fate: an answer when the run goes on, none otherwise.
    fn after_failure(
        &self,
        failure: &StepFailure,
        state: &Arc<ResourceState>,
    ) -> Result<RegisterOutcome, Unanswered> {
        if failure.cancelled || !self.executor.options().continue_on_error {
            return Err(Unanswered::Ending);
        }
        Ok(RegisterOutcome {
            state: Arc::clone(state),
            succeeded: false,
            unknown: false,
            skipped: false,
        })
    }
}

fn about(error: Error, urn: Option<&Urn>) -> Error {
    match urn {
        Some(urn) => error.with_urn(urn.clone()),
        None => error,
    }
}

/// The outcome of a registration that was not tried because something that it depends on failed.
fn skipped(state: Arc<ResourceState>) -> RegisterOutcome {
    RegisterOutcome {
        state,
        succeeded: false,
        unknown: false,
        skipped: true,
    }
}
