//! Registrations that are left out: records that are taken over as they are, and resources that are not created.

use std::sync::Arc;

use crate::{
    executor::{Step, StepDetail, StepOp},
    generator::{
        Generator, Purpose, Unanswered,
        build::new_state,
        planned::{Planned, done, step},
        register::Decision,
    },
    resource::{Goal, ProviderReference, ResourceState},
    state::StateRef,
    urn::Urn,
};

impl Generator {
    /// Takes a record over as it is, whatever the program says, together with all that it needs.
    pub(super) fn leave_out(&self, urn: &Urn, old: &StateRef) -> Result<Decision, Unanswered> {
        self.refuse_gaps(urn, &old.state)?;
        self.claims.leave_out(urn, old, &self.base);
        if self.options.purpose == Purpose::Refresh && old.state.custom && old.state.urn == *urn {
            // What is not read needs no step, and is there all the same for what asks about it.
            self.claims.leave_unrecorded(urn);
            self.executor.publish(old);
            return Ok(Decision::Answer(done(Arc::clone(&old.state))));
        }
        let new = under_present_urn(urn, old);
        let step = untargeted(old, &new);
        Ok(Decision::Run(Planned {
            urn: urn.clone(),
            old: Some(old.clone()),
            new,
            chain: vec![step],
        }))
    }

    /// Makes again, with the inputs that it had, what was deleted for the replacement of something else.
    pub(super) async fn make_again(
        &self,
        urn: &Urn,
        old: &StateRef,
        goal: &Goal,
        keys: &[String],
    ) -> Result<Decision, Unanswered> {
        let mut new = new_state(goal, urn.clone(), Some(&old.state));
        new.inputs = old.state.inputs.clone();
        let new = Arc::new(new);
        let provider = self.provider_of(urn, goal).await?;
        let replace = step(StepOp::Replace, Some(old), &new, provider.clone());
        let create = step(StepOp::CreateReplacement, Some(old), &new, provider);
        let create = create.map(|step| step.with_diff(keys.to_vec(), Vec::new(), None));
        Ok(Decision::Run(Planned {
            urn: urn.clone(),
            old: Some(old.clone()),
            new,
            chain: vec![replace, create],
        }))
    }

    /// Refuses to take over a record that refers to what is not recorded.
    fn refuse_gaps(&self, urn: &Urn, state: &ResourceState) -> Result<(), Unanswered> {
        // What was deleted already for a replacement is only a reminder, and its provider may be gone as well.
        if !state.provider.is_empty() && !state.pending_replacement {
            let known = ProviderReference::parse(&state.provider)
                .is_ok_and(|reference| self.base.provider(&reference).is_some());
            if !known {
                let text = format!(
                    "could not find provider {} of untargeted resource {urn}",
                    state.provider
                );
                return Err(self.bail(Some(urn), text));
            }
        }
        let missing = |other: &&Urn| self.base.live(other).is_none();
        let gap = |what: &str, other: &Urn| {
            let text = format!("{what} {other} of untargeted resource {urn} has no old state");
            Err(self.bail(Some(urn), text))
        };
        if let Some(parent) = state.parent.iter().find(missing) {
            return gap("parent", parent);
        }
        if let Some(other) = state.dependencies.iter().find(missing) {
            return gap("dependency", other);
        }
        if let Some(other) = state.property_dependencies.lists().flatten().find(missing) {
            return gap("property dependency", other);
        }
        if let Some(other) = state.options.deleted_with.iter().find(missing) {
            return gap("deleted with dependency", other);
        }
        match state.options.replace_with.iter().find(missing) {
            Some(other) => gap("replace with dependency", other),
            None => Ok(()),
        }
    }

    /// Refuses to delete a provider before it is replaced, while a record that was left out is still managed by it.
    pub(in crate::generator) fn refuse_lost_provider(&self, old: &StateRef) -> Result<(), Unanswered> {
        if self.options.targeting.is_none() || !old.state.is_provider() {
            return Ok(());
        }
        match self.claims.is_left_out_with(old, &self.base) {
            None => Ok(()),
            Some(user) => {
                let reference = ProviderReference::new(old.state.urn.clone(), old.state.id.clone());
                let text = format!(
                    "provider {reference} for resource {user} has not been registered yet, this is due to a change of \
                     providers mixed with --target. Change your program back to the original providers"
                );
                Err(self.bail(Some(&user), text))
            }
        }
    }
}

/// Returns the step that takes a record over as it is.
pub(super) fn untargeted(old: &StateRef, new: &Arc<ResourceState>) -> Option<Step> {
    let detail = StepDetail {
        untargeted: true,
        ..StepDetail::default()
    };
    let step = Step::new(StepOp::Same, Some(old.clone()), Some(Arc::clone(new)));
    step.map(|step| step.with_detail(detail))
}

/// Returns the very record; one that was found under a former URN stands under its present one from now on.
fn under_present_urn(urn: &Urn, old: &StateRef) -> Arc<ResourceState> {
    let mut state = Arc::clone(&old.state);
    if state.urn != *urn {
        let renamed = Arc::make_mut(&mut state);
        renamed.aliases = vec![std::mem::replace(&mut renamed.urn, urn.clone())];
    }
    state
}
