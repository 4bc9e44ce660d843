//! Reads: resources that the program looks at without managing them.

use std::sync::Arc;

use crate::{
    executor::Step,
    generator::{Claim, ClaimGuard, Generator, Purpose, RegisterOutcome, Unanswered, build::new_state},
    resource::{Goal, ResourceState},
    state::StateRef,
    step::StepOp,
    token::ResourceId,
    urn::Urn,
};

impl Generator {
    /// Reads the thing with `id` as the resource that `goal` names.
    ///
    /// # Errors
    /// When the request must stay unanswered because the run is ending.
    pub(crate) async fn read(
        &self,
        mut guard: ClaimGuard,
        goal: Goal,
        id: ResourceId,
    ) -> Result<RegisterOutcome, Unanswered> {
        let claim = guard.begin();
        let outcome = self.read_claimed(claim, goal, id).await;
        guard.end(outcome)
    }

    async fn read_claimed(
        &self,
        claim: Claim,
        mut goal: Goal,
        id: ResourceId,
    ) -> Result<RegisterOutcome, Unanswered> {
        let Claim { urn, old } = claim;
        if id.is_empty() {
            return Err(self.bail(Some(&urn), format!("Expected an ID for {urn}")));
        }
        if let Some(skipped) = self.await_dependencies(&urn, &goal).await? {
            return Ok(skipped);
        }
        if self.options.purpose != Purpose::Update && self.needs_skipped(&goal) {
            if let Some(old) = &old {
                self.claims.forgo(old);
            }
            return Box::pin(self.skip_create(&urn, &goal, old.as_ref())).await;
        }
        if let Some(targeting) = self.options.targeting.as_deref() {
            Box::pin(self.aim_read(targeting, &urn, &goal)).await?;
            self.aim_at_records(&mut goal);
        }
        let old = match old {
            Some(old) => Some(self.as_it_is(&urn, old).await),
            None => None,
        };
        let provider = self.provider_of(&urn, &goal).await?;
        let mut new = new_state(&goal, urn.clone(), old.as_ref().map(|old| &*old.state));
        new.external = true;
        new.id = id;
        let new = Arc::new(new);
        let recorded = old.clone();
        // Something managed under another id is given up for what is read: it is deleted at the end, unless it was before.
        let replaced = old
            .clone()
            .filter(|old| !old.state.external && old.state.id != new.id);
        let op = if replaced.is_some() {
            StepOp::ReadReplacement
        } else {
            StepOp::Read
        };
        let mut chain: Vec<Step> = Vec::new();
        chain.extend(
            Step::new(op, old.clone(), Some(Arc::clone(&new))).map(|step| step.with_provider(provider)),
        );
        if replaced.is_some() {
            self.plan_giving_up(&urn)?;
            chain.extend(Step::new(StepOp::Replace, old, Some(Arc::clone(&new))));
        }
        match self.executor.run_chain(chain).await {
            Ok(outcome) => {
                if let Some(old) = replaced {
                    self.note_replaced(old);
                }
                if let (Purpose::Destroy, Some(record)) = (self.options.purpose, &outcome.new) {
                    self.condemn(record, recorded.as_ref());
                }
                let state = outcome.new.map_or(new, |record| record.state);
                Ok(RegisterOutcome {
                    state,
                    succeeded: true,
                    unknown: false,
                    skipped: false,
                })
            }
            Err(failure) => self.after_failure(&failure, &new),
        }
    }

    /// Waits until no delete-before-replace looks at a record; one that was deleted then is only a reminder.
    async fn as_it_is(&self, urn: &Urn, old: StateRef) -> StateRef {
        if self.begin(urn, &old).await.is_none() {
            return old;
        }
        let mut state = ResourceState::clone(&old.state);
        state.pending_replacement = true;
        StateRef {
            id: old.id,
            state: Arc::new(state),
        }
    }
}
