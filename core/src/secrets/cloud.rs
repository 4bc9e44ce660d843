//! Managers of key services: secrets under a data key of the engine, which a key service wraps through two functions of the host.

use std::{
    borrow::Cow,
    fmt::{self, Write as _},
    sync::{Arc, Mutex, PoisonError, Weak},
};

use async_trait::async_trait;
use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD},
};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use zeroize::Zeroizing;

use super::{SecretsManager, SecretsProvider, cipher::Cipher, kind::KEY_SERVICE};
use crate::{
    error::{Error, ErrorKind, Result},
    runtime::Runtime,
};

/// The length of a data key in bytes.
const KEY_BYTES: usize = 32;

/// The hint for a data key that is not wrapped.
const NOT_WRAPPED: &str = "the client of the key service needs the permission to encrypt and to decrypt with this key; nothing was changed";

/// The hint for a data key that is not unwrapped.
const NOT_UNWRAPPED: &str = "the key that wrapped the data key must exist, and the client of the key service needs the permission to decrypt \
                             with it; change_secrets() gives the stack another secrets manager while it does";

/// The key of a stack's secrets: 32 bytes, which are wiped when the value is dropped. Debug output hides them.
#[derive(Clone)]
pub struct DataKey(Zeroizing<Vec<u8>>);

impl DataKey {
    /// Takes over the bytes of a key.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// Returns the bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the cipher of the key; `None` for one of a wrong length.
    fn cipher(&self) -> Option<Cipher> {
        let key: Zeroizing<[u8; KEY_BYTES]> = Zeroizing::new(self.as_bytes().try_into().ok()?);
        Some(Cipher::new(&key))
    }

    /// Returns whether a text contains the key in one of the usual forms of bytes.
    fn is_in(&self, text: &str) -> bool {
        let hex = self
            .as_bytes()
            .iter()
            .fold(Zeroizing::new(String::new()), |mut hex, byte| {
                let _written = write!(hex, "{byte:02x}");
                hex
            });
        let engines = [STANDARD_NO_PAD, URL_SAFE_NO_PAD];
        let encoded = engines.map(|engine| Zeroizing::new(engine.encode(self.as_bytes())));
        let list = Zeroizing::new(format!("{:?}", self.as_bytes()));
        // Languages differ in which quotes they escape.
        let unquoted = |text: &str| Zeroizing::new(text.replace("\\\"", "\"").replace("\\'", "'"));
        let escaped = unquoted(&Zeroizing::new(self.as_bytes().escape_ascii().to_string()));
        let raw = Zeroizing::new(String::from_utf8_lossy(self.as_bytes()).into_owned());
        let mut forms = encoded.iter().chain([&raw, &list]);
        text.to_ascii_lowercase().contains(hex.as_str())
            || unquoted(text).contains(escaped.as_str())
            || forms.any(|form| text.contains(form.as_str()))
    }
}

impl fmt::Debug for DataKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("DataKey([secret])")
    }
}

/// The host's client of a key service. Called concurrently.
#[async_trait]
pub trait KeyServiceCallbacks: Send + Sync + 'static {
    /// Encrypts a data key with the key that `url` names (`awskms://alias/shop`), and returns what is stored in its place.
    ///
    /// # Errors
    /// Any, without the data key in its message. The caller receives it with [`ErrorKind::Secrets`].
    async fn wrap_key(&self, url: &str, key: DataKey) -> Result<Vec<u8>>;

    /// Decrypts what [`Self::wrap_key`] returned, or what the reference engine has stored.
    ///
    /// # Errors
    /// Those of [`Self::wrap_key`], with the kind [`ErrorKind::Decrypt`].
    async fn unwrap_key(&self, url: &str, wrapped: Vec<u8>) -> Result<DataKey>;
}

/// The key service that settings of a stack name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeyService {
    /// The URL of a key: `awskms://…`, `azurekeyvault://…`, `gcpkms://…`, `hashivault://…`.
    pub url: String,
    /// The wrapped data key in base64; `None` before there is one.
    pub encrypted_key: Option<String>,
}

impl KeyService {
    /// Returns the key service in the state of a manager; `None` for managers of other kinds.
    #[must_use]
    pub fn of_manager(manager: &dyn SecretsManager) -> Option<Self> {
        let state = manager.state().filter(|_| manager.kind() == KEY_SERVICE)?;
        let text = |name| Some(state.get(name)?.as_str()?.to_owned());
        Some(Self {
            url: text("url")?,
            encrypted_key: text("encryptedkey"),
        })
    }

