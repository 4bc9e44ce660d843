//! The configuration of a stack's operations, read from the files when each begins.

use async_trait::async_trait;
use stackwright::{
    Result,
    config::{Config, ConfigKey, ConfigSource, LoadedConfig, RekeyedConfig},
};

use super::Project;

/// The value of `options.refresh` with which updates and destroys refresh first.
const ALWAYS: &str = "always";

/// Reads the configuration of one stack.
pub(super) struct FileSource {
    pub(super) project: Project,
    /// The name within the project.
    pub(super) stack: String,
}

#[async_trait]
impl ConfigSource for FileSource {
    async fn load(&self, given: &Config, runs_program: bool) -> Result<LoadedConfig> {
        let settings = self.project.settings_of(&self.stack).await?;
        settings.check_environment()?;
        let mut config = settings.stack_file.config.clone();
        for (key, value) in given.iter() {
            // Keys without a namespace belong to the project, which the host need not name.
            let key = match key.namespace() {
                "" => ConfigKey::new(settings.project.name.as_str(), key.name()),
                _ => key.clone(),
            };
            config.insert(key, value.clone());
        }
        match runs_program {
            true => {
                settings.project.check_required_version()?;
                settings
                    .project
                    .apply_declarations(settings.name.stack(), &mut config)?;
            }
            // Without a program, a value that is missing does no harm, and a destroy must not fail for it.
            false => settings.project.apply_defaults(&mut config)?,
        }
        Ok(LoadedConfig {
            config,
            key_service: settings.stack_file.key_service(),
            encryption_salt: settings.stack_file.encryption_salt,
            refresh: settings.project.refresh.as_deref() == Some(ALWAYS),
        })
    }

    async fn kept(&self) -> Result<Option<LoadedConfig>> {
        let file = self.project.settings_of(&self.stack).await?.stack_file;
        Ok(Some(LoadedConfig {
            key_service: file.key_service(),
            config: file.config,
            encryption_salt: file.encryption_salt,
            refresh: false,
        }))
    }

    async fn rekey(&self, change: &RekeyedConfig) -> Result<()> {
        self.project.rekey(&self.stack, change).await
    }

    async fn is_renamed(&self, from: &str, to: &str) -> Result<bool> {
        self.project.is_renamed(from, to).await
    }

    async fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.project.rename_settings(from, to).await
    }
}
