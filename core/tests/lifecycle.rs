//! The lifecycle of a stack in the Rust API, with an in-process provider and program.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::{
    io::Write as _,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use serde_json::{Value, json};
use stackwright::{
    Engine, Error, ErrorKind, Result, Stack, StackSettings,
    monitor::Registration,
    operation::{OperationOptions, OperationResult},
    program::{Program, from_fn},
    property::PropertyMap,
    provider::ProviderBackend,
    runtime::Runtime,
    secrets::Base64Provider,
    state::edit::{Move, Rename, Selection, StateEdit},
    store::{Condition, HistoryPoint, LockGuard, MemoryStore, Object, ObjectInfo, Store, Version},
    urn::Urn,
};
use stackwright_testkit::{
    fake::EchoProvider,
    wait::{Ended as _, Within as _},
};

fn resource(name: &str, inputs: PropertyMap) -> Registration {
    Registration {
        resource_type: "echo:index:Echo".into(),
        name: name.to_owned(),
        custom: true,
        inputs,
        ..Registration::default()
    }
}

fn program(values: &'static [(&'static str, &'static str)]) -> Arc<dyn Program> {
    from_fn(move |context| async move {
        let mut running = Vec::new();
        for (name, value) in values {
            let inputs = [("value", (*value).into())].into_iter().collect();
            running.push(context.monitor.register(resource(name, inputs)));
        }
        for registration in running {
            let registered = registration.await?;
            context
                .monitor
                .export(registered.urn.name(), registered.id.as_str().into());
        }
        Ok(())
    })
}

fn memory() -> Arc<dyn Store> {
    let runtime = Runtime::system(tokio::runtime::Handle::current());
    Arc::new(MemoryStore::new(runtime))
}

fn engine(echo: &Arc<EchoProvider>, store: Arc<dyn Store>) -> Engine {
    let provider: Arc<dyn ProviderBackend> = Arc::clone(echo) as _;
    Engine::builder(tokio::runtime::Handle::current())
        .store(store)
        .secrets(Arc::new(Base64Provider))
        .provider("echo", provider)
        .build()
        .unwrap()
}

async fn stack(echo: &Arc<EchoProvider>, name: &str) -> Stack {
    let engine = engine(echo, memory());
    engine.stack(name, StackSettings::default()).await.unwrap()
}

async fn update(stack: &Stack, values: &'static [(&'static str, &'static str)]) -> OperationResult {
    update_with(stack, OperationOptions::default(), values).await
}

async fn update_with(
    stack: &Stack,
    options: OperationOptions,
    values: &'static [(&'static str, &'static str)],
) -> OperationResult {
    let kind = stackwright::operation::OperationKind::Update;
    let result = stack.start(kind, options, Some(program(values))).ended().await;
    (*result).clone().into_result().unwrap()
}

async fn records(stack: &Stack) -> Vec<Value> {
    let document = stack.export_deployment(false).await.unwrap();
    let document: Value = serde_json::from_slice(&document).unwrap();
    document["deployment"]["resources"].as_array().unwrap().clone()
}

