//! Where a stack's configuration is read from when an operation begins.

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::Config;
use crate::{error::Result, secrets::KeyService};

/// Supplies the configuration of a stack whose host keeps it elsewhere, in settings files for instance. It is asked at
/// the beginning of each operation.
#[async_trait]
pub trait ConfigSource: Send + Sync + 'static {
    /// Reads the configuration. `given` is the one with which the host opened the stack; `runs_program` is true for an
    /// operation that runs the stack's program.
    ///
    /// # Errors
    /// Any, without a secret in its message. The operation fails with it before anything is changed.
    async fn load(&self, given: &Config, runs_program: bool) -> Result<LoadedConfig>;

    /// Reads what is kept, without values of the host or defaults, for a change of the secrets manager. `None`, as by default,
    /// for a source that keeps nothing encrypted, or that [`Self::rekey`] does not change.
    ///
    /// # Errors
    /// Those of [`Self::load`].
    async fn kept(&self) -> Result<Option<LoadedConfig>> {
        Ok(None)
    }

    /// Replaces salt and ciphertexts after a change of the secrets manager. It is called again when its result is not known, so
    /// that it must accept ciphertexts that are new already. By default, it does nothing.
    ///
    /// # Errors
    /// Any; the next opening of the stack repeats the call.
    async fn rekey(&self, _change: &RekeyedConfig) -> Result<()> {
        Ok(())
    }

    /// Returns whether something is kept under the name of a stack within its project, `from`, that [`Self::rename`] moves to its new name. By
    /// default, nothing is.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Conflict`] when something is kept under the new name already. The stack keeps its name then.
    async fn is_renamed(&self, _from: &str, _to: &str) -> Result<bool> {
        Ok(false)
    }

    /// Moves what is kept to the new name of a stack, once its state has that name. It is called again when its result is not
    /// known, so that it must accept a configuration that has been moved. By default, it does nothing.
    ///
    /// # Errors
    /// Any; the next opening of the stack repeats the call.
    async fn rename(&self, _from: &str, _to: &str) -> Result<()> {
        Ok(())
    }
}

/// The encrypted part of a configuration after a change of the secrets manager.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RekeyedConfig {
    /// The salt of the new passphrase; `None` when a manager of another kind encrypts.
    pub encryption_salt: Option<String>,
    /// The key service of the new manager, with its data key; `None` when a manager of another kind encrypts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_service: Option<KeyService>,
    /// Whether the settings must name the key service of the former manager no longer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub drops_key_service: bool,
    /// The new ciphertexts by the former ones.
    pub ciphertexts: BTreeMap<String, String>,
}

/// The configuration of one operation.
#[derive(Clone, Debug, Default)]
pub struct LoadedConfig {
    /// The values, in place of those with which the stack was opened.
    pub config: Config,
    /// The salt of encrypted values, in place of [`crate::StackSettings::encryption_salt`] when there is one.
    pub encryption_salt: Option<String>,
    /// The key service of encrypted values, in place of [`crate::StackSettings::key_service`] when there is one.
    pub key_service: Option<KeyService>,
    /// Whether an update or a destroy reads every resource first, also without the option `refresh`.
    pub refresh: bool,
}
