//! A project in a folder: its files, and stacks that are opened with their settings.

mod access;
mod found;
mod open;
mod settings;
mod source;

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use stackwright::{
    Engine, Error, ErrorKind, Result, StackName, secrets::SecretsProvider, urn::check_project_name,
};

use crate::{
    ProjectFile, StackFile,
    file::{Durability, SettingsText},
    yaml::Node,
};

pub use access::{ConfigChange, ConfigEntry};
pub use found::FoundProject;
pub use open::open_stack;

/// The limit of attempts to change a file that other programs change as well.
const MAX_WRITE_ATTEMPTS: usize = 1000;

/// The name of a project file, without its ending.
const PROJECT_STEM: &str = "Pulumi";

/// A project: the folder of a `Pulumi.yaml`, bound to an engine. Cloning is cheap.
///
/// Its files are read again by each call. A call that writes changes only what it names: the rest of the file keeps its
/// bytes, with comments and order. A file is replaced as a whole, never written in part, and a change of another writer in
/// the meantime is read and kept.
#[derive(Clone)]
pub struct Project(Arc<Parts>);

#[derive(Clone)]
struct Parts {
    engine: Engine,
    folder: PathBuf,
    /// Takes the place of the settings files of stacks.
    config_file: Option<PathBuf>,
    parsed: Arc<Mutex<Option<Parsed>>>,
}

/// The project file as it was read last, so that an unchanged one is parsed once.
struct Parsed {
    path: PathBuf,
    content: String,
    file: ProjectFile,
}

impl Project {
    /// Opens the project of a folder. A relative path begins at the working directory.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when the folder has no project file, [`ErrorKind::InvalidInput`] when the file is malformed.
    ///
    /// # Cancel safety
    /// Cancel safe: it only reads.
    ///
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// # use stackwright::{Engine, Result, runtime::Runtime, secrets::PassphraseProvider, store::MemoryStore};
    /// # use tokio::runtime::Handle;
    /// use stackwright::{StackSettings, config::ConfigValue};
    /// use stackwright_project::Project;
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<()> {
    /// # let runtime = Runtime::system(Handle::current());
    /// # let secrets = Arc::new(PassphraseProvider::new("correct horse", runtime.clone()));
    /// # let engine = Engine::builder(Handle::current()).store(Arc::new(MemoryStore::new(runtime))).secrets(secrets).build()?;
    /// # let folder = tempfile::tempdir().expect("a folder");
    /// # std::fs::write(folder.path().join("Pulumi.yaml"), "name: shop\nruntime: python\n").expect("a file");
    /// let project = Project::open(&engine, folder.path()).await?;
    /// project.set_config("dev", "size", ConfigValue::plain("3"), None).await?;
    /// let stack = project.stack("dev", StackSettings::default()).await?;
    /// assert_eq!(stack.name().to_string(), "shop/dev");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn open(engine: &Engine, folder: impl Into<PathBuf>) -> Result<Self> {
        let folder: PathBuf = folder.into();
        let folder = std::path::absolute(&folder)
            .map_err(|error| Error::invalid(format!("{}: {error}", folder.display())))?;
        let project = Self::of(engine, folder, None);
        project.file().await?;
        Ok(project)
    }

    fn of(engine: &Engine, folder: PathBuf, parsed: Option<Parsed>) -> Self {
        Self(Arc::new(Parts {
            engine: engine.clone(),
            folder,
            config_file: None,
            parsed: Arc::new(Mutex::new(parsed)),
        }))
    }

    /// Returns the same project, whose stacks have their settings in `file` instead of `Pulumi.<stack>.yaml`.
    #[must_use]
    pub fn with_config_file(&self, file: impl Into<PathBuf>) -> Self {
        Self(Arc::new(Parts {
            config_file: Some(file.into()),
            ..Parts::clone(&self.0)
        }))
    }

    fn config_file(&self) -> Option<&std::path::Path> {
        self.0.config_file.as_deref()
    }

    /// Returns the folder, as an absolute path.
    #[must_use]
    pub fn folder(&self) -> &std::path::Path {
        &self.0.folder
    }

