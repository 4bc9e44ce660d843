//! Edits of states over each store: each is whole and leaves no note behind, also between two engines.

use std::sync::Arc;

use stackwright::{
    Engine, ErrorKind, Stack, StackSettings,
    monitor::Registration,
    operation::{Opening, OperationOptions},
    program::from_fn,
    secrets::PassphraseProvider,
    state::{
        edit::{Delete, Move, Rename, Selection, StateEdit},
        integrity,
    },
    store::{Credentials, HistoryPoint, Store},
    urn::Urn,
};
use stackwright_testkit::{
    server::FakeBucket,
    wait::{Ended as _, Within as _},
};

use super::places;

const SECRET: &str = "hunter2 hunter2";

/// Opens a stack with an engine of its own.
async fn open(store: Arc<dyn Store>, name: &str, passphrase: &str, opening: Opening) -> Stack {
    let program = from_fn(async |context| {
        let mut parent = None;
        for (name, kind) in [
            ("site", "my:index:Site"),
            ("page", "my:index:Page"),
            ("user", "my:index:User"),
        ] {
            let registered = context
                .monitor
                .register(Registration {
                    resource_type: kind.into(),
                    name: name.to_owned(),
                    inputs: [(
                        "token",
                        stackwright::property::PropertyValue::secret(SECRET.into()),
                    )]
                    .into_iter()
                    .collect(),
                    parent: parent.take(),
                    ..Registration::default()
                })
                .await?;
            parent = (name == "site").then_some(registered.urn);
        }
        Ok(())
    });
    let engine = Engine::builder(tokio::runtime::Handle::current())
        .store(store)
        .secrets(Arc::new(PassphraseProvider::new(passphrase, places::runtime())))
        .build()
        .unwrap();
    let settings = StackSettings {
        program: Some(program),
        opening,
        ..StackSettings::default()
    };
    engine.stack(name, settings).await.unwrap()
}

/// Returns the names of the records, which are valid, and all of whose secrets can be read.
async fn names(stack: &Stack) -> Vec<String> {
    let snapshot = stack.snapshot().await.unwrap();
    integrity::verify(&snapshot).unwrap();
    let plain = String::from_utf8(stack.export_deployment(true).await.unwrap()).unwrap();
    let components = snapshot
        .resources
        .iter()
        .filter(|record| !record.urn.is_root_stack());
    let components: Vec<_> = components.collect();
    assert_eq!(plain.matches(SECRET).count(), components.len());
    components
        .iter()
        .map(|record| record.urn.name().to_owned())
        .collect()
}

/// Edits two stacks with engines of their own.
async fn edits(store: impl Fn() -> Arc<dyn Store>) {
    let urn = |rest: &str| Urn::parse(&format!("urn:pulumi:dev::shop::{rest}")).unwrap();
    let (site, user) = (urn("my:index:Site::site"), urn("my:index:User::user"));
    let dev = open(store(), "shop/dev", "old", Opening::Create).await;
    let result = dev.update(OperationOptions::default()).ended().await;
    assert!(result.error.is_none(), "{:?}", result.error);
    assert_eq!(names(&dev).await, ["site", "page", "user"]);

    for edit in [
        StateEdit::Protect(Selection::of([user.clone()])),
        StateEdit::Taint(Selection::of([site.clone()])),
        StateEdit::Rename(Rename::to_name(user.clone(), "owner")),
    ] {
        assert!(!dev.edit(&edit, true).await.unwrap().is_empty());
        assert!(!dev.edit(&edit, false).await.unwrap().is_empty());
    }
    let owner = urn("my:index:User::owner");
    let refused = StateEdit::Delete(Delete {
        urns: vec![owner.clone()],
        ..Delete::default()
    });
    assert_eq!(
        dev.edit(&refused, false).await.unwrap_err().kind(),
        ErrorKind::Conflict
    );
    assert_eq!(names(&dev).await, ["site", "page", "owner"]);

    let live = open(store(), "shop/live", "new", Opening::Create).await;
    dev.move_resources(&live, &Move::of([site]), false).await.unwrap();
    assert_eq!(names(&dev).await, ["owner"]);
    assert_eq!(names(&live).await, ["site", "page"]);

    dev.set_tag("owner", "me").await.unwrap();
    dev.rename_stack("prod", false).await.unwrap();
    let prod = open(store(), "shop/prod", "old", Opening::Select).await;
    assert_eq!(prod.list_tags().await.unwrap()["owner"], "me");
    assert_eq!(prod.history().await.unwrap().len(), 1);
    let other = Arc::new(PassphraseProvider::new("other", places::runtime()));
    prod.change_secrets(other, false).await.unwrap();
    let prod = open(store(), "shop/prod", "other", Opening::Select).await;
    assert_eq!(names(&prod).await, ["owner"]);

    // The history has the key of its time.
    let old = PassphraseProvider::new("old", places::runtime());
    prod.restore_with_key(&HistoryPoint::Version(1), &old, false)
        .await
        .unwrap();
    assert_eq!(names(&prod).await, ["site", "page", "user"]);
    let left = store().list(".pulumi/journals/").await.unwrap();
    assert!(left.is_empty(), "{left:?}");
    let document = live.export_deployment(false).await.unwrap();
    live.import_deployment(&document).await.unwrap();
    assert_eq!(names(&live).await, ["site", "page"]);
    for stack in [live, prod] {
        stack.remove(true).await.unwrap();
    }
    let left = store().list(".pulumi/stacks/").await.unwrap();
    assert!(left.iter().all(|object| object.key.ends_with(".bak")), "{left:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn edits_are_whole_over_s3() {
    let Some(moto) = places::moto().await else { return };
    let credentials = Credentials::Given(places::aws_keys());
    let open = || places::open(&moto.url("edits"), &credentials);
    edits(open).within("the edits").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn edits_are_whole_over_the_fake_of_google_cloud_storage() {
    let bucket = FakeBucket::start().await;
    edits(|| places::gcs(&bucket, "edits")).within("the edits").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn edits_are_whole_over_azure() {
    if places::azurite().await.is_none() {
        return;
    }
    let store = places::azure("edits").await.unwrap();
    edits(|| Arc::clone(&store)).within("the edits").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn edits_are_whole_over_postgresql() {
    let Some(postgres) = places::postgres().await else {
        return;
    };
    let open = || places::open(&postgres.url("edits"), &Credentials::None);
    edits(open).within("the edits").await;
}
