//! Registrations that are left out: records that are taken over as they are, and resources that are not created.

use std::{
    collections::BTreeSet,
    sync::{Arc, PoisonError},
};

use crate::{
    executor::{Step, StepDetail},
    generator::{
        Generator, Purpose, Unanswered,
        build::new_state,
        claims::Awaited,
        planned::{Planned, done, step},
        register::Decision,
    },
    message::Message,
    resource::{Goal, ProviderReference, ResourceState},
    state::{EdgeKind, StateRef},
    step::StepOp,
    urn::Urn,
};

impl Generator {
    /// Takes a record over as it is, regardless of the program's goal, together with all that it needs. One that was found under
    /// a former URN keeps it.
    pub(super) async fn leave_out(
        &self,
        urn: &Urn,
        old: &StateRef,
        goal: &Goal,
    ) -> Result<Decision, Unanswered> {
        self.refuse_gaps(urn, &old.state)?;
        if self.options.purpose == Purpose::Update {
            self.refuse_changed_provider(urn, &old.state, goal).await?;
        }
        self.claims.leave_out(urn, old, &self.base);
        if old.state.urn != *urn {
            self.claims.keep_former(urn, &old.state.urn);
        }
        if self.options.purpose == Purpose::Refresh && old.state.custom {
            // What is not read needs no step, and is there all the same for what asks about it.
            self.claims.leave_unrecorded(urn);
            self.executor.publish(old);
            return Ok(Decision::Answer(done(Arc::clone(&old.state))));
        }
        if self.options.purpose == Purpose::Update {
            self.take_over_needs(old).await?;
        }
        let mut step = untargeted(old, &old.state);
        if let Some(step) = step.as_mut().filter(|_| self.claims.is_kept(old.id)) {
            // Something that was left out needs it, with which it was taken over, and shown.
            step.detail.internal = true;
        }
        Ok(Decision::Run(Planned {
            urn: urn.clone(),
            old: Some(old.clone()),
            new: Arc::clone(&old.state),
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
        self.refer_to_records(&mut new);
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

    /// Takes over what a record needs and this run has not come to: the program may not register it any more, and in the
    /// journal each record stands after what it needs.
    async fn take_over_needs(&self, record: &StateRef) -> Result<(), Unanswered> {
        let Some(position) = self.base.position(&record.state.urn) else {
            return Ok(());
        };
        let _turn = self.keeping.lock().await;
        for need in self.untouched_needs(position) {
            let record = &self.base.records()[need];
            if let Some(copy) = self.replaced_copy(record) {
                self.keep_copy(&copy).await?;
            } else if self.claims.take_over(record, &self.base) {
                self.keep(record).await?;
            }
        }
        Ok(())
    }

    /// Takes over, before the record at `position`, its provider's old copy, where this run has replaced that.
    pub(super) async fn take_over_provider(&self, position: usize) -> Result<(), Unanswered> {
        for (need, kind) in self.base.graph().dependencies(position) {
            if kind == EdgeKind::Provider
                && self.is_meant(position, need, kind)
                && let Some(copy) = self.replaced_copy(&self.base.records()[need])
            {
                self.keep_copy(&copy).await?;
            }
        }
        Ok(())
    }

    async fn keep_copy(&self, copy: &StateRef) -> Result<(), Unanswered> {
        match self.claims.take_over_copy(copy.id) {
            true => self.keep(copy).await,
            false => Ok(()),
        }
    }

    /// Tells whether the record at `user` needs the very one at `need`, which has the URN that it refers to.
    fn is_meant(&self, user: usize, need: usize, kind: EdgeKind) -> bool {
        let records = self.base.records();
        let state = &records[need].state;
        if kind != EdgeKind::Provider {
            return !state.delete && state.view_of.is_none();
        }
        // Providers are referred to by their ids, too: an old copy is another one.
        let reference = records[user].state.provider.rsplit_once("::");
        reference.is_some_and(|(_, id)| id == state.id.as_str())
    }

    /// Returns the positions in the base of what a record needs, directly or not, as far as the run has not dealt with it,
    /// each after what it needs itself.
    fn untouched_needs(&self, position: usize) -> Vec<usize> {
        let records = self.base.records();
        let mut needs = BTreeSet::new();
        let mut pending = vec![position];
        while let Some(user) = pending.pop() {
            for (need, kind) in self.base.graph().dependencies(user) {
                let record = &records[need];
                if !self.is_meant(user, need, kind) || needs.contains(&need) {
                    continue;
                }
                if self.claims.is_untouched(record) {
                    needs.insert(need);
                    pending.push(need);
                } else if kind == EdgeKind::Provider && self.replaced_copy(record).is_some() {
                    needs.insert(need);
                }
            }
        }
        needs.into_iter().collect()
    }

    /// Returns a record as the old copy that it is, where this run has replaced what it records.
    fn replaced_copy(&self, record: &StateRef) -> Option<StateRef> {
        let replaced = self.replaced.lock().unwrap_or_else(PoisonError::into_inner);
        let mut copy = replaced.iter().find(|copy| copy.id == record.id)?.clone();
        Arc::make_mut(&mut copy.state).delete = true;
        Some(copy)
    }

    /// Refuses to leave out a resource for which the program names another provider, unless it has registered the recorded
    /// one before.
    async fn refuse_changed_provider(
        &self,
        urn: &Urn,
        old: &ResourceState,
        goal: &Goal,
    ) -> Result<(), Unanswered> {
        // What was deleted already for a replacement is only a reminder.
        if old.provider.is_empty() || old.provider == goal.provider || old.pending_replacement {
            return Ok(());
        }
        let Ok(reference) = ProviderReference::parse(&old.provider) else {
            return Ok(());
        };
        let provider = self.claims.current_urn(&reference.urn);
        let is_named = ProviderReference::parse(&goal.provider).is_ok_and(|named| named.urn == provider);
        if !is_named && self.claims.is_expected(&provider, urn) {
            return Ok(());
        }
        // Whether one that arrives later has been registered already is chance.
        if self.claims.arrived_before(&provider, urn) {
            if let Awaited::Failed(_) = self.claims.wait_for(urn, vec![provider.clone()]).await {
                // The recorded one stays as it is.
                return Ok(());
            }
            let registered = self.executor.published(&provider);
            if registered.is_some_and(|provider| provider.id == reference.id) {
                return Ok(());
            }
        }
        Err(self.lost_provider(urn, &reference))
    }

    fn lost_provider(&self, urn: &Urn, provider: &ProviderReference) -> Unanswered {
        let text = Message::ProviderChangedWithTargets {
            urn: urn.as_str(),
            provider: &provider.to_string(),
        };
        self.bail(Some(urn), text)
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
                Err(self.lost_provider(&user, &reference))
            }
        }
    }
}

/// Returns the step that takes a record over as it is.
pub(in crate::generator) fn untargeted(old: &StateRef, new: &Arc<ResourceState>) -> Option<Step> {
    let detail = StepDetail {
        untargeted: true,
        ..StepDetail::default()
    };
    let step = Step::new(StepOp::Same, Some(old.clone()), Some(Arc::clone(new)));
    step.map(|step| step.with_detail(detail))
}
