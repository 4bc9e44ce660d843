//! What is special of buckets: retries, lost answers and credentials.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use stackwright::{
    Error, ErrorKind, Result,
    runtime::Timestamp,
    store::{
        Condition, Credential, CredentialSource, Credentials, LockGuard, Store, StoreSettings, open_with,
    },
};
use stackwright_testkit::{
    server::{FakeBucket, Fault},
    wait::Within as _,
};

use super::places::{self, open};

const STACK: &str = "organization/shop/dev";
const LEASE: &str = ".pulumi/leases/organization/shop/dev.json";
const JOURNAL: &str = ".pulumi/journals/shop/dev.journal";

#[tokio::test]
async fn a_request_is_repeated_after_throttling_and_not_for_ever() {
    let bucket = FakeBucket::start().await;
    let store = places::gcs(&bucket, "");
    bucket.fail(&[Fault::Throttled, Fault::Throttled]);
    store
        .put("a", "1".into(), Condition::Absent)
        .within("a write")
        .await
        .unwrap();
    assert_eq!(bucket.requests(), 3);
    bucket.fail(&[Fault::Forbidden]);
    let error = store
        .put("b", "1".into(), Condition::Any)
        .within("a write")
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(
        error.message().contains("\"b\" in gs://state") && error.message().contains("403"),
        "{error}"
    );
    assert!(error.hints()[0].contains("credentials"), "{error:?}");
    assert_eq!(bucket.requests(), 4);
}

#[tokio::test]
async fn a_write_whose_answer_was_lost_is_recognised() {
    let bucket = FakeBucket::start().await;
    let store = places::gcs(&bucket, "");
    bucket.fail(&[Fault::AnswerLost]);
    let created = store
        .put("a", "1".into(), Condition::Absent)
        .within("a creation")
        .await
        .unwrap();
    assert_eq!(store.get("a").await.unwrap().unwrap().version, created);
    bucket.fail(&[Fault::AnswerLost]);
    // The content is the same: only the mark of the write distinguishes it.
    let replaced = store
        .put("a", "1".into(), Condition::Match(created.clone()))
        .within("a write")
        .await
        .unwrap();
    assert_ne!(replaced, created);
    assert_eq!(store.get("a").await.unwrap().unwrap().version, replaced);
    let stale = store
        .put("a", "1".into(), Condition::Match(created))
        .await
        .unwrap_err();
    assert_eq!(stale.kind(), ErrorKind::Conflict);
}

/// Returns keys of AWS, and counts the questions.
struct Vault {
    asked: AtomicUsize,
    end: Option<Timestamp>,
}

#[async_trait]
impl CredentialSource for Vault {
    async fn credential(&self) -> Result<(Credential, Option<Timestamp>)> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        Ok((places::aws_keys(), self.end))
    }
}

#[tokio::test]
async fn a_callback_is_asked_again_only_before_the_end_of_its_credential() {
    let Some(moto) = places::moto().await else { return };
    let now = places::runtime().clock.now();
    let later = now.checked_add(std::time::Duration::from_secs(3600)).unwrap();
    for (end, expected) in [(None, 1), (Some(later), 1), (Some(now), 3)] {
        let vault = Arc::new(Vault {
            asked: AtomicUsize::new(0),
            end,
        });
        let source: Arc<dyn CredentialSource> = Arc::clone(&vault) as _;
        let store = open(&moto.url("callback"), &Credentials::Callback(source));
        for _ in 0..3 {
            store
                .put("a", "1".into(), Condition::Any)
                .within("a write")
                .await
                .unwrap();
        }
        assert_eq!(vault.asked.load(Ordering::SeqCst), expected, "{end:?}");
    }
}

/// Fails.
struct Sealed;

#[async_trait]
impl CredentialSource for Sealed {
    async fn credential(&self) -> Result<(Credential, Option<Timestamp>)> {
        Err(Error::new(ErrorKind::Secrets, "the vault is sealed"))
    }
}

