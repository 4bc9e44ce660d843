//! The note of a move of resources between two stacks, which both have from before the first write until after the last. The
//! next opening of either stack finishes or forgets an interrupted move.

use std::{path::PathBuf, sync::Arc};

use bytes::Bytes;
use futures::future::join;
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use super::{BothLocks, Head, StackStorage};
use crate::{
    error::{Error, ErrorKind, Result},
    runtime::Timestamp,
    state::{
        Snapshot,
        deployment::{SecretsAccess, SecretsShown, content_hash, read_checkpoint, write_checkpoint},
        edit::{MovedRecord, withdraw},
        integrity,
    },
    store::{Condition, FileStore, StackName, Store, StoredStack, layout::STACKS},
    urn::Urn,
};

/// The limit of resources that an error names.
const MAX_NAMED: usize = 20;

/// The beginning of the URLs of stores in folders.
const FILE_URL: &str = "file://";
/// The URL of every store in memory.
const MEMORY_URL: &str = "memory://";

/// A move of resources that has begun.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Moving {
    /// The stack that has the resources.
    from: Place,
    /// The stack that gets them.
    to: Place,
    /// Whether both are in one store.
    one_store: bool,
    /// Distinguishes it from other moves of the same resources.
    started: Timestamp,
    records: Vec<MovedRecord>,
    /// Hex SHA-256 of the checkpoint of the source before the move; empty in notes of former versions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    source: String,
}

/// A stack in a store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Place {
    /// `project/stack`.
    stack: String,
    /// The URL of its store.
    store: String,
}

impl Place {
    fn of(storage: &StackStorage) -> Self {
        Self {
            stack: storage.name.to_string(),
            store: storage.store.url(),
        }
    }
}

/// How many of the moved records a state has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    All,
    None,
    Some,
}

/// What has become of an interrupted move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Settled {
    /// Nothing has moved.
    Undone,
    /// Everything has.
    Done,
}

/// A state without its secrets.
struct Sealed {
    stored: StoredStack,
    snapshot: Snapshot,
}

impl Moving {
    /// Writes both notes, before one of both states is written. One alone means that nothing has moved. The caller holds both
    /// locks. `source` is the hash of the checkpoint of the source.
    ///
    /// # Errors
    /// Those of the stores. A note that could not be removed then is removed when its stack is next opened.
    pub(crate) async fn note(
        from: &StackStorage,
        to: &StackStorage,
        records: Vec<MovedRecord>,
        source: String,
    ) -> Result<Self> {
        let moving = Self {
            from: Place::of(from),
            to: Place::of(to),
            one_store: is_one_store(from, to),
            started: from.runtime.clock.now(),
            records,
            source,
        };
        let note = serde_json::to_vec(&moving)
            .map_err(|error| Error::internal(format!("writing a move of resources: {error}")))?;
        let note = Bytes::from(note);
        let put = async |side: &StackStorage| {
            side.store
                .put(&side.name.moving(), note.clone(), Condition::Any)
                .await
        };
        let (left, arrived) = join(put(from), put(to)).await;
        if let Err(error) = left.and(arrived) {
            // The error of the write is reported.
            drop(moving.forget(from, to).await);
            return Err(error);
        }
        Ok(moving)
    }

    /// Returns the note of a stack; `None` when there is none.
    ///
    /// # Errors
    /// Those of the store; [`ErrorKind::State`] for a note that cannot be read.
    pub(crate) async fn of(storage: &StackStorage) -> Result<Option<Self>> {
        let key = storage.name.moving();
        let Some(note) = storage.store.get(&key).await? else {
            return Ok(None);
        };
        serde_json::from_slice(&note.bytes).map(Some).map_err(|error| {
            let text = format!("the note {key} of an interrupted move of resources cannot be read: {error}");
            Error::new(ErrorKind::State, text)
        })
    }

    /// Removes both notes. One alone means that nothing is left to do.
    ///
    /// # Errors
    /// Those of the stores.
    pub(crate) async fn forget(&self, from: &StackStorage, to: &StackStorage) -> Result<()> {
        let forget = async |side: &StackStorage| {
            // Another move may have begun there.
            if Self::of(side).await?.as_ref() == Some(self) {
                side.store.delete(&side.name.moving()).await?;
                side.store.tidy(&side.name.journals()).await;
            }
            Ok(())
        };
        let (left, arrived) = join(forget(from), forget(to)).await;
        left.and(arrived)
    }

