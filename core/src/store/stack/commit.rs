//! The commit of a checkpoint, written so that at every moment checkpoint and journal together tell the state.

use std::sync::Arc;

use bytes::Bytes;

use super::{CheckpointBase, StackStorage};
use crate::{
    error::Result,
    state::deployment::content_hash,
    store::{Condition, Object, StoreJournal, changed, layout::CHECKPOINT_ENDINGS},
};

impl StackStorage {
    /// Makes `checkpoint` the stack's state, keeps a copy of the previous one, and ends the journal. The caller holds the
    /// stack's lock. All that becomes a stack's state while there may be a journal gets there this way: the end of an
    /// operation, the recovery of an interrupted one, and an import.
    ///
    /// The journal's last line announces the checkpoint before it is written, and the journal is removed after it. Where
    /// this fails on the way, the old checkpoint with the journal, or the new checkpoint tell the state, and a later commit
    /// goes on from there.
    ///
    /// The result has two parts, as the stack may have its new state although the journal could not be removed.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Conflict`] when the checkpoint is no longer the one that was read, or the journal is another
    /// writer's; then the journal stays.
    pub(in crate::store) async fn commit(
        &self,
        base: &CheckpointBase,
        checkpoint: Bytes,
        journal: &StoreJournal,
    ) -> Result<(CheckpointBase, Result<()>)> {
        journal.fold(&content_hash(&checkpoint)).await?;
        let next = self.replace(base, checkpoint).await?;
        Ok((next, journal.discard().await))
    }

    /// Puts a checkpoint in the place of another, of which a copy stays behind.
    pub(super) async fn replace(&self, base: &CheckpointBase, checkpoint: Bytes) -> Result<CheckpointBase> {
        self.store.copy(&base.key, &format!("{}.bak", base.key)).await?;
        let key = self.name.checkpoint(CHECKPOINT_ENDINGS[0]);
        let condition = if key == base.key {
            Condition::Match(Arc::clone(&base.version))
        } else {
            self.check_base(base).await?;
            Condition::Any
        };
        let version = self.store.put(&key, checkpoint, condition).await?;
        if key != base.key {
            // The compressed form is older now and would only be taken for the state by mistake.
            self.store.delete(&base.key).await?;
        }
        Ok(CheckpointBase { key, version })
    }

    /// Checks that a checkpoint of another form is still the one that was read.
    async fn check_base(&self, base: &CheckpointBase) -> Result<()> {
        match self.store.get(&base.key).await? {
            Some(object) if object.version == base.version => Ok(()),
            _ => Err(changed(&base.key)),
        }
    }

    /// Removes a journal that was read: its entries are known to be part of the checkpoint.
    ///
    /// # Errors
    /// Those of the store; [`crate::ErrorKind::Conflict`] when it has changed since.
    pub(in crate::store) async fn discard_journal(&self, journal: &Object) -> Result<()> {
        let key = self.name.journal();
        self.store.delete_version(&key, &journal.version).await
    }

    /// Sets aside a journal that was read and does not extend the checkpoint, and returns its new key.
    ///
    /// # Errors
    /// Those of the store; [`crate::ErrorKind::Conflict`] when it has changed since.
    pub(in crate::store) async fn set_aside_journal(&self, journal: &Object) -> Result<String> {
        let key = self.name.journal();
        let taken = self.store.list(&format!("{key}.orphan-")).await?;
        let number = taken
            .iter()
            .filter_map(|object| object.key.rsplit_once('-')?.1.parse::<usize>().ok())
            .max()
            .map_or(1, |last| last + 1);
        let aside = self.name.orphan(number);
        let bytes = journal.bytes.clone();
        self.store.put(&aside, bytes, Condition::Absent).await?;
        self.discard_journal(journal).await?;
        Ok(aside)
    }
}
