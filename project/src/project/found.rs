//! Project files that are looked for from a folder upwards.

use std::path::{Path, PathBuf};

use stackwright::{Engine, Result};

use super::{PROJECT_STEM, Parsed, Project};
use crate::{ProjectFile, file::SettingsText};

/// A project file that was found, and what it contains: for what is needed before there is an engine, such as the store.
#[derive(Clone, Debug)]
pub struct FoundProject {
    /// The path of the file.
    pub path: PathBuf,
    /// Its content.
    pub file: ProjectFile,
    text: String,
}

impl FoundProject {
    /// Looks for a project file in a folder and in those above it. Folders that cannot be looked into have none.
    ///
    /// # Errors
    /// [`stackwright::ErrorKind::InvalidInput`] when the file is malformed, [`stackwright::ErrorKind::Unavailable`] when it cannot be
    /// read.
    pub fn above(folder: &Path) -> Result<Option<Self>> {
        for folder in folder.ancestors() {
            let found = match SettingsText::read(folder, PROJECT_STEM, None) {
                Ok(found) => found,
                Err(_) if !SettingsText::exists(folder, PROJECT_STEM) => continue,
                Err(error) => return Err(error),
            };
            let Some(text) = &found.text else { continue };
            let file = ProjectFile::parse_as(text, found.format).map_err(|error| found.named(error))?;
            return Ok(Some(Self {
                file,
                text: text.clone(),
                path: found.path,
            }));
        }
        Ok(None)
    }

    /// Returns the folder of the file.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }

    /// Binds the project to an engine. A file that has not changed since is not parsed again.
    #[must_use]
    pub fn open(&self, engine: &Engine) -> Project {
        let parsed = Parsed {
            path: self.path.clone(),
            content: self.text.clone(),
            file: self.file.clone(),
        };
        Project::of(engine, self.folder().to_owned(), Some(parsed))
    }
}
