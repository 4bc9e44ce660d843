//! One registration on its way through the generator, and what it leads to.

use std::sync::Arc;

use crate::{
    executor::Step,
    generator::RegisterOutcome,
    provider::{Autonaming, ProviderHandle},
    resource::{Goal, ResourceState},
    state::StateRef,
    urn::Urn,
};

/// A registration with a provider to ask.
pub(super) struct Registering {
    pub(super) urn: Urn,
    pub(super) old: Option<StateRef>,
    pub(super) goal: Box<Goal>,
    pub(super) provider: Option<ProviderHandle>,
    /// 32 bytes that stay the same for every Check of the registration.
    pub(super) seed: Vec<u8>,
    /// The proposed name of the real thing, the same for every Check of the registration.
    pub(super) autonaming: Option<Autonaming>,
}

impl Registering {
    /// Returns the record that the registration goes on from.
    pub(super) fn old_state(&self) -> Option<&ResourceState> {
        self.old.as_ref().map(|old| &*old.state)
    }

    /// Names the steps that lead to `new`.
    pub(super) fn chain(&self, new: Arc<ResourceState>, steps: Vec<Option<Step>>) -> StepChain {
        StepChain::new(&self.urn, self.old.as_ref(), new, steps)
    }
}

/// What a registration leads to.
pub(super) enum Next {
    /// It is answered without further steps.
    Answer(RegisterOutcome),
    /// Steps that end in the record of the resource.
    Run(StepChain),
}

/// The steps that bring a resource to its goal.
pub(super) struct StepChain {
    pub(super) urn: Urn,
    pub(super) old: Option<StateRef>,
    /// The record that the goal asks for.
    pub(super) new: Arc<ResourceState>,
    pub(super) steps: Vec<Option<Step>>,
    /// The plan allows the steps: this was checked before something was deleted for them.
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
