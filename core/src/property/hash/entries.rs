//! The entries of an archive, in the order in which the reference engine packs them.

use std::{
    fs, io,
    io::Read as _,
    os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use bytes::Bytes;
use rustc_hash::FxHashSet;

use super::{Hasher, file_path, unpack};
use crate::{
    error::{Error, Result},
    property::{Archive, ArchiveSource, PropertyValue},
};

/// Files and directories of this name are excluded from archives.
const BOOKKEEPING: &str = ".pulumi";

/// The maximum size in bytes of one asset or archive; larger files are refused as mistakes.
pub(super) const MAX_CONTENT_SIZE: u64 = 16 << 30;

/// The maximum size in bytes of a packed archive that is unpacked in memory, and of its unpacked content.
pub(super) const MAX_UNPACKED_SIZE: u64 = 1 << 30;

/// The bytes of one file.
pub(super) enum Content {
    /// In memory.
    Bytes(Bytes),
    /// On disk: the path, the length in bytes and the name in messages.
    File(PathBuf, u64, String),
}

impl Content {
    /// Opens a regular file; other files may be endless and are refused.
    pub(super) fn file(path: &Path, shown: &str) -> Result<Self> {
        let metadata = fs::metadata(path).map_err(|error| cannot_read(shown, &error))?;
        ensure_regular(metadata.file_type(), shown)?;
        ensure_size(metadata.len(), MAX_CONTENT_SIZE, shown)?;
        Ok(Self::File(path.to_owned(), metadata.len(), shown.to_owned()))
    }

    /// Returns the length in bytes.
    pub(super) fn len(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::File(_, length, _) => *length,
        }
    }

    /// Passes all bytes to `sink`; fails if the length of the file has changed.
    pub(super) fn write_to(&self, sink: &mut dyn FnMut(&[u8])) -> Result<()> {
        let (path, expected, shown) = match self {
            Self::Bytes(bytes) => {
                sink(bytes);
                return Ok(());
            }
            Self::File(path, length, shown) => (path, *length, shown),
        };
        let mut file = open(path).map_err(|error| cannot_read(shown, &error))?;
        let metadata = file.metadata().map_err(|error| cannot_read(shown, &error))?;
        ensure_regular(metadata.file_type(), shown)?;
        let mut buffer = vec![0; 64 * 1024];
        let mut total = 0;
        loop {
            let count = match file.read(&mut buffer) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(cannot_read(shown, &error)),
            };
            // A growing file is not read beyond its expected length.
            if count == 0 || total > expected {
                break;
            }
            sink(&buffer[..count]);
            total += count as u64;
        }
        if total != expected {
            return Err(Error::invalid(format!("'{shown}' changed while it was read")));
        }
        Ok(())
    }

    /// Reads all bytes of a packed archive into memory.
    pub(super) fn read(&self) -> Result<Bytes> {
        let shown = match self {
            Self::Bytes(bytes) => return Ok(bytes.clone()),
            Self::File(_, _, shown) => shown,
        };
        ensure_size(self.len(), MAX_UNPACKED_SIZE, shown)?;
        let mut all = Vec::new();
        self.write_to(&mut |bytes| all.extend_from_slice(bytes))?;
        Ok(all.into())
    }
}

/// Opens a file without blocking, even if it has been replaced by a pipe.
fn open(path: &Path) -> io::Result<fs::File> {
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    fs::OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// Refuses all but regular files; `shown` is the name in the message.
fn ensure_regular(kind: fs::FileType, shown: &str) -> Result<()> {
    if kind.is_file() {
        return Ok(());
    }
    let kind = if kind.is_dir() {
        "a directory"
    } else if kind.is_fifo() {
        "a named pipe"
    } else if kind.is_socket() {
        "a socket"
    } else if kind.is_char_device() || kind.is_block_device() {
        "a device"
    } else {
        "of an unknown kind"
    };
    Err(Error::invalid(format!("'{shown}' is {kind}, not a regular file")))
}

/// Refuses more than `most` bytes.
pub(super) fn ensure_size(size: u64, most: u64, shown: &str) -> Result<()> {
    if size <= most {
        return Ok(());
    }
    let gibibytes = most >> 30;
    Err(Error::invalid(format!(
        "'{shown}' has {size} bytes, more than the limit of {gibibytes} GiB"
    )))
}

pub(super) fn cannot_read(shown: &str, error: &io::Error) -> Error {
    Error::invalid(format!("cannot read '{shown}': {error}"))
}

/// Receives each file of an archive: its name in the archive, and its content.
pub(super) type Visit<'v> = dyn FnMut(&str, Content) -> Result<()> + 'v;

/// Visits the files of one archive; only the first of several files with the same name.
pub(super) struct Entries<'a> {
    hasher: &'a Hasher,
    seen: FxHashSet<String>,
}