    /// Opens the manager of the wrapped key, or creates one with a new key. `None` when `secrets` knows no key services.
    ///
    /// # Errors
    /// As [`SecretsProvider::open`] and [`SecretsProvider::create`].
    pub async fn manager(&self, secrets: &dyn SecretsProvider) -> Result<Option<Arc<dyn SecretsManager>>> {
        let Some(provider) = secrets.for_key_service(&self.url) else {
            return Ok(None);
        };
        let manager = match self.manager_state() {
            Some(state) => provider.open(KEY_SERVICE, Some(&state)).await?,
            None => provider.create().await?,
        };
        Ok(Some(manager))
    }

    /// Returns the state of the manager; `None` without a wrapped key.
    pub(crate) fn manager_state(&self) -> Option<Value> {
        let key = self.encrypted_key.as_ref()?;
        Some(state_of(&self.url, key))
    }
}

fn state_of(url: &str, encrypted_key: &str) -> Value {
    json!({ "url": url, "encryptedkey": encrypted_key })
}

/// Opens and creates managers of key services through the host's client; managers of other kinds are opened by another provider.
///
/// A data key is unwrapped once, and its cipher is kept for the lifetime of this value.
#[derive(Clone)]
pub struct KeyServiceProvider {
    /// The key of new managers.
    url: Option<Arc<str>>,
    callbacks: Arc<dyn KeyServiceCallbacks>,
    runtime: Runtime,
    others: Option<Arc<dyn SecretsProvider>>,
    opened: Arc<Opened>,
}

/// Managers by URL and wrapped key.
#[derive(Default)]
struct Opened(Mutex<FxHashMap<(String, String), Slot>>);

/// A manager, once it is open.
type Slot = Arc<OnceCell<Arc<KeyServiceManager>>>;

impl Opened {
    fn slot(&self, url: &str, wrapped: &str) -> Slot {
        let mut opened = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (url.to_owned(), wrapped.to_owned());
        Arc::clone(opened.entry(key).or_default())
    }
}

impl KeyServiceProvider {
    /// Creates a provider; new stacks get a data key that the key of `url` wraps.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for what is no URL.
    pub fn new(
        url: impl Into<String>,
        callbacks: Arc<dyn KeyServiceCallbacks>,
        runtime: Runtime,
    ) -> Result<Self> {
        let url = url.into();
        if !url
            .split_once("://")
            .is_some_and(|(scheme, key)| !scheme.is_empty() && !key.is_empty())
        {
            let message = format!(
                "the URL of a key service has a scheme and a key, as in awskms://alias/shop, and {url:?} does not"
            );
            return Err(Error::invalid(message));
        }
        Ok(Self {
            url: Some(url.into()),
            ..Self::of_client(callbacks, runtime)
        })
    }

