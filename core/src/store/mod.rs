//! Stores: persistence of stack states, as a small trait over named objects. All stores have the same layout.

mod compression;
mod credentials;
mod ends;
#[cfg(test)]
pub(crate) mod faulty;
mod file;
mod frames;
mod history;
mod host;
mod journal;
mod layer;
mod layout;
mod lease;
mod location;
mod lock_file;
mod lock_owner;
mod memory;
mod metered;
mod numbered;
mod object;
mod open;
mod pace;
mod postgres;
mod probe;
mod run_mark;
mod sealed;
mod session;
mod shared;
mod stack;
mod trust;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;

pub use credentials::{Credential, CredentialSource, Credentials, StoreSettings};
pub use file::FileStore;
pub use history::HistoryPoint;
pub(crate) use history::{HistoryEntry, HistoryPage};
pub(crate) use host::ProcessIdentity;
pub use host::ProcessState;
pub use host::Processes;
pub use host::{HostFacts, SystemProcesses};
pub(crate) use journal::StoreJournal;
pub(crate) use layout::ORGANIZATION;
pub use layout::StackName;
use lock_file::ReservedLock;
pub(crate) use lock_file::StackLock;
pub(crate) use lock_owner::Holder;
pub use lock_owner::{LockHolder, LockOwner};
pub use memory::MemoryStore;
pub(crate) use metered::MeteredStore;
pub(crate) use open::percent_decode;
pub use open::{open, open_with};
pub(crate) use run_mark::{check_run, forget_cancellation, request_cancellation, requested_cancellation};
pub use sealed::encrypted;
pub(crate) use session::{
    HistoryRecord, LoadedStack, Refreshing, Replaced, Replacement, StackSession, forget_pending,
};
pub use shared::{Objects, shared};
pub(crate) use stack::{
    BothLocks, Moving, Rekeying, Rename, Settled, StackStorage, StoredStack, is_in_memory, is_one_store,
    list_stacks, refuse_former_config, refuse_renaming, remove_stack, settle_renaming, summarize_stacks,
};
pub use stack::{LastUpdate, StackSummary};

use crate::{
    error::{Error, ErrorKind, Result},
    runtime::{Runtime, Timestamp},
};

/// Distinguishes the contents of an object (a hash, an ETag, a counter).
pub type Version = Arc<str>;

/// How long an answer is awaited: of a server, to a checkpoint of several hundred megabytes for instance, and of a store of the host.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(120);

/// How often an operation asks a store without leases whether its run was cancelled.
const CANCELLATION_INTERVAL: Duration = Duration::from_secs(1);

/// The MD5 digest of an object's content, as the reference engine's stores record it.
pub type Md5Digest = [u8; 16];

/// An object as it was read.
#[derive(Clone, Debug)]
pub struct Object {
    /// The content.
    pub bytes: Bytes,
    /// Its version.
    pub version: Version,
}

/// An object in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectInfo {
    /// The full key.
    pub key: String,
    /// The content's length in bytes.
    pub size: u64,
    /// The time of the last write.
    pub modified: Timestamp,
}

/// The condition under which a write may replace an existing object.
#[derive(Clone, Debug)]
pub enum Condition {
    /// No condition.
    Any,
    /// There is no object.
    Absent,
    /// The object has this version.
    Match(Version),
}

