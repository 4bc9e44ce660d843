//! Registers decrypted values with the redactor.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use super::{Redactor, SecretsManager, SecretsProvider};
use crate::{error::Result, property::json::read_plaintext};

/// A provider or a manager that registers every decrypted value with a redactor.
pub(crate) struct RedactingSecrets<S> {
    inner: S,
    redactor: Redactor,
}

impl<S> RedactingSecrets<S> {
    /// Wraps `inner`.
    pub(crate) const fn new(inner: S, redactor: Redactor) -> Self {
        Self { inner, redactor }
    }
}

impl<S> RedactingSecrets<S> {
    fn wrap(&self, manager: Arc<dyn SecretsManager>) -> Arc<dyn SecretsManager> {
        Arc::new(RedactingSecrets::new(manager, self.redactor.clone()))
    }
}

#[async_trait]
impl SecretsProvider for RedactingSecrets<Arc<dyn SecretsProvider>> {
    async fn open(&self, kind: &str, state: Option<&Value>) -> Result<Arc<dyn SecretsManager>> {
        Ok(self.wrap(self.inner.open(kind, state).await?))
    }

    fn verifies_key(&self) -> bool {
        self.inner.verifies_key()
    }

    fn for_key_service(&self, url: &str) -> Option<Arc<dyn SecretsProvider>> {
        let provider = self.inner.for_key_service(url)?;
        Some(Arc::new(RedactingSecrets::new(provider, self.redactor.clone())))
    }

    async fn create(&self) -> Result<Arc<dyn SecretsManager>> {
        Ok(self.wrap(self.inner.create().await?))
    }
}

#[async_trait]
impl SecretsManager for RedactingSecrets<Arc<dyn SecretsManager>> {
    fn kind(&self) -> &str {
        self.inner.kind()
    }

    fn is_open(&self) -> bool {
        self.inner.is_open()
    }

    async fn ready(&self) -> Result<()> {
        self.inner.ready().await
    }

    fn state(&self) -> Option<Value> {
        self.inner.state()
    }

    fn identity(&self) -> Arc<str> {
        self.inner.identity()
    }

    async fn encrypt(&self, plaintexts: Vec<String>) -> Result<Vec<String>> {
        self.inner.encrypt(plaintexts).await
    }

    async fn decrypt(&self, ciphertexts: Vec<String>) -> Result<Vec<String>> {
        let plaintexts = self.inner.decrypt(ciphertexts).await?;
        for plaintext in &plaintexts {
            // The plaintexts of configuration are not JSON.
            match read_plaintext(plaintext) {
                Some(value) => self.redactor.learn_value(&value),
                None => self.redactor.learn([plaintext]),
            }
        }
        Ok(plaintexts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secrets::Base64Provider;

    #[tokio::test]
    async fn decrypted_values_are_redacted() {
        let redactor = Redactor::new();
        let provider = RedactingSecrets::new(
            Arc::new(Base64Provider) as Arc<dyn SecretsProvider>,
            redactor.clone(),
        );
        let manager = provider.create().await.unwrap();
        let plain = [
            r#"{"user": "sally", "list": ["hunter2"], "n": 12345}"#,
            "bare words",
            "\"a text\"",
        ];
        let sealed = manager.encrypt(plain.map(String::from).to_vec()).await.unwrap();
        assert_eq!(redactor.scrub("sally"), "sally");
        manager.decrypt(sealed).await.unwrap();
        assert_eq!(
            redactor.scrub("sally user hunter2 list bare words a text"),
            "[secret] user [secret] list [secret] [secret]"
        );
    }
}
