//! Reading and changing the configuration in a stack's settings file.

use std::{collections::BTreeMap, sync::Arc};

use stackwright::{
    Error, ErrorKind, Result,
    binding::nearest_names,
    config::{Config, ConfigKey, ConfigValue, DecryptedConfig, RekeyedConfig},
    secrets::SecretsProvider,
};

use super::{MAX_WRITE_ATTEMPTS, Project, contended, settings::Settings};
use crate::file::Durability;

/// A value of a stack's configuration. `Debug` does not show secrets.
#[derive(Clone, Debug)]
pub struct ConfigEntry {
    /// The value, with decrypted secrets; `None` for a secret that is not shown.
    pub value: Option<ConfigValue>,
    /// Whether the value is secret, or holds a secret.
    pub secret: bool,
}

/// A new value at a path of a stack's configuration. `Debug` does not show secrets.
#[derive(Clone, Debug)]
pub struct ConfigChange {
    /// The path: `size`, `aws:tags["a"].b[0]`.
    pub path: String,
    /// The value.
    pub value: ConfigValue,
    /// Whether it is encrypted. With `None`, a value is that is marked as a secret, whose key is declared as one, or that replaces a
    /// secret; with `false`, only a marked one.
    pub secret: Option<bool>,
}

impl ConfigEntry {
    fn new(value: ConfigValue, shows_secrets: bool) -> Self {
        let secret = value.is_secure();
        Self {
            value: (shows_secrets || !secret).then_some(value),
            secret,
        }
    }
}

impl Project {
    /// Returns the value at a path of a stack's configuration (`size`, `aws:tags["a"].b[0]`), decrypted. Keys without a
    /// namespace are the project's own. Defaults of declared keys count. `secrets` opens the file instead of the engine's
    /// provider; only a secret value needs it.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when there is no value; [`ErrorKind::InvalidInput`] for an invalid path or name, and for a
    /// malformed file; [`ErrorKind::Decrypt`] when the passphrase is wrong.
    ///
    /// # Cancel safety
    /// Cancel safe: it only reads.
    pub async fn get_config(
        &self,
        stack: &str,
        path: &str,
        secrets: Option<Arc<dyn SecretsProvider>>,
    ) -> Result<ConfigEntry> {
        let settings = self.settings_of(stack).await?;
        let config = with_defaults(&settings)?;
        let project = settings.project.name.as_str();
        let missing = || missing(&settings, &config, path);
        let value = config.get_path(path, project)?.ok_or_else(missing)?;
        let single: Config = [(ConfigKey::new(project, "value"), value.clone())]
            .into_iter()
            .collect();
        if !value.is_secure() {
            return Ok(ConfigEntry::new(value.clone(), true));
        }
        let decrypted = self
            .decrypted(&settings, &single, secrets)
            .await
            .map_err(|error| {
                let message = error.message().replace(&format!("{project}:value"), path);
                Error::new(error.kind(), message).with_config_key(path)
            })?;
        let (_, entry) = decrypted.iter().next().ok_or_else(missing)?;
        Ok(ConfigEntry::new(entry.value().clone(), true))
    }

    /// Returns the configuration of a stack by key, sorted, with the defaults of declared keys. Secrets are left out of the
    /// entries unless they are to be shown; only then is a secrets provider used.
    ///
    /// # Errors
    /// As [`Self::get_config`], except for missing values.
    ///
    /// # Cancel safety
    /// Cancel safe: it only reads.
    pub async fn list_config(
        &self,
        stack: &str,
        show_secrets: bool,
        secrets: Option<Arc<dyn SecretsProvider>>,
    ) -> Result<BTreeMap<ConfigKey, ConfigEntry>> {
        let settings = self.settings_of(stack).await?;
        let config = with_defaults(&settings)?;
        self.entries(&settings, &config, show_secrets, secrets).await
    }

