//! Secrets managers: encryption of the secret values of a stack.

pub(crate) mod base64;
mod callback;
mod cipher;
pub(crate) mod cloud;
pub mod kind;
mod locked;
pub(crate) mod passphrase;
mod redact;
mod redacting;

use std::sync::Arc;

use async_trait::async_trait;

pub use base64::{Base64Provider, Base64Secrets};
pub use callback::{CallbackProvider, SecretsCallbacks};
pub use cloud::{DataKey, KeyService, KeyServiceCallbacks, KeyServiceProvider};
pub use locked::LockedSecrets;
pub(crate) use locked::open_or_lock;
pub use passphrase::PassphraseProvider;
pub use redact::Redactor;
pub(crate) use redact::{PLACEHOLDER, WeakRedactor, numbered, renamed, with_texts};
pub(crate) use redacting::RedactingSecrets;

use crate::error::Result;

/// Encrypts and decrypts the secret values of one stack.
///
/// Plaintexts are JSON texts (of state) or plain texts (of configuration); the format of ciphertexts is the manager's.
#[async_trait]
pub trait SecretsManager: Send + Sync + 'static {
    /// Returns the type in the deployment format: `passphrase`, `b64`, `service`, `cloud`.
    fn kind(&self) -> &str;

    /// Returns whether the manager has its key. One without it keeps the place of the stack's manager, see [`LockedSecrets`].
    fn is_open(&self) -> bool {
        true
    }

    /// Waits until [`Self::state`] is known; a new manager may derive it in the background. Called before a state or a
    /// journal with the manager's state is written.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Secrets`].
    async fn ready(&self) -> Result<()> {
        Ok(())
    }

    /// Returns the state that the deployment format stores, from which the manager can be opened again; no key
    /// material.
    fn state(&self) -> Option<serde_json::Value>;

    /// Returns a text that is equal for two managers only if each can decrypt the other's ciphertexts.
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

/// Opens the secrets manager of a deployment or a stack file.
#[async_trait]
pub trait SecretsProvider: Send + Sync + 'static {
    /// Opens the manager of `kind` with its stored `state`.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Secrets`] if the kind is unknown, [`crate::ErrorKind::Decrypt`] if the key is wrong.
    async fn open(&self, kind: &str, state: Option<&serde_json::Value>) -> Result<Arc<dyn SecretsManager>>;

    /// Returns whether [`Self::open`] detects a wrong key. If so, opening a stack verifies the key.
    fn verifies_key(&self) -> bool {
        false
    }

    /// Returns this provider for stacks whose settings name the key service of `url`: [`Self::create`] of the result has it wrap a
    /// new data key, and [`Self::open`] opens managers of the kind `cloud`. `None`, as by default, for one that knows no key services.
    fn for_key_service(&self, _url: &str) -> Option<Arc<dyn SecretsProvider>> {
        None
    }

    /// Creates a manager for a new stack.
    async fn create(&self) -> Result<Arc<dyn SecretsManager>>;
}
