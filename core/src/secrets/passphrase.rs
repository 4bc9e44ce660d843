//! The passphrase manager: secrets under a key that is derived from a passphrase and a stored salt.

use std::{
    num::NonZeroU32,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use futures::{FutureExt as _, future::Shared};
use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use zeroize::Zeroizing;

use super::{
    SecretsManager, SecretsProvider,
    base64::Base64Secrets,
    cipher::Cipher,
    kind::{ENCODED, PASSPHRASE},
};
use crate::{
    error::{Error, ErrorKind, Result},
    runtime::{Runtime, Task},
};

/// The number of key derivation rounds in the format.
const ROUNDS: NonZeroU32 = NonZeroU32::new(1_000_000).unwrap();

/// The text that is encrypted in the salt, for detecting a wrong passphrase.
const CHECK: &str = "pulumi";

/// Opens and creates managers of one passphrase.
///
/// Deriving a key takes some hundred milliseconds, so each key is derived once and kept for the lifetime of this value.
/// The key of a new manager is derived in the background.
pub struct PassphraseProvider {
    passphrase: Arc<Zeroizing<String>>,
    runtime: Runtime,
    /// Opened managers by their stored salt.
    opened: Mutex<FxHashMap<String, Arc<OnceCell<Arc<PassphraseManager>>>>>,
    /// New managers by the bytes of the salt.
    created: Mutex<FxHashMap<String, Arc<PassphraseManager>>>,
}

impl PassphraseProvider {
    /// Creates a provider with `passphrase`, which is kept in memory and wiped when dropped.
    pub fn new(passphrase: impl Into<String>, runtime: Runtime) -> Self {
        Self {
            passphrase: Arc::new(Zeroizing::new(passphrase.into())),
            runtime,
            opened: Mutex::default(),
            created: Mutex::default(),
        }
    }

    /// Opens the manager of a salt in the form of a stack file's `encryptionsalt`.
    ///
    /// # Errors
    /// [`ErrorKind::Decrypt`] with the message `incorrect passphrase` if the passphrase is wrong.
    ///
    /// # Cancel safety
    /// A dropped future lets the derivation of the key complete in the background without effect; a further call derives again.
    pub async fn open_salt(&self, salt: &str) -> Result<Arc<dyn SecretsManager>> {
        let slot = self.slot(salt);
        let manager = slot
            .get_or_try_init(|| async {
                let Salt {
                    encoded,
                    bytes,
                    check,
                } = Salt::parse(salt)?;
                let created = {
                    let created = self.created.lock().unwrap_or_else(PoisonError::into_inner);
                    created.get(encoded).cloned()
                };
                if let Some(created) = created
                    && *created.derived().await?.salt == *salt
                {
                    return Ok(created);
                }
                let passphrase = Arc::clone(&self.passphrase);
                let derive = move || derive(&passphrase, &bytes);
                let cipher = self.runtime.spawner.spawn_blocking(derive).await?;
                match cipher.decrypt(check) {
                    Ok(text) if text == CHECK => Ok(Arc::new(PassphraseManager {
                        identity: identity(encoded),
                        derived: OnceCell::new_with(Some(Derived {
                            salt: salt.into(),
                            cipher: Arc::new(cipher),
                        })),
                        deriving: None,
                        runtime: self.runtime.clone(),
                    })),
                    _ => Err(Error::new(ErrorKind::Decrypt, "incorrect passphrase")),
                }
            })
            .await?;
        Ok(Arc::clone(manager) as _)
    }

    fn slot(&self, salt: &str) -> Arc<OnceCell<Arc<PassphraseManager>>> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(opened.entry(salt.to_owned()).or_default())
    }
}

/// Derives the key of a salt; slow on purpose.
fn derive(passphrase: &str, salt: &[u8]) -> Cipher {
    let key = Zeroizing::new(stackwright_derivation::derive(
        passphrase.as_bytes(),
        salt,
        ROUNDS,
    ));
    Cipher::new(&key)
}

