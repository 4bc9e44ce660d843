//! A step: one decided change of one record.

use std::{sync::Arc, time::Duration};

use crate::{
    event::DetailedDiff,
    message::Text,
    property::PropertyMap,
    provider::{ProviderHandle, Views},
    resource::ResourceState,
    state::StateRef,
    step::StepOp,
    urn::Urn,
};

/// One decided change of one record. Steps of one chain run one after the other.
#[derive(Clone)]
pub(crate) struct Step {
    /// Its kind.
    pub op: StepOp,
    /// The URN of the resource.
    pub urn: Urn,
    /// The record as it was.
    pub old: Option<StateRef>,
    /// The record as it is to become; `None` for removals.
    pub new: Option<Arc<ResourceState>>,
    /// The provider of the resource; `None` for components and steps that call none.
    pub provider: Option<ProviderHandle>,
    /// Properties that force a replacement.
    pub keys: Vec<String>,
    /// Properties that differ.
    pub diffs: Vec<String>,
    /// How each differs.
    pub detailed_diff: Option<DetailedDiff>,
    /// Paths whose changes are ignored, for Update.
    pub ignore_changes: Vec<String>,
    /// Import: what an operation that imports a list of resources supplies; `None` for an import of a program.
    pub import: Option<Arc<PlannedImport>>,
    /// Refresh: the URN in the program, when it differs from that of the record.
    pub read_as: Option<Urn>,
    /// The details of its kind.
    pub detail: StepDetail,
    /// The provider's steps on views; the executor opens it.
    pub views: Views,
    /// When it began, in the time of the runtime's clock.
    pub started: Duration,
    /// Delete: the deletions of the resources that live in it, which are announced already and recorded with its own
    /// end.
    pub cascaded: Box<[Self]>,
}

/// What a list of resources to import supplies about one of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlannedImport {
    /// Why the resource cannot be imported: the step fails with it before a provider is called.
    pub refusal: Option<Text>,
    /// Inputs for those that the provider does not return.
    pub inputs: PropertyMap,
    /// The outputs, in place of a call of the provider; the inputs are those above then.
    pub outputs: Option<PropertyMap>,
    /// The names of the inputs to keep; empty for all.
    pub properties: Vec<String>,
    /// The random seed of Check.
    pub seed: Vec<u8>,
}

/// Details that only some kinds of steps have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StepDetail {
    /// Create: the old copy stays, marked, until the end of the operation.
    pub pending_delete: bool,
    /// Delete: the record stays, marked, until its replacement is created.
    pub replacing: bool,
    /// Delete: the provider is not called, since the container of the resource is deleted.
    pub deleted_with_gone: bool,
    /// Delete: it is recorded with the end of the deletion that it is a consequence of.
    pub is_cascaded: bool,
    /// Same: the resource does not exist yet and is not to be created; nothing is recorded.
    pub skipped_create: bool,
    /// Same: the record was left out by targets and is taken over as it is.
    pub untargeted: bool,
    /// Same and Update: this run has taken the record over before, so that it keeps its place.
    pub in_place: bool,
    /// Refresh: the program has just registered the record, which therefore moves to the end of the new ones.
    pub persisted: bool,
    /// The engine itself requested the step: it is neither counted nor shown to the user.
    pub internal: bool,
    /// Import: the goal is that of an interrupted operation. Its inputs stand in for those that the provider does not
    /// return, and the id is no option of the program.
    pub adopts: bool,
}

impl Step {
    /// Creates a step with its kind, the old and the new record.
    #[must_use]
    pub(crate) fn new(op: StepOp, old: Option<StateRef>, new: Option<Arc<ResourceState>>) -> Option<Self> {
        let urn = new
            .as_ref()
            .map(|state| state.urn.clone())
            .or_else(|| old.as_ref().map(|old| old.state.urn.clone()))?;
        Some(Self {
            op,
            urn,
            old,
            new,
            provider: None,
            keys: Vec::new(),
            diffs: Vec::new(),
            detailed_diff: None,
            ignore_changes: Vec::new(),
            import: None,
            read_as: None,
            detail: StepDetail::default(),
            views: Views::default(),
            started: Duration::ZERO,
            cascaded: Box::default(),
        })
    }

    /// Sets the provider.
    #[must_use]
    pub(crate) fn with_provider(mut self, provider: Option<ProviderHandle>) -> Self {
        self.provider = provider;
        self
    }

    /// Sets the properties that differ.
    #[must_use]
    pub(crate) fn with_diff(
        mut self,
        keys: Vec<String>,
        diffs: Vec<String>,
        detailed_diff: Option<DetailedDiff>,
    ) -> Self {
        self.keys = keys;
        self.diffs = diffs;
        self.detailed_diff = detailed_diff;
        self
    }

    /// Sets the details of the step's kind.
    #[must_use]
    pub(crate) fn with_detail(mut self, detail: StepDetail) -> Self {
        self.detail = detail;
        self
    }

    /// Returns the record with the type, the provider and the parent: the new one, else the old one.
    #[must_use]
    pub(crate) fn subject(&self) -> Option<&Arc<ResourceState>> {
        self.new
            .as_ref()
            .or_else(|| self.old.as_ref().map(|old| &old.state))
    }

    /// Returns whether it is a step on a view, which calls no provider.
    #[must_use]
    pub(crate) fn is_view(&self) -> bool {
        self.subject().is_some_and(|state| state.view_of.is_some())
    }

    /// Returns whether a provider is called for the step.
    #[must_use]
    pub(crate) fn calls_provider(&self) -> bool {
        let is_managed = |state: &Arc<ResourceState>| state.custom && !state.is_provider();
        self.provider.is_some() && self.op != StepOp::Same && self.subject().is_some_and(is_managed)
    }

    /// Returns whether the step is one change of one resource for the user.
    #[must_use]
    pub(crate) fn is_logical(&self) -> bool {
        match self.op {
            StepOp::CreateReplacement
            | StepOp::DeleteReplaced
            | StepOp::DiscardReplaced
            | StepOp::ReadReplacement
            | StepOp::ImportReplacement
            | StepOp::Refresh
            | StepOp::RemovePendingReplace => false,
            StepOp::Same
            | StepOp::Create
            | StepOp::Update
            | StepOp::Delete
            | StepOp::Replace
            | StepOp::Read
            | StepOp::Discard
            | StepOp::Import => true,
        }
    }

    /// Returns whether the step is of the engine itself: default providers and bookkeeping.
    #[must_use]
    pub(crate) fn is_internal(&self) -> bool {
        self.detail.internal
            || self.op == StepOp::RemovePendingReplace
            || self
                .subject()
                .is_some_and(|state| state.urn.is_default_provider())
    }
}
