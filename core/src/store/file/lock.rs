//! Locks of the file store: the operating system's file locks, which end with the process that holds them.

use std::{
    collections::HashSet,
    fs::{self, File, TryLockError},
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use super::{
    disk::{Disk, LOCK_FOLDER},
    system::{again_when_absent, create_folder_of, failure, gone_meanwhile, is_named, private, remove_empty},
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
        loop {
            let (file, path) = open(disk, name)?;
            match file.try_lock() {
                // It was retired in between; whoever comes now takes a new file.
                Ok(()) if !is_named(&file, &path) => {}
                Ok(()) => {
                    return Ok(FileLock {
                        _file: file,
                        _claim: claim,
                        path,
                        root: disk.root().to_owned(),
                    });
                }
                Err(TryLockError::WouldBlock) => return Err(locked(name)),
                Err(TryLockError::Error(error)) => return Err(failure("locking", &path, error)),
            }
        }
    }
}

/// Waits for a lock that is only ever held for an instant.
pub(super) fn wait(disk: &Disk, name: &str) -> Result<File> {
    let (file, path) = open(disk, name)?;
    file.lock().map_err(|error| failure("locking", &path, error))?;
    Ok(file)
}

/// Opens a lock's file. Only who holds it may remove it; who has locked it must look whether it still has its name.
fn open(disk: &Disk, name: &str) -> Result<(File, PathBuf)> {
    let folder = disk.root().join(LOCK_FOLDER);
    let path = folder.join(format!("{name}.lock"));
    // Others rely on the store's own folder; what is below this one need not outlive the system.
    let opened = again_when_absent(|| {
        create_folder_of(&folder)?;
        let below = path.parent().map_or(Ok(()), |below| {
            fs::create_dir_all(below).map_err(|error| gone_meanwhile(error, below))
        });
        let mut options = File::options();
        private(options.create(true).truncate(false).write(true));
        Ok(below.and_then(|()| options.open(&path)))
    })?;
    let file = opened.map_err(|error| failure("opening", &path, error))?;
    Ok((file, path))
}

/// A held lock. The fields are dropped in order: the file's lock ends before the name is free again.
pub(super) struct FileLock {
    _file: File,
    _claim: Claim,
    path: PathBuf,
    root: PathBuf,
}

impl LockGuard for FileLock {
    fn retire(self: Box<Self>) {
        // Elsewhere nobody could tell that the file that he has locked is not the one that others will find.
        if cfg!(unix) && fs::remove_file(&self.path).is_ok() {
            let folder = self.path.parent().unwrap_or(&self.root);
            remove_empty(folder, &self.root.join(LOCK_FOLDER));
        }
    }
}

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