/// Named objects with conditional writes and appends. Keys are relative, separated by `/`.
///
/// Every method that writes returns only after the content is durable, except [`Store::copy`], and writes of lock files. A failed
/// write leaves the object unchanged, except for a failed [`Store::append`].
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Returns a URL for messages, `file:///…` for instance.
    fn url(&self) -> String;

    /// Reads an object; `None` when there is none.
    async fn get(&self, key: &str) -> Result<Option<Object>>;

    /// Reads an object, together with the digest that was recorded when it was written. The digest is `None` where the
    /// store records none (as by default) or has none of this content.
    async fn get_with_digest(&self, key: &str) -> Result<Option<(Object, Option<Md5Digest>)>> {
        Ok(self.get(key).await?.map(|object| (object, None)))
    }

    /// Replaces an object as a whole, atomically.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Conflict`] when the condition does not hold.
    async fn put(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version>;

    /// Replaces an object as a whole. The replaced content becomes the object `kept`, without a copy where the store supports that.
    /// After a failure both objects may have the old content.
    ///
    /// # Errors
    /// Those of [`Self::put`], and [`ErrorKind::NotFound`] when there is nothing to replace.
    async fn put_keeping(
        &self,
        key: &str,
        bytes: Bytes,
        condition: Condition,
        kept: &str,
    ) -> Result<Version> {
        if let Condition::Match(expected) = &condition {
            match self.get(key).await? {
                Some(object) if object.version == *expected => {}
                _ => return Err(changed(key)),
            }
        }
        self.copy(key, kept).await?;
        self.put(key, bytes, condition).await
    }

    /// Adds `bytes` at the end of an object, which is created when there is none and the condition allows it, and
    /// returns its new version.
    ///
    /// Unlike a put it need not be atomic: a crash, or a failure that cannot be undone, may leave only the first bytes. By default
    /// the object is read and replaced, for stores without appends.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Conflict`] when the condition does not hold; then nothing is written.
    async fn append(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        let (mut content, condition) = match (self.get(key).await?, condition) {
            (None, Condition::Any | Condition::Absent) => (Vec::new(), Condition::Absent),
            (Some(object), Condition::Any) => (object.bytes.to_vec(), Condition::Match(object.version)),
            (Some(object), Condition::Match(version)) if object.version == version => {
                (object.bytes.to_vec(), Condition::Match(version))
            }
            _ => return Err(changed(key)),
        };
        content.extend_from_slice(&bytes);
        self.put(key, content.into(), condition).await
    }

    /// Lists the objects whose keys start with `prefix`, in the order of their keys.
    async fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>>;

    /// Returns those of some objects that exist, in the order of their keys. By default all are listed whose keys begin with `prefix`, which
    /// those of the objects do: in one request. A store whose listings take longer the more other objects it has looks for each of them.
    async fn find(&self, prefix: &str, keys: &[String]) -> Result<Vec<ObjectInfo>> {
        let mut found = self.list(prefix).await?;
        found.retain(|object| keys.contains(&object.key));
        Ok(found)
    }

    /// Removes an object. Does nothing when there is none.
    async fn delete(&self, key: &str) -> Result<()>;

    /// Removes an object if it has this version. Does nothing when there is none.
    ///
    /// Where a lock can be taken over from a process that still runs, comparison and removal are one: that process may be suspended between
    /// them. By default they are not, for stores whose locks end with their processes.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Conflict`] when it has another version.
    async fn delete_version(&self, key: &str, version: &Version) -> Result<()> {
        match self.get(key).await? {
            Some(object) if object.version != *version => Err(changed(key)),
            Some(_) => self.delete(key).await,
            None => Ok(()),
        }
    }

    /// Copies the content of `from` to `to`, atomically. An existing `to` is replaced.
    ///
    /// Later writes to one do not change the other, even writes that bypass the store. The copy may become durable
    /// later.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when there is no `from`.
    async fn copy(&self, from: &str, to: &str) -> Result<()> {
        let Some(object) = self.get(from).await? else {
            return Err(not_found(from));
        };
        self.put(to, object.bytes, Condition::Any).await?;
        Ok(())
    }

    /// Takes the exclusive lock of `name`, which ends with the returned guard, or with this process.
    ///
    /// It excludes only other users of this engine. The reference engine's lock files are part of the layout.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Conflict`], at once, when the lock is held elsewhere.
    async fn lock(&self, name: &str) -> Result<Box<dyn LockGuard>>;

    /// Takes the lock as [`Self::lock`] does, for an operation that conflicts of others name. By default none does.
    ///
    /// # Errors
    /// Those of [`Self::lock`].
    async fn lock_for(&self, name: &str, _purpose: LockPurpose<'_>) -> Result<Box<dyn LockGuard>> {
        self.lock(name).await
    }

    /// Takes the lock of `name` from that owner, whose later writes fail, and returns whether the owner held it. By default a lock
    /// ends only with its holder.
    ///
    /// # Errors
    /// Those of the store.
    async fn break_lock(&self, _name: &str, _owner: &LockOwner) -> Result<bool> {
        Ok(false)
    }

    /// Frees the lock of `name` where its holder has ended, or has failed to release it, and returns whether that was so. By default a
    /// lock ends with its holder.
    ///
    /// # Errors
    /// Those of the store.
    async fn break_ended_lock(&self, _name: &str) -> Result<bool> {
        Ok(false)
    }

    /// Returns whether this process holds a lock in the store, where locks are leases.
    fn holds_locks(&self) -> bool {
        false
    }

    /// Returns whether a write can arrive after the lock of its process was taken over, so that only its condition stops it.
    /// Each checkpoint has other bytes than any former one then: versions may be those of contents. A store that stands around another one
    /// returns what that one does.
    fn has_late_writes(&self) -> bool {
        false
    }

    /// Returns whether a journal is shortened each time its checkpoint is refreshed, because each of its parts is an object. By default it
    /// grows until the operation ends.
    fn shortens_journals(&self) -> bool {
        false
    }

    /// Returns whether digests lie beside the objects, where every program that writes an object writes them, too.
    fn has_sidecars(&self) -> bool {
        false
    }

    /// Returns the least time between two writes of an object that the engine repeats by itself, as the refreshes of a checkpoint. By
    /// default there is no limit.
    fn rewrite_interval(&self) -> Duration {
        Duration::ZERO
    }

    /// Returns how often an operation asks whether its run was cancelled: where locks are leases, as often as these are renewed.
    fn cancellation_interval(&self) -> Duration {
        CANCELLATION_INTERVAL
    }

    /// Removes what ended journals under `key` have left, where the store keeps any of it; there is no journal. A store whose locks can be
    /// taken over does so only where each removal checks that the lock is still held. Does nothing by default.
    async fn sweep_journal(&self, _key: &str) -> Result<()> {
        Ok(())
    }

    /// Removes empty folders below `prefix`, `a/b/` for instance. Folders that cannot be removed stay. Does nothing by
    /// default.
    async fn tidy(&self, _prefix: &str) {}

    /// Returns what distinguishes this store from every other one that exists: those that only stand around it return the same.
    #[doc(hidden)]
    fn identity(&self) -> usize {
        std::ptr::from_ref(self).cast::<()>().addr()
    }
}

