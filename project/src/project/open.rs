//! Opening stacks with the settings of their project.

use std::{path::PathBuf, sync::Arc};

use serde_json::Value;
use stackwright::{Engine, Result, Stack, StackSettings};

use super::{Project, source::FileSource};
use crate::yaml::Node;

impl Project {
    /// Opens a stack of the project, named `dev`, `shop/dev` or `organization/shop/dev`, according to
    /// [`StackSettings::opening`].
    ///
    /// Configuration, encryption salt and the defaults of declared configuration come from the files, which are read again
    /// by each operation; [`StackSettings::config`] replaces single keys. The folder is the root directory, and the options
    /// of the project's runtime are those of the file, unless the settings have others.
    ///
    /// # Errors
    /// As [`Engine::stack`] and [`Self::stack_file`]; [`stackwright::ErrorKind::Decrypt`] when the passphrase is not that of
    /// the file's salt, [`stackwright::ErrorKind::Secrets`] when the file names a secrets provider that is not supported,
    /// [`stackwright::ErrorKind::InvalidInput`] when it imports environments.
    ///
    /// # Cancel safety
    /// As [`Engine::stack`].
    pub async fn stack(&self, name: &str, mut settings: StackSettings) -> Result<Stack> {
        let mut files = self.settings_of(name).await?;
        let source = FileSource {
            project: self.clone(),
            stack: files.name.stack().to_owned(),
        };
        if settings.deployment.is_none() {
            // The file of an interrupted change has the former name, or the salt of the former passphrase.
            self.engine()
                .settle_config(&files.name.to_string(), &source)
                .await?;
            files = self.settings_of(name).await?;
        }
        files.check_environment()?;
        let secrets = self.secrets(settings.secrets.clone());
        files.check_secrets_provider(&*secrets).await?;
        if secrets.verifies_key() {
            files.verify_salt(self, &*secrets).await?;
        }
        let options = files.project.runtime.options.iter();
        let mut options: std::collections::BTreeMap<String, Value> = options
            .map(|(name, node): (&String, &Node)| (name.clone(), node.to_json_value()))
            .collect();
        options.append(&mut settings.runtime_options);
        let name = files.name.to_string();
        let encryption_salt = settings
            .encryption_salt
            .or_else(|| files.stack_file.encryption_salt.clone());
        let settings = StackSettings {
            runtime_options: options,
            root_directory: settings.root_directory.or_else(|| Some(self.folder().to_owned())),
            config_source: Some(Arc::new(source)),
            encryption_salt,
            ..settings
        };
        let opened = self.engine().stack(&name, settings).await;
        opened.map_err(|error| files.explained(error))
    }
}

/// Opens a stack for a binding: with the settings of a project when its folder is given.
///
/// # Errors
/// As [`Engine::stack`], [`Project::open`] and [`Project::stack`].
///
/// # Cancel safety
/// As [`Engine::stack`].
pub async fn open_stack(
    engine: &Engine,
    name: &str,
    project: Option<PathBuf>,
    settings: StackSettings,
) -> Result<Stack> {
    match project {
        None => engine.stack(name, settings).await,
        Some(folder) => Project::open(engine, folder).await?.stack(name, settings).await,
    }
}
