//! Locks of the file store: file locks of the operating system, which end with the process that holds them.
//!
//! A forked child of the host inherits the open file of a lock, and holds the lock, too. So the owner releases the lock
//! explicitly, and the file names the owner: a lock whose owner has ended is replaced although a child still holds it.

use std::{
    borrow::Cow,
    fs::{self, File, TryLockError},
    io::Write as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use rustc_hash::FxHashSet;

use super::{
    disk::{Disk, LOCK_FOLDER},
    system::{
        Durability, absent_when_removed, create_folder_of, failure, is_absent, is_named, private,
        remove_empty, retry_when_absent,
    },
};
use crate::{
    error::{Error, Result},
    store::{LockGuard, ProcessIdentity, layout, locked},
};

/// The folder of the locks that serialize conditional writes, and the acquisition of locks, among all stores of a
/// folder.
const WRITE_LOCK_FOLDER: &str = ".writes";

/// The number of write locks, over which keys are distributed by hash.
const WRITE_LOCKS: u32 = 64;

/// The names of the held locks, for file systems on which locks do not conflict within one process.
#[derive(Default)]
pub(super) struct Locks {
    held: Arc<Mutex<FxHashSet<String>>>,
    /// The process that created the store. A forked child is another one.
    own: OnceLock<ProcessIdentity>,
}

impl Locks {
    /// Acquires a lock. Fails at once when it is held elsewhere.
    pub(super) fn take(&self, disk: &Disk, name: &str) -> Result<FileLock> {
        let fresh = self
            .held
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(name.to_owned());
        if !fresh {
            return Err(locked(name));
        }
        let claim = Claim {
            held: Arc::clone(&self.held),
            name: name.to_owned(),
        };
        // A lock and its owner record change together.
        let _writes = wait_for_writes(disk, name)?;
        loop {
            let (file, path) = open(disk, name)?;
            match file.try_lock() {
                // It was retired in between; the next attempt creates a new file.
                Ok(()) if !is_named(&file, &path) => {}
                Ok(()) => {
                    let held = Held::new(file);
                    held.record_owner(&path, &self.identity(held.owner))?;
                    return Ok(FileLock {
                        held,
                        _claim: claim,
                        path,
                        root: disk.root().to_owned(),
                    });
                }
                Err(TryLockError::WouldBlock) if has_dead_owner(&path) => {
                    tracing::info!(path = %path.display(), "replacing the lock of a process that has ended");
                    fs::remove_file(&path).map_err(|error| failure("removing", &path, error))?;
                }
                Err(TryLockError::WouldBlock) => return Err(held_elsewhere(name, &path)),
                Err(TryLockError::Error(error)) => return Err(failure("locking", &path, error)),
            }
        }
    }

    /// Returns the identity of this process.
    fn identity(&self, pid: u32) -> Cow<'_, ProcessIdentity> {
        match self.own.get_or_init(|| ProcessIdentity::of(pid)) {
            own if own.pid == pid => Cow::Borrowed(own),
            _ => Cow::Owned(ProcessIdentity::of(pid)),
        }
    }
}

/// Creates the error of a lock that another process holds, with the process that its file names.
fn held_elsewhere(name: &str, path: &Path) -> Error {
    let error = locked(name);
    let owner = fs::read(path).ok();
    let owner: Option<ProcessIdentity> = owner.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    match owner {
        Some(owner) => Error::new(
            error.kind(),
            format!("{} of this host: process {}", error.message(), owner.pid),
        ),
        None => error,
    }
}

/// Returns whether a lock's file names an owner that has ended. Files of earlier versions name no owner.
fn has_dead_owner(path: &Path) -> bool {
    let owner = fs::read(path).ok();
    let owner: Option<ProcessIdentity> = owner.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    owner.is_some_and(|owner| owner.has_ended())
}

/// A locked file. Only the process that locked it releases it. In a forked child, a drop does nothing.
pub(super) struct Held {
    file: File,
    owner: u32,
}

impl Held {
    fn new(file: File) -> Self {
        Self {
            file,
            owner: std::process::id(),
        }
    }

    fn is_own(&self) -> bool {
        self.owner == std::process::id()
    }

    /// Writes the owner into the lock's file. A lock whose file names no owner (on a full disk) is never replaced.
    ///
    /// # Errors
    /// When the file cannot be truncated: it may name a dead owner, whose lock other processes replace.
    fn record_owner(&self, path: &Path, owner: &ProcessIdentity) -> Result<()> {
        let text = serde_json::to_vec(owner).unwrap_or_default();
        if fs::read(path).is_ok_and(|present| present == text) {
            // This process has held the lock before.
            return Ok(());
        }
        let mut file = &self.file;
        file.set_len(0)
            .map_err(|error| failure("emptying", path, error))?;
        if let Err(error) = file.write_all(&text) {
            tracing::debug!(path = %path.display(), %error, "the owner of a lock could not be recorded");
        }
        Ok(())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // Closing the file does not suffice: the lock lasts until all inherited handles are closed, too.
        if self.is_own()
            && let Err(error) = self.file.unlock()
        {
            tracing::debug!(%error, "a file could not be unlocked");
        }
    }
}

/// Waits for the lock that excludes other stores of the folder from conditional writes of an object and its backup. It
/// is held only briefly.
pub(super) fn wait_for_writes(disk: &Disk, key: &str) -> Result<Held> {
    let (file, path) = open(disk, &lock_of_writes(key))?;
    file.lock().map_err(|error| failure("locking", &path, error))?;
    Ok(Held::new(file))
}

fn lock_of_writes(key: &str) -> String {
    let object = key.strip_suffix(layout::BACKUP_ENDING).unwrap_or(key);
    let number = crc32fast::hash(object.as_bytes()) % WRITE_LOCKS;
    format!("{WRITE_LOCK_FOLDER}/{number}")
}

/// Opens a lock's file. Only the holder of the lock may remove it. After locking, the caller checks that the path still
/// names the file.
fn open(disk: &Disk, name: &str) -> Result<(File, PathBuf)> {
    let folder = disk.root().join(LOCK_FOLDER);
    let path = folder.join(format!("{name}.lock"));
    // Only the store's own folder must be durable; the lock files need not outlive the system.
    let mut options = File::options();
    private(options.create(true).truncate(false).write(true));
    let opened = match options.open(&path) {
        Err(error) if is_absent(&error) => retry_when_absent(|| {
            create_folder_of(&folder, Durability::Now)?;
            let below = path.parent().map_or(Ok(()), |below| {
                fs::create_dir_all(below).map_err(|error| absent_when_removed(error, below))
            });
            Ok(below.and_then(|()| options.open(&path)))
        })?,
        opened => opened,
    };
    let file = opened.map_err(|error| failure("opening", &path, error))?;
    Ok((file, path))
}

/// A held lock. The fields are dropped in order: the file is unlocked before the name is free again.
pub(super) struct FileLock {
    held: Held,
    _claim: Claim,
    path: PathBuf,
    root: PathBuf,
}

#[async_trait::async_trait]
impl LockGuard for FileLock {
    async fn retire(self: Box<Self>) {
        if self.held.is_own() && fs::remove_file(&self.path).is_ok() {
            let folder = self.path.parent().unwrap_or(&self.root);
            remove_empty(folder, &self.root.join(LOCK_FOLDER));
        }
    }
}

struct Claim {
    held: Arc<Mutex<FxHashSet<String>>>,
    name: String,
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.held
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&self.name);
    }
}

#[cfg(test)]
#[path = "lock_tests.rs"]
mod tests;
