//! Ciphertexts for writing: collecting the secrets that need one, and finding them while writing.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{SecretForm, ValueJson, format};
use crate::{
    error::{Error, ErrorKind, Result},
    property::{ArchiveSource, CachedCiphertext, Output, PropertyMap, PropertyValue, Secret},
};

/// Collects the outermost secrets of any number of values without a ciphertext of one manager.
pub(crate) struct SecretCollector {
    manager: Arc<str>,
    pending: Vec<Holder>,
    seen: FxHashSet<usize>,
}

/// The owner of a secret value in memory; holding it keeps its address from being reused.
#[derive(Clone)]
enum Holder {
    Secret(Arc<Secret>),
    Output(Arc<Output>),
}

impl Holder {
    fn address(&self) -> usize {
        match self {
            Self::Secret(secret) => address(secret.as_ref()),
            Self::Output(output) => address(output.as_ref()),
        }
    }
}

fn address<T>(value: &T) -> usize {
    std::ptr::from_ref(value).addr()
}

impl SecretCollector {
    /// Creates an empty collector for the manager with this [`crate::secrets::SecretsManager::identity`].
    #[must_use]
    pub(crate) fn new(manager: Arc<str>) -> Self {
        Self {
            manager,
            pending: Vec::new(),
            seen: FxHashSet::default(),
        }
    }

    /// Adds the secrets of a map.
    pub(crate) fn collect(&mut self, map: &PropertyMap) {
        map.values().for_each(|value| self.collect_value(value));
    }

    /// Adds the outermost secrets of a value.
    pub(crate) fn collect_value(&mut self, value: &PropertyValue) {
        match value {
            PropertyValue::Secret(secret) => {
                let cached = secret.ciphertext.get();
                if cached.is_none_or(|cached| cached.manager != self.manager) {
                    self.add(Holder::Secret(Arc::clone(secret)));
                }
            }
            PropertyValue::Output(output) if output.secret => self.add(Holder::Output(Arc::clone(output))),
            PropertyValue::Output(output) => {
                output.element.iter().for_each(|value| self.collect_value(value));
            }
            PropertyValue::Array(values) => values.iter().for_each(|value| self.collect_value(value)),
            PropertyValue::Object(map) => self.collect(map),
            PropertyValue::Archive(archive) => {
                if let ArchiveSource::Assets(assets) = &archive.source {
                    assets.values().for_each(|value| self.collect_value(value));
                }
            }
            _ => {}
        }
    }

    fn add(&mut self, holder: Holder) {
        if self.seen.insert(holder.address()) {
            self.pending.push(holder);
        }
    }

    /// Returns whether there is no secret to encrypt.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Returns the JSON texts to encrypt, in the order of collection.
    ///
    /// # Errors
    /// [`ErrorKind::Secrets`] if a secret was read from state and never decrypted.
    pub(crate) fn plaintexts(&self) -> Result<Vec<String>> {
        let unknown = PropertyValue::unknown();
        self.pending
            .iter()
            .map(|holder| match holder {
                Holder::Secret(secret) if secret.is_sealed() => Err(Error::new(
                    ErrorKind::Secrets,
                    "a secret of the state was never decrypted, so it cannot be encrypted again",
                )),
                Holder::Secret(secret) => plaintext(&secret.element),
                Holder::Output(output) => plaintext(output.element.as_ref().unwrap_or(&unknown)),
            })
            .collect()
    }

    /// Stores the manager's ciphertexts of the plaintexts, in the same order. Each secret caches its ciphertext, so
    /// that it is not encrypted again by the next save.
    ///
    /// # Errors
    /// [`ErrorKind::Internal`] if the number differs from that of the plaintexts.
    pub(crate) fn finish(self, ciphertexts: Vec<String>) -> Result<Ciphertexts> {
        if ciphertexts.len() != self.pending.len() {
            return Err(Error::internal(format!(
                "the secrets manager was given {} secrets and returned {}",
                self.pending.len(),
                ciphertexts.len()
            )));
        }
        let mut others = FxHashMap::default();
        for (holder, text) in self.pending.into_iter().zip(ciphertexts) {
            let ciphertext = CachedCiphertext {
                manager: Arc::clone(&self.manager),
                text: text.into(),
            };
            let remembered = match &holder {
                Holder::Secret(secret) => {
                    let cached = secret.ciphertext.get_or_init(|| ciphertext.clone());
                    cached.manager == self.manager
                }
                Holder::Output(_) => false,
            };
            if !remembered {
                others.insert(holder.address(), (ciphertext.text, holder));
            }
        }
        Ok(Ciphertexts {
            manager: self.manager,
            others,
        })
    }
}

fn plaintext(element: &PropertyValue) -> Result<String> {
    let text = format::to_vec(&ValueJson::new(element, SecretForm::Nested))?;
    String::from_utf8(text).map_err(|_| Error::internal("a JSON text is not UTF-8"))
}

/// Finds the ciphertext of each secret while a document is written.
pub struct Ciphertexts {
    manager: Arc<str>,
    /// Ciphertexts that the secrets could not cache, by address. The holder keeps the address from being reused.
    others: FxHashMap<usize, (Arc<str>, Holder)>,
}

impl Ciphertexts {
    /// Uses only the ciphertexts of `manager` that the secrets have cached.
    #[must_use]
    pub fn remembered(manager: Arc<str>) -> Self {
        Self {
            manager,
            others: FxHashMap::default(),
        }
    }

    /// Writes secrets that were never decrypted as they were read: for copying a state without its key.
    #[must_use]
    pub fn sealed() -> Self {
        Self::remembered(Arc::from(Secret::SEALED))
    }

    pub(super) fn of_secret<'a>(&'a self, secret: &'a Secret) -> Option<&'a str> {
        match secret.ciphertext.get() {
            Some(cached) if cached.manager == self.manager => Some(&cached.text),
            _ => self.others.get(&address(secret)).map(|(text, _)| &**text),
        }
    }

    pub(super) fn of_output(&self, output: &Output) -> Option<&str> {
        self.others.get(&address(output)).map(|(text, _)| &**text)
    }
}

impl Secret {
    /// The identity of the manager in a sealed secret.
    pub(crate) const SEALED: &str = "";

    /// Returns whether this was read from state and not decrypted: its element is null and not its value.
    #[must_use]
    pub fn is_sealed(&self) -> bool {
        self.ciphertext
            .get()
            .is_some_and(|cached| &*cached.manager == Self::SEALED)
    }
}
