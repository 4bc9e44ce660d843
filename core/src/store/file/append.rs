//! Appending to files: handles stay open between appends, and a failed append leaves the file unchanged.

use std::{
    fs::{self, File},
    io::Write as _,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use rustc_hash::FxHashMap;

use super::{
    disk::Disk,
    system::{
        Durability, create_folder_of, failure, is_absent, is_named, private, retry_when_absent, sync_folder,
        version,
    },
};
use crate::{
    error::Result,
    store::{Condition, Version, changed},
};

/// The limit of open handles.
const MAX_OPEN_FILES: usize = 64;

/// The open files of the keys with recent appends.
#[derive(Default)]
pub(super) struct Appenders(Mutex<FxHashMap<String, Arc<Mutex<File>>>>);

impl Appenders {
    /// Adds bytes at the end, if the condition holds, and returns the new version once they are durable. Appends to one
    /// key are serialized.
    pub(super) fn append(
        &self,
        disk: &Disk,
        key: &str,
        bytes: &[u8],
        condition: &Condition,
    ) -> Result<Version> {
        let path = disk.path(key);
        disk.check(&path, key, condition)?;
        let handle = match self.kept(key) {
            Some(handle) if still_named(&handle, &path) => handle,
            _ => self.open(key, &path)?,
        };
        let mut file = handle.lock().unwrap_or_else(PoisonError::into_inner);
        let before = file
            .metadata()
            .map_err(|error| failure("reading", &path, error))?;
        let is_expected = match condition {
            Condition::Any => true,
            Condition::Absent => before.len() == 0,
            Condition::Match(expected) => *expected == version(&before),
        };
        if !is_expected {
            return Err(changed(key));
        }
        let written = file
            .write_all(bytes)
            .and_then(|()| file.sync_data())
            .and_then(|()| file.metadata());
        let after = match written {
            Ok(after) => after,
            Err(error) => {
                // Part of the bytes may have been written: a later append must not follow half an entry.
                if let Err(error) = file.set_len(before.len()).and_then(|()| file.sync_data()) {
                    tracing::warn!(path = %path.display(), %error, "a failed append could not be undone");
                }
                self.forget(key);
                return Err(failure("appending to", &path, error));
            }
        };
        // Another process may have written between the check and the write, or have removed or replaced the file.
        let is_alone = after.len() == before.len() + bytes.len() as u64 && is_named(&file, &path);
        if !is_alone && !matches!(condition, Condition::Any) {
            self.forget(key);
            return Err(changed(key));
        }
        Ok(version(&after))
    }

    /// Closes the handle of a key whose file is about to be replaced or removed.
    pub(super) fn forget(&self, key: &str) {
        self.handles().remove(key);
    }

    fn handles(&self) -> std::sync::MutexGuard<'_, FxHashMap<String, Arc<Mutex<File>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kept(&self, key: &str) -> Option<Arc<Mutex<File>>> {
        self.handles().get(key).cloned()
    }

    fn open(&self, key: &str, path: &Path) -> Result<Arc<Mutex<File>>> {
        let opening = |error| failure("opening", path, error);
        let mut options = fs::OpenOptions::new();
        private(options.append(true));
        let file = match options.open(path) {
            Ok(file) => file,
            Err(error) if is_absent(&error) => {
                options.create(true);
                let file = retry_when_absent(|| {
                    create_folder_of(path, Durability::Now)?;
                    Ok(options.open(path))
                })?
                .map_err(opening)?;
                sync_folder(path)?;
                file
            }
            Err(error) => return Err(opening(error)),
        };
        let handle = Arc::new(Mutex::new(file));
        let mut handles = self.handles();
        if handles.len() >= MAX_OPEN_FILES {
            // Any one: a handle in use stays open for its user, and is opened again later.
            let other = handles.keys().next().cloned();
            if let Some(other) = other {
                handles.remove(&other);
            }
        }
        handles.insert(key.to_owned(), Arc::clone(&handle));
        Ok(handle)
    }
}

/// Returns whether the path still names the open file: another process may have replaced or removed it.
fn still_named(handle: &Mutex<File>, path: &Path) -> bool {
    is_named(&handle.lock().unwrap_or_else(PoisonError::into_inner), path)
}
