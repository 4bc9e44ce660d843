//! Unpacking a plugin's archive (`.tar.gz`) into a new folder, with limits.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Write as _},
    os::unix::fs::{OpenOptionsExt as _, symlink},
    path::{Component, Path, PathBuf},
};

use flate2::read::MultiGzDecoder;
use tar::EntryType;

/// What an archive may unpack to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// The most bytes of all files, and of the tar itself.
    pub(super) bytes: u64,
    /// The most files, folders and links.
    pub(super) entries: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            bytes: 8 << 30,
            entries: 500_000,
        }
    }
}

/// The most bytes of a tar for one entry, beside its content: its header, its padding and a long name.
const MAX_TAR_ENTRY_OVERHEAD: u64 = 16 << 10;
/// The most bytes at the end of a tar.
const TAR_END_SIZE: u64 = 10 << 10;
/// The size of the buffer of copies, in bytes.
const BUFFER_SIZE: usize = 128 << 10;
/// The permissions of files that an archive can set, and those that each file has.
const PERMISSIONS: u32 = 0o777;
const OWNER_PERMISSIONS: u32 = 0o600;

/// Unpacks an archive into a folder that does not exist. All files are synced.
///
/// Entries outside of the folder, entries behind links, and links that lead out of it are errors, as are devices. Owners, times and
/// permissions of folders are not taken over.
pub(super) fn unpack(packed: impl Read, folder: &Path, limits: Limits) -> io::Result<()> {
    fs::create_dir(folder)?;
    let most = limits.bytes.saturating_add(TAR_END_SIZE);
    let most = most.saturating_add(limits.entries.saturating_mul(MAX_TAR_ENTRY_OVERHEAD));
    let mut archive = tar::Archive::new(Limited {
        inner: MultiGzDecoder::new(packed),
        left: most,
        limit: limits.bytes,
    });
    let mut left = limits;
    for entry in archive.entries()? {
        let mut entry = entry?;
        let kind = entry.header().entry_type();
        if matches!(kind, EntryType::XGlobalHeader) {
            continue;
        }
        left.entries = left
            .entries
            .checked_sub(1)
            .ok_or_else(|| invalid(format!("it has more than {} entries", limits.entries)))?;
        let name = entry.path()?.into_owned();
        let Some(path) = inside(&name) else {
            return Err(invalid(format!("its entry {} is outside of it", name.display())));
        };
        let target = || -> io::Result<PathBuf> {
            let target = entry.link_name()?.map(std::borrow::Cow::into_owned);
            target.ok_or_else(|| invalid(format!("its link {} has no target", name.display())))
        };
        match kind {
            EntryType::Directory => open_folder(folder, &path)?,
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
                let place = free_place(folder, &path)?;
                let mode = entry.header().mode()? & PERMISSIONS | OWNER_PERMISSIONS;
                left.bytes = write(&mut entry, &place, mode, left.bytes)?
                    .ok_or_else(|| invalid(too_large(limits.bytes)))?;
            }
            EntryType::Symlink => {
                let target = target()?;
                let parent = path.parent().unwrap_or(Path::new(""));
                if target.is_absolute() || inside(&parent.join(&target)).is_none() {
                    return Err(leads_out(&name, &target));
                }
                symlink(target, free_place(folder, &path)?)?;
            }
            EntryType::Link => {
                let target = target()?;
                let Some(linked) = inside(&target) else {
                    return Err(leads_out(&name, &target));
                };
                let place = free_place(folder, &path)?;
                fs::hard_link(existing(folder, &linked)?, place)?;
            }
            other => {
                return Err(invalid(format!(
                    "its entry {} is neither a file, a folder nor a link, but of the kind {other:?}",
                    name.display()
                )));
            }
        }
    }
    // The checksum of the compression is at its end.
    io::copy(&mut archive.into_inner(), &mut io::sink())?;
    Ok(())
}

fn invalid(problem: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, problem)
}

fn too_large(limit: u64) -> String {
    format!("it unpacks to more than {limit} bytes")
}

fn leads_out(name: &Path, target: &Path) -> io::Error {
    invalid(format!(
        "its link {} leads out of it, to {}",
        name.display(),
        target.display()
    ))
}

/// Returns a path without `.` and `..`; `None` for one that is absolute, or leads out of its folder at any point.
fn inside(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => plain.push(name),
            Component::CurDir => {}
            Component::ParentDir => {
                if !plain.pop() {
                    return None;
                }
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(plain)
}

/// Creates a folder and those above it. A link in its place is an error: what is behind it can be anywhere.
fn open_folder(root: &Path, path: &Path) -> io::Result<()> {
    let mut place = root.to_owned();
    for name in path {
        place.push(name);
        match fs::symlink_metadata(&place) {
            Ok(facts) if facts.is_dir() => {}
            Ok(_) => return Err(invalid(format!("its entry {} is no folder", path.display()))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => fs::create_dir(&place)?,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Returns the place of a file or a link. A former entry of this name is removed.
fn free_place(root: &Path, path: &Path) -> io::Result<PathBuf> {
    open_folder(root, path.parent().unwrap_or(Path::new("")))?;
    let place = root.join(path);
    match fs::remove_file(&place) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(place),
    }
}

/// Returns the place of a file that has been unpacked, which no link leads to.
fn existing(root: &Path, path: &Path) -> io::Result<PathBuf> {
    open_folder(root, path.parent().unwrap_or(Path::new("")))?;
    let place = root.join(path);
    match fs::symlink_metadata(&place)?.is_file() {
        true => Ok(place),
        false => Err(invalid(format!(
            "the target {} of a link is no file",
            path.display()
        ))),
    }
}

/// Writes a file of at most `most` bytes, and returns how many are left; `None` for a longer one.
fn write(content: &mut impl Read, place: &Path, mode: u32, most: u64) -> io::Result<Option<u64>> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(place)?;
    let mut buffer = vec![0; BUFFER_SIZE];
    let mut left = most;
    loop {
        let read = content.read(&mut buffer)?;
        if read == 0 {
            file.sync_all()?;
            return Ok(Some(left));
        }
        let Some(rest) = left.checked_sub(read as u64) else {
            return Ok(None);
        };
        left = rest;
        file.write_all(buffer.get(..read).unwrap_or_default())?;
    }
}

/// Syncs a folder, so that the names in it last.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// A reader that fails at a limit, which a small archive can exceed by its compression.
struct Limited<R> {
    inner: R,
    left: u64,
    /// The limit that the error names.
    limit: u64,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.left = self
            .left
            .checked_sub(read as u64)
            .ok_or_else(|| invalid(too_large(self.limit)))?;
        Ok(read)
    }
}

#[cfg(test)]
#[path = "archive_tests.rs"]
mod tests;
