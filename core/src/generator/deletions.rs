//! Deletions at the end of a run: unregistered records and, in a destroy with the program, all registered ones.

use std::sync::{Mutex, PoisonError};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    error::{Error, ErrorKind},
    executor::{Step, StepDetail, run_cascades},
    generator::{
        RunEnded,
        cascade::{Cascades, cascades},
        context::Context,
        deleted_with::DeletedSet,
        destroy_order::destroy_order,
        empty::check_empty,
        targets::{is_live, protect_dependencies},
    },
    message::Message,
    resource::ResourceState,
    state::{PriorState, StateRef},
    step::StepOp,
    urn::Urn,
};

/// A record of the base that is to be deleted.
pub(super) struct PendingDeletion {
    /// Its position in the base.
    pub(super) position: usize,
    pub(super) record: StateRef,
    /// The kind of the step.
    pub(super) op: StepOp,
}

/// A record that the program has registered and that is to be deleted when the program has ended.
pub(super) struct RegisteredDeletion {
    pub(super) record: StateRef,
    /// The record before the registration.
    pub(super) old: Option<StateRef>,
}

impl RegisteredDeletion {
    /// Returns the position in the base of the record before the registration.
    pub(super) fn position(&self, base: &PriorState) -> Option<usize> {
        base.position(&self.old.as_ref()?.state.urn)
    }
}

/// The deletions at the end of one run. Their failures are reported by the steps; the control records whether there
/// were any.
#[derive(Default)]
pub(super) struct Deletions {
    registered: Mutex<Vec<RegisteredDeletion>>,
}

impl Deletions {
    /// Records a registered record that is to be deleted when the program has ended.
    pub(super) fn note_registered(&self, record: &StateRef, old: Option<&StateRef>) {
        let deletion = RegisteredDeletion {
            record: record.clone(),
            old: old.cloned(),
        };
        let mut registered = self.registered.lock().unwrap_or_else(PoisonError::into_inner);
        registered.push(deletion);
    }

    /// Deletes every unprocessed record, and the old copies of this run's replacements.
    pub(super) async fn delete_leftovers(&self, context: &Context) -> Result<(), RunEnded> {
        let pending = pending_deletions(context, &still_needed(context));
        let (pending, _) = Box::pin(protect_dependencies(context, pending, Vec::new())).await?;
        if check_empty(context, &pending) {
            delete_in_order(context, pending).await?;
        }
        Ok(())
    }

    /// Deletes every record, in a run without the program.
    ///
    /// # Errors
    /// [`ErrorKind::Failed`] when a record to delete has delete hooks: nothing has been deleted then.
    pub(super) async fn delete_without_program(&self, context: &Context) -> crate::error::Result<()> {
        let pending = pending_deletions(context, &still_needed(context));
        let protecting = Box::pin(protect_dependencies(context, pending, Vec::new()));
        let Ok((pending, _)) = protecting.await else {
            return Ok(());
        };
        refuse_hooked(context, &pending)?;
        // The reason of the end has been reported.
        drop(delete_in_order(context, pending).await);
        Ok(())
    }

    /// Deletes everything that the program has registered, and everything else.
    pub(super) async fn delete_everything(&self, context: &Context) -> Result<(), RunEnded> {
        let protected = still_needed(context);
        let mut registered =
            std::mem::take(&mut *self.registered.lock().unwrap_or_else(PoisonError::into_inner));
        registered.retain(|deletion| {
            let position = deletion.position(&context.base);
            !position.is_some_and(|position| protected.contains(&position))
        });
        let pending = pending_deletions(context, &protected);
        let protecting = Box::pin(protect_dependencies(context, pending, registered));
        let (pending, registered) = protecting.await?;
        let current = |urn: &Urn| context.claims.current_urn(urn);
        let inside = |old: &StateRef| needs_inside(&context.base, old);
        let order = destroy_order(&pending, &registered, inside, current, |urn| {
            is_live(context, urn)
        });
        let pending = pending.into_iter().map(|deletion| (deletion.record, deletion.op));
        let registered = registered.into_iter().map(|RegisteredDeletion { record, .. }| {
            let op = if record.state.external {
                StepOp::Discard
            } else {
                StepOp::Delete
            };
            (record, op)
        });
        delete(context, pending.chain(registered).collect(), &order).await
    }
}

