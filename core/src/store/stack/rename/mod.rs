//! Renaming a stack in its store. A note under both names makes an interrupted renaming complete: the next opening of
//! either name, or a repeated call, undoes it or finishes it.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{
    StackStorage, both_locks::BothLocks, commit::stored_form, copy_journal_aside, discard_journal,
    left_journal,
};
use crate::{
    config::ConfigSource,
    error::{Error, ErrorKind, Result},
    state::deployment::content_hash,
    store::{
        Condition, StackName, Version,
        layout::{BACKUP_ENDING, CHECKPOINT_ENDINGS},
    },
};

/// The limit of attempts to move tags that other writers change.
const MAX_TAG_ATTEMPTS: usize = 16;

/// The note of a renaming that has begun.
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

impl Renaming {
    /// Returns the note of a stack; `None` when there is none.
    async fn of(storage: &StackStorage) -> Result<Option<Self>> {
        let key = storage.name.renaming();
        let Some(note) = storage.store.get(&key).await? else {
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

    /// Returns whether this is another note of a renaming, or the same one.
    fn is_stage_of(&self, other: &Self) -> bool {
        let stage = Self {
            stored: other.stored,
            ..self.clone()
        };
        stage == *other
    }

    /// Returns both names in the store of a stack.
    fn sides(&self, storage: &StackStorage) -> Result<(StackStorage, StackStorage)> {
        let named = |name: &str| StackName::parse(name).map(|name| storage.named(name));
        Ok((named(&self.from)?, named(&self.to)?))
    }
}

/// Undoes or finishes a renaming of a stack, or to its name, that was interrupted. `source` is that of its configuration.
///
/// # Errors
/// [`ErrorKind::Conflict`] while the renaming is in progress; and when both names have a state that has changed since, which
/// the error names. [`ErrorKind::State`] for a note that cannot be read. Those of `source`.
pub(crate) async fn settle_renaming(storage: &StackStorage, source: Option<&dyn ConfigSource>) -> Result<()> {
    let renaming = match Renaming::of(storage).await? {
        Some(renaming) if source.is_some() || !renaming.stored => renaming,
        _ => return Ok(()),
    };
    let (from, to) = renaming.sides(storage)?;
    let rename = Rename::new(&from, &to);
    let locks = match renaming.stored {
        // What happens to the stack since does not concern the configuration.
        true => BothLocks::take_unsettled(&from, &to, "rename").await?,
        false => rename.lock().await?,
    };
    let settled = rename.settle(source).await;
    let released = locks.release().await;
    settled.and(released)
}

/// Refuses a stack whose renaming was interrupted, which its next opening undoes or finishes. With `except`, a renaming to that
/// name is accepted.
///
/// # Errors
/// [`ErrorKind::Conflict`] for such a stack; [`ErrorKind::State`] for a note that cannot be read.
pub(crate) async fn refuse_renaming(storage: &StackStorage, except: Option<&StackStorage>) -> Result<()> {
    let renaming = match Renaming::of(storage).await? {
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

/// Refuses to rename a stack again whose configuration has the name before: a second note would replace the one that finishes it.
/// A renaming back to that name is accepted.
///
/// # Errors
/// [`ErrorKind::Conflict`] for such a stack; [`ErrorKind::State`] for a note that cannot be read.
pub(crate) async fn refuse_former_config(storage: &StackStorage, to: &StackStorage) -> Result<()> {
    let name = storage.name.to_string();
    let is_left =
        |renaming: &Renaming| renaming.stored && renaming.to == name && renaming.from != to.name.to_string();
    let Some(renaming) = Renaming::of(storage).await?.filter(is_left) else {
        return Ok(());
    };
    let text = format!(
        "the renaming of stack '{}' to '{name}' was interrupted before its configuration had the new name",
        renaming.from
    );
    Err(Error::new(ErrorKind::Conflict, text).with_hint(finishing(&renaming.from, &name)?))
}

/// Returns how the configuration of a renamed stack gets the new name, too.
fn finishing(from: &str, to: &str) -> Result<String> {
    Ok(
        match StackName::parse(from)?.project() == StackName::parse(to)?.project() {
            true => {
                format!("opening '{to}' with its project folder finishes the renaming of its configuration")
            }
            // A folder opens the stacks of its own project alone.
            false => format!(
                "select_stack() of '{from}' with its project folder finishes the renaming of its configuration, and finds no stack then"
            ),
        },
    )
}

/// Checkpoint and history under the former name of a stack before its renaming. Of these, only that is removed: a process that is suspended
/// in a renaming, and whose locks are taken over meanwhile, leaves those of a stack that has got the name since. Where a store cannot
/// remove by version, that holds up to the comparison of the versions.
struct Former {
    /// The keys and versions of its checkpoints in all forms.
    checkpoints: Vec<(String, Version)>,
    /// The keys of its history.
    history: Vec<String>,
}

impl Former {
    async fn of(stack: &StackStorage) -> Result<Self> {
        let mut checkpoints = Vec::new();
        for ending in CHECKPOINT_ENDINGS {
            let key = stack.name.checkpoint(ending);
            if let Some(object) = stack.store.get(&key).await? {
                checkpoints.push((key, object.version));
            }
        }
        let history = stack.own_history().await?;
        Ok(Self { checkpoints, history })
    }
}

/// A renaming of a stack: its former and its new name, in one store.
#[derive(Clone, Copy)]
pub(crate) struct Rename<'a> {
    from: &'a StackStorage,
    to: &'a StackStorage,
}

impl<'a> Rename<'a> {
    /// Creates a renaming, without reading or writing.
    #[must_use]
    pub(crate) const fn new(from: &'a StackStorage, to: &'a StackStorage) -> Self {
        Self { from, to }
    }

    /// Locks both names, in their order.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] when one of them is locked elsewhere, or has an interrupted move of resources.
    pub(crate) async fn lock(&self) -> Result<BothLocks> {
        BothLocks::take(self.from, self.to, "rename").await
    }

    /// Moves the stack to its new name, with `checkpoint` as its state there: history, tags and the copy of the previous
    /// checkpoint move, too, and then what `source` keeps of the configuration. The caller holds both locks, and there is no
    /// journal. The one of a stack that is gone is set aside before, where the new name has one.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] when the new name has a stack or its history, or the state has changed since its checkpoint `base` was
    /// read; those of `source`, after which the stack has its new name, and its next opening with a source repeats the call.
    pub(crate) async fn run(
        &self,
        base: &[u8],
        checkpoint: Vec<u8>,
        source: Option<&dyn ConfigSource>,
    ) -> Result<()> {
        let Self { from, to } = self;
        if to.exists().await? {
            return Err(Error::new(
                ErrorKind::Conflict,
                format!("a stack named '{}' already exists", to.name),
            ));
        }
        self.refuse_history().await?;
        self.set_journal_aside().await?;
        let renaming = Renaming {
            from: from.name.to_string(),
            to: to.name.to_string(),
            old: content_hash(base),
            new: content_hash(&checkpoint),
            orphans: self.free_orphans().await?,
            config: source.is_some(),
            stored: false,
        };
        let former = Former::of(from).await?;
        if from.hash().await?.as_deref() != Some(renaming.old.as_str()) {
            return Err(Error::new(
                ErrorKind::Conflict,
                format!(
                    "the state of stack '{}' was changed while it was renamed",
                    from.name
                ),
            ));
        }
        // Tags that a stack has left under the new name must not become those of this one.
        to.store.delete(&to.name.tags()).await?;
        self.note(&renaming).await?;
        self.copy_beside(&renaming).await?;
        let key = from.checkpoint_key().await?.unwrap_or_default();
        let ending = CHECKPOINT_ENDINGS
            .into_iter()
            .rev()
            .find(|ending| key.ends_with(ending));
        let key = to.name.checkpoint(ending.unwrap_or(CHECKPOINT_ENDINGS[0]));
        let stored = stored_form(&to.runtime, &key, to.unlike_former(checkpoint.into())).await?;
        to.store.put(&key, stored, Condition::Absent).await?;
        self.finish(renaming, &former, source).await
    }

    /// Refuses a new name that has the history of a stack whose checkpoint is gone: its copies may be the last ones of the state.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] for such a name; those of the store.
    pub(crate) async fn refuse_history(&self) -> Result<()> {
        let StackStorage { store, name, .. } = self.to;
        // That of an interrupted renaming to the name is one of copies.
        let interrupted = Renaming::of(self.to).await?.filter(|renaming| !renaming.stored);
        if interrupted.is_some() || store.list(&name.history()).await?.is_empty() {
            return Ok(());
        }
        let text = format!(
            "the name '{name}' has the history of a stack whose checkpoint is gone: {} in {}",
            name.history(),
            store.url()
        );
        Err(Error::new(ErrorKind::Conflict, text).with_hint(format!(
            "once a stack '{name}' is created, restore() gets a state of that history back, and remove_stack() removes it"
        )))
    }

    /// Returns whether the new name has the journal of a stack whose checkpoint is gone, which a renaming sets aside.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) async fn sets_journal_aside(&self) -> Result<bool> {
        Ok(left_journal(self.to).await?.is_some())
    }

    /// Sets the journal of a stack that is gone aside: its steps are no part of the renamed stack.
    async fn set_journal_aside(&self) -> Result<()> {
        if let Some(journal) = left_journal(self.to).await? {
            copy_journal_aside(self.to, &journal).await?;
            discard_journal(self.to, &journal).await?;
        }
        Ok(())
    }

    /// Undoes or finishes an interrupted renaming between both names. The caller holds both locks.
    ///
    /// # Errors
    /// Those of [`settle_renaming`].
    pub(crate) async fn settle(&self, source: Option<&dyn ConfigSource>) -> Result<()> {
        for side in [self.from, self.to] {
            let Some(renaming) = Renaming::of(side).await? else {
                continue;
            };
            let (from, to) = renaming.sides(side)?;
            if (&from.name, &to.name) == (&self.from.name, &self.to.name) {
                self.settle_noted(renaming, source).await?;
            }
            // Another renaming is settled by the opening of its names.
        }
        Ok(())
    }

    async fn settle_noted(&self, renaming: Renaming, source: Option<&dyn ConfigSource>) -> Result<()> {
        let Self { from, to } = self;
        let former = Former::of(from).await?;
        let (old, new) = (from.hash().await?, to.hash().await?);
        if renaming.stored {
            // The note under the new name goes with its stack. A stack that was created under the former name since is another one.
            return match new {
                Some(_) if self.has_both(&renaming).await? => self.rename_config(source).await,
                _ => self.forget().await,
            };
        }
        match (old, new) {
            (Some(old), Some(new)) if old != renaming.old || new != renaming.new => {
                let text = format!(
                    "the renaming of stack '{}' to '{}' was interrupted, and both have a state that has changed since",
                    from.name, to.name
                );
                Err(Error::new(ErrorKind::Conflict, text).with_hint(format!(
                    "the notes {} and {} in {} describe the renaming; once one of the states and both notes are removed, the other stack opens",
                    from.name.renaming(),
                    to.name.renaming(),
                    from.store.url()
                )))
            }
            (_, Some(_)) => self.finish(renaming, &former, source).await,
            (_, None) => {
                // Both notes precede the copies. What the new name has with one of them is no copy.
                if self.has_both(&renaming).await? {
                    remove_history(to, &to.own_history().await?).await?;
                    to.store.delete(&to.name.tags()).await?;
                    for (_, copy) in self.equal_backups().await? {
                        to.store.delete(&copy).await?;
                    }
                    for copy in renaming.orphans.values() {
                        to.store.delete(copy).await?;
                    }
                }
                forget_note(from).await?;
                forget_note(to).await
            }
        }
    }

    /// Returns whether both names have the note of a renaming, in any stage.
    async fn has_both(&self, renaming: &Renaming) -> Result<bool> {
        let is_noted = async |side: &StackStorage| {
            let noted = Renaming::of(side).await?;
            Ok::<_, Error>(noted.is_some_and(|noted| noted.is_stage_of(renaming)))
        };
        Ok(is_noted(self.from).await? && is_noted(self.to).await?)
    }

    /// Writes the note under both names.
    async fn note(&self, renaming: &Renaming) -> Result<()> {
        let note = serde_json::to_vec(renaming)
            .map_err(|error| Error::internal(format!("writing a renaming: {error}")))?;
        let note = Bytes::from(note);
        for side in [self.to, self.from] {
            side.store
                .put(&side.name.renaming(), note.clone(), Condition::Any)
                .await?;
        }
        Ok(())
    }

    /// Returns the journals that were set aside, each with a key that is free under the new name.
    async fn free_orphans(&self) -> Result<BTreeMap<String, String>> {
        let Self { from, to } = self;
        let number = |key: &str| key.rsplit_once('-')?.1.parse::<usize>().ok();
        let taken = to.store.list(&to.name.orphans()).await?;
        let newest = taken.iter().filter_map(|object| number(&object.key)).max();
        let mut own = from.store.list(&from.name.orphans()).await?;
        own.sort_by_key(|object| number(&object.key));
        let free = (newest.unwrap_or(0) + 1..).map(|number| to.name.orphan(number));
        Ok(own.into_iter().map(|object| object.key).zip(free).collect())
    }

    /// Copies history, tags, journals that were set aside, and the copy of the previous checkpoint to the new name.
    async fn copy_beside(&self, renaming: &Renaming) -> Result<()> {
        let Self { from, to } = self;
        let store = &from.store;
        let (from_prefix, to_prefix) = (from.name.history_stem(), to.name.history_stem());
        for key in from.own_history().await? {
            if let Some(rest) = key.strip_prefix(&from_prefix) {
                store.copy(&key, &format!("{to_prefix}{rest}")).await?;
            }
        }
        for (orphan, copy) in &renaming.orphans {
            store.copy(orphan, copy).await?;
        }
        if store.get(&from.name.tags()).await?.is_some() {
            store.copy(&from.name.tags(), &to.name.tags()).await?;
        }
        for (backup, copy) in self.backups() {
            // The copy of a removed stack is the last trace of it, and stays.
            if store.get(&backup).await?.is_some() && store.get(&copy).await?.is_none() {
                store.copy(&backup, &copy).await?;
            }
        }
        Ok(())
    }

    /// Removes what stands under the former name, once the new one has all of it.
    async fn finish(
        &self,
        renaming: Renaming,
        former: &Former,
        source: Option<&dyn ConfigSource>,
    ) -> Result<()> {
        let StackStorage { store, name, .. } = self.from;
        for (key, version) in &former.checkpoints {
            store.delete_version(key, version).await?;
        }
        // Tags of a stack that another program has created under the former name since are its own.
        let is_taken = self.from.checkpoint_key().await?.is_some();
        for (backup, _) in self.equal_backups().await? {
            store.delete(&backup).await?;
        }
        store.sweep_journal(&name.journal()).await?;
        for orphan in renaming.orphans.keys() {
            store.delete(orphan).await?;
        }
        if !is_taken {
            self.carry_tags().await?;
        }
        remove_history(self.from, &former.history).await?;
        if !renaming.config {
            return self.forget().await;
        }
        let stored = Renaming {
            stored: true,
            ..renaming
        };
        self.note(&stored).await?;
        self.rename_config(source).await
    }

    /// Moves tags that were set while the others were copied.
    async fn carry_tags(&self) -> Result<()> {
        let (store, from, to) = (&self.from.store, self.from.name.tags(), self.to.name.tags());
        for _ in 0..MAX_TAG_ATTEMPTS {
            let Some(tags) = store.get(&from).await? else {
                return Ok(());
            };
            if store.get(&to).await?.is_none_or(|copy| copy.bytes != tags.bytes) {
                store.put(&to, tags.bytes, Condition::Any).await?;
            }
            match store.delete_version(&from, &tags.version).await {
                Err(error) if error.kind() == ErrorKind::Conflict => {}
                removed => return removed,
            }
        }
        let text = format!(
            "the tags of stack '{}' are changed by others all the time",
            self.from.name
        );
        Err(Error::new(ErrorKind::Conflict, text))
    }

    /// Renames what the source of the configuration keeps. Without a source, that is left to the next opening with one.
    async fn rename_config(&self, source: Option<&dyn ConfigSource>) -> Result<()> {
        let Some(source) = source else {
            return Ok(());
        };
        let (from, to) = (&self.from.name, &self.to.name);
        let hint = finishing(&from.to_string(), &to.to_string())?;
        let renamed = source.rename(from.stack(), to.stack()).await;
        renamed.map_err(|error| error.with_hint(format!("the stack has its new name; {hint}")))?;
        self.forget().await
    }

    /// Removes both notes. The one under the name that has the stack goes first: the stack changes from then on, and a note
    /// under the other name is settled by that name's next opening, as long as no stack has it.
    async fn forget(&self) -> Result<()> {
        forget_note(self.to).await?;
        forget_note(self.from).await
    }

    /// Returns the keys of [`Self::backups`] that have the same content under both names.
    async fn equal_backups(&self) -> Result<Vec<(String, String)>> {
        let store = &self.from.store;
        let mut equal = Vec::new();
        for (backup, copy) in self.backups() {
            if let (Some(one), Some(other)) = (store.get(&backup).await?, store.get(&copy).await?)
                && one.bytes == other.bytes
            {
                equal.push((backup, copy));
            }
        }
        Ok(equal)
    }

    /// Returns the keys of the copies of previous checkpoints, under both names.
    fn backups(&self) -> impl Iterator<Item = (String, String)> {
        CHECKPOINT_ENDINGS.into_iter().map(|ending| {
            let key = |name: &StackName| format!("{}{BACKUP_ENDING}", name.checkpoint(ending));
            (key(&self.from.name), key(&self.to.name))
        })
    }
}

/// Removes the objects of a history.
async fn remove_history(storage: &StackStorage, history: &[String]) -> Result<()> {
    let StackStorage { store, name, .. } = storage;
    for key in history {
        store.delete(key).await?;
    }
    store.tidy(&name.history()).await;
    Ok(())
}

/// Removes the note of a name.
async fn forget_note(storage: &StackStorage) -> Result<()> {
    storage.store.delete(&storage.name.renaming()).await?;
    storage.store.tidy(&storage.name.journals()).await;
    Ok(())
}

#[cfg(test)]
mod tests;
