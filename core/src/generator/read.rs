//! Reads: resources that the program reads without managing them.

use std::sync::Arc;

use super::{
    Claim, ClaimGuard, Generator, Purpose, RegisterOutcome, RunEnded,
    build::new_state,
    steps::step,
    targets::{needs_skipped, resolve_former_urns, skip_create},
};
use crate::{
    executor::Step,
    resource::{Goal, ResourceState},
    state::StateRef,
    step::StepOp,
    token::ResourceId,
    urn::Urn,
};

impl Generator {
    /// Reads the resource with `id` under the name of `goal`.
    ///
    /// # Errors
    /// When the request must stay unanswered because the run is ending.
    pub(crate) async fn read(
        &self,
        mut guard: ClaimGuard,
        goal: Goal,
        id: ResourceId,
    ) -> Result<RegisterOutcome, RunEnded> {
        let claim = guard.begin();
        let outcome = self.read_claimed(claim, goal, id).await;
        guard.end(outcome)
    }

    async fn read_claimed(
        &self,
        claim: Claim,
        mut goal: Goal,
        id: ResourceId,
    ) -> Result<RegisterOutcome, RunEnded> {
        let context = &self.context;
        let (run, claims, plans) = (&context.run, &context.claims, &context.plans);
        let purpose = context.options.purpose;
        let Claim { urn, old } = claim;
        if id.is_empty() {
            return Err(run.bail(&urn, format!("Expected an ID for {urn}")));
        }
        if let Some(skipped) = self.await_dependencies(&urn, &goal).await? {
            return Ok(skipped);
        }
        if purpose != Purpose::Update && needs_skipped(context, &goal) {
            if let Some(old) = &old {
                claims.release_claim(old);
            }
            return Box::pin(skip_create(context, &urn, &goal, old.as_ref())).await;
        }
        if let Some(targets) = self.targets() {
            Box::pin(targets.select_read(&urn, &goal)).await?;
            resolve_former_urns(context, &mut goal);
        }
        let old = match old {
            Some(old) => Some(self.unreserved(&urn, old, &goal).await?),
            None => None,
        };
        let provider = context.providers.of_goal(&urn, &goal).await?;
        let mut new = new_state(&goal, urn.clone(), old.as_ref().map(|old| &*old.state));
        new.external = true;
        new.id = id;
        let new = Arc::new(new);
        // A resource managed under another id is replaced by the read one, and deleted at the end of the run.
        let replaced = old
            .as_ref()
            .filter(|old| !old.state.external && old.state.id != new.id);
        let op = if replaced.is_some() {
            StepOp::ReadReplacement
        } else {
            StepOp::Read
        };
        let mut chain: Vec<Step> = Vec::new();
        chain.extend(step(op, old.as_ref(), &new, provider));
        if replaced.is_some() {
            plans.check_giving_up(&urn)?;
            chain.extend(step(StepOp::Replace, old.as_ref(), &new, None));
        }
        match run.executor.run_chain(chain).await {
            Ok(outcome) => {
                if let Some(old) = replaced {
                    context.replacements.note(old.clone());
                }
                if let (Purpose::Destroy, Some(record)) = (purpose, &outcome.new) {
                    self.deletions.note_registered(record, old.as_ref());
                }
                let state = outcome.new.map_or(new, |record| record.state);
                Ok(RegisterOutcome::done(state))
            }
            Err(failure) => run.after_failure(&failure, &new),
        }
    }

    /// Waits until no delete-before-replace reserves a record. One that was deleted then is a pending replacement.
    async fn unreserved(&self, urn: &Urn, mut old: StateRef, goal: &Goal) -> Result<StateRef, RunEnded> {
        if self.begin(urn, &old, goal).await?.is_some() {
            let mut state = ResourceState::clone(&old.state);
            state.pending_replacement = true;
            old.state = Arc::new(state);
        }
        Ok(old)
    }
}
