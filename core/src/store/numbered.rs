//! Journals on stores without appends: each batch is an object of its own, with the next number.
//!
//! The first batch is the object of the journal's key, which begins with a line that names the folder of the others. Objects are numbered without
//! gaps, and each is created only if absent, so that of two writers one fails at its next number. Every journal has another folder. Where a
//! journal is removed that another process has begun, the number after its last object is taken and stays, so that the other process never
//! writes again.
//!
//! Where a store cannot remove an object under a condition, the first object of a removed journal is replaced by an end, which readers take for
//! nothing and the next journal replaces, both under the condition that it is unchanged: a process that is suspended before a removal must not
//! remove the journal of its successor.
//!
//! An end also has the digest of the checkpoint that the operation has left, so that one that another program has written since is
//! recognised at no cost: the object is read with every state. For that, the end stays also where it could be removed.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use futures::{StreamExt as _, TryStreamExt as _, stream};

use super::{
    Condition, Md5Digest, Object, ObjectInfo, Store, Version, changed,
    ends::{self, End},
    file::digest,
    layer::{Layer, Layered},
    layout::{JOURNAL_ENDING, JOURNALS},
};
use crate::{
    error::{Error, ErrorKind, Result},
    runtime::Runtime,
};

/// The ending of the folder of a journal's later objects, whose own folder has a unique name.
const PARTS: &str = ".parts/";

/// The begin of the first line of a journal's first object.
const HEAD: &[u8] = b"parts ";

/// The limit of attempts to begin a journal whose end changes meanwhile.
const MAX_BEGIN_ATTEMPTS: usize = 3;

/// The limit of attempts to read a journal that is removed or replaced meanwhile.
const MAX_READ_ATTEMPTS: usize = 4;

/// How many objects are read at once.
const CONCURRENT_READS: usize = 8;

/// A store whose journals grow by numbered objects. All other keys are those of the inner store.
pub(super) struct NumberedJournals<S> {
    inner: S,
    runtime: Runtime,
    removal: Removal,
    /// The folders of the journals that this process has begun.
    own: Mutex<BTreeSet<String>>,
    /// The ends that this process has seen, by the keys of their journals.
    ends: Mutex<BTreeMap<String, SeenEnd>>,
    /// The journals that this process writes, each with the digest of the checkpoint that was written meanwhile.
    written: Mutex<BTreeMap<String, Option<Md5Digest>>>,
}

/// The end of a removed journal.
#[derive(Clone)]
struct SeenEnd {
    version: Version,
    checkpoint: Option<Md5Digest>,
}

/// How the first object of a journal is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Removal {
    /// The store removes it if it is unchanged, as one.
    Conditional,
    /// It is replaced by an end.
    Replacement,
}

/// The first object of a journal.
enum First {
    Missing,
    Ended,
    Begun(Extent, Bytes),
}

/// The state of a journal that a version describes.
struct Extent {
    head: Version,
    folder: String,
    /// The number of objects after the first.
    last: u64,
}

impl Extent {
    /// A version contains no blanks: neither do those of the inner stores.
    fn version(&self) -> Version {
        format!("{} {} {}", self.folder, self.last, self.head).into()
    }

    fn parse(version: &Version) -> Option<Self> {
        let mut parts = version.splitn(3, ' ');
        let (folder, last, head) = (parts.next()?, parts.next()?, parts.next()?);
        Some(Self {
            head: head.into(),
            folder: folder.to_owned(),
            last: last.parse().ok()?,
        })
    }
}

/// Returns whether a key is that of a journal, which is that of its first object.
pub(super) fn is_journal(key: &str) -> bool {
    key.starts_with(JOURNALS) && key.ends_with(JOURNAL_ENDING)
}

/// Returns whether an object is the first one of a new journal.
pub(super) fn is_begun_journal(key: &str, bytes: &[u8]) -> bool {
    is_journal(key) && bytes.starts_with(HEAD)
}

fn incomplete(key: &str) -> Error {
    Error::new(
        ErrorKind::State,
        format!("the journal {key} lacks one of its numbered objects"),
    )
    .with_hint("restore the object in the store, or import the state, which sets the journal aside")
}

fn part(key: &str, folder: &str, number: u64) -> String {
    format!("{key}{PARTS}{folder}/{number:08}")
}

