//! Renaming a stack in its store. A note under both names makes an interrupted renaming complete: the next opening of
//! either name, or a repeated call, undoes it or finishes it.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{StackStorage, both_locks::BothLocks};
use crate::{
    error::{Error, ErrorKind, Result},
    state::deployment::content_hash,
    store::{
        Condition, StackName,
        compression::expand,
        layout::{BACKUP_ENDING, CHECKPOINT_ENDINGS},
    },
};

/// A renaming that has begun.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Renaming {
    /// The former name, `project/stack`.
    from: String,
    /// The new name.
    to: String,
    /// Hex SHA-256 of the checkpoint under the former name.
    old: String,
    /// That of the checkpoint under the new name.
    new: String,
}

impl StackStorage {
    /// Returns the stack of another name in the same store.
    #[must_use]
    pub(crate) fn named(&self, name: StackName) -> Self {
        Self { name, ..self.clone() }
    }

    /// Locks this stack and the name `to`, in the order of the names.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] when one of them is locked elsewhere, or has an interrupted move of resources.
    pub(crate) async fn lock_both(&self, to: &Self) -> Result<BothLocks> {
        BothLocks::take(self, to, "rename").await
    }

    /// Moves the stack to the name of `to`, with `checkpoint` as its state there: history, tags and the copy of the previous
    /// checkpoint move, too. The caller holds both locks, and there is no journal.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] when `to` exists, or this stack has changed since its checkpoint `base` was read.
    pub(crate) async fn rename_locked(&self, to: &Self, base: &[u8], checkpoint: Vec<u8>) -> Result<()> {
        if to.exists().await? {
            return Err(Error::new(
                ErrorKind::Conflict,
                format!("a stack named '{}' already exists", to.name),
            ));
        }
        let renaming = Renaming {
            from: self.name.to_string(),
            to: to.name.to_string(),
            old: content_hash(base),
            new: content_hash(&checkpoint),
        };
        if self.hash().await?.as_deref() != Some(renaming.old.as_str()) {
            return Err(Error::new(
                ErrorKind::Conflict,
                format!(
                    "the state of stack '{}' was changed while it was renamed",
                    self.name
                ),
            ));
        }
        let note = serde_json::to_vec(&renaming)
            .map_err(|error| Error::internal(format!("writing a renaming: {error}")))?;
        let note = Bytes::from(note);
        // What a removed stack may have left under the new name must not become part of this one.
        to.remove_beside().await?;
        to.store
            .put(&to.name.renaming(), note.clone(), Condition::Any)
            .await?;
        self.store
            .put(&self.name.renaming(), note, Condition::Any)
            .await?;
        self.copy_beside(to).await?;
        let key = self.checkpoint_key().await?.unwrap_or_default();
        let ending = CHECKPOINT_ENDINGS
            .into_iter()
            .rev()
            .find(|ending| key.ends_with(ending));
        let key = to.name.checkpoint(ending.unwrap_or(CHECKPOINT_ENDINGS[0]));
        let stored = to.compressed(&key, checkpoint.into()).await?;
        to.store.put(&key, stored, Condition::Absent).await?;
        self.finish_renaming(to).await
    }

    /// Undoes or finishes a renaming of this stack, or to its name, that was interrupted.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] while the renaming is in progress; and when both names have a state that has changed since, which
    /// the error names. [`ErrorKind::State`] for a note that cannot be read.
    pub(crate) async fn settle_renaming(&self) -> Result<()> {
        let Some(renaming) = self.renaming().await? else {
            return Ok(());
        };
        let (from, to) = self.sides(&renaming)?;
        let locks = from.lock_both(&to).await?;
        let settled = from.settle_renaming_locked(&to).await;
        let released = locks.release().await;
        settled.and(released)
    }

    /// As [`Self::settle_renaming`] of a renaming to `to`. The caller holds both locks.
    ///
    /// # Errors
    /// As for [`Self::settle_renaming`].
    pub(crate) async fn settle_renaming_locked(&self, to: &Self) -> Result<()> {
        for side in [self, to] {
            let Some(renaming) = side.renaming().await? else {
                continue;
            };
            let (from, target) = side.sides(&renaming)?;
            if (&from.name, &target.name) != (&self.name, &to.name) {
                // Another renaming, which the opening of its names settles.
                continue;
            }
            let (old, new) = (from.hash().await?, target.hash().await?);
            match (old, new) {
                (Some(old), Some(new)) if old != renaming.old || new != renaming.new => {
                    let text = format!(
                        "the renaming of stack '{}' to '{}' was interrupted, and both have a state that has changed since",
                        from.name, target.name
                    );
                    return Err(Error::new(ErrorKind::Conflict, text).with_hint(format!(
                        "the notes {} and {} in {} describe the renaming; once one of the states and both notes are removed, the other stack opens",
                        from.name.renaming(),
                        target.name.renaming(),
                        self.store.url()
                    )));
                }
                (_, Some(_)) => from.finish_renaming(&target).await?,
                (_, None) => {
                    target.remove_beside().await?;
                    from.forget_renaming().await?;
                    target.forget_renaming().await?;
                }
            }
        }
        Ok(())
    }

