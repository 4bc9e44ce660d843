//! A configuration of a stack, in memory.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;

use crate::{
    config::{Config, ConfigKey, ConfigSource, ConfigValue, LoadedConfig, RekeyedConfig},
    error::{Error, ErrorKind, Result},
    state::edit::random::PROJECT,
    store::faulty::FaultyStore,
};

pub(super) const TOKEN: &str = "token of the configuration";

/// A configuration in memory with one secret.
#[derive(Default)]
pub(super) struct Settings(Mutex<Kept>);

/// The name of the stack within its project under which the configuration is kept, and the values.
#[derive(Clone, Default)]
struct Kept {
    name: String,
    config: Config,
}

impl Settings {
    pub(super) fn of(name: &str, key: &str) -> Arc<Self> {
        let reversed: String = TOKEN.chars().rev().collect();
        let token = ConfigValue::Secure(format!("first#{key}:{reversed}"));
        let mut config = Config::default();
        config.insert(ConfigKey::new(PROJECT, "token"), token);
        let name = name.to_owned();
        Arc::new(Self(Mutex::new(Kept { name, config })))
    }

    pub(super) fn fork(&self) -> Arc<Self> {
        Arc::new(Self(Mutex::new(self.0.lock().unwrap().clone())))
    }

    pub(super) fn ciphertext(&self) -> String {
        let ciphertexts = self.0.lock().unwrap().config.ciphertexts();
        let [ciphertext] = &ciphertexts[..] else {
            panic!("{ciphertexts:?}")
        };
        ciphertext.clone()
    }

    pub(super) fn name(&self) -> String {
        self.0.lock().unwrap().name.clone()
    }
}

#[async_trait]
impl ConfigSource for Settings {
    async fn load(&self, _given: &Config, _runs_program: bool) -> Result<LoadedConfig> {
        Ok(self.kept().await?.unwrap_or_default())
    }

    async fn kept(&self) -> Result<Option<LoadedConfig>> {
        Ok(Some(LoadedConfig {
            config: self.0.lock().unwrap().config.clone(),
            ..LoadedConfig::default()
        }))
    }

    async fn rekey(&self, change: &RekeyedConfig) -> Result<()> {
        self.0.lock().unwrap().config.rekey(change)
    }

    async fn is_renamed(&self, from: &str, to: &str) -> Result<bool> {
        let kept = self.0.lock().unwrap();
        match kept.name == to {
            true => Err(Error::new(ErrorKind::Conflict, "the settings exist already")),
            false => Ok(kept.name == from),
        }
    }

    async fn rename(&self, from: &str, to: &str) -> Result<()> {
        let mut kept = self.0.lock().unwrap();
        if kept.name == from {
            to.clone_into(&mut kept.name);
        }
        Ok(())
    }
}

/// A configuration of a process that fails at a write to a store or to a configuration.
pub(super) struct FaultySettings {
    pub(super) inner: Arc<Settings>,
    pub(super) store: Arc<FaultyStore>,
}

#[async_trait]
impl ConfigSource for FaultySettings {
    async fn load(&self, given: &Config, runs_program: bool) -> Result<LoadedConfig> {
        self.inner.load(given, runs_program).await
    }

    async fn kept(&self) -> Result<Option<LoadedConfig>> {
        self.inner.kept().await
    }

    async fn rekey(&self, change: &RekeyedConfig) -> Result<()> {
        self.store.write(self.inner.rekey(change)).await
    }

    async fn is_renamed(&self, from: &str, to: &str) -> Result<bool> {
        self.inner.is_renamed(from, to).await
    }

    async fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.store.write(self.inner.rename(from, to)).await
    }
}