impl<S: Store> NumberedJournals<S> {
    pub(super) fn new(inner: S, runtime: Runtime, removal: Removal) -> Self {
        Self {
            inner,
            runtime,
            removal,
            own: Mutex::default(),
            ends: Mutex::default(),
            written: Mutex::default(),
        }
    }

    fn ends(&self) -> MutexGuard<'_, BTreeMap<String, SeenEnd>> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn written(&self) -> MutexGuard<'_, BTreeMap<String, Option<Md5Digest>>> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_own(&self, folder: &str) -> bool {
        let own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        own.contains(folder)
    }

    /// Reads the first object of a journal.
    async fn first(&self, key: &str) -> Result<First> {
        let found = self.inner.get(key).await?;
        let Some(Object { bytes, version }) = found else {
            self.ends().remove(key);
            self.written().remove(key);
            return Ok(First::Missing);
        };
        if let Some(End { checkpoint }) = End::parse(&bytes) {
            self.see(key, version, checkpoint);
            self.written().remove(key);
            return Ok(First::Ended);
        }
        // An end that was seen is no longer the last one.
        self.ends().remove(key);
        let line = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(0);
        let folder = bytes[..line]
            .strip_prefix(HEAD)
            .and_then(|name| std::str::from_utf8(name).ok());
        let Some(folder) = folder else {
            let text = format!("the journal {key} does not begin with the name of its folder");
            return Err(Error::new(ErrorKind::State, text));
        };
        if !self.is_own(folder) {
            self.written().remove(key);
        }
        let extent = Extent {
            head: version,
            folder: folder.to_owned(),
            last: 0,
        };
        Ok(First::Begun(extent, bytes.slice(line + 1..)))
    }

    /// Reads the first object; returns its content without the first line. One that does not begin with it was written by
    /// another program.
    async fn head(&self, key: &str) -> Result<Option<(Extent, Bytes)>> {
        match self.first(key).await? {
            First::Missing | First::Ended => Ok(None),
            First::Begun(extent, content) => Ok(Some((extent, content))),
        }
    }

    /// Returns the number of a journal's last object; `None` when one before it is missing.
    async fn find_last(&self, key: &str, folder: &str) -> Result<Option<u64>> {
        let listed = self.inner.list(&format!("{key}{PARTS}{folder}/")).await?;
        let mut numbered = (1..).zip(&listed);
        let is_whole = numbered.all(|(number, info)| info.key == part(key, folder, number));
        Ok(is_whole.then_some(listed.len() as u64))
    }

    async fn last(&self, key: &str, folder: &str) -> Result<u64> {
        self.find_last(key, folder).await?.ok_or_else(|| incomplete(key))
    }

    /// Reads a journal, again when it was removed or replaced meanwhile.
    async fn read(&self, key: &str) -> Result<Option<Object>> {
        for _ in 0..MAX_READ_ATTEMPTS {
            let Some((mut extent, first)) = self.head(key).await? else {
                return Ok(None);
            };
            if let Some(last) = self.find_last(key, &extent.folder).await?
                && let Some(bytes) = self.read_batches(key, &extent.folder, first, last).await?
            {
                extent.last = last;
                return Ok(Some(Object {
                    bytes,
                    version: extent.version(),
                }));
            }
            let is_same = |(found, _): &(Extent, Bytes)| found.head == extent.head;
            if self.head(key).await?.is_some_and(|found| is_same(&found)) {
                return Err(incomplete(key));
            }
        }
        Err(changed(key))
    }

    /// Returns the batches as one; `None` when one was removed meanwhile.
    async fn read_batches(&self, key: &str, folder: &str, first: Bytes, last: u64) -> Result<Option<Bytes>> {
        if last == 0 {
            return Ok(Some(first));
        }
        let reads = (1..=last).map(|number| {
            let key = part(key, folder, number);
            async move { self.inner.get(&key).await }
        });
        let batches: Vec<Option<Object>> = stream::iter(reads)
            .buffered(CONCURRENT_READS)
            .try_collect()
            .await?;
        let mut bytes = BytesMut::from(&first[..]);
        for batch in batches {
            let Some(batch) = batch else {
                return Ok(None);
            };
            bytes.extend_from_slice(&batch.bytes);
        }
        Ok(Some(bytes.freeze()))
    }

