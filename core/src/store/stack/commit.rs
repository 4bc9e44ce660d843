//! The journal and the checkpoint of a stack, written so that at every moment one of them tells the state.

use std::sync::Arc;

use bytes::Bytes;

use super::{CheckpointBase, StackStorage};
use crate::{
    error::Result,
    store::{Condition, changed, layout::CHECKPOINT_ENDINGS},
};

impl StackStorage {
    /// Adds lines to the journal; they are durable on return.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn append_journal(&self, lines: Bytes) -> Result<()> {
        self.store.append(&self.name.journal(), lines).await
    }

    /// Makes `checkpoint` the stack's state, keeps a copy of the previous one, and ends the journal.
    ///
    /// `folded` is the journal's last line, which says that its entries are part of the new checkpoint. It is written
    /// before the checkpoint and the journal is removed after it, so that at every moment either the old checkpoint
    /// and the journal, or the new checkpoint alone tell the state. Without a journal it is `None`. The caller holds
    /// the stack's lock.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] when the checkpoint is no longer the one that was read.
    pub async fn commit(
        &self,
        base: &CheckpointBase,
        checkpoint: Bytes,
        folded: Option<Bytes>,
    ) -> Result<CheckpointBase> {
        let journaled = folded.is_some();
        if let Some(folded) = folded {
            self.append_journal(folded).await?;
        }
        let next = self.replace(base, checkpoint).await?;
        if journaled {
            self.discard_journal().await?;
        }
        Ok(next)
    }

    /// Puts a checkpoint in the place of another, of which a copy stays behind.
    pub(in crate::store) async fn replace(
        &self,
        base: &CheckpointBase,
        checkpoint: Bytes,
    ) -> Result<CheckpointBase> {
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

    /// Removes the journal: its entries are known to be part of the checkpoint.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn discard_journal(&self) -> Result<()> {
        self.store.delete(&self.name.journal()).await
    }

    /// Sets aside a journal that does not extend the checkpoint, and returns its new key.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn set_aside_journal(&self) -> Result<String> {
        let journal = self.name.journal();
        let taken = self.store.list(&format!("{journal}.orphan-")).await?;
        let number = taken
            .iter()
            .filter_map(|object| object.key.rsplit_once('-')?.1.parse::<usize>().ok())
            .max()
            .map_or(1, |last| last + 1);
        let aside = self.name.orphan(number);
        self.store.copy(&journal, &aside).await?;
        self.store.delete(&journal).await?;
        Ok(aside)
    }
}
