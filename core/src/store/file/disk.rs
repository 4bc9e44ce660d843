//! The file system below the file store: durable writes, readings with versions, listings.

use std::{
    collections::HashSet,
    fs::{self, File, Metadata},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::UNIX_EPOCH,
};

use super::lock;
use crate::{
    error::{Error, ErrorKind, Result},
    runtime::{Clock, Random, Timestamp},
    store::{Condition, Object, ObjectInfo, Version, changed, not_found},
};

/// The folder of the store's own lock files, which is not part of the keys.
pub(super) const LOCK_FOLDER: &str = ".stackwright-locks";

/// Temporary files of writes that ended badly are removed when they are this old.
const ABANDONED_SECONDS: i64 = 3600;

/// The files below one folder.
pub(super) struct Disk {
    root: PathBuf,
    random: Arc<dyn Random>,
    clock: Arc<dyn Clock>,
    /// Folders that were swept of abandoned temporary files.
    swept: Mutex<HashSet<PathBuf>>,
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
        let temporary = self.temporary(&path)?;
        let mut file =
            File::create_new(&temporary.0).map_err(|error| failure("creating", &temporary.0, error))?;
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
            let _guard = lock::wait(self, ".writes")?;
            self.check(path, key, condition)?;
            fs::rename(&temporary.0, path).map_err(|error| failure("replacing", path, error))?;
        }
        temporary.placed();
        sync_folder(path)
    }

    fn check(&self, path: &Path, key: &str, condition: &Condition) -> Result<()> {
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
        if !clone_file(&source, &temporary.0) && fs::hard_link(&source, &temporary.0).is_err() {
            fs::copy(&source, &temporary.0).map_err(failed)?;
            File::open(&temporary.0)
                .and_then(|file| file.sync_all())
                .map_err(|error| failure("writing", &temporary.0, error))?;
        }
        self.replace(temporary, &target, to, &Condition::Any)
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

    pub(super) fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>> {
        let folder = prefix.rsplit_once('/').map_or("", |(folder, _)| folder);
        if !folder.is_empty() {
            crate::store::check_key(folder)?;
        }
        let mut found = Vec::new();
        self.walk(folder, prefix, &mut found)?;
        found.sort_unstable_by(|left, right| left.key.cmp(&right.key));
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
                let metadata = match fs::metadata(entry.path()) {
                    Ok(metadata) => metadata,
                    // Gone since the folder was read.
                    Err(error) if is_absent(&error) => continue,
                    Err(error) => return Err(failure("reading", &entry.path(), error)),
                };
                if metadata.is_dir() {
                    let inside = format!("{key}/");
                    if inside.starts_with(prefix) || prefix.starts_with(&inside) {
                        folders.push(key);
                    }
                } else if key.starts_with(prefix) {
                    found.push(ObjectInfo {
                        size: metadata.len(),
                        modified: modified(&metadata),
                        key,
                    });
                }
            }
        }
        Ok(())
    }

    /// Returns the name of a new temporary file beside `path`, whose folder exists from now on.
    fn temporary(&self, path: &Path) -> Result<Temporary> {
        create_folder_of(path)?;
        self.sweep(path);
        let mut token = [0; 8];
        self.random.fill(&mut token);
        let token = u64::from_le_bytes(token);
        Ok(Temporary(path.with_file_name(format!(".{token:016x}.tmp"))))
    }

    /// Removes what writers that died left beside `path`, once for each folder.
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
        let now = self.clock.now().as_second();
        for entry in entries.flatten() {
            let temporary = entry.file_name().to_str().is_some_and(is_temporary);
            let old = || {
                entry
                    .metadata()
                    .is_ok_and(|metadata| now - modified(&metadata).as_second() > ABANDONED_SECONDS)
            };
            if temporary && old() && fs::remove_file(entry.path()).is_ok() {
                tracing::debug!(path = %entry.path().display(), "removed an abandoned temporary file");
            }
        }
    }
}

/// A temporary file, removed when it is not put into place.
struct Temporary(PathBuf);