    /// Writes a journal as a whole, with a new folder.
    async fn begin(&self, key: &str, bytes: &[u8], condition: Condition) -> Result<Version> {
        let folder = self.runtime.random.uuid();
        let content = Bytes::from([HEAD, folder.as_bytes(), b"\n", bytes].concat());
        let head = match condition {
            Condition::Absent => self.begin_new(key, content).await?,
            Condition::Match(version) => {
                let extent = Extent::parse(&version).ok_or_else(|| changed(key))?;
                self.require_end(key, &extent).await?;
                let condition = Condition::Match(Version::clone(&extent.head));
                let head = self.inner.put(key, content, condition).await?;
                if let Err(error) = self.remove_parts(key, &extent).await {
                    tracing::warn!(%error, key, "objects of a replaced journal stay until the next one begins");
                }
                head
            }
            Condition::Any => self.inner.put(key, content, Condition::Any).await?,
        };
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        own.insert(folder.clone());
        drop(own);
        self.ends().remove(key);
        self.written().entry(key.to_owned()).or_default();
        let extent = Extent {
            head,
            folder,
            last: 0,
        };
        Ok(extent.version())
    }

    /// Writes the first object of a journal where there is none, or an end.
    async fn begin_new(&self, key: &str, content: Bytes) -> Result<Version> {
        // When the object is written, all those that were listed before belong to journals that have ended.
        let leftovers = self.leftovers(key).await?;
        let seen = || self.ends().get(key).map(|end| Version::clone(&end.version));
        let mut refused = changed(key);
        for _ in 0..MAX_BEGIN_ATTEMPTS {
            let condition = seen().map_or(Condition::Absent, Condition::Match);
            match self.inner.put(key, content.clone(), condition).await {
                Err(error) if error.kind() == ErrorKind::Conflict => {
                    if let First::Begun(..) = self.first(key).await? {
                        return Err(error);
                    }
                    refused = error;
                }
                written => {
                    let head = written?;
                    if let Err(error) = self.remove(leftovers).await {
                        tracing::warn!(%error, key, "objects of journals that have ended stay until the next one begins");
                    }
                    return Ok(head);
                }
            }
        }
        Err(refused)
    }

    /// Removes the first object of a journal if it is unchanged.
    async fn end(&self, key: &str, head: &Version) -> Result<()> {
        let checkpoint = self.written().remove(key).flatten();
        if self.removal == Removal::Conditional && checkpoint.is_none() {
            return self.inner.delete_version(key, head).await;
        }
        let condition = Condition::Match(Version::clone(head));
        let ended = End { checkpoint }.encode(&self.runtime);
        let end = match self.inner.put(key, ended, condition).await {
            // Another process has done it, or has begun the next journal.
            Err(error) if error.kind() == ErrorKind::Conflict => {
                return match self.head(key).await? {
                    None => Ok(()),
                    Some(_) => Err(error),
                };
            }
            end => end?,
        };
        self.see(key, end, checkpoint);
        Ok(())
    }

    /// Checks that a journal has no more objects than a version of it. In that of another process the next number is taken, so that none
    /// follows.
    async fn require_end(&self, key: &str, extent: &Extent) -> Result<()> {
        if !self.is_own(&extent.folder) {
            return self.take_next(key, extent).await;
        }
        match self.last(key, &extent.folder).await? == extent.last {
            true => Ok(()),
            false => Err(changed(key)),
        }
    }

    /// Creates an empty object after the last one, so that another writer fails at its next number.
    async fn take_next(&self, key: &str, extent: &Extent) -> Result<()> {
        let next = part(key, &extent.folder, extent.last + 1);
        self.inner
            .put(&next, Bytes::new(), Condition::Absent)
            .await
            .map(drop)
    }

    /// Removes the objects of a journal after the first one was removed. Of another process's journal the last one stays.
    async fn remove_parts(&self, key: &str, extent: &Extent) -> Result<()> {
        let prefix = format!("{key}{PARTS}{}/", extent.folder);
        let mut listed = self.inner.list(&prefix).await?;
        if !self.is_own(&extent.folder) {
            listed.pop();
        }
        self.remove(listed).await
    }