    /// Returns the engine.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.0.engine
    }

    /// Reads the project file.
    ///
    /// # Errors
    /// As [`Self::open`].
    ///
    /// # Cancel safety
    /// Cancel safe: it only reads.
    pub async fn file(&self) -> Result<ProjectFile> {
        let read = self.clone();
        self.blocking(move || Ok(read.read()?.0)).await
    }

    /// Sets the value at a path of the project file: `description`, `template.config.region`, `config.size.default`.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] when the path is invalid, or when the file would be no project file any more;
    /// [`ErrorKind::Unavailable`] when it cannot be written. The file is then unchanged.
    ///
    /// # Cancel safety
    /// A dropped future leaves the old file or the new one.
    pub async fn set(&self, path: &str, value: &serde_json::Value) -> Result<()> {
        let node = Node::from_json_value(value);
        self.change(path, Some(node)).await.map(drop)
    }

    /// Removes the value at a path of the project file; returns whether there was one.
    ///
    /// # Errors
    /// As [`Self::set`].
    ///
    /// # Cancel safety
    /// As [`Self::set`].
    pub async fn remove(&self, path: &str) -> Result<bool> {
        self.change(path, None).await
    }

    async fn change(&self, path: &str, value: Option<Node>) -> Result<bool> {
        let (project, path) = (self.clone(), path.to_owned());
        self.blocking(move || {
            let mut turn = None;
            for _ in 0..MAX_WRITE_ATTEMPTS {
                let (file, text) = project.read()?;
                let (changed, existed) = file
                    .changed_text(&path, value.clone())
                    .map_err(|error| text.named(error))?;
                if Some(&changed) == text.text.as_ref() || text.replace(&changed, Durability::Now)? {
                    return Ok(existed);
                }
                if turn.is_none() {
                    turn = Some(text.take_turn()?);
                }
            }
            Err(contended(&project.0.folder))
        })
        .await
    }

    /// Reads the settings file of a stack; a missing one is empty.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for an invalid name, and for a malformed file, with its path and the place.
    ///
    /// # Cancel safety
    /// Cancel safe: it only reads.
    pub async fn stack_file(&self, stack: &str) -> Result<StackFile> {
        Ok(self.settings_of(stack).await?.stack_file)
    }

    /// Returns the path of the project file.
    ///
    /// # Errors
    /// As [`Self::open`].
    ///
    /// # Cancel safety
    /// Cancel safe: it only reads.
    pub async fn path(&self) -> Result<PathBuf> {
        let project = self.clone();
        self.blocking(move || Ok(project.read()?.1.path)).await
    }

    /// Reads the settings file of a stack, with its path, and whether there is such a file.
    ///
    /// # Errors
    /// As [`Self::stack_file`].
    ///
    /// # Cancel safety
    /// Cancel safe: it only reads.
    pub async fn stack_file_at(&self, stack: &str) -> Result<(StackFile, PathBuf, bool)> {
        let settings = self.settings_of(stack).await?;
        let exists = settings.text.text.is_some();
        Ok((settings.stack_file, settings.text.path, exists))
    }

    /// Reads the project file with its text.
    fn read(&self) -> Result<(ProjectFile, SettingsText)> {
        let folder = &self.0.folder;
        let text = SettingsText::read(folder, PROJECT_STEM, None)?;
        let Some(content) = &text.text else {
            let message = format!("no Pulumi.yaml project file found in {}", folder.display());
            return Err(Error::new(ErrorKind::NotFound, message));
        };
        let mut parsed = self.0.parsed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = &*parsed
            && (&before.path, &before.content) == (&text.path, content)
        {
            return Ok((before.file.clone(), text));
        }
        let file = ProjectFile::parse_as(content, text.format).map_err(|error| text.named(error))?;
        *parsed = Some(Parsed {
            path: text.path.clone(),
            content: content.clone(),
            file: file.clone(),
        });
        Ok((file, text))
    }

    /// Runs work on files.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.0.engine.runtime().spawner.spawn_brief(work).await?
    }

    /// Returns the given secrets provider, or the engine's.
    fn secrets(&self, given: Option<Arc<dyn SecretsProvider>>) -> Arc<dyn SecretsProvider> {
        given.unwrap_or_else(|| self.0.engine.secrets())
    }
}

impl std::fmt::Debug for Project {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Project")
            .field("folder", &self.0.folder)
            .finish_non_exhaustive()
    }
}

/// Returns the full name of a stack of a project: `dev`, `shop/dev` or `organization/shop/dev`.
///
/// # Errors
/// [`ErrorKind::InvalidInput`] when the name is invalid or names another project.
fn stack_name(project: &str, name: &str) -> Result<StackName> {
    check_project_name(project)?;
    if name.contains('/') {
        let parsed = StackName::parse(name)?;
        if parsed.project() != project {
            return Err(Error::invalid(format!(
                "provided project name {:?} doesn't match Pulumi.yaml, whose project is {project:?}",
                parsed.project()
            )));
        }
        return Ok(parsed);
    }
    StackName::parse(&format!("{project}/{name}"))
}

fn contended(path: &std::path::Path) -> Error {
    Error::new(
        ErrorKind::Conflict,
        format!(
            "{}: another program changes the file all the time",
            path.display()
        ),
    )
}

#[cfg(test)]
mod kept_tests;
#[cfg(test)]
mod key_service_tests;
#[cfg(test)]
mod tests;
