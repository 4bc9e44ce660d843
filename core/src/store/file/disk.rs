//! The files of the file store: reads with versions, and durable conditional writes.

use std::{
    fs::{self, File},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    copies::Copies,
    lock::wait_for_writes,
    sidecar,
    system::{
        self, Durability, Stamp, create_private, failure, is_absent, is_named, is_private, opened_large,
        remove_empty, retry_when_absent, stamp, sync_folder, version,
    },
    temporary::Temporary,
};
use crate::{
    error::Result,
    runtime::Runtime,
    store::{Condition, Md5Digest, Object, Version, changed, layout, not_found},
};

/// The folder of the store's own lock files, which is not part of the keys.
pub(super) const LOCK_FOLDER: &str = ".stackwright-locks";

/// A durable content in a temporary file beside its target.
pub(super) struct Written {
    temporary: Temporary,
    version: Version,
}

/// The files below one folder.
pub(super) struct Disk {
    root: PathBuf,
    pub(super) runtime: Runtime,
    /// Folders that were swept of abandoned temporary files.
    pub(super) swept: Mutex<FxHashSet<PathBuf>>,
    /// The stamps of the checkpoints that this store has written last, by key. While the stamp matches, the digest is
    /// known to be the recorded one.
    own: Mutex<FxHashMap<String, Stamp>>,
    copies: Copies,
}

