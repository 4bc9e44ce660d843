//! The `b64` manager: no encryption, for tests and for hosts that protect plaintext deployments themselves.

use std::sync::Arc;

use async_trait::async_trait;
use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::{SecretsManager, SecretsProvider, kind};
use crate::error::{Error, ErrorKind, Result};

/// Stores secrets as the base64 of their plaintext.
#[derive(Clone, Copy, Debug, Default)]
pub struct Base64Secrets;

#[async_trait]
impl SecretsManager for Base64Secrets {
    fn kind(&self) -> &str {
        kind::ENCODED
    }

    fn state(&self) -> Option<serde_json::Value> {
        None
    }

    fn identity(&self) -> Arc<str> {
        kind::ENCODED.into()
    }

    async fn encrypt(&self, plaintexts: Vec<String>) -> Result<Vec<String>> {
        Ok(plaintexts.iter().map(|text| STANDARD.encode(text)).collect())
    }

    async fn decrypt(&self, ciphertexts: Vec<String>) -> Result<Vec<String>> {
        ciphertexts
            .iter()
            .map(|text| {
                STANDARD
                    .decode(text)
                    .ok()
                    .and_then(|bytes| String::from_utf8(bytes).ok())
                    .ok_or_else(|| Error::new(ErrorKind::Decrypt, "a secret is not the base64 of a text"))
            })
            .collect()
    }
}

/// Opens and creates [`Base64Secrets`] only.
#[derive(Clone, Copy, Debug, Default)]
pub struct Base64Provider;

#[async_trait]
impl SecretsProvider for Base64Provider {
    async fn open(&self, kind: &str, _state: Option<&serde_json::Value>) -> Result<Arc<dyn SecretsManager>> {
        if kind == kind::ENCODED {
            return Ok(Arc::new(Base64Secrets));
        }
        if kind == kind::PASSPHRASE {
            let text = "the stack's secrets are encrypted with a passphrase, but the engine has none";
            return Err(Error::new(ErrorKind::Secrets, text).with_hint("give the engine the passphrase"));
        }
        Err(Error::new(
            ErrorKind::Secrets,
            format!("no known secrets provider for type {kind:?}"),
        ))
    }

    async fn create(&self) -> Result<Arc<dyn SecretsManager>> {
        Ok(Arc::new(Base64Secrets))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_missing_passphrase_is_reported() {
        let refused = Base64Provider.open(kind::PASSPHRASE, None).await.err().unwrap();
        assert_eq!(refused.kind(), ErrorKind::Secrets);
        assert!(refused.message().contains("the engine has none"), "{refused}");
        assert_eq!(refused.hints().len(), 1);
    }

    #[tokio::test]
    async fn a_secret_is_decrypted_and_malformed_text_is_refused() {
        let ciphertexts = Base64Secrets.encrypt(vec!["\"ä\"".into()]).await.unwrap();
        assert_eq!(ciphertexts, ["IsOkIg=="]);
        assert_eq!(Base64Secrets.decrypt(ciphertexts).await.unwrap(), ["\"ä\""]);
        for bad in ["?", "//8="] {
            let error = Base64Secrets.decrypt(vec![bad.into()]).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Decrypt);
        }
    }
}
