//! Layers: stores over another one, which change what is kept under some keys. Locks and the rest are those of the store below.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use super::{Condition, LockGuard, LockOwner, LockPurpose, Md5Digest, Object, ObjectInfo, Store, Version};
use crate::error::Result;

/// What a layer does. The methods are those of [`Store`].
#[async_trait]
pub(super) trait Layer: Send + Sync + 'static {
    /// Returns the store below.
    fn inner(&self) -> &dyn Store;

    async fn get_with_digest(&self, key: &str) -> Result<Option<(Object, Option<Md5Digest>)>>;

    async fn put(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version>;

    async fn put_keeping(&self, key: &str, bytes: Bytes, condition: Condition, kept: &str)
    -> Result<Version>;

    async fn append(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version>;

    async fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>> {
        self.inner().list(prefix).await
    }

    async fn find(&self, prefix: &str, keys: &[String]) -> Result<Vec<ObjectInfo>> {
        self.inner().find(prefix, keys).await
    }

    async fn delete(&self, key: &str) -> Result<()> {
        self.inner().delete(key).await
    }

    async fn delete_version(&self, key: &str, version: &Version) -> Result<()> {
        self.inner().delete_version(key, version).await
    }

    async fn copy(&self, from: &str, to: &str) -> Result<()>;

    async fn sweep_journal(&self, key: &str) -> Result<()> {
        self.inner().sweep_journal(key).await
    }

    fn shortens_journals(&self) -> bool {
        self.inner().shortens_journals()
    }
}

/// The store that a layer makes of the one below.
pub(super) struct Layered<L>(pub L);

#[async_trait]
impl<L: Layer> Store for Layered<L> {
    fn url(&self) -> String {
        self.0.inner().url()
    }

    async fn get(&self, key: &str) -> Result<Option<Object>> {
        Ok(self.0.get_with_digest(key).await?.map(|(object, _)| object))
    }

    async fn get_with_digest(&self, key: &str) -> Result<Option<(Object, Option<Md5Digest>)>> {
        self.0.get_with_digest(key).await
    }

    async fn put(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        self.0.put(key, bytes, condition).await
    }

    async fn put_keeping(
        &self,
        key: &str,
        bytes: Bytes,
        condition: Condition,
        kept: &str,
    ) -> Result<Version> {
        self.0.put_keeping(key, bytes, condition, kept).await
    }

    async fn append(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        self.0.append(key, bytes, condition).await
    }

    async fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>> {
        self.0.list(prefix).await
    }

    async fn find(&self, prefix: &str, keys: &[String]) -> Result<Vec<ObjectInfo>> {
        self.0.find(prefix, keys).await
    }

    async fn delete(&self, key: &str) -> Result<()> {
        self.0.delete(key).await
    }

    async fn delete_version(&self, key: &str, version: &Version) -> Result<()> {
        self.0.delete_version(key, version).await
    }

    async fn copy(&self, from: &str, to: &str) -> Result<()> {
        self.0.copy(from, to).await
    }

    async fn lock(&self, name: &str) -> Result<Box<dyn LockGuard>> {
        self.0.inner().lock(name).await
    }

    async fn lock_for(&self, name: &str, purpose: LockPurpose<'_>) -> Result<Box<dyn LockGuard>> {
        self.0.inner().lock_for(name, purpose).await
    }

    async fn break_lock(&self, name: &str, owner: &LockOwner) -> Result<bool> {
        self.0.inner().break_lock(name, owner).await
    }

    async fn break_ended_lock(&self, name: &str) -> Result<bool> {
        self.0.inner().break_ended_lock(name).await
    }

    fn holds_locks(&self) -> bool {
        self.0.inner().holds_locks()
    }

    fn has_late_writes(&self) -> bool {
        self.0.inner().has_late_writes()
    }

    fn shortens_journals(&self) -> bool {
        self.0.shortens_journals()
    }

    fn has_sidecars(&self) -> bool {
        self.0.inner().has_sidecars()
    }

    fn rewrite_interval(&self) -> Duration {
        self.0.inner().rewrite_interval()
    }

    fn cancellation_interval(&self) -> Duration {
        self.0.inner().cancellation_interval()
    }

    async fn sweep_journal(&self, key: &str) -> Result<()> {
        self.0.sweep_journal(key).await
    }

    async fn tidy(&self, prefix: &str) {
        self.0.inner().tidy(prefix).await;
    }
}
