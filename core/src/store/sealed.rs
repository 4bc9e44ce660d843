//! Stores that are encrypted as a whole: what is written is sealed under a key of the store, which a secrets manager keeps.
//!
//! `meta.yaml` names the manager and has the encrypted key, under a version that no reader of plain stores accepts. Every other object is
//! a sequence of frames, each encrypted with the object's key as associated data: one for a put, one more for each append. An append
//! that a crash has cut short leaves part of a frame, which is read as a zero byte: journals take zeros at their end for what was
//! never written. Lock files stay readable.

use std::{sync::Arc, time::Duration};

use ::base64::{Engine as _, engine::general_purpose::STANDARD};
use aes_gcm::{
    Aes256Gcm, KeyInit as _,
    aead::{Aead as _, Nonce, Payload},
};
use async_trait::async_trait;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::OnceCell;
use zeroize::Zeroizing;

use super::{
    Condition, LockGuard, LockOwner, Md5Digest, Object, ObjectInfo, Store, Version, changed, check_key,
    file::digest,
    layout::{BACKUP_ENDING, HISTORY, LOCKS, META, STACKS},
    not_found,
};
use crate::{
    error::{Error, ErrorKind, Result},
    runtime::Runtime,
    secrets::{SecretsProvider, base64},
};

/// What each sealed object begins with.
const MAGIC: &[u8] = b"SWS1";
/// The length of a nonce, of a frame's length before it, and of the tag after the content.
const NONCE: usize = 12;
const LENGTH: usize = 4;
const TAG: usize = 16;

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

/// The cipher of a store's objects.
struct ObjectCipher {
    cipher: Aes256Gcm,
    runtime: Runtime,
}

impl ObjectCipher {
    fn new(key: &Zeroizing<[u8; 32]>, runtime: &Runtime) -> Self {
        Self {
            cipher: Aes256Gcm::new((&**key).into()),
            runtime: runtime.clone(),
        }
    }

    /// Returns a frame with this content.
    fn frame(&self, key: &str, content: &[u8]) -> Result<Vec<u8>> {
        let mut nonce = [0; NONCE];
        self.runtime.random.fill(&mut nonce);
        let payload = Payload {
            msg: content,
            aad: name_of(key).as_bytes(),
        };
        let too_long = || {
            Error::new(
                ErrorKind::Secrets,
                format!("the object {key:?} is too long to be encrypted"),
            )
        };
        let sealed = self
            .cipher
            .encrypt(&Nonce::<Aes256Gcm>::from(nonce), payload)
            .map_err(|_| too_long())?;
        let length = u32::try_from(sealed.len()).map_err(|_| too_long())?;
        Ok([&length.to_le_bytes(), &nonce[..], &sealed].concat())
    }

    fn object(&self, key: &str, content: &[u8]) -> Result<Bytes> {
        Ok([MAGIC, &self.frame(key, content)?].concat().into())
    }

    /// Returns the content of an object.
    fn open(&self, key: &str, bytes: &[u8]) -> Result<Bytes> {
        let Some(mut rest) = bytes.strip_prefix(MAGIC) else {
            return match MAGIC.starts_with(written(bytes)) {
                // The first write was cut short.
                true => Ok(Bytes::from_static(&[0])),
                false => Err(unreadable(key, "it is not encrypted")),
            };
        };
        let mut content = Vec::new();
        loop {
            let Some((frame, after)) = split_frame(rest) else {
                content.push(0);
                break;
            };
            let Frame { nonce, sealed } = frame;
            let payload = Payload {
                msg: sealed,
                aad: name_of(key).as_bytes(),
            };
            match self.cipher.decrypt(&Nonce::<Aes256Gcm>::from(nonce), payload) {
                Ok(opened) => content.extend_from_slice(&opened),
                // Of reserved blocks those are zeros that were not written.
                Err(_) if written(after).is_empty() && sealed.ends_with(&[0]) => {
                    content.push(0);
                    break;
                }
                Err(_) => return Err(unreadable(key, "it was changed, or is another object's")),
            }
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
        Ok(content.into())
    }
}

/// What one write has encrypted.
struct Frame<'a> {
    nonce: [u8; NONCE],
    sealed: &'a [u8],
}

