//! Decrypted configuration, and the forms of it that programs, providers and events receive.

use std::{collections::BTreeMap, fmt};

use rustc_hash::FxHashSet;

use super::{
    Config, ConfigKey, ConfigValue, RekeyedConfig,
    json::{self, Secrets},
};
use crate::{
    error::{Error, ErrorKind, Result},
    property::{PropertyMap, PropertyValue},
    secrets::{PLACEHOLDER, SecretsManager},
};

/// Packages whose providers run the program's code and therefore receive the whole configuration.
const WHOLE_CONFIG: [&str; 2] = ["pulumi-nodejs", "pulumi-python"];

/// Decrypted configuration. `Debug` does not show secrets.
#[derive(Clone, Default)]
pub struct DecryptedConfig(BTreeMap<ConfigKey, DecryptedEntry>);

/// One decrypted value.
#[derive(Clone)]
pub struct DecryptedEntry {
    value: ConfigValue,
    text: String,
    blinded: String,
    secret: bool,
}

impl DecryptedEntry {
    fn new(value: ConfigValue) -> Result<Self> {
        let secret = value.is_secure();
        let text = match value.scalar_text() {
            Some(text) => text,
            None => json::to_json(&value, Secrets::Reveal)?,
        };
        let blinded = match &value {
            _ if !secret => text.clone(),
            ConfigValue::Secret(_) => PLACEHOLDER.to_owned(),
            structured => json::to_json(structured, Secrets::Blind)?,
        };
        Ok(Self {
            value,
            text,
            blinded,
            secret,
        })
    }

    /// Returns the text that programs receive: that of a scalar, JSON for any other value.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the text with `[secret]` for each secret.
    #[must_use]
    pub fn blinded(&self) -> &str {
        &self.blinded
    }

    /// Returns whether the value contains a secret at any depth.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        self.secret
    }

    /// Returns the value with decrypted secrets, as [`ConfigValue::Secret`].
    #[must_use]
    pub fn value(&self) -> &ConfigValue {
        &self.value
    }

    fn property(&self) -> PropertyValue {
        let text = PropertyValue::string(self.text.as_str());
        if self.secret {
            PropertyValue::secret(text)
        } else {
            text
        }
    }
}

impl fmt::Debug for DecryptedEntry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.blinded, formatter)
    }
}

impl fmt::Debug for DecryptedConfig {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_map().entries(&self.0).finish()
    }
}

impl Config {
    /// Decrypts all secrets in one batch.
    ///
    /// # Errors
    /// [`ErrorKind::Decrypt`] in the phase `decrypt`; the message names the key, the source is the manager's error.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn decrypt(&self, manager: &dyn SecretsManager) -> Result<DecryptedConfig> {
        let mut ciphertexts = Vec::new();
        let mut keys = Vec::new();
        for (key, value) in self.iter() {
            value.visit(&mut |inner| {
                if let ConfigValue::Secure(ciphertext) = inner {
                    ciphertexts.push(ciphertext.clone());
                    keys.push(key);
                }
            });
        }
        let asked = ciphertexts.len();
        let plaintexts = match manager_answer(manager, ciphertexts).await {
            Ok(plaintexts) if plaintexts.len() == asked => plaintexts,
            Ok(_) => return Err(Error::internal("a secrets manager did not answer all values")),
            Err(error) => return Err(self.blame(manager, &keys, error).await),
        };
        self.with_plaintexts(plaintexts)
    }

    /// Returns whether the configuration contains encrypted values.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        !self.encrypted_keys().is_empty()
    }

    /// Returns the keys of the values that are encrypted, or contain one that is.
    pub(crate) fn encrypted_keys(&self) -> Vec<&ConfigKey> {
        let is_encrypted = |value: &ConfigValue| {
            let mut encrypted = false;
            value.visit(&mut |inner| encrypted |= matches!(inner, ConfigValue::Secure(_)));
            encrypted
        };
        let encrypted = self.iter().filter(|(_, value)| is_encrypted(value));
        encrypted.map(|(key, _)| key).collect()
    }

    /// Returns the ciphertexts, in the order of the keys.
    #[must_use]
    pub fn ciphertexts(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (_, value) in self.iter() {
            value.visit(&mut |inner| {
                if let ConfigValue::Secure(ciphertext) = inner {
                    found.push(ciphertext.clone());
                }
            });
        }
        found
    }

    /// Replaces ciphertexts after a change of the secrets manager. Those that are new already stay.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] that names the key of one that `change` does not know. The configuration is then unchanged.
    pub fn rekey(&mut self, change: &RekeyedConfig) -> Result<()> {
        let known: FxHashSet<&String> = change.ciphertexts.values().collect();
        let mut rekeyed = self.clone();
        for (key, value) in &mut rekeyed.0 {
            let mut unknown = false;
            value.visit_mut(&mut |inner| {
                if let ConfigValue::Secure(ciphertext) = inner {
                    match change.ciphertexts.get(ciphertext.as_str()) {
                        Some(new) => ciphertext.clone_from(new),
                        None => unknown |= !known.contains(ciphertext),
                    }
                }
            });
            if unknown {
                let text = format!(
                    "the encrypted value of the configuration key '{key}' was written while the secrets manager of the stack changed"
                );
                return Err(Error::new(ErrorKind::Conflict, text)
                    .with_config_key(key.to_string())
                    .with_hint("remove the value, open the stack, and set the value again"));
            }
        }
        *self = rekeyed;
        Ok(())
    }

    /// Converts a configuration without encrypted values.
    ///
    /// # Errors
    /// [`ErrorKind::Decrypt`] in the phase `decrypt` when a value is encrypted.
    pub fn in_the_clear(&self) -> Result<DecryptedConfig> {
        for (key, value) in self.iter() {
            let mut encrypted = false;
            value.visit(&mut |inner| encrypted |= matches!(inner, ConfigValue::Secure(_)));
            if encrypted {
                let error = Error::new(ErrorKind::Decrypt, "the stack has no secrets manager");
                return Err(undecryptable(key, error));
            }
        }
        self.with_plaintexts(Vec::new())
    }

    fn with_plaintexts(&self, plaintexts: Vec<String>) -> Result<DecryptedConfig> {
        let mut plaintexts = plaintexts.into_iter();
        let mut entries = BTreeMap::new();
        for (key, value) in self.iter() {
            let mut value = value.clone();
            value.visit_mut(&mut |inner| {
                if matches!(inner, ConfigValue::Secure(_))
                    && let Some(plaintext) = plaintexts.next()
                {
                    *inner = ConfigValue::secret(plaintext);
                }
            });
            let entry = DecryptedEntry::new(value).map_err(|error| {
                Error::new(
                    error.kind(),
                    format!("configuration key {key}: {}", error.message()),
                )
            })?;
            entries.insert(key.clone(), entry);
        }
        Ok(DecryptedConfig(entries))
    }

    /// Finds the key whose secret made a batch fail, by decrypting one after another.
    async fn blame(&self, manager: &dyn SecretsManager, keys: &[&ConfigKey], error: Error) -> Error {
        let mut texts = Vec::new();
        for (_, value) in self.iter() {
            value.visit(&mut |inner| {
                if let ConfigValue::Secure(ciphertext) = inner {
                    texts.push(ciphertext.clone());
                }
            });
        }
        for (key, text) in keys.iter().zip(texts) {
            if let Err(error) = manager.decrypt(vec![text]).await {
                return undecryptable(key, error);
            }
        }
        // Every single decryption succeeded: the batch as a whole failed.
        keys.first()
            .map_or(error.clone(), |key| undecryptable(key, error))
    }
}

