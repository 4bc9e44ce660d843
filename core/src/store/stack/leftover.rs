//! The journal of an interrupted operation, beside the checkpoint.

use super::StackStorage;
use crate::{
    error::{ErrorKind, Result},
    store::{Condition, Object},
};

/// Removes a journal that was read, and whose entries are part of the checkpoint.
///
/// # Errors
/// Those of the store; [`crate::ErrorKind::Conflict`] when it has changed since.
pub(in crate::store) async fn discard_journal(storage: &StackStorage, journal: &Object) -> Result<()> {
    let key = storage.name.journal();
    storage.store.delete_version(&key, &journal.version).await
}

/// Copies a journal that was read and does not extend the checkpoint, and returns the copy's key. An equal newest
/// copy is reused.
///
/// # Errors
/// Those of the store.
pub(in crate::store) async fn copy_journal_aside(storage: &StackStorage, journal: &Object) -> Result<String> {
    let StackStorage { store, name, .. } = storage;
    let newest = newest_copy(storage).await?;
    if is_copy(storage, newest, journal).await? {
        return Ok(name.orphan(newest.unwrap_or_default()));
    }
    let aside = name.orphan(newest.map_or(1, |number| number + 1));
    store
        .put(&aside, journal.bytes.clone(), Condition::Absent)
        .await?;
    Ok(aside)
}

/// Returns the journal under the name of a stack without a checkpoint; `None` for an empty one.
///
/// # Errors
/// Those of the store.
pub(super) async fn left_journal(storage: &StackStorage) -> Result<Option<Object>> {
    let journal = storage.journal().await?;
    Ok(journal.filter(|journal| !journal.bytes.is_empty()))
}

/// Removes the journal of a stack whose removal was interrupted, which precedes it by a copy: it is no part of a stack that is
/// created under the name. The journal of a stack whose checkpoint is gone has no copy, and stays: its steps are pending operations
/// of a stack that is created again. There is no checkpoint, and `journal` was read before that was known.
///
/// # Errors
/// Those of the store.
pub(super) async fn discard_removed(storage: &StackStorage, journal: &Object) -> Result<()> {
    if !is_copy(storage, newest_copy(storage).await?, journal).await? {
        return Ok(());
    }
    match discard_journal(storage, journal).await {
        // It is that of another process, which has created the stack since.
        Err(error) if error.kind() == ErrorKind::Conflict => Ok(()),
        discarded => discarded,
    }
}

/// Returns the number of the newest journal that was set aside.
async fn newest_copy(storage: &StackStorage) -> Result<Option<usize>> {
    let taken = storage.store.list(&storage.name.orphans()).await?;
    let numbers = taken
        .iter()
        .filter_map(|object| object.key.rsplit_once('-')?.1.parse().ok());
    Ok(numbers.max())
}

async fn is_copy(storage: &StackStorage, number: Option<usize>, journal: &Object) -> Result<bool> {
    let Some(number) = number else {
        return Ok(false);
    };
    let copy = storage.store.get(&storage.name.orphan(number)).await?;
    Ok(copy.is_some_and(|copy| copy.bytes == journal.bytes))
}
