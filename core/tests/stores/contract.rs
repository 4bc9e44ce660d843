//! What every store does.

use std::{collections::BTreeSet, sync::Arc};

use bytes::Bytes;
use futures::future::join_all;
use stackwright::{
    Error, ErrorKind,
    store::{Condition, Credentials, FileStore, MemoryStore, Store},
};
use stackwright_testkit::{server::FakeBucket, wait::Within as _};

use super::places;

/// The number of writers that create an object at once.
const RACERS: usize = 8;

fn is_conflict<T>(result: Result<T, Error>) -> bool {
    result.is_err_and(|error| error.kind() == ErrorKind::Conflict)
}

async fn content(store: &dyn Store, key: &str) -> Option<Bytes> {
    store.get(key).await.unwrap().map(|object| object.bytes)
}

async fn keys(store: &dyn Store, prefix: &str) -> Vec<String> {
    store
        .list(prefix)
        .await
        .unwrap()
        .into_iter()
        .map(|info| info.key)
        .collect()
}

async fn conditions_decide_about_writes(store: &dyn Store) {
    let key = ".pulumi/stacks/shop/dev.json";
    assert!(store.get(key).await.unwrap().is_none());
    let stale = store.put(key, "1".into(), Condition::Absent).await.unwrap();
    assert!(is_conflict(store.put(key, "x".into(), Condition::Absent).await));
    let object = store.get(key).await.unwrap().unwrap();
    assert_eq!((&object.bytes[..], &object.version), (&b"1"[..], &stale));
    let second = store
        .put(key, "2".into(), Condition::Match(stale.clone()))
        .await
        .unwrap();
    assert_ne!(second, stale);
    assert!(is_conflict(
        store.put(key, "x".into(), Condition::Match(stale.clone())).await
    ));
    assert!(is_conflict(
        store
            .put("none", "x".into(), Condition::Match(stale.clone()))
            .await
    ));
    assert_eq!(content(store, key).await.unwrap(), "2");
    let third = store.put(key, "3".into(), Condition::Any).await.unwrap();
    assert!(is_conflict(
        store.put(key, "x".into(), Condition::Match(second)).await
    ));

    let kept = ".pulumi/stacks/shop/dev.json.bak";
    assert!(is_conflict(
        store
            .put_keeping(key, "x".into(), Condition::Match(stale), kept)
            .await
    ));
    let fourth = store
        .put_keeping(key, "4".into(), Condition::Match(third.clone()), kept)
        .await
        .unwrap();
    assert_eq!(content(store, key).await.unwrap(), "4");
    assert_eq!(content(store, kept).await.unwrap(), "3");
    assert_eq!(store.get(key).await.unwrap().unwrap().version, fourth);
    store
        .put_keeping(key, "5".into(), Condition::Any, kept)
        .await
        .unwrap();
    assert_eq!(content(store, kept).await.unwrap(), "4");
    let missing = store
        .put_keeping("none", "x".into(), Condition::Any, "none.bak")
        .await;
    assert_eq!(missing.unwrap_err().kind(), ErrorKind::NotFound);

    assert!(is_conflict(store.delete_version(key, &third).await));
    let last = store.get(key).await.unwrap().unwrap().version;
    store.delete_version(key, &last).await.unwrap();
    assert!(content(store, key).await.is_none());
    store.delete_version(key, &last).await.unwrap();
    store.delete(kept).await.unwrap();
    store.delete(kept).await.unwrap();
}

async fn keys_with_a_prefix_are_listed_in_order(store: &dyn Store) {
    let names = [
        "dev.json",
        "dev.json.bak",
        "dex.json",
        "dev-2.json",
        "dev.json.gz",
        "dev/a",
        "dev/b",
    ];
    for name in names {
        let key = format!("list/shop/{name}");
        store.put(&key, name.into(), Condition::Any).await.unwrap();
    }
    assert_eq!(
        keys(store, "list/shop/dev.json").await,
        [
            "list/shop/dev.json",
            "list/shop/dev.json.bak",
            "list/shop/dev.json.gz"
        ]
    );
    let mut sorted: Vec<String> = names.iter().map(|name| format!("list/shop/{name}")).collect();
    sorted.sort_unstable();
    assert_eq!(keys(store, "list/").await, sorted);
    assert_eq!(
        keys(store, "list/shop/dev/").await,
        ["list/shop/dev/a", "list/shop/dev/b"]
    );
    assert!(keys(store, "list/nothing").await.is_empty());
}

