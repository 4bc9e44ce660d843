//! A configuration of a stack, in memory.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;

use crate::{
    config::{Config, ConfigKey, ConfigSource, ConfigValue, LoadedConfig, RekeyedConfig},
    error::Result,
    state::edit::random::PROJECT,
};

pub(super) const TOKEN: &str = "token of the configuration";

/// A configuration in memory with one secret.
#[derive(Default)]
pub(super) struct Settings(Mutex<Config>);

impl Settings {
    pub(super) fn of(key: &str) -> Arc<Self> {
        let reversed: String = TOKEN.chars().rev().collect();
        let token = ConfigValue::Secure(format!("first#{key}:{reversed}"));
        let settings = Self::default();
        settings
            .0
            .lock()
            .unwrap()
            .insert(ConfigKey::new(PROJECT, "token"), token);
        Arc::new(settings)
    }

    pub(super) fn fork(&self) -> Arc<Self> {
        Arc::new(Self(Mutex::new(self.0.lock().unwrap().clone())))
    }

    pub(super) fn ciphertext(&self) -> String {
        let ciphertexts = self.0.lock().unwrap().ciphertexts();
        let [ciphertext] = &ciphertexts[..] else {
            panic!("{ciphertexts:?}")
        };
        ciphertext.clone()
    }
}

#[async_trait]
impl ConfigSource for Settings {
    async fn load(&self, _given: &Config, _runs_program: bool) -> Result<LoadedConfig> {
        Ok(self.kept().await?.unwrap_or_default())
    }

    async fn kept(&self) -> Result<Option<LoadedConfig>> {
        Ok(Some(LoadedConfig {
            config: self.0.lock().unwrap().clone(),
            ..LoadedConfig::default()
        }))
    }

    async fn rekey(&self, change: &RekeyedConfig) -> Result<()> {
        self.0.lock().unwrap().rekey(change)
    }
}