    /// Lists what interrupted removals have left: of each folder all objects but the last, which another process must find.
    async fn leftovers(&self, key: &str) -> Result<Vec<ObjectInfo>> {
        let mut listed = self.inner.list(&format!("{key}{PARTS}")).await?;
        let folder = |info: &ObjectInfo| info.key.rsplit_once('/').map(|(folder, _)| folder.to_owned());
        let folders: Vec<_> = listed.iter().map(folder).collect();
        let mut index = 0;
        listed.retain(|_| {
            index += 1;
            folders.get(index) == folders.get(index - 1)
        });
        Ok(listed)
    }

    fn see(&self, key: &str, version: Version, checkpoint: Option<Md5Digest>) {
        self.ends()
            .insert(key.to_owned(), SeenEnd { version, checkpoint });
    }

    /// Writes an object. Of a checkpoint the digest is noted: for the end of the journal that this process writes, or else in the end
    /// that is there, which has none while the write runs.
    async fn write_noted(
        &self,
        key: &str,
        content: Bytes,
        write: impl Future<Output = Result<Version>>,
    ) -> Result<Version> {
        let Some(journal) = ends::journal_of(key) else {
            return write.await;
        };
        let is_written = self.written().get_mut(&journal).map(Option::take).is_some();
        let end = match is_written {
            true => None,
            false => self.forget(&journal).await?,
        };
        if !is_written && end.is_none() {
            return write.await;
        }
        let digest = self.runtime.spawner.spawn_blocking(move || digest(&content));
        let (version, digest) = futures::join!(write, digest);
        let version = version?;
        let Ok(digest) = digest else {
            return Ok(version);
        };
        if let Some(written) = self.written().get_mut(&journal) {
            *written = Some(digest);
        }
        if let Some(end) = end
            && let Err(error) = self.replace_end(&journal, end, Some(digest)).await
        {
            tracing::debug!(%error, journal, "the digest of a checkpoint is not noted");
        }
        Ok(version)
    }

    /// Removes the digest of an object that is about to be replaced or removed, if it is a checkpoint.
    async fn forget_checkpoint(&self, key: &str) -> Result<()> {
        let Some(journal) = ends::journal_of(key) else {
            return Ok(());
        };
        if self.written().get_mut(&journal).map(Option::take).is_some() {
            return Ok(());
        }
        self.forget(&journal).await.map(drop)
    }

    /// Removes the digest of an end, and returns the end's version; `None` when there is none.
    async fn forget(&self, journal: &str) -> Result<Option<Version>> {
        let mut refused = changed(journal);
        for _ in 0..MAX_BEGIN_ATTEMPTS {
            let known = self.ends().get(journal).cloned();
            let Some(known) = known else {
                match self.first(journal).await? {
                    First::Ended => continue,
                    First::Missing | First::Begun(..) => return Ok(None),
                }
            };
            if known.checkpoint.is_none() {
                return Ok(Some(known.version));
            }
            match self.replace_end(journal, known.version, None).await {
                Err(error) if error.kind() == ErrorKind::Conflict => {
                    self.ends().remove(journal);
                    refused = error;
                }
                replaced => return replaced.map(Some),
            }
        }
        Err(refused)
    }

    async fn replace_end(
        &self,
        journal: &str,
        end: Version,
        checkpoint: Option<Md5Digest>,
    ) -> Result<Version> {
        let content = End { checkpoint }.encode(&self.runtime);
        let version = self.inner.put(journal, content, Condition::Match(end)).await?;
        self.see(journal, Version::clone(&version), checkpoint);
        Ok(version)
    }

    async fn remove(&self, objects: Vec<ObjectInfo>) -> Result<()> {
        let removals = objects
            .into_iter()
            .map(|info| async move { self.inner.delete(&info.key).await });
        stream::iter(removals)
            .buffer_unordered(CONCURRENT_READS)
            .try_collect()
            .await
    }
}

#[async_trait]
impl<S: Store> Layer for NumberedJournals<S> {
    fn inner(&self) -> &dyn Store {
        &self.inner
    }

