//! The cipher of stored secrets: AES-256-GCM in the text form `v1:<nonce>:<ciphertext>`.

use std::sync::Arc;

use aes_gcm::{
    Aes256Gcm, KeyInit as _,
    aead::{Aead as _, Nonce},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use zeroize::Zeroizing;

use crate::{
    error::{Error, ErrorKind, Result},
    runtime::{Random, Runtime},
};

/// The length of a nonce in bytes.
const NONCE: usize = 12;

/// Batches with more plaintext are encrypted on the blocking pool.
const INLINE_BYTES: usize = 256 * 1024;

/// The cipher of a data key. The key schedule is wiped when the cipher is dropped.
pub(crate) struct Cipher(Aes256Gcm);

impl Cipher {
    /// Creates a cipher over a 32-byte key.
    pub(crate) fn new(key: &Zeroizing<[u8; 32]>) -> Self {
        Self(Aes256Gcm::new((&**key).into()))
    }

    /// Runs `work` on each text; on the blocking pool if there is much text.
    pub(crate) async fn each<W>(
        cipher: &Arc<Self>,
        runtime: &Runtime,
        texts: Vec<String>,
        work: W,
    ) -> Result<Vec<String>>
    where
        W: Fn(&Self, &str) -> Result<String> + Send + 'static,
    {
        let cipher = Arc::clone(cipher);
        let size: usize = texts.iter().map(String::len).sum();
        let all = move || texts.iter().map(|text| work(&cipher, text)).collect();
        if size <= INLINE_BYTES {
            all()
        } else {
            runtime.spawner.spawn_blocking(all).await?
        }
    }

    /// Encrypts a text under a fresh random nonce; there is no additional data.
    pub(crate) fn encrypt(&self, plaintext: &str, random: &dyn Random) -> Result<String> {
        let mut nonce = [0; NONCE];
        random.fill(&mut nonce);
        let ciphertext = self
            .0
            .encrypt(&Nonce::<Aes256Gcm>::from(nonce), plaintext.as_bytes())
            .map_err(|_| Error::new(ErrorKind::Secrets, "a secret is too long to be encrypted"))?;
        Ok(format!(
            "v1:{}:{}",
            STANDARD.encode(nonce),
            STANDARD.encode(ciphertext)
        ))
    }

    /// Decrypts a ciphertext of [`Self::encrypt`] or the reference engine.
    pub(crate) fn decrypt(&self, text: &str) -> Result<String> {
        let mut parts = text.split(':');
        let (Some(version), Some(nonce), Some(ciphertext), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(bad_value());
        };
        if version != "v1" {
            return Err(Error::new(
                ErrorKind::Decrypt,
                "unknown value version of a ciphertext, expected v1",
            ));
        }
        let nonce: [u8; NONCE] = decode(nonce)?.try_into().map_err(|_| bad_value())?;
        let plaintext = self
            .0
            .decrypt(&Nonce::<Aes256Gcm>::from(nonce), decode(ciphertext)?.as_slice())
            .map_err(|_| {
                Error::new(ErrorKind::Decrypt, "message authentication failed")
                    .with_hint("the secret was encrypted with another key, or was changed since")
            })?;
        String::from_utf8(plaintext).map_err(|error| {
            // The error contains the plaintext: it is wiped and not reported.
            drop(Zeroizing::new(error.into_bytes()));
            Error::new(ErrorKind::Decrypt, "a decrypted secret is not valid UTF-8")
        })
    }
}

fn decode(text: &str) -> Result<Vec<u8>> {
    STANDARD.decode(text).map_err(|_| bad_value())
}

fn bad_value() -> Error {
    Error::new(ErrorKind::Decrypt, "bad value")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::SeededRandom;

    #[test]
    fn a_ciphertext_is_decrypted_with_its_own_key_only() {
        let random = SeededRandom::new(1);
        let own = Cipher::new(&Zeroizing::new([1; 32]));
        let other = Cipher::new(&Zeroizing::new([2; 32]));
        let text = own.encrypt("grüße", &random).unwrap();
        assert_eq!(own.decrypt(&text).unwrap(), "grüße");
        assert_eq!(other.decrypt(&text).unwrap_err().kind(), ErrorKind::Decrypt);
        assert_ne!(text, own.encrypt("grüße", &random).unwrap());
    }

    #[test]
    fn a_malformed_ciphertext_is_a_bad_value() {
        let cipher = Cipher::new(&Zeroizing::new([1; 32]));
        for text in ["", "v1", "v1:a:b:c", "v1:AAAA:AAAA", "v1:!:!"] {
            assert_eq!(cipher.decrypt(text).unwrap_err().message(), "bad value", "{text}");
        }
        assert!(
            cipher
                .decrypt("v2:AAAA:AAAA")
                .unwrap_err()
                .message()
                .starts_with("unknown value version")
        );
    }
}
