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

/// Opens what was encrypted with its key: ciphertexts begin with the key's name, after a number where the key numbers them.
pub(crate) struct Key {
    name: &'static str,
    is_numbering: bool,
}

/// The number of the next ciphertext of all keys that number them.
static NUMBER: AtomicU64 = AtomicU64::new(0);

impl Key {
    pub(crate) fn new(name: &'static str) -> Self {
        let is_numbering = false;
        Self { name, is_numbering }
    }

    /// Creates a key with another ciphertext each time, so that one that is kept differs from another one of the same content.
    pub(crate) fn numbered(name: &'static str) -> Self {
        let is_numbering = true;
        Self { name, is_numbering }
    }
}

#[async_trait]
impl SecretsProvider for Key {
    async fn open(&self, kind: &str, state: Option<&Value>) -> Result<Arc<dyn SecretsManager>> {
        if kind != "test" || state != Some(&json!({ "key": self.name })) {
            return Err(Error::new(ErrorKind::Decrypt, "another key"));
        }
        self.create().await
    }

    fn verifies_key(&self) -> bool {
        true
    }

    async fn create(&self) -> Result<Arc<dyn SecretsManager>> {
        Ok(Arc::new(Self { ..*self }))
    }
}

#[async_trait]
impl SecretsManager for Key {
    fn kind(&self) -> &'static str {
        "test"
    }

    fn state(&self) -> Option<Value> {
        Some(json!({ "key": self.name }))
    }

    fn identity(&self) -> Arc<str> {
        self.name.into()
    }

    async fn encrypt(&self, plaintexts: Vec<String>) -> Result<Vec<String>> {
        let sealed = plaintexts.iter().map(|text| {
            let sealed = format!("{}:{}", self.name, reversed(text));
            match self.is_numbering {
                true => format!("{}#{sealed}", NUMBER.fetch_add(1, Ordering::Relaxed)),
                false => sealed,
            }
        });
        Ok(sealed.collect())
    }

    async fn decrypt(&self, ciphertexts: Vec<String>) -> Result<Vec<String>> {
        let wrong = || Error::new(ErrorKind::Decrypt, "encrypted with another key");
        let opened = ciphertexts.iter().map(|text| {
            let sealed = text.split_once('#').map_or(text.as_str(), |(_, sealed)| sealed);
            let (key, text) = sealed.split_once(':').ok_or_else(wrong)?;
            if key == self.name {
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
