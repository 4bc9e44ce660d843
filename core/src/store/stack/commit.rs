//! The commit of a checkpoint. At every moment checkpoint and journal together define the state.

use std::sync::Arc;

use bytes::Bytes;

use super::{CheckpointBase, StackStorage};
use crate::{
    error::{ErrorKind, Result},
    runtime::Runtime,
    state::deployment::content_hash,
    store::{
        Condition, Object, StoreJournal, changed,
        compression::{compress, expand, is_compressed},
        layout::BACKUP_ENDING,
    },
};

/// The checkpoint of a stack, as known to the holder of its lock.
pub(in crate::store) struct Head {
    base: CheckpointBase,
    /// Whether the checkpoint from before the operation was copied.
    is_previous_kept: bool,
    /// The hash of a checkpoint whose write has an unknown result.
    unsettled: Option<String>,
}

impl Head {
    /// Starts from a checkpoint that was read.
    pub(in crate::store) const fn new(base: CheckpointBase) -> Self {
        Self {
            base,
            is_previous_kept: false,
            unsettled: None,
        }
    }

    /// Starts from a checkpoint that was written during an operation: the one before the operation was copied already.
    pub(in crate::store) const fn within_operation(base: CheckpointBase) -> Self {
        Self {
            base,
            is_previous_kept: true,
            unsettled: None,
        }
    }

    pub(in crate::store) const fn base(&self) -> &CheckpointBase {
        &self.base
    }

    pub(in crate::store) fn into_base(self) -> CheckpointBase {
        self.base
    }

    /// Makes `checkpoint` the stack's state, keeps a copy of the previous one, and ends the journal. The caller holds
    /// the stack's lock. Every write of a state that may have a journal uses this function: the end of an operation,
    /// the recovery of an interrupted one, and an import.
    ///
    /// The journal's last line announces the checkpoint before it is written, and the journal is removed afterwards.
    /// After a failure the old checkpoint with the journal, or the new checkpoint defines the state, and a later commit
    /// continues from it.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Conflict`] when the checkpoint is no longer the one that was read, or the journal belongs to
    /// another writer. The journal stays then.
    pub(in crate::store) async fn commit(
        &mut self,
        storage: &StackStorage,
        checkpoint: Bytes,
        journal: &StoreJournal,
    ) -> Result<()> {
        self.commit_beside(storage, checkpoint, journal).await?;
        journal.discard().await
    }

    /// Commits as [`Self::commit`] does, but the journal, which announces the checkpoint, stays for the caller to remove.
    ///
    /// # Errors
    /// Those of [`Self::commit`].
    pub(in crate::store) async fn commit_beside(
        &mut self,
        storage: &StackStorage,
        checkpoint: Bytes,
        journal: &StoreJournal,
    ) -> Result<()> {
        let hash = content_hash(&checkpoint);
        journal.announce_checkpoint(&hash).await?;
        self.replace(storage, checkpoint, hash).await
    }

    /// Replaces the checkpoint by one with that hash, under the same key and with the same compression. A copy of the one
    /// before the operation is kept.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Conflict`] when the checkpoint is no longer the known one.
    pub(in crate::store) async fn replace(
        &mut self,
        storage: &StackStorage,
        checkpoint: Bytes,
        hash: String,
    ) -> Result<()> {
        self.settle(storage).await?;
        let key = self.base.key.clone();
        let stored = stored_form(&storage.runtime, &key, checkpoint).await?;
        let condition = Condition::Match(Arc::clone(&self.base.version));
        self.unsettled = Some(hash);
        let written = if self.is_previous_kept {
            storage.store.put(&key, stored, condition).await
        } else {
            let kept = format!("{key}{BACKUP_ENDING}");
            storage.store.put_keeping(&key, stored, condition, &kept).await
        };
        if matches!(&written, Err(error) if error.kind() == ErrorKind::Conflict) {
            self.unsettled = None;
        }
        let version = written?;
        self.unsettled = None;
        self.is_previous_kept = true;
        self.base = CheckpointBase { key, version };
        Ok(())
    }

    /// Determines whether a failed write has replaced the checkpoint.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Conflict`] when the checkpoint is neither the known one nor the written one.
    pub(in crate::store) async fn settle(&mut self, storage: &StackStorage) -> Result<()> {
        let Some(hash) = &self.unsettled else {
            return Ok(());
        };
        let key = &self.base.key;
        match storage.store.get(key).await? {
            Some(object) if object.version == self.base.version => {}
            Some(Object { bytes, version }) if is_of(key, &bytes, hash) => {
                self.base.version = version;
                // It was copied before it was replaced.
                self.is_previous_kept = true;
            }
            _ => return Err(changed(key)),
        }
        self.unsettled = None;
        Ok(())
    }
}

/// Returns whether an object holds the checkpoint with that hash.
fn is_of(key: &str, bytes: &Bytes, hash: &str) -> bool {
    expand(key, bytes.clone()).is_ok_and(|checkpoint| content_hash(&checkpoint) == hash)
}

/// Returns a checkpoint in the form of its key. A compressed one is compressed on a thread that may block.
pub(super) async fn stored_form(runtime: &Runtime, key: &str, checkpoint: Bytes) -> Result<Bytes> {
    if !is_compressed(key) {
        return Ok(checkpoint);
    }
    let key = key.to_owned();
    let work = move || compress(&key, checkpoint);
    runtime.spawner.spawn_blocking(work).await?
}
