//! The lifecycle of a stack in the Rust API, with an in-process provider and program.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::{io::Write as _, sync::Arc};

use serde_json::{Value, json};
use stackwright::{
    Engine, Stack, StackSettings,
    monitor::Registration,
    operation::{OperationOptions, OperationResult},
    program::{Program, from_fn},
    property::PropertyMap,
    provider::ProviderBackend,
    runtime::Runtime,
    secrets::Base64Provider,
    state::edit::{Move, Rename, Selection, StateEdit},
    store::{Condition, MemoryStore, Store},
    urn::Urn,
};
use stackwright_testkit::{fake::EchoProvider, wait::Ended as _};

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
