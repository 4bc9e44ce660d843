//! Sorting records so that each stands after all records that it needs.

use std::{cmp::Reverse, collections::BinaryHeap, sync::Arc};

use rustc_hash::FxHashMap;

use super::{for_each_reference, references::References};
use crate::{
    error::{Error, ErrorKind, Result},
    resource::{ResourceState, UNKNOWN_ID},
    urn::Urn,
};

/// Returns the positions of `records` in an order in which each stands after all records that it needs.
///
/// Stable: a sorted list is unchanged. Among several records with one URN, references of records that are marked for
/// deletion mean the marked ones, other references mean those in use. Dangling references are ignored.
///
/// # Errors
/// [`ErrorKind::State`] when the needs form a cycle.
pub(crate) fn stable_order(records: &[Arc<ResourceState>]) -> Result<Vec<usize>> {
    let targets = References::of(records);
    let mut order = Vec::with_capacity(records.len());
    let mut marks = vec![Mark::Unseen; records.len()];
    // Each level contains a record and its remaining needs. An explicit stack, as chains may be long.
    let mut stack: Vec<(usize, std::vec::IntoIter<usize>)> = Vec::new();
    for root in 0..records.len() {
        if marks[root] != Mark::Unseen {
            continue;
        }
        marks[root] = Mark::Open;
        stack.push((root, targets.needs(records, root).into_iter()));
        while let Some((index, needs)) = stack.last_mut() {
            match needs.next().map(|need| (need, marks[need])) {
                Some((need, Mark::Unseen)) => {
                    marks[need] = Mark::Open;
                    stack.push((need, targets.needs(records, need).into_iter()));
                }
                Some((need, Mark::Open)) => {
                    let error = Error::new(ErrorKind::State, "snapshot has cyclic dependencies");
                    return Err(error.with_urn(records[need].urn.clone()));
                }
                Some((_, Mark::Done)) => {}
                None => {
                    marks[*index] = Mark::Done;
                    order.push(*index);
                    stack.pop();
                }
            }
        }
    }
    Ok(order)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Unseen,
    Open,
    Done,
}

/// Returns the order of [`stable_order`]. Where the preferred meaning of references makes a cycle, any record of the URN satisfies
/// one.
///
/// Old copies refer to their needs by URN alone, and these may have been replaced before or since. Whenever there is a
/// valid order (see [`crate::state::integrity`]), one is found.
///
/// # Errors
/// [`ErrorKind::State`] when there is none.
pub(crate) fn valid_order(records: &[Arc<ResourceState>]) -> Result<Vec<usize>> {
    stable_order(records).or_else(|cycle| order_by_urns(records).ok_or(cycle))
}

/// Takes repeatedly the first record whose references all name records taken before; `None` when that ends before all
/// are taken. Dangling references are ignored.
pub(super) fn order_by_urns(records: &[Arc<ResourceState>]) -> Option<Vec<usize>> {
    // The records that wait for each existing name.
    let mut waiting: FxHashMap<Name<'_>, Vec<usize>> = FxHashMap::default();
    for record in records {
        for name in names_of(record) {
            waiting.entry(name).or_default();
        }
    }
    let mut missing = vec![0_usize; records.len()];
    for (index, record) in records.iter().enumerate() {
        for_each_need(record, |name| {
            if let Some(waiting) = waiting.get_mut(&name) {
                waiting.push(index);
                missing[index] += 1;
            }
        });
    }
    let ready = (0..records.len()).filter(|index| missing[*index] == 0);
    let mut ready: BinaryHeap<_> = ready.map(Reverse).collect();
    let mut order = Vec::with_capacity(records.len());
    while let Some(Reverse(index)) = ready.pop() {
        order.push(index);
        for name in names_of(&records[index]) {
            for waiting in waiting.remove(&name).into_iter().flatten() {
                missing[waiting] -= 1;
                if missing[waiting] == 0 {
                    ready.push(Reverse(waiting));
                }
            }
        }
    }
    (order.len() == records.len()).then_some(order)
}

/// The target of a reference: a URN, and an id where it is a reference to a provider.
type Name<'a> = (&'a str, Option<&'a str>);

fn names_of(record: &ResourceState) -> impl Iterator<Item = Name<'_>> {
    let urns = std::iter::once(&record.urn).chain(&record.aliases);
    // As in the integrity check: references to a provider that was never created have the sentinel as id.
    let id = if record.id.is_empty() {
        UNKNOWN_ID
    } else {
        record.id.as_str()
    };
    let provider = record.is_provider().then(|| (record.urn.as_str(), Some(id)));
    urns.map(|urn| (urn.as_str(), None)).chain(provider)
}

fn for_each_need<'a>(record: &'a ResourceState, mut need: impl FnMut(Name<'a>)) {
    // The provider of a record with a pending replacement may stand anywhere.
    let provider = record.provider.rsplit_once("::");
    if let Some((urn, id)) = provider.filter(|_| !record.pending_replacement) {
        need((urn, Some(id)));
    }
    for_each_reference(record, &mut |urn: &'a Urn, _| need((urn.as_str(), None)));
}
