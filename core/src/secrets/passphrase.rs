//! The passphrase manager: secrets under a key that is derived from a passphrase and a stored salt.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use zeroize::Zeroizing;

use super::{SecretsManager, SecretsProvider, base64::Base64Secrets, cipher::Cipher};
use crate::{
    error::{Error, ErrorKind, Result},
    runtime::Runtime,
};

/// The name of this kind of manager in deployments.
pub const KIND: &str = "passphrase";

/// The format's count of rounds of key derivation.
const ROUNDS: u32 = 1_000_000;

/// The text whose encryption stands in the salt, so that a wrong passphrase is noticed.
const CHECK: &str = "pulumi";

/// Batches of more plaintext than this are worked on beside the async threads.
const INLINE_BYTES: usize = 256 * 1024;

/// Opens and creates managers of one passphrase.
///
/// Deriving a key takes some hundred milliseconds on purpose, so each is derived once and kept for as long as this
/// value lives.
pub struct PassphraseProvider {
    passphrase: Arc<Zeroizing<String>>,
    runtime: Runtime,
    opened: Mutex<HashMap<String, Arc<OnceCell<Arc<PassphraseManager>>>>>,
}

impl PassphraseProvider {
    /// Creates a provider over `passphrase`, which is kept in memory and wiped at the end.
    pub fn new(passphrase: impl Into<String>, runtime: Runtime) -> Self {
        Self {
            passphrase: Arc::new(Zeroizing::new(passphrase.into())),
            runtime,
            opened: Mutex::default(),
        }
    }

