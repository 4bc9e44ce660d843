//! Adoption: the resource of a pending operation is read and recorded.

use std::sync::Arc;

use super::{
    OperationRun,
    prepare::Prepared,
    relation::{Relation, is_managed, is_old_copy, taken},
    resolve::{Candidate, check_readable, exists, record},
    run_state::RunState,
};
use crate::{
    diagnostic::Diagnostic,
    error::{Error, Result},
    property::PropertyMap,
    resource::{PendingOperationKind, ResourceState},
    state::PendingEntry,
    token::ResourceId,
};

/// The pending operation whose resource an operation records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Adoption {
    /// The id of the pending operation, see [`PendingEntry::id`].
    pub pending: String,
    /// The id of the resource; `None` for the one that the pending operation has.
    pub resource_id: Option<String>,
    /// Whether a record of another resource with the same URN is replaced. That resource stays as it is, and is not managed
    /// any more.
    pub replace: bool,
}

/// Reads the resource of the chosen pending operation, and records it.
///
/// # Errors
/// [`crate::ErrorKind::NotFound`] without such an operation, [`crate::ErrorKind::InvalidInput`] for what cannot be read,
/// [`crate::ErrorKind::Conflict`] when the URN has the record of another resource, which is not to be replaced.
pub(super) async fn adopt(run: &OperationRun, mut prepared: Prepared) -> Result<Option<PropertyMap>> {
    let adoption = run.pending.adoption.as_ref();
    let adoption = adoption.ok_or_else(|| Error::internal("an adoption without a pending operation"))?;
    let records: Vec<_> = prepared
        .base
        .records()
        .iter()
        .map(|record| Arc::clone(&record.state))
        .collect();
    let (place, entry) = PendingEntry::find(&prepared.pending, &records, &adoption.pending)?;
    run.pending.found().chosen = Some(entry.operation.clone());
    let resource = &entry.operation.resource;
    let id = match &adoption.resource_id {
        Some(id) => ResourceId::from(id.as_str()),
        None if resource.id.is_empty() => resource.options.import_id.clone(),
        None => resource.id.clone(),
    };
    check_readable(resource, &id)?;
    if run.pending.reads_only {
        let state = ResourceState {
            id: id.clone(),
            ..ResourceState::clone(resource)
        };
        if exists(run, &prepared, &state).await? {
            record(run, &mut prepared, vec![Candidate { place, id }]).await?;
        }
        return Ok(None);
    }
    match Relation::of(&prepared.base, resource, &id) {
        Relation::Free => {}
        // What the interrupted change has come to is read.
        Relation::Recorded if entry.operation.kind != PendingOperationKind::Creating => {}
        Relation::Recorded => {
            let mut found = run.pending.found();
            found.resolved.push(place);
            found.record = prepared
                .base
                .live(&resource.urn)
                .map(|record| Arc::clone(&record.state));
            return Ok(None);
        }
        Relation::Taken(other) if adoption.replace => {
            let text = format!(
                "the record of '{}' is replaced: its resource with the id '{other}' is not managed any more",
                resource.urn
            );
            run.events
                .diagnostic(Diagnostic::warning(text).about(resource.urn.clone()));
        }
        Relation::Taken(other) => return Err(taken(&resource.urn, &other)),
        Relation::OldCopy(copy) => return Err(is_old_copy(&resource.urn, &id, &copy)),
        Relation::Managed(owner) => return Err(is_managed(&resource.urn, &id, &owner)),
    }
    record(run, &mut prepared, vec![Candidate { place, id }]).await?;
    Ok(None)
}

/// Adds to the error of an adoption what the state has of the pending operation.
pub(super) fn with_kept(run: &OperationRun, state: &RunState, error: Error) -> Error {
    let found = run.pending.found();
    let is_written = state.knows_state && !run.options.dry_run;
    let Some(chosen) = found.chosen.as_ref().filter(|_| is_written) else {
        return error;
    };
    let kind = format!("{:?}", chosen.kind).to_lowercase();
    let urn = &chosen.resource.urn;
    error.with_hint(match &found.record {
        Some(record) => format!(
            "'{urn}' is recorded with the id '{}', and its pending operation '{kind}' is removed from the state",
            record.id
        ),
        None => format!(
            "the state is as before: the pending operation '{kind}' of '{urn}' stays, and can be adopted again, or removed by \
             forget_pending()"
        ),
    })
}
