//! The settings of a stack: project file, settings file, and the secrets manager of its configuration.

use std::{path::PathBuf, sync::Arc};

use serde_json::json;
use stackwright::{
    Error, ErrorKind, Result, StackName,
    secrets::{
        KeyService, SecretsManager, SecretsProvider,
        kind::{ENCODED, KEY_SERVICE, PASSPHRASE, is_passphrase},
    },
};

use super::{Project, stack_name};
use crate::{ProjectFile, StackFile, file::SettingsText, yaml::Node};

/// The hint for settings that need a passphrase.
const NEEDS_PASSPHRASE: &str = "give the engine, or this stack, the passphrase of the settings file";

/// Returns the name of a stack's settings file without its ending.
fn stem(stack: &str) -> String {
    format!("Pulumi.{stack}")
}

/// The files of a stack, as they were read.
pub(super) struct Settings {
    pub(super) name: StackName,
    pub(super) project: ProjectFile,
    pub(super) stack_file: StackFile,
    pub(super) text: SettingsText,
}

impl Project {
    /// Reads the files of a stack.
    pub(super) async fn settings_of(&self, stack: &str) -> Result<Settings> {
        let (project, stack) = (self.clone(), stack.to_owned());
        self.blocking(move || project.read_settings(&stack)).await
    }

    /// Returns whether a stack has a settings file, for a renaming of the stack.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] when there is one of the new name.
    pub(super) async fn is_renamed(&self, from: &str, to: &str) -> Result<bool> {
        // A file that the host has named serves any stack.
        if self.config_file().is_some() {
            return Ok(false);
        }
        let (from, to) = (self.settings_text(from).await?, self.settings_text(to).await?);
        if from.text.is_none() {
            return Ok(false);
        }
        match to.text {
            None => Ok(true),
            Some(_) => {
                let text = format!("the settings file {} exists already", to.path.display());
                let hint = "once it is removed, or has another name, the stack can be renamed";
                Err(Error::new(ErrorKind::Conflict, text).with_hint(hint))
            }
        }
    }

    /// Gives the settings file of a stack the stack's new name, unless it has that already.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] when there are files of both names.
    pub(super) async fn rename_settings(&self, from: &str, to: &str) -> Result<()> {
        if self.config_file().is_some() {
            return Ok(());
        }
        let (from, to) = (self.settings_text(from).await?, self.settings_text(to).await?);
        if from.text.is_none() {
            return Ok(());
        }
        if to.text.is_some() {
            return Err(from.beside(&to.path));
        }
        self.blocking(move || from.rename(&to)).await
    }

    async fn settings_text(&self, stack: &str) -> Result<SettingsText> {
        let (project, stack) = (self.clone(), stack.to_owned());
        self.blocking(move || {
            let (file, text) = project.read()?;
            SettingsText::read(&project.settings_folder(&file), &stem(&stack), text.ending())
        })
        .await
    }

    fn settings_folder(&self, file: &ProjectFile) -> PathBuf {
        match &file.stack_config_dir {
            Some(inner) => self.folder().join(inner),
            None => self.folder().to_owned(),
        }
    }

    fn read_settings(&self, stack: &str) -> Result<Settings> {
        let (project, project_text) = self.read()?;
        let name = stack_name(&project.name, stack)?;
        let text = match self.config_file() {
            Some(file) => SettingsText::read_path(file.to_owned())?,
            None => {
                let folder = self.settings_folder(&project);
                SettingsText::read(&folder, &stem(name.stack()), project_text.ending())?
            }
        };
        let content = text.text.as_deref().unwrap_or_default();
        let stack_file = StackFile::parse_as(content, text.format, Some(&project.name))
            .map_err(|error| text.named(error))?;
        Ok(Settings {
            name,
            project,
            stack_file,
            text,
        })
    }
}

impl Settings {
    /// Refuses settings that this library does not act on: imported environments.
    pub(super) fn check_environment(&self) -> Result<()> {
        let names = match &self.stack_file.environment {
            None => return Ok(()),
            Some(Node::Sequence(names)) if names.is_empty() => return Ok(()),
            Some(node) if node.is_null() => return Ok(()),
            Some(Node::Sequence(names)) => names
                .iter()
                .map(|name| name.as_text().unwrap_or("an inline one").to_owned())
                .collect::<Vec<_>>()
                .join(", "),
            Some(_) => "an inline one".to_owned(),
        };
        let message = format!(
            "{}: the stack imports environments ({names}), and this engine opens none: Pulumi ESC is not supported",
            self.text.path.display()
        );
        Err(Error::invalid(message)
            .with_hint("set what the environments give as configuration, and remove `environment`"))
    }

