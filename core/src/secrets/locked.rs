//! A manager that could not be opened: operations that need no secret work, all others fail with the reason.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use super::{SecretsManager, SecretsProvider};
use crate::error::{Error, ErrorKind, Result};

/// A manager that could not be opened; each use fails with the error of opening it.
#[derive(Debug)]
pub struct LockedSecrets {
    kind: String,
    state: Option<Value>,
    identity: Arc<str>,
    error: Error,
}

impl LockedSecrets {
    /// Creates a manager that keeps `kind` and `state`, and fails with `error` when it is used.
    #[must_use]
    pub fn new(kind: &str, state: Option<Value>, error: Error) -> Self {
        let facts = state.as_ref().map(Value::to_string).unwrap_or_default();
        Self {
            kind: kind.to_owned(),
            state,
            identity: format!("locked:{kind}:{facts}").into(),
            error,
        }
    }
}

#[async_trait]
impl SecretsManager for LockedSecrets {
    fn kind(&self) -> &str {
        &self.kind
    }

    fn is_open(&self) -> bool {
        false
    }

    fn state(&self) -> Option<Value> {
        self.state.clone()
    }

    fn identity(&self) -> Arc<str> {
        Arc::clone(&self.identity)
    }

    async fn encrypt(&self, _plaintexts: Vec<String>) -> Result<Vec<String>> {
        Err(self.error.clone().with_kind(ErrorKind::Secrets))
    }

    async fn decrypt(&self, _ciphertexts: Vec<String>) -> Result<Vec<String>> {
        Err(self.error.clone().with_kind(ErrorKind::Decrypt))
    }
}

/// Opens a manager, or a [`LockedSecrets`] if it cannot be opened: a state is readable without its passphrase.
pub(crate) async fn open_or_lock(
    provider: &dyn SecretsProvider,
    kind: &str,
    state: Option<&Value>,
) -> Arc<dyn SecretsManager> {
    match provider.open(kind, state).await {
        Ok(manager) => manager,
        Err(error) => Arc::new(LockedSecrets::new(kind, state.cloned(), error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secrets::Base64Provider;

    #[tokio::test]
    async fn an_unknown_manager_keeps_its_state_and_fails_on_use() {
        let state = serde_json::json!({ "url": "awskms://key" });
        let manager = open_or_lock(&Base64Provider, "cloud", Some(&state)).await;
        assert_eq!((manager.kind(), manager.state()), ("cloud", Some(state)));
        for (error, kind) in [
            (
                manager.decrypt(vec!["x".into()]).await.unwrap_err(),
                ErrorKind::Decrypt,
            ),
            (
                manager.encrypt(vec!["x".into()]).await.unwrap_err(),
                ErrorKind::Secrets,
            ),
        ] {
            assert_eq!(error.kind(), kind);
            assert_eq!(error.message(), "no known secrets provider for type \"cloud\"");
        }
    }
}
