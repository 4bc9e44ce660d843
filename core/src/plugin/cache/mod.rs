//! A folder of installed plugins, in the reference engine's layout: list, install, remove.
//!
//! An installation is safe for several processes: it runs under a lock of the plugin, unpacks into a folder that is no plugin, and
//! renames that. A process that ends in between leaves no plugin, and the next installation removes what it left.

mod archive;
mod download;
mod job;
mod list;
mod name;
mod lock;

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use semver::Version;

use crate::{
    error::{Error, ErrorKind, Result},
    plugin::PluginKind,
    runtime::Runtime,
};

pub use download::platform;
use job::{Archive, Job};
pub use list::{InstalledPlugin, PluginSelection};
use lock::PluginLock;
use name::PluginId;
pub(super) use name::{is_unfinished, version_of};

/// How often a download is tried.
const DOWNLOAD_ATTEMPTS: u32 = 5;
/// How long the first pause between two attempts is; each further one takes twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(80);
/// The number of hexadecimal digits of a SHA-256 checksum.
const CHECKSUM_DIGITS: usize = 64;

/// Where the archive (`.tar.gz`) of a plugin is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PluginArchive {
    /// A local file.
    File(PathBuf),
    /// An address (`https://…`).
    Url(String),
    /// An address in the reference engine's layout: `<server>/pulumi-<kind>-<name>-v<version>-<os>-<arch>.tar.gz`. `${NAME}`,
    /// `${VERSION}`, `${OS}` and `${ARCH}` in it are replaced.
    Server(String),
}

/// The plugin to install.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginInstallation {
    /// Its kind.
    pub kind: PluginKind,
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: Version,
    /// Its archive.
    pub archive: PluginArchive,
    /// The SHA-256 checksum of the archive in hexadecimal digits, which is verified; `None` verifies nothing.
    pub checksum: Option<String>,
    /// Replaces an installed plugin of this version, which otherwise stays.
    pub reinstall: bool,
}

/// The progress of an installation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InstallProgress {
    /// The archive is downloaded. Reported at the beginning, at each mebibyte and at the end.
    Downloading {
        /// The bytes so far.
        received: u64,
        /// The size of the archive, if the server states it.
        total: Option<u64>,
    },
    /// A download failed, and is tried again after a pause.
    Retrying {
        /// The number of the attempt that failed, from 1.
        attempt: u32,
        /// How often it is tried.
        attempts: u32,
        /// The pause.
        pause: Duration,
        /// Why it failed.
        reason: String,
    },
    /// The archive is unpacked. Reported at the beginning, at each mebibyte and at the end.
    Unpacking {
        /// The bytes of the archive so far.
        unpacked: u64,
        /// The size of the archive.
        total: Option<u64>,
    },
    /// The plugin is installed.
    Installed,
}

/// Receives the progress of an installation, on any thread.
pub type ProgressSink = Arc<dyn Fn(InstallProgress) + Send + Sync>;

/// A folder of installed plugins, each in its own `<kind>-<name>-v<version>`. Cloning is cheap.
#[derive(Clone)]
pub struct PluginCache {
    folder: PathBuf,
    runtime: Runtime,
}

impl fmt::Debug for PluginCache {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("PluginCache")
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

impl PluginCache {
    /// Creates a cache over a folder, which the first installation creates.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>, runtime: Runtime) -> Self {
        Self {
            folder: folder.into(),
            runtime,
        }
    }

    /// Returns the folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Lists the installed plugins of a selection, sorted by name, kind and version. Unfinished installations are left out.
    ///
    /// # Errors
    /// [`ErrorKind::Plugin`] if the folder cannot be read.
    ///
    /// # Cancel safety
    /// Cancel safe: it only reads.
    pub async fn list(&self, selection: PluginSelection) -> Result<Vec<InstalledPlugin>> {
        let folder = self.folder.clone();
        let spawner = &self.runtime.spawner;
        spawner
            .spawn_blocking(move || list::list(&folder, &selection))
            .await?
    }

