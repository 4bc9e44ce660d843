//! A store for tests that fails at a given write, as on a full disk or at the death of the process.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use bytes::Bytes;

use super::{Condition, LockGuard, Object, ObjectInfo, Store, Version};
use crate::error::{Error, ErrorKind, Result};

/// The result of the failing write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It is not done and returns an error; later writes succeed.
    Refused,
    /// It is not done, nor is any later one: the process died before it.
    DeathBefore,
    /// Of an append the first half is done, no later write is: the process died within it.
    DeathWithin,
    /// It is done, no later one is: the process died after it.
    DeathAfter,
    /// Of an append the first half is done, and it returns an error; later writes succeed.
    TornOnce,
    /// It is done, but returns an error; later writes succeed.
    DoneOnce,
}

impl Fault {
    pub(crate) const ALL: [Self; 6] = [
        Self::Refused,
        Self::DeathBefore,
        Self::DeathWithin,
        Self::DeathAfter,
        Self::TornOnce,
        Self::DoneOnce,
    ];
}

/// Wraps a store and counts its writes.
pub(crate) struct FaultyStore {
    inner: Arc<dyn Store>,
    fault: Fault,
    at: usize,
    writes: Arc<AtomicUsize>,
}

impl FaultyStore {
    /// Fails the write number `at`, counted from 0.
    pub(crate) fn new(inner: Arc<dyn Store>, fault: Fault, at: usize) -> Self {
        Self {
            inner,
            fault,
            at,
            writes: Arc::default(),
        }
    }

    /// Wraps another store of the same process: the writes of both are counted together.
    pub(crate) fn beside(&self, inner: Arc<dyn Store>) -> Self {
        Self {
            inner,
            fault: self.fault,
            at: self.at,
            writes: Arc::clone(&self.writes),
        }
    }

    /// Returns the number of attempted writes.
    pub(crate) fn writes(&self) -> usize {
        self.writes.load(Ordering::SeqCst)
    }

    /// Does a write, or fails it.
    pub(crate) async fn write<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let number = self.writes.fetch_add(1, Ordering::SeqCst);
        // Nothing is tried again in a process that has died.
        let kind = match self.fault {
            Fault::DeathBefore | Fault::DeathWithin | Fault::DeathAfter => ErrorKind::Internal,
            Fault::Refused | Fault::TornOnce | Fault::DoneOnce => ErrorKind::Unavailable,
        };
        let failed = || Err(Error::new(kind, "the store failed on purpose"));
        match self.fault {
            Fault::Refused | Fault::TornOnce if number == self.at => failed(),
            Fault::DeathBefore | Fault::DeathWithin if number >= self.at => failed(),
            Fault::DeathAfter | Fault::DoneOnce if number == self.at => {
                work.await?;
                failed()
            }
            Fault::DeathAfter if number > self.at => failed(),
            _ => work.await,
        }
    }
}

#[async_trait]
impl Store for FaultyStore {
    fn url(&self) -> String {
        self.inner.url()
    }

    async fn get(&self, key: &str) -> Result<Option<Object>> {
        self.inner.get(key).await
    }

    async fn put(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        self.write(self.inner.put(key, bytes, condition)).await
    }

    async fn append(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        if matches!(self.fault, Fault::DeathWithin | Fault::TornOnce) && self.writes() == self.at {
            let half = bytes.slice(..bytes.len() / 2);
            self.inner.append(key, half, condition.clone()).await?;
        }
        self.write(self.inner.append(key, bytes, condition)).await
    }

    async fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>> {
        self.inner.list(prefix).await
    }

    async fn delete(&self, key: &str) -> Result<()> {
        self.write(self.inner.delete(key)).await
    }

    async fn copy(&self, from: &str, to: &str) -> Result<()> {
        self.write(self.inner.copy(from, to)).await
    }

    async fn lock(&self, name: &str) -> Result<Box<dyn LockGuard>> {
        self.inner.lock(name).await
    }
}
