//! The file store: objects as files below a folder, written so that a crash leaves either the old or the new content.

mod append;
mod copies;
mod disk;
mod listing;
mod lock;
mod sidecar;
mod system;
mod temporary;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use bytes::Bytes;

use self::{
    append::Appenders,
    disk::{Disk, Written},
    lock::Locks,
};
use super::{Condition, LockGuard, Md5Digest, Object, ObjectInfo, Store, Version, check_key};
use crate::{
    error::{Error, Result},
    runtime::Runtime,
};
pub(super) use sidecar::digest;

/// The size in bytes from which the digest of a content is computed while the content is written.
const MIN_CONCURRENT_DIGEST_SIZE: usize = 1 << 16;

/// The size in bytes from which the blocks of a replaced or removed file are freed in the background.
const MIN_BACKGROUND_FREE_SIZE: usize = 1 << 20;

/// A store below a folder, the layout of which is that of the reference engine's file backend.
///
/// Several stores may use one folder, in one process or in several. A clone is another handle of the same store.
///
/// Lock files become durable soon after they are written or removed, not before that returns: a lock ends with its process, and no
/// process outlives a power failure. One just before that can leave an empty lock file, which the stack's `unlock` removes.
///
/// On Unix, files are created with mode 0600, independently of the umask: checkpoints, their copies, history, journals
/// and locks. They contain inputs in plaintext, and the ciphertexts of secrets. The mode of folders depends on the
/// umask.
#[derive(Clone)]
pub struct FileStore(Arc<Inner>);

struct Inner {
    runtime: Runtime,
    disk: Disk,
    appenders: Appenders,
    locks: Locks,
}

/// The target of a write.
struct Target {
    key: String,
    condition: Condition,
    /// The key under which the replaced content is kept.
    kept: Option<String>,
}

impl Inner {
    /// Writes a content to a temporary file, durably.
    fn write(&self, target: &Target, bytes: &[u8]) -> Result<Written> {
        self.appenders.forget(&target.key);
        self.disk.write(&target.key, bytes, &target.condition)
    }

    /// Renames a written content to its target.
    fn place(&self, written: Written, target: &Target, digest: Option<Md5Digest>) -> Result<Version> {
        let kept = target.kept.as_deref();
        if let Some(kept) = kept {
            self.appenders.forget(kept);
        }
        self.disk
            .place(written, &target.key, &target.condition, digest, kept)
    }
}

impl FileStore {
    /// Creates a store below `root`, which must be absolute. The folder is created by the first write.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] when `root` is relative.
    pub fn new(root: impl AsRef<Path>, runtime: Runtime) -> Result<Self> {
        let root = root.as_ref();
        if !root.is_absolute() {
            return Err(Error::invalid(format!(
                "the store's folder {:?} is not an absolute path",
                root.display()
            )));
        }
        // Collecting the components leaves out `.` segments and doubled separators.
        let root: PathBuf = root.components().collect();
        Ok(Self(Arc::new(Inner {
            disk: Disk::new(root, runtime.clone()),
            appenders: Appenders::default(),
            locks: Locks::default(),
            runtime,
        })))
    }

    /// Returns the folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.0.disk.root()
    }

    /// Writes an object. The replaced content is kept under another key once the new content is durable.
    async fn replace(
        &self,
        key: &str,
        bytes: Bytes,
        condition: Condition,
        kept: Option<String>,
    ) -> Result<Version> {
        check_key(key)?;
        let target = Target {
            key: key.to_owned(),
            condition,
            kept,
        };
        let is_digested = sidecar::is_kept_for(key);
        if !is_digested || bytes.len() < MIN_CONCURRENT_DIGEST_SIZE {
            let put = move |inner: &Inner| {
                let digest = is_digested.then(|| digest(&bytes));
                let written = inner.write(&target, &bytes)?;
                inner.place(written, &target, digest)
            };
            return self.blocking(put).await;
        }
        let content = bytes.clone();
        let digest = self.0.runtime.spawner.spawn_blocking(move || digest(&content));
        let write = move |inner: &Inner| Ok((inner.write(&target, &bytes)?, target));
        let (written, target) = self.blocking(write).await?;
        let digest = digest.await?;
        self.blocking(move |inner| inner.place(written, &target, Some(digest)))
            .await
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Inner) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let inner = Arc::clone(&self.0);
        self.0.runtime.spawner.spawn_brief(move || work(&inner)).await?
    }
}