/// Adds a member that no version of the engine knows to every record, and compresses the checkpoint.
async fn with_unknown_members(stack: &Stack, store: &Arc<dyn Store>, key: &str) {
    let document = stack.export_deployment(false).await.unwrap();
    let mut document: Value = serde_json::from_slice(&document).unwrap();
    for record in document["deployment"]["resources"].as_array_mut().unwrap() {
        record["memberOfTest"] = json!({ "of": record["urn"], "list": [1, null] });
    }
    let document = serde_json::to_vec(&document).unwrap();
    stack.import_deployment(&document).await.unwrap();
    let bytes = store.get(key).await.unwrap().unwrap().bytes;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&bytes).unwrap();
    let bytes = encoder.finish().unwrap().into();
    let compressed = format!("{key}.gz");
    store.put(&compressed, bytes, Condition::Any).await.unwrap();
    store.delete(key).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stack_is_created_unchanged_changed_and_destroyed() {
    let echo = Arc::new(EchoProvider::replacing("name"));
    let stack = stack(&echo, "shop/dev").await;
    let created = update(&stack, &[("a", "1"), ("b", "2")]).await;
    assert_eq!(created.changes.get("create"), Some(&3));
    assert_eq!(created.outputs.get("a"), Some(&"id-a".into()));
    let mut calls = echo.take();
    calls.sort();
    assert_eq!(calls, ["create a", "create b"]);

    let same = update(&stack, &[("a", "1"), ("b", "2")]).await;
    assert_eq!(same.changes.get("same"), Some(&3));
    assert_eq!(echo.take(), Vec::<String>::new());

    let changed = update(&stack, &[("a", "9"), ("c", "3")]).await;
    assert_eq!(changed.changes.get("update"), Some(&1), "{:?}", changed.changes);
    let mut calls = echo.take();
    calls.sort();
    assert_eq!(calls, ["create c", "delete b", "update a"]);

    let destroyed = stack.destroy(OperationOptions::default()).ended().await;
    assert!(destroyed.error.is_none(), "{:?}", destroyed.error);
    assert_eq!(destroyed.changes.get("delete"), Some(&3));
    assert!(stack.snapshot().await.unwrap().resources.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_members_and_a_compressed_checkpoint_survive_edits_and_an_update_of_other_resources() {
    let key = ".pulumi/stacks/shop/dev.json";
    let (echo, store) = (Arc::new(EchoProvider::replacing("name")), memory());
    let engine = engine(&echo, Arc::clone(&store));
    let open = async |name| engine.stack(name, StackSettings::default()).await.unwrap();
    let (stack, other) = (open("shop/dev").await, open("shop/other").await);
    update(&stack, &[("a", "1"), ("b", "2")]).await;
    with_unknown_members(&stack, &store, key).await;
    let before = records(&stack).await;

    let urn = |name: &str| Urn::new("dev", "shop", "", "echo:index:Echo", name);
    let renamed = StateEdit::Rename(Rename::to_name(urn("a"), "renamed"));
    let protected = StateEdit::Protect(Selection::of([urn("renamed")]));
    for edit in [renamed, protected] {
        stack.edit(&edit, false).await.unwrap();
    }
    let options = OperationOptions {
        targets: vec![urn("c").to_string()],
        ..OperationOptions::default()
    };
    let updated = update_with(&stack, options, &[("renamed", "1"), ("b", "2"), ("c", "3")]).await;
    assert_eq!(updated.changes.get("create"), Some(&1), "{:?}", updated.changes);
    let moved = Move::of([urn("b")]);
    stack.move_resources(&other, &moved, false).await.unwrap();

    let find = |records: &[Value], name: &str| {
        let ending = format!("::{name}");
        let mut records = records.iter();
        let found = records.find(|record| record["urn"].as_str().unwrap().ends_with(&ending));
        found.unwrap()["memberOfTest"].clone()
    };
    let (after, arrived) = (records(&stack).await, records(&other).await);
    assert_eq!(find(&after, "renamed"), find(&before, "a"));
    assert_eq!(find(&arrived, "b"), find(&before, "b"));
    let stored = store.list(".pulumi/stacks/shop/dev").await.unwrap();
    let mut keys = stored.iter().map(|object| object.key.as_str());
    assert!(keys.any(|stored| stored == format!("{key}.gz")));
    assert!(!stored.iter().any(|object| object.key == key), "{stored:?}");
}

#[tokio::test]
async fn an_operation_waits_for_the_lock_as_long_as_its_options_state() {
    let echo = Arc::new(EchoProvider::default());
    let store = memory();
    let engine = engine(&echo, Arc::clone(&store));
    let stack = engine
        .create_stack("shop/dev", StackSettings::default())
        .await
        .unwrap();
    let lock = ".pulumi/locks/organization/shop/dev/1.json";
    let owner = json!({
        "pid": 7, "username": "ann", "hostname": "there", "timestamp": "2026-01-01T00:00:00Z", "system": "other",
        "operation": "destroy"
    });
    let owner = serde_json::to_vec(&owner).unwrap();
    store.put(lock, owner.into(), Condition::Absent).await.unwrap();
    let options = |seconds| OperationOptions {
        wait_for_lock: Some(seconds),
        ..OperationOptions::default()
    };
    let kind = stackwright::operation::OperationKind::Update;
    let refused = stack
        .start(kind, options(0.15), Some(program(&[("a", "1")])))
        .ended()
        .await;
    let error = refused.error.as_ref().unwrap();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    let hints = error.hints().join("\n");
    assert!(
        hints.contains("the destroy that process 7 of ann@there began"),
        "{hints}"
    );
    assert!(hints.contains("150ms that this operation has waited"), "{hints}");
    assert!(
        refused
            .diagnostics
            .iter()
            .any(|shown| shown.message.to_string().starts_with("waiting for the lock")),
        "{:?}",
        refused.diagnostics
    );

    let waiting = stack.start(kind, options(60.0), Some(program(&[("a", "1")])));
    let other = stack.break_lock("bob@there").await.unwrap_err();
    assert_eq!(other.kind(), ErrorKind::Conflict);
    assert_eq!(stack.break_lock("ann@there:7").await.unwrap(), 1);
    let ended = waiting.ended().await;
    assert!(ended.error.is_none(), "{:?}", ended.error);

    store.put(lock, "{}".into(), Condition::Absent).await.unwrap();
    let waiting = stack.start(kind, options(600.0), Some(program(&[("a", "2")])));
    waiting.cancel();
    let ended = waiting.ended().await;
    assert_eq!(ended.error.as_ref().unwrap().kind(), ErrorKind::Cancelled);
}

#[tokio::test]
async fn edits_wait_for_the_lock_as_long_as_the_stack_states() {
    let echo = Arc::new(EchoProvider::default());
    let store = memory();
    let engine = engine(&echo, Arc::clone(&store));
    let open = async |name: &str| engine.create_stack(name, StackSettings::default()).await;
    let (mut stack, other) = (open("shop/dev").await.unwrap(), open("shop/live").await.unwrap());
    let update = stackwright::operation::OperationKind::Update;
    let resources = Some(program(&[("a", "1"), ("b", "1")]));
    let updated = stack.start(update, OperationOptions::default(), resources);
    assert!(updated.ended().await.error.is_none());
    let document = stack.export_deployment(false).await.unwrap();
    let edit = async |name: &str, stack: &Stack| {
        let urn = |name: &str| Urn::parse(&format!("urn:pulumi:dev::shop::echo:index:Echo::{name}")).unwrap();
        let protect = StateEdit::Protect(Selection::of([urn("a")]));
        match name {
            "edit" => stack.edit(&protect, false).await.map(drop),
            "restore" => stack.restore(&HistoryPoint::Version(1), false).await.map(drop),
            "import" => stack.import_deployment(&document).await.map(drop),
            "forget" => stack.forget_pending("none", false).await.map(drop),
            "move" => {
                let moved = Move::of([urn("b")]);
                stack.move_resources(&other, &moved, false).await.map(drop)
            }
            "secrets" => stack.change_passphrase("x", false).await.map(drop),
            "rename" => stack.rename_stack("prod", false).await.map(drop),
            _ => stack.remove(true).await,
        }
    };
    for name in [
        "edit", "restore", "import", "forget", "move", "rename", "secrets", "removal",
    ] {
        if name == "secrets" {
            stack = engine.stack("shop/prod", StackSettings::default()).await.unwrap();
        }
        let lock = format!(".pulumi/locks/organization/{}/1.json", stack.name());
        let owner = json!({
            "pid": 7, "username": "ann", "hostname": "there", "timestamp": "2026-01-01T00:00:00Z", "system": "other"
        });
        let owner = serde_json::to_vec(&owner).unwrap();
        store.put(&lock, owner.into(), Condition::Absent).await.unwrap();
        let refused = edit(name, &stack).within("a refused edit").await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Conflict, "{name}: {refused}");
        assert!(
            !refused.hints().join("").contains("has waited"),
            "{name}: {refused:?}"
        );
        let waiting = stack.waiting_for_lock(Duration::from_millis(20));
        let refused = edit(name, &waiting);
        let refused = refused.within("a refused edit").await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Conflict, "{name}: {refused}");
        assert!(
            refused
                .hints()
                .join("")
                .contains("20ms that this operation has waited"),
            "{name}: {refused:?}"
        );
        let waiting = stack.waiting_for_lock(Duration::from_secs(600));
        let (edited, broken) = futures::join!(edit(name, &waiting), stack.break_lock("ann@there:7"));
        assert_eq!(broken.unwrap(), 1, "{name}");
        match (name, edited) {
            ("forget", edited) => assert_eq!(edited.unwrap_err().kind(), ErrorKind::NotFound),
            (_, edited) => edited.unwrap(),
        }
        assert!(store.list(".pulumi/locks/").await.unwrap().is_empty(), "{name}");
    }
}

