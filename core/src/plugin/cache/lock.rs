//! The lock of one plugin in a folder of installed plugins: a lock of the operating system on a file, which ends with its process.
//! The reference engine takes the same one.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::{fs::FlockOperation, io::Errno};

use crate::{
    error::{Error, ErrorKind, Result},
    runtime::Runtime,
};

/// How often a lock that is held is tried again.
const RETRY_INTERVAL: Duration = Duration::from_millis(50);
/// How long a lock is waited for: as long as an installation may take.
const WAIT_LIMIT: Duration = Duration::from_secs(3600);

/// A held lock; dropping it releases it.
pub(super) struct PluginLock {
    _file: File,
    path: PathBuf,
}

impl PluginLock {
    /// Waits for the lock. A dropped future does not take it.
    pub(super) async fn take(path: &Path, runtime: &Runtime) -> Result<Self> {
        let began = runtime.clock.elapsed();
        loop {
            let tried = path.to_owned();
            let taken = runtime.spawner.spawn_blocking(move || Self::try_take(&tried));
            let taken = taken.await?.map_err(|error| {
                Error::new(
                    ErrorKind::Plugin,
                    format!("the lock {} cannot be taken: {error}", path.display()),
                )
                .with_hint("the folder of installed plugins must be writable")
            })?;
            if let Some(lock) = taken {
                return Ok(lock);
            }
            if runtime.clock.elapsed().saturating_sub(began) > WAIT_LIMIT {
                return Err(Error::new(
                    ErrorKind::Conflict,
                    format!(
                        "the lock {} is held by another installation for more than {} s",
                        path.display(),
                        WAIT_LIMIT.as_secs()
                    ),
                ));
            }
            runtime.clock.wait(RETRY_INTERVAL).await;
        }
    }

    /// Takes the lock; `None` while it is held.
    fn try_take(path: &Path) -> io::Result<Option<Self>> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path)?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => return Ok(None),
            taken => taken?,
        }
        // A removal deletes the file while it holds the lock; the lock of a deleted file locks nothing.
        let held = file.metadata()?;
        match fs::metadata(path) {
            Ok(named) if (named.dev(), named.ino()) == (held.dev(), held.ino()) => Ok(Some(Self {
                _file: file,
                path: path.to_owned(),
            })),
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(None),
        }
    }

    /// Deletes the file and releases the lock, for a plugin that is no longer there.
    pub(super) fn delete(self) {
        // A file that stays locks nothing.
        fs::remove_file(&self.path).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_held_once_and_the_file_of_a_deleted_one_locks_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cache/resource-shop-v1.0.0.lock");
        let first = PluginLock::try_take(&path).unwrap().unwrap();
        assert!(PluginLock::try_take(&path).unwrap().is_none());
        drop(first);
        let second = PluginLock::try_take(&path).unwrap().unwrap();
        second.delete();
        assert!(!path.exists());
        assert!(PluginLock::try_take(&path).unwrap().is_some());
    }
}
