//! The check of a request: names and references become rows in which no name is left to find. All faults are reported
//! together, before anything happens.

use rustc_hash::FxHashMap;

use super::{
    faults::{described, joined, logical_name, own_faults},
    names::Names,
    order::{cycle, edges},
    request::{ImportRequest, ImportResource},
    row::{Parent, Row, RowProvider, resolved},
};
use crate::{error::Result, urn::Urn};

/// Returns the rows of a request for a stack.
///
/// # Errors
/// [`crate::ErrorKind::InvalidInput`] with all faults of the request.
pub(super) fn check(request: &ImportRequest, stack: &str, project: &str) -> Result<Vec<Row>> {
    let names = Names::new(request);
    let given = &request.resources;
    let own = given.iter().enumerate();
    let mut faults: Vec<String> = own.flat_map(|(index, row)| own_faults(index, row)).collect();
    // Without its parent, a row has no URN of its own to compare.
    let mut orphans = vec![false; given.len()];
    let mut parents = Vec::with_capacity(given.len());
    for (index, orphan) in orphans.iter_mut().enumerate() {
        let before = faults.len();
        parents.push(names.parent(index, &mut faults));
        *orphan = faults.len() > before;
    }
    let of_rows: Vec<Vec<usize>> = parents
        .iter()
        .map(|parent| match parent {
            Parent::Row(row) => vec![*row],
            _ => Vec::new(),
        })
        .collect();
    if refuse_cycle(given, &of_rows, "parent", &mut faults) {
        return Err(joined(faults));
    }
    let mut urns: Vec<Option<Urn>> = vec![None; given.len()];
    for index in 0..given.len() {
        urn_of(index, given, &parents, (stack, project), &mut urns);
    }
    let mut rows = Vec::with_capacity(given.len());
    for (index, (row, parent)) in given.iter().zip(parents).enumerate() {
        let provider = names.provider(index, &mut faults);
        let Some(urn) = urns.get_mut(index).and_then(Option::take) else {
            continue;
        };
        match resolved(index, row, urn, parent, provider) {
            Ok(row) => rows.push((index, row)),
            Err(fault) => faults.push(fault),
        }
    }
    let comparable = rows.iter().filter(|(index, _)| !orphans[*index]);
    refuse_equal_urns(comparable.map(|(_, row)| row), &mut faults);
    if !faults.is_empty() {
        return Err(joined(faults));
    }
    let mut rows: Vec<Row> = rows.into_iter().map(|(_, row)| row).collect();
    refer_to_rows(&mut rows);
    let all: Vec<Vec<usize>> = rows.iter().map(edges).collect();
    let _ = refuse_cycle(given, &all, "parent or provider", &mut faults);
    match faults.is_empty() {
        true => Ok(rows),
        false => Err(joined(faults)),
    }
}

/// Checks the resources of a request apart from their references to others.
///
/// # Errors
/// [`crate::ErrorKind::InvalidInput`] with all faults.
pub(super) fn check_alone(request: &ImportRequest) -> Result<()> {
    let rows = request.resources.iter().enumerate();
    let faults: Vec<_> = rows.flat_map(|(index, row)| own_faults(index, row)).collect();
    match faults.is_empty() {
        true => Ok(()),
        false => Err(joined(faults)),
    }
}

/// Fills in the URN of a row, those of its parents first. Parents have no cycle.
fn urn_of(
    index: usize,
    given: &[ImportResource],
    parents: &[Parent],
    (stack, project): (&str, &str),
    urns: &mut [Option<Urn>],
) {
    // From the row to the first ancestor whose URN is known; the depth is not limited by the stack of calls.
    let mut path = vec![index];
    while let Some(Parent::Row(parent)) = path.last().and_then(|last| parents.get(*last)) {
        if urns.get(*parent).is_some_and(Option::is_some) {
            break;
        }
        path.push(*parent);
    }
    for row in path.into_iter().rev() {
        let parent_type = match parents.get(row) {
            Some(Parent::Row(parent)) => urns.get(*parent).and_then(Option::as_ref).map(qualified),
            Some(Parent::Recorded(urn)) => Some(qualified(urn)),
            _ => None,
        };
        if let (Some(place), Some(given)) = (urns.get_mut(row), given.get(row)) {
            let parent_type = parent_type.unwrap_or_default();
            *place = Some(Urn::new(
                stack,
                project,
                &parent_type,
                &given.resource_type,
                logical_name(given),
            ));
        }
    }
}

/// Returns the part of a child's qualified type that comes from its parent.
fn qualified(parent: &Urn) -> String {
    match parent.is_root_stack() {
        true => String::new(),
        false => parent.qualified_type().to_owned(),
    }
}

/// Refuses two resources of one URN.
fn refuse_equal_urns<'a>(rows: impl Iterator<Item = &'a Row>, faults: &mut Vec<String>) {
    let mut seen = FxHashMap::default();
    for row in rows {
        if seen.insert(&row.urn, ()).is_some() {
            let (name, kind) = (&row.name, &row.resource_type);
            faults.push(format!(
                "resource '{name}' of type '{kind}' has an ambiguous URN, set name (or logical name) to be unique"
            ));
        }
    }
}

/// Makes references by URN to resources of the import references to their rows.
fn refer_to_rows(rows: &mut [Row]) {
    let places: FxHashMap<Urn, usize> = rows
        .iter()
        .enumerate()
        .map(|(index, row)| (row.urn.clone(), index))
        .collect();
    for row in rows {
        if let Parent::Recorded(urn) = &row.parent {
            if urn.is_root_stack() && urn.stack() == row.urn.stack() && urn.project() == row.urn.project() {
                row.parent = Parent::Root;
            } else if let Some(place) = places.get(urn) {
                row.parent = Parent::Row(*place);
            }
        }
        if let RowProvider::Recorded(urn, _) = &row.provider
            && let Some(place) = places.get(urn)
        {
            row.provider = RowProvider::Row(*place);
        }
    }
}

/// Refuses resources that wait for each other; returns whether there are some.
fn refuse_cycle(
    given: &[ImportResource],
    edges: &[Vec<usize>],
    what: &str,
    faults: &mut Vec<String>,
) -> bool {
    let Some(cycle) = cycle(edges) else { return false };
    let named = cycle
        .iter()
        .filter_map(|index| Some((*index, given.get(*index)?)));
    let named: Vec<String> = named.map(|(index, row)| described(index, row)).collect();
    faults.push(format!(
        "{} has a cyclic {what}: {}",
        named[0],
        named.join(", then ")
    ));
    true
}
