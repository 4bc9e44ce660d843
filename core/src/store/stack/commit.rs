//! The commit of a checkpoint. At every moment checkpoint and journal together define the state.

use std::sync::Arc;

use bytes::Bytes;

use super::{CheckpointBase, StackStorage};
use crate::{
    error::{ErrorKind, Result},
    state::deployment::content_hash,
    store::{
        Condition, Object, StoreJournal, changed,
        layout::{BACKUP_ENDING, CHECKPOINT_ENDINGS},
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

    pub(in crate::store) fn into_base(self) -> CheckpointBase {
        self.base
    }
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

    /// Replaces the checkpoint by one with that hash. A copy of the one before the operation is kept.
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
        let base = head.base.clone();
        let kept = format!("{}{BACKUP_ENDING}", base.key);
        let key = self.name.checkpoint(CHECKPOINT_ENDINGS[0]);
        let condition = if key == base.key {
            Condition::Match(Arc::clone(&base.version))
        } else {
            self.check_base(&base).await?;
            Condition::Any
        };
        let written = if key == base.key && !head.is_previous_kept {
            head.unsettled = Some(hash);
            self.store.put_keeping(&key, checkpoint, condition, &kept).await
        } else {
            if !head.is_previous_kept {
                self.store.copy(&base.key, &kept).await?;
                head.is_previous_kept = true;
            }
            head.unsettled = Some(hash);
            self.store.put(&key, checkpoint, condition).await
        };
        if matches!(&written, Err(error) if error.kind() == ErrorKind::Conflict) {
            head.unsettled = None;
        }
        let version = written?;
        head.unsettled = None;
        head.is_previous_kept = true;
        let is_another = key != base.key;
        head.base = CheckpointBase { key, version };
        if is_another {
            // The compressed form is outdated now, and must not be read as the state.
            self.store.delete(&base.key).await?;
        }
        Ok(())
    }

    /// Determines whether a failed write has replaced the checkpoint.
    async fn settle(&self, head: &mut Head) -> Result<()> {
        let Some(hash) = &head.unsettled else {
            return Ok(());
        };
        let key = self.name.checkpoint(CHECKPOINT_ENDINGS[0]);
        match self.store.get(&key).await? {
            Some(object) if content_hash(&object.bytes) == *hash => {
                head.base = CheckpointBase {
                    key,
                    version: object.version,
                };
                // It was copied before it was replaced.
                head.is_previous_kept = true;
            }
            Some(object) if key == head.base.key && object.version == head.base.version => {}
            None if key != head.base.key => {}
            _ => return Err(changed(&key)),
        }
        head.unsettled = None;
        Ok(())
    }

    /// Checks that a checkpoint of another form is still the one that was read.
    async fn check_base(&self, base: &CheckpointBase) -> Result<()> {
        match self.store.get(&base.key).await? {
            Some(object) if object.version == base.version => Ok(()),
            _ => Err(changed(&base.key)),
        }
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