async fn manager_answer(manager: &dyn SecretsManager, ciphertexts: Vec<String>) -> Result<Vec<String>> {
    if ciphertexts.is_empty() {
        return Ok(Vec::new());
    }
    manager.decrypt(ciphertexts).await
}

fn undecryptable(key: &ConfigKey, error: Error) -> Error {
    Error::new(
        ErrorKind::Decrypt,
        format!("failed to decrypt configuration key '{key}': {}", error.message()),
    )
    .with_phase("decrypt")
    .with_config_key(key.to_string())
    .with_source(error)
}

impl DecryptedConfig {
    /// Returns the value of a key.
    #[must_use]
    pub fn get(&self, key: &ConfigKey) -> Option<&DecryptedEntry> {
        self.0.get(key)
    }

    /// Returns the entries, sorted by key.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&ConfigKey, &DecryptedEntry)> {
        self.0.iter()
    }

    /// Returns the texts that programs receive, by `namespace:name`.
    #[must_use]
    pub fn texts(&self) -> BTreeMap<String, String> {
        self.map(DecryptedEntry::text)
    }

    /// Returns the texts that events contain: as [`Self::texts`], with `[secret]` for secrets.
    #[must_use]
    pub fn blinded(&self) -> BTreeMap<String, String> {
        self.map(DecryptedEntry::blinded)
    }

    fn map(&self, text: impl Fn(&DecryptedEntry) -> &str) -> BTreeMap<String, String> {
        self.iter()
            .map(|(key, entry)| (key.to_string(), text(entry).to_owned()))
            .collect()
    }

    /// Returns the keys whose values contain a secret.
    #[must_use]
    pub fn secret_keys(&self) -> Vec<String> {
        self.iter()
            .filter(|(_, entry)| entry.secret)
            .map(|(key, _)| key.to_string())
            .collect()
    }

    /// Calls `register` with every secret text, for the redactor.
    pub fn each_secret(&self, mut register: impl FnMut(&str)) {
        for entry in self.0.values() {
            entry.value.visit(&mut |inner| {
                if let ConfigValue::Secret(plaintext) = inner {
                    register(plaintext.reveal());
                }
            });
        }
    }

    /// Returns the inputs of a package's default provider: the values of the package's namespace, each as a text.
    ///
    /// Providers of dynamic resources receive the whole configuration, under full keys.
    #[must_use]
    pub fn provider_inputs(&self, package: &str) -> PropertyMap {
        let whole = WHOLE_CONFIG.contains(&package);
        self.iter()
            .filter(|(key, _)| whole || key.namespace() == package)
            .map(|(key, entry)| {
                let name = if whole {
                    key.to_string()
                } else {
                    key.name().to_owned()
                };
                (name, entry.property())
            })
            .collect()
    }
}