/// Returns the identity of a salt's managers. The same salt means the same key: each was verified, or is new.
fn identity(encoded: &str) -> Arc<str> {
    format!("{PASSPHRASE}:{encoded}").into()
}

impl std::fmt::Debug for PassphraseProvider {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("PassphraseProvider")
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl SecretsProvider for PassphraseProvider {
    async fn open(&self, kind: &str, state: Option<&Value>) -> Result<Arc<dyn SecretsManager>> {
        match kind {
            PASSPHRASE => {
                let Some(salt) = state.and_then(|state| state.get("salt")).and_then(Value::as_str) else {
                    return Err(Error::new(
                        ErrorKind::Secrets,
                        "the state of the passphrase secrets manager has no salt",
                    ));
                };
                self.open_salt(salt).await
            }
            ENCODED => Ok(Arc::new(Base64Secrets)),
            other => Err(Error::new(
                ErrorKind::Secrets,
                format!("no known secrets provider for type {other:?}"),
            )),
        }
    }

    fn verifies_key(&self) -> bool {
        true
    }

    async fn create(&self) -> Result<Arc<dyn SecretsManager>> {
        let mut bytes = vec![0; 8];
        self.runtime.random.fill(&mut bytes);
        let encoded = STANDARD.encode(&bytes);
        let (passphrase, random) = (Arc::clone(&self.passphrase), Arc::clone(&self.runtime.random));
        let salt = format!("v1:{encoded}:");
        let deriving = self.runtime.spawner.spawn_blocking(move || {
            let cipher = derive(&passphrase, &bytes);
            let check = cipher.encrypt(CHECK, &*random)?;
            Ok(Derived {
                salt: (salt + &check).into(),
                cipher: Arc::new(cipher),
            })
        });
        let manager = Arc::new(PassphraseManager {
            identity: identity(&encoded),
            derived: OnceCell::new(),
            deriving: Some(deriving.shared()),
            runtime: self.runtime.clone(),
        });
        let mut created = self.created.lock().unwrap_or_else(PoisonError::into_inner);
        created.insert(encoded, Arc::clone(&manager));
        Ok(manager)
    }
}

/// `v1:<salt>:<check value>`, as stored in states and stack files.
struct Salt<'a> {
    encoded: &'a str,
    bytes: Vec<u8>,
    check: &'a str,
}

impl<'a> Salt<'a> {
    fn parse(text: &'a str) -> Result<Self> {
        let malformed = || {
            Error::new(
                ErrorKind::Secrets,
                "malformed state value of the passphrase secrets manager",
            )
        };
        let mut parts = text.splitn(3, ':');
        let (Some(version), Some(encoded), Some(check)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(malformed());
        };
        if version != "v1" {
            return Err(Error::new(
                ErrorKind::Secrets,
                "unknown state version of the passphrase secrets manager, expected v1",
            ));
        }
        let bytes = STANDARD.decode(encoded).map_err(|_| malformed())?;
        Ok(Self {
            encoded,
            bytes,
            check,
        })
    }
}

/// A derived key with its stored salt.
#[derive(Clone)]
struct Derived {
    salt: Arc<str>,
    cipher: Arc<Cipher>,
}

/// Encrypts with the key of one salt.
struct PassphraseManager {
    identity: Arc<str>,
    derived: OnceCell<Derived>,
    /// The running derivation of `derived`, for a new manager.
    deriving: Option<Shared<Task<Result<Derived>>>>,
    runtime: Runtime,
}

impl PassphraseManager {
    /// Waits for the key.
    async fn derived(&self) -> Result<&Derived> {
        let derive = || async {
            match &self.deriving {
                Some(deriving) => deriving.clone().await?,
                None => Err(Error::internal("an opened secrets manager has no key")),
            }
        };
        self.derived.get_or_try_init(derive).await
    }
}

#[async_trait]
impl SecretsManager for PassphraseManager {
    fn kind(&self) -> &str {
        PASSPHRASE
    }

    async fn ready(&self) -> Result<()> {
        self.derived().await.map(drop)
    }

