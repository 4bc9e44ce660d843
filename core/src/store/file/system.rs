//! What the store asks of the file system: durable folders, clones of files, versions, and errors in words.

use std::{
    fs::{self, File, Metadata},
    io,
    path::Path,
    time::UNIX_EPOCH,
};

use crate::{
    error::{Error, ErrorKind, Result},
    runtime::Timestamp,
    store::Version,
};

/// Makes `target` share the blocks of `source` until one of them is written; `false` where that is not possible.
#[cfg(target_os = "linux")]
pub(super) fn clone_file(source: &Path, target: &Path) -> bool {
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
pub(super) fn clone_file(_source: &Path, _target: &Path) -> bool {
    false
}

/// Creates the folder of `path` and makes each new name in it durable.
pub(super) fn create_folder_of(path: &Path) -> Result<()> {
    let missing: Vec<&Path> = path
        .ancestors()
        .skip(1)
        .take_while(|folder| !folder.is_dir())
        .collect();
    for folder in missing.iter().rev() {
        match fs::create_dir(folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists || !folder.is_dir() => {
                return Err(failure("creating", folder, error));
            }
            _ => {}
        }
    }
    // Only now: the first sync mostly makes all of them durable, and the others find nothing left to do.
    missing.iter().try_for_each(|folder| sync_folder(folder))
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

pub(super) fn modified(metadata: &Metadata) -> Timestamp {
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
