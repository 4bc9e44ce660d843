//! Stores that are encrypted as a whole: what is written is sealed under a key of the store, which a secrets manager keeps.
//!
//! `meta.yaml` names the manager and has the encrypted key, under a version that no reader of plain stores accepts. Every other object is
//! a sequence of frames ([`super::frames`]): one for a put, one more for each append. Lock files stay readable.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use ::base64::{Engine as _, engine::general_purpose::STANDARD};
use async_trait::async_trait;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::OnceCell;
use zeroize::Zeroizing;

use super::{
    Condition, Md5Digest, Object, Store, Version, changed, check_key,
    file::digest,
    frames::{ObjectCipher, Tag, name_of},
    layer::{Layer, Layered},
    layout::{HISTORY, LOCKS, META, STACKS},
    not_found,
    numbered::is_journal,
};
use crate::{
    error::{Error, ErrorKind, Result},
    runtime::Runtime,
    secrets::{SecretsProvider, kind},
};

/// The layout that readers of the store see.
const PLAIN_META: &[u8] = b"version: 1\n";
/// The begin of the line that describes the encryption.
const LINE: &str = "encryption: ";
/// The first line of `meta.yaml`.
const VERSION_LINE: &str = "version: 2\n";

/// The encryption that `meta.yaml` describes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Description {
    /// The kind of the manager.
    kind: String,
    /// Its state.
    state: Option<Value>,
    /// The key of the store, encrypted by it.
    key: String,
}

impl Description {
    /// Reads the description; `None` for a plain store.
    pub(super) fn of(meta: &[u8]) -> Option<Self> {
        let mut lines = std::str::from_utf8(meta).ok()?.lines();
        let text = lines.find_map(|line| line.strip_prefix(LINE))?;
        serde_json::from_str(text).ok()
    }

    /// Returns the manager's name for messages: the URL of a key service, or its kind.
    pub(super) fn manager(&self) -> &str {
        let url = self.state.as_ref().and_then(|state| state.get("url")?.as_str());
        url.unwrap_or(&self.kind)
    }

    fn to_meta(&self) -> Result<Bytes> {
        let text = serde_json::to_string(self).map_err(|error| {
            Error::internal(format!("the encryption of a store cannot be written: {error}"))
        })?;
        Ok(format!("{VERSION_LINE}{LINE}{text}\n").into())
    }
}

/// A store that is encrypted as a whole.
pub(super) struct SealedStore {
    inner: Arc<dyn Store>,
    secrets: Arc<dyn SecretsProvider>,
    runtime: Runtime,
    cipher: OnceCell<ObjectCipher>,
    /// The last frames of the journals that this process has written or read, which the next ones follow.
    last: Mutex<BTreeMap<String, Last>>,
}

/// The last frame of an object that has this version.
struct Last {
    version: Version,
    tag: Tag,
}

/// Encrypts a whole store with a new manager of `secrets`: checkpoints, history, journals and backups. It must be new, or must have been
/// encrypted from its beginning. Names, sizes and times of its objects stay visible, and so do lock files.
///
/// The store has a key of its own, which the manager encrypts once. Opening it needs that manager; other programs refuse the store.
#[must_use]
pub fn encrypted(
    store: Arc<dyn Store>,
    secrets: Arc<dyn SecretsProvider>,
    runtime: Runtime,
) -> Arc<dyn Store> {
    Arc::new(Layered(SealedStore {
        inner: store,
        secrets,
        runtime,
        cipher: OnceCell::new(),
        last: Mutex::default(),
    }))
}

/// Returns whether an object is readable also in an encrypted store.
fn is_open(key: &str) -> bool {
    key.starts_with(LOCKS)
}

impl SealedStore {
    /// Returns the cipher of the store; `None` for a store in which nothing was written yet.
    async fn known(&self) -> Result<Option<&ObjectCipher>> {
        if let Some(cipher) = self.cipher.get() {
            return Ok(Some(cipher));
        }
        match self.inner.get(META).await? {
            Some(meta) => self
                .cipher
                .get_or_try_init(|| self.open(&meta.bytes))
                .await
                .map(Some),
            None => self.require_empty().await.map(|()| None),
        }
    }

