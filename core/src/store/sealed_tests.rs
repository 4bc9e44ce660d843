use super::*;
use crate::{
    secrets::{Base64Provider, CallbackProvider, PassphraseProvider, SecretsCallbacks},
    store::{
        Condition, MemoryStore,
        faulty::{Fault, FaultyStore},
        numbered::{Removal, with_journals},
    },
};

/// An encryption that turns texts around.
struct Reversing;

#[async_trait]
impl SecretsCallbacks for Reversing {
    async fn encrypt(&self, plaintexts: Vec<String>) -> Result<Vec<String>> {
        let reversed = plaintexts.iter().map(|text| text.chars().rev().collect());
        Ok(reversed.collect())
    }

    async fn decrypt(&self, ciphertexts: Vec<String>) -> Result<Vec<String>> {
        self.encrypt(ciphertexts).await
    }
}

/// Returns secrets with which stores are encrypted at once.
pub(in crate::store) fn reversing() -> Arc<dyn SecretsProvider> {
    Arc::new(CallbackProvider::new("reversing", None, Arc::new(Reversing)))
}

const KEY: &str = ".pulumi/journals/shop/dev.journal";

fn runtime() -> Runtime {
    Runtime::system(tokio::runtime::Handle::current())
}

fn memory() -> Arc<dyn Store> {
    Arc::new(MemoryStore::new(runtime()))
}

fn sealed(inner: &Arc<dyn Store>) -> Arc<dyn Store> {
    encrypted(Arc::clone(inner), reversing(), runtime())
}

async fn content(store: &Arc<dyn Store>, key: &str) -> Result<Option<String>> {
    let object = store.get(key).await?;
    Ok(object.map(|object| String::from_utf8(object.bytes.to_vec()).unwrap()))
}

#[tokio::test]
async fn only_names_and_lock_files_are_readable() {
    let inner = memory();
    let store = sealed(&inner);
    let checkpoint = ".pulumi/stacks/shop/dev.json";
    let lock = ".pulumi/locks/organization/shop/dev/1.json";
    for key in [
        checkpoint,
        KEY,
        lock,
        ".pulumi/history/shop/dev/dev-1.history.json",
    ] {
        store.put(key, "hunter2".into(), Condition::Absent).await.unwrap();
    }
    store
        .put_keeping(
            checkpoint,
            "hunter3".into(),
            Condition::Any,
            &format!("{checkpoint}.bak"),
        )
        .await
        .unwrap();
    store.append(KEY, " and 3".into(), Condition::Any).await.unwrap();
    for info in inner.list("").await.unwrap() {
        let bytes = inner.get(&info.key).await.unwrap().unwrap().bytes;
        let is_readable = bytes.windows(6).any(|window| window == b"hunter");
        assert_eq!(is_readable, info.key == lock, "{}", info.key);
    }
    // Another handle, as another process has it.
    let again = sealed(&inner);
    assert_eq!(content(&again, checkpoint).await.unwrap().unwrap(), "hunter3");
    assert_eq!(
        content(&again, &format!("{checkpoint}.bak"))
            .await
            .unwrap()
            .unwrap(),
        "hunter2"
    );
    assert_eq!(content(&again, KEY).await.unwrap().unwrap(), "hunter2 and 3");
    assert_eq!(content(&again, META).await.unwrap().unwrap(), "version: 1\n");
    assert!(
        content(&inner, META)
            .await
            .unwrap()
            .unwrap()
            .starts_with("version: 2\nencryption: {")
    );
}

#[tokio::test]
async fn an_object_is_not_readable_under_another_name_or_when_it_was_changed() {
    let inner = memory();
    let store = sealed(&inner);
    store.put("a", "1".into(), Condition::Any).await.unwrap();
    let bytes = inner.get("a").await.unwrap().unwrap().bytes;
    inner.put("b", bytes.clone(), Condition::Any).await.unwrap();
    let mut changed = bytes.to_vec();
    *changed.last_mut().unwrap() ^= 1;
    inner.put("a", changed.into(), Condition::Any).await.unwrap();
    inner.put("c", "plain".into(), Condition::Any).await.unwrap();
    for (key, expected) in [
        ("a", "it was changed, or is another object's"),
        ("b", "it was changed, or is another object's"),
        ("c", "it is not encrypted"),
    ] {
        let error = store.get(key).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::State);
        assert!(error.message().contains(expected), "{error}");
    }
}

#[tokio::test]
async fn an_append_that_was_cut_short_is_read_as_a_zero() {
    let inner = memory();
    let store = sealed(&inner);
    store.append(KEY, "one".into(), Condition::Absent).await.unwrap();
    let before = inner.get(KEY).await.unwrap().unwrap().bytes;
    store.append(KEY, "two".into(), Condition::Any).await.unwrap();
    let whole = inner.get(KEY).await.unwrap().unwrap().bytes;
    for length in 0..=whole.len() {
        let zeros = vec![0; whole.len() - length];
        for tail in [&[][..], &zeros[..]] {
            let bytes = [&whole[..length], tail].concat();
            let is_whole = *bytes == *whole;
            inner.put(KEY, bytes.into(), Condition::Any).await.unwrap();
            let read = content(&store, KEY).await.unwrap().unwrap();
            let expected = match length {
                _ if is_whole => "onetwo",
                _ if length == before.len() && tail.is_empty() => "one",
                _ if length >= before.len() => "one\0",
                _ => "\0",
            };
            assert_eq!(read, expected, "{length} and {} zeros", tail.len());
        }
    }
}

