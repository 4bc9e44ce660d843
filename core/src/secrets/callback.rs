//! A secrets manager of the host: its own encryption in two callbacks.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use super::{SecretsManager, SecretsProvider};
use crate::error::{Error, ErrorKind, Result};

/// The host's encryption of secrets. Called concurrently.
#[async_trait]
pub trait SecretsCallbacks: Send + Sync + 'static {
    /// Encrypts a batch, in order.
    ///
    /// # Errors
    /// Any, without a secret in its message. The caller receives it with [`ErrorKind::Secrets`].
    async fn encrypt(&self, plaintexts: Vec<String>) -> Result<Vec<String>>;

    /// Decrypts a batch, in order.
    ///
    /// # Errors
    /// Those of [`Self::encrypt`], with the kind [`ErrorKind::Decrypt`].
    async fn decrypt(&self, ciphertexts: Vec<String>) -> Result<Vec<String>>;
}

/// A manager that calls the host's callbacks, and checks their results for completeness.
pub(super) struct CallbackManager {
    kind: String,
    state: Option<Value>,
    identity: Arc<str>,
    callbacks: Arc<dyn SecretsCallbacks>,
}

impl CallbackManager {
    /// Creates a manager; deployments store `kind` and `state`, and `callbacks` encrypt.
    pub(super) fn new(
        kind: impl Into<String>,
        state: Option<Value>,
        callbacks: Arc<dyn SecretsCallbacks>,
    ) -> Self {
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

fn complete(asked: usize, answer: Result<Vec<String>>, kind: ErrorKind) -> Result<Vec<String>> {
    match answer {
        Ok(texts) if texts.len() == asked => Ok(texts),
        Ok(texts) => Err(Error::new(
            kind,
            format!(
                "the host's secrets callback returned {} of {asked} values",
                texts.len()
            ),
        )),
        Err(error) => Err(error.with_kind(kind)),
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
        complete(
            asked,
            self.callbacks.encrypt(plaintexts).await,
            ErrorKind::Secrets,
        )
    }

    async fn decrypt(&self, ciphertexts: Vec<String>) -> Result<Vec<String>> {
        let asked = ciphertexts.len();
        complete(
            asked,
            self.callbacks.decrypt(ciphertexts).await,
            ErrorKind::Decrypt,
        )
    }
}

/// Opens and creates managers with the host's callbacks; other kinds are opened by another provider.
pub struct CallbackProvider {
    kind: String,
    state: Option<Value>,
    callbacks: Arc<dyn SecretsCallbacks>,
    others: Option<Arc<dyn SecretsProvider>>,
}

impl CallbackProvider {
    /// Creates a provider; new stacks store `kind` and `state`, and those that store `kind` are opened with it.
    pub fn new(kind: impl Into<String>, state: Option<Value>, callbacks: Arc<dyn SecretsCallbacks>) -> Self {
        Self {
            kind: kind.into(),
            state,
            callbacks,
            others: None,
        }
    }

    /// Sets the provider that opens managers of other kinds.
    #[must_use]
    pub fn or(self, others: Arc<dyn SecretsProvider>) -> Self {
        Self {
            others: Some(others),
            ..self
        }
    }

    fn manager(&self, state: Option<Value>) -> Arc<dyn SecretsManager> {
        Arc::new(CallbackManager::new(
            self.kind.as_str(),
            state,
            Arc::clone(&self.callbacks),
        ))
    }
}

#[async_trait]
impl SecretsProvider for CallbackProvider {
    async fn open(&self, kind: &str, state: Option<&Value>) -> Result<Arc<dyn SecretsManager>> {
        if kind == self.kind {
            return Ok(self.manager(state.cloned()));
        }
        match &self.others {
            Some(others) => others.open(kind, state).await,
            None => Err(Error::new(
                ErrorKind::Secrets,
                format!("no known secrets provider for type {kind:?}"),
            )),
        }
    }

    fn verifies_key(&self) -> bool {
        self.others.as_ref().is_some_and(|others| others.verifies_key())
    }

    fn for_key_service(&self, url: &str) -> Option<Arc<dyn SecretsProvider>> {
        // A host that encrypts for this kind of managers does so itself.
        let others = self
            .others
            .as_ref()
            .filter(|_| self.kind != super::kind::KEY_SERVICE)?;
        others.for_key_service(url)
    }

    async fn create(&self) -> Result<Arc<dyn SecretsManager>> {
        Ok(self.manager(self.state.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secrets::Base64Provider;

    struct Reversing;

    #[async_trait]
    impl SecretsCallbacks for Reversing {
        async fn encrypt(&self, plaintexts: Vec<String>) -> Result<Vec<String>> {
            Ok(plaintexts
                .iter()
                .map(|text| text.chars().rev().collect())
                .collect())
        }

        async fn decrypt(&self, mut ciphertexts: Vec<String>) -> Result<Vec<String>> {
            ciphertexts.pop();
            Ok(ciphertexts)
        }
    }

    #[tokio::test]
    async fn an_incomplete_result_of_the_host_is_an_error() {
        let manager = CallbackManager::new("host", None, Arc::new(Reversing));
        let batch = vec!["ab".to_owned(), "cd".to_owned()];
        assert_eq!(manager.encrypt(batch.clone()).await.unwrap(), ["ba", "dc"]);
        let error = manager.decrypt(batch).await.unwrap_err();
        assert_eq!(
            error.message(),
            "the host's secrets callback returned 1 of 2 values"
        );
    }

    #[tokio::test]
    async fn other_kinds_are_left_to_another_provider() {
        let host = CallbackProvider::new("host", Some("key-1".into()), Arc::new(Reversing));
        let made = host.create().await.unwrap();
        assert_eq!((made.kind(), made.state()), ("host", Some("key-1".into())));
        let opened = host.open("host", made.state().as_ref()).await.unwrap();
        assert_eq!(opened.identity(), made.identity());
        assert!(host.open("b64", None).await.is_err());
        let host = host.or(Arc::new(Base64Provider));
        assert_eq!(host.open("b64", None).await.unwrap().kind(), "b64");
    }
}