    /// Returns the cipher of the store, and creates one for a new store.
    async fn cipher(&self) -> Result<&ObjectCipher> {
        if let Some(cipher) = self.known().await? {
            return Ok(cipher);
        }
        let make = || async {
            let manager = self.secrets.create().await?;
            if manager.kind() == kind::ENCODED {
                let message = format!(
                    "the store {} is to be encrypted, and the engine has nothing to encrypt with",
                    self.inner.url()
                );
                return Err(
                    Error::invalid(message).with_hint("give the engine a passphrase, or a key service")
                );
            }
            manager.ready().await?;
            let mut key = Zeroizing::new([0; 32]);
            self.runtime.random.fill(&mut *key);
            let encoded = STANDARD.encode(*key);
            let encrypted = manager.encrypt(vec![encoded]).await?;
            let description = Description {
                kind: manager.kind().to_owned(),
                state: manager.state(),
                key: encrypted.into_iter().next().unwrap_or_default(),
            };
            match self
                .inner
                .put(META, description.to_meta()?, Condition::Absent)
                .await
            {
                Ok(_) => Ok(ObjectCipher::new(&key, &self.runtime)),
                // Another host was first.
                Err(error) if error.kind() == ErrorKind::Conflict => match self.inner.get(META).await? {
                    Some(meta) => self.open(&meta.bytes).await,
                    None => Err(error),
                },
                Err(error) => Err(error),
            }
        };
        self.cipher.get_or_try_init(make).await
    }

    /// Opens the key that `meta.yaml` has.
    async fn open(&self, meta: &[u8]) -> Result<ObjectCipher> {
        let Some(description) = Description::of(meta) else {
            return Err(self.plain());
        };
        let named = |error: Error| {
            let message = format!(
                "the store {} is encrypted, and its secrets manager {} does not open it: {}",
                self.inner.url(),
                description.manager(),
                error.message()
            );
            Error::new(error.kind(), message).with_facts_of(&error)
        };
        let opened = self
            .secrets
            .open(&description.kind, description.state.as_ref())
            .await;
        let manager = opened.map_err(named)?;
        let plaintexts = manager
            .decrypt(vec![description.key.clone()])
            .await
            .map_err(named)?;
        let encoded = Zeroizing::new(plaintexts.into_iter().next().unwrap_or_default());
        let bytes = STANDARD.decode(encoded.as_str()).ok().map(Zeroizing::new);
        let key = bytes.and_then(|bytes| <[u8; 32]>::try_from(bytes.as_slice()).ok());
        let key = key.map(Zeroizing::new).ok_or_else(|| {
            named(Error::new(
                ErrorKind::Decrypt,
                "what it decrypted is no key of a store",
            ))
        })?;
        Ok(ObjectCipher::new(&key, &self.runtime))
    }

    fn last(&self) -> MutexGuard<'_, BTreeMap<String, Last>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes the last frame of an object that is appended to.
    fn note(&self, key: &str, version: &Version, tag: Option<Tag>) {
        if let (true, Some(tag)) = (is_journal(key), tag) {
            let version = Version::clone(version);
            self.last().insert(key.to_owned(), Last { version, tag });
        }
    }

    /// Returns the version of an object that meets a condition, and its last frame; `None` when there is none.
    async fn end_of(
        &self,
        cipher: &ObjectCipher,
        key: &str,
        condition: Condition,
    ) -> Result<Option<(Version, Tag)>> {
        if let Condition::Match(version) = &condition
            && let Some(last) = self.last().get(key).filter(|last| last.version == *version)
        {
            return Ok(Some((Version::clone(version), last.tag)));
        }
        match (self.inner.get(key).await?, condition) {
            (None, Condition::Any | Condition::Absent) => Ok(None),
            (Some(object), Condition::Match(version)) if object.version != version => Err(changed(key)),
            (Some(object), Condition::Any | Condition::Match(_)) => {
                let (_, tag) = cipher.open(key, &object.bytes)?;
                // What was cut short is written anew as a whole, and not appended to.
                tag.map(|tag| Some((object.version, tag)))
                    .ok_or_else(|| changed(key))
            }
            _ => Err(changed(key)),
        }
    }

