//! Secrets: the trait of whatever encrypts the secret values of a stack.

pub(crate) mod base64;
mod callback;
mod cipher;
mod locked;
mod overheard;
pub(crate) mod passphrase;
mod redact;

use std::sync::Arc;

use async_trait::async_trait;

pub use base64::{Base64Provider, Base64Secrets};
pub use callback::{CallbackProvider, SecretsCallbacks};
pub use locked::LockedSecrets;
pub(crate) use locked::open_or_lock;
pub(crate) use overheard::Overheard;
pub use passphrase::PassphraseProvider;
pub(crate) use redact::PLACEHOLDER;
pub use redact::Redactor;

use crate::error::Result;

/// Encrypts and decrypts the secret values of one stack.
///
/// Plaintexts are JSON texts (of state) or bare texts (of configuration); ciphertexts have the manager's own form.
#[async_trait]
pub trait SecretsManager: Send + Sync + 'static {
    /// Returns the type as the deployment format names it: `passphrase`, `b64`, `service`, `cloud`.
    fn kind(&self) -> &str;

    /// Waits until [`Self::state`] is known: that of a new manager may take a while to make. Called before a state or a
    /// journal is written that names the manager.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Secrets`].
    async fn ready(&self) -> Result<()> {
        Ok(())
    }

    /// Returns what the deployment format stores so that the manager can be opened again; never key material.
    fn state(&self) -> Option<serde_json::Value>;

    /// Returns a text that is equal for two managers only when each can read what the other wrote.
    fn identity(&self) -> Arc<str>;

    /// Encrypts a batch, in order.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Secrets`].
    async fn encrypt(&self, plaintexts: Vec<String>) -> Result<Vec<String>>;

    /// Decrypts a batch, in order.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Decrypt`].
    async fn decrypt(&self, ciphertexts: Vec<String>) -> Result<Vec<String>>;
}

/// Opens the secrets manager that a deployment or a stack file names.
#[async_trait]
pub trait SecretsProvider: Send + Sync + 'static {
    /// Opens the manager of `kind` with the `state` that was stored beside it.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Secrets`] when the kind is not known here, [`crate::ErrorKind::Decrypt`] when the key does
    /// not fit.
    async fn open(&self, kind: &str, state: Option<&serde_json::Value>) -> Result<Arc<dyn SecretsManager>>;

    /// Tells whether [`Self::open`] finds that the key is not the one that a stack's secrets were encrypted with, so that
    /// a stack is opened with a look at that.
    fn verifies_key(&self) -> bool {
        false
    }

    /// Makes a manager for a stack that has none.
    async fn create(&self) -> Result<Arc<dyn SecretsManager>>;
}