/// How this run has processed a record of the base.
#[derive(Clone, Copy, Default)]
struct Dealt {
    /// It is processed, or a registration is processing it.
    is_operated: bool,
    /// It has created a replacement for it.
    is_replaced: bool,
    /// It has deleted it for another resource, and no registration has claimed it since.
    is_abandoned: bool,
}

/// Decides how a record of the base is deleted at the end of the run; `None` when it stays.
fn deletion_op(state: &ResourceState, dealt: Dealt) -> Option<StepOp> {
    let is_copy = state.delete && !state.pending_replacement && !dealt.is_operated;
    if dealt.is_replaced || is_copy {
        Some(if state.external {
            StepOp::DiscardReplaced
        } else {
            StepOp::DeleteReplaced
        })
    } else if dealt.is_operated && !dealt.is_abandoned {
        None
    } else if state.pending_replacement || dealt.is_abandoned {
        Some(StepOp::RemovePendingReplace)
    } else if state.external {
        Some(StepOp::Discard)
    } else {
        Some(StepOp::Delete)
    }
}

/// Returns whether a step on a record deletes the real resource as well, with its cascaded deletions.
pub(super) fn deletes_thing(state: &ResourceState, op: StepOp, ignore_protect: bool) -> bool {
    let deletes = match op {
        StepOp::Delete => !state.protect || ignore_protect,
        // A replaced component is registered again, and nothing real is deleted with its old record.
        StepOp::DeleteReplaced => state.custom,
        // Only the record is removed.
        _ => false,
    };
    deletes && !state.retain_on_delete && !state.external
}

/// Returns the records of the base to delete, except those at the `protected` positions.
fn pending_deletions(context: &Context, protected: &FxHashSet<usize>) -> Vec<PendingDeletion> {
    let Context { base, claims, .. } = context;
    // A record that was read in this run is deleted in its current state, not in the recorded one.
    let copies = context.replacements.copies();
    let released = claims.released();
    let mut pending = Vec::new();
    for (position, record) in base.records().iter().enumerate() {
        // Views are deleted with their owners, and only with these.
        if protected.contains(&position) || record.state.view_of.is_some() {
            continue;
        }
        let record = released.get(&record.id).unwrap_or(record);
        let copy = copies.get(&record.id);
        let dealt = Dealt {
            is_operated: claims.is_operated(record.id),
            is_replaced: copy.is_some(),
            is_abandoned: claims.is_abandoned(record),
        };
        if let Some(op) = deletion_op(&record.state, dealt) {
            let record = copy.unwrap_or(record).clone();
            pending.push(PendingDeletion { position, record, op });
        }
    }
    pending
}

/// Returns the positions of the dependents of failed registrations, which the program may not have reached, and of the
/// dependencies of these and of the adopted providers: these records are still in use.
fn still_needed(context: &Context) -> FxHashSet<usize> {
    let Context { base, claims, .. } = context;
    let failed = claims.failed();
    let failed: Vec<_> = failed.iter().filter_map(|urn| base.position(urn)).collect();
    let records = base.records().iter().enumerate();
    let adopted = records.filter(|(_, record)| record.state.is_provider() && claims.is_adopted(record.id));
    let mut users: Vec<usize> = adopted.map(|(position, _)| position).collect();
    if failed.is_empty() && users.is_empty() {
        return FxHashSet::default();
    }
    let graph = base.graph();
    let dependents = graph.transitive_dependents(&failed, true);
    users.extend(failed);
    users.extend(&dependents);
    let needed = graph.transitive_dependencies(&users);
    needed.into_iter().chain(dependents).collect()
}

/// Returns the URNs of the records below the components on which a record of the base depends.
fn needs_inside(base: &PriorState, old: &StateRef) -> Vec<Urn> {
    let position = base.position(&old.state.urn).filter(|_| !old.state.delete);
    let inside = position.map(|position| base.graph().needs_inside(position));
    let inside = inside.into_iter().flatten();
    inside
        .map(|position| base.records()[position].state.urn.clone())
        .collect()
}

