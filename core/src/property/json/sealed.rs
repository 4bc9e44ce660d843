//! Sealed secrets: read from state without decryption, and opened by a batch of plaintexts.

use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;

use super::read::{self, ReadForm};
use crate::{
    error::{Error, ErrorKind, Result},
    property::{CachedCiphertext, PropertyMap, PropertyValue, Secret},
};

/// Collects the distinct ciphertexts of the sealed secrets of any number of maps.
#[derive(Default)]
pub(crate) struct SealedSecrets {
    texts: Vec<Arc<str>>,
    positions: FxHashMap<Arc<str>, usize>,
}

impl SealedSecrets {
    /// Creates an empty collection.
    #[must_use]
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds the sealed secrets of a map; returns whether there are any.
    pub(crate) fn collect(&mut self, map: &PropertyMap) -> bool {
        map.values()
            .fold(false, |any, value| self.collect_value(value) | any)
    }

    /// Adds the sealed secrets of a value; returns whether there are any.
    pub(crate) fn collect_value(&mut self, value: &PropertyValue) -> bool {
        match value {
            PropertyValue::Secret(secret) => match secret.ciphertext.get() {
                Some(cached) if secret.is_sealed() => {
                    let next = self.texts.len();
                    let position = *self.positions.entry(Arc::clone(&cached.text)).or_insert(next);
                    if position == next {
                        self.texts.push(Arc::clone(&cached.text));
                    }
                    true
                }
                _ => self.collect_value(&secret.element),
            },
            PropertyValue::Array(values) => values
                .iter()
                .fold(false, |any, value| self.collect_value(value) | any),
            PropertyValue::Object(map) => self.collect(map),
            // State contains neither output values nor secrets in archives.
            _ => false,
        }
    }

    /// Returns the texts to decrypt.
    #[must_use]
    pub(crate) fn ciphertexts(&self) -> Vec<String> {
        self.texts.iter().map(|text| String::from(&**text)).collect()
    }

    /// Opens the secrets with the plaintexts of `manager`, in the order of the ciphertexts.
    ///
    /// # Errors
    /// [`ErrorKind::State`] if a plaintext is not the JSON of a value; [`ErrorKind::Internal`] if the number differs
    /// from that of the ciphertexts.
    pub(crate) fn open(self, plaintexts: &[String], manager: &Arc<str>) -> Result<OpenedSecrets> {
        if plaintexts.len() != self.texts.len() {
            return Err(Error::internal(format!(
                "the secrets manager was given {} ciphertexts and returned {}",
                self.texts.len(),
                plaintexts.len()
            )));
        }
        let mut secrets = FxHashMap::default();
        for (text, plaintext) in self.texts.into_iter().zip(plaintexts) {
            let element = read::text(plaintext, ReadForm::Nested, 0).map_err(|problem| {
                Error::new(
                    ErrorKind::State,
                    format!("a decrypted secret is malformed: {problem}"),
                )
            })?;
            // A secret inside a secret is merged.
            let element = match element {
                PropertyValue::Secret(inner) => inner.element.clone(),
                element => element,
            };
            let ciphertext = OnceLock::from(CachedCiphertext {
                manager: Arc::clone(manager),
                text: Arc::clone(&text),
            });
            secrets.insert(text, Arc::new(Secret { element, ciphertext }));
        }
        Ok(OpenedSecrets(secrets))
    }
}

/// Opened secrets by ciphertext.
pub(crate) struct OpenedSecrets(FxHashMap<Arc<str>, Arc<Secret>>);

impl OpenedSecrets {
    /// Replaces the sealed secrets by the opened ones; a map without any is not changed.
    pub(crate) fn fill(&self, map: &mut PropertyMap) {
        if map.values().any(holds_sealed) {
            for (_, value) in map.iter_mut() {
                self.fill_value(value);
            }
        }
    }

    /// Replaces the sealed secrets by the opened ones.
    pub(crate) fn fill_value(&self, value: &mut PropertyValue) {
        match value {
            PropertyValue::Secret(secret) => {
                let opened = secret
                    .ciphertext
                    .get()
                    .filter(|_| secret.is_sealed())
                    .and_then(|cached| self.0.get(&cached.text));
                if let Some(opened) = opened {
                    *secret = Arc::clone(opened);
                }
            }
            PropertyValue::Array(values) if values.iter().any(holds_sealed) => {
                for value in Arc::make_mut(values) {
                    self.fill_value(value);
                }
            }
            PropertyValue::Object(map) => {
                for (_, value) in map.iter_mut() {
                    self.fill_value(value);
                }
            }
            _ => {}
        }
    }
}

fn holds_sealed(value: &PropertyValue) -> bool {
    value.any(&mut |value| matches!(value, PropertyValue::Secret(secret) if secret.is_sealed()))
}