    /// As [`Self::list_config`], for a configuration that is kept elsewhere, in a history for instance, and was encrypted by the
    /// stack's secrets manager. It has no defaults.
    ///
    /// # Errors
    /// As [`Self::list_config`].
    ///
    /// # Cancel safety
    /// Cancel safe: it only reads.
    pub async fn list_kept_config(
        &self,
        stack: &str,
        config: &Config,
        show_secrets: bool,
        secrets: Option<Arc<dyn SecretsProvider>>,
    ) -> Result<BTreeMap<ConfigKey, ConfigEntry>> {
        let settings = self.settings_of(stack).await?;
        self.entries(&settings, config, show_secrets, secrets).await
    }

    async fn entries(
        &self,
        settings: &Settings,
        config: &Config,
        show_secrets: bool,
        secrets: Option<Arc<dyn SecretsProvider>>,
    ) -> Result<BTreeMap<ConfigKey, ConfigEntry>> {
        if !show_secrets {
            let entries = config.iter();
            let entries = entries.map(|(key, value)| (key.clone(), ConfigEntry::new(value.clone(), false)));
            return Ok(entries.collect());
        }
        let decrypted = self.decrypted(settings, config, secrets).await?;
        let entries = decrypted.iter();
        Ok(entries
            .map(|(key, entry)| (key.clone(), ConfigEntry::new(entry.value().clone(), true)))
            .collect())
    }

    async fn decrypted(
        &self,
        settings: &Settings,
        config: &Config,
        secrets: Option<Arc<dyn SecretsProvider>>,
    ) -> Result<DecryptedConfig> {
        if !config.is_encrypted() {
            return config.in_the_clear();
        }
        let manager = settings.manager(self, &*self.secrets(secrets)).await?;
        config.decrypt(&*manager).await
    }

    /// Sets the value at a path of a stack's configuration; missing structures, and the file, are created. Inside a
    /// structure, a text that has the form of a boolean or an integer becomes one.
    ///
    /// A secret is encrypted with the manager of the file's salt. A file without a salt gets that of the stack's state, or a
    /// new one. A value of a key that is declared as secret is encrypted also when it is not marked as one.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for an invalid path or name, for null or a number without a JSON form, for a value of another type
    /// than the declared one, and for a malformed file; [`ErrorKind::Decrypt`] when the
    /// passphrase is wrong, [`ErrorKind::Secrets`] when a secret cannot be encrypted; [`ErrorKind::Unavailable`] when the
    /// file cannot be written. The file is then unchanged.
    ///
    /// # Cancel safety
    /// A dropped future leaves the old file or the new one.
    pub async fn set_config(
        &self,
        stack: &str,
        path: &str,
        value: ConfigValue,
        secrets: Option<Arc<dyn SecretsProvider>>,
    ) -> Result<()> {
        self.set_all_config(stack, vec![(path.to_owned(), value)], None, secrets)
            .await
    }

    /// As [`Self::set_config`] for several values, in one write. With `secret`, all of them are secrets, or none that is not
    /// marked as one, regardless of the declarations.
    ///
    /// # Errors
    /// As [`Self::set_config`].
    ///
    /// # Cancel safety
    /// As [`Self::set_config`].
    pub async fn set_all_config(
        &self,
        stack: &str,
        values: Vec<(String, ConfigValue)>,
        secret: Option<bool>,
        secrets: Option<Arc<dyn SecretsProvider>>,
    ) -> Result<()> {
        let values = values.into_iter();
        let changes = values.map(|(path, value)| ConfigChange { path, value, secret });
        self.change_config(stack, changes.collect(), secrets).await
    }

    /// As [`Self::set_all_config`], with values that are secrets or none each for itself.
    ///
    /// # Errors
    /// As [`Self::set_config`].
    ///
    /// # Cancel safety
    /// As [`Self::set_config`].
    pub async fn change_config(
        &self,
        stack: &str,
        changes: Vec<ConfigChange>,
        secrets: Option<Arc<dyn SecretsProvider>>,
    ) -> Result<()> {
        let change = Change::Set {
            changes,
            secrets: self.secrets(secrets),
        };
        self.write_config(stack, &change).await.map(drop)
    }

    /// Removes the values at paths of a stack's configuration, in one write; returns how many there were.
    ///
    /// # Errors
    /// As [`Self::set_config`], except for secrets.
    ///
    /// # Cancel safety
    /// As [`Self::set_config`].
    pub async fn remove_config(&self, stack: &str, paths: &[String]) -> Result<usize> {
        self.write_config(stack, &Change::Remove(paths)).await
    }

