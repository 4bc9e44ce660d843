//! Edits of a state: the records are changed in memory, verified, and become the checkpoint.

use std::sync::Arc;

use super::StackContext;
use crate::{
    diagnostic::Diagnostic,
    error::{Error, ErrorKind, Result},
    state::{
        JournalEntry, JournalRecord, OperationId, PendingEntry, Snapshot, StateId, StateRef,
        edit::{EditReport, StateEdit},
        integrity,
    },
    store::{self, LoadedStack, StackSession},
};

/// Applies an edit to a stack's state. Nothing is written by a dry run, by an edit that changes nothing, and after an
/// error.
///
/// # Errors
/// Those of the edit; [`ErrorKind::State`] for a state that is invalid, or that the edit would make so;
/// [`ErrorKind::Conflict`] while the stack is locked elsewhere.
pub(crate) async fn edit(stack: &StackContext, edit: &StateEdit, dry_run: bool) -> Result<EditReport> {
    let applied = |loaded: &LoadedStack| {
        let (edited, mut report) = edit.apply(&loaded.snapshot)?;
        integrity::verify(&edited).map_err(|error| invalid(edit, &error))?;
        warn(&mut report, &loaded.warnings);
        Ok::<_, Error>((edited, report))
    };
    let load = async || match edit.accepts_invalid() {
        true => stack.storage.load_unverified(&*stack.secrets).await,
        false if dry_run => stack.storage.load_unlocked(&*stack.secrets).await,
        false => stack.storage.load(&*stack.secrets).await,
    };
    if dry_run {
        stack.storage.refuse_unsettled().await?;
        let (_, report) = applied(&load().await?)?;
        return Ok(EditReport { dry_run, ..report });
    }
    let lock = stack.storage.lock_for(edit.name()).await?;
    let result = async {
        let loaded = load().await?;
        let (edited, mut report) = applied(&loaded)?;
        if report.is_empty() {
            return Ok(report);
        }
        let notes = commit(stack, loaded, edited, edit.name()).await?;
        warn(&mut report, &notes);
        Ok(report)
    };
    let result = result.await;
    let released = lock.release().await;
    result.and_then(|report| released.map(|()| report))
}

/// The hint for an edit that a host's journal has, and that the store may have.
const UNKNOWN: &str = "the host's journal has received this edit; whether the store has it, snapshot() shows once the store can be read";

/// The hint for an edit that a host's journal has, and that the store does not have.
const NOT_TAKEN_BACK: &str =
    "the host's journal has received this edit, which the store does not have: snapshot() returns the state";

/// Makes an edited state that is valid the stack's checkpoint. The caller holds the lock. A journal that a crash left is merged
/// first; returns the diagnostics about that.
async fn commit(
    stack: &StackContext,
    loaded: LoadedStack,
    mut edited: Snapshot,
    kind: &str,
) -> Result<Vec<Diagnostic>> {
    let mut current = loaded.snapshot.clone();
    let session = StackSession::begin(&stack.storage, loaded, &mut current, kind).await?;
    edited.manifest.clone_from(&current.manifest);
    write(stack, &session, Some(&current), &mut edited).await?;
    Ok(session.notes().to_vec())
}

/// Makes an edited state the stack's checkpoint, once the host's journal has received it. Where it cannot be written, the journal
/// gets the former state again, if that could be read.
pub(super) async fn write(
    stack: &StackContext,
    session: &StackSession,
    former: Option<&Snapshot>,
    edited: &mut Snapshot,
) -> Result<()> {
    announce(stack, edited).await?;
    let Err(error) = session.commit_edit(edited).await else {
        return Ok(());
    };
    Err(take_back(stack, former, session.is_unchanged().await, error).await)
}

/// Passes the former state to the host's journal, which has received an edit that could not be written. Returns the error of that
/// write. `is_unchanged` is false where the store has the edit nevertheless.
pub(super) async fn take_back(
    stack: &StackContext,
    former: Option<&Snapshot>,
    is_unchanged: Result<bool>,
    error: Error,
) -> Error {
    if stack.journal.is_none() {
        return error;
    }
    match (is_unchanged, former) {
        (Ok(false), _) => error,
        (Err(_), _) => error.with_hint(UNKNOWN),
        (Ok(true), Some(former)) if announce(stack, former).await.is_ok() => error,
        (Ok(true), _) => error.with_hint(NOT_TAKEN_BACK),
    }
}

/// Removes a pending operation from a stack's state, and returns it.
///
/// # Errors
/// Those of [`crate::Stack::forget_pending`], and of the host's journal.
pub(crate) async fn forget_pending(stack: &StackContext, id: &str, dry_run: bool) -> Result<PendingEntry> {
    let write = async |session: &StackSession, former: &Snapshot, edited: &mut Snapshot| {
        write(stack, session, Some(former), edited).await
    };
    let storage = &stack.storage;
    store::forget_pending(storage, &*stack.secrets, id, dry_run, write).await
}

/// Passes an edited state to the host's journal, as the complete new lists of records and pending operations.
pub(super) async fn announce(stack: &StackContext, edited: &Snapshot) -> Result<()> {
    let Some(receiver) = &stack.journal else {
        return Ok(());
    };
    let records = (0..).map(StateId).zip(&edited.resources);
    let resources = records.map(|(id, state)| StateRef {
        id,
        state: Arc::clone(state),
    });
    let entry = JournalEntry {
        sequence: 0,
        operation: OperationId(0),
        record: JournalRecord::BaseWritten {
            resources: resources.collect(),
            pending: Some(edited.pending_operations.clone()),
        },
    };
    receiver.receive(&Arc::new(entry)).await
}

/// Adds warnings about the state to a report.
pub(super) fn warn(report: &mut EditReport, warnings: &[Diagnostic]) {
    let warnings = warnings.iter();
    report
        .warnings
        .extend(warnings.map(|warning| warning.message.library().to_owned()));
}

fn invalid(edit: &StateEdit, error: &Error) -> Error {
    let text = format!("the {} would leave an invalid state: {error}", edit.name());
    error
        .urn()
        .cloned()
        .into_iter()
        .fold(Error::new(ErrorKind::State, text), Error::with_urn)
}
