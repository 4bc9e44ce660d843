//! Locks of the file store: the operating system's file locks, which end with the process that holds them.

use std::{
    collections::HashSet,
    fs::{self, File, TryLockError},
    sync::{Arc, Mutex, PoisonError},
};

use super::{
    disk::{Disk, LOCK_FOLDER},
    system::{create_folder_of, failure},
};
use crate::{
    error::Result,
    store::{LockGuard, locked},
};

/// The names that this store holds, for file systems on which locks do not conflict within one process.
#[derive(Default)]
pub(super) struct Locks(Arc<Mutex<HashSet<String>>>);

impl Locks {
    /// Takes a lock, or fails at once when somebody else has it.
    pub(super) fn take(&self, disk: &Disk, name: &str) -> Result<FileLock> {
        let fresh = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(name.to_owned());
        if !fresh {
            return Err(locked(name));
        }
        let claim = Claim {
            held: Arc::clone(&self.0),
            name: name.to_owned(),
        };
        let (file, path) = open(disk, name)?;
        match file.try_lock() {
            Ok(()) => Ok(FileLock {
                _file: file,
                _claim: claim,
            }),
            Err(TryLockError::WouldBlock) => Err(locked(name)),
            Err(TryLockError::Error(error)) => Err(failure("locking", &path, error)),
        }
    }
}

/// Waits for a lock that is only ever held for an instant.
pub(super) fn wait(disk: &Disk, name: &str) -> Result<File> {
    let (file, path) = open(disk, name)?;
    file.lock().map_err(|error| failure("locking", &path, error))?;
    Ok(file)
}

/// Opens a lock's file. It is never removed: a file that others may have open and wait for must keep its name.
fn open(disk: &Disk, name: &str) -> Result<(File, std::path::PathBuf)> {
    let folder = disk.root().join(LOCK_FOLDER);
    let path = folder.join(format!("{name}.lock"));
    // Others rely on the store's own folder; what is below this one need not outlive the system.
    create_folder_of(&folder)?;
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| failure("creating", folder, error))?;
    }
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(|error| failure("opening", &path, error))?;
    Ok((file, path))
}

/// A held lock. The fields are dropped in order: the file's lock ends before the name is free again.
pub(super) struct FileLock {
    _file: File,
    _claim: Claim,
}

impl LockGuard for FileLock {}

struct Claim {
    held: Arc<Mutex<HashSet<String>>>,
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
