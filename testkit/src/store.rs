//! A faulty store: one that fails, or dies, at a chosen write.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use async_trait::async_trait;
use bytes::Bytes;
use stackwright::{
    Error, ErrorKind, Result,
    store::{Condition, LockGuard, Object, ObjectInfo, Store, Version},
};

/// A fault and the write at which it occurs. Writes are counted from 1: puts, appends and deletions together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No fault.
    None,
    /// This one write fails; the previous content stays.
    FailsAt(u64),
    /// From this write on every call fails, reads too: as after a network failure.
    DiesAt(u64),
    /// This write is done, and reported as failed; from then on every call fails: as when the process dies after it.
    DiesAfter(u64),
    /// This append writes only its first bytes, and from then on every call fails: as after a power failure.
    TearsAt(u64),
}

/// A store that passes calls on to another one until its fault occurs.
pub struct FaultyStore {
    inner: Arc<dyn Store>,
    fault: Fault,
    writes: AtomicU64,
}

impl FaultyStore {
    /// Wraps `inner` with a fault.
    #[must_use]
    pub fn new(inner: Arc<dyn Store>, fault: Fault) -> Self {
        Self {
            inner,
            fault,
            writes: AtomicU64::new(0),
        }
    }

    /// Returns the number of writes so far.
    #[must_use]
    pub fn writes(&self) -> u64 {
        self.writes.load(Ordering::SeqCst)
    }

    fn broken(&self) -> Error {
        Error::new(
            ErrorKind::Unavailable,
            format!("the store at {} is broken", self.inner.url()),
        )
    }

    fn is_dead(&self) -> bool {
        match self.fault {
            Fault::DiesAt(write) | Fault::DiesAfter(write) | Fault::TearsAt(write) => self.writes() >= write,
            Fault::None | Fault::FailsAt(_) => false,
        }
    }

    fn alive(&self) -> Result<()> {
        if self.is_dead() {
            Err(self.broken())
        } else {
            Ok(())
        }
    }

    /// Counts a write; returns its number.
    fn write(&self) -> Result<u64> {
        self.alive()?;
        let number = self.writes.fetch_add(1, Ordering::SeqCst) + 1;
        match self.fault {
            Fault::FailsAt(write) | Fault::DiesAt(write) if write == number => Err(self.broken()),
            _ => Ok(number),
        }
    }
}

#[async_trait]
impl Store for FaultyStore {
    fn url(&self) -> String {
        self.inner.url()
    }

    async fn get(&self, key: &str) -> Result<Option<Object>> {
        self.alive()?;
        self.inner.get(key).await
    }

    async fn put(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        let number = self.write()?;
        if self.fault == Fault::DiesAfter(number) {
            self.inner.put(key, bytes, condition).await?;
            return Err(self.broken());
        }
        if self.fault == Fault::TearsAt(number) {
            // A put is atomic: a torn one leaves the previous content.
            return Err(self.broken());
        }
        self.inner.put(key, bytes, condition).await
    }

    async fn append(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        let number = self.write()?;
        if self.fault == Fault::DiesAfter(number) {
            self.inner.append(key, bytes, condition).await?;
            return Err(self.broken());
        }
        if self.fault == Fault::TearsAt(number) {
            self.inner
                .append(key, bytes.slice(..bytes.len() / 2), condition)
                .await?;
            return Err(self.broken());
        }
        self.inner.append(key, bytes, condition).await
    }

    async fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>> {
        self.alive()?;
        self.inner.list(prefix).await
    }

    async fn delete(&self, key: &str) -> Result<()> {
        let number = self.write()?;
        if self.fault == Fault::DiesAfter(number) {
            self.inner.delete(key).await?;
            return Err(self.broken());
        }
        if self.fault == Fault::TearsAt(number) {
            return Err(self.broken());
        }
        self.inner.delete(key).await
    }

    async fn lock(&self, name: &str) -> Result<Box<dyn LockGuard>> {
        self.alive()?;
        self.inner.lock(name).await
    }
}
