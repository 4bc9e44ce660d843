//! Deleting before creating: what is replaced goes first, and before it all that cannot stay without it.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::{
    executor::{Step, StepDetail, StepFailure},
    generator::{
        Claims, Generator, RegisterOutcome, Unanswered, dependents::Dependent, difference::Difference,
        gone::Gone, planned::step, register::Registering,
    },
    resource::ResourceState,
    state::StateRef,
    step::StepOp,
    urn::Urn,
};

/// The place of the resource itself among its deletions; its dependents follow in the order of the snapshot.
const ROOT: usize = 0;

impl Generator {
    /// Deletes a resource with its dependents, and creates it again.
    pub(super) async fn delete_before_create(
        &self,
        registering: &Registering,
        old: &StateRef,
        new: Arc<ResourceState>,
        difference: &Difference,
    ) -> Result<RegisterOutcome, Unanswered> {
        self.refuse_lost_provider(old)?;
        let dependents = self.dependents_to_replace(&registering.urn, old).await?;
        let mut reserved = Reserved::new(&self.claims, dependents);
        self.refuse_hooked_replacement(&registering.urn, old, &reserved.dependents)?;
        let gone = self.gone_with(old, &reserved.dependents);
        let hosts = hosts(&gone, old, &reserved.dependents);
        let mut deletions = Vec::with_capacity(hosts.len());
        deletions.push(self.deletion_of_root(old, difference).await?);
        for (dependent, host) in reserved.dependents.iter().zip(&hosts[ROOT + 1..]) {
            let mut deletion = self.deletion_of(dependent, &gone).await?;
            if let Some(deletion) = &mut deletion {
                deletion.detail.is_cascaded = host.is_some();
            }
            deletions.push(deletion);
        }
        let chain = create_again(registering, old, &new, difference);
        // Nothing is deleted for what is not going to be allowed.
        let own = deletions[ROOT].iter().chain(chain.iter().flatten());
        self.plan_steps(own.chain(deletions[ROOT + 1..].iter().rev().flatten()))?;
        if let Err(failure) = self.delete_first(deletions, &hosts, &mut reserved).await {
            return self.after_failure(&failure, &new);
        }
        self.carry_out(registering.planned(new, chain), Ok(())).await
    }

    /// Runs the deletions: those who depend on others go first. Each is let go with its own end, whatever becomes of the
    /// rest; those that only go along with another one, with the end of that, because until then they are there.
    async fn delete_first(
        &self,
        mut deletions: Vec<Option<Step>>,
        hosts: &[Option<usize>],
        reserved: &mut Reserved<'_>,
    ) -> Result<(), StepFailure> {
        let mut along: Vec<Vec<(usize, Step)>> = vec![Vec::new(); deletions.len()];
        while let Some(deletion) = deletions.pop() {
            let place = deletions.len();
            let (guests, steps): (Vec<_>, Vec<_>) = std::mem::take(&mut along[place]).into_iter().unzip();
            let Some(mut step) = deletion else {
                continue;
            };
            step.cascaded = steps.into();
            self.executor.run_step(&mut step).await?;
            match hosts[place] {
                Some(host) => along[host].push((place, step)),
                None => guests
                    .into_iter()
                    .chain([place])
                    .for_each(|place| reserved.let_go(place)),
            }
        }
        Ok(())
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

    /// Returns the deletion of what is to be created again, unless a former run has deleted it.
    async fn deletion_of_root(
        &self,
        old: &StateRef,
        difference: &Difference,
    ) -> Result<Option<Step>, Unanswered> {
        if old.state.pending_replacement {
            return Ok(None);
        }
        let provider = self.provider_of_record(old).await?;
        let detail = StepDetail {
            replacing: true,
            ..StepDetail::default()
        };
        let step = Step::new(StepOp::DeleteReplaced, Some(old.clone()), None);
        Ok(step.map(|step| described(step.with_provider(provider).with_detail(detail), difference)))
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

/// Returns for each deletion the place of the one whose call deletes it as well, if there is such: of what it lives in.
///
/// Old copies are none of these: their records are removed, and what they refer to may go before their host does.
fn hosts(gone: &Gone<'_>, root: &StateRef, dependents: &[Dependent]) -> Vec<Option<usize>> {
    let mut places: FxHashMap<&Urn, usize> = FxHashMap::default();
    places.insert(&root.state.urn, ROOT);
    let mut hosts = vec![None];
    for Dependent { record, .. } in dependents {
        let state = &record.state;
        let mut host = None;
        if !state.delete {
            let urn = state.options.deleted_with.as_ref();
            let urn = urn.filter(|_| gone.takes_along(state, false));
            // It stands behind its host, of which is therefore known whether it has one itself.
            host = urn.and_then(|urn| places.get(urn).copied());
            host = host.map(|host| hosts[host].unwrap_or(host));
            places.insert(&state.urn, hosts.len());
        }
        hosts.push(host);
    }
    hosts
}

fn create_again(
    registering: &Registering,
    old: &StateRef,
    new: &Arc<ResourceState>,
    difference: &Difference,
) -> Vec<Option<Step>> {
    let made = |op| step(op, Some(old), new, registering.provider.clone());
    [StepOp::Replace, StepOp::CreateReplacement]
        .into_iter()
        .map(|op| made(op).map(|step| described(step, difference)))
        .collect()
}

fn described(step: Step, difference: &Difference) -> Step {
    let Difference {
        keys,
        diffs,
        detailed,
        ..
    } = difference;
    step.with_diff(keys.clone(), diffs.clone(), detailed.clone())
}

/// Dependents that wait for their deletion; those that are left when it is dropped are spared.
struct Reserved<'a> {
    claims: &'a Claims,
    dependents: Vec<Dependent>,
    /// Which of them have been let go.
    let_go: Vec<bool>,
}

impl<'a> Reserved<'a> {
    fn new(claims: &'a Claims, dependents: Vec<Dependent>) -> Self {
        let let_go = vec![false; dependents.len()];
        Self {
            claims,
            dependents,
            let_go,
        }
    }

    /// Tells those who wait for the dependent at a place among the deletions that it is deleted.
    fn let_go(&mut self, place: usize) {
        let Some(index) = place.checked_sub(ROOT + 1) else {
            return;
        };
        let Dependent { record, keys } = &self.dependents[index];
        self.claims.release(record, Some(keys.clone()));
        self.let_go[index] = true;
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        for (dependent, let_go) in self.dependents.iter().zip(&self.let_go) {
            if !let_go {
                self.claims.release(&dependent.record, None);
            }
        }
    }
}
