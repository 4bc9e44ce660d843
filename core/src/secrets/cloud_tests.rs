use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::secrets::Base64Provider;

const URL: &str = "awskms://alias/shop";

/// How a fake key service misbehaves.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    Fails,
    NamesKey,
    WrapsToKey,
    WrapsToBase64,
    WrapsToNothing,
    UnwrapsOther,
    UnwrapsShort,
    UnwrapsText,
}

/// A key service whose key is one byte; it counts its calls.
struct Fake {
    key: u8,
    fault: Fault,
    wraps: AtomicUsize,
    unwraps: AtomicUsize,
}

impl Fake {
    fn new(key: u8, fault: Fault) -> Arc<Self> {
        Arc::new(Self {
            key,
            fault,
            wraps: AtomicUsize::new(0),
            unwraps: AtomicUsize::new(0),
        })
    }

    fn masked(&self, bytes: &[u8]) -> Vec<u8> {
        bytes.iter().map(|byte| byte ^ self.key).collect()
    }

    fn calls(&self) -> (usize, usize) {
        (
            self.wraps.load(Ordering::SeqCst),
            self.unwraps.load(Ordering::SeqCst),
        )
    }
}

#[async_trait]
impl KeyServiceCallbacks for Fake {
    async fn wrap_key(&self, _url: &str, key: DataKey) -> Result<Vec<u8>> {
        self.wraps.fetch_add(1, Ordering::SeqCst);
        match self.fault {
            Fault::Fails => {
                Err(Error::new(ErrorKind::Unavailable, "AccessDenied").with_hint("ask the owner"))
            }
            Fault::NamesKey => {
                let text = format!("cannot send {}", STANDARD.encode(key.as_bytes()));
                Err(Error::new(ErrorKind::Unavailable, text))
            }
            Fault::WrapsToKey => Ok([b"head", key.as_bytes(), b"tail"].concat()),
            Fault::WrapsToBase64 => Ok(STANDARD.encode(key.as_bytes()).into_bytes()),
            Fault::WrapsToNothing => Ok(Vec::new()),
            _ => Ok(self.masked(key.as_bytes())),
        }
    }

    async fn unwrap_key(&self, _url: &str, wrapped: Vec<u8>) -> Result<DataKey> {
        self.unwraps.fetch_add(1, Ordering::SeqCst);
        match self.fault {
            Fault::Fails => Err(Error::new(ErrorKind::Unavailable, "AccessDenied")),
            Fault::UnwrapsOther => Ok(DataKey::new(vec![7; KEY_BYTES])),
            Fault::UnwrapsShort => Ok(DataKey::new(vec![7; 16])),
            Fault::UnwrapsText => Ok(DataKey::new(STANDARD.encode(self.masked(&wrapped)).into_bytes())),
            _ => Ok(DataKey::new(self.masked(&wrapped))),
        }
    }
}

fn provider(fake: &Arc<Fake>) -> KeyServiceProvider {
    let runtime = Runtime::system(tokio::runtime::Handle::current());
    KeyServiceProvider::new(URL, Arc::clone(fake) as _, runtime).unwrap()
}

#[tokio::test]
async fn a_data_key_is_wrapped_and_unwrapped_once() {
    let fake = Fake::new(90, Fault::None);
    let provider = provider(&fake);
    let created = provider.create().await.unwrap();
    assert_eq!(
        (created.state(), fake.calls()),
        (None, (0, 0)),
        "nothing is wrapped before it is needed"
    );
    let ciphertexts = created.encrypt(vec!["a".into(), "b".into()]).await.unwrap();
    assert!(ciphertexts[0].starts_with("v1:"), "{ciphertexts:?}");
    created.ready().await.unwrap();
    assert_eq!(fake.calls(), (1, 1), "the wrapped key is checked once");
    let state = created.state().unwrap();
    assert_eq!(state["url"], URL);
    let again = provider.open(KEY_SERVICE, Some(&state)).await.unwrap();
    assert!(Arc::ptr_eq(&created, &again));
    assert_eq!(fake.calls(), (1, 1), "the key is known");

    let other = self::provider(&Fake::new(90, Fault::None));
    let opened = other.open(KEY_SERVICE, Some(&state)).await.unwrap();
    assert_eq!(opened.decrypt(ciphertexts).await.unwrap(), ["a", "b"]);
    assert_eq!(opened.state(), Some(state.clone()));
    let twice = other.open(KEY_SERVICE, Some(&state)).await.unwrap();
    assert_eq!(twice.identity(), opened.identity());
    let rotated = other.create().await.unwrap();
    rotated.ready().await.unwrap();
    assert_ne!(rotated.state(), Some(state), "each manager has a key of its own");
}

