//! The files of packed archives (tar, compressed tar, zip), for archives that contain other archives.

use std::io::{Cursor, Read as _};

use bytes::Bytes;
use zip::result::ZipError;

use super::entries::MAX_UNPACKED_SIZE;
use crate::error::Error;

/// A packed format, by the suffix of the file's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Tar,
    TarGzip,
    Zip,
}

impl Format {
    pub(super) fn of(name: &str) -> Option<Self> {
        [
            (".tar", Self::Tar),
            (".tgz", Self::TarGzip),
            (".tar.gz", Self::TarGzip),
            (".zip", Self::Zip),
            (".jar", Self::Zip),
        ]
        .into_iter()
        .find_map(|(end, format)| name.ends_with(end).then_some(format))
    }
}

/// Returns the files of a packed archive in their order, without directories and links.
pub(super) fn files(name: &str, packed: &Bytes) -> crate::error::Result<Vec<(String, Bytes)>> {
    let files = match Format::of(name) {
        Some(Format::Tar) => tar(packed),
        Some(Format::TarGzip) => gunzip(packed, MAX_UNPACKED_SIZE).and_then(|unpacked| tar(&unpacked)),
        Some(Format::Zip) => zip(packed),
        None => Err("its name does not end as that of a known archive format"),
    };
    files.map_err(|problem| Error::invalid(format!("cannot read archive '{name}': {problem}")))
}

const TOO_LARGE: &str = "it unpacks to more than 1 GiB";

/// Unpacks at most `most` bytes.
pub(super) fn gunzip(packed: &[u8], most: u64) -> Result<Bytes, &'static str> {
    let mut unpacked = Vec::new();
    let decoder = flate2::read::MultiGzDecoder::new(packed);
    let read = decoder.take(most.saturating_add(1)).read_to_end(&mut unpacked);
    read.map_err(|_| "it is not compressed with gzip")?;
    if unpacked.len() as u64 > most {
        return Err(TOO_LARGE);
    }
    Ok(unpacked.into())
}

type Files = Result<Vec<(String, Bytes)>, &'static str>;

const TAR_CUT: &str = "the tar ends too early";
const TAR_MALFORMED: &str = "the tar is malformed";

fn tar(packed: &Bytes) -> Files {
    let mut files = Vec::new();
    let mut archive = tar::Archive::new(&packed[..]);
    for entry in archive.entries().map_err(|_| TAR_MALFORMED)? {
        let entry = entry.map_err(|_| TAR_MALFORMED)?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        // Directories, links and devices have no contents.
        let is_file = entry.header().entry_type().is_file() || entry.header().entry_type().is_contiguous();
        if !is_file || name.ends_with('/') {
            continue;
        }
        let start = usize::try_from(entry.raw_file_position()).map_err(|_| TAR_CUT)?;
        let size = usize::try_from(entry.size()).map_err(|_| TAR_CUT)?;
        let end = start.checked_add(size).filter(|end| *end <= packed.len());
        files.push((name, packed.slice(start..end.ok_or(TAR_CUT)?)));
    }
    Ok(files)
}

const ZIP_MALFORMED: &str = "the zip is malformed";
const ZIP_DAMAGED: &str = "an entry of the zip is damaged";

fn zip(packed: &Bytes) -> Files {
    let mut archive = zip::ZipArchive::new(Cursor::new(&packed[..])).map_err(|_| ZIP_MALFORMED)?;
    let mut files = Vec::new();
    let mut unpacked = 0_u64;
    for index in 0..archive.len() {
        let mut file = archive.by_index(index).map_err(|error| match error {
            ZipError::UnsupportedArchive(_) => "an entry of the zip is compressed in an unknown way",
            _ => ZIP_MALFORMED,
        })?;
        if file.is_dir() {
            continue;
        }
        unpacked = unpacked.saturating_add(file.size());
        if unpacked > MAX_UNPACKED_SIZE {
            return Err(TOO_LARGE);
        }
        let name = String::from_utf8_lossy(file.name_raw()).into_owned();
        let (size, mut content) = (file.size(), Vec::new());
        // One byte beyond the declared size is enough to detect a wrong declaration.
        let mut limited = (&mut file).take(size.saturating_add(1));
        limited.read_to_end(&mut content).map_err(|_| ZIP_DAMAGED)?;
        if content.len() as u64 != size {
            return Err(ZIP_DAMAGED);
        }
        files.push((name, content.into()));
    }
    Ok(files)
}
