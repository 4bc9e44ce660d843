//! The journal of an interrupted operation, beside the checkpoint.

use super::StackStorage;
use crate::{
    error::Result,
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
    let taken = store.list(&format!("{}.orphan-", name.journal())).await?;
    let newest = taken
        .iter()
        .filter_map(|object| object.key.rsplit_once('-')?.1.parse::<usize>().ok())
        .max();
    if let Some(newest) = newest.map(|number| name.orphan(number)) {
        let copy = store.get(&newest).await?;
        if copy.is_some_and(|copy| copy.bytes == journal.bytes) {
            return Ok(newest);
        }
    }
    let aside = name.orphan(newest.map_or(1, |number| number + 1));
    store
        .put(&aside, journal.bytes.clone(), Condition::Absent)
        .await?;
    Ok(aside)
}