#[tokio::test]
async fn the_error_of_a_callback_is_that_of_the_request() {
    for url in ["s3://state", "gs://state", "azblob://state?storage_account=a"] {
        let store = open(url, &Credentials::Callback(Arc::new(Sealed)));
        let error = store.get("a").within("a read").await.unwrap_err();
        assert_eq!(
            (error.kind(), error.message()),
            (ErrorKind::Secrets, "the vault is sealed"),
            "{url}"
        );
    }
}

#[tokio::test]
async fn keys_of_the_environment_and_of_profiles_are_used() {
    let Some(moto) = places::moto().await else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys");
    std::fs::write(
        &path,
        "[work]\naws_access_key_id = A\naws_secret_access_key = b\n",
    )
    .unwrap();
    let keys = [("AWS_ACCESS_KEY_ID", "A"), ("AWS_SECRET_ACCESS_KEY", "b")];
    let profile = [
        ("AWS_SHARED_CREDENTIALS_FILE", path.to_str().unwrap()),
        ("AWS_PROFILE", "work"),
    ];
    for (number, variables) in [keys, profile].into_iter().enumerate() {
        let store = open(&moto.url("environment"), &places::environment(&variables));
        let key = format!("key-{number}");
        store
            .put(&key, "1".into(), Condition::Absent)
            .within("a write")
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn a_bucket_that_is_missing_is_named() {
    let Some(moto) = places::moto().await else { return };
    let url = moto.url("").replace("s3://state", "s3://other");
    let store = open(&url, &Credentials::Given(places::aws_keys()));
    let error = store
        .put("a", "1".into(), Condition::Any)
        .within("a write")
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    assert!(
        error.message().contains("s3://other") && error.message().contains("NoSuchBucket"),
        "{error}"
    );
    assert!(!format!("{error:?}").contains("secret/key"), "{error:?}");
}

#[tokio::test]
async fn a_server_that_ignores_conditions_is_refused_unless_that_is_allowed() {
    let bucket = FakeBucket::start().await;
    let store = places::gcs(&bucket, "");
    let lock = store
        .lock("organization/shop/dev")
        .within("a lock")
        .await
        .unwrap();
    lock.release().await;
    assert_eq!(
        bucket.keys(),
        [".pulumi/leases/checked", LEASE],
        "a released lease stays as an object that is free"
    );
    let checked = bucket.requests();
    let again = places::gcs(&bucket, "")
        .lock("organization/shop/dev")
        .within("a lock")
        .await
        .unwrap();
    again.release().await;
    assert!(bucket.requests() - checked <= 5, "it is checked once");

    let lenient = FakeBucket::start().await;
    lenient.ignore_conditions();
    let store = places::gcs(&lenient, "");
    let error = store
        .lock("organization/shop/dev")
        .within("a lock")
        .await
        .map(drop)
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.message().contains("If-None-Match"), "{error}");
    assert!(lenient.keys().is_empty());
    let settings = StoreSettings {
        allow_unfenced: true,
        ..places::environment(&[("STORAGE_EMULATOR_HOST", &lenient.address)]).into()
    };
    let store = open_with(
        "gs://state",
        std::path::Path::new("/"),
        &places::runtime(),
        &settings,
    )
    .unwrap();
    store
        .lock("organization/shop/dev")
        .within("a lock")
        .await
        .unwrap()
        .release()
        .await;
}

#[tokio::test]
async fn a_journal_begun_after_another_host_took_over_is_refused_and_taken_back() {
    let bucket = FakeBucket::start().await;
    let (store, other) = (places::gcs(&bucket, ""), places::gcs(&bucket, ""));
    let lock = store
        .lock("organization/shop/dev")
        .within("a lock")
        .await
        .unwrap();
    let journal = JOURNAL;
    store
        .put(journal, "own".into(), Condition::Absent)
        .within("a journal")
        .await
        .unwrap();
    store.delete(journal).await.unwrap();

    // The other host has found the lease expired, and its operation has ended; this one was suspended meanwhile, so that its own clock
    // shows no time.
    other.delete(LEASE).await.unwrap();
    drop(
        other
            .lock("organization/shop/dev")
            .within("a lock")
            .await
            .unwrap(),
    );
    let error = store
        .put(journal, "late".into(), Condition::Absent)
        .within("a journal")
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    assert!(error.message().contains("taken over the lease"), "{error}");
    assert!(other.get(journal).await.unwrap().is_none());
    lock.release().await;
}

/// Takes the lease of a host that was suspended: the other one has found it expired.
async fn taken_over(other: &Arc<dyn Store>) -> Box<dyn LockGuard> {
    other.delete(LEASE).await.unwrap();
    other.lock(STACK).within("a takeover").await.unwrap()
}

#[tokio::test]
async fn a_host_that_was_suspended_while_it_released_its_lease_leaves_that_of_its_successor() {
    let bucket = FakeBucket::start().await;
    let (store, other) = (places::gcs(&bucket, ""), places::gcs(&bucket, ""));
    let lock = store.lock(STACK).within("a lock").await.unwrap();
    let held = bucket.hold(LEASE);
    let releasing = tokio::spawn(lock.release());
    held.arrived().within("the release").await;
    let successor = taken_over(&other).await;
    held.go_on();
    releasing.within("the release").await.unwrap();
    other
        .put(".pulumi/stacks/shop/dev.json", "{}".into(), Condition::Absent)
        .within("a write of the successor")
        .await
        .unwrap();
    let third = places::gcs(&bucket, "");
    let error = third.lock(STACK).within("a lock").await.map(drop).unwrap_err();
    assert_eq!(
        error.kind(),
        ErrorKind::Conflict,
        "the successor holds it: {error}"
    );
    successor.release().await;
    let free = third.lock(STACK).within("a lock").await.unwrap();
    free.release().await;
}

#[tokio::test]
async fn a_host_that_was_suspended_while_it_removed_its_journal_leaves_that_of_its_successor() {
    let bucket = FakeBucket::start().await;
    let (store, other) = (places::gcs(&bucket, ""), places::gcs(&bucket, ""));
    let _lock = store.lock(STACK).within("a lock").await.unwrap();
    let begun = store
        .put(JOURNAL, "own\n".into(), Condition::Absent)
        .await
        .unwrap();
    let held = bucket.hold(JOURNAL);
    let removing = tokio::spawn(async move { store.delete_version(JOURNAL, &begun).await });
    held.arrived().within("the removal").await;

    let _successor = taken_over(&other).await;
    let found = other.get(JOURNAL).await.unwrap().unwrap();
    other.delete_version(JOURNAL, &found.version).await.unwrap();
    assert!(other.get(JOURNAL).await.unwrap().is_none());
    let next = other
        .put(JOURNAL, "next\n".into(), Condition::Absent)
        .await
        .unwrap();
    let next = other
        .append(JOURNAL, "step\n".into(), Condition::Match(next))
        .await
        .unwrap();
    held.go_on();
    let refused = removing.within("the removal").await.unwrap().unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Conflict, "{refused}");
    let left = other.get(JOURNAL).await.unwrap().unwrap();
    assert_eq!((left.bytes, left.version), ("next\nstep\n".into(), next));
}

#[tokio::test]
async fn an_object_of_google_cloud_storage_is_written_once_a_second() {
    let bucket = FakeBucket::start().await;
    let store = places::gcs(&bucket, "");
    let clock = places::runtime().clock;
    let begin = clock.elapsed();
    let first = store.put("a", "1".into(), Condition::Absent).await.unwrap();
    store.put("b", "1".into(), Condition::Absent).await.unwrap();
    store
        .put("a", "2".into(), Condition::Match(first))
        .within("a write")
        .await
        .unwrap();
    assert!(clock.elapsed() - begin >= std::time::Duration::from_secs(1));
}
