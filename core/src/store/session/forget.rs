//! Removing one pending operation from a stack's state.

use crate::{
    error::Result,
    secrets::SecretsProvider,
    state::{PendingEntry, Snapshot},
    store::{StackSession, StackStorage},
};

impl StackStorage {
    /// Removes the pending operation with an id from the state, and returns it. With `dry_run`, nothing is written, and no
    /// lock is taken. `announce` gets the new state before it is written, and can refuse it.
    ///
    /// # Errors
    /// As [`Self::load`]; [`crate::ErrorKind::NotFound`] when there is no such operation,
    /// [`crate::ErrorKind::Conflict`] while the stack is locked elsewhere; those of `announce`. The state is unchanged then.
    pub(crate) async fn forget_pending(
        &self,
        secrets: &dyn SecretsProvider,
        id: &str,
        dry_run: bool,
        announce: impl AsyncFnOnce(&Snapshot) -> Result<()>,
    ) -> Result<PendingEntry> {
        if dry_run {
            let loaded = self.load_unlocked(secrets).await?;
            let (_, entry) = PendingEntry::find(
                &loaded.snapshot.pending_operations,
                &loaded.snapshot.resources,
                id,
            )?;
            return Ok(entry);
        }
        let lock = self.lock_for("forget").await?;
        let forgotten = async {
            let loaded = self.load(secrets).await?;
            let mut snapshot = loaded.snapshot.clone();
            let (place, entry) = PendingEntry::find(&snapshot.pending_operations, &snapshot.resources, id)?;
            let session = StackSession::begin(self, loaded, &mut snapshot, "forget").await?;
            snapshot.pending_operations.remove(place);
            announce(&snapshot).await?;
            session.commit_edit(&mut snapshot).await?;
            Ok(entry)
        }
        .await;
        let released = lock.release().await;
        forgotten.and_then(|entry| released.map(|()| entry))
    }
}
