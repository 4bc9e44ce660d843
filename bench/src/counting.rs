//! A store that measures what is written to it.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use async_trait::async_trait;
use bytes::Bytes;
use stackwright::{
    Result,
    store::{Condition, LockGuard, Object, ObjectInfo, Store, Version},
};

/// A store that sums a measure over all writes.
pub(crate) struct Counting {
    pub(crate) inner: Arc<dyn Store>,
    /// The measure of a write, by key and content.
    pub(crate) counts: fn(&str, &Bytes) -> u64,
    pub(crate) total: Arc<AtomicU64>,
}

impl Counting {
    fn count(&self, key: &str, bytes: &Bytes) {
        self.total.fetch_add((self.counts)(key, bytes), Ordering::Relaxed);
    }
}

#[async_trait]
impl Store for Counting {
    fn url(&self) -> String {
        self.inner.url()
    }

    async fn get(&self, key: &str) -> Result<Option<Object>> {
        self.inner.get(key).await
    }

    async fn put(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        self.count(key, &bytes);
        self.inner.put(key, bytes, condition).await
    }

    async fn append(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        self.count(key, &bytes);
        self.inner.append(key, bytes, condition).await
    }

    async fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>> {
        self.inner.list(prefix).await
    }

    async fn delete(&self, key: &str) -> Result<()> {
        self.inner.delete(key).await
    }

    async fn copy(&self, from: &str, to: &str) -> Result<()> {
        self.inner.copy(from, to).await
    }

    async fn lock(&self, name: &str) -> Result<Box<dyn LockGuard>> {
        self.inner.lock(name).await
    }
}
