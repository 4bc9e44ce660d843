//! A manager of the host: its own encryption behind two functions.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use super::SecretsManager;
use crate::error::{Error, ErrorKind, Result};

/// What a host supplies to encrypt secrets its own way. Called concurrently.
#[async_trait]
pub trait SecretsCallbacks: Send + Sync + 'static {
    /// Encrypts a batch, in order; `Err` is a text for people, without any secret in it.
    async fn encrypt(&self, plaintexts: Vec<String>) -> Result<Vec<String>, String>;

    /// Decrypts a batch, in order; `Err` is a text for people, without any secret in it.
    async fn decrypt(&self, ciphertexts: Vec<String>) -> Result<Vec<String>, String>;
}

/// A manager over the host's callbacks, whose answers are checked for completeness.
pub struct CallbackManager {
    kind: String,
    state: Option<Value>,
    identity: Arc<str>,
    callbacks: Arc<dyn SecretsCallbacks>,
}

impl CallbackManager {
    /// Creates a manager; deployments store `kind` and `state`, and `callbacks` do the work.
    pub fn new(kind: impl Into<String>, state: Option<Value>, callbacks: Arc<dyn SecretsCallbacks>) -> Self {
        let kind = kind.into();
        let facts = state.as_ref().map(Value::to_string).unwrap_or_default();
        Self {
            identity: format!("{kind}:{facts}").into(),
            kind,
            state,
            callbacks,
        }
    }
}

fn complete(asked: usize, answer: Result<Vec<String>, String>) -> Result<Vec<String>> {
    match answer {
        Ok(texts) if texts.len() == asked => Ok(texts),
        Ok(texts) => Err(Error::new(
            ErrorKind::Secrets,
            format!(
                "the host's secrets callback answered {} of {asked} values",
                texts.len()
            ),
        )),
        Err(message) => Err(Error::new(ErrorKind::Secrets, message)),
    }
}

#[async_trait]
impl SecretsManager for CallbackManager {
    fn kind(&self) -> &str {
        &self.kind
    }

    fn state(&self) -> Option<Value> {
        self.state.clone()
    }

    fn identity(&self) -> Arc<str> {
        Arc::clone(&self.identity)
    }

    async fn encrypt(&self, plaintexts: Vec<String>) -> Result<Vec<String>> {
        let asked = plaintexts.len();
        complete(asked, self.callbacks.encrypt(plaintexts).await)
    }

    async fn decrypt(&self, ciphertexts: Vec<String>) -> Result<Vec<String>> {
        let asked = ciphertexts.len();
        complete(asked, self.callbacks.decrypt(ciphertexts).await)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Reversing;

    #[async_trait]
    impl SecretsCallbacks for Reversing {
        async fn encrypt(&self, plaintexts: Vec<String>) -> Result<Vec<String>, String> {
            Ok(plaintexts
                .iter()
                .map(|text| text.chars().rev().collect())
                .collect())
        }

        async fn decrypt(&self, mut ciphertexts: Vec<String>) -> Result<Vec<String>, String> {
            ciphertexts.pop();
            Ok(ciphertexts)
        }
    }

    #[tokio::test]
    async fn an_incomplete_answer_of_the_host_is_an_error() {
        let manager = CallbackManager::new("host", None, Arc::new(Reversing));
        let batch = vec!["ab".to_owned(), "cd".to_owned()];
        assert_eq!(manager.encrypt(batch.clone()).await.unwrap(), ["ba", "dc"]);
        let error = manager.decrypt(batch).await.unwrap_err();
        assert_eq!(
            error.message(),
            "the host's secrets callback answered 1 of 2 values"
        );
    }
}
