//! File system functions: durable folders, versions, and error messages.

use std::{
    fs::{self, File, Metadata, OpenOptions},
    io,
    path::Path,
    time::UNIX_EPOCH,
};

use crate::{
    error::{Error, ErrorKind, Result},
    runtime::Timestamp,
    store::{Version, layout},
};

/// Restricts created files to mode 0600: they contain inputs in plaintext.
pub(super) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    use std::os::unix::fs::OpenOptionsExt as _;
    options.mode(0o600)
}

/// Creates a file that must not exist, with mode 0600.
pub(super) fn create_private(path: &Path) -> io::Result<File> {
    private(File::options().write(true).create_new(true)).open(path)
}

/// Returns whether a file is regular, no symbolic link, and of mode 0600.
pub(super) fn is_private(metadata: &Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    metadata.is_file() && metadata.permissions().mode() & 0o777 == 0o600
}

/// The limit of attempts of an action in a folder that another store may remove while it is empty.
const MAX_ATTEMPTS: usize = 32;

/// Repeats an action, including the creation of its folder, when the folder was removed in between.
pub(super) fn retry_when_absent<T>(
    mut attempt: impl FnMut() -> Result<io::Result<T>>,
) -> Result<io::Result<T>> {
    for _ in 1..MAX_ATTEMPTS {
        match attempt()? {
            Err(error) if is_absent(&error) => {}
            outcome => return Ok(outcome),
        }
    }
    attempt()
}

/// Removes `folder` and those above it, up to `root`, as long as they are empty.
pub(super) fn remove_empty(folder: &Path, root: &Path) {
    let below = |folder: &&Path| *folder != root && folder.starts_with(root);
    for folder in folder.ancestors().take_while(below) {
        match fs::remove_dir(folder) {
            Err(error) if !is_absent(&error) => return,
            _ => {}
        }
    }
}

/// Returns whether `path` names an open file: another process may have removed or replaced it.
pub(super) fn is_named(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    match (file.metadata(), fs::metadata(path)) {
        (Ok(opened), Ok(named)) => opened.ino() == named.ino() && opened.dev() == named.dev(),
        _ => false,
    }
}

/// When a change of a file is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Durability {
    /// Before the change returns.
    Now,
    /// When the system writes it back.
    Later,
}

impl Durability {
    /// Returns that of a key: a lock ends with its process, and no process outlives a power failure.
    pub(super) fn of(key: &str) -> Self {
        if key.starts_with(layout::LOCKS) {
            Self::Later
        } else {
            Self::Now
        }
    }

    /// Returns that of a removal: a note of a move that is there again after a power failure is settled as it would have been before.
    pub(super) fn of_removal(key: &str) -> Self {
        match key.ends_with(layout::MOVING_ENDING) {
            true => Self::Later,
            false => Self::of(key),
        }
    }
}

/// Creates the folder of `path`; `durability` is that of the new names.
pub(super) fn create_folder_of(path: &Path, durability: Durability) -> Result<()> {
    let folder = path.parent().unwrap_or(path);
    retry_when_absent(|| create_folders(path, durability))?
        .map_err(|error| failure("creating", folder, error))
}

fn create_folders(path: &Path, durability: Durability) -> Result<io::Result<()>> {
    let missing: Vec<&Path> = path
        .ancestors()
        .skip(1)
        .take_while(|folder| !folder.is_dir())
        .collect();
    for folder in missing.iter().rev() {
        match fs::create_dir(folder) {
            Err(error) if is_absent(&error) => return Ok(Err(error)),
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(failure("creating", folder, error));
            }
            Err(error) if !folder.is_dir() => match absent_when_removed(error, folder) {
                error if is_absent(&error) => return Ok(Err(error)),
                error => return Err(failure("creating", folder, error)),
            },
            _ => {}
        }
    }
    if durability == Durability::Later {
        return Ok(Ok(()));
    }
    // After all are created: the first sync usually makes all of them durable, and the others are cheap.
    missing.iter().try_for_each(|folder| sync_folder(folder))?;
    Ok(Ok(()))
}

/// Replaces the error "already exists" by "not found" when `folder` was removed meanwhile.
pub(super) fn absent_when_removed(error: io::Error, folder: &Path) -> io::Error {
    let is_gone = matches!(fs::symlink_metadata(folder), Err(look) if is_absent(&look));
    if error.kind() == io::ErrorKind::AlreadyExists && is_gone {
        io::Error::from(io::ErrorKind::NotFound)
    } else {
        error
    }
}

/// Makes the names in the folder of `path` durable.
pub(super) fn sync_folder(path: &Path) -> Result<()> {
    let Some(folder) = path.parent() else {
        return Ok(());
    };
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        Ok(()) => Ok(()),
        // Some file systems do not support this, and a removed folder does not need it.
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

/// Returns the version of a content: each write creates a new file, and writes in place change time or length.
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

/// Distinguishes the states of a file, except those within one tick of the file system's clock. Each write and each new
/// name changes its last part, which no program can set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stamp(Version, i64, i64);

pub(super) fn stamp(metadata: &Metadata) -> Stamp {
    use std::os::unix::fs::MetadataExt as _;
    Stamp(version(metadata), metadata.ctime(), metadata.ctime_nsec())
}

/// Opens a large file that is about to be unlinked, so that its blocks are freed when it is closed.
pub(super) fn opened_large(path: &Path) -> Option<File> {
    let metadata = fs::symlink_metadata(path).ok()?;
    let is_large = metadata.is_file() && metadata.len() >= super::MIN_BACKGROUND_FREE_SIZE as u64;
    is_large.then(|| File::open(path).ok()).flatten()
}

pub(super) fn modified(metadata: &Metadata) -> Timestamp {
    metadata
        .modified()
        .ok()
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
        .and_then(|since| Timestamp::from_nanosecond(i128::try_from(since.as_nanos()).ok()?).ok())
        .unwrap_or(Timestamp::UNIX_EPOCH)
}

/// Returns the time of the last change of content or names of a file, in seconds since 1970.
pub(super) fn changed(metadata: &Metadata) -> i64 {
    use std::os::unix::fs::MetadataExt as _;
    modified(metadata).as_second().max(metadata.ctime())
}

/// Returns whether an error means that there is no such file.
pub(super) fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// Returns an error that names the action, the path and the system's error.
pub(super) fn failure(action: &str, path: &Path, error: io::Error) -> Error {
    let text = format!("{action} {}: {error}", path.display());
    let failed = Error::new(ErrorKind::Unavailable, text);
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            failed.with_hint(
                "free space on the file system of the store; adopt what is pending then, before the operation runs again",
            )
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            failed.with_hint("the store's folder must be writable for this user")
        }
        _ => failed,
    }
    .with_source(error)
}
