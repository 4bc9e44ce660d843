//! Deleting records: what depends on them is deleted too, or refuses the deletion.

use std::sync::Arc;

use super::{Delete, Edited, find::Positions};
use crate::{
    error::{Error, ErrorKind, Result},
    message::{Text, needed_record, protected_record},
    resource::ResourceState,
    state::{Snapshot, graph::dependents_of},
    urn::Urn,
};

/// The width to which names are padded in the reference engine's list of dependents.
const NAME_WIDTH: usize = 15;

/// Deletes records. No provider is called.
///
/// # Errors
/// [`ErrorKind::NotFound`] for an unknown URN; [`ErrorKind::InvalidInput`] for a URN of several records; and
/// [`ErrorKind::Conflict`] for a protected record, or one with dependents.
pub(super) fn delete(snapshot: &Snapshot, edit: &Delete) -> Result<Edited> {
    let records = &snapshot.resources;
    edit.check("delete_resources()")?;
    let mut warnings = Vec::new();
    let mut check_protection = |record: &Arc<ResourceState>| {
        if !record.protect {
            return Ok(());
        }
        if !edit.force {
            return Err(protected(&record.urn));
        }
        warnings.push(format!(
            "the record of the protected resource '{}' is deleted by force",
            record.urn
        ));
        Ok(())
    };
    let targets = match edit.all {
        true => (0..records.len()).collect(),
        false => targets(records, edit)?,
    };
    let mut removed = vec![false; records.len()];
    for target in &targets {
        check_protection(&records[*target])?;
        removed[*target] = true;
    }
    let dependents = dependents_of(records, &targets);
    if !edit.dependents
        && let Some(target) = targets.first()
        && !dependents.is_empty()
    {
        return Err(needed(records, &targets, *target, &dependents));
    }
    for dependent in dependents {
        check_protection(&records[dependent])?;
        removed[dependent] = true;
    }
    let mut edited = Edited::new(snapshot.clone());
    edited.warnings = warnings;
    edited.snapshot.resources = removed
        .iter()
        .zip(records)
        .filter(|(removed, _)| !**removed)
        .map(|(_, record)| Arc::clone(record))
        .collect();
    edited.snapshot.drop_unused_extensions();
    Ok(edited)
}

/// Returns the positions of the named records.
fn targets(records: &[Arc<ResourceState>], edit: &Delete) -> Result<Vec<usize>> {
    let positions = Positions::of(records);
    positions.require(&edit.urns)?;
    let mut targets = Vec::with_capacity(edit.urns.len());
    for urn in &edit.urns {
        let all = positions.all(urn).iter().copied();
        let fitting: Vec<usize> = match &edit.id {
            Some(id) => all.filter(|index| records[*index].id.as_str() == id).collect(),
            None => all.collect(),
        };
        match (fitting.as_slice(), &edit.id) {
            ([index], _) => targets.push(*index),
            ([], Some(id)) => {
                let text = format!("the state has no record of '{urn}' with the id {id:?}");
                return Err(Error::new(ErrorKind::NotFound, text).with_urn(urn.clone()));
            }
            (several, _) => {
                let reference = several.iter().fold(
                    "Resource URN ambiguously referred to multiple resources. Did you mean:".to_owned(),
                    |text, index| format!("{text}\n  {}", records[*index].id),
                );
                let error = positions.ambiguous(urn, several);
                let text = Text::pair(reference, error.message());
                return Err(error
                    .with_text(text)
                    .with_hint("delete_resources() takes the id of one of them"));
            }
        }
    }
    targets.sort_unstable();
    targets.dedup();
    Ok(targets)
}

fn protected(urn: &Urn) -> Error {
    let reference = protected_record(urn.as_str());
    let library = format!("the record of '{urn}' cannot be deleted: it is protected");
    Error::new(ErrorKind::Conflict, Text::pair(reference, library))
        .with_urn(urn.clone())
        .with_hint("unprotect() removes the protection, and 'force' deletes the record all the same")
}

/// The error of records on which others depend.
fn needed(records: &[Arc<ResourceState>], targets: &[usize], first: usize, dependents: &[usize]) -> Error {
    let urn = &records[first].urn;
    let mut lines = String::new();
    let mut library = match targets {
        [_] => format!("the record of '{urn}' cannot be deleted: these depend on it"),
        _ => "the records cannot be deleted: these depend on them".to_owned(),
    };
    for index in dependents {
        let dependent = &records[*index].urn;
        let name = format!("\"{}\"", dependent.name());
        lines.push_str(&format!("\n * {name:<NAME_WIDTH$} ({dependent})"));
        library.push_str(&format!("\n  {dependent}"));
    }
    let reference = needed_record(urn.as_str(), &lines);
    Error::new(ErrorKind::Conflict, Text::pair(reference, library))
        .with_urn(urn.clone())
        .with_hint("'dependents' deletes their records, too")
}
