//! One settings file: read as a whole, and replaced only if it has not changed since.

use std::{
    fs::{self, File, Permissions},
    io::{ErrorKind as IoErrorKind, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::{
    fs::{FlockOperation, flock},
    io::Errno,
};
use stackwright::{Error, ErrorKind, Result};

use crate::yaml::Format;

/// The pause between two attempts to lock a folder.
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// The limit of attempts to lock a folder: ten seconds.
const MAX_LOCK_ATTEMPTS: u32 = 2000;

/// The permissions of new files, of which the process's mask is taken away.
const NEW_FILE_MODE: u32 = 0o666;

/// The endings of settings files, in the order in which they are looked for.
const ENDINGS: [&str; 3] = ["yaml", "yml", "json"];

/// When a replacement outlasts a failure of the power. The file is the former or the new one at any time, never a part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// Before the replacement returns: what other files rely on, such as the salt of the secrets.
    Now,
    /// Soon after: values that are set one by one.
    Later,
}

/// The content of a settings file.
#[derive(Clone, Debug)]
pub(crate) struct SettingsText {
    /// The path of the file, also of one that does not exist.
    pub(crate) path: PathBuf,
    pub(crate) format: Format,
    /// The text; `None` when there is no file.
    pub(crate) text: Option<String>,
}

impl SettingsText {
    /// Returns the names of the stacks that have a settings file in the folder.
    pub(crate) fn others(&self) -> Vec<String> {
        let files = self.path.parent().and_then(|folder| fs::read_dir(folder).ok());
        let names = files.into_iter().flatten().flatten().filter_map(|file| {
            let name = file.file_name().into_string().ok()?;
            let (stack, ending) = name.strip_prefix("Pulumi.")?.rsplit_once('.')?;
            ENDINGS.contains(&ending).then(|| stack.to_owned())
        });
        let mut names: Vec<String> = names.collect();
        names.sort_unstable();
        names
    }

    /// Reads the file `stem` with one of the endings, `preferred` first. A file that does not exist has the preferred
    /// ending.
    pub(crate) fn read(folder: &Path, stem: &str, preferred: Option<&str>) -> Result<Self> {
        let endings = preferred.into_iter().chain(ENDINGS);
        for ending in endings.clone() {
            let found = Self::read_path(folder.join(format!("{stem}.{ending}")))?;
            if found.text.is_some() {
                return Ok(found);
            }
        }
        let ending = preferred.unwrap_or(ENDINGS[0]);
        Ok(Self {
            path: folder.join(format!("{stem}.{ending}")),
            format: format_of(ending),
            text: None,
        })
    }

    /// Returns whether there is a file `stem` with one of the endings.
    pub(crate) fn exists(folder: &Path, stem: &str) -> bool {
        let mut paths = ENDINGS
            .into_iter()
            .map(|ending| folder.join(format!("{stem}.{ending}")));
        paths.any(|path| path.exists())
    }

    /// Reads the file at a path.
    pub(crate) fn read_path(path: PathBuf) -> Result<Self> {
        let text =
            match fs::read(&path) {
                Ok(bytes) => Some(String::from_utf8(bytes).map_err(|_| {
                    Error::invalid(format!("{}: the file is no text in UTF-8", path.display()))
                })?),
                Err(error) if is_absent(&error) => None,
                Err(error) => return Err(failure("reading", &path, &error)),
            };
        Ok(Self {
            format: format_of(
                path.extension()
                    .and_then(|ending| ending.to_str())
                    .unwrap_or_default(),
            ),
            path,
            text,
        })
    }

    /// Returns the ending of the file's name.
    pub(crate) fn ending(&self) -> Option<&str> {
        self.path.extension()?.to_str()
    }

    /// Names the file in an error about its content.
    pub(crate) fn named(&self, error: Error) -> Error {
        let named = Error::new(
            error.kind(),
            format!("{}: {}", self.path.display(), error.message()),
        );
        error.hints().iter().cloned().fold(named, Error::with_hint)
    }

    /// Waits for the turn among the writers that another one has been faster than, which lasts until the returned value is dropped.
    pub(crate) fn take_turn(&self) -> Result<File> {
        let turn = File::open(&self.path).map_err(|error| failure("reading", &self.path, &error))?;
        wait_for_lock(&turn, &self.path)?;
        Ok(turn)
    }

    /// Replaces the file by one with `text`, if its content is still the one that was read; returns whether it
    /// was. The file keeps its permissions; where the path is a link, the file behind it is replaced.
    ///
    /// Writers of this library wait for each other. A change by another program between the comparison and the
    /// replacement is lost; that is the time of one rename.
    pub(crate) fn replace(&self, text: &str, durability: Durability) -> Result<bool> {
        let failed = |error: &std::io::Error| failure("writing", &self.path, error);
        let path = fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        let folder = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder).map_err(|error| failed(&error))?;
        let lock = File::open(folder).map_err(|error| failed(&error))?;
        let is_alone = wait_for_lock(&lock, &self.path)?;
        if Self::read_path(self.path.clone())?.text != self.text {
            return Ok(false);
        }
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        let mode = match fs::metadata(&path) {
            Ok(metadata) => Some(metadata.permissions()),
            Err(_) => None,
        };
        let write = || {
            let permissions = mode.clone().unwrap_or(Permissions::from_mode(NEW_FILE_MODE));
            let mut file = create_beside(folder, name, permissions, is_alone)?;
            file.write_all(text.as_bytes())?;
            if let Some(mode) = mode {
                file.as_file().set_permissions(mode)?;
            }
            file.as_file().sync_all()?;
            file.persist(&path).map_err(|error| error.error)?;
            match durability {
                Durability::Now => lock.sync_all(),
                Durability::Later => Ok(()),
            }
        };
        write().map_err(|error| failed(&error))?;
        Ok(true)
    }
}