/// Refuses deletions of records with delete hooks, which only their program can run.
fn refuse_hooked(context: &Context, pending: &[PendingDeletion]) -> crate::error::Result<()> {
    let mut refused: Vec<(String, Vec<String>)> = Vec::new();
    let deletes = |op| matches!(op, StepOp::Delete | StepOp::DeleteReplaced);
    for PendingDeletion { record, .. } in pending.iter().filter(|deletion| deletes(deletion.op)) {
        let names: Vec<&str> = record.state.options.delete_hooks().collect();
        if names.is_empty() {
            continue;
        }
        // The message text matches the reference engine; tools match on it.
        let text = format!(
            "Resource has delete hooks registered, but the program is not running. Hooks: {}",
            names.join(", ")
        );
        context.run.report(&record.state.urn, text);
        let mut names: Vec<String> = names.into_iter().map(str::to_owned).collect();
        names.dedup();
        refused.push((record.state.urn.to_string(), names));
    }
    if refused.is_empty() {
        return Ok(());
    }
    // The order of the records depends on the timing of the operations before.
    refused.sort();
    let message = Message::DeleteHooksWithoutProgram { resources: &refused };
    Err(Error::new(ErrorKind::Failed, message))
}

/// Deletes records of the base, each before what it depends on.
async fn delete_in_order(context: &Context, pending: Vec<PendingDeletion>) -> Result<(), RunEnded> {
    if pending.is_empty() {
        // The usual case, in which the dependency graph is not needed.
        return Ok(());
    }
    let positions: Vec<usize> = pending.iter().map(|deletion| deletion.position).collect();
    let places: FxHashMap<usize, usize> = (positions.iter().enumerate())
        .map(|(place, position)| (*position, place))
        .collect();
    let order = context.base.graph().deletion_order(&positions).into_iter();
    let order: Vec<Vec<usize>> = order
        .map(|before| {
            before
                .iter()
                .filter_map(|position| places.get(position).copied())
                .collect()
        })
        .collect();
    let pending = pending.into_iter().map(|deletion| (deletion.record, deletion.op));
    delete(context, pending.collect(), &order).await
}

/// Deletes records; `order` contains for each the indices of those that must be deleted before it.
async fn delete(
    context: &Context,
    pending: Vec<(StateRef, StepOp)>,
    order: &[Vec<usize>],
) -> Result<(), RunEnded> {
    if pending.is_empty() {
        return Ok(());
    }
    let executor = &context.run.executor;
    let ignore_protect = executor.options().ignore_protect;
    // Old copies of an earlier run.
    let replaced = context.replacements.ids();
    let is_copy = |record: &StateRef| record.state.delete && !replaced.contains(&record.id);
    let deletes = |record: &StateRef, op| deletes_thing(&record.state, op, ignore_protect);
    let mut deleted = DeletedSet::default();
    for (record, op) in &pending {
        if deletes(record, *op) {
            deleted.insert(&record.state, is_copy(record));
        }
    }
    let is_gone = |record: &StateRef| deleted.has_host_of(&record.state, is_copy(record));
    let mut places: FxHashMap<&Urn, Vec<usize>> = FxHashMap::default();
    for (place, (record, op)) in pending.iter().enumerate() {
        if deletes(record, *op) {
            places.entry(&record.state.urn).or_default().push(place);
        }
    }
    let host_of = |(index, (record, op)): (usize, &(StateRef, StepOp))| {
        let host = record.state.options.deleted_with.as_ref()?;
        let places = places
            .get(host)
            .filter(|_| deletes(record, *op) && is_gone(record))?;
        places
            .iter()
            .copied()
            .find(|place| order[*place].contains(&index))
    };
    let candidates: Vec<_> = pending.iter().enumerate().map(host_of).collect();
    let mut parents: FxHashMap<&Urn, &Urn> = FxHashMap::default();
    if candidates.iter().any(Option::is_some) {
        for (record, _) in &pending {
            parents.extend(
                record
                    .state
                    .parent
                    .iter()
                    .map(|parent| (&record.state.urn, parent)),
            );
        }
    }
    let depends_on =
        |user: usize, need: usize| depends_on(&pending[user].0.state, &pending[need].0.state.urn, &parents);
    let Cascades { hosts, order } = cascades(&candidates, order, depends_on);
    let states = pending.iter().map(|(record, _)| &*record.state);
    let providers = context.providers.of_records(states).await?;
    let mut steps = Vec::with_capacity(pending.len());
    for (index, ((record, op), provider)) in pending.iter().zip(providers).enumerate() {
        let detail = StepDetail {
            // Without a host after it: the record is an old copy, whose host may have been deleted before.
            deleted_with_gone: hosts[index].is_some() || candidates[index].is_none() && is_gone(record),
            is_cascaded: hosts[index].is_some(),
            ..StepDetail::default()
        };
        // A step for an old record can always be built.
        let step = Step::new(*op, Some(record.clone()), None);
        steps.extend(step.map(|step| step.with_provider(provider).with_detail(detail)));
    }
    context.plans.check_steps(&steps)?;
    run_cascades(executor, steps, &order, &hosts).await;
    Ok(())
}

