//! Stores that several hosts use: leases and journals over named objects with conditional writes, as buckets have them.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::OnceCell;

use super::{
    Condition, HostFacts, LockGuard, LockOwner, LockPurpose, Object, ObjectInfo, Store, StoreSettings,
    Version, changed,
    ends::End,
    layout,
    lease::{LeaseRecords, Leases},
    not_found,
    numbered::{Removal, is_begun_journal, with_journals},
    pace::REWRITE_INTERVAL,
    probe,
};
use crate::{error::Result, runtime::Runtime};

/// Named objects that several hosts use: what [`shared`] needs to make a store of them. Keys are relative, separated by `/`.
///
/// Every method that writes returns only after the content is durable, and leaves the object unchanged when it fails; a write whose
/// answer was lost may have been done. What was written is read at once.
#[async_trait]
pub trait Objects: Send + Sync + 'static {
    /// Returns a URL for messages.
    fn url(&self) -> String;

    /// Reads an object; `None` when there is none.
    async fn get(&self, key: &str) -> Result<Option<Object>>;

    /// Replaces an object as a whole, if the condition holds: both as one, whichever other host writes at the same time.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Conflict`] when the condition does not hold.
    async fn put(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version>;

    /// Lists the objects whose keys start with `prefix`, in the order of their keys.
    async fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>>;

    /// Removes an object. Does nothing when there is none.
    async fn delete(&self, key: &str) -> Result<()>;

    /// Copies the content of `from` to `to`, which is replaced. By default it is read and written.
    ///
    /// # Errors
    /// [`crate::ErrorKind::NotFound`] when there is no `from`.
    async fn copy(&self, from: &str, to: &str) -> Result<()> {
        match self.get(from).await? {
            Some(object) => self.put(to, object.bytes, Condition::Any).await.map(drop),
            None => Err(not_found(from)),
        }
    }

    /// Returns the version of an object. By default it is read.
    async fn version(&self, key: &str) -> Result<Option<Version>> {
        Ok(self.get(key).await?.map(|object| object.version))
    }

    /// Returns a version that no object has, in the form of the others: with it is tested whether conditions are honoured.
    fn wrong_version(&self) -> Version {
        "0".into()
    }
}

/// Makes a store of objects that several hosts use: an operation holds a lease of its stack, and journals consist of numbered objects,
/// so that of two hosts one fails at its next write. `facts` are those of this process, by which other hosts name it.
///
/// The conditions of the objects are checked at the first lock, unless the settings allow them to be ignored. Credentials are
/// the objects' own affair.
///
/// # Errors
/// [`crate::ErrorKind::InvalidInput`] when the length of the lease is out of range.
pub fn shared(
    objects: Arc<dyn Objects>,
    settings: &StoreSettings,
    runtime: &Runtime,
    facts: &HostFacts,
) -> Result<Arc<dyn Store>> {
    let records = Arc::new(ObjectLeases(Arc::clone(&objects)));
    let store = SharedStore {
        leases: Leases::new(records, runtime.clone(), settings.lease()?, facts),
        runtime: runtime.clone(),
        objects,
        is_checked: OnceCell::new_with(settings.allow_unfenced.then_some(())),
    };
    Ok(with_journals(store, runtime, Removal::Replacement))
}

/// Objects that several hosts use. Nothing checks leases below.
struct SharedStore {
    objects: Arc<dyn Objects>,
    leases: Leases,
    runtime: Runtime,
    /// Whether conditions were found to be honoured, or need not be.
    is_checked: OnceCell<()>,
}

impl SharedStore {
    async fn check_conditions(&self) -> Result<()> {
        let checked = self.is_checked.get_or_try_init(|| probe::check(&*self.objects));
        checked.await.map(drop)
    }

    /// Checks the lease before a write or a removal. For objects that no number protects, the record is read: the clock of a host that was
    /// suspended, or whose lease was broken, does not show that another one has taken over.
    async fn check_holder(&self, key: &str) -> Result<()> {
        self.leases.check(key).await?;
        match key.starts_with(layout::STACKS) || key.starts_with(layout::HISTORY) {
            true => self.leases.confirm(key).await,
            false => Ok(()),
        }
    }

