//! What stays in a stack once resources have left it.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::selection::at_top;
use crate::{
    error::{Error, ErrorKind, Result},
    resource::ResourceState,
    state::{
        Snapshot,
        edit::{Edited, rewrite_snapshot},
    },
    urn::Urn,
};

/// Returns the state without the records of the URNs, and without references to them. A provider stays also where its parent does
/// not: it is below the stack itself then.
///
/// # Errors
/// [`ErrorKind::Conflict`] when the new URN of a provider exists already.
pub(crate) fn withdraw(source: &Snapshot, chosen: &FxHashSet<Urn>) -> Result<Edited> {
    let mut edited = Edited::new(source.clone());
    let snapshot = &mut edited.snapshot;
    let is_chosen = |record: &Arc<ResourceState>| chosen.contains(&record.urn);
    snapshot.resources.retain(|record| !is_chosen(record));
    snapshot
        .pending_operations
        .retain(|pending| !is_chosen(&pending.resource));
    let renames = lift_providers(snapshot, chosen)?;
    if !renames.is_empty() {
        rewrite_snapshot(snapshot, &|urn| renames.get(urn).cloned());
    }
    let pending = snapshot.pending_operations.iter_mut();
    let pending = pending.map(|pending| &mut pending.resource);
    for record in snapshot.resources.iter_mut().chain(pending) {
        let mut is_touched = false;
        record.for_each_dependency(|urn| is_touched |= chosen.contains(urn));
        if is_touched {
            Arc::make_mut(record).retain_dependencies(|urn| !chosen.contains(urn));
        }
    }
    snapshot.drop_unused_extensions();
    edited.renames = renames;
    Ok(edited)
}

/// Puts the providers below resources that leave directly below the stack itself, and returns their new URNs.
fn lift_providers(snapshot: &mut Snapshot, chosen: &FxHashSet<Urn>) -> Result<FxHashMap<Urn, Urn>> {
    let is_below = |record: &ResourceState| {
        record
            .parent
            .as_ref()
            .is_some_and(|parent| chosen.contains(parent))
    };
    let root = snapshot.root_stack().map(|root| root.urn.clone());
    let mut renames = FxHashMap::default();
    let mut lifted = Vec::new();
    for (index, record) in snapshot.resources.iter().enumerate() {
        if is_below(record) {
            let renamed = at_top(&record.urn, (record.urn.project(), record.urn.stack()));
            if renamed != record.urn {
                renames.insert(record.urn.clone(), renamed);
            }
            lifted.push(index);
        }
    }
    let mut seen: FxHashSet<&Urn> = FxHashSet::default();
    let twice = renames.values().find(|urn| !seen.insert(urn));
    let taken =
        |record: &&Arc<ResourceState>| seen.contains(&record.urn) && !renames.contains_key(&record.urn);
    let taken = snapshot.resources.iter().find(taken).map(|record| &record.urn);
    if let Some(urn) = taken.or(twice) {
        let text = format!("a provider whose parent moves would have the URN '{urn}', which exists already");
        return Err(Error::new(ErrorKind::Conflict, text).with_urn(urn.clone()));
    }
    for index in lifted {
        Arc::make_mut(&mut snapshot.resources[index])
            .parent
            .clone_from(&root);
    }
    Ok(renames)
}
