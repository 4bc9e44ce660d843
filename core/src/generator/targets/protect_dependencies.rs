//! Protected dependencies: the pending deletions that targets allow, without the dependencies of skipped records.

use rustc_hash::FxHashSet;

use super::Targeting;
use crate::{
    generator::{
        RunEnded,
        adopt::{adopt_replaced_provider, is_provider_of},
        context::Context,
        deletions::{PendingDeletion, RegisteredDeletion},
        steps::untargeted,
    },
    message::{Message, Text},
    state::{DependencyGraph, EdgeKind},
    step::StepOp,
    urn::Urn,
};

/// Returns the deletions that targets and excludes allow, after the rest of the base has been kept unchanged. Ends the
/// run when a deletion requires a target that is not named.
pub(in crate::generator) async fn protect_dependencies(
    context: &Context,
    pending: Vec<PendingDeletion>,
    registered: Vec<RegisteredDeletion>,
) -> Result<(Vec<PendingDeletion>, Vec<RegisteredDeletion>), RunEnded> {
    let targeting = context.options.targeting.as_deref();
    let Some(targeting) = targeting.filter(|targeting| targeting.is_limited()) else {
        return Ok((pending, registered));
    };
    let (run, base, claims) = (&context.run, &context.base, &context.claims);
    let named = named_records(context, targeting);
    let mut deletions = AllowedDeletions::new(context, targeting, &named, pending, registered);
    deletions.protect_needed();
    if !targeting.targets.is_empty() && !targeting.target_dependents {
        let left = deletions.pending.iter().filter(|deletion| {
            // Of a pending replacement only the record is removed. A record that this run has released was the
            // program's.
            let is_pending_replacement =
                deletion.op == StepOp::RemovePendingReplace && deletion.record.state.pending_replacement;
            !named[deletion.position] && !is_pending_replacement
        });
        let left = left.map(|deletion| &deletion.record.state.urn);
        let registered = deletions
            .registered
            .iter()
            .map(|deletion| &deletion.record.state.urn);
        let unnamed = left.chain(registered.filter(|urn| !targeting.names(urn)));
        let texts = unnamed.map(|urn| {
            (
                urn,
                Text::from(Message::DeletionNotTargeted { urn: urn.as_str() }),
            )
        });
        run.refuse_all(texts, "delete untargeted resource")?;
    }
    let released = claims.released();
    for position in left_as_they_are(context, &deletions.is_deleted) {
        let record = &base.records()[position];
        let record = released.get(&record.id).unwrap_or(record);
        adopt_replaced_provider(context, position).await?;
        if let Some(mut step) = untargeted(record) {
            context.plans.check_steps(std::slice::from_ref(&step))?;
            run.executor.run_step(&mut step).await.map_err(|_| RunEnded)?;
        }
    }
    Ok((deletions.pending, deletions.registered))
}

/// Returns for each record of the base whether the user named it, by its recorded or its current URN.
fn named_records(context: &Context, targeting: &Targeting) -> Vec<bool> {
    let named = context.base.records().iter().map(|record| {
        let urn = &record.state.urn;
        targeting.names(urn) || targeting.names(&context.claims.current_urn(urn))
    });
    named.collect()
}

impl Targeting {
    /// Returns for each record of a graph whether it may be deleted; `named` marks those that the user named.
    fn deletable(&self, graph: &DependencyGraph, named: &[bool]) -> Vec<bool> {
        let roots: Vec<usize> = (0..named.len()).filter(|position| named[*position]).collect();
        let by_targets = !self.targets.is_empty();
        let mut reached = roots.clone();
        if by_targets || self.exclude_dependents {
            reached.extend(graph.transitive_dependents(&roots, true));
        }
        if !by_targets {
            reached.extend(graph.transitive_dependencies(&reached));
        }
        let mut deletable = vec![!by_targets; named.len()];
        for position in reached {
            deletable[position] = by_targets;
        }
        deletable
    }
}

/// Returns the positions of the unprocessed records that this run does not delete. Old copies and pending replacements
/// are not resources of their own; views belong to other resources.
fn left_as_they_are(context: &Context, is_deleted: &[bool]) -> Vec<usize> {
    let records = context.base.records().iter().zip(is_deleted).enumerate();
    let left = records.filter(|(_, (record, is_deleted))| {
        let state = &record.state;
        !**is_deleted && !state.delete && state.view_of.is_none() && !context.claims.is_operated(record.id)
    });
    left.map(|(position, _)| position).collect()
}

