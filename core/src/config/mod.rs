//! Stack configuration: values by `namespace:name`, some of them secret.

mod decrypt;
mod json;
mod key;
mod path;
mod plain;
mod source;
mod value;

pub use decrypt::DecryptedConfig;
pub use decrypt::DecryptedEntry;
pub(crate) use json::float_as_text as number_as_text;
pub use key::ConfigKey;
pub use source::{ConfigSource, LoadedConfig, RekeyedConfig};
pub use value::ConfigValue;
pub use value::Plaintext;

use indexmap::IndexMap;

use crate::{
    error::{Error, Result},
    secrets::SecretsManager,
};

/// The configuration of a stack, in the order of its file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config(IndexMap<ConfigKey, ConfigValue>);

impl Config {
    /// Creates an empty configuration.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of keys.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there are no keys.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the value of a key.
    #[must_use]
    pub fn get(&self, key: &ConfigKey) -> Option<&ConfigValue> {
        self.0.get(key)
    }

    /// Returns the entries in the order of the file.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&ConfigKey, &ConfigValue)> {
        self.0.iter()
    }

    /// Calls `register` with every plaintext secret, before any decryption.
    pub(crate) fn each_secret_in_the_clear(&self, mut register: impl FnMut(&str)) {
        for value in self.0.values() {
            value.visit(&mut |inner| {
                if let ConfigValue::Secret(plaintext) = inner {
                    register(plaintext.reveal());
                }
            });
        }
    }

    /// Returns whether a secret is not encrypted yet.
    #[must_use]
    pub fn has_plaintext_secrets(&self) -> bool {
        let mut found = false;
        self.each_secret_in_the_clear(|_| found = true);
        found
    }

    /// Sets the value of a key; an existing key keeps its position.
    pub fn insert(&mut self, key: ConfigKey, value: ConfigValue) -> Option<ConfigValue> {
        self.0.insert(key, value.normalised())
    }

    /// Removes a key.
    pub fn remove(&mut self, key: &ConfigKey) -> Option<ConfigValue> {
        self.0.shift_remove(key)
    }

    /// Encrypts all plaintext secrets, so that the configuration can be written. Ciphertexts are unchanged.
    ///
    /// # Errors
    /// The errors of the manager.
    ///
    /// # Cancel safety
    /// Cancel safe: the configuration is changed at the end.
    pub async fn seal(&mut self, manager: &dyn SecretsManager) -> Result<()> {
        let mut plaintexts = Vec::new();
        for value in self.0.values() {
            value.visit(&mut |inner| {
                if let ConfigValue::Secret(plaintext) = inner {
                    plaintexts.push(plaintext.reveal().to_owned());
                }
            });
        }
        if plaintexts.is_empty() {
            return Ok(());
        }
        let mut ciphertexts = manager.encrypt(plaintexts).await?.into_iter();
        for value in self.0.values_mut() {
            value.visit_mut(&mut |inner| {
                if matches!(inner, ConfigValue::Secret(_))
                    && let Some(ciphertext) = ciphertexts.next()
                {
                    *inner = ConfigValue::Secure(ciphertext);
                }
            });
        }
        Ok(())
    }

    /// Adds the entries of `base` whose keys are missing here; objects are merged recursively, and existing values win.
    pub fn merge_under(&mut self, base: &Self) {
        for (key, value) in base.iter() {
            match self.0.get_mut(key) {
                Some(own) => own.merge_under(value),
                None => {
                    self.0.insert(key.clone(), value.clone());
                }
            }
        }
    }
}

impl FromIterator<(ConfigKey, ConfigValue)> for Config {
    fn from_iter<I: IntoIterator<Item = (ConfigKey, ConfigValue)>>(entries: I) -> Self {
        let mut config = Self::new();
        for (key, value) in entries {
            config.insert(key, value);
        }
        config
    }
}

fn reserved() -> Error {
    Error::invalid("maps with the single key \"secure\" are reserved")
}
