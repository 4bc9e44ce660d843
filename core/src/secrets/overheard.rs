//! Listening in on decryption: what a state held encrypted becomes known to the redactor without another look at it.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use super::{Redactor, SecretsManager, SecretsProvider};
use crate::{error::Result, property::json::read_plaintext};

/// A provider or a manager that teaches a redactor what is decrypted.
pub(crate) struct Overheard<S> {
    inner: S,
    redactor: Redactor,
}

impl<S> Overheard<S> {
    /// Listens to what `inner` decrypts.
    pub(crate) const fn new(inner: S, redactor: Redactor) -> Self {
        Self { inner, redactor }
    }
}

impl<S> Overheard<S> {
    fn wrap(&self, manager: Arc<dyn SecretsManager>) -> Arc<dyn SecretsManager> {
        Arc::new(Overheard::new(manager, self.redactor.clone()))
    }
}

#[async_trait]
impl SecretsProvider for Overheard<Arc<dyn SecretsProvider>> {
    async fn open(&self, kind: &str, state: Option<&Value>) -> Result<Arc<dyn SecretsManager>> {
        Ok(self.wrap(self.inner.open(kind, state).await?))
    }

    fn verifies_key(&self) -> bool {
        self.inner.verifies_key()
    }

    async fn create(&self) -> Result<Arc<dyn SecretsManager>> {
        Ok(self.wrap(self.inner.create().await?))
    }
}

#[async_trait]
impl SecretsManager for Overheard<Arc<dyn SecretsManager>> {
    fn kind(&self) -> &str {
        self.inner.kind()
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
            // The plaintexts of configuration are bare.
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
    async fn what_is_decrypted_is_kept_out_of_texts_from_then_on() {
        let redactor = Redactor::new();
        let provider = Overheard::new(
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
