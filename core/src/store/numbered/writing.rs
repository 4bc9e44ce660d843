//! The begin and the end of a journal.

use std::sync::PoisonError;

use bytes::Bytes;
use futures::{StreamExt as _, TryStreamExt as _, stream};

use super::{
    CONCURRENT_READS, HEAD, MAX_BEGIN_ATTEMPTS, NumberedJournals, PARTS, Removal,
    extent::{Extent, First, part},
    noting::SeenEnd,
};
use crate::{
    error::{ErrorKind, Result},
    store::{Condition, ObjectInfo, Store, Version, changed, ends::End},
};

/// Returns whether an object only takes its number.
fn is_taken(info: &ObjectInfo) -> bool {
    info.size == 0
}

impl<S: Store> NumberedJournals<S> {
    /// Writes a journal as a whole, with a new folder.
    pub(super) async fn begin(&self, key: &str, bytes: &[u8], condition: Condition) -> Result<Version> {
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
        let seen = || self.ends().get(key).map(SeenEnd::version);
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
    pub(super) async fn end(&self, key: &str, head: &Version) -> Result<()> {
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
        self.see_own(key, end, checkpoint);
        Ok(())
    }

    /// Checks that a journal has no more objects than a version of it. In that of another process the next number is taken, so that none
    /// follows.
    pub(super) async fn require_end(&self, key: &str, extent: &Extent) -> Result<()> {
        if !self.is_own(&extent.folder) {
            return self.take_next(key, extent).await;
        }
        match self.last(key, &extent.folder).await? == extent.last {
            true => Ok(()),
            false => Err(changed(key)),
        }
    }

    /// Creates an empty object after the last one, so that another writer fails at its next number.
    pub(super) async fn take_next(&self, key: &str, extent: &Extent) -> Result<()> {
        let next = part(key, &extent.folder, extent.last + 1);
        self.inner
            .put(&next, Bytes::new(), Condition::Absent)
            .await
            .map(drop)
    }

    /// Removes what is left of journals that have ended, and the end of the last one, where the store checks leases in each write. The stack
    /// is removed.
    pub(super) async fn remove_rest(&self, key: &str) -> Result<()> {
        if self.removal != Removal::Conditional {
            return Ok(());
        }
        let end = self.ends().remove(key);
        if let Some(end) = end {
            self.inner.delete_version(key, &end.version()).await?;
        }
        let leftovers = self.leftovers(key).await?;
        self.remove(leftovers).await
    }

    /// Removes the objects of a journal after the first one was removed. Of another process's journal the last one and the taken numbers stay,
    /// unless the store checks leases in each write.
    pub(super) async fn remove_parts(&self, key: &str, extent: &Extent) -> Result<()> {
        let prefix = format!("{key}{PARTS}{}/", extent.folder);
        let mut listed = self.inner.list(&prefix).await?;
        if self.removal == Removal::Replacement && !self.is_own(&extent.folder) {
            listed.pop();
            listed.retain(|info| !is_taken(info));
        }
        self.remove(listed).await
    }

    /// Lists what interrupted removals have left: of each folder all objects but the last and the taken numbers, which another
    /// process must find unless the store checks leases in each write.
    pub(super) async fn leftovers(&self, key: &str) -> Result<Vec<ObjectInfo>> {
        let mut listed = self.inner.list(&format!("{key}{PARTS}")).await?;
        if self.removal == Removal::Conditional {
            return Ok(listed);
        }
        let folder = |info: &ObjectInfo| info.key.rsplit_once('/').map(|(folder, _)| folder.to_owned());
        let folders: Vec<_> = listed.iter().map(folder).collect();
        let mut index = 0;
        listed.retain(|info| {
            index += 1;
            folders.get(index) == folders.get(index - 1) && !is_taken(info)
        });
        Ok(listed)
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
