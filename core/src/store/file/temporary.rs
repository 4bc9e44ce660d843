//! Temporary files: created beside their targets, renamed to them, and removed when their writer died.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::PoisonError,
};

use super::{
    disk::Disk,
    system::{Durability, changed, create_folder_of},
};
use crate::error::Result;

/// The age from which temporary files of dead writers are removed.
const ABANDONED_AGE_SECONDS: i64 = 3600;

/// A temporary file, removed on drop unless it was renamed.
pub(super) struct Temporary(pub(super) PathBuf);

impl Temporary {
    /// Marks the file as renamed, so that a drop does not remove it.
    pub(super) fn placed(mut self) {
        self.0 = PathBuf::new();
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.0.as_os_str().is_empty() {
            // A failure is ignored; a later write sweeps the folder.
            fs::remove_file(&self.0).ok();
        }
    }
}

impl Disk {
    /// Returns the name of a new temporary file beside `path`, after creating its folder, whose durability
    /// is given.
    pub(super) fn temporary(&self, path: &Path, durability: Durability) -> Result<Temporary> {
        create_folder_of(path, durability)?;
        self.sweep(path);
        let mut token = [0; 8];
        self.runtime.random.fill(&mut token);
        let token = u64::from_le_bytes(token);
        Ok(Temporary(path.with_file_name(format!(".{token:016x}.tmp"))))
    }

    /// Removes the temporary files of dead writers beside `path`, once for each folder.
    fn sweep(&self, path: &Path) {
        let Some(folder) = path.parent() else { return };
        let fresh = self
            .swept
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(folder.to_owned());
        let Some(entries) = fresh.then(|| fs::read_dir(folder).ok()).flatten() else {
            return;
        };
        let now = self.runtime.clock.now().as_second();
        for entry in entries.flatten() {
            let temporary = entry.file_name().to_str().is_some_and(is_temporary);
            let old = || {
                entry
                    .metadata()
                    .is_ok_and(|metadata| now - changed(&metadata) > ABANDONED_AGE_SECONDS)
            };
            if temporary && old() && fs::remove_file(entry.path()).is_ok() {
                tracing::debug!(path = %entry.path().display(), "removed an abandoned temporary file");
            }
        }
    }
}

pub(super) fn is_temporary(name: &str) -> bool {
    name.len() == 21 && name.starts_with('.') && name.ends_with(".tmp")
}