    /// Finishes or forgets an interrupted move from or to a stack. One that is in progress stays. So does one with a stack in another
    /// store of the host, which only a repeated move between both stacks can settle, or in a folder that has no stacks: it may be
    /// that of a disk that is not mounted.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] that names the resources in both stacks, when one of them was changed by another program since;
    /// those of the stores.
    pub(crate) async fn settle(storage: &StackStorage) -> Result<()> {
        let Some(moving) = Self::of(storage).await? else {
            return Ok(());
        };
        let Some((from, to)) = moving.sides(storage)? else {
            return match moving.other(storage).store == MEMORY_URL {
                true => Self::forget_ended(storage).await,
                false => Ok(()),
            };
        };
        let other = if moving.is_from(storage) { &to } else { &from };
        if !moving.one_store && is_absent(other).await? {
            return Ok(());
        }
        let locks = match BothLocks::take_unsettled(&from, &to, "move").await {
            Err(error) if error.kind() == ErrorKind::Conflict => return Ok(()),
            locks => locks?,
        };
        let settled = match Self::of(storage).await? {
            Some(moving) => moving.settle_locked(&from, &to).await.map(drop),
            None => Ok(()),
        };
        let released = locks.release().await;
        settled.and(released)
    }

    /// Removes the note of a move whose other state was in the memory of a process. One that is in progress stays.
    async fn forget_ended(storage: &StackStorage) -> Result<()> {
        let lock = match storage.reserve(None).await {
            Ok(reserved) => reserved.publish().await,
            Err(refused) => Err(refused.error),
        };
        let lock = match lock {
            Err(error) if error.kind() == ErrorKind::Conflict => return Ok(()),
            lock => lock?,
        };
        let forgotten = storage.store.delete(&storage.name.moving()).await;
        let released = lock.release().await;
        forgotten.and(released)
    }

    /// Finishes or forgets an interrupted move. The caller holds both locks. Returns what has become of the move.
    ///
    /// # Errors
    /// Those of [`Self::settle`].
    pub(crate) async fn settle_locked(&self, from: &StackStorage, to: &StackStorage) -> Result<Settled> {
        let noted =
            Self::of(from).await?.as_ref() == Some(self) && Self::of(to).await?.as_ref() == Some(self);
        // Both notes are written before all else, and the first is removed after it.
        let states = match noted {
            true => (Sealed::read(from).await?, Sealed::read(to).await?),
            false => (None, None),
        };
        let (Some(left), Some(arrived)) = states else {
            return self.forget(from, to).await.map(|()| Settled::Undone);
        };
        let here = self.presence(&left.snapshot, |record| &record.from);
        let there = self.presence(&arrived.snapshot, |record| &record.to);
        let is_whole = !left.stored.has_journal() && !arrived.stored.has_journal();
        // Records that another program has changed in the source would be lost with it.
        let is_same = self.source.is_empty() || content_hash(&left.stored.checkpoint) == self.source;
        let settled = match (here, there) {
            (_, Presence::None) => Settled::Undone,
            (Presence::None, _) => Settled::Done,
            (Presence::All, Presence::All) if is_whole && is_same => {
                self.finish(from, left).await?;
                Settled::Done
            }
            _ => return Err(self.in_both(&left.snapshot, &arrived.snapshot)),
        };
        self.forget(from, to).await.map(|()| settled)
    }

    /// Removes the resources from the source. Its secrets stay as they are encrypted.
    async fn finish(&self, from: &StackStorage, left: Sealed) -> Result<()> {
        let urns: FxHashSet<Urn> = self.records.iter().map(|record| record.from.clone()).collect();
        let snapshot = withdraw(&left.snapshot, &urns)?.snapshot;
        integrity::verify(&snapshot)?;
        let checkpoint = write_checkpoint(&from.name.qualified(), &snapshot, SecretsShown::Sealed).await?;
        let hash = content_hash(&checkpoint);
        let mut head = Head::new(left.stored.base);
        let checkpoint = from.unlike_former(checkpoint.into());
        head.replace(from, checkpoint, hash).await
    }

    /// Returns how many of the records a state has, under the URNs that `urn` selects.
    fn presence(&self, snapshot: &Snapshot, urn: impl Fn(&MovedRecord) -> &Urn) -> Presence {
        let known: FxHashSet<(&Urn, &str, bool)> = snapshot
            .resources
            .iter()
            .map(|record| (&record.urn, record.id.as_str(), record.delete))
            .collect();
        let urns: FxHashSet<&Urn> = snapshot.resources.iter().map(|record| &record.urn).collect();
        let records = || self.records.iter().filter(|record| !record.pending);
        if !records().any(|record| urns.contains(urn(record))) {
            return Presence::None;
        }
        match records().all(|record| known.contains(&(urn(record), record.id.as_str(), record.delete))) {
            true => Presence::All,
            false => Presence::Some,
        }
    }

    /// Returns whether it is one between two stacks, from `from` to `to`.
    pub(crate) fn is_between(&self, from: &StackStorage, to: &StackStorage) -> bool {
        (&self.from, &self.to) == (&Place::of(from), &Place::of(to))
    }

    fn is_from(&self, storage: &StackStorage) -> bool {
        match self.from.stack == self.to.stack {
            true => Place::of(storage) == self.from,
            false => storage.name.to_string() == self.from.stack,
        }
    }

    fn other(&self, storage: &StackStorage) -> &Place {
        if self.is_from(storage) {
            &self.to
        } else {
            &self.from
        }
    }