    /// Refuses a secrets provider that neither a passphrase nor the host's own encryption replaces.
    pub(super) async fn check_secrets_provider(&self, secrets: &dyn SecretsProvider) -> Result<()> {
        let Some(named) = self.stack_file.secrets_provider.as_deref() else {
            return Ok(());
        };
        if is_passphrase(named) {
            return Ok(());
        }
        if let Some(service) = self.stack_file.key_service()
            && secrets.for_key_service(&service.url).is_some()
        {
            return Ok(());
        }
        let kind = secrets.create().await?.kind().to_owned();
        if matches!(kind.as_str(), PASSPHRASE | ENCODED) {
            return Err(self.unsupported(named));
        }
        Ok(())
    }

    fn unsupported(&self, named: &str) -> Error {
        // What follows the scheme can be the name of a key.
        let scheme = named.split(':').next().unwrap_or(named);
        let message = format!(
            "{}: the secrets provider {scheme:?} is not supported: there is no client of key services here; the Automation API of the packages for Python \
             and Node makes one from the URL",
            self.text.path.display()
        );
        Error::new(ErrorKind::Secrets, message)
            .with_hint("pass a client of the key service, or the host's own encryption, as `secrets` of the stack or of the engine")
    }

    /// Opens the manager of the file's salt; `None` for a file without one.
    ///
    /// # Errors
    /// [`ErrorKind::Decrypt`] when the passphrase is wrong.
    pub(super) async fn salt_manager(
        &self,
        secrets: &dyn SecretsProvider,
    ) -> Result<Option<Arc<dyn SecretsManager>>> {
        let opened = self.open_salt(secrets).await;
        opened.map_err(|error| error.with_hint(NEEDS_PASSPHRASE))
    }

    async fn open_salt(&self, secrets: &dyn SecretsProvider) -> Result<Option<Arc<dyn SecretsManager>>> {
        let Some(salt) = &self.stack_file.encryption_salt else {
            return Ok(None);
        };
        let opened = secrets.open(PASSPHRASE, Some(&json!({ "salt": salt }))).await;
        opened.map(Some).map_err(|error| self.text.named(error))
    }

    /// Fails when the passphrase with which a stack is opened is not that of the file's salt. Without the right key, every encrypted
    /// value would fail later.
    ///
    /// # Errors
    /// [`ErrorKind::Decrypt`], with the way out where the state has the passphrase.
    pub(super) async fn verify_salt(&self, project: &Project, secrets: &dyn SecretsProvider) -> Result<()> {
        let Err(error) = self.open_salt(secrets).await else {
            return Ok(());
        };
        let of_state = project
            .engine()
            .secrets_manager(&self.name.to_string(), secrets)
            .await;
        let has_key =
            matches!(of_state, Ok(Some(manager)) if manager.kind() == PASSPHRASE && manager.is_open());
        Err(match has_key && error.kind() == ErrorKind::Decrypt {
            true => error.with_hint(self.other_key(true)),
            false => error.with_hint(NEEDS_PASSPHRASE),
        })
    }

    /// Fails when the data key of the file is not unwrapped, before an encrypted value fails.
    ///
    /// # Errors
    /// [`ErrorKind::Decrypt`], with the URL of the key service.
    pub(super) async fn verify_data_key(&self, secrets: &dyn SecretsProvider) -> Result<()> {
        match self.stack_file.key_service() {
            Some(service) if service.encrypted_key.is_some() => {
                let opened = service.manager(secrets).await;
                opened.map(drop).map_err(|error| self.text.named(error))
            }
            _ => Ok(()),
        }
    }

    /// Returns whether a key service is to encrypt for the stack, and the file has no data key yet.
    pub(super) async fn needs_data_key(&self, secrets: &dyn SecretsProvider) -> Result<bool> {
        if self.stack_file.encryption_salt.is_some() || secrets.for_key_service("").is_none() {
            return Ok(false);
        }
        match self.stack_file.key_service() {
            Some(service) => Ok(service.encrypted_key.is_none()),
            None => Ok(secrets.create().await?.kind() == KEY_SERVICE),
        }
    }

