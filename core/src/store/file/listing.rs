//! Listing of the objects below a prefix.

use std::fs;

use super::{
    disk::{Disk, LOCK_FOLDER},
    system::{failure, is_absent, modified},
    temporary::is_temporary,
};
use crate::{
    error::Result,
    store::{ObjectInfo, check_key},
};

impl Disk {
    pub(super) fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>> {
        let folder = prefix.rsplit_once('/').map_or("", |(folder, _)| folder);
        if !folder.is_empty() {
            check_key(folder)?;
        }
        let mut found = Vec::new();
        self.walk(folder, prefix, &mut found)?;
        found.sort_unstable_by(|left, right| left.key.cmp(&right.key));
        Ok(found)
    }

    /// Returns those of some objects that exist, in the order of their keys. Other files of their folder are not looked at.
    pub(super) fn find(&self, mut keys: Vec<String>) -> Result<Vec<ObjectInfo>> {
        keys.sort_unstable();
        let mut found = Vec::new();
        for key in keys {
            check_key(&key)?;
            let path = self.path(&key);
            match fs::metadata(&path) {
                Ok(metadata) if metadata.is_dir() => {}
                Ok(metadata) => found.push(info(key, &metadata)),
                Err(error) if is_absent(&error) => {}
                Err(error) => return Err(failure("reading", &path, error)),
            }
        }
        Ok(found)
    }

    fn walk(&self, folder: &str, prefix: &str, found: &mut Vec<ObjectInfo>) -> Result<()> {
        let mut folders = vec![folder.to_owned()];
        while let Some(folder) = folders.pop() {
            let path = self.path(&folder);
            let entries = match fs::read_dir(&path) {
                Ok(entries) => entries,
                Err(error) if is_absent(&error) => continue,
                Err(error) => return Err(failure("listing", &path, error)),
            };
            for entry in entries {
                let entry = entry.map_err(|error| failure("listing", &path, error))?;
                let name = entry.file_name();
                let Some(name) = name.to_str().filter(|name| !is_hidden(name)) else {
                    continue;
                };
                let key = if folder.is_empty() {
                    name.to_owned()
                } else {
                    format!("{folder}/{name}")
                };
                let inside = format!("{key}/");
                if !key.starts_with(prefix) && !prefix.starts_with(&inside) {
                    // Neither an object of the prefix nor a folder with one. A project may have very many stacks.
                    continue;
                }
                let metadata = match fs::metadata(entry.path()) {
                    Ok(metadata) => metadata,
                    // Removed since the folder was read.
                    Err(error) if is_absent(&error) => continue,
                    Err(error) => return Err(failure("reading", &entry.path(), error)),
                };
                if metadata.is_dir() {
                    folders.push(key);
                } else if key.starts_with(prefix) {
                    found.push(info(key, &metadata));
                }
            }
        }
        Ok(())
    }
}

fn info(key: String, metadata: &fs::Metadata) -> ObjectInfo {
    ObjectInfo {
        size: metadata.len(),
        modified: modified(metadata),
        key,
    }
}

/// Returns whether a file is no object: a sidecar, a temporary file, or a lock of this store.
fn is_hidden(name: &str) -> bool {
    name.ends_with(".attrs") || is_temporary(name) || name == LOCK_FOLDER
}