    async fn get_with_digest(&self, key: &str) -> Result<Option<(Object, Option<Md5Digest>)>> {
        if is_journal(key) {
            return Ok(self.read(key).await?.map(|object| (object, None)));
        }
        let Some(journal) = ends::journal_of(key) else {
            return self.inner.get_with_digest(key).await;
        };
        // The end that was seen with the journal, or one that is newer than the checkpoint.
        let recorded = self.ends().get(&journal).and_then(|end| end.checkpoint);
        let found = self.inner.get(key).await?;
        Ok(found.map(|object| (object, recorded)))
    }

    async fn put(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        match is_journal(key) {
            true => self.begin(key, &bytes, condition).await,
            false => {
                let content = bytes.clone();
                self.write_noted(key, content, self.inner.put(key, bytes, condition))
                    .await
            }
        }
    }

    async fn put_keeping(
        &self,
        key: &str,
        bytes: Bytes,
        condition: Condition,
        kept: &str,
    ) -> Result<Version> {
        let content = bytes.clone();
        let write = self.inner.put_keeping(key, bytes, condition, kept);
        self.write_noted(key, content, write).await
    }

    async fn append(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        if !is_journal(key) {
            return self.inner.append(key, bytes, condition).await;
        }
        let mut extent = match condition {
            Condition::Absent => return self.begin(key, &bytes, Condition::Absent).await,
            Condition::Match(version) => Extent::parse(&version).ok_or_else(|| changed(key))?,
            Condition::Any => match self.head(key).await? {
                None => return self.begin(key, &bytes, Condition::Absent).await,
                Some((mut extent, _)) => {
                    extent.last = self.last(key, &extent.folder).await?;
                    extent
                }
            },
        };
        extent.last += 1;
        let next = part(key, &extent.folder, extent.last);
        self.inner.put(&next, bytes, Condition::Absent).await?;
        Ok(extent.version())
    }

    async fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>> {
        let mut listed = self.inner.list(prefix).await?;
        listed.retain(|info| {
            let is_part = info
                .key
                .split_once(PARTS)
                .is_some_and(|(journal, _)| is_journal(journal));
            let is_end = is_journal(&info.key) && info.size == ends::LENGTH;
            !is_part && !is_end
        });
        Ok(listed)
    }

    async fn delete(&self, key: &str) -> Result<()> {
        if !is_journal(key) {
            self.forget_checkpoint(key).await?;
            return self.inner.delete(key).await;
        }
        // A journal of another program has no parts.
        let extent = match self.head(key).await {
            Ok(None) => return Ok(()),
            Ok(Some((extent, _))) => Some(extent),
            Err(error) if error.kind() == ErrorKind::State => None,
            Err(error) => return Err(error),
        };
        let Some(mut extent) = extent else {
            return self.inner.delete(key).await;
        };
        if !self.is_own(&extent.folder) {
            extent.last = self.last(key, &extent.folder).await?;
            self.take_next(key, &extent).await?;
        }
        self.end(key, &extent.head).await?;
        self.remove_parts(key, &extent).await
    }

    async fn delete_version(&self, key: &str, version: &Version) -> Result<()> {
        if !is_journal(key) {
            return self.inner.delete_version(key, version).await;
        }
        let extent = Extent::parse(version).ok_or_else(|| changed(key))?;
        match self.head(key).await? {
            None => return Ok(()),
            Some((found, _)) if found.folder == extent.folder && found.head == extent.head => {}
            Some(_) => return Err(changed(key)),
        }
        self.require_end(key, &extent).await?;
        self.end(key, &extent.head).await?;
        self.remove_parts(key, &extent).await
    }

    async fn copy(&self, from: &str, to: &str) -> Result<()> {
        if !is_journal(from) && !is_journal(to) {
            self.forget_checkpoint(to).await?;
            return self.inner.copy(from, to).await;
        }
        match self.get_with_digest(from).await? {
            Some((object, _)) => self.put(to, object.bytes, Condition::Any).await.map(drop),
            None => Err(super::not_found(from)),
        }
    }

    fn shortens_journals(&self) -> bool {
        true
    }
}

/// Makes the store of a server whole.
pub(super) fn with_journals<S: Store>(inner: S, runtime: &Runtime, removal: Removal) -> Arc<dyn Store> {
    Arc::new(Layered(NumberedJournals::new(inner, runtime.clone(), removal)))
}

#[cfg(test)]
#[path = "numbered_tests.rs"]
mod tests;