    fn sides(&self, renaming: &Renaming) -> Result<(Self, Self)> {
        let named = |name: &str| StackName::parse(name).map(|name| self.named(name));
        Ok((named(&renaming.from)?, named(&renaming.to)?))
    }

    /// Returns whether there is a note of a renaming that has begun.
    ///
    /// # Errors
    /// As for [`Self::settle_renaming`].
    pub(crate) async fn is_renaming(&self) -> Result<bool> {
        Ok(self.renaming().await?.is_some())
    }

    async fn renaming(&self) -> Result<Option<Renaming>> {
        let key = self.name.renaming();
        let Some(note) = self.store.get(&key).await? else {
            return Ok(None);
        };
        let renaming = serde_json::from_slice(&note.bytes);
        renaming.map(Some).map_err(|error| {
            Error::new(
                ErrorKind::State,
                format!("the note {key} of an interrupted renaming cannot be read: {error}"),
            )
        })
    }

    /// Returns the hash of the checkpoint; `None` when there is none.
    pub(super) async fn hash(&self) -> Result<Option<String>> {
        let Some(key) = self.checkpoint_key().await? else {
            return Ok(None);
        };
        let Some(object) = self.store.get(&key).await? else {
            return Ok(None);
        };
        Ok(Some(content_hash(&expand(&key, object.bytes)?)))
    }

    /// Copies history, tags, journals that were set aside, and the copy of the previous checkpoint to another name.
    async fn copy_beside(&self, to: &Self) -> Result<()> {
        let (from_prefix, to_prefix) = (self.name.history_stem(), to.name.history_stem());
        for object in self.store.list(&self.name.history()).await? {
            if let Some(rest) = object.key.strip_prefix(&from_prefix) {
                self.store
                    .copy(&object.key, &format!("{to_prefix}{rest}"))
                    .await?;
            }
        }
        let (from_orphans, to_orphans) = (self.name.orphans(), to.name.orphans());
        for object in self.store.list(&from_orphans).await? {
            let number = &object.key[from_orphans.len()..];
            self.store
                .copy(&object.key, &format!("{to_orphans}{number}"))
                .await?;
        }
        if self.store.get(&self.name.tags()).await?.is_some() {
            self.store.copy(&self.name.tags(), &to.name.tags()).await?;
        }
        for (from, to) in self.backups(to) {
            // The copy of a removed stack is the last trace of it, and stays.
            if self.store.get(&from).await?.is_some() && self.store.get(&to).await?.is_none() {
                self.store.copy(&from, &to).await?;
            }
        }
        Ok(())
    }

    /// Removes history, tags, and journals that were set aside.
    async fn remove_beside(&self) -> Result<()> {
        let prefixes = [self.name.history(), self.name.orphans()];
        for prefix in prefixes {
            for object in self.store.list(&prefix).await? {
                self.store.delete(&object.key).await?;
            }
        }
        self.store.delete(&self.name.tags()).await?;
        self.store.tidy(&self.name.history()).await;
        Ok(())
    }

    /// Removes what stands under the former name, once the new one has all of it.
    async fn finish_renaming(&self, to: &Self) -> Result<()> {
        for ending in CHECKPOINT_ENDINGS {
            self.store.delete(&self.name.checkpoint(ending)).await?;
        }
        for (from, to) in self.backups(to) {
            let is_copied = match (self.store.get(&from).await?, self.store.get(&to).await?) {
                (Some(from), Some(to)) => from.bytes == to.bytes,
                _ => false,
            };
            if is_copied {
                self.store.delete(&from).await?;
            }
        }
        self.store.delete(&self.name.journal()).await?;
        self.remove_beside().await?;
        to.forget_renaming().await?;
        self.forget_renaming().await
    }

    /// Removes the note. The one under the name that has the stack goes first: the stack changes from then on, and a note
    /// under the other name is settled by that name's next opening, as long as no stack has it.
    async fn forget_renaming(&self) -> Result<()> {
        self.store.delete(&self.name.renaming()).await?;
        self.store.tidy(&self.name.journals()).await;
        Ok(())
    }

    /// Returns the keys of the copies of previous checkpoints, under both names.
    fn backups(&self, to: &Self) -> impl Iterator<Item = (String, String)> {
        CHECKPOINT_ENDINGS.into_iter().map(|ending| {
            let key = |name: &StackName| format!("{}{BACKUP_ENDING}", name.checkpoint(ending));
            (key(&self.name), key(&to.name))
        })
    }
}

#[cfg(test)]
mod tests;
