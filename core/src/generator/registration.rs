//! A registration during its processing, and its possible results.

use std::sync::Arc;

use crate::{
    executor::Step,
    generator::RegisterOutcome,
    provider::{Autonaming, ProviderHandle},
    resource::{Goal, ResourceState},
    state::StateRef,
    urn::Urn,
};

/// A registration with a provider.
pub(super) struct Registering {
    pub(super) urn: Urn,
    pub(super) old: Option<StateRef>,
    pub(super) goal: Box<Goal>,
    pub(super) provider: Option<ProviderHandle>,
    /// 32 bytes that stay the same for every Check of the registration.
    pub(super) seed: Vec<u8>,
    /// The proposed physical name, the same for every Check of the registration.
    pub(super) autonaming: Option<Autonaming>,
}

impl Registering {
    /// Returns the record before the registration.
    pub(super) fn old_state(&self) -> Option<&ResourceState> {
        self.old.as_ref().map(|old| &*old.state)
    }

    /// Creates the steps that lead to `new`.
    pub(super) fn chain(&self, new: Arc<ResourceState>, steps: Vec<Option<Step>>) -> StepChain {
        StepChain::new(&self.urn, self.old.as_ref(), new, steps)
    }
}

/// The result of a registration.
pub(super) enum Next {
    /// The response, without further steps.
    Answer(RegisterOutcome),
    /// Steps that end in the record of the resource.
    Run(StepChain),
}

/// The steps that apply a goal.
pub(super) struct StepChain {
    pub(super) urn: Urn,
    pub(super) old: Option<StateRef>,
    /// The new record.
    pub(super) new: Arc<ResourceState>,
    pub(super) steps: Vec<Option<Step>>,
    /// The plan allows the steps: this was checked before a deletion for them.
    pub(super) is_checked: bool,
}

impl StepChain {
    pub(super) fn new(
        urn: &Urn,
        old: Option<&StateRef>,
        new: Arc<ResourceState>,
        steps: Vec<Option<Step>>,
    ) -> Self {
        Self {
            urn: urn.clone(),
            old: old.cloned(),
            new,
            steps,
            is_checked: false,
        }
    }
}
