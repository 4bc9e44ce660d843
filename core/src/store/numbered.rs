//! Journals on stores without appends: each batch is an object of its own, with the next number.
//!
//! The first batch is the object of the journal's key, which begins with a line that names the folder of the others. Objects are numbered without
//! gaps, and each is created only if absent, so that of two writers one fails at its next number. Every journal has another folder. Where a
//! journal is removed that another process has begun, the number after its last object is taken and stays, so that the other process never
//! writes again.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use futures::{StreamExt as _, TryStreamExt as _, stream};

use super::{Condition, LockGuard, Object, ObjectInfo, Store, Version, changed};
use crate::{
    error::{Error, ErrorKind, Result},
    runtime::Runtime,
};

/// The prefix and the ending of the keys of journals.
const JOURNALS: &str = ".pulumi/journals/";
const ENDING: &str = ".journal";

/// The ending of the folder of a journal's later objects, whose own folder has a unique name.
const PARTS: &str = ".parts/";

/// The begin of the first line of a journal's first object.
const HEAD: &[u8] = b"parts ";

/// The limit of attempts to read a journal that is removed or replaced meanwhile.
const MAX_READ_ATTEMPTS: usize = 4;

/// How many objects are read at once.
const CONCURRENT_READS: usize = 8;

/// A store whose journals grow by numbered objects. All other keys are those of the inner store.
pub(super) struct NumberedJournals<S> {
    inner: S,
    runtime: Runtime,
    /// The folders of the journals that this process has begun.
    own: Mutex<BTreeSet<String>>,
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
    key.starts_with(JOURNALS) && key.ends_with(ENDING)
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
    pub(super) fn new(inner: S, runtime: Runtime) -> Self {
        Self {
            inner,
            runtime,
            own: Mutex::default(),
        }
    }

    fn is_own(&self, folder: &str) -> bool {
        let own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        own.contains(folder)
    }

    /// Reads the first object; returns its content without the first line. One that does not begin with it was written by
    /// another program.
    async fn head(&self, key: &str) -> Result<Option<(Extent, Bytes)>> {
        let Some(Object { bytes, version }) = self.inner.get(key).await? else {
            return Ok(None);
        };
        let line = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(0);
        let folder = bytes[..line]
            .strip_prefix(HEAD)
            .and_then(|name| std::str::from_utf8(name).ok());
        let Some(folder) = folder else {
            let text = format!("the journal {key} does not begin with the name of its folder");
            return Err(Error::new(ErrorKind::State, text));
        };
        let extent = Extent {
            head: version,
            folder: folder.to_owned(),
            last: 0,
        };
        Ok(Some((extent, bytes.slice(line + 1..))))
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
        let former = match &condition {
            Condition::Absent => {
                self.clear_leftovers(key).await?;
                None
            }
            Condition::Match(version) => {
                let extent = Extent::parse(version).ok_or_else(|| changed(key))?;
                // Another writer's next object would be lost.
                self.take_next(key, &extent).await?;
                Some(extent)
            }
            Condition::Any => self.head(key).await.ok().flatten().map(|(extent, _)| extent),
        };
        let folder = self.runtime.random.uuid();
        let mut content = BytesMut::with_capacity(HEAD.len() + folder.len() + 1 + bytes.len());
        content.extend_from_slice(HEAD);
        content.extend_from_slice(folder.as_bytes());
        content.extend_from_slice(b"\n");
        content.extend_from_slice(bytes);
        let condition = match (&former, condition) {
            (Some(extent), Condition::Match(_)) => Condition::Match(extent.head.clone()),
            (_, condition) => condition,
        };
        let head = self.inner.put(key, content.freeze(), condition).await?;
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        own.insert(folder.clone());
        let extent = Extent {
            head,
            folder,
            last: 0,
        };
        Ok(extent.version())
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

    /// Removes what interrupted removals have left: of each folder all objects but the last, which another process must find.
    async fn clear_leftovers(&self, key: &str) -> Result<()> {
        let mut listed = self.inner.list(&format!("{key}{PARTS}")).await?;
        let folder = |info: &ObjectInfo| info.key.rsplit_once('/').map(|(folder, _)| folder.to_owned());
        let folders: Vec<_> = listed.iter().map(folder).collect();
        let mut index = 0;
        listed.retain(|_| {
            index += 1;
            folders.get(index) == folders.get(index - 1)
        });
        self.remove(listed).await
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
impl<S: Store> Store for NumberedJournals<S> {
    fn url(&self) -> String {
        self.inner.url()
    }

    async fn get(&self, key: &str) -> Result<Option<Object>> {
        match is_journal(key) {
            true => self.read(key).await,
            false => self.inner.get(key).await,
        }
    }

    async fn put(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        match is_journal(key) {
            true => self.begin(key, &bytes, condition).await,
            false => self.inner.put(key, bytes, condition).await,
        }
    }

    async fn put_keeping(
        &self,
        key: &str,
        bytes: Bytes,
        condition: Condition,
        kept: &str,
    ) -> Result<Version> {
        self.inner.put_keeping(key, bytes, condition, kept).await
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
            !is_part
        });
        Ok(listed)
    }

    async fn delete(&self, key: &str) -> Result<()> {
        if !is_journal(key) {
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
        self.inner.delete(key).await?;
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
        // Also a check that there are no more objects than the version has.
        if self.is_own(&extent.folder) {
            if self.last(key, &extent.folder).await? != extent.last {
                return Err(changed(key));
            }
        } else {
            self.take_next(key, &extent).await?;
        }
        self.inner.delete_version(key, &extent.head).await?;
        self.remove_parts(key, &extent).await
    }

    async fn copy(&self, from: &str, to: &str) -> Result<()> {
        if !is_journal(from) && !is_journal(to) {
            return self.inner.copy(from, to).await;
        }
        match self.get(from).await? {
            Some(object) => self.put(to, object.bytes, Condition::Any).await.map(drop),
            None => Err(super::not_found(from)),
        }
    }

    async fn lock(&self, name: &str) -> Result<Box<dyn LockGuard>> {
        self.inner.lock(name).await
    }

    async fn tidy(&self, prefix: &str) {
        self.inner.tidy(prefix).await;
    }
}

/// Makes the store of a server whole.
pub(super) fn with_journals<S: Store>(inner: S, runtime: &Runtime) -> Arc<dyn Store> {
    Arc::new(NumberedJournals::new(inner, runtime.clone()))
}

#[cfg(test)]
#[path = "numbered_tests.rs"]
mod tests;
