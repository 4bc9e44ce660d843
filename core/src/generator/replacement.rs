//! Replacements: create before delete, or delete before create with all that must go first.

use std::sync::Arc;

use crate::{
    diagnostic::Diagnostic,
    executor::{Failure, Step, StepDetail, StepOp},
    generator::{
        Claims, Generator, Purpose, RegisterOutcome, Unanswered, dependents::Dependent,
        difference::Difference, gone::Gone, planned::step, register::Registering,
    },
    plan::Checked,
    resource::ResourceState,
    state::StateRef,
};

impl Generator {
    /// Replaces a resource, in the order that the goal or the provider asks for.
    pub(super) async fn replace(
        &self,
        registering: &Registering,
        old: &StateRef,
        mut new: Arc<ResourceState>,
        difference: Difference,
        targeted: bool,
    ) -> Result<RegisterOutcome, Unanswered> {
        let Registering {
            urn, goal, provider, ..
        } = registering;
        if new.protect && old.state.protect && !self.executor.options().ignore_protect {
            let text = format!(
                "unable to replace resource \"{urn}\"\nas it is currently marked for protection. To unprotect the \
                 resource, remove the `protect` flag from the resource in your program and run an update"
            );
            if !self.executor.is_preview() {
                return Err(self.bail(Some(urn), text));
            }
            // A preview goes on, so that everything else that is wrong is seen too; it fails in the end.
            self.executor.diagnose(Diagnostic::error(text).about(urn.clone()));
            self.executor.control().fail(Failure::Step(None), false);
        }
        if !goal.options.import_id.is_empty() {
            let text = "previously-imported resources that still specify an ID may not be replaced; please remove \
                        the `import` declaration from your program";
            if !self.executor.is_preview() {
                return Err(self.bail(Some(urn), text));
            }
            self.executor
                .diagnose(Diagnostic::warning(text).about(urn.clone()));
        }
        if let Some(provider) = provider.as_ref().filter(|_| !targeted) {
            // Defaults and names of the old one must not be taken over.
            let inputs = self
                .check(registering, provider, None, goal.inputs.clone())
                .await?;
            self.plan_inputs(registering, &inputs, false, Checked::Anew)?;
            Arc::make_mut(&mut new).inputs = inputs;
            if let Some(policies) = &self.policies {
                // What they have rewritten was checked with the old inputs at hand, and has been checked anew.
                self.remediate(policies, registering, &mut new).await?;
            }
        }
        // A run that only reads, or that deletes at the end, must not delete the dependents of a provider now.
        let may_delete = self.options.purpose == Purpose::Update;
        if may_delete
            && goal
                .delete_before_replace
                .unwrap_or(difference.delete_before_replace)
        {
            return self
                .delete_before_create(registering, old, new, &difference)
                .await;
        }
        let chain = self.create_before_delete(old, &new, provider.clone(), &difference);
        self.run(registering.planned(new, chain)).await
    }

    async fn delete_before_create(
        &self,
        registering: &Registering,
        old: &StateRef,
        new: Arc<ResourceState>,
        difference: &Difference,
    ) -> Result<RegisterOutcome, Unanswered> {
        self.refuse_lost_provider(old)?;
        let dependents = self.dependents_to_replace(&registering.urn, old).await?;
        let mut reserved = Reserved {
            claims: &self.claims,
            dependents,
        };
        self.refuse_hooked_replacement(&registering.urn, old, &reserved.dependents)?;
        let chain = self.delete_and_create(registering, old, &new, difference).await?;
        let mut deletions = Vec::with_capacity(reserved.dependents.len());
        let gone = self.gone_with(old, &reserved.dependents);
        for dependent in &reserved.dependents {
            deletions.push(self.deletion_of(dependent, &gone).await?);
        }
        // Nothing is deleted for what is not going to be allowed.
        let chained = chain.iter().flatten();
        self.plan_steps(chained.chain(deletions.iter().rev().flatten()))?;
        // Those who depend on others go first. Each is let go with its own end, whatever becomes of the rest.
        while let Some(deletion) = deletions.pop() {
            if let Some(mut step) = deletion
                && let Err(failure) = self.executor.run_step(&mut step).await
            {
                return self.after_failure(&failure, &new);
            }
            if let Some(Dependent { record, keys }) = reserved.dependents.pop() {
                self.claims.release(&record, Some(keys));
            }
        }
        self.carry_out(registering.planned(new, chain), Ok(())).await
    }

    /// Returns what is really deleted before `root` is created again: it itself, and its dependents.
    fn gone_with<'a>(&self, root: &'a StateRef, dependents: &'a [Dependent]) -> Gone<'a> {
        let mut gone = Gone::default();
        // What was deleted by an earlier run is not deleted once more.
        if !root.state.pending_replacement && self.is_really_deleted(&root.state, StepOp::DeleteReplaced) {
            gone.insert(&root.state, false);
        }
        for Dependent { record, .. } in dependents {
            if self.is_really_deleted(&record.state, deletion_op(&record.state)) {
                gone.insert(&record.state, record.state.delete);
            }
        }
        gone
    }

    async fn deletion_of(&self, dependent: &Dependent, gone: &Gone<'_>) -> Result<Option<Step>, Unanswered> {
        let record = &dependent.record;
        let provider = self.provider_of_record(record).await?;
        let op = deletion_op(&record.state);
        let detail = StepDetail {
            replacing: op == StepOp::DeleteReplaced,
            deleted_with_gone: gone.takes_along(&record.state, record.state.delete),
            ..StepDetail::default()
        };
        let step = Step::new(op, Some(record.clone()), None);
        Ok(step.map(|step| {
            let step = step.with_provider(provider).with_detail(detail);
            step.with_diff(dependent.keys.clone(), Vec::new(), None)
        }))
    }

    async fn delete_and_create(
        &self,
        registering: &Registering,
        old: &StateRef,
        new: &Arc<ResourceState>,
        difference: &Difference,
    ) -> Result<Vec<Option<Step>>, Unanswered> {
        let mut chain = Vec::with_capacity(3);
        let replacing = StepDetail {
            replacing: true,
            ..StepDetail::default()
        };
        let described = |step: Step| {
            step.with_diff(
                difference.keys.clone(),
                difference.diffs.clone(),
                difference.detailed.clone(),
            )
        };
        if !old.state.pending_replacement {
            let provider = self.provider_of_record(old).await?;
            let delete = Step::new(StepOp::DeleteReplaced, Some(old.clone()), None);
            chain.push(delete.map(|step| described(step.with_provider(provider).with_detail(replacing))));
        }
        let provider = registering.provider.clone();
        chain.push(step(StepOp::Replace, Some(old), new, provider.clone()).map(described));
        chain.push(step(StepOp::CreateReplacement, Some(old), new, provider).map(described));
        Ok(chain)
    }
}

/// Returns how a dependent is deleted: for good, where it is an old copy.
fn deletion_op(state: &ResourceState) -> StepOp {
    if state.delete {
        StepOp::Delete
    } else {
        StepOp::DeleteReplaced
    }
}

/// Dependents that wait for their deletion; those that are left when it is dropped are spared.
struct Reserved<'a> {
    claims: &'a Claims,
    dependents: Vec<Dependent>,
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        for dependent in &self.dependents {
            self.claims.release(&dependent.record, None);
        }
    }
}
