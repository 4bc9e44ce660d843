//! Copies in the history: of a file that has not changed since its last copy, the next copy is a second name of that one.
//!
//! So an operation that changes nothing costs no copy, however large the state is. Copies never share a file with their origin,
//! which others may write in place.

use std::{
    collections::HashMap,
    fs,
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use super::system::{Stamp, stamp};

/// The copies that a store has made last, by the key of their origin.
#[derive(Default)]
pub(super) struct Copies(Mutex<HashMap<String, Copied>>);

/// A copy, valid as long as both stamps are those of the files.
struct Copied {
    origin: Stamp,
    path: PathBuf,
    stamp: Stamp,
}

impl Copies {
    /// Returns the last copy of a file that is in this state, unless that or the copy has changed since.
    pub(super) fn of(&self, key: &str, origin: &Stamp) -> Option<PathBuf> {
        let copies = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let last = copies.get(key).filter(|last| last.origin == *origin)?;
        let present = stamp(&fs::symlink_metadata(&last.path).ok()?);
        (present == last.stamp).then(|| last.path.clone())
    }

    /// Records a copy that has been put into place. A second name of a file changes its stamp.
    pub(super) fn note(&self, key: &str, origin: Stamp, path: PathBuf) {
        let mut copies = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match fs::symlink_metadata(&path).map(|metadata| stamp(&metadata)) {
            Ok(stamp) => copies.insert(key.to_owned(), Copied { origin, path, stamp }),
            Err(_) => copies.remove(key),
        };
    }
}