#[tokio::test]
async fn a_key_that_the_service_does_not_keep_is_refused_before_anything_is_encrypted() {
    for (fault, expected) in [
        (
            Fault::Fails,
            "awskms://alias/shop: the data key was not wrapped: AccessDenied",
        ),
        (
            Fault::WrapsToKey,
            "awskms://alias/shop: wrap_key returned the data key itself",
        ),
        (
            Fault::WrapsToBase64,
            "awskms://alias/shop: wrap_key returned the data key itself",
        ),
        (
            Fault::WrapsToNothing,
            "awskms://alias/shop: wrap_key returned nothing",
        ),
        (
            Fault::UnwrapsOther,
            "awskms://alias/shop: unwrap_key did not return the data key",
        ),
        (
            Fault::UnwrapsShort,
            "awskms://alias/shop: unwrap_key did not return the data key",
        ),
    ] {
        let manager = provider(&Fake::new(90, fault)).create().await.unwrap();
        let error = manager.encrypt(vec!["a".into()]).await.unwrap_err();
        assert!(error.message().starts_with(expected), "{error}");
        assert_eq!(error.kind(), ErrorKind::Secrets, "{error}");
        assert!(
            error
                .hints()
                .iter()
                .any(|hint| hint.contains("nothing was changed")),
            "{error:?}"
        );
        assert_eq!(manager.state(), None);
    }
}

#[tokio::test]
async fn a_key_that_is_not_unwrapped_names_its_url_and_what_to_do() {
    let written = provider(&Fake::new(90, Fault::None)).create().await.unwrap();
    let ciphertexts = written.encrypt(vec!["a".into()]).await.unwrap();
    let state = written.state().unwrap();
    for (fault, expected, hint) in [
        (
            Fault::Fails,
            "the data key was not unwrapped: AccessDenied",
            "permission to decrypt",
        ),
        (
            Fault::UnwrapsShort,
            "the data key that was unwrapped has 16 bytes",
            "in no other form",
        ),
        (
            Fault::UnwrapsText,
            "the data key that was unwrapped has 44 bytes",
            "in no other form",
        ),
    ] {
        let error = provider(&Fake::new(90, fault))
            .open(KEY_SERVICE, Some(&state))
            .await
            .err()
            .unwrap();
        assert_eq!(error.kind(), ErrorKind::Decrypt);
        assert!(
            error.message().starts_with(&format!("{URL}: {expected}")),
            "{error}"
        );
        assert!(
            error.hints().iter().any(|found| found.contains(hint)),
            "{error:?}"
        );
    }
    let wrong = provider(&Fake::new(91, Fault::None))
        .open(KEY_SERVICE, Some(&state))
        .await
        .unwrap();
    let error = wrong.decrypt(ciphertexts).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Decrypt);
    assert!(
        error.message().contains(URL) && error.message().contains("authentication"),
        "{error}"
    );
}

#[tokio::test]
async fn a_failure_is_asked_again() {
    let written = provider(&Fake::new(90, Fault::None)).create().await.unwrap();
    written.ready().await.unwrap();
    let fake = Fake::new(90, Fault::Fails);
    let provider = provider(&fake);
    for calls in 1..=2 {
        let state = written.state();
        assert!(provider.open(KEY_SERVICE, state.as_ref()).await.is_err());
        assert_eq!(fake.calls(), (0, calls));
    }
}

#[tokio::test]
async fn the_data_key_is_in_no_text() {
    let manager = provider(&Fake::new(90, Fault::NamesKey)).create().await.unwrap();
    let error = manager.ready().await.unwrap_err();
    assert!(error.message().ends_with("it contained the key"), "{error}");
    assert!(!format!("{error:?}").contains("cannot send"), "{error:?}");
    let key = DataKey::new((0..32).collect());
    assert_eq!(format!("{key:?}"), "DataKey([secret])");
    for text in [
        "00:000102030405060708090A0B0C0D0E0F101112131415161718191a1b1c1d1e1f",
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
        "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]",
    ] {
        assert!(key.is_in(text), "{text}");
    }
    assert!(!key.is_in("AccessDenied"));
}

#[tokio::test]
async fn settings_and_states_without_a_key_are_refused_by_name() {
    let provider = provider(&Fake::new(90, Fault::None));
    for (state, expected) in [
        (json!(null), "no url, or no encryptedkey"),
        (json!({ "url": URL }), "no url, or no encryptedkey"),
        (
            json!({ "url": URL, "encryptedkey": "%" }),
            "the encrypted data key is no base64",
        ),
    ] {
        let error = provider.open(KEY_SERVICE, Some(&state)).await.err().unwrap();
        assert!(error.message().contains(expected), "{error}");
    }
    let fake = Fake::new(90, Fault::None);
    for url in ["", "alias/shop", "://x", "awskms://"] {
        let runtime = Runtime::system(tokio::runtime::Handle::current());
        let error = KeyServiceProvider::new(url, Arc::clone(&fake) as _, runtime).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{url}");
    }
}

#[tokio::test]
async fn other_kinds_are_left_to_another_provider() {
    let provider = provider(&Fake::new(90, Fault::None));
    assert!(provider.open("b64", None).await.is_err());
    let provider = provider.or(Arc::new(Base64Provider));
    assert_eq!(provider.open("b64", None).await.unwrap().kind(), "b64");
    let named = provider
        .for_key_service("gcpkms://projects/p")
        .unwrap()
        .create()
        .await
        .unwrap();
    named.ready().await.unwrap();
    assert_eq!(
        KeyService::of_manager(&*named).unwrap().url,
        "gcpkms://projects/p"
    );
}