/// Splits nonce and ciphertext of a frame from what follows; `None` for one that was not written to its end.
fn split_frame(bytes: &[u8]) -> Option<(Frame<'_>, &[u8])> {
    let (length, rest) = bytes.split_at_checked(LENGTH)?;
    let length = usize::try_from(u32::from_le_bytes(length.try_into().ok()?)).ok()?;
    let (nonce, rest) = rest.split_at_checked(NONCE)?;
    let (sealed, after) = rest.split_at_checked(length)?;
    (length >= TAG).then_some((
        Frame {
            nonce: nonce.try_into().ok()?,
            sealed,
        },
        after,
    ))
}

/// Returns the bytes without zeros at their end.
fn written(bytes: &[u8]) -> &[u8] {
    let zeros = bytes.iter().rev().take_while(|byte| **byte == 0).count();
    &bytes[..bytes.len() - zeros]
}

fn unreadable(key: &str, why: &str) -> Error {
    Error::new(
        ErrorKind::State,
        format!("the object {key:?} of the encrypted store cannot be read: {why}"),
    )
    .with_hint("restore the object from a backup of the store")
}

/// A store that is encrypted as a whole.
pub(super) struct SealedStore {
    inner: Arc<dyn Store>,
    secrets: Arc<dyn SecretsProvider>,
    runtime: Runtime,
    cipher: OnceCell<ObjectCipher>,
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
    Arc::new(SealedStore {
        inner: store,
        secrets,
        runtime,
        cipher: OnceCell::new(),
    })
}

/// Returns the name with which an object is encrypted: its backup has the same.
fn name_of(key: &str) -> &str {
    key.strip_suffix(BACKUP_ENDING).unwrap_or(key)
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
            if manager.kind() == base64::KIND {
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
impl Store for SealedStore {
    fn url(&self) -> String {
        self.inner.url()
    }

    async fn get(&self, key: &str) -> Result<Option<Object>> {
        Ok(self.get_with_digest(key).await?.map(|(object, _)| object))
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
            key => cipher.open(key, &object.bytes)?,
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
        self.inner.put(key, cipher.object(key, &bytes)?, condition).await
    }

    async fn put_keeping(
        &self,
        key: &str,
        bytes: Bytes,
        condition: Condition,
        kept: &str,
    ) -> Result<Version> {
        let cipher = self.cipher().await?;
        let sealed = cipher.object(key, &bytes)?;
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
        let condition = match condition {
            Condition::Any => match self.inner.get(key).await? {
                Some(object) => Condition::Match(object.version),
                None => Condition::Absent,
            },
            stated => stated,
        };
        let bytes = match condition {
            Condition::Absent => cipher.object(key, &bytes)?,
            _ => cipher.frame(key, &bytes)?.into(),
        };
        self.inner.append(key, bytes, condition).await
    }

    async fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>> {
        self.inner.list(prefix).await
    }

    async fn delete(&self, key: &str) -> Result<()> {
        self.inner.delete(key).await
    }

    async fn delete_version(&self, key: &str, version: &Version) -> Result<()> {
        self.inner.delete_version(key, version).await
    }

    async fn copy(&self, from: &str, to: &str) -> Result<()> {
        // The key is part of what is encrypted.
        match self.get(from).await? {
            Some(object) => self.put(to, object.bytes, Condition::Any).await.map(drop),
            None => Err(not_found(from)),
        }
    }

    async fn lock(&self, name: &str) -> Result<Box<dyn LockGuard>> {
        self.inner.lock(name).await
    }

    async fn lock_for(&self, name: &str, operation: &str) -> Result<Box<dyn LockGuard>> {
        self.inner.lock_for(name, operation).await
    }

    async fn break_lock(&self, name: &str, owner: &LockOwner) -> Result<bool> {
        self.inner.break_lock(name, owner).await
    }

    fn shortens_journals(&self) -> bool {
        self.inner.shortens_journals()
    }

    fn rewrite_interval(&self) -> Duration {
        self.inner.rewrite_interval()
    }

    async fn tidy(&self, prefix: &str) {
        self.inner.tidy(prefix).await;
    }
}

#[cfg(test)]
#[path = "sealed_tests.rs"]
pub(super) mod tests;
