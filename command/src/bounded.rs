//! Reads of files that others have written: regular ones, and only up to a size.

use std::{
    fs::File,
    io::{Read as _, Take},
    path::Path,
};

use rustix::fs::{Mode, OFlags, open as open_file};

/// Opens a regular file. Pipes and devices, which can block or never end, are not read.
pub(crate) fn open(path: &Path) -> Option<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(open_file(path, flags, Mode::empty()).ok()?);
    file.metadata().ok()?.is_file().then_some(file)
}

/// Reads a file; `None` for one that cannot be read, or is larger than the limit.
pub(crate) fn read(path: &Path, limit: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut file: Take<File> = open(path)?.take(limit.saturating_add(1));
    file.read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= limit).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_is_read_up_to_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "12345").unwrap();
        assert_eq!(read(&path, 5), Some(b"12345".to_vec()));
        assert_eq!(read(&path, 4), None);
        assert_eq!(read(&folder.path().join("absent"), 4), None);
    }

    #[test]
    fn folders_pipes_and_devices_are_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, kind, Mode::RUSR | Mode::WUSR, 0).unwrap();
        assert_eq!(read(&pipe, 10), None);
        assert_eq!(read(folder.path(), 10), None);
        assert_eq!(read(Path::new("/dev/zero"), 10), None);
    }
}
