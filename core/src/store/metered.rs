//! The store of an engine: another store, whose calls are counted and have spans.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;

use super::{Condition, LockGuard, LockOwner, LockPurpose, Md5Digest, Object, ObjectInfo, Store, Version};
use crate::{
    error::Result,
    metrics::{Meter, StoreCall},
    telemetry::Scope,
};

/// Counts the calls of a store, and makes spans of them.
pub(crate) struct MeteredStore {
    inner: Arc<dyn Store>,
    meter: Meter,
}

impl MeteredStore {
    /// Returns the same store with its calls counted.
    pub(crate) fn over(inner: Arc<dyn Store>, meter: Meter) -> Arc<dyn Store> {
        Arc::new(Self { inner, meter })
    }

    async fn counted<T>(
        &self,
        call: StoreCall,
        key: &str,
        work: impl Future<Output = Result<T>> + Send,
    ) -> Result<T> {
        self.meter.store_call(call);
        let scope = Scope::store_call(call.name(), key);
        let done = scope.within(work).await;
        if let Err(error) = &done {
            self.meter.store_failure();
            scope.failed(error.kind().name());
        }
        done
    }
}

#[async_trait]
impl Store for MeteredStore {
    fn url(&self) -> String {
        self.inner.url()
    }

    async fn get(&self, key: &str) -> Result<Option<Object>> {
        self.counted(StoreCall::Get, key, self.inner.get(key)).await
    }

    async fn get_with_digest(&self, key: &str) -> Result<Option<(Object, Option<Md5Digest>)>> {
        self.counted(StoreCall::Get, key, self.inner.get_with_digest(key))
            .await
    }

    async fn put(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        self.counted(StoreCall::Put, key, self.inner.put(key, bytes, condition))
            .await
    }

    async fn put_keeping(
        &self,
        key: &str,
        bytes: Bytes,
        condition: Condition,
        kept: &str,
    ) -> Result<Version> {
        let work = self.inner.put_keeping(key, bytes, condition, kept);
        self.counted(StoreCall::Put, key, work).await
    }

    async fn append(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        self.counted(StoreCall::Append, key, self.inner.append(key, bytes, condition))
            .await
    }

    async fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>> {
        self.counted(StoreCall::List, prefix, self.inner.list(prefix))
            .await
    }

    async fn find(&self, prefix: &str, keys: &[String]) -> Result<Vec<ObjectInfo>> {
        self.counted(StoreCall::List, prefix, self.inner.find(prefix, keys))
            .await
    }

    async fn delete(&self, key: &str) -> Result<()> {
        self.counted(StoreCall::Delete, key, self.inner.delete(key)).await
    }

    async fn delete_version(&self, key: &str, version: &Version) -> Result<()> {
        self.counted(StoreCall::Delete, key, self.inner.delete_version(key, version))
            .await
    }

    async fn copy(&self, from: &str, to: &str) -> Result<()> {
        self.counted(StoreCall::Copy, from, self.inner.copy(from, to))
            .await
    }

    async fn lock(&self, name: &str) -> Result<Box<dyn LockGuard>> {
        self.counted(StoreCall::Lock, name, self.inner.lock(name)).await
    }

    async fn lock_for(&self, name: &str, purpose: LockPurpose<'_>) -> Result<Box<dyn LockGuard>> {
        self.counted(StoreCall::Lock, name, self.inner.lock_for(name, purpose))
            .await
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

    fn has_late_writes(&self) -> bool {
        self.inner.has_late_writes()
    }

    fn shortens_journals(&self) -> bool {
        self.inner.shortens_journals()
    }

    fn has_sidecars(&self) -> bool {
        self.inner.has_sidecars()
    }

    fn rewrite_interval(&self) -> Duration {
        self.inner.rewrite_interval()
    }

    fn cancellation_interval(&self) -> Duration {
        self.inner.cancellation_interval()
    }

    async fn sweep_journal(&self, key: &str) -> Result<()> {
        self.inner.sweep_journal(key).await
    }

    async fn tidy(&self, prefix: &str) {
        self.inner.tidy(prefix).await;
    }

    fn identity(&self) -> usize {
        self.inner.identity()
    }
}
