//! The files below the file store: readings with versions, and writes that are durable and conditional.

use std::{
    collections::HashSet,
    fs::{self, File},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use super::{
    lock::wait_for_writes,
    system::{
        again_when_absent, clone_file, create_private, failure, is_absent, keep_private, remove_empty,
        sync_folder, version,
    },
    temporary::Temporary,
};
use crate::{
    error::Result,
    runtime::{Clock, Random},
    store::{Condition, Object, Version, changed, not_found},
};

/// The folder of the store's own lock files, which is not part of the keys.
pub(super) const LOCK_FOLDER: &str = ".stackwright-locks";

/// The files below one folder.
pub(super) struct Disk {
    root: PathBuf,
    pub(super) random: Arc<dyn Random>,
    pub(super) clock: Arc<dyn Clock>,
    /// Folders that were swept of abandoned temporary files.
    pub(super) swept: Mutex<HashSet<PathBuf>>,
}

impl Disk {
    pub(super) fn new(root: PathBuf, random: Arc<dyn Random>, clock: Arc<dyn Clock>) -> Self {
        Self {
            root,
            random,
            clock,
            swept: Mutex::default(),
        }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn path(&self, key: &str) -> PathBuf {
        self.root.join(key)
    }

    pub(super) fn read(&self, key: &str) -> Result<Option<Object>> {
        let path = self.path(key);
        let failed = |error| failure("reading", &path, error);
        let mut file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if is_absent(&error) => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let metadata = file.metadata().map_err(failed)?;
        if metadata.is_dir() {
            return Ok(None);
        }
        let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default());
        file.read_to_end(&mut bytes).map_err(failed)?;
        Ok(Some(Object {
            bytes: bytes.into(),
            version: version(&metadata),
        }))
    }

    /// Writes beside the target, makes that durable, and puts it in the target's place.
    pub(super) fn write(&self, key: &str, bytes: &[u8], condition: &Condition) -> Result<Version> {
        let path = self.path(key);
        self.check(&path, key, condition)?;
        let (temporary, mut file) = again_when_absent(|| {
            let temporary = self.temporary(&path)?;
            let file = create_private(&temporary.0);
            Ok(file.map(|file| (temporary, file)))
        })?
        .map_err(|error| failure("creating a file beside", &path, error))?;
        file.write_all(bytes)
            .and_then(|()| file.sync_all())
            .map_err(|error| failure("writing", &temporary.0, error))?;
        let written = version(
            &file
                .metadata()
                .map_err(|error| failure("reading", &temporary.0, error))?,
        );
        drop(file);
        self.replace(temporary, &path, key, condition)?;
        Ok(written)
    }

    /// Moves a finished temporary file into place, if the condition (still) holds.
    fn replace(&self, temporary: Temporary, path: &Path, key: &str, condition: &Condition) -> Result<()> {
        {
            // Looking and replacing must be one act among all stores of this folder.
            let _writes = wait_for_writes(self)?;
            self.check(path, key, condition)?;
            fs::rename(&temporary.0, path).map_err(|error| failure("replacing", path, error))?;
        }
        temporary.placed();
        sync_folder(path)
    }

    pub(super) fn check(&self, path: &Path, key: &str, condition: &Condition) -> Result<()> {
        if matches!(condition, Condition::Any) {
            return Ok(());
        }
        let present = match fs::metadata(path) {
            Ok(metadata) => Some(version(&metadata)),
            Err(error) if is_absent(&error) => None,
            Err(error) => return Err(failure("reading", path, error)),
        };
        match (condition, present) {
            (Condition::Match(expected), Some(present)) if *expected == present => Ok(()),
            (Condition::Absent, None) => Ok(()),
            _ => Err(changed(key)),
        }
    }

    /// Makes a second name or a copy of a file, whichever is cheap and keeps the two apart.
    pub(super) fn copy(&self, from: &str, to: &str) -> Result<()> {
        let (source, target) = (self.path(from), self.path(to));
        let failed = |error: io::Error| {
            if is_absent(&error) {
                not_found(from)
            } else {
                failure("copying", &source, error)
            }
        };
        if source == target {
            return Ok(());
        }
        fs::metadata(&source).map_err(failed)?;
        let temporary = self.temporary(&target)?;
        // Every write makes a new file, so two names of one file never change together; see `Appenders` for appends.
        let is_linked = || {
            let is_linked = fs::hard_link(&source, &temporary.0).is_ok();
            if is_linked {
                // One that is another user's keeps the rights that it has.
                keep_private(&temporary.0).ok();
            }
            is_linked
        };
        if !clone_file(&source, &temporary.0) && !is_linked() {
            fs::copy(&source, &temporary.0).map_err(failed)?;
            keep_private(&temporary.0).map_err(|error| failure("writing", &temporary.0, error))?;
            File::open(&temporary.0)
                .and_then(|file| file.sync_all())
                .map_err(|error| failure("writing", &temporary.0, error))?;
        }
        self.replace(temporary, &target, to, &Condition::Any)
    }

    /// Removes a folder below the store's own, and those above it, as long as they are empty.
    pub(super) fn remove_empty(&self, folder: &str) {
        remove_empty(&self.path(folder), &self.root);
    }

    /// Removes a file if the condition holds, or if there is none.
    pub(super) fn remove_version(&self, key: &str, condition: &Condition) -> Result<()> {
        let path = self.path(key);
        if matches!(fs::metadata(&path), Err(error) if is_absent(&error)) {
            return Ok(());
        }
        // Looking and removing must be one act among all stores of this folder.
        let _writes = wait_for_writes(self)?;
        self.check(&path, key, condition)?;
        self.remove(key)
    }

    pub(super) fn remove(&self, key: &str) -> Result<()> {
        let path = self.path(key);
        match fs::remove_file(&path) {
            Ok(()) => {}
            Err(error) if is_absent(&error) => return Ok(()),
            Err(error) => return Err(failure("removing", &path, error)),
        }
        // What the reference engine's driver wrote beside the object goes with it.
        let mut attributes = path.clone().into_os_string();
        attributes.push(".attrs");
        match fs::remove_file(Path::new(&attributes)) {
            Err(error) if !is_absent(&error) => {
                tracing::debug!(path = %path.display(), %error, "attributes of a removed object remain");
            }
            _ => {}
        }
        sync_folder(&path)
    }
}