    /// Adds the way out to the error of a stack whose state has another passphrase than its file, with which it was opened.
    pub(super) fn explained(&self, error: Error) -> Error {
        match error.kind() == ErrorKind::Decrypt && self.stack_file.encryption_salt.is_some() {
            true => error.with_hint(self.other_key(false)),
            false => error,
        }
    }

    /// Returns the way out where state and file have different passphrases. The given one opens the state, or else the file.
    fn other_key(&self, opens_state: bool) -> String {
        let state = format!("the state of stack '{}'", self.name);
        let file = self.text.path.display().to_string();
        let (opened, other) = if opens_state {
            (&state, &file)
        } else {
            (&file, &state)
        };
        format!(
            "{opened} has this passphrase, and {other} another one, as after change_secrets() of a stack that was opened without its \
             project folder: open '{}' without the folder, with the passphrase of the state, and change_secrets() to that of the file; \
             then it opens with the folder again, and change_secrets() changes both",
            self.name
        )
    }

    /// Returns the manager that decrypts the file: that of its salt or data key, that of the stack's state, or the host's own.
    pub(super) async fn manager(
        &self,
        project: &Project,
        secrets: &dyn SecretsProvider,
    ) -> Result<Arc<dyn SecretsManager>> {
        if let Some(manager) = self.salt_manager(secrets).await? {
            return Ok(manager);
        }
        self.check_secrets_provider(secrets).await?;
        let service = self.stack_file.key_service();
        if let Some(service) = service.as_ref().filter(|service| service.encrypted_key.is_some())
            && let Some(manager) = service
                .manager(secrets)
                .await
                .map_err(|error| self.text.named(error))?
        {
            return Ok(manager);
        }
        let name = self.name.to_string();
        match project.engine().secrets_manager(&name, secrets).await? {
            Some(manager) if manager.kind() != ENCODED => Ok(manager),
            _ => match service {
                // The file names the key service of a stack that has no data key yet.
                Some(service) => match service.manager(secrets).await? {
                    Some(manager) => Ok(manager),
                    None => secrets.create().await,
                },
                None => secrets.create().await,
            },
        }
    }

    /// Returns the manager that encrypts new values, and enters its salt into the file when that has none.
    ///
    /// # Errors
    /// [`ErrorKind::Secrets`] when nothing encrypts; [`ErrorKind::Decrypt`] when the passphrase is wrong.
    pub(super) async fn encrypting_manager(
        &mut self,
        project: &Project,
        secrets: &dyn SecretsProvider,
    ) -> Result<Arc<dyn SecretsManager>> {
        let manager = self.manager(project, secrets).await?;
        match manager.kind() {
            ENCODED => {
                let message = format!(
                    "{}: a secret needs encryption, and the engine has no passphrase",
                    self.text.path.display()
                );
                Err(Error::new(ErrorKind::Secrets, message).with_hint(NEEDS_PASSPHRASE))
            }
            _ => {
                self.enter_key(&*manager, secrets).await?;
                Ok(manager)
            }
        }
    }

    /// Enters the salt of a passphrase, or the data key of a key service, into the file when that has none. Other managers need no
    /// entry.
    pub(super) async fn enter_key(
        &mut self,
        manager: &dyn SecretsManager,
        secrets: &dyn SecretsProvider,
    ) -> Result<()> {
        let file = &mut self.stack_file;
        if manager.kind() == KEY_SERVICE && secrets.for_key_service("").is_some() {
            let has_key = file
                .key_service()
                .is_some_and(|service| service.encrypted_key.is_some());
            if !has_key {
                manager.ready().await?;
                let service = KeyService::of_manager(manager);
                let service =
                    service.ok_or_else(|| Error::internal("the secrets manager has no data key"))?;
                file.name_key_service(service);
            }
            return Ok(());
        }
        if manager.kind() != PASSPHRASE || file.encryption_salt.is_some() {
            return Ok(());
        }
        manager.ready().await?;
        let state = manager.state();
        let salt = state.as_ref().and_then(|state| state.get("salt")?.as_str());
        let salt = salt.ok_or_else(|| Error::internal("the secrets manager has no salt"))?;
        self.stack_file.encryption_salt = Some(salt.to_owned());
        Ok(())
    }
}
