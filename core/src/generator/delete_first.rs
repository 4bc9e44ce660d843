//! Delete before create: a resource is deleted before its replacement is created, and before it its dependents.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::{
    executor::{Executor, Step, StepDetail, StepFailure, has_hooks},
    generator::{
        Reservation, RunEnded,
        context::Context,
        deleted_with::DeletedSet,
        deletions::deletes_thing,
        dependents::{Dependent, DependentKind, dependents_to_replace},
        diff::Difference,
        registration::{Next, Registering},
        replacements::Replacements,
        steps::create_after_delete,
        targets::refuse_lost_provider,
    },
    resource::ResourceState,
    state::StateRef,
    step::StepOp,
    urn::Urn,
};

/// The index of the resource itself among the deletions; its dependents follow in the order of the snapshot.
const ROOT: usize = 0;

/// Deletes a resource with its dependents; returns the steps that create it again.
pub(super) async fn delete_first(
    context: &Context,
    registering: &Registering,
    old: &StateRef,
    new: Arc<ResourceState>,
    difference: &Difference,
) -> Result<Next, RunEnded> {
    let Context { run, plans, .. } = context;
    refuse_lost_provider(context, old)?;
    let (reservation, dependents) = dependents_to_replace(context, &registering.urn, old).await?;
    require_hooks(context, &registering.urn, old, &dependents)?;
    let deleted = deleted_set(old, &dependents, run.executor.options().ignore_protect);
    let hosts = hosts(&deleted, old, &dependents);
    let mut steps = Vec::with_capacity(hosts.len());
    steps.push(deletion_of_root(context, old, difference).await?);
    for (dependent, host) in dependents.iter().zip(&hosts[ROOT + 1..]) {
        steps.push(deletion_of(context, dependent, &deleted, host.is_some()).await?);
    }
    let creation = create_after_delete(old, &new, registering.provider.clone(), difference);
    // Nothing is deleted unless the plan allows all of it.
    let own = steps[ROOT].iter().chain(creation.iter().flatten());
    plans.check_steps(own.chain(steps[ROOT + 1..].iter().rev().flatten()))?;
    let mut deletions = OrderedDeletions {
        steps,
        hosts,
        dependents: &dependents,
        reservation,
        replacements: &context.replacements,
    };
    if let Err(failure) = deletions.run(&run.executor).await {
        return run.after_failure(&failure, &new).map(Next::Answer);
    }
    let mut chain = registering.chain(new, creation);
    chain.is_checked = true;
    Ok(Next::Run(chain))
}

/// The deletions of a resource and its dependents, by index.
struct OrderedDeletions<'a> {
    steps: Vec<Option<Step>>,
    /// The index of the deletion whose call deletes this resource as well, if there is one.
    hosts: Vec<Option<usize>>,
    dependents: &'a [Dependent],
    reservation: Reservation<'a>,
    replacements: &'a Replacements,
}

/// The deletions that are recorded with that of their host, by index.
#[derive(Default)]
struct Cascade {
    /// Those that have run.
    run: Vec<(usize, Step)>,
    /// Those that run directly before their host.
    waiting: Vec<(usize, Step)>,
}

impl OrderedDeletions<'_> {
    /// Runs the deletions, each after those of its dependents. A dependent is released when its own deletion has ended;
    /// a cascaded one, when its host has been deleted.
    ///
    /// A cascaded deletion runs directly before its host, so that the order of the records does not decide whether it is
    /// announced when another deletion fails. One with hooks runs at its own place: they may need its dependencies.
    async fn run(&mut self, executor: &Executor) -> Result<(), StepFailure> {
        let mut cascades: Vec<Cascade> = (0..self.steps.len()).map(|_| Cascade::default()).collect();
        while let Some(step) = self.steps.pop() {
            let place = self.steps.len();
            let Some(mut step) = step else {
                continue;
            };
            let host = self.hosts[place];
            if let Some(host) = host
                && !has_hooks(&step)
            {
                cascades[host].waiting.push((place, step));
                continue;
            }
            let Cascade { mut run, waiting } = std::mem::take(&mut cascades[place]);
            let mut result = Ok(());
            for (place, mut step) in waiting {
                result = executor.run_step(&mut step).await.map(drop);
                if result.is_err() {
                    break;
                }
                run.push((place, step));
            }
            let (places, steps): (Vec<_>, Vec<_>) = run.into_iter().unzip();
            step.cascaded = steps.into();
            match result {
                Ok(()) => result = executor.run_step(&mut step).await.map(drop),
                Err(_) => executor.reporter().report_kept(&step),
            }
            if let Err(failure) = result {
                for (_, kept) in cascades.iter().flat_map(|cascade| &cascade.run) {
                    executor.reporter().report_given_up(kept);
                }
                return Err(failure);
            }
            match host {
                Some(host) => cascades[host].run.push((place, step)),
                None => places
                    .into_iter()
                    .chain([place])
                    .for_each(|place| self.release(place)),
            }
        }
        Ok(())
    }

    /// Releases the dependent at an index as deleted.
    fn release(&mut self, place: usize) {
        if let Some(index) = place.checked_sub(ROOT + 1) {
            let Dependent { record, keys, kind } = &self.dependents[index];
            if *kind == DependentKind::ReplacedNow {
                self.replacements.forget(record.id);
            }
            self.reservation.release(record, Some(keys.clone()));
        }
    }
}