    /// Opens the manager of a salt as a stack file's `encryptionsalt` holds it.
    ///
    /// # Errors
    /// [`ErrorKind::Decrypt`] with the message `incorrect passphrase` when the passphrase is another one.
    pub async fn open_salt(&self, salt: &str) -> Result<Arc<dyn SecretsManager>> {
        let slot = self.slot(salt);
        let manager = slot
            .get_or_try_init(|| async {
                let (bytes, check) = parse_salt(salt)?;
                let cipher = self.derive(bytes).await?;
                match cipher.decrypt(check) {
                    Ok(text) if text == CHECK => Ok(self.manager(salt, cipher)),
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

    fn manager(&self, salt: &str, cipher: Cipher) -> Arc<PassphraseManager> {
        Arc::new(PassphraseManager {
            salt: salt.into(),
            identity: format!("{KIND}:{salt}").into(),
            cipher: Arc::new(cipher),
            runtime: self.runtime.clone(),
        })
    }

    async fn derive(&self, salt: Vec<u8>) -> Result<Cipher> {
        let passphrase = Arc::clone(&self.passphrase);
        self.runtime
            .spawner
            .spawn_blocking(move || {
                let mut key = Zeroizing::new([0; 32]);
                pbkdf2::pbkdf2_hmac::<sha2::Sha256>(passphrase.as_bytes(), &salt, ROUNDS, &mut *key);
                Cipher::new(&key)
            })
            .await
    }
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
            KIND => {
                let Some(salt) = state.and_then(|state| state.get("salt")).and_then(Value::as_str) else {
                    return Err(Error::new(
                        ErrorKind::Secrets,
                        "the state of the passphrase secrets manager has no salt",
                    ));
                };
                self.open_salt(salt).await
            }
            super::base64::KIND => Ok(Arc::new(Base64Secrets)),
            other => Err(Error::new(
                ErrorKind::Secrets,
                format!("no known secrets provider for type {other:?}"),
            )),
        }
    }

    async fn create(&self) -> Result<Arc<dyn SecretsManager>> {
        let mut bytes = vec![0; 8];
        self.runtime.random.fill(&mut bytes);
        let encoded = STANDARD.encode(&bytes);
        let cipher = self.derive(bytes).await?;
        let salt = format!("v1:{encoded}:{}", cipher.encrypt(CHECK, &*self.runtime.random)?);
        let manager = self
            .slot(&salt)
            .get_or_init(|| async { self.manager(&salt, cipher) })
            .await
            .clone();
        Ok(manager)
    }
}

/// Splits `v1:<salt>:<check value>` into the salt's bytes and the check value.
fn parse_salt(text: &str) -> Result<(Vec<u8>, &str)> {
    let malformed = || {
        Error::new(
            ErrorKind::Secrets,
            "malformed state value of the passphrase secrets manager",
        )
    };
    let mut parts = text.splitn(3, ':');
    let (Some(version), Some(salt), Some(check)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(malformed());
    };
    if version != "v1" {
        return Err(Error::new(
            ErrorKind::Secrets,
            "unknown state version of the passphrase secrets manager, expected v1",
        ));
    }
    let salt = STANDARD.decode(salt).map_err(|_| malformed())?;
    Ok((salt, check))
}

/// Encrypts under the key of one salt.
struct PassphraseManager {
    salt: Arc<str>,
    identity: Arc<str>,
    cipher: Arc<Cipher>,
    runtime: Runtime,
}

impl PassphraseManager {
    /// Runs `work` on each text, beside the async threads when there is much of it.
    async fn each<W>(&self, texts: Vec<String>, work: W) -> Result<Vec<String>>
    where
        W: Fn(&Cipher, &str) -> Result<String> + Send + 'static,
    {
        let cipher = Arc::clone(&self.cipher);
        let size: usize = texts.iter().map(String::len).sum();
        let all = move || texts.iter().map(|text| work(&cipher, text)).collect();
        if size <= INLINE_BYTES {
            all()
        } else {
            self.runtime.spawner.spawn_blocking(all).await?
        }
    }
}

#[async_trait]
impl SecretsManager for PassphraseManager {
    fn kind(&self) -> &str {
        KIND
    }

    fn state(&self) -> Option<Value> {
        Some(json!({ "salt": *self.salt }))
    }

    fn identity(&self) -> Arc<str> {
        Arc::clone(&self.identity)
    }

    async fn encrypt(&self, plaintexts: Vec<String>) -> Result<Vec<String>> {
        let random = Arc::clone(&self.runtime.random);
        self.each(plaintexts, move |cipher, text| cipher.encrypt(text, &*random))
            .await
    }

    async fn decrypt(&self, ciphertexts: Vec<String>) -> Result<Vec<String>> {
        self.each(ciphertexts, Cipher::decrypt).await
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
    async fn what_the_reference_engine_encrypted_opens_with_its_passphrase() {
        let provider = provider("correct horse");
        let state = json!({ "salt": SALT });
        let manager = provider.open(KIND, Some(&state)).await.unwrap();
        let texts = manager
            .decrypt(vec![
                "v1:kJRS4pwT81fxH2Qd:P+0Qu+OtRhM0ap/gfhSeE5kf4mEzW9eyqGE=".into(),
                "v1:NCmYpDDO9Qk8zE1e:PIRn0LKZI2BwXWkX3YJWjyNYRTCmHB4QYO+9".into(),
            ])
            .await
            .unwrap();
        assert_eq!(texts, ["tok-secret", "deep-secret"]);
        assert_eq!(manager.state(), Some(state.clone()));
        let again = provider.open(KIND, Some(&state)).await.unwrap();
        assert!(Arc::ptr_eq(&manager, &again), "the key is derived once");
    }

    #[tokio::test]
    async fn another_passphrase_is_told_from_the_right_one() {
        let error = provider("wrong horse").open_salt(SALT).await.err().unwrap();
        assert_eq!(error.message(), "incorrect passphrase");
        assert_eq!(error.kind(), ErrorKind::Decrypt);
    }

    #[tokio::test]
    async fn a_new_manager_can_be_opened_again_from_its_state() {
        let written = provider("p").create().await.unwrap();
        let ciphertexts = written.encrypt(vec!["a".into(), String::new()]).await.unwrap();
        let read = provider("p").open(KIND, written.state().as_ref()).await.unwrap();
        assert_eq!(read.decrypt(ciphertexts).await.unwrap(), ["a", ""]);
        assert_eq!(read.identity(), written.identity());
    }
}
