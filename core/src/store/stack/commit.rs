//! The commit of a checkpoint. At every moment checkpoint and journal together define the state.

use std::sync::Arc;

use bytes::Bytes;

use super::{CheckpointBase, StackStorage};
use crate::{
    error::{ErrorKind, Result},
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
}

/// Returns whether an object holds the checkpoint with that hash.
fn is_of(key: &str, bytes: &Bytes, hash: &str) -> bool {
    expand(key, bytes.clone()).is_ok_and(|checkpoint| content_hash(&checkpoint) == hash)
}

impl StackStorage {
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
        &self,
        head: &mut Head,
        checkpoint: Bytes,
        journal: &StoreJournal,
    ) -> Result<()> {
        let hash = content_hash(&checkpoint);
        journal.announce_checkpoint(&hash).await?;
        self.replace(head, checkpoint, hash).await?;
        journal.discard().await
    }

    /// Replaces the checkpoint by one with that hash, under the same key and with the same compression. A copy of the one
    /// before the operation is kept.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Conflict`] when the checkpoint is no longer the known one.
    pub(in crate::store) async fn replace(
        &self,
        head: &mut Head,
        checkpoint: Bytes,
        hash: String,
    ) -> Result<()> {
        self.settle(head).await?;
        let key = head.base.key.clone();
        let stored = self.compressed(&key, checkpoint).await?;
        let condition = Condition::Match(Arc::clone(&head.base.version));
        head.unsettled = Some(hash);
        let written = if head.is_previous_kept {
            self.store.put(&key, stored, condition).await
        } else {
            let kept = format!("{key}{BACKUP_ENDING}");
            self.store.put_keeping(&key, stored, condition, &kept).await
        };
        if matches!(&written, Err(error) if error.kind() == ErrorKind::Conflict) {
            head.unsettled = None;
        }
        let version = written?;
        head.unsettled = None;
        head.is_previous_kept = true;
        head.base = CheckpointBase { key, version };
        Ok(())
    }

    /// Returns a checkpoint in the form of its key. A compressed one is compressed on a thread that may block.
    pub(super) async fn compressed(&self, key: &str, checkpoint: Bytes) -> Result<Bytes> {
        if !is_compressed(key) {
            return Ok(checkpoint);
        }
        let key = key.to_owned();
        let work = move || compress(&key, checkpoint);
        self.runtime.spawner.spawn_blocking(work).await?
    }

    /// Determines whether a failed write has replaced the checkpoint.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Conflict`] when the checkpoint is neither the known one nor the written one.
    pub(in crate::store) async fn settle(&self, head: &mut Head) -> Result<()> {
        let Some(hash) = &head.unsettled else {
            return Ok(());
        };
        let key = &head.base.key;
        match self.store.get(key).await? {
            Some(object) if object.version == head.base.version => {}
            Some(Object { bytes, version }) if is_of(key, &bytes, hash) => {
                head.base.version = version;
                // It was copied before it was replaced.
                head.is_previous_kept = true;
            }
            _ => return Err(changed(key)),
        }
        head.unsettled = None;
        Ok(())
    }

    /// Removes a journal that was read, and whose entries are part of the checkpoint.
    ///
    /// # Errors
    /// Those of the store; [`crate::ErrorKind::Conflict`] when it has changed since.
    pub(in crate::store) async fn discard_journal(&self, journal: &Object) -> Result<()> {
        let key = self.name.journal();
        self.store.delete_version(&key, &journal.version).await
    }

    /// Copies a journal that was read and does not extend the checkpoint, and returns the copy's key. An equal newest
    /// copy is reused.
    ///
    /// # Errors
    /// Those of the store.
    pub(in crate::store) async fn copy_journal_aside(&self, journal: &Object) -> Result<String> {
        let taken = self
            .store
            .list(&format!("{}.orphan-", self.name.journal()))
            .await?;
        let newest = taken
            .iter()
            .filter_map(|object| object.key.rsplit_once('-')?.1.parse::<usize>().ok())
            .max();
        if let Some(newest) = newest.map(|number| self.name.orphan(number)) {
            let copy = self.store.get(&newest).await?;
            if copy.is_some_and(|copy| copy.bytes == journal.bytes) {
                return Ok(newest);
            }
        }
        let aside = self.name.orphan(newest.map_or(1, |number| number + 1));
        let bytes = journal.bytes.clone();
        self.store.put(&aside, bytes, Condition::Absent).await?;
        Ok(aside)
    }
}