/// Refuses deletions of records with delete hooks that the program has not registered, before any of them.
fn require_hooks(
    context: &Context,
    urn: &Urn,
    old: &StateRef,
    dependents: &[Dependent],
) -> Result<(), RunEnded> {
    let root = (!old.state.pending_replacement).then_some(old);
    let dependents = dependents.iter().map(|dependent| &dependent.record);
    let hooks = root
        .into_iter()
        .chain(dependents)
        .flat_map(|record| record.state.options.delete_hooks());
    let registered = context.run.executor.hooks().require(hooks);
    registered.map_err(|error| context.run.bail(urn, error.text().clone()))
}

/// Returns which real resources are deleted before `root` is created again: its own, and those of its dependents.
fn deleted_set<'a>(root: &'a StateRef, dependents: &'a [Dependent], ignore_protect: bool) -> DeletedSet<'a> {
    let mut deleted = DeletedSet::default();
    // A pending replacement is not deleted again.
    if !root.state.pending_replacement && deletes_thing(&root.state, StepOp::DeleteReplaced, ignore_protect) {
        deleted.insert(&root.state, false);
    }
    for Dependent { record, kind, .. } in dependents {
        let state = &record.state;
        // What this run has replaced has a deletion of its own, for which nothing else stands.
        if *kind != DependentKind::ReplacedNow && deletes_thing(state, deletion_op(*kind), ignore_protect) {
            deleted.insert(state, *kind == DependentKind::OldCopy);
        }
    }
    deleted
}

/// Returns the deletion of a dependent.
async fn deletion_of(
    context: &Context,
    dependent: &Dependent,
    deleted: &DeletedSet<'_>,
    is_hosted: bool,
) -> Result<Option<Step>, RunEnded> {
    let Dependent { record, kind, keys } = dependent;
    let op = deletion_op(*kind);
    let detail = StepDetail {
        replacing: *kind == DependentKind::InUse,
        deleted_with_gone: *kind != DependentKind::ReplacedNow
            && deleted.has_host_of(&record.state, *kind == DependentKind::OldCopy),
        is_cascaded: is_hosted,
        ..StepDetail::default()
    };
    let step = deletion(context, record, op, detail).await?;
    Ok(step.map(|step| step.with_diff(keys.clone(), Vec::new(), None)))
}

/// Returns the deletion of the resource itself, unless a former run has deleted it.
async fn deletion_of_root(
    context: &Context,
    old: &StateRef,
    difference: &Difference,
) -> Result<Option<Step>, RunEnded> {
    if old.state.pending_replacement {
        return Ok(None);
    }
    let detail = StepDetail {
        replacing: true,
        ..StepDetail::default()
    };
    let step = deletion(context, old, StepOp::DeleteReplaced, detail).await?;
    Ok(step.map(|step| difference.describe(step)))
}

async fn deletion(
    context: &Context,
    record: &StateRef,
    op: StepOp,
    detail: StepDetail,
) -> Result<Option<Step>, RunEnded> {
    let provider = context.providers.of_record(record).await?;
    let step = Step::new(op, Some(record.clone()), None);
    Ok(step.map(|step| step.with_provider(provider).with_detail(detail)))
}

/// Decides how a dependent is deleted: without replacement if it is an old copy of an earlier run.
const fn deletion_op(kind: DependentKind) -> StepOp {
    match kind {
        DependentKind::OldCopy => StepOp::Delete,
        DependentKind::InUse | DependentKind::ReplacedNow => StepOp::DeleteReplaced,
    }
}

/// Returns for each deletion the index of the one whose call deletes the resource as well: that of its `deletedWith`.
///
/// Old copies have none: their records are removed, and their references may be to resources deleted before their host.
/// The others' records stay, as pending replacements, until they are created again. So one may wait for its host although a
/// dependency of it is deleted before, which `cascades` refuses for records that deletions remove.
fn hosts(deleted: &DeletedSet<'_>, root: &StateRef, dependents: &[Dependent]) -> Vec<Option<usize>> {
    let mut places: FxHashMap<&Urn, usize> = FxHashMap::default();
    places.insert(&root.state.urn, ROOT);
    let mut hosts = vec![None];
    for Dependent { record, .. } in dependents {
        let state = &record.state;
        let mut host = None;
        if !state.delete {
            let urn = state.options.deleted_with.as_ref();
            let urn = urn.filter(|_| deleted.has_host_of(state, false));
            // The host precedes it, so that the host's own host is known.
            host = urn.and_then(|urn| places.get(urn).copied());
            host = host.map(|host| hosts[host].unwrap_or(host));
            places.insert(&state.urn, hosts.len());
        }
        hosts.push(host);
    }
    hosts
}