#[tokio::test]
async fn a_numbered_journal_whose_objects_are_exchanged_is_refused_by_name() {
    let objects = memory();
    let open = || {
        let layer = FaultyStore::new(Arc::clone(&objects), Fault::Refused, usize::MAX);
        let numbered = with_journals(layer, &runtime(), Removal::Replacement);
        encrypted(numbered, reversing(), runtime())
    };
    let (store, other) = (open(), open());
    let mut version = store.put(KEY, "one ".into(), Condition::Absent).await.unwrap();
    for text in ["two ", "three "] {
        version = store
            .append(KEY, text.into(), Condition::Match(version))
            .await
            .unwrap();
    }
    // A host that has not read the journal continues it.
    other
        .append(KEY, "four ".into(), Condition::Match(version))
        .await
        .unwrap();
    assert_eq!(
        content(&store, KEY).await.unwrap().unwrap(),
        "one two three four "
    );
    let parts = objects.list(&format!("{KEY}.parts/")).await.unwrap();
    let read = async |index: usize| objects.get(&parts[index].key).await.unwrap().unwrap().bytes;
    let (first, second) = (read(0).await, read(1).await);
    for (to, bytes) in [(0, &second), (1, &first)] {
        objects
            .put(&parts[to].key, bytes.clone(), Condition::Any)
            .await
            .unwrap();
    }
    for store in [&store, &other] {
        let error = store.get(KEY).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::State);
        assert!(
            error.message().contains(KEY)
                && error
                    .message()
                    .contains("its part 2 was changed, or does not follow"),
            "{error}"
        );
    }
    for (to, bytes) in [(0, first), (1, second)] {
        objects.put(&parts[to].key, bytes, Condition::Any).await.unwrap();
    }
    objects.delete(&parts[1].key).await.unwrap();
    let error = store.get(KEY).await.unwrap_err();
    assert!(
        error.message().contains("lacks one of its numbered objects"),
        "{error}"
    );
}

#[tokio::test]
async fn an_encrypted_store_is_opened_with_its_manager_only() {
    let inner = memory();
    let right: Arc<dyn SecretsProvider> = Arc::new(PassphraseProvider::new("right", runtime()));
    let store = encrypted(Arc::clone(&inner), Arc::clone(&right), runtime());
    store.put("a", "1".into(), Condition::Any).await.unwrap();
    let wrong: Arc<dyn SecretsProvider> = Arc::new(PassphraseProvider::new("wrong", runtime()));
    let closed = encrypted(Arc::clone(&inner), wrong, runtime());
    let error = closed.get("a").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Decrypt);
    assert!(
        error
            .message()
            .contains("the store memory:// is encrypted, and its secrets manager passphrase"),
        "{error}"
    );
    assert!(closed.put("a", "2".into(), Condition::Any).await.is_err());
    assert_eq!(
        content(&encrypted(inner, right, runtime()), "a")
            .await
            .unwrap()
            .unwrap(),
        "1"
    );
}

#[tokio::test]
async fn a_store_that_has_states_is_not_encrypted_later() {
    let inner = memory();
    let store = sealed(&inner);
    assert!(store.get("a").await.unwrap().is_none());
    assert!(inner.list("").await.unwrap().is_empty(), "reading makes nothing");
    inner
        .put(".pulumi/stacks/shop/dev.json", "{}".into(), Condition::Any)
        .await
        .unwrap();
    for _ in 0..2 {
        let error = store.put("a", "1".into(), Condition::Any).await.unwrap_err();
        assert!(
            error
                .message()
                .contains("is not encrypted, and a store is encrypted from its beginning"),
            "{error}"
        );
        inner
            .put(META, "version: 1\n".into(), Condition::Any)
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn of_two_hosts_that_begin_a_store_both_have_its_key() {
    let inner = memory();
    let (one, other) = (sealed(&inner), sealed(&inner));
    let (first, second) = tokio::join!(
        one.put("a", "1".into(), Condition::Any),
        other.put("b", "2".into(), Condition::Any)
    );
    first.and(second).unwrap();
    assert_eq!(content(&one, "b").await.unwrap().unwrap(), "2");
    assert_eq!(content(&other, "a").await.unwrap().unwrap(), "1");
}

#[tokio::test]
async fn a_store_is_not_encrypted_without_a_key() {
    let inner = memory();
    let store = encrypted(Arc::clone(&inner), Arc::new(Base64Provider), runtime());
    let error = store.put("a", "1".into(), Condition::Any).await.unwrap_err();
    assert!(error.message().contains("has nothing to encrypt with"), "{error}");
    assert!(inner.list("").await.unwrap().is_empty());
}