    /// Returns the storages of both sides; `None` when the other one is in a store that cannot be opened by its URL.
    fn sides(&self, storage: &StackStorage) -> Result<Option<(StackStorage, StackStorage)>> {
        let is_source = self.is_from(storage);
        let other = self.other(storage);
        let store: Arc<dyn Store> = match other.store.strip_prefix(FILE_URL) {
            _ if self.one_store => Arc::clone(&storage.store),
            Some(path) => Arc::new(FileStore::new(PathBuf::from(path), storage.runtime.clone())?),
            None => return Ok(None),
        };
        let other = StackStorage {
            store,
            ..storage.named(StackName::parse(&other.stack)?)
        };
        Ok(Some(match is_source {
            true => (storage.clone(), other),
            false => (other, storage.clone()),
        }))
    }

    /// The error for an operation on a stack with the note.
    pub(crate) fn unfinished(&self) -> Error {
        let moved = self.records.iter().filter(|record| !record.pending);
        let text = format!(
            "a move of resources {} was interrupted; {}",
            self.described(),
            listed(&moved.collect::<Vec<_>>(), "may be")
        );
        let error = Error::new(ErrorKind::Conflict, text);
        let can_open = |place: &Place| place.store.starts_with(FILE_URL);
        let finishing = match can_open(&self.from) && can_open(&self.to) {
            true => {
                "opening one of both stacks again while both stores are there, or another move between them, finishes it"
            }
            false => "another move between them finishes it",
        };
        match self.one_store {
            true => error.with_hint("opening one of both stacks again finishes it"),
            false => error
                .with_hint(finishing)
                .with_hint(format!(
                    "where the stores have other places now, the notes {} and {} describe the move: once they are removed, both stacks \
                     open, and delete_resources() removes the records that are in both from one of them",
                    note(&self.from),
                    note(&self.to)
                )),
        }
    }

    pub(crate) fn described(&self) -> String {
        format!("from stack '{}' to '{}'", self.from.stack, self.to.stack)
    }

    fn in_both(&self, left: &Snapshot, arrived: &Snapshot) -> Error {
        let of = |snapshot: &Snapshot| -> FxHashSet<Urn> {
            snapshot
                .resources
                .iter()
                .map(|record| record.urn.clone())
                .collect()
        };
        let (left, arrived) = (of(left), of(arrived));
        let both = self
            .records
            .iter()
            .filter(|record| !record.pending && left.contains(&record.from) && arrived.contains(&record.to));
        let both: Vec<_> = both.collect();
        let verb = if both.len() == 1 { "is" } else { "are" };
        let text = format!(
            "a move of resources {} was interrupted, and one of the two was changed since; {}",
            self.described(),
            listed(&both, verb)
        );
        self.conflict(text)
    }

    fn conflict(&self, text: String) -> Error {
        Error::new(ErrorKind::Conflict, text).with_hint(format!(
            "once the notes {} and {} are removed, both stacks open, and delete_resources() removes the records from one of them",
            note(&self.from),
            note(&self.to)
        ))
    }
}

/// Names the first of the records that both stacks have.
fn listed(records: &[&MovedRecord], verb: &str) -> String {
    let noun = if records.len() == 1 {
        "resource"
    } else {
        "resources"
    };
    let mut text = format!("{} {noun} {verb} in both:", records.len());
    for record in records.iter().take(MAX_NAMED) {
        text.push_str(&format!("\n  {}", record.from));
    }
    if records.len() > MAX_NAMED {
        text.push_str("\n  …");
    }
    text
}

/// Names the note of a side.
fn note(place: &Place) -> String {
    match StackName::parse(&place.stack) {
        Ok(name) => format!("{} in {}", name.moving(), place.store),
        Err(_) => place.store.clone(),
    }
}

impl Sealed {
    /// Reads a state; `None` for a stack that does not exist.
    async fn read(storage: &StackStorage) -> Result<Option<Self>> {
        let stored = match storage.read().await {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            read => read?,
        };
        let checkpoint = read_checkpoint(&stored.checkpoint, SecretsAccess::Sealed, false).await?;
        Ok(Some(Self {
            stored,
            snapshot: checkpoint.snapshot.unwrap_or_default(),
        }))
    }
}

/// Returns whether the store of a stack has no stacks at all.
async fn is_absent(storage: &StackStorage) -> Result<bool> {
    Ok(!storage.exists().await? && storage.store.list(STACKS).await?.is_empty())
}

/// Returns whether two stacks are in one store. Each store in memory is another one, and of buckets and databases the environment can
/// decide what a URL names.
pub(crate) fn is_one_store(one: &StackStorage, other: &StackStorage) -> bool {
    let (one, other) = (&one.store, &other.store);
    one.identity() == other.identity() || (one.url().starts_with(FILE_URL) && one.url() == other.url())
}

/// Returns whether a stack ends with the process.
pub(crate) fn is_in_memory(storage: &StackStorage) -> bool {
    storage.store.url() == MEMORY_URL
}