    /// Replaces the whole configuration of a stack. Its secrets are encrypted, or are encrypted as in [`Self::set_config`].
    ///
    /// # Errors
    /// As [`Self::set_config`].
    ///
    /// # Cancel safety
    /// As [`Self::set_config`].
    pub async fn replace_config(
        &self,
        stack: &str,
        config: Config,
        secrets: Option<Arc<dyn SecretsProvider>>,
    ) -> Result<()> {
        let change = Change::Replace {
            config,
            secrets: self.secrets(secrets),
        };
        self.write_config(stack, &change).await.map(drop)
    }

    /// Enters the salt of a passphrase, or the data key of a key service, into the settings file of a stack that has none, and creates
    /// the file. Other kinds of secrets managers need no entry.
    ///
    /// # Errors
    /// [`ErrorKind::Decrypt`] when the passphrase is wrong; [`ErrorKind::Secrets`] when the key service does not wrap the key; [`ErrorKind::Unavailable`] when the file cannot be written.
    ///
    /// # Cancel safety
    /// As [`Self::set_config`].
    pub async fn initialize_secrets(
        &self,
        stack: &str,
        secrets: Option<Arc<dyn SecretsProvider>>,
    ) -> Result<()> {
        let change = Change::Initialize(self.secrets(secrets));
        self.write_config(stack, &change).await.map(drop)
    }

    /// Gives the settings file of a stack the salt and the ciphertexts of its new secrets manager. A file that has them already stays.
    pub(super) async fn rekey(&self, stack: &str, change: &RekeyedConfig) -> Result<()> {
        self.write_config(stack, &Change::Rekey(change)).await.map(drop)
    }

    /// Changes the settings file of a stack; starts again when another writer was first. Returns the number of removed
    /// values.
    async fn write_config(&self, stack: &str, change: &Change<'_>) -> Result<usize> {
        let mut turn = None;
        for attempt in 0..MAX_WRITE_ATTEMPTS {
            if attempt > 0 && turn.is_none() {
                let project = self.clone();
                // From here on only writers that have not waited yet can be first.
                turn = Some(self.blocking(move || project.read()?.1.take_turn()).await?);
            }
            let mut settings = self.settings_of(stack).await?;
            let former = settings.stack_file.encryption();
            let removed = change.apply(self, &mut settings).await?;
            let Settings { stack_file, text, .. } = settings;
            let durability = if stack_file.encryption() == former {
                Durability::Later
            } else {
                Durability::Now
            };
            let changed = stack_file.to_text().map_err(|error| text.named(error))?;
            let is_same = match &text.text {
                Some(before) => *before == changed,
                None => stack_file.is_empty(),
            };
            if is_same || self.blocking(move || text.replace(&changed, durability)).await? {
                return Ok(removed);
            }
        }
        Err(contended(self.folder()))
    }
}

