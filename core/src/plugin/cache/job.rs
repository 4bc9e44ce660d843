//! One installation: its steps, each of which blocks, and its progress.

use std::{
    fs::{self, File},
    io::{self, Read, Seek as _},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use sha2::{Digest as _, Sha256};

use super::{
    InstallProgress, InstalledPlugin, ProgressSink, archive,
    download::{MAX_ARCHIVE_SIZE, download},
    list::installed_at,
    name::{PluginId, is_remainder, lock_file, partial_mark, temporary},
};
use crate::error::{Error, ErrorKind, Result};

/// After how many bytes progress is reported again.
const REPORT_INTERVAL: u64 = 1 << 20;
/// The size of the buffer of checksums, in bytes.
const BUFFER_SIZE: usize = 128 << 10;
/// The file that a downloaded archive is written to, in the temporary folder.
const ARCHIVE_FILE: &str = "archive.tar.gz";
/// The folder that an archive is unpacked to, in the temporary folder.
const CONTENT_FOLDER: &str = "content";
/// The files that make a folder a plugin without an executable of its own.
const MANIFESTS: [&str; 2] = ["PulumiPlugin.yaml", "PulumiPolicy.yaml"];

/// Where the archive of an installation is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Archive {
    File(PathBuf),
    Url(String),
}

/// One installation. Its steps run under the plugin's lock.
pub(super) struct Job {
    pub(super) cache: PathBuf,
    pub(super) plugin: PluginId,
    pub(super) archive: Archive,
    /// The SHA-256 digest of the archive in lower-case hexadecimal digits.
    pub(super) checksum: Option<String>,
    pub(super) reinstall: bool,
    pub(super) limits: archive::Limits,
    pub(super) progress: Option<ProgressSink>,
    /// Set when no one waits for the installation any more.
    pub(super) cancelled: Arc<AtomicBool>,
}

impl Job {
    /// Returns the lock file.
    pub(super) fn lock_file(&self) -> PathBuf {
        lock_file(&self.cache, &self.plugin.folder())
    }

    fn temporary(&self) -> PathBuf {
        temporary(&self.cache, &self.plugin.folder(), std::process::id())
    }

    fn place(&self) -> PathBuf {
        self.cache.join(self.plugin.folder())
    }

    /// Returns the plugin if it is installed and stays so. Otherwise it removes what former installations have left, and creates
    /// the temporary folder.
    pub(super) fn begin(&self) -> Result<Option<InstalledPlugin>> {
        let folder = self.plugin.folder();
        if !self.reinstall
            && let Some(installed) = installed_at(&self.cache, &folder)
            && self.is_plugin(&installed.path)
        {
            return Ok(Some(installed));
        }
        let prepare = || -> io::Result<()> {
            self.remove_remainders()?;
            // The reference engine's mark of an installation that it has not completed: there is no such while the lock is held.
            let partial = partial_mark(&self.cache, &folder);
            if partial.exists() {
                absent_is_fine(fs::remove_dir_all(self.place()))?;
                fs::remove_file(partial)?;
            }
            fs::create_dir(self.temporary())
        };
        prepare().map_err(|error| self.cannot_write(&self.cache, &error))?;
        Ok(None)
    }

    /// Removes the folders that installations and removals have left which were interrupted.
    fn remove_remainders(&self) -> io::Result<()> {
        let folder = self.plugin.folder();
        for entry in fs::read_dir(&self.cache)? {
            let entry = entry?;
            let name = entry.file_name();
            if !name.to_str().is_some_and(|name| is_remainder(name, &folder)) {
                continue;
            }
            match entry.file_type()?.is_dir() {
                true => fs::remove_dir_all(entry.path())?,
                false => fs::remove_file(entry.path())?,
            }
        }
        Ok(())
    }

    /// Downloads the archive, where it is no local file.
    pub(super) fn fetch(&self) -> Result<()> {
        match &self.archive {
            Archive::File(_) => Ok(()),
            Archive::Url(url) => download(url, &self.temporary().join(ARCHIVE_FILE), self),
        }
    }