/// Returns whether a record refers to another one otherwise than as its `deletedWith`, or depends on a component above that.
fn depends_on(user: &ResourceState, need: &Urn, parents: &FxHashMap<&Urn, &Urn>) -> bool {
    if user.parent.as_ref() == Some(need) || user.provider_urn().as_ref() == Some(need) {
        return true;
    }
    let dependencies = user
        .dependencies
        .iter()
        .chain(user.property_dependencies.lists().flatten());
    let dependencies: FxHashSet<&Urn> = dependencies.chain(&user.options.replace_with).collect();
    let above = std::iter::successors(Some(need), |urn| parents.get(*urn).copied());
    above
        .take(parents.len() + 1)
        .any(|urn| dependencies.contains(urn))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::TypeToken;

    fn state(edit: impl FnOnce(&mut ResourceState)) -> ResourceState {
        let urn = Urn::new("dev", "shop", "", "pkg:index:Type", "a");
        let mut state = ResourceState::new(urn, TypeToken::from("pkg:index:Type"), true);
        edit(&mut state);
        state
    }

    #[test]
    fn what_the_run_has_done_with_a_record_decides_how_it_is_deleted() {
        let plain = state(|_| {});
        let external = state(|state| state.external = true);
        let copy = state(|state| state.delete = true);
        let external_copy = state(|state| (state.delete, state.external) = (true, true));
        let pending = state(|state| state.pending_replacement = true);
        let untouched = Dealt::default();
        let operated = Dealt {
            is_operated: true,
            ..untouched
        };
        let replaced = Dealt {
            is_replaced: true,
            ..operated
        };
        let abandoned = Dealt {
            is_abandoned: true,
            ..operated
        };
        let table = [
            (&plain, untouched, Some(StepOp::Delete)),
            (&plain, operated, None),
            (&plain, replaced, Some(StepOp::DeleteReplaced)),
            (&plain, abandoned, Some(StepOp::RemovePendingReplace)),
            (&external, untouched, Some(StepOp::Discard)),
            (&external, replaced, Some(StepOp::DiscardReplaced)),
            (&copy, untouched, Some(StepOp::DeleteReplaced)),
            (&copy, operated, None),
            (&external_copy, untouched, Some(StepOp::DiscardReplaced)),
            (&pending, untouched, Some(StepOp::RemovePendingReplace)),
            (&pending, operated, None),
        ];
        for (row, (state, dealt, expected)) in table.into_iter().enumerate() {
            assert_eq!(deletion_op(state, dealt), expected, "row {row}");
        }
    }

    #[test]
    fn a_protected_retained_or_external_thing_is_not_deleted_with_its_record() {
        let plain = state(|_| {});
        let protected = state(|state| state.protect = true);
        let retained = state(|state| state.retain_on_delete = true);
        let external = state(|state| state.external = true);
        let component = state(|state| state.custom = false);
        let table = [
            (&component, StepOp::Delete, false, true),
            (&component, StepOp::DeleteReplaced, false, false),
            (&plain, StepOp::Delete, false, true),
            (&plain, StepOp::Discard, false, false),
            (&protected, StepOp::Delete, false, false),
            (&protected, StepOp::Delete, true, true),
            (&protected, StepOp::DeleteReplaced, false, true),
            (&retained, StepOp::DeleteReplaced, true, false),
            (&external, StepOp::Delete, true, false),
        ];
        for (row, (state, op, ignore_protect, expected)) in table.into_iter().enumerate() {
            assert_eq!(deletes_thing(state, op, ignore_protect), expected, "row {row}");
        }
    }
}