/// A change of a stack's configuration.
enum Change<'a> {
    Set {
        changes: Vec<ConfigChange>,
        secrets: Arc<dyn SecretsProvider>,
    },
    Replace {
        config: Config,
        secrets: Arc<dyn SecretsProvider>,
    },
    Initialize(Arc<dyn SecretsProvider>),
    Remove(&'a [String]),
    Rekey(&'a RekeyedConfig),
}

impl Change<'_> {
    /// Makes the change; returns the number of removed values.
    async fn apply(&self, project: &Project, settings: &mut Settings) -> Result<usize> {
        let mut config = settings.stack_file.config.clone();
        let name = settings.project.name.as_str();
        let mut removed = 0;
        match self {
            Self::Set { changes, secrets } => {
                for ConfigChange { path, value, secret } in changes {
                    refuse_valueless(path, value)?;
                    let was_secret =
                        matches!(config.get_path(path, name), Ok(Some(former)) if former.is_secure());
                    let value =
                        match secret.unwrap_or_else(|| was_secret || is_declared_secret(settings, path)) {
                            true => value.clone().into_secret()?,
                            false => value.clone(),
                        };
                    config.set_path(path, name, value)?;
                }
                if changes.iter().any(|change| change.value.is_secure()) || config.has_plaintext_secrets() {
                    let manager = settings.encrypting_manager(project, &**secrets).await?;
                    config.seal(&*manager).await?;
                }
            }
            Self::Replace {
                config: replacement,
                secrets,
            } => {
                config = replacement.clone();
                if config.has_plaintext_secrets() {
                    let manager = settings.encrypting_manager(project, &**secrets).await?;
                    config.seal(&*manager).await?;
                }
            }
            Self::Initialize(secrets) => {
                let manager = settings.manager(project, &**secrets).await?;
                settings.enter_key(&*manager, &**secrets).await?;
            }
            Self::Remove(paths) => {
                for path in *paths {
                    removed += usize::from(config.remove_path(path, name)?.is_some());
                }
            }
            Self::Rekey(change) => {
                config.rekey(change).map_err(|error| settings.text.named(error))?;
                let file = &mut settings.stack_file;
                if change.drops_key_service && change.encryption_salt.is_none() {
                    file.drop_key_service();
                }
                match &change.key_service {
                    Some(service) => file.name_key_service(service.clone()),
                    None => file.name_passphrase(change.encryption_salt.clone()),
                }
            }
        }
        settings.stack_file.config = config;
        Ok(removed)
    }
}

/// Returns the configuration of the file, with the defaults of the project.
fn with_defaults(settings: &Settings) -> Result<Config> {
    let mut config = settings.stack_file.config.clone();
    settings.project.apply_defaults(&mut config)?;
    Ok(config)
}

/// Refuses what is no value: null, and numbers that JSON does not have.
fn refuse_valueless(path: &str, value: &ConfigValue) -> Result<()> {
    fn has_no_json(value: &ConfigValue) -> bool {
        match value {
            ConfigValue::Float(number) => !number.is_finite(),
            ConfigValue::List(items) => items.iter().any(has_no_json),
            ConfigValue::Object(members) => members.values().any(has_no_json),
            _ => false,
        }
    }
    let why = match value {
        ConfigValue::Null => "null is no value; remove_config() (removeConfig() in Node) removes one",
        value if has_no_json(value) => "a number is finite",
        _ => return Ok(()),
    };
    Err(Error::invalid(format!("configuration {path}: {why}")).with_config_key(path))
}

/// How many stacks with a settings file, and how many similar keys, a hint names.
const MAX_HINTED_NAMES: usize = 5;

/// The error for a path without a value: a missing settings file and similar keys are hints.
fn missing(settings: &Settings, config: &Config, path: &str) -> Error {
    let (stack, project) = (settings.name.stack(), settings.project.name.as_str());
    let message = format!("configuration key '{path}' not found for stack '{stack}'");
    let error = Error::new(ErrorKind::NotFound, message).with_config_key(path);
    if settings.text.text.is_none() {
        let others = settings.text.others();
        let listed: Vec<_> = nearest_names(stack, others.iter().map(String::as_str), MAX_HINTED_NAMES)
            .into_iter()
            .map(|other| format!("'{other}'"))
            .collect();
        let file = settings.text.path.display();
        return error.with_hint(match listed.is_empty() {
            true => format!("the stack has no settings file {file}"),
            false => format!(
                "the stack has no settings file {file}; there is one of {}",
                listed.join(", ")
            ),
        });
    }
    let keys: Vec<String> = config.iter().map(|(key, _)| key.to_string()).collect();
    let own = format!("{project}:");
    let shown = keys.iter().map(|key| key.strip_prefix(&own).unwrap_or(key));
    let near = nearest_names(path.strip_prefix(&own).unwrap_or(path), shown, MAX_HINTED_NAMES);
    near.into_iter().fold(error, |error, near| {
        error.with_hint(format!("did you mean '{near}'?"))
    })
}

fn is_declared_secret(settings: &Settings, path: &str) -> bool {
    let declared = settings.project.config.iter();
    declared
        .filter(|(_, declaration)| declaration.secret)
        .any(|(key, _)| Config::is_path_of(path, &settings.project.name, key))
}