    /// Verifies and unpacks the archive, and puts the result into its place.
    pub(super) fn complete(&self) -> Result<InstalledPlugin> {
        let path = match &self.archive {
            Archive::File(path) => path.clone(),
            Archive::Url(_) => self.temporary().join(ARCHIVE_FILE),
        };
        let mut packed = self.open(&path)?;
        self.verify(&mut packed)?;
        let content = self.temporary().join(CONTENT_FOLDER);
        self.unpack(packed, &content)?;
        self.check_content(&content)?;
        let folder = self.plugin.folder();
        let put = || -> io::Result<()> {
            archive::sync_folder(&content)?;
            let place = self.place();
            match fs::symlink_metadata(&place) {
                // One step, so that the plugin is there at any time.
                Ok(_) => renameat_with(CWD, &content, CWD, &place, RenameFlags::EXCHANGE)?,
                Err(_) => fs::rename(&content, &place)?,
            }
            archive::sync_folder(&self.cache)
        };
        put().map_err(|error| self.cannot_write(&self.place(), &error))?;
        self.clean();
        self.report(InstallProgress::Installed);
        installed_at(&self.cache, &folder)
            .ok_or_else(|| Error::internal(format!("{} is not where it was installed", self.plugin.shown())))
    }

    /// Removes the temporary folder. What stays is removed by the next installation.
    pub(super) fn clean(&self) {
        fs::remove_dir_all(self.temporary()).unwrap_or_default();
    }

    /// Removes the plugin.
    pub(super) fn remove(&self) -> Result<()> {
        let remove = || -> io::Result<()> {
            self.remove_remainders()?;
            // A folder of this name is no plugin, so that no part of one is ever found.
            let doomed = self.temporary();
            absent_is_fine(fs::rename(self.place(), &doomed))?;
            absent_is_fine(fs::remove_dir_all(&doomed))?;
            absent_is_fine(fs::remove_file(partial_mark(&self.cache, &self.plugin.folder())))
        };
        remove().map_err(|error| {
            Error::new(
                ErrorKind::Plugin,
                format!(
                    "{} cannot be removed from {}: {error}",
                    self.plugin.shown(),
                    self.cache.display()
                ),
            )
        })
    }

    fn open(&self, path: &Path) -> Result<File> {
        let opened = File::open(path).and_then(|file| match file.metadata()?.len() {
            0..=MAX_ARCHIVE_SIZE => Ok(file),
            size => Err(io::Error::other(format!(
                "it has {size} bytes, more than the limit of {MAX_ARCHIVE_SIZE}"
            ))),
        });
        opened.map_err(|error| {
            let kind = match error.kind() {
                io::ErrorKind::NotFound => ErrorKind::NotFound,
                _ => ErrorKind::Plugin,
            };
            Error::new(
                kind,
                format!(
                    "the archive {} of {} cannot be read: {error}",
                    path.display(),
                    self.plugin.shown()
                ),
            )
        })
    }

