//! Opening stacks with the settings of their project.

use std::sync::Arc;

use serde_json::Value;
use stackwright::{
    Engine, Opening, Result, Stack, StackSettings, binding::ProjectFolder, config::ConfigSource,
};

use super::{Project, source::FileSource};
use crate::yaml::Node;

impl Project {
    /// Opens a stack of the project, named `dev`, `shop/dev` or `organization/shop/dev`, according to
    /// [`StackSettings::opening`].
    ///
    /// Configuration, encryption salt and the defaults of declared configuration come from the files, which are read again
    /// by each operation; [`StackSettings::config`] replaces single keys. The folder is the root directory, and the options
    /// of the project's runtime are those of the file, unless the settings have others. Without a program in the settings, the stack
    /// has that of the folder, which each run finds anew, see [`Self::program`].
    ///
    /// # Errors
    /// As [`Engine::stack`] and [`Self::stack_file`]; [`stackwright::ErrorKind::Decrypt`] when the passphrase is not that of
    /// the file's salt, [`stackwright::ErrorKind::Secrets`] when the file names a secrets provider that is not supported, or its key service fails,
    /// [`stackwright::ErrorKind::InvalidInput`] when it imports environments.
    ///
    /// # Cancel safety
    /// As [`Engine::stack`].
    pub async fn stack(&self, name: &str, settings: StackSettings) -> Result<Stack> {
        self.stack_with(name, settings, Vec::new()).await
    }

    /// Returns what supplies the configuration of a stack of this project, by its name within the project: the settings
    /// file of a stack that has it follows its name and its passphrase.
    #[must_use]
    pub fn config_source(&self, stack: &str) -> Arc<dyn ConfigSource> {
        Arc::new(FileSource {
            project: self.clone(),
            stack: stack.to_owned(),
        })
    }

    async fn stack_with(
        &self,
        name: &str,
        mut settings: StackSettings,
        variables: Vec<(String, String)>,
    ) -> Result<Stack> {
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
            files.verify_data_key(&*secrets).await?;
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
        let key_service = settings.key_service.or_else(|| files.stack_file.key_service());
        let settings = StackSettings {
            key_service,
            runtime_options: options,
            root_directory: settings.root_directory.or_else(|| Some(self.folder().to_owned())),
            config_source: Some(Arc::new(source)),
            encryption_salt,
            ..settings
        };
        let has_program = settings.program.is_some();
        let creates = match settings.opening {
            _ if settings.deployment.is_some() => false,
            Opening::AsNeeded => has_program,
            opening => opening != Opening::Select,
        };
        let stack = self.engine().stack(&name, settings).await;
        let stack = stack.map_err(|error| files.explained(error))?;
        if creates && files.needs_data_key(&*secrets).await? {
            // The reference engine's command finds the key service in the file alone.
            self.initialize_secrets(&name, Some(secrets)).await?;
        }
        match has_program {
            true => Ok(stack),
            // One that opening the stack does not create it for: it can be opened to read it.
            false => Ok(stack.with_program(self.later_program(variables).await?)),
        }
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
    project: Option<ProjectFolder>,
    settings: StackSettings,
) -> Result<Stack> {
    match project {
        None => engine.stack(name, settings).await,
        Some(ProjectFolder { folder, environment }) => {
            let project = Project::open(engine, folder).await?;
            let variables = environment.into_iter().collect();
            project.stack_with(name, settings, variables).await
        }
    }
}
