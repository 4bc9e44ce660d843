//! Repair: the records are sorted, and references to records that do not exist are removed.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    Edited,
    rename::{Family, below},
    rewrite_snapshot,
};
use crate::{
    error::{Error, ErrorKind, Result},
    resource::ResourceState,
    state::{Snapshot, integrity, valid_order},
    urn::Urn,
};

/// Repairs a snapshot; a valid one is returned unchanged.
///
/// A record whose parent does not exist has none afterwards: its URN has its own type alone, unless that URN exists already, and
/// the URNs of its descendants follow.
///
/// # Errors
/// [`ErrorKind::State`] for a violation that is not repairable: records that need each other, two records of one URN, a
/// missing provider, a missing type.
pub(super) fn repair(snapshot: &Snapshot) -> Result<Edited> {
    let mut edited = Edited::new(snapshot.clone());
    let Err(first) = integrity::verify(snapshot) else {
        // The owners of views are no part of the integrity rules.
        prune(&mut edited.snapshot.resources);
        return Ok(edited);
    };
    let order = valid_order(&snapshot.resources).map_err(|error| beyond_repair(&error, &first))?;
    let sorted = order
        .into_iter()
        .map(|index| Arc::clone(&snapshot.resources[index]));
    edited.snapshot.resources = sorted.collect();
    let renames = adopt_orphans(&edited.snapshot);
    rewrite_snapshot(&mut edited.snapshot, &|urn| renames.get(urn).cloned());
    prune(&mut edited.snapshot.resources);
    release_pending(&mut edited.snapshot);
    integrity::verify(&edited.snapshot).map_err(|error| beyond_repair(&error, &first))?;
    edited.renames = renames;
    Ok(edited)
}

/// Returns the new URNs of records without their parents, and of their descendants, by their former URNs.
fn adopt_orphans(snapshot: &Snapshot) -> FxHashMap<Urn, Urn> {
    let records = &snapshot.resources;
    let mut urns: FxHashSet<Urn> = records.iter().map(|record| record.urn.clone()).collect();
    let is_missing = |record: &Arc<ResourceState>| {
        record
            .parent
            .as_ref()
            .is_some_and(|parent| !urns.contains(parent))
    };
    let orphans: FxHashSet<usize> = (0..records.len())
        .filter(|index| is_missing(&records[*index]))
        .collect();
    let family = Family::of(snapshot);
    let mut renames: FxHashMap<Urn, Urn> = FxHashMap::default();
    let pending = snapshot.pending_operations.iter();
    let pending = pending.map(|pending| &pending.resource);
    // Sorted, so that each record stands after its parent, and what is only pending after all records.
    for (index, record) in records.iter().chain(pending).enumerate() {
        let own = &record.urn;
        let renamed = match &record.parent {
            Some(_) if orphans.contains(&index) => {
                let alone = Urn::new(own.stack(), own.project(), "", own.resource_type(), own.name());
                (alone != *own).then_some(alone)
            }
            Some(parent) => renames
                .get(parent)
                .and_then(|new_parent| below(own, parent, new_parent)),
            None => None,
        };
        let Some(renamed) = renamed.filter(|_| !family.has_other_parents(own)) else {
            continue;
        };
        if renames.contains_key(own) || urns.contains(&renamed) {
            continue;
        }
        urns.insert(renamed.clone());
        renames.insert(own.clone(), renamed);
    }
    renames
}

/// Removes references to records that do not exist.
fn prune(records: &mut [Arc<ResourceState>]) {
    let urns: FxHashSet<Urn> = records.iter().map(|record| record.urn.clone()).collect();
    for record in records {
        let mut is_dangling = record.view_of.as_ref().is_some_and(|owner| !urns.contains(owner));
        record.for_each_dependency(|urn| is_dangling |= !urns.contains(urn));
        if is_dangling {
            let record = Arc::make_mut(record);
            record.retain_dependencies(|urn| urns.contains(urn));
            record.view_of = record.view_of.take().filter(|owner| urns.contains(owner));
        }
    }
}

/// Removes the missing parents of pending operations whose resources have records, which have no parent now.
fn release_pending(snapshot: &mut Snapshot) {
    let records = &snapshot.resources;
    let urns: FxHashSet<&Urn> = records.iter().map(|record| &record.urn).collect();
    let placed = records.iter().filter(|record| record.parent.is_none());
    let at_top: FxHashSet<&Urn> = placed.map(|record| &record.urn).collect();
    for pending in &mut snapshot.pending_operations {
        let resource = &pending.resource;
        let parent = resource.parent.as_ref();
        if parent.is_some_and(|parent| !urns.contains(parent)) && at_top.contains(&resource.urn) {
            Arc::make_mut(&mut pending.resource).parent = None;
        }
    }
}

/// The error of a state that only its user can correct.
fn beyond_repair(error: &Error, first: &Error) -> Error {
    let text = match error.message() == first.message() {
        true => format!("the state cannot be repaired: {error}"),
        false => format!("the state cannot be repaired: {error}; it was read with: {first}"),
    };
    let named = Error::new(ErrorKind::State, text).with_hint(
        "export_deployment() returns the state as it is; once the document is corrected, import_deployment() replaces the state",
    );
    error.urn().cloned().into_iter().fold(named, Error::with_urn)
}
