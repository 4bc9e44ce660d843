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
    sidecar,
    system::{again_when_absent, create_private, failure, is_absent, remove_empty, sync_folder, version},
    temporary::Temporary,
};
use crate::{
    error::Result,
    runtime::{Clock, Random},
    store::{Condition, Md5Digest, Object, Version, changed, not_found},
};

/// The folder of the store's own lock files, which is not part of the keys.
pub(super) const LOCK_FOLDER: &str = ".stackwright-locks";

/// A content that is durable beside its target.
pub(super) struct Written {
    temporary: Temporary,
    version: Version,
}

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

    /// Reads a file together with the digest in its sidecar, unless another process replaces the file at that moment.
    pub(super) fn read_with_digest(&self, key: &str) -> Result<Option<(Object, Option<Md5Digest>)>> {
        let path = self.path(key);
        let before = sidecar::read(&path);
        let object = self.read(key)?;
        let is_steady = before.is_some() && sidecar::read(&path) == before;
        let digest = before
            .filter(|_| is_steady)
            .and_then(|text| sidecar::decode(&text));
        Ok(object.map(|object| (object, digest)))
    }

    /// Writes a content beside its target and makes it durable.
    pub(super) fn write(&self, key: &str, bytes: &[u8], condition: &Condition) -> Result<Written> {
        let path = self.path(key);
        self.check(&path, key, condition)?;
        let (temporary, mut file) = self.create_beside(&path)?;
        file.write_all(bytes)
            .and_then(|()| file.sync_all())
            .map_err(|error| failure("writing", &temporary.0, error))?;
        let version = version(
            &file
                .metadata()
                .map_err(|error| failure("reading", &temporary.0, error))?,
        );
        Ok(Written { temporary, version })
    }

    /// Puts what was written in its target's place, which becomes durable.
    pub(super) fn place(
        &self,
        written: Written,
        key: &str,
        condition: &Condition,
        digest: Option<Md5Digest>,
    ) -> Result<Version> {
        let path = self.path(key);
        let Written { temporary, version } = written;
        self.replace(temporary, key, condition, digest.map(sidecar::encode))?;
        sync_folder(&path)?;
        Ok(version)
    }

    fn create_beside(&self, path: &Path) -> Result<(Temporary, File)> {
        again_when_absent(|| {
            let temporary = self.temporary(path)?;
            let file = create_private(&temporary.0);
            Ok(file.map(|file| (temporary, file)))
        })?
        .map_err(|error| failure("creating a file beside", path, error))
    }

    /// Moves a finished temporary file into place, if the condition (still) holds, and writes its sidecar.
    fn replace(
        &self,
        temporary: Temporary,
        key: &str,
        condition: &Condition,
        sidecar: Option<Vec<u8>>,
    ) -> Result<()> {
        let path = self.path(key);
        // Looking and replacing must be one act among all stores of this folder.
        let _writes = wait_for_writes(self)?;
        self.check(&path, key, condition)?;
        if sidecar::is_kept_for(key) {
            sidecar::remove(&path)?;
        }
        fs::rename(&temporary.0, &path).map_err(|error| failure("replacing", &path, error))?;
        temporary.placed();
        if let Some(text) = sidecar {
            sidecar::write(&path, &text);
        }
        Ok(())
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

    /// Copies a file, and its sidecar. The content is not synced.
    pub(super) fn copy(&self, from: &str, to: &str) -> Result<()> {
        let (source, target) = (self.path(from), self.path(to));
        if source == target {
            return Ok(());
        }
        let mut original = File::open(&source).map_err(|error| {
            if is_absent(&error) {
                not_found(from)
            } else {
                failure("copying", &source, error)
            }
        })?;
        let sidecar = sidecar::is_kept_for(to).then(|| sidecar::read(&source)).flatten();
        let (temporary, mut file) = self.create_beside(&target)?;
        // Where the file system can, both share their blocks until one of them is written.
        io::copy(&mut original, &mut file).map_err(|error| failure("writing", &temporary.0, error))?;
        self.replace(temporary, to, &Condition::Any, sidecar)
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
        if let Err(error) = sidecar::remove(&path) {
            tracing::debug!(%error, "the sidecar of a removed object remains");
        }
        sync_folder(&path)
    }
}