    fn verify(&self, packed: &mut File) -> Result<()> {
        let Some(expected) = &self.checksum else {
            return Ok(());
        };
        let digested = sha256(packed).and_then(|digest| packed.rewind().map(|()| digest));
        let actual = digested.map_err(|error| self.bad_archive(&error))?;
        if actual == *expected {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Plugin,
            format!(
                "the archive of {} from {} has the SHA-256 checksum {actual} instead of {expected}; nothing was installed",
                self.plugin.shown(),
                self.origin()
            ),
        )
        .with_hint("the archive was damaged or replaced, or the checksum belongs to another platform or version"))
    }

    fn unpack(&self, packed: File, content: &Path) -> Result<()> {
        let total = packed.metadata().ok().map(|facts| facts.len());
        let mut watched = Watched {
            inner: packed,
            watch: Watch::unpacking(self, total),
        };
        let unpacked = archive::unpack(&mut watched, content, self.limits);
        self.check_cancelled()?;
        unpacked.map_err(|error| self.bad_archive(&error))?;
        watched.watch.finish()?;
        Ok(())
    }

    /// Refuses an archive without the plugin: it would never be found.
    fn check_content(&self, content: &Path) -> Result<()> {
        if self.is_plugin(content) {
            return Ok(());
        }
        let problem = format!("it has no file {}", self.plugin.executable());
        Err(self.bad_archive(&io::Error::other(problem)))
    }

    fn is_plugin(&self, folder: &Path) -> bool {
        let has = |name: &str| folder.join(name).is_file();
        has(&self.plugin.executable()) || MANIFESTS.into_iter().any(has)
    }

    fn bad_archive(&self, error: &io::Error) -> Error {
        Error::new(
            ErrorKind::Plugin,
            format!(
                "the archive of {} from {} cannot be unpacked: {error}; nothing was installed",
                self.plugin.shown(),
                self.origin()
            ),
        )
    }

    /// Returns the error of a file that cannot be written.
    pub(super) fn cannot_write(&self, place: &Path, error: &io::Error) -> Error {
        Error::new(
            ErrorKind::Plugin,
            format!(
                "{} cannot be installed in {}: {error}",
                self.plugin.shown(),
                place.display()
            ),
        )
        .with_hint("the folder of installed plugins must be writable, and have room")
    }

    fn origin(&self) -> String {
        match &self.archive {
            Archive::File(path) => path.display().to_string(),
            Archive::Url(url) => url.clone(),
        }
    }

    pub(super) fn report(&self, progress: InstallProgress) {
        if let Some(sink) = &self.progress {
            sink(progress);
        }
    }

    fn check_cancelled(&self) -> Result<()> {
        match self.cancelled.load(Ordering::Relaxed) {
            true => Err(Error::new(
                ErrorKind::Cancelled,
                format!("the installation of {} was cancelled", self.plugin.shown()),
            )),
            false => Ok(()),
        }
    }
}

fn absent_is_fine(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Returns the SHA-256 digest of a file in hexadecimal digits.
fn sha256(file: &mut File) -> io::Result<String> {
    use std::fmt::Write as _;
    let mut digest = Sha256::new();
    let mut buffer = vec![0; BUFFER_SIZE];
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            read => digest.update(buffer.get(..read).unwrap_or_default()),
        }
    }
    let digits = digest.finalize();
    Ok(digits.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        write!(text, "{byte:02x}").unwrap_or_default();
        text
    }))
}

/// Counts bytes, reports them at the beginning, at the end and at intervals, and ends a cancelled installation.
pub(super) struct Watch<'a> {
    job: &'a Job,
    total: Option<u64>,
    done: u64,
    reported: u64,
    form: fn(u64, Option<u64>) -> InstallProgress,
}

impl<'a> Watch<'a> {
    pub(super) fn downloading(job: &'a Job, total: Option<u64>) -> Self {
        Self::new(job, total, |received, total| InstallProgress::Downloading {
            received,
            total,
        })
    }

    fn unpacking(job: &'a Job, total: Option<u64>) -> Self {
        Self::new(job, total, |unpacked, total| InstallProgress::Unpacking {
            unpacked,
            total,
        })
    }

    fn new(job: &'a Job, total: Option<u64>, form: fn(u64, Option<u64>) -> InstallProgress) -> Self {
        job.report(form(0, total));
        Self {
            job,
            total,
            done: 0,
            reported: 0,
            form,
        }
    }

    pub(super) fn advance(&mut self, bytes: u64) -> Result<()> {
        self.done = self.done.saturating_add(bytes);
        if self.done.saturating_sub(self.reported) >= REPORT_INTERVAL {
            self.reported = self.done;
            self.job.report((self.form)(self.done, self.total));
        }
        self.job.check_cancelled()
    }

    /// Reports the end, and returns the number of bytes.
    pub(super) fn finish(self) -> Result<u64> {
        if self.reported < self.done {
            self.job.report((self.form)(self.done, self.total));
        }
        self.job.check_cancelled()?;
        Ok(self.done)
    }
}

/// A reader whose bytes are counted.
struct Watched<'a> {
    inner: File,
    watch: Watch<'a>,
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.watch
            .advance(read as u64)
            .map_err(|error| io::Error::other(error.message().to_owned()))?;
        Ok(read)
    }
}