/// A store that fails to remove lock files, as often as is left.
struct KeepsLocks {
    inner: Arc<dyn Store>,
    left: AtomicUsize,
}

#[async_trait]
impl Store for KeepsLocks {
    fn url(&self) -> String {
        self.inner.url()
    }

    async fn get(&self, key: &str) -> Result<Option<Object>> {
        self.inner.get(key).await
    }

    async fn put(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        self.inner.put(key, bytes, condition).await
    }

    async fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>> {
        self.inner.list(prefix).await
    }

    async fn delete(&self, key: &str) -> Result<()> {
        let order = Ordering::SeqCst;
        let fails = |left: usize| left.checked_sub(1);
        if key.starts_with(".pulumi/locks/") && self.left.fetch_update(order, order, fails).is_ok() {
            return Err(Error::new(ErrorKind::Unavailable, "the disk is busy"));
        }
        self.inner.delete(key).await
    }

    async fn lock(&self, name: &str) -> Result<Box<dyn LockGuard>> {
        self.inner.lock(name).await
    }
}

#[tokio::test]
async fn a_lock_file_is_removed_after_a_passing_failure_and_one_that_stays_is_a_warning() {
    let echo = Arc::new(EchoProvider::default());
    let inner = memory();
    let store = Arc::new(KeepsLocks {
        inner: Arc::clone(&inner),
        left: AtomicUsize::new(1),
    });
    let engine = engine(&echo, Arc::clone(&store) as Arc<dyn Store>);
    let stack = engine
        .create_stack("shop/dev", StackSettings::default())
        .await
        .unwrap();
    store.left.store(1, Ordering::SeqCst);
    let result = update(&stack, &[("a", "1")]).await;
    assert!(result.error.is_none(), "{:?}", result.error);
    assert!(result.diagnostics.is_empty(), "{:?}", result.diagnostics);
    assert_eq!(store.left.load(Ordering::SeqCst), 0);
    assert!(inner.list(".pulumi/locks/").await.unwrap().is_empty());

    store.left.store(usize::MAX, Ordering::SeqCst);
    let result = update(&stack, &[("a", "2")]).await;
    assert!(
        result.error.is_none(),
        "the operation is complete: {:?}",
        result.error
    );
    let left = inner.list(".pulumi/locks/").await.unwrap();
    let [lock] = &left[..] else { panic!("{left:?}") };
    let [warning] = &result.diagnostics[..] else {
        panic!("{:?}", result.diagnostics)
    };
    let text = warning.message.to_string();
    assert!(
        text.contains(&lock.key) && text.contains("the disk is busy"),
        "{text}"
    );

    store.left.store(0, Ordering::SeqCst);
    let result = update(&stack, &[("a", "3")]).await;
    assert!(result.error.is_none(), "{:?}", result.error);
    assert!(
        inner.list(".pulumi/locks/").await.unwrap().is_empty(),
        "the next operation removes it"
    );
}