    async fn require_empty(&self) -> Result<()> {
        for prefix in [STACKS, HISTORY] {
            if !self.inner.list(prefix).await?.is_empty() {
                return Err(self.plain());
            }
        }
        Ok(())
    }

    fn plain(&self) -> Error {
        let message = format!(
            "the store {} is not encrypted, and a store is encrypted from its beginning",
            self.inner.url()
        );
        Error::new(ErrorKind::State, message).with_hint(
            "open it without the encryption of stores, or export its stacks and import them into a new store",
        )
    }
}

#[async_trait]
impl Layer for SealedStore {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn get_with_digest(&self, key: &str) -> Result<Option<(Object, Option<Md5Digest>)>> {
        if is_open(key) {
            return self.inner.get_with_digest(key).await;
        }
        check_key(key)?;
        let Some(cipher) = self.known().await? else {
            return Ok(None);
        };
        let Some((object, recorded)) = self.inner.get_with_digest(key).await? else {
            return Ok(None);
        };
        let bytes = match key {
            META => Bytes::from_static(PLAIN_META),
            key => {
                let (bytes, tag) = cipher.open(key, &object.bytes)?;
                self.note(key, &object.version, tag);
                bytes
            }
        };
        let recorded = recorded.map(|recorded| match digest(&object.bytes) == recorded {
            true => digest(&bytes),
            // It is that of another content.
            false => recorded,
        });
        let version = object.version;
        Ok(Some((Object { bytes, version }, recorded)))
    }

    async fn put(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        if is_open(key) {
            return self.inner.put(key, bytes, condition).await;
        }
        let known = self.known().await?.is_some();
        let cipher = self.cipher().await?;
        if key == META {
            let absent = matches!(condition, Condition::Absent) && known;
            return match self.inner.get(META).await? {
                Some(meta) if !absent => Ok(meta.version),
                _ => Err(changed(key)),
            };
        }
        let (sealed, tag) = cipher.object(key, &bytes)?;
        let version = self.inner.put(key, sealed, condition).await?;
        self.note(key, &version, Some(tag));
        Ok(version)
    }

    async fn put_keeping(
        &self,
        key: &str,
        bytes: Bytes,
        condition: Condition,
        kept: &str,
    ) -> Result<Version> {
        let cipher = self.cipher().await?;
        let (sealed, _) = cipher.object(key, &bytes)?;
        if name_of(kept) == name_of(key) {
            return self.inner.put_keeping(key, sealed, condition, kept).await;
        }
        if let Condition::Match(expected) = &condition {
            match self.inner.get(key).await? {
                Some(object) if object.version == *expected => {}
                _ => return Err(changed(key)),
            }
        }
        self.copy(key, kept).await?;
        self.inner.put(key, sealed, condition).await
    }

    async fn append(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        if is_open(key) {
            return self.inner.append(key, bytes, condition).await;
        }
        let cipher = self.cipher().await?;
        let end = match condition {
            Condition::Absent => None,
            stated => self.end_of(cipher, key, stated).await?,
        };
        let (frame, tag, condition) = match end {
            None => {
                let (object, tag) = cipher.object(key, &bytes)?;
                (object, tag, Condition::Absent)
            }
            Some((version, last)) => {
                let (frame, tag) = cipher.next_frame(key, &last, &bytes)?;
                (frame, tag, Condition::Match(version))
            }
        };
        let version = self.inner.append(key, frame, condition).await?;
        self.note(key, &version, Some(tag));
        Ok(version)
    }

    async fn copy(&self, from: &str, to: &str) -> Result<()> {
        // The key is part of what is encrypted.
        match self.get_with_digest(from).await? {
            Some((object, _)) => self.put(to, object.bytes, Condition::Any).await.map(drop),
            None => Err(not_found(from)),
        }
    }
}

#[cfg(test)]
#[path = "sealed_tests.rs"]
pub(super) mod tests;