impl Disk {
    pub(super) fn new(root: PathBuf, runtime: Runtime) -> Self {
        Self {
            root,
            runtime,
            swept: Mutex::default(),
            own: Mutex::default(),
            copies: Copies::default(),
        }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn path(&self, key: &str) -> PathBuf {
        self.root.join(key)
    }

    pub(super) fn read(&self, key: &str) -> Result<Option<Object>> {
        Ok(self.read_stamped(key)?.map(|(object, _)| object))
    }

    fn read_stamped(&self, key: &str) -> Result<Option<(Object, Stamp)>> {
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
        let object = Object {
            bytes: bytes.into(),
            version: version(&metadata),
        };
        Ok(Some((object, stamp(&metadata))))
    }

    /// Reads a file together with the digest in its sidecar. The digest is `None` when another process replaces the
    /// file meanwhile, and when this store has written the file: then no comparison is needed.
    pub(super) fn read_with_digest(&self, key: &str) -> Result<Option<(Object, Option<Md5Digest>)>> {
        let path = self.path(key);
        let before = sidecar::read(&path);
        let Some((object, stamp)) = self.read_stamped(key)? else {
            return Ok(None);
        };
        if self.own().get(key) == Some(&stamp) {
            return Ok(Some((object, None)));
        }
        let is_steady = before.is_some() && sidecar::read(&path) == before;
        let digest = before
            .filter(|_| is_steady)
            .and_then(|text| sidecar::decode(&text));
        Ok(Some((object, digest)))
    }

    fn own(&self) -> std::sync::MutexGuard<'_, FxHashMap<String, Stamp>> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a content to a temporary file beside its target, durably.
    pub(super) fn write(&self, key: &str, bytes: &[u8], condition: &Condition) -> Result<Written> {
        let path = self.path(key);
        self.check(&path, key, condition)?;
        let durability = Durability::of(key);
        let (temporary, mut file) = self.create_beside(&path, durability)?;
        file.write_all(bytes)
            .and_then(|()| match durability {
                Durability::Now => file.sync_all(),
                // A lock that is there again after a power failure names its owner, so that it is removed.
                Durability::Later => file.sync_data(),
            })
            .map_err(|error| failure("writing", &temporary.0, error))?;
        let version = version(
            &file
                .metadata()
                .map_err(|error| failure("reading", &temporary.0, error))?,
        );
        Ok(Written { temporary, version })
    }

    /// Renames a written content to its target, durably. The replaced content is kept under another key.
    pub(super) fn place(
        &self,
        written: Written,
        key: &str,
        condition: &Condition,
        digest: Option<Md5Digest>,
        kept: Option<&str>,
    ) -> Result<Version> {
        let path = self.path(key);
        let Written { temporary, version } = written;
        {
            // Check, backup and replacement must be atomic among all stores of this folder.
            let _writes = wait_for_writes(self, key)?;
            self.check(&path, key, condition)?;
            if let Some(kept) = kept {
                self.keep(key, kept)?;
            }
            self.replace(temporary, key, digest.map(sidecar::encode))?;
        }
        if digest.is_some()
            && key.starts_with(layout::STACKS)
            && let Ok(metadata) = fs::metadata(&path)
            && system::version(&metadata) == version
        {
            self.own().insert(key.to_owned(), stamp(&metadata));
        }
        Self::sync_name(&path, Durability::of(key))?;
        Ok(version)
    }

    /// Makes the new name of a file, or its removal, durable.
    fn sync_name(path: &Path, durability: Durability) -> Result<()> {
        match durability {
            Durability::Now => sync_folder(path),
            Durability::Later => Ok(()),
        }
    }

    fn create_beside(&self, path: &Path, durability: Durability) -> Result<(Temporary, File)> {
        retry_when_absent(|| {
            let temporary = self.temporary(path, durability)?;
            let file = create_private(&temporary.0);
            Ok(file.map(|file| (temporary, file)))
        })?
        .map_err(|error| failure("creating a file beside", path, error))
    }

    /// Renames a complete temporary file to its target, and writes its sidecar. The caller holds the write lock.
    fn replace(&self, temporary: Temporary, key: &str, sidecar: Option<Vec<u8>>) -> Result<()> {
        let path = self.path(key);
        if sidecar::may_stand_beside(key) {
            sidecar::remove(&path)?;
        }
        self.own().remove(key);
        let replaced = opened_large(&path);
        fs::rename(&temporary.0, &path).map_err(|error| failure("replacing", &path, error))?;
        temporary.placed();
        self.free(replaced);
        if let Some(text) = sidecar {
            sidecar::write(&path, &text);
        }
        Ok(())
    }

    /// Closes an unlinked file in the background: the system needs time to free many blocks.
    fn free(&self, file: Option<File>) {
        if let Some(file) = file {
            drop(self.runtime.spawner.spawn_blocking(move || drop(file)));
        }
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
        let mut original = open_origin(&source, from)?;
        let failed = |error| failure("copying", &source, error);
        let origin = stamp(&original.metadata().map_err(failed)?);
        let sidecar = sidecar::is_kept_for(to).then(|| sidecar::read(&source)).flatten();
        let is_history = to.starts_with(layout::HISTORY);
        let last = is_history.then(|| self.copies.of(from, &origin)).flatten();
        let temporary = match last.and_then(|last| self.named_again(&last, &target)) {
            Some(temporary) => temporary,
            None => {
                let (temporary, mut file) = self.create_beside(&target, Durability::Now)?;
                // Where the file system supports it, both share their blocks until one of them is written.
                io::copy(&mut original, &mut file)
                    .map_err(|error| failure("writing", &temporary.0, error))?;
                temporary
            }
        };
        let writes = wait_for_writes(self, to)?;
        self.replace(temporary, to, sidecar)?;
        drop(writes);
        if is_history {
            self.copies.note(from, origin, target);
        }
        Ok(())
    }

    /// Hard-links the content of `from` to `to`, for a caller that replaces `from` next. Copies it where the file
    /// system has no hard links.
    fn keep(&self, from: &str, to: &str) -> Result<()> {
        let (source, target) = (self.path(from), self.path(to));
        let mut original = open_origin(&source, from)?;
        // A writer that died in between left two names of one file; renaming one to the other would do nothing.
        let is_alone = !is_named(&original, &target)
            && fs::symlink_metadata(&source).is_ok_and(|metadata| is_private(&metadata));
        let second = is_alone.then(|| self.named_again(&source, &target)).flatten();
        let temporary = match second {
            Some(temporary) => temporary,
            None => {
                let (temporary, mut file) = self.create_beside(&target, Durability::Now)?;
                io::copy(&mut original, &mut file)
                    .and_then(|_| file.sync_all())
                    .map_err(|error| failure("writing", &temporary.0, error))?;
                temporary
            }
        };
        self.replace(temporary, to, None)?;
        if sidecar::is_kept_for(to) {
            sidecar::move_to(&source, &target);
        }
        Ok(())
    }

    /// Hard-links a file to a temporary name beside `target`; `None` where the file system has no hard links.
    fn named_again(&self, file: &Path, target: &Path) -> Option<Temporary> {
        let temporary = self.temporary(target, Durability::Now).ok()?;
        fs::hard_link(file, &temporary.0).ok()?;
        Some(temporary)
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
        // Check and removal must be atomic among all stores of this folder.
        let _writes = wait_for_writes(self, key)?;
        self.check(&path, key, condition)?;
        self.remove(key)
    }

    pub(super) fn remove(&self, key: &str) -> Result<()> {
        let path = self.path(key);
        self.own().remove(key);
        let removed = opened_large(&path);
        match fs::remove_file(&path) {
            Ok(()) => {}
            Err(error) if is_absent(&error) => return Ok(()),
            Err(error) => return Err(failure("removing", &path, error)),
        }
        self.free(removed);
        if let Err(error) = sidecar::remove(&path) {
            tracing::debug!(%error, "the sidecar of a removed object remains");
        }
        Self::sync_name(&path, Durability::of_removal(key))
    }
}

/// Opens a file to copy it.
fn open_origin(path: &Path, key: &str) -> Result<File> {
    File::open(path).map_err(|error| match is_absent(&error) {
        true => not_found(key),
        false => failure("copying", path, error),
    })
}