/// Returns for each record of the base whether the records at `users` depend on it, at any depth.
fn needed_by(context: &Context, users: &[usize]) -> Vec<bool> {
    let records = context.base.records();
    let replaced = context.replacements.ids();
    let mut needed = vec![false; records.len()];
    let mut pending = users.to_vec();
    while let Some(user) = pending.pop() {
        for (need, kind) in context.base.graph().dependencies(user) {
            let record = &records[need];
            let is_copy = record.state.delete || replaced.contains(&record.id);
            let is_meant = if kind == EdgeKind::Provider {
                is_provider_of(&record.state, &records[user].state)
            } else {
                !is_copy || !is_live(context, &record.state.urn)
            };
            if is_meant && !std::mem::replace(&mut needed[need], true) {
                pending.push(need);
            }
        }
    }
    needed
}

/// Returns whether a URN has a record besides its old copies.
pub(in crate::generator) fn is_live(context: &Context, urn: &Urn) -> bool {
    let Context { base, claims, .. } = context;
    let urn = claims.current_urn(urn);
    base.live(&urn).is_some() || (claims.is_seen(&urn) && !claims.is_skipped(&urn))
}

/// The deletions that are still allowed.
struct AllowedDeletions<'a> {
    context: &'a Context,
    pending: Vec<PendingDeletion>,
    registered: Vec<RegisteredDeletion>,
    /// For each record of the base, whether it or its registered resource is deleted.
    is_deleted: Vec<bool>,
    /// Registered records that stay.
    staying: Vec<RegisteredDeletion>,
}

impl<'a> AllowedDeletions<'a> {
    /// Removes the deletions that targets and excludes do not allow.
    fn new(
        context: &'a Context,
        targeting: &Targeting,
        named: &[bool],
        mut pending: Vec<PendingDeletion>,
        registered: Vec<RegisteredDeletion>,
    ) -> Self {
        let base = &context.base;
        let deletable = targeting.deletable(base.graph(), named);
        pending.retain(|deletion| deletable[deletion.position]);
        let (registered, staying): (Vec<_>, Vec<_>) =
            registered
                .into_iter()
                .partition(|deletion| match deletion.position(base) {
                    Some(position) => deletable[position],
                    None => targeting.includes(targeting.names(&deletion.record.state.urn)),
                });
        let mut is_deleted = vec![false; named.len()];
        let recorded = registered.iter().filter_map(|deletion| deletion.position(base));
        for position in pending.iter().map(|deletion| deletion.position).chain(recorded) {
            is_deleted[position] = true;
        }
        Self {
            context,
            pending,
            registered,
            is_deleted,
            staying,
        }
    }

    /// Removes the recorded and current dependencies of staying records.
    fn protect_needed(&mut self) {
        let Context { base, claims, .. } = self.context;
        loop {
            let mut users = left_as_they_are(self.context, &self.is_deleted);
            let kept = claims.kept_records();
            users.extend(kept.into_iter().filter(|position| !self.is_deleted[*position]));
            users.extend(self.staying.iter().filter_map(|staying| staying.position(base)));
            let needed = needed_by(self.context, &users);
            self.pending.retain(|deletion| !needed[deletion.position]);
            for (is_deleted, needed) in self.is_deleted.iter_mut().zip(&needed) {
                *is_deleted &= !needed;
            }
            let mut needed_urns = FxHashSet::default();
            for staying in &self.staying {
                staying.record.state.for_each_dependency(|urn| {
                    needed_urns.insert(urn.clone());
                });
                needed_urns.extend(staying.record.state.provider_urn());
            }
            let (protected, registered): (Vec<_>, Vec<_>) = std::mem::take(&mut self.registered)
                .into_iter()
                .partition(|deletion| {
                    deletion.position(base).is_some_and(|position| needed[position])
                        || needed_urns.contains(&deletion.record.state.urn)
                });
            self.registered = registered;
            if protected.is_empty() {
                return;
            }
            for position in protected.iter().filter_map(|staying| staying.position(base)) {
                self.is_deleted[position] = false;
            }
            self.staying.extend(protected);
        }
    }
}