impl std::fmt::Debug for FileStore {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("FileStore").field(&self.root()).finish()
    }
}

#[async_trait]
impl Store for FileStore {
    fn url(&self) -> String {
        format!("file://{}", self.root().display())
    }

    async fn get(&self, key: &str) -> Result<Option<Object>> {
        check_key(key)?;
        let key = key.to_owned();
        self.blocking(move |inner| inner.disk.read(&key)).await
    }

    async fn get_with_digest(&self, key: &str) -> Result<Option<(Object, Option<Md5Digest>)>> {
        check_key(key)?;
        let key = key.to_owned();
        self.blocking(move |inner| inner.disk.read_with_digest(&key))
            .await
    }

    async fn put(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        self.replace(key, bytes, condition, None).await
    }

    async fn put_keeping(
        &self,
        key: &str,
        bytes: Bytes,
        condition: Condition,
        kept: &str,
    ) -> Result<Version> {
        check_key(kept)?;
        self.replace(key, bytes, condition, Some(kept.to_owned())).await
    }

    async fn append(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        check_key(key)?;
        let key = key.to_owned();
        self.blocking(move |inner| inner.appenders.append(&inner.disk, &key, &bytes, &condition))
            .await
    }

    async fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>> {
        let prefix = prefix.to_owned();
        self.blocking(move |inner| inner.disk.list(&prefix)).await
    }

    async fn find(&self, _: &str, keys: &[String]) -> Result<Vec<ObjectInfo>> {
        let keys = keys.to_vec();
        self.blocking(move |inner| inner.disk.find(keys)).await
    }

    async fn delete(&self, key: &str) -> Result<()> {
        check_key(key)?;
        let key = key.to_owned();
        self.blocking(move |inner| {
            inner.appenders.forget(&key);
            inner.disk.remove(&key)
        })
        .await
    }

    async fn delete_version(&self, key: &str, version: &Version) -> Result<()> {
        check_key(key)?;
        let (key, condition) = (key.to_owned(), Condition::Match(Arc::clone(version)));
        self.blocking(move |inner| {
            inner.appenders.forget(&key);
            inner.disk.remove_version(&key, &condition)
        })
        .await
    }

    async fn copy(&self, from: &str, to: &str) -> Result<()> {
        check_key(from)?;
        check_key(to)?;
        let (from, to) = (from.to_owned(), to.to_owned());
        self.blocking(move |inner| {
            inner.appenders.forget(&from);
            inner.appenders.forget(&to);
            inner.disk.copy(&from, &to)
        })
        .await
    }

    async fn tidy(&self, prefix: &str) {
        let folder = prefix.trim_end_matches('/').to_owned();
        if check_key(&folder).is_ok() {
            let tidied = self.blocking(move |inner| {
                inner.disk.remove_empty(&folder);
                Ok(())
            });
            if let Err(error) = tidied.await {
                tracing::debug!(%error, "empty folders remain");
            }
        }
    }

    fn has_sidecars(&self) -> bool {
        true
    }

    async fn lock(&self, name: &str) -> Result<Box<dyn LockGuard>> {
        check_key(name)?;
        let name = name.to_owned();
        self.blocking(move |inner| {
            let guard = inner.locks.take(&inner.disk, &name)?;
            Ok(Box::new(guard) as Box<dyn LockGuard>)
        })
        .await
    }
}