    /// Installs a plugin. One that is installed stays as it is, unless [`PluginInstallation::reinstall`] is set. Of several
    /// processes that install a plugin, one does, and the others wait for it. A failed download is tried five times.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for an invalid name, checksum or address; [`ErrorKind::NotFound`] if a local archive does not
    /// exist; [`ErrorKind::Unavailable`] if the download fails; [`ErrorKind::Plugin`] if the archive is damaged, too large, of
    /// another checksum or without the plugin, or the folder cannot be written. Nothing is installed then, and a plugin that was
    /// installed stays.
    ///
    /// # Cancel safety
    /// A dropped future ends the installation soon; the plugin is installed as a whole, or not at all.
    pub async fn install(
        &self,
        installation: PluginInstallation,
        progress: Option<ProgressSink>,
    ) -> Result<InstalledPlugin> {
        let plugin = PluginId::new(installation.kind, &installation.name, installation.version)?;
        let archive = match installation.archive {
            PluginArchive::File(path) => Archive::File(path),
            PluginArchive::Url(url) => Archive::Url(url),
            PluginArchive::Server(server) => Archive::Url(download::archive_url(&server, &plugin)),
        };
        if let Archive::Url(url) = &archive {
            download::check_url(url, &plugin)?;
        }
        let cancelled = Arc::new(AtomicBool::new(false));
        let job = Arc::new(Job {
            cache: self.folder.clone(),
            archive,
            checksum: installation
                .checksum
                .map(|text| checksum(&text, &plugin))
                .transpose()?,
            reinstall: installation.reinstall,
            limits: archive::Limits::default(),
            progress,
            cancelled: Arc::clone(&cancelled),
            plugin,
        });
        let _cancels = CancelOnDrop(cancelled);
        let lock = PluginLock::take(&job.lock_file(), &self.runtime).await?;
        let (lock, present) = self.step(lock, &job, Job::begin).await?;
        match present? {
            Some(installed) => Ok(installed),
            None => self.install_locked(lock, &job).await,
        }
    }

    async fn install_locked(&self, mut lock: PluginLock, job: &Arc<Job>) -> Result<InstalledPlugin> {
        let mut pause = FIRST_PAUSE;
        for attempt in 1..=DOWNLOAD_ATTEMPTS {
            let (held, fetched) = self.step(lock, job, Job::fetch).await?;
            lock = held;
            match fetched {
                Ok(()) => break,
                Err(error) if error.kind() == ErrorKind::Unavailable && attempt < DOWNLOAD_ATTEMPTS => {
                    job.report(InstallProgress::Retrying {
                        attempt,
                        attempts: DOWNLOAD_ATTEMPTS,
                        pause,
                        reason: error.message().to_owned(),
                    });
                    self.runtime.clock.wait(pause).await;
                    pause = pause.saturating_mul(2);
                }
                Err(error) => {
                    let cleaned = |job: &Job| {
                        job.clean();
                        Ok(())
                    };
                    self.step(lock, job, cleaned).await?.1?;
                    return Err(error);
                }
            }
        }
        let complete = |job: &Job| {
            let completed = job.complete();
            if completed.is_err() {
                job.clean();
            }
            completed
        };
        self.step(lock, job, complete).await?.1
    }

    /// Removes the installed plugins of a selection, and returns them. Plugins that run are not ended.
    ///
    /// # Errors
    /// [`ErrorKind::Plugin`] if one cannot be removed; those before it are.
    ///
    /// # Cancel safety
    /// A dropped future leaves each plugin as a whole or not at all; those that follow stay.
    pub async fn remove(&self, selection: PluginSelection) -> Result<Vec<InstalledPlugin>> {
        let plugins = self.list(selection).await?;
        for plugin in &plugins {
            let job = Arc::new(Job {
                cache: self.folder.clone(),
                plugin: PluginId {
                    kind: plugin.kind,
                    name: plugin.name.clone(),
                    version: plugin.version.clone(),
                },
                archive: Archive::File(PathBuf::new()),
                checksum: None,
                reinstall: false,
                limits: archive::Limits::default(),
                progress: None,
                cancelled: Arc::default(),
            });
            let lock = PluginLock::take(&job.lock_file(), &self.runtime).await?;
            let (lock, removed) = self.step(lock, &job, Job::remove).await?;
            removed?;
            lock.delete();
        }
        Ok(plugins)
    }

    /// Works on a job beside the runtime. The lock is held until the end of the work, also when no one waits for it.
    async fn step<T: Send + 'static>(
        &self,
        lock: PluginLock,
        job: &Arc<Job>,
        work: impl FnOnce(&Job) -> Result<T> + Send + 'static,
    ) -> Result<(PluginLock, Result<T>)> {
        let job = Arc::clone(job);
        let spawner = &self.runtime.spawner;
        spawner
            .spawn_blocking(move || {
                let done = work(&job);
                (lock, done)
            })
            .await
    }
}

struct CancelOnDrop(Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Reads a checksum: hexadecimal digits of any case.
fn checksum(text: &str, plugin: &PluginId) -> Result<String> {
    let text = text.to_ascii_lowercase();
    if text.len() == CHECKSUM_DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(text);
    }
    Err(Error::invalid(format!(
        "the checksum {text:?} of {} is not the SHA-256 of its archive: that has {CHECKSUM_DIGITS} hexadecimal digits",
        plugin.shown()
    )))
}