/// Creates the temporary file of a write. A writer that is alone has one name, so that the next write replaces what a killed process has left;
/// without locks, which some network file systems do not have, each writer has a name of its own.
fn create_beside(
    folder: &Path,
    name: &str,
    permissions: Permissions,
    is_alone: bool,
) -> std::io::Result<tempfile::NamedTempFile> {
    let temporary = format!(".{name}.tmp");
    let mut builder = tempfile::Builder::new();
    builder.permissions(permissions).prefix(&temporary);
    if is_alone {
        match fs::remove_file(folder.join(&temporary)) {
            Err(error) if !is_absent(&error) => return Err(error),
            _ => builder.rand_bytes(0),
        };
    }
    builder.tempfile_in(folder)
}

impl SettingsText {
    /// Gives the file the name of another one that does not exist, durably. The file keeps its ending, and a link stays a link.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] when the other one exists.
    pub(crate) fn rename(&self, to: &Self) -> Result<()> {
        let failed = |error: &std::io::Error| failure("renaming", &self.path, error);
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let lock = File::open(folder).map_err(|error| failed(&error))?;
        wait_for_lock(&lock, &self.path)?;
        let ending = self.path.extension().unwrap_or_default();
        let target = to.path.with_extension(ending);
        if fs::symlink_metadata(&target).is_ok() {
            return Err(self.beside(&target));
        }
        let renamed = fs::rename(&self.path, target).and_then(|()| lock.sync_all());
        renamed.map_err(|error| failed(&error))
    }

    /// The error for a file that is not renamed, because another one has the name.
    pub(crate) fn beside(&self, target: &Path) -> Error {
        let text = format!(
            "the settings file {} was not renamed: {} exists as well",
            self.path.display(),
            target.display()
        );
        let hint = "the stack opens once one of both is removed; what only that one has must be in the other";
        Error::new(ErrorKind::Conflict, text).with_hint(hint)
    }
}

/// Locks a folder for writers of settings files. Systems without such locks leave it to the comparison of contents.
fn wait_for_lock(folder: &File, path: &Path) -> Result<bool> {
    for _ in 0..MAX_LOCK_ATTEMPTS {
        match flock(folder, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK | Errno::INTR) => std::thread::sleep(LOCK_PAUSE),
            held => return Ok(held.is_ok()),
        }
    }
    Err(Error::new(
        ErrorKind::Conflict,
        format!(
            "{}: another process has locked the folder for too long",
            path.display()
        ),
    ))
}

fn format_of(ending: &str) -> Format {
    match ending {
        "json" => Format::Json,
        _ => Format::Yaml,
    }
}

fn is_absent(error: &std::io::Error) -> bool {
    matches!(error.kind(), IoErrorKind::NotFound | IoErrorKind::NotADirectory)
}

fn failure(doing: &str, path: &Path, error: &std::io::Error) -> Error {
    Error::new(
        ErrorKind::Unavailable,
        format!("{doing} {}: {error}", path.display()),
    )
}
