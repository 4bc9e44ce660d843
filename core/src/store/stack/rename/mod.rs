//! Renaming a stack in its store. A note under both names makes an interrupted renaming complete: the next opening of
//! either name, or a repeated call, undoes it or finishes it.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{StackStorage, both_locks::BothLocks};
use crate::{
    config::ConfigSource,
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
    /// The keys of journals that were set aside under the former name, and of their copies.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    orphans: BTreeMap<String, String>,
    /// Whether the source of the configuration renames what it keeps.
    #[serde(default, skip_serializing_if = "is_false")]
    config: bool,
    /// Whether the source alone has not renamed yet: the stack has its new name.
    #[serde(default, skip_serializing_if = "is_false")]
    stored: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_false(value: &bool) -> bool {
    !*value
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
    /// checkpoint move, too, and then what `source` keeps of the configuration. The caller holds both locks, and there is no
    /// journal.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] when `to` exists, or this stack has changed since its checkpoint `base` was read; those of
    /// `source`, after which the stack has its new name, and its next opening with a source repeats the call.
    pub(crate) async fn rename_locked(
        &self,
        to: &Self,
        base: &[u8],
        checkpoint: Vec<u8>,
        source: Option<&dyn ConfigSource>,
    ) -> Result<()> {
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
            orphans: self.free_orphans(to).await?,
            config: source.is_some(),
            stored: false,
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
        // What a removed stack may have left under the new name must not become part of this one.
        to.remove_beside().await?;
        self.note_renaming(to, &renaming).await?;
        self.copy_beside(to, &renaming).await?;
        let key = self.checkpoint_key().await?.unwrap_or_default();
        let ending = CHECKPOINT_ENDINGS
            .into_iter()
            .rev()
            .find(|ending| key.ends_with(ending));
        let key = to.name.checkpoint(ending.unwrap_or(CHECKPOINT_ENDINGS[0]));
        let stored = to.compressed(&key, checkpoint.into()).await?;
        to.store.put(&key, stored, Condition::Absent).await?;
        self.finish_renaming(to, renaming, source).await
    }

    /// Writes the note under both names.
    async fn note_renaming(&self, to: &Self, renaming: &Renaming) -> Result<()> {
        let note = serde_json::to_vec(renaming)
            .map_err(|error| Error::internal(format!("writing a renaming: {error}")))?;
        let note = Bytes::from(note);
        for side in [to, self] {
            side.store
                .put(&side.name.renaming(), note.clone(), Condition::Any)
                .await?;
        }
        Ok(())
    }

    /// Returns the journals that were set aside, each with a key that is free under the name of `to`.
    async fn free_orphans(&self, to: &Self) -> Result<BTreeMap<String, String>> {
        let number = |key: &str| key.rsplit_once('-')?.1.parse::<usize>().ok();
        let taken = to.store.list(&to.name.orphans()).await?;
        let newest = taken.iter().filter_map(|object| number(&object.key)).max();
        let mut own = self.store.list(&self.name.orphans()).await?;
        own.sort_by_key(|object| number(&object.key));
        let free = (newest.unwrap_or(0) + 1..).map(|number| to.name.orphan(number));
        Ok(own.into_iter().map(|object| object.key).zip(free).collect())
    }

    /// Undoes or finishes a renaming of this stack, or to its name, that was interrupted. `source` is that of its configuration.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] while the renaming is in progress; and when both names have a state that has changed since, which
    /// the error names. [`ErrorKind::State`] for a note that cannot be read. Those of `source`.
    pub(crate) async fn settle_renaming(&self, source: Option<&dyn ConfigSource>) -> Result<()> {
        let renaming = match self.renaming().await? {
            Some(renaming) if source.is_some() || !renaming.stored => renaming,
            _ => return Ok(()),
        };
        let (from, to) = self.sides(&renaming)?;
        let locks = match renaming.stored {
            // What happens to the stack since does not concern the configuration.
            true => BothLocks::take_unsettled(&from, &to, "rename").await?,
            false => from.lock_both(&to).await?,
        };
        let settled = from.settle_renaming_locked(&to, source).await;
        let released = locks.release().await;
        settled.and(released)
    }

    /// As [`Self::settle_renaming`] of a renaming to `to`. The caller holds both locks.
    ///
    /// # Errors
    /// As for [`Self::settle_renaming`].
    pub(crate) async fn settle_renaming_locked(
        &self,
        to: &Self,
        source: Option<&dyn ConfigSource>,
    ) -> Result<()> {
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
            if renaming.stored {
                // A stack that was created under the former name since is another one.
                match new {
                    Some(_) => from.rename_config(&target, source).await?,
                    None => from.forget_renaming_of(&target).await?,
                }
                continue;
            }
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
                (_, Some(_)) => from.finish_renaming(&target, renaming, source).await?,
                (_, None) => {
                    target.remove_beside().await?;
                    for copy in renaming.orphans.values() {
                        target.store.delete(copy).await?;
                    }
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

    /// Refuses a stack whose renaming was interrupted, which its next opening undoes or finishes. With `except`, a renaming to that
    /// name is accepted.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] for such a stack; [`ErrorKind::State`] for a note that cannot be read.
    pub(crate) async fn refuse_renaming(&self, except: Option<&Self>) -> Result<()> {
        let renaming = match self.renaming().await? {
            Some(renaming) if !renaming.stored => renaming,
            _ => return Ok(()),
        };
        if except.is_some_and(|to| to.name.to_string() == renaming.to) {
            return Ok(());
        }
        let Renaming { from, to, .. } = renaming;
        let text = format!("the renaming of stack '{from}' to '{to}' was interrupted");
        Err(Error::new(ErrorKind::Conflict, text).with_hint(format!(
            "opening '{from}' or '{to}' again undoes it, or finishes it"
        )))
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
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) async fn hash(&self) -> Result<Option<String>> {
        let Some(key) = self.checkpoint_key().await? else {
            return Ok(None);
        };
        let Some(object) = self.store.get(&key).await? else {
            return Ok(None);
        };
        Ok(Some(content_hash(&expand(&key, object.bytes)?)))
    }

    /// Copies history, tags, journals that were set aside, and the copy of the previous checkpoint to another name.
    async fn copy_beside(&self, to: &Self, renaming: &Renaming) -> Result<()> {
        let (from_prefix, to_prefix) = (self.name.history_stem(), to.name.history_stem());
        for object in self.store.list(&self.name.history()).await? {
            if let Some(rest) = object.key.strip_prefix(&from_prefix) {
                self.store
                    .copy(&object.key, &format!("{to_prefix}{rest}"))
                    .await?;
            }
        }
        for (from, to) in &renaming.orphans {
            self.store.copy(from, to).await?;
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

    /// Removes history and tags.
    async fn remove_beside(&self) -> Result<()> {
        for object in self.store.list(&self.name.history()).await? {
            self.store.delete(&object.key).await?;
        }
        self.store.delete(&self.name.tags()).await?;
        self.store.tidy(&self.name.history()).await;
        Ok(())
    }

    /// Removes what stands under the former name, once the new one has all of it.
    async fn finish_renaming(
        &self,
        to: &Self,
        renaming: Renaming,
        source: Option<&dyn ConfigSource>,
    ) -> Result<()> {
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
        for orphan in renaming.orphans.keys() {
            self.store.delete(orphan).await?;
        }
        self.remove_beside().await?;
        if !renaming.config {
            return self.forget_renaming_of(to).await;
        }
        let stored = Renaming {
            stored: true,
            ..renaming
        };
        self.note_renaming(to, &stored).await?;
        self.rename_config(to, source).await
    }

    /// Renames what the source of the configuration keeps. Without a source, that is left to the next opening with one.
    async fn rename_config(&self, to: &Self, source: Option<&dyn ConfigSource>) -> Result<()> {
        let Some(source) = source else {
            return Ok(());
        };
        let renamed = source.rename(self.name.stack(), to.name.stack()).await;
        renamed.map_err(|error| {
            error.with_hint(format!(
                "the stack has its new name; opening '{}' with its project folder finishes the renaming of its configuration",
                to.name
            ))
        })?;
        self.forget_renaming_of(to).await
    }

    async fn forget_renaming_of(&self, to: &Self) -> Result<()> {
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
