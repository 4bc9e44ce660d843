//! Copies in the history: when a file has not changed since its last copy, the next copy is a hard link to that one.
//!
//! An operation without changes thus copies no data. Copies never share a file with their origin, which other programs
//! may write in place.

use std::{
    fs,
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use rustc_hash::FxHashMap;

use super::system::{Stamp, stamp};

/// The last copy of each file that a store has made, by the key of its origin.
#[derive(Default)]
pub(super) struct Copies(Mutex<FxHashMap<String, Copied>>);

/// A copy, valid as long as both stamps match the files.
struct Copied {
    origin: Stamp,
    path: PathBuf,
    stamp: Stamp,
}

impl Copies {
    /// Returns the last copy of a file with this stamp, unless the file or the copy has changed since.
    pub(super) fn of(&self, key: &str, origin: &Stamp) -> Option<PathBuf> {
        let copies = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let last = copies.get(key).filter(|last| last.origin == *origin)?;
        let present = stamp(&fs::symlink_metadata(&last.path).ok()?);
        (present == last.stamp).then(|| last.path.clone())
    }

    /// Records a copy after it was renamed to its path. A new hard link changes the stamp of a file.
    pub(super) fn note(&self, key: &str, origin: Stamp, path: PathBuf) {
        let mut copies = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match fs::symlink_metadata(&path).map(|metadata| stamp(&metadata)) {
            Ok(stamp) => copies.insert(key.to_owned(), Copied { origin, path, stamp }),
            Err(_) => copies.remove(key),
        };
    }
}
