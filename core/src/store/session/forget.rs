//! Removing one pending operation from a stack's state.

use crate::{
    error::Result,
    secrets::SecretsProvider,
    state::{PendingEntry, Snapshot},
    store::{StackSession, StackStorage},
};

/// Removes the pending operation with an id from the state, and returns it. With `dry_run`, nothing is written, and no
/// lock is taken. `write` makes the second state, which is the first one without the operation, that of the stack.
///
/// # Errors
/// Those of [`StackStorage::load`]; [`crate::ErrorKind::NotFound`] when there is no such operation,
/// [`crate::ErrorKind::Conflict`] while the stack is locked elsewhere; those of `write`.
pub(crate) async fn forget_pending(
    storage: &StackStorage,
    secrets: &dyn SecretsProvider,
    id: &str,
    dry_run: bool,
    write: impl AsyncFnOnce(&StackSession, &Snapshot, &mut Snapshot) -> Result<()>,
) -> Result<PendingEntry> {
    if dry_run {
        storage.refuse_unsettled().await?;
        let loaded = storage.load_unlocked(secrets).await?;
        let (_, entry) = PendingEntry::find(
            &loaded.snapshot.pending_operations,
            &loaded.snapshot.resources,
            id,
        )?;
        return Ok(entry);
    }
    let lock = storage.lock_for("forget").await?;
    let forgotten = async {
        let loaded = storage.load(secrets).await?;
        let mut current = loaded.snapshot.clone();
        let (place, entry) = PendingEntry::find(&current.pending_operations, &current.resources, id)?;
        let session = StackSession::begin(storage, loaded, &mut current, "forget").await?;
        let mut edited = current.clone();
        edited.pending_operations.remove(place);
        write(&session, &current, &mut edited).await?;
        for note in session.notes() {
            tracing::warn!("{}", note.message.library());
        }
        Ok(entry)
    }
    .await;
    let released = lock.release().await;
    forgotten.and_then(|entry| released.map(|()| entry))
}
