//! The keys of secrets: a key service whose keys open only what they have wrapped. The encryption is the engine's own.

use std::sync::Arc;

use async_trait::async_trait;
use stackwright::{
    Error, ErrorKind, Result,
    runtime::Runtime,
    secrets::{DataKey, KeyServiceCallbacks, KeyServiceProvider, SecretsProvider},
};

/// How many keys the service has.
pub(super) const KEYS: u64 = 3;

/// Returns the provider that creates managers with a key, and opens those of all keys.
pub(super) fn keys(number: u64, runtime: &Runtime) -> Result<Arc<dyn SecretsProvider>> {
    let url = format!("simulated://key-{number}");
    let provider = KeyServiceProvider::new(url, Arc::new(Service), runtime.clone())?;
    Ok(Arc::new(provider))
}

struct Service;

#[async_trait]
impl KeyServiceCallbacks for Service {
    async fn wrap_key(&self, url: &str, key: DataKey) -> Result<Vec<u8>> {
        let turned = key.as_bytes().iter().map(|byte| !byte);
        Ok(url.bytes().chain(turned).collect())
    }

    async fn unwrap_key(&self, url: &str, wrapped: Vec<u8>) -> Result<DataKey> {
        match wrapped.strip_prefix(url.as_bytes()) {
            Some(turned) => Ok(DataKey::new(turned.iter().map(|byte| !byte).collect())),
            None => Err(Error::new(ErrorKind::Decrypt, "another key has wrapped it")),
        }
    }
}
