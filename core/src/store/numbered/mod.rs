//! Journals on stores without appends: each batch is an object of its own, with the next number.
//!
//! The first batch is the object of the journal's key, which begins with a line that names the folder of the others. Objects are numbered without
//! gaps, and each is created only if absent, so that of two writers one fails at its next number. Every journal has another folder. Where a
//! process continues or removes a journal that another one has begun, it takes the number after the last object with an empty one, which
//! stays, so that the other process never writes again. A store that checks the lease in each write needs no such object once the journal
//! is removed, and keeps none.
//!
//! Where a store cannot remove an object under a condition, the first object of a removed journal is replaced by an end, which readers take for
//! nothing and the next journal replaces, both under the condition that it is unchanged: a process that is suspended before a removal must not
//! remove the journal of its successor.
//!
//! An end also has the digest of the checkpoint that the operation has left, so that one that another program has written since is
//! recognised at no cost: the object is read with every state. For that, the end stays also where it could be removed, and a checkpoint that
//! is written before its stack has a journal gets an end, too.

mod extent;
mod noting;
mod reading;
mod writing;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use bytes::Bytes;

use super::{
    Condition, Md5Digest, Object, ObjectInfo, Store, Version, changed, ends,
    layer::{Layer, Layered},
};
use crate::{
    error::{ErrorKind, Result},
    runtime::Runtime,
};
use extent::{Extent, part};
pub(super) use extent::{is_begun_journal, is_journal};
use noting::SeenEnd;

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
    /// The folders of journals of other processes in which this one has taken a number.
    taken: Mutex<BTreeSet<String>>,
    /// The ends that this process has seen, by the keys of their journals.
    ends: Mutex<BTreeMap<String, SeenEnd>>,
    /// The journals that this process writes, each with the digest of the checkpoint that was written meanwhile.
    written: Mutex<BTreeMap<String, Option<Md5Digest>>>,
}

/// How the first object of a journal is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Removal {
    /// The store removes it if it is unchanged, as one, and checks the lease in each write: a process whose lease was taken over writes
    /// nothing, also where no object has its next number.
    Conditional,
    /// It is replaced by an end.
    Replacement,
}

impl<S: Store> NumberedJournals<S> {
    pub(super) fn new(inner: S, runtime: Runtime, removal: Removal) -> Self {
        Self {
            inner,
            runtime,
            removal,
            own: Mutex::default(),
            taken: Mutex::default(),
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

    /// Returns whether another process has begun a journal, and may still write its next number.
    fn is_foreign(&self, folder: &str) -> bool {
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        !self.is_own(folder) && !taken.contains(folder)
    }

    fn note_taken(&self, folder: &str) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.insert(folder.to_owned());
    }

    fn is_own(&self, folder: &str) -> bool {
        let own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        own.contains(folder)
    }
}

/// Returns whether an object is more than a part of a journal, or the end that one leaves behind.
fn is_shown(info: &ObjectInfo) -> bool {
    let is_part = info
        .key
        .split_once(PARTS)
        .is_some_and(|(journal, _)| is_journal(journal));
    let is_end = is_journal(&info.key) && info.size == ends::LENGTH;
    !is_part && !is_end
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
        if self.is_foreign(&extent.folder) {
            self.take_next(key, &extent).await?;
            extent.last += 1;
            self.note_taken(&extent.folder);
        }
        extent.last += 1;
        let next = part(key, &extent.folder, extent.last);
        self.inner.put(&next, bytes, Condition::Absent).await?;
        Ok(extent.version())
    }

    async fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>> {
        let mut listed = self.inner.list(prefix).await?;
        listed.retain(is_shown);
        Ok(listed)
    }

    async fn find(&self, prefix: &str, keys: &[String]) -> Result<Vec<ObjectInfo>> {
        let mut found = self.inner.find(prefix, keys).await?;
        found.retain(is_shown);
        Ok(found)
    }

    async fn delete(&self, key: &str) -> Result<()> {
        if !is_journal(key) {
            self.forget_checkpoint(key).await?;
            return self.inner.delete(key).await;
        }
        // A journal of another program has no parts.
        let extent = match self.head(key).await {
            Ok(None) => return self.remove_rest(key).await,
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
        self.remove_parts(key, &extent).await?;
        self.remove_rest(key).await
    }

    async fn delete_version(&self, key: &str, version: &Version) -> Result<()> {
        if !is_journal(key) {
            self.forget_checkpoint(key).await?;
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

    async fn sweep_journal(&self, key: &str) -> Result<()> {
        // A journal that another process has begun since stays.
        match self.head(key).await? {
            None => self.remove_rest(key).await,
            Some(_) => Ok(()),
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
mod tests;
