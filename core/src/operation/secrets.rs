//! The secrets manager of a stack: that of its state, that of its configuration file's salt, or a new one.

use std::sync::Arc;

use serde_json::json;

use super::StackContext;
use crate::{
    config::DecryptedConfig,
    error::{Error, Result},
    secrets::{KeyService, SecretsManager, SecretsProvider, kind, open_or_lock},
};

impl StackContext {
    /// Returns the manager for a state that names none: that of the configuration's salt or key service, so that file and state
    /// have the same key, or a new one.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Decrypt`] when the passphrase is not the salt's, or the data key is not unwrapped.
    pub(crate) async fn new_secrets(&self, secrets: &dyn SecretsProvider) -> Result<Arc<dyn SecretsManager>> {
        let Some(salt) = &self.encryption_salt else {
            let named = match &self.key_service {
                Some(service) => service.manager(secrets).await?,
                None => None,
            };
            let manager = match named {
                Some(manager) => manager,
                None => secrets.create().await?,
            };
            if manager.kind() == kind::KEY_SERVICE {
                // What a key service refuses ends the operation before anything is made whose secrets could not be recorded.
                manager.ready().await?;
            }
            return Ok(manager);
        };
        let opened = secrets
            .open(kind::PASSPHRASE, Some(&json!({ "salt": salt })))
            .await;
        opened.map_err(|error| {
            let text = format!(
                "getting stack configuration: get stack secrets manager: {}",
                error.message()
            );
            Error::new(error.kind(), text)
                .with_phase("decrypt")
                .with_source(error)
        })
    }

    /// Decrypts the configuration, with the salt's or the key service's manager when the settings name one, else with the state's. A preview of
    /// a stack without a state has the manager that an update would create. A state in `b64` is not encrypted: the
    /// configuration is then decrypted by the host's secrets provider, if there is one.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Decrypt`] in the phase `decrypt`, naming the key.
    pub(super) async fn decrypt_config(
        &self,
        secrets: &dyn SecretsProvider,
        of_state: Option<&Arc<dyn SecretsManager>>,
    ) -> Result<DecryptedConfig> {
        if !self.config.is_encrypted() {
            return self.config.in_the_clear();
        }
        let salt = self.encryption_salt.as_deref();
        let manager = config_manager(secrets, salt, self.key_service.as_ref(), of_state).await?;
        self.config.decrypt(&*manager).await
    }
}

/// Returns the manager of a configuration, see [`StackContext::decrypt_config`].
pub(super) async fn config_manager(
    secrets: &dyn SecretsProvider,
    salt: Option<&str>,
    key_service: Option<&KeyService>,
    of_state: Option<&Arc<dyn SecretsManager>>,
) -> Result<Arc<dyn SecretsManager>> {
    let known = key_service.filter(|service| secrets.for_key_service(&service.url).is_some());
    if salt.is_none()
        && let Some(state) = known.and_then(KeyService::manager_state)
    {
        return Ok(open_or_lock(secrets, kind::KEY_SERVICE, Some(&state)).await);
    }
    Ok(match (salt, of_state) {
        (Some(salt), _) => open_or_lock(secrets, kind::PASSPHRASE, Some(&json!({ "salt": salt }))).await,
        (None, Some(manager)) if manager.kind() == kind::ENCODED => {
            let own = secrets.create().await?;
            match own.kind() {
                kind::PASSPHRASE => Arc::clone(manager),
                _ => own,
            }
        }
        (None, Some(manager)) => Arc::clone(manager),
        (None, None) => secrets.create().await?,
    })
}