    fn state(&self) -> Option<Value> {
        let derived = self.derived.get()?;
        Some(json!({ "salt": *derived.salt }))
    }

    fn identity(&self) -> Arc<str> {
        Arc::clone(&self.identity)
    }

    async fn encrypt(&self, plaintexts: Vec<String>) -> Result<Vec<String>> {
        let random = Arc::clone(&self.runtime.random);
        let cipher = &self.derived().await?.cipher;
        Cipher::each(cipher, &self.runtime, plaintexts, move |cipher, text| {
            cipher.encrypt(text, &*random)
        })
        .await
    }

    async fn decrypt(&self, ciphertexts: Vec<String>) -> Result<Vec<String>> {
        let cipher = &self.derived().await?.cipher;
        Cipher::each(cipher, &self.runtime, ciphertexts, Cipher::decrypt).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The salt of the golden states; their passphrase is `correct horse`.
    const SALT: &str = "v1:T9FaSItA8xQ=:v1:Kr1yt5YlRPcWOb8A:cKkXdfcl/fR2vHkjxnls0SsHa1kjNw==";

    fn provider(passphrase: &str) -> PassphraseProvider {
        PassphraseProvider::new(passphrase, Runtime::system(tokio::runtime::Handle::current()))
    }

    #[tokio::test]
    async fn ciphertexts_of_the_reference_engine_are_decrypted() {
        let provider = provider("correct horse");
        let state = json!({ "salt": SALT });
        let manager = provider.open(PASSPHRASE, Some(&state)).await.unwrap();
        let texts = manager
            .decrypt(vec![
                "v1:kJRS4pwT81fxH2Qd:P+0Qu+OtRhM0ap/gfhSeE5kf4mEzW9eyqGE=".into(),
                "v1:NCmYpDDO9Qk8zE1e:PIRn0LKZI2BwXWkX3YJWjyNYRTCmHB4QYO+9".into(),
            ])
            .await
            .unwrap();
        assert_eq!(texts, ["tok-secret", "deep-secret"]);
        assert_eq!(manager.state(), Some(state.clone()));
        let again = provider.open(PASSPHRASE, Some(&state)).await.unwrap();
        assert!(Arc::ptr_eq(&manager, &again), "the key is derived once");
    }

    #[tokio::test]
    async fn a_wrong_passphrase_is_detected() {
        let error = provider("wrong horse").open_salt(SALT).await.err().unwrap();
        assert_eq!(error.message(), "incorrect passphrase");
        assert_eq!(error.kind(), ErrorKind::Decrypt);
    }

    #[test]
    fn a_new_manager_is_created_before_its_key_is_derived() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .max_blocking_threads(1)
            .build()
            .unwrap();
        runtime.block_on(async {
            // Blocks the only thread that could derive the key.
            let (release, released) = std::sync::mpsc::channel::<()>();
            let busy = tokio::task::spawn_blocking(move || released.recv());
            let provider = provider("p");
            let manager = provider
                .create()
                .now_or_never()
                .expect("nothing is waited for")
                .unwrap();
            assert!(manager.ready().now_or_never().is_none());
            assert_eq!(manager.state(), None);
            release.send(()).unwrap();
            busy.await.unwrap().unwrap();
            manager.ready().await.unwrap();
            let state = manager.state();
            let again = provider.open(PASSPHRASE, state.as_ref()).await.unwrap();
            assert!(Arc::ptr_eq(&manager, &again), "the key is derived once");
        });
    }

    #[tokio::test]
    async fn a_new_manager_can_be_opened_again_from_its_state() {
        let written = provider("p").create().await.unwrap();
        let ciphertexts = written.encrypt(vec!["a".into(), String::new()]).await.unwrap();
        let read = provider("p")
            .open(PASSPHRASE, written.state().as_ref())
            .await
            .unwrap();
        assert_eq!(read.decrypt(ciphertexts).await.unwrap(), ["a", ""]);
        assert_eq!(read.identity(), written.identity());
    }
}
