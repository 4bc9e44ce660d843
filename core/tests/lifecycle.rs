//! The lifecycle of a stack in the Rust API, with an in-process provider and program.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::sync::Arc;

use stackwright::{
    Engine, Stack, StackSettings,
    monitor::Registration,
    operation::{OperationOptions, OperationResult},
    program::{Program, from_fn},
    property::PropertyMap,
    provider::ProviderBackend,
    runtime::Runtime,
    secrets::Base64Provider,
    store::MemoryStore,
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

async fn stack(echo: &Arc<EchoProvider>, name: &str) -> Stack {
    let runtime = Runtime::system(tokio::runtime::Handle::current());
    let provider: Arc<dyn ProviderBackend> = Arc::clone(echo) as _;
    let engine = Engine::builder(tokio::runtime::Handle::current())
        .store(Arc::new(MemoryStore::new(runtime)))
        .secrets(Arc::new(Base64Provider))
        .provider("echo", provider)
        .build()
        .unwrap();
    engine.stack(name, StackSettings::default()).await.unwrap()
}

async fn update(stack: &Stack, values: &'static [(&'static str, &'static str)]) -> OperationResult {
    let kind = stackwright::operation::OperationKind::Update;
    let result = stack
        .start(kind, OperationOptions::default(), Some(program(values)))
        .ended()
        .await;
    (*result).clone().into_result().unwrap()
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
