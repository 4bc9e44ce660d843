//! A store whose requests are observed.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use stackwright::{
    Result,
    store::{Condition, LockGuard, LockOwner, LockPurpose, Md5Digest, Object, ObjectInfo, Store, Version},
};

use crate::figure::Stopwatch;

/// A request that has ended.
pub(crate) struct Request<'a> {
    /// The key, the prefix of a listing, or the target of a copy.
    pub(crate) key: &'a str,
    /// The number of bytes that a write has sent; `None` for other requests.
    pub(crate) written: Option<usize>,
    pub(crate) took: Duration,
}

/// A store that passes each request to a function. Locks are left out.
pub(crate) struct Observed<F> {
    pub(crate) inner: Arc<dyn Store>,
    pub(crate) observe: F,
}

impl<F: Fn(&Request<'_>) + Send + Sync + 'static> Observed<F> {
    async fn request<T>(
        &self,
        key: &str,
        written: Option<usize>,
        request: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let watch = Stopwatch::start();
        let answer = request.await;
        let took = watch.elapsed();
        (self.observe)(&Request { key, written, took });
        answer
    }
}

#[async_trait]
impl<F: Fn(&Request<'_>) + Send + Sync + 'static> Store for Observed<F> {
    fn url(&self) -> String {
        self.inner.url()
    }

    async fn get(&self, key: &str) -> Result<Option<Object>> {
        self.request(key, None, self.inner.get(key)).await
    }

    async fn get_with_digest(&self, key: &str) -> Result<Option<(Object, Option<Md5Digest>)>> {
        self.request(key, None, self.inner.get_with_digest(key)).await
    }

    async fn put(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        let length = Some(bytes.len());
        self.request(key, length, self.inner.put(key, bytes, condition))
            .await
    }

    async fn put_keeping(
        &self,
        key: &str,
        bytes: Bytes,
        condition: Condition,
        kept: &str,
    ) -> Result<Version> {
        let length = Some(bytes.len());
        let put = self.inner.put_keeping(key, bytes, condition, kept);
        self.request(key, length, put).await
    }

    async fn append(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        let length = Some(bytes.len());
        self.request(key, length, self.inner.append(key, bytes, condition))
            .await
    }

    async fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>> {
        self.request(prefix, None, self.inner.list(prefix)).await
    }

    async fn delete(&self, key: &str) -> Result<()> {
        self.request(key, None, self.inner.delete(key)).await
    }

    async fn delete_version(&self, key: &str, version: &Version) -> Result<()> {
        self.request(key, None, self.inner.delete_version(key, version))
            .await
    }

    async fn copy(&self, from: &str, to: &str) -> Result<()> {
        self.request(to, None, self.inner.copy(from, to)).await
    }

    async fn lock(&self, name: &str) -> Result<Box<dyn LockGuard>> {
        self.inner.lock(name).await
    }

    async fn lock_for(&self, name: &str, purpose: LockPurpose<'_>) -> Result<Box<dyn LockGuard>> {
        self.inner.lock_for(name, purpose).await
    }

    async fn break_lock(&self, name: &str, owner: &LockOwner) -> Result<bool> {
        self.inner.break_lock(name, owner).await
    }

    async fn break_ended_lock(&self, name: &str) -> Result<bool> {
        self.inner.break_ended_lock(name).await
    }

    fn holds_locks(&self) -> bool {
        self.inner.holds_locks()
    }

    fn shortens_journals(&self) -> bool {
        self.inner.shortens_journals()
    }

    fn rewrite_interval(&self) -> Duration {
        self.inner.rewrite_interval()
    }

    async fn tidy(&self, prefix: &str) {
        self.inner.tidy(prefix).await;
    }
}