    /// Creates a provider for the keys that states and settings name; new managers come from [`SecretsProvider::for_key_service`].
    #[must_use]
    pub fn of_client(callbacks: Arc<dyn KeyServiceCallbacks>, runtime: Runtime) -> Self {
        Self {
            url: None,
            callbacks,
            runtime,
            others: None,
            opened: Arc::default(),
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

    async fn open_state(&self, state: Option<&Value>) -> Result<Arc<KeyServiceManager>> {
        let text = |name| state.and_then(|state| state.get(name)?.as_str());
        let (Some(url), Some(encoded)) = (text("url"), text("encryptedkey")) else {
            let message = "the state of the secrets manager of a key service has no url, or no encryptedkey";
            return Err(Error::new(ErrorKind::Secrets, message));
        };
        let slot = self.opened.slot(url, encoded);
        let open = || async {
            let wrapped = STANDARD.decode(encoded).map_err(|_| {
                Error::new(
                    ErrorKind::Secrets,
                    format!("{url}: the encrypted data key is no base64"),
                )
                .with_hint("the settings file and the state have it as it was written: `encryptedkey`")
            })?;
            let key = unwrapped(&*self.callbacks, url, wrapped).await?;
            let cipher = key
                .cipher()
                .ok_or_else(|| wrong_length(url, key.as_bytes().len()))?;
            Ok(Arc::new(KeyServiceManager {
                url: url.into(),
                identity: format!("{KEY_SERVICE}:{url}:{encoded}").into(),
                cipher: Arc::new(cipher),
                runtime: self.runtime.clone(),
                wrapped: OnceCell::new_with(Some(encoded.to_owned())),
                fresh: None,
            }))
        };
        slot.get_or_try_init(open).await.map(Arc::clone)
    }

    fn new_manager(&self) -> Result<Arc<KeyServiceManager>> {
        let Some(url) = &self.url else {
            let message =
                "a new stack needs the URL of the key that encrypts its data key, and there is none";
            return Err(Error::new(ErrorKind::Secrets, message));
        };
        let mut bytes = Zeroizing::new(vec![0; KEY_BYTES]);
        self.runtime.random.fill(&mut bytes);
        let key = DataKey(bytes);
        let cipher = key
            .cipher()
            .ok_or_else(|| Error::internal("a new data key has a wrong length"))?;
        Ok(Arc::new_cyclic(|itself| KeyServiceManager {
            url: Arc::clone(url),
            identity: format!("{KEY_SERVICE}:new:{}", self.runtime.random.uuid()).into(),
            cipher: Arc::new(cipher),
            runtime: self.runtime.clone(),
            wrapped: OnceCell::new(),
            fresh: Some(Fresh {
                key: Mutex::new(Some(key)),
                callbacks: Arc::clone(&self.callbacks),
                opened: Arc::downgrade(&self.opened),
                itself: Weak::clone(itself),
            }),
        }))
    }
}

impl fmt::Debug for KeyServiceProvider {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("KeyServiceProvider")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl SecretsProvider for KeyServiceProvider {
    async fn open(&self, kind: &str, state: Option<&Value>) -> Result<Arc<dyn SecretsManager>> {
        match &self.others {
            _ if kind == KEY_SERVICE => Ok(self.open_state(state).await?),
            Some(others) => others.open(kind, state).await,
            None => Err(Error::new(
                ErrorKind::Secrets,
                format!("no known secrets provider for type {kind:?}"),
            )),
        }
    }

    fn verifies_key(&self) -> bool {
        true
    }

    fn for_key_service(&self, url: &str) -> Option<Arc<dyn SecretsProvider>> {
        Some(Arc::new(Self {
            url: Some(url.into()),
            ..self.clone()
        }))
    }

    async fn create(&self) -> Result<Arc<dyn SecretsManager>> {
        Ok(self.new_manager()?)
    }
}

/// Asks the key service for a data key.
async fn unwrapped(callbacks: &dyn KeyServiceCallbacks, url: &str, wrapped: Vec<u8>) -> Result<DataKey> {
    callbacks.unwrap_key(url, wrapped).await.map_err(|error| {
        let message = format!("{url}: the data key was not unwrapped: {}", error.message());
        Error::new(ErrorKind::Decrypt, message)
            .with_facts_of(&error)
            .with_hint(NOT_UNWRAPPED)
    })
}

fn wrong_length(url: &str, length: usize) -> Error {
    let message =
        format!("{url}: the data key that was unwrapped has {length} bytes, and a data key has {KEY_BYTES}");
    Error::new(ErrorKind::Decrypt, message)
        .with_hint("unwrap_key returns the bytes that wrap_key was given, in no other form; the key must be the one that wrapped them")
}

/// A new data key until the key service has wrapped it.
struct Fresh {
    key: Mutex<Option<DataKey>>,
    callbacks: Arc<dyn KeyServiceCallbacks>,
    opened: Weak<Opened>,
    itself: Weak<KeyServiceManager>,
}

/// Encrypts with one data key.
struct KeyServiceManager {
    url: Arc<str>,
    identity: Arc<str>,
    cipher: Arc<Cipher>,
    runtime: Runtime,
    /// The wrapped data key, in base64.
    wrapped: OnceCell<String>,
    /// Of a new manager.
    fresh: Option<Fresh>,
}

impl KeyServiceManager {
    /// Has a new data key wrapped. Nothing is encrypted with a key that could not be unwrapped later.
    async fn wrapped(&self) -> Result<&String> {
        let wrap = || async {
            let fresh = self.fresh.as_ref();
            let key = fresh.and_then(|fresh| {
                let key = fresh.key.lock().unwrap_or_else(PoisonError::into_inner);
                Some((fresh, key.clone()?))
            });
            let Some((fresh, key)) = key else {
                return Err(Error::internal("a secrets manager has no data key to wrap"));
            };
            let wrapped = wrapped_and_checked(&*fresh.callbacks, &self.url, &key).await;
            let wrapped = wrapped.map_err(|error| without_key(error, &self.url, &key))?;
            *fresh.key.lock().unwrap_or_else(PoisonError::into_inner) = None;
            Ok((fresh, STANDARD.encode(wrapped)))
        };
        let keep = || async {
            let (fresh, encoded) = wrap().await?;
            // The next opening of the state needs no call of the service.
            if let (Some(opened), Some(itself)) = (fresh.opened.upgrade(), fresh.itself.upgrade()) {
                let _kept = opened.slot(&self.url, &encoded).set(itself);
            }
            Ok(encoded)
        };
        self.wrapped.get_or_try_init(keep).await
    }

    /// Names the key service in an error of the cipher.
    fn named(&self, error: Error) -> Error {
        let message = format!("the secrets manager {}: {}", self.url, error.message());
        Error::new(error.kind(), message).with_facts_of(&error)
    }
}

/// Wraps a key, and unwraps it again: what the service cannot return is no encryption.
async fn wrapped_and_checked(
    callbacks: &dyn KeyServiceCallbacks,
    url: &str,
    key: &DataKey,
) -> Result<Vec<u8>> {
    let failed = |message: String| Error::new(ErrorKind::Secrets, message);
    let wrapped = callbacks.wrap_key(url, key.clone()).await.map_err(|error| {
        failed(format!(
            "{url}: the data key was not wrapped: {}",
            error.message()
        ))
        .with_facts_of(&error)
        .with_hint(NOT_WRAPPED)
    })?;
    let is_plain = wrapped.windows(KEY_BYTES).any(|window| window == key.as_bytes())
        || [STANDARD_NO_PAD, URL_SAFE_NO_PAD, STANDARD, URL_SAFE]
            .iter()
            .any(|engine| engine.decode(&wrapped).is_ok_and(|bytes| bytes == key.as_bytes()));
    if wrapped.is_empty() || is_plain {
        let what = if is_plain {
            "the data key itself"
        } else {
            "nothing"
        };
        let message = format!("{url}: wrap_key returned {what}, where the encrypted data key was expected");
        return Err(
            failed(message).with_hint("wrap_key returns the bytes of the ciphertext; nothing was changed")
        );
    }
    let back = unwrapped(callbacks, url, wrapped.clone()).await?;
    if back.as_bytes() != key.as_bytes() {
        let message = format!("{url}: unwrap_key did not return the data key that wrap_key had encrypted");
        let hint = "both take and return the same bytes, and call the same key; nothing was changed";
        return Err(failed(message).with_hint(hint));
    }
    Ok(wrapped)
}

/// Returns an error of the host without the text of a cause that contains the key.
fn without_key(error: Error, url: &str, key: &DataKey) -> Error {
    let has_key = std::cell::Cell::new(false);
    let scrubbed = error.scrubbed(|text| match key.is_in(text) {
        true => {
            has_key.set(true);
            Cow::Owned(format!("{url}: the data key was not wrapped: the text of the error is left out, as it contained the key"))
        }
        false => Cow::Borrowed(text),
    });
    match has_key.get() {
        true => Error::new(scrubbed.kind(), scrubbed.message().to_owned()).with_hint(NOT_WRAPPED),
        false => scrubbed,
    }
}

#[async_trait]
impl SecretsManager for KeyServiceManager {
    fn kind(&self) -> &str {
        KEY_SERVICE
    }

    async fn ready(&self) -> Result<()> {
        self.wrapped().await.map(drop)
    }

    fn state(&self) -> Option<Value> {
        Some(state_of(&self.url, self.wrapped.get()?))
    }

    fn identity(&self) -> Arc<str> {
        Arc::clone(&self.identity)
    }

    async fn encrypt(&self, plaintexts: Vec<String>) -> Result<Vec<String>> {
        self.wrapped().await?;
        let random = Arc::clone(&self.runtime.random);
        let encrypted = Cipher::each(&self.cipher, &self.runtime, plaintexts, move |cipher, text| {
            cipher.encrypt(text, &*random)
        });
        encrypted.await.map_err(|error| self.named(error))
    }

    async fn decrypt(&self, ciphertexts: Vec<String>) -> Result<Vec<String>> {
        let decrypted = Cipher::each(&self.cipher, &self.runtime, ciphertexts, Cipher::decrypt);
        decrypted.await.map_err(|error| self.named(error))
    }
}

#[cfg(test)]
#[path = "cloud_tests.rs"]
mod tests;
