//! A secrets provider for tests, whose ciphertexts show the key.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use async_trait::async_trait;
use serde_json::{Value, json};

use crate::{
    error::{Error, ErrorKind, Result},
    secrets::{SecretsManager, SecretsProvider},
};

/// Opens what was encrypted with its key: ciphertexts begin with the key's name.
pub(crate) struct Key(pub(crate) &'static str);

#[async_trait]
impl SecretsProvider for Key {
    async fn open(&self, kind: &str, state: Option<&Value>) -> Result<Arc<dyn SecretsManager>> {
        if kind != "test" || state != Some(&json!({ "key": self.0 })) {
            return Err(Error::new(ErrorKind::Decrypt, "another key"));
        }
        self.create().await
    }

    fn verifies_key(&self) -> bool {
        true
    }

    async fn create(&self) -> Result<Arc<dyn SecretsManager>> {
        Ok(Arc::new(Self(self.0)))
    }
}

#[async_trait]
impl SecretsManager for Key {
    fn kind(&self) -> &'static str {
        "test"
    }

    fn state(&self) -> Option<Value> {
        Some(json!({ "key": self.0 }))
    }

    fn identity(&self) -> Arc<str> {
        self.0.into()
    }

    async fn encrypt(&self, plaintexts: Vec<String>) -> Result<Vec<String>> {
        let sealed = plaintexts
            .iter()
            .map(|text| format!("{}:{}", self.0, reversed(text)));
        Ok(sealed.collect())
    }

    async fn decrypt(&self, ciphertexts: Vec<String>) -> Result<Vec<String>> {
        let wrong = || Error::new(ErrorKind::Decrypt, "encrypted with another key");
        let opened = ciphertexts.iter().map(|text| {
            let (key, text) = text.split_once(':').ok_or_else(wrong)?;
            if key == self.0 {
                Ok(reversed(text))
            } else {
                Err(wrong())
            }
        });
        opened.collect()
    }
}

fn reversed(text: &str) -> String {
    text.chars().rev().collect()
}

/// As [`Key`], with another ciphertext each time, so that one that is kept differs from another one of the same content.
pub(crate) struct NumberedKey(pub(crate) &'static str);

/// The number of the next ciphertext of all [`NumberedKey`]s.
static NUMBER: AtomicU64 = AtomicU64::new(0);

#[async_trait]
impl SecretsProvider for NumberedKey {
    async fn open(&self, kind: &str, state: Option<&Value>) -> Result<Arc<dyn SecretsManager>> {
        Key(self.0).open(kind, state).await?;
        self.create().await
    }

    fn verifies_key(&self) -> bool {
        true
    }

    async fn create(&self) -> Result<Arc<dyn SecretsManager>> {
        Ok(Arc::new(Self(self.0)))
    }
}

#[async_trait]
impl SecretsManager for NumberedKey {
    fn kind(&self) -> &'static str {
        "test"
    }

    fn state(&self) -> Option<Value> {
        Key(self.0).state()
    }

    fn identity(&self) -> Arc<str> {
        self.0.into()
    }

    async fn encrypt(&self, plaintexts: Vec<String>) -> Result<Vec<String>> {
        let sealed = Key(self.0).encrypt(plaintexts).await?;
        let numbered = |text| format!("{}#{text}", NUMBER.fetch_add(1, Ordering::Relaxed));
        Ok(sealed.into_iter().map(numbered).collect())
    }

    async fn decrypt(&self, ciphertexts: Vec<String>) -> Result<Vec<String>> {
        let sealed = ciphertexts.iter().map(|text| match text.split_once('#') {
            Some((_, sealed)) => sealed.to_owned(),
            None => text.clone(),
        });
        Key(self.0).decrypt(sealed.collect()).await
    }
}