/// What a lock is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockPurpose<'name> {
    /// The operation, `update` for instance, which conflicts of others name.
    pub operation: &'name str,
    /// The id of its run, where it has one.
    pub run: Option<&'name str>,
    /// How long the lock may be observed, where only that shows whether its holder still runs; `None` until that is known.
    pub max_wait: Option<Duration>,
}

impl<'name> LockPurpose<'name> {
    /// Returns the purpose of an operation without the id of a run.
    #[must_use]
    pub const fn of(operation: &'name str) -> Self {
        Self {
            operation,
            run: None,
            max_wait: None,
        }
    }
}

/// A held lock, released on drop.
#[async_trait]
pub trait LockGuard: Send + Sync {
    /// Releases the lock, and waits until that is done. A lock that is dropped may be released later.
    async fn release(self: Box<Self>) {}

    /// Returns whether all former holders have lost the lock, even those that may still run. Their lock files are without meaning then.
    fn replaces_holders(&self) -> bool {
        false
    }

    /// Returns whether conditional writes of former holders may still arrive, which would succeed unless the object has changed.
    fn is_unfenced(&self) -> bool {
        false
    }

    /// Releases a lock that is unlikely to be taken again, and removes its file where possible.
    async fn retire(self: Box<Self>) {
        self.release().await;
    }
}

/// Returns the configuration of a TLS client that trusts the public authorities, and nothing that the environment names.
///
/// # Errors
/// [`ErrorKind::Internal`] when the TLS library refuses it.
pub(crate) fn tls_config() -> Result<rustls::ClientConfig> {
    trust::client_config(&trust::roots(&Credentials::None)?, trust::Check::Full)
}

fn not_found(key: &str) -> Error {
    Error::new(ErrorKind::NotFound, format!("there is no object {key:?}"))
}

fn changed(key: &str) -> Error {
    Error::new(
        ErrorKind::Conflict,
        format!("the object {key:?} was changed by another writer"),
    )
}

fn locked(name: &str) -> Error {
    Error::new(
        ErrorKind::Conflict,
        format!("the lock {name:?} is held by another owner"),
    )
}

/// The limit of attempts to release what blocks others, and the time before the second one, which doubles with each.
const RELEASE_ATTEMPTS: u32 = 3;
const RELEASE_INTERVAL: Duration = Duration::from_millis(20);

/// Performs a release, again after a failure that may pass.
async fn repeated<F: Future<Output = Result<()>>>(
    runtime: &Runtime,
    mut release: impl FnMut() -> F,
) -> Result<()> {
    for attempt in 1..RELEASE_ATTEMPTS {
        match release().await {
            Err(error) if error.kind() == ErrorKind::Unavailable => {
                tracing::debug!(%error, "a release failed");
            }
            released => return released,
        }
        runtime
            .clock
            .wait(RELEASE_INTERVAL * 2_u32.pow(attempt - 1))
            .await;
    }
    release().await
}

/// Checks that a key can be a path below a folder: relative, and without segments that lead elsewhere.
pub(crate) fn check_key(key: &str) -> Result<()> {
    let valid = key.split('/').all(|segment| {
        !segment.is_empty() && segment != "." && segment != ".." && !segment.contains(['\\', '\0', ':'])
    });
    if valid {
        Ok(())
    } else {
        Err(Error::invalid(format!("invalid object key {key:?}")))
    }
}

#[cfg(test)]
mod tests;