async fn copies_are_independent(store: &dyn Store) {
    store.put("copy/from", "1".into(), Condition::Any).await.unwrap();
    store.copy("copy/from", "copy/to").await.unwrap();
    store.put("copy/from", "2".into(), Condition::Any).await.unwrap();
    assert_eq!(content(store, "copy/to").await.unwrap(), "1");
    store.copy("copy/from", "copy/to").await.unwrap();
    assert_eq!(content(store, "copy/to").await.unwrap(), "2");
    let missing = store.copy("copy/none", "copy/to").await.unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
}

async fn any_content_is_kept(store: &dyn Store) {
    let large: Bytes = (0..3_000_000_u32)
        .map(|number| (number % 251) as u8)
        .collect::<Vec<_>>()
        .into();
    for (name, bytes) in [
        ("empty", Bytes::new()),
        ("large", large),
        ("binary", Bytes::from_static(b"\0\xff{\"'")),
    ] {
        let key = format!("content/{name}");
        store.put(&key, bytes.clone(), Condition::Absent).await.unwrap();
        assert!(content(store, &key).await.unwrap() == bytes, "{name}");
    }
    assert!(store.get("../outside").await.is_err());
    assert!(store.put("a//b", Bytes::new(), Condition::Any).await.is_err());
}

async fn one_of_several_writers_wins(store: &Arc<dyn Store>) {
    let create = |number: usize| {
        let store = Arc::clone(store);
        async move {
            store
                .put("race/created", number.to_string().into(), Condition::Absent)
                .await
        }
    };
    let created = join_all((0..RACERS).map(create)).await;
    let winners: Vec<usize> = (0..RACERS).filter(|number| created[*number].is_ok()).collect();
    assert_eq!(winners.len(), 1, "{created:?}");
    assert!(created.into_iter().filter(Result::is_err).all(is_conflict));
    assert_eq!(
        content(&**store, "race/created").await.unwrap(),
        winners[0].to_string()
    );

    let version = store.get("race/created").await.unwrap().unwrap().version;
    let replace = |number: usize| {
        let (store, version) = (Arc::clone(store), version.clone());
        async move {
            store
                .put(
                    "race/created",
                    format!("new {number}").into(),
                    Condition::Match(version),
                )
                .await
        }
    };
    let replaced = join_all((0..RACERS).map(replace)).await;
    let versions: BTreeSet<_> = replaced.iter().flatten().cloned().collect();
    assert_eq!(
        replaced.iter().filter(|result| result.is_ok()).count(),
        1,
        "{replaced:?}"
    );
    assert_eq!(
        versions.first(),
        Some(&store.get("race/created").await.unwrap().unwrap().version)
    );
}

/// Checks everything, with a deadline.
async fn fulfils(store: Arc<dyn Store>) {
    let checks = async {
        conditions_decide_about_writes(&*store).await;
        keys_with_a_prefix_are_listed_in_order(&*store).await;
        copies_are_independent(&*store).await;
        any_content_is_kept(&*store).await;
        one_of_several_writers_wins(&store).await;
    };
    checks.within("the checks of a store").await;
}

#[tokio::test]
async fn the_memory_store_fulfils_the_contract() {
    fulfils(Arc::new(MemoryStore::new(places::runtime()))).await;
}

#[tokio::test]
async fn the_folder_store_fulfils_the_contract() {
    let folder = tempfile::tempdir().unwrap();
    fulfils(Arc::new(
        FileStore::new(folder.path(), places::runtime()).unwrap(),
    ))
    .await;
}

#[tokio::test]
async fn s3_fulfils_the_contract() {
    if let Some(store) = places::s3("contract/of all").await {
        fulfils(store).await;
    }
}

#[tokio::test]
async fn minio_fulfils_the_contract() {
    if let Some(minio) = places::minio().await {
        let credentials = Credentials::Given(places::aws_keys());
        fulfils(places::open(&minio.url("contract/of all"), &credentials)).await;
    }
}

#[tokio::test]
async fn azure_fulfils_the_contract() {
    if let Some(store) = places::azure("contract/of all").await {
        fulfils(store).await;
    }
}

#[tokio::test]
async fn the_fake_of_google_cloud_storage_fulfils_the_contract() {
    let bucket = FakeBucket::start().await;
    fulfils(places::gcs(&bucket, "contract/of all")).await;
    assert!(
        bucket
            .keys()
            .iter()
            .all(|key| key.starts_with("contract/of all/"))
    );
}

#[tokio::test]
async fn postgresql_fulfils_the_contract() {
    if let Some(store) = places::database("contract").await {
        fulfils(store).await;
    }
}