    /// Writes an object, and notes for a checkpoint whether the write may still arrive when the lease is released.
    async fn put_noted(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        let Some(former) = self.leases.expect_written(key) else {
            return self.objects.put(key, bytes, condition).await;
        };
        let written = self.objects.put(key, bytes, condition.clone()).await;
        self.leases.note_written(key, &condition, &written, former);
        written
    }

    /// Ends a journal that a host has begun after another one had taken over. One that stays has no steps: the next holder
    /// of the lock sets it aside.
    async fn take_back(&self, key: &str, version: Version) {
        let ended = End { checkpoint: None }.encode(&self.runtime);
        if let Err(error) = self.objects.put(key, ended, Condition::Match(version)).await {
            tracing::warn!(%error, key, "a journal that was begun without the lease stays");
        }
    }
}

/// Leases are objects beside the others. No server removes an object only if it has a version: a holder that is suspended between a
/// check and the removal would remove the lease of its successor.
struct ObjectLeases(Arc<dyn Objects>);

#[async_trait]
impl LeaseRecords for ObjectLeases {
    async fn read(&self, name: &str) -> Result<Option<Object>> {
        self.0.get(&lease_key(name)).await
    }

    async fn write(&self, name: &str, _mark: &str, record: Bytes, condition: Condition) -> Result<Version> {
        self.0.put(&lease_key(name), record, condition).await
    }

    async fn release(&self, name: &str, _mark: &str, released: Bytes, version: &Version) -> Result<()> {
        let condition = Condition::Match(Version::clone(version));
        self.0.put(&lease_key(name), released, condition).await.map(drop)
    }
}

fn lease_key(name: &str) -> String {
    format!(".pulumi/leases/{name}.json")
}

#[async_trait]
impl Store for SharedStore {
    fn url(&self) -> String {
        self.objects.url()
    }

    async fn get(&self, key: &str) -> Result<Option<Object>> {
        self.objects.get(key).await
    }

    async fn put(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        self.check_holder(key).await?;
        let begins_journal = is_begun_journal(key, &bytes);
        let version = self.put_noted(key, bytes, condition).await?;
        if begins_journal && let Err(error) = self.leases.confirm(key).await {
            self.take_back(key, version).await;
            return Err(error);
        }
        Ok(version)
    }

    async fn put_keeping(
        &self,
        key: &str,
        bytes: Bytes,
        condition: Condition,
        kept: &str,
    ) -> Result<Version> {
        self.check_holder(key).await?;
        if let Condition::Match(expected) = &condition
            && self.objects.version(key).await?.as_ref() != Some(expected)
        {
            return Err(changed(key));
        }
        self.objects.copy(key, kept).await?;
        self.put_noted(key, bytes, condition).await
    }

    async fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>> {
        self.objects.list(prefix).await
    }

    async fn delete(&self, key: &str) -> Result<()> {
        self.check_holder(key).await?;
        self.objects.delete(key).await
    }

    async fn delete_version(&self, key: &str, version: &Version) -> Result<()> {
        self.check_holder(key).await?;
        match self.objects.version(key).await? {
            Some(found) if found != *version => Err(changed(key)),
            Some(_) => self.objects.delete(key).await,
            None => Ok(()),
        }
    }

    async fn copy(&self, from: &str, to: &str) -> Result<()> {
        self.leases.check(to).await?;
        self.objects.copy(from, to).await
    }

    fn rewrite_interval(&self) -> Duration {
        REWRITE_INTERVAL
    }

    async fn lock(&self, name: &str) -> Result<Box<dyn LockGuard>> {
        self.check_conditions().await?;
        self.leases.take(name, None).await
    }

    fn cancellation_interval(&self) -> Duration {
        self.leases.interval()
    }

    async fn lock_for(&self, name: &str, purpose: LockPurpose<'_>) -> Result<Box<dyn LockGuard>> {
        self.check_conditions().await?;
        self.leases.take(name, Some(purpose)).await
    }

    async fn break_lock(&self, name: &str, owner: &LockOwner) -> Result<bool> {
        self.leases.break_held(name, owner).await
    }

    async fn break_ended_lock(&self, name: &str) -> Result<bool> {
        self.leases.break_ended(name).await
    }

    fn holds_locks(&self) -> bool {
        self.leases.are_held()
    }

    fn has_late_writes(&self) -> bool {
        true
    }
}
