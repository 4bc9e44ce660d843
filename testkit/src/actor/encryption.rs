//! How the actor's engine encrypts secrets: with a passphrase, by the actor itself, or not at all.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use stackwright::{
    Result,
    runtime::Runtime,
    secrets::{Base64Provider, CallbackProvider, PassphraseProvider, SecretsCallbacks, SecretsProvider},
};

/// The actor's own encryption: the characters of a text in the opposite order, as in the actors of all bindings.
pub(super) struct Reversal;

#[async_trait]
impl SecretsCallbacks for Reversal {
    async fn encrypt(&self, plaintexts: Vec<String>) -> Result<Vec<String>> {
        Ok(reversed(&plaintexts))
    }

    async fn decrypt(&self, ciphertexts: Vec<String>) -> Result<Vec<String>> {
        Ok(reversed(&ciphertexts))
    }
}

fn reversed(texts: &[String]) -> Vec<String> {
    texts.iter().map(|text| text.chars().rev().collect()).collect()
}

/// Returns the encryption that a request `open` names.
pub(super) fn encryption(message: &Value, runtime: Runtime) -> Arc<dyn SecretsProvider> {
    let settings = &message["secrets"];
    match (message["passphrase"].as_str(), settings["kind"].as_str()) {
        (Some(passphrase), _) => Arc::new(PassphraseProvider::new(passphrase, runtime)),
        (None, Some(kind)) => {
            let state = settings.get("state").cloned();
            Arc::new(CallbackProvider::new(kind, state, Arc::new(Reversal)))
        }
        (None, None) => Arc::new(Base64Provider),
    }
}