impl<'a> Entries<'a> {
    pub(super) fn new(hasher: &'a Hasher) -> Self {
        Self {
            hasher,
            seen: FxHashSet::default(),
        }
    }

    pub(super) fn visit(mut self, archive: &Archive, visit: &mut Visit<'_>) -> Result<()> {
        self.archive("", archive, visit)
    }

    fn emit(&mut self, name: String, content: Content, visit: &mut Visit<'_>) -> Result<()> {
        if self.seen.contains(&name) {
            return Ok(());
        }
        visit(&name, content)?;
        self.seen.insert(name);
        Ok(())
    }

    fn archive(&mut self, prefix: &str, archive: &Archive, visit: &mut Visit<'_>) -> Result<()> {
        if archive.is_elided() {
            return Err(Error::invalid(
                "the contents of an archive were left out, so no other can be made of it",
            ));
        }
        if let Some(content) = self.hasher.packed(archive)? {
            let (ArchiveSource::Path(name) | ArchiveSource::Uri(name)) = &archive.source else {
                return Err(Error::internal("an archive of assets is never packed"));
            };
            for (name, content) in unpack::files(name, &content.read()?)? {
                self.emit(join(prefix, &name), Content::Bytes(content), visit)?;
            }
            return Ok(());
        }
        match &archive.source {
            ArchiveSource::Assets(assets) => {
                for (name, value) in assets {
                    match value {
                        PropertyValue::Asset(asset) => {
                            let name = if prefix.is_empty() {
                                name.clone()
                            } else {
                                join(prefix, name)
                            };
                            self.emit(name, self.hasher.asset_content(asset)?, visit)?;
                        }
                        PropertyValue::Archive(inner) => self.archive(&join(prefix, name), inner, visit)?,
                        _ => {
                            return Err(Error::invalid(format!(
                                "the archive's entry '{name}' is neither an asset nor an archive"
                            )));
                        }
                    }
                }
                Ok(())
            }
            ArchiveSource::Path(path) => self.root(prefix, &self.hasher.directory.join(path), path, visit),
            ArchiveSource::Uri(uri) => match file_path(uri) {
                Some(path) => self.root(prefix, &path, uri, visit),
                None => Err(Error::internal("a fetched archive is always packed")),
            },
        }
    }

    fn root(&mut self, prefix: &str, directory: &Path, shown: &str, visit: &mut Visit<'_>) -> Result<()> {
        let metadata = fs::metadata(directory).map_err(|error| cannot_read(shown, &error))?;
        if !metadata.is_dir() {
            return Err(Error::invalid(format!(
                "archive path '{shown}' is neither a directory nor a file of a known archive format"
            )));
        }
        self.directory(prefix, directory, visit)
    }

    fn directory(&mut self, prefix: &str, directory: &Path, visit: &mut Visit<'_>) -> Result<()> {
        let shown = directory.display().to_string();
        let read = |error: &io::Error| cannot_read(&shown, error);
        let mut entries = fs::read_dir(directory)
            .and_then(Iterator::collect::<io::Result<Vec<_>>>)
            .map_err(|error| read(&error))?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let name = entry.file_name();
            let Some(name) = name.to_str() else {
                return Err(Error::invalid(format!("a file name in '{shown}' is not Unicode")));
            };
            if name == BOOKKEEPING {
                continue;
            }
            let kind = entry.file_type().map_err(|error| read(&error))?;
            let path = entry.path();
            let name = join(prefix, name);
            if kind.is_dir() {
                self.directory(&name, &path, visit)?;
            } else if kind.is_symlink() && path.is_dir() {
                // Not followed: a link to a directory could lead outside or form a cycle.
            } else {
                let content = Content::file(&path, &path.display().to_string())?;
                self.emit(name, content, visit)?;
            }
        }
        Ok(())
    }
}

/// Joins with a slash and removes empty, `.` and `..` elements.
pub(super) fn join(prefix: &str, name: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let absolute = if prefix.is_empty() { name } else { prefix }.starts_with('/');
    for part in prefix.split('/').chain(name.split('/')) {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            ".." if absolute => {}
            part => parts.push(part),
        }
    }
    format!("{}{}", if absolute { "/" } else { "" }, parts.join("/"))
}