impl Temporary {
    /// Forgets the name: the file has another now.
    fn placed(mut self) {
        self.0 = PathBuf::new();
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.0.as_os_str().is_empty() {
            // Nothing can be done about a failure here; a later write sweeps the folder.
            fs::remove_file(&self.0).ok();
        }
    }
}

fn is_temporary(name: &str) -> bool {
    name.len() == 21 && name.starts_with('.') && name.ends_with(".tmp")
}

/// Tells whether a file is no object: a sidecar, a temporary file, or a lock of this store.
fn is_hidden(name: &str) -> bool {
    name.ends_with(".attrs") || is_temporary(name) || name == LOCK_FOLDER
}

/// Makes `target` share the blocks of `source` until one of them is written; `false` where that is not possible.
#[cfg(target_os = "linux")]
fn clone_file(source: &Path, target: &Path) -> bool {
    let (Ok(from), Ok(to)) = (File::open(source), File::create_new(target)) else {
        return false;
    };
    if rustix::fs::ioctl_ficlone(&to, &from).is_ok() && to.sync_all().is_ok() {
        return true;
    }
    drop(to);
    // A link or a copy takes the name next; if this fails, so does that, with the reason.
    fs::remove_file(target).ok();
    false
}

#[cfg(not(target_os = "linux"))]
fn clone_file(_source: &Path, _target: &Path) -> bool {
    false
}

/// Creates the folder of `path` and makes each new name in it durable.
pub(super) fn create_folder_of(path: &Path) -> Result<()> {
    let Some(folder) = path.parent() else {
        return Ok(());
    };
    if folder.is_dir() {
        return Ok(());
    }
    create_folder_of(folder)?;
    match fs::create_dir(folder) {
        Ok(()) => sync_folder(folder),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => Ok(()),
        Err(error) => Err(failure("creating", folder, error)),
    }
}

/// Makes the names in the folder of `path` durable.
#[cfg(unix)]
pub(super) fn sync_folder(path: &Path) -> Result<()> {
    let Some(folder) = path.parent() else {
        return Ok(());
    };
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        Ok(()) => Ok(()),
        // Some file systems cannot do this, and a folder that is gone needs it no more.
        Err(error)
            if is_absent(&error)
                || matches!(
                    error.kind(),
                    io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported
                ) =>
        {
            Ok(())
        }
        Err(error) => Err(failure("syncing", folder, error)),
    }
}

#[cfg(not(unix))]
pub(super) fn sync_folder(_path: &Path) -> Result<()> {
    Ok(())
}

/// Tells contents apart: each write makes a new file, and writes in place change time or length.
#[cfg(unix)]
pub(super) fn version(metadata: &Metadata) -> Version {
    use std::os::unix::fs::MetadataExt as _;
    format!(
        "{:x}-{:x}.{:x}-{:x}",
        metadata.ino(),
        metadata.mtime(),
        metadata.mtime_nsec(),
        metadata.len()
    )
    .into()
}

#[cfg(not(unix))]
pub(super) fn version(metadata: &Metadata) -> Version {
    format!("{:x}-{:x}", modified(metadata).as_nanosecond(), metadata.len()).into()
}

fn modified(metadata: &Metadata) -> Timestamp {
    metadata
        .modified()
        .ok()
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
        .and_then(|since| Timestamp::from_nanosecond(i128::try_from(since.as_nanos()).ok()?).ok())
        .unwrap_or(Timestamp::UNIX_EPOCH)
}

/// Tells whether an error means that there is no such file.
pub(super) fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// Says what failed where; the system's own words stand behind.
pub(super) fn failure(action: &str, path: &Path, error: io::Error) -> Error {
    let text = format!("{action} {}: {error}", path.display());
    let failed = Error::new(ErrorKind::Unavailable, text);
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            failed.with_hint("make room on the file system of the store, then run the operation again")
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            failed.with_hint("the store's folder must be writable for this user")
        }
        _ => failed,
    }
    .with_source(error)
}
