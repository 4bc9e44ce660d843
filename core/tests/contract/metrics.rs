//! What an engine counts: operations, calls, plugin processes, journals, calls of the store, locks.

use std::sync::Arc;

use stackwright::{
    Engine, Stack, StackSettings,
    metrics::{Metrics, OperationMetrics},
    monitor::Registration,
    operation::OperationOptions,
    program::from_fn,
    property::PropertyValue,
    runtime::Runtime,
    secrets::Base64Provider,
    store::MemoryStore,
};
use stackwright_testkit::{
    fake::{EchoProvider, FakeProvider, plugin_processes},
    wait::{Ended as _, Within as _, until},
};

const SECRET: &str = "correct horse battery";

async fn echo_stack(echo: &Arc<EchoProvider>, names: &'static [&'static str]) -> (Engine, Stack) {
    let runtime = Runtime::system(tokio::runtime::Handle::current());
    let engine = Engine::builder(tokio::runtime::Handle::current())
        .store(Arc::new(MemoryStore::new(runtime)))
        .secrets(Arc::new(Base64Provider))
        .provider("echo", Arc::clone(echo) as _)
        .build()
        .unwrap();
    let program = from_fn(move |context| async move {
        for name in names {
            let secret = PropertyValue::secret(SECRET.into());
            let registration = Registration {
                resource_type: "echo:index:Echo".into(),
                name: (*name).to_owned(),
                custom: true,
                inputs: [("value", secret)].into_iter().collect(),
                ..Registration::default()
            };
            context.monitor.register(registration).await?;
        }
        Ok(())
    });
    let settings = StackSettings {
        program: Some(program),
        ..StackSettings::default()
    };
    let stack = engine.create_stack("shop/dev", settings).await.unwrap();
    (engine, stack)
}

fn operations(metrics: &Metrics, verb: &str, is_preview: bool) -> OperationMetrics {
    let mut counts = metrics.operations.iter();
    let found = counts.find(|counts| counts.verb == verb && counts.is_preview == is_preview);
    found.cloned().unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_counts_operations_calls_and_what_it_writes() {
    let echo = Arc::new(EchoProvider::default());
    let (engine, stack) = echo_stack(&echo, &["a", "b"]).await;
    let before = engine.metrics();
    assert!(before.operations.is_empty() && before.provider_calls.is_empty());
    stack.preview(OperationOptions::default()).ended().await;
    stack.update(OperationOptions::default()).ended().await;
    let refused = OperationOptions {
        targets: vec!["no URN".to_owned()],
        ..OperationOptions::default()
    };
    assert!(stack.update(refused).ended().await.error.is_some());
    let metrics = engine.metrics();
    assert_eq!(operations(&metrics, "update", true).succeeded, 1);
    let updates = operations(&metrics, "update", false);
    assert_eq!((updates.running, updates.succeeded, updates.failed), (0, 1, 1));
    let calls = metrics.provider_calls["echo"];
    assert!(
        calls.total >= 6,
        "two checks and two creations, and two checks of the preview: {calls:?}"
    );
    assert_eq!((calls.in_flight, calls.failed), (0, 0));
    assert!(
        metrics.journal.entries >= 4,
        "each creation begins and ends: {:?}",
        metrics.journal
    );
    assert!(metrics.journal.bytes > 100, "{:?}", metrics.journal);
    assert!(metrics.store.calls["get"] > before.store.calls["get"]);
    assert!(metrics.store.calls["append"] >= 1 && metrics.store.calls["put"] >= 1);
    assert!(metrics.locks.taken >= 1);
    assert!(!format!("{metrics:?}").contains(SECRET));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_runs_is_counted_while_it_runs() {
    let echo = Arc::new(EchoProvider::default());
    let (engine, stack) = echo_stack(&echo, &["held"]).await;
    let first = stack.update(OperationOptions::default());
    echo.started.notified().within("the creation").await;
    let metrics = engine.metrics();
    assert_eq!(operations(&metrics, "update", false).running, 1);
    assert_eq!(metrics.provider_calls["echo"].in_flight, 1);
    let waiting = OperationOptions {
        wait_for_lock: Some(120.0),
        ..OperationOptions::default()
    };
    let second = stack.refresh(waiting);
    until("the wait for the lock", || engine.metrics().locks.waiting == 1).await;
    echo.release.notify_one();
    assert!(first.ended().await.error.is_none() && second.ended().await.error.is_none());
    let metrics = engine.metrics();
    assert_eq!(operations(&metrics, "update", false).running, 0);
    assert_eq!(metrics.provider_calls["echo"].in_flight, 0);
    assert_eq!(
        (metrics.locks.waiting, metrics.locks.waits, metrics.locks.taken),
        (0, 1, 2)
    );
    assert!(!metrics.locks.waited.is_zero());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_process_is_listed_with_its_memory_until_it_has_ended() {
    let port = FakeProvider::greeting(true).serve().await;
    let runtime = Runtime::system(tokio::runtime::Handle::current());
    let engine = Engine::builder(tokio::runtime::Handle::current())
        .store(Arc::new(MemoryStore::new(runtime)))
        .secrets(Arc::new(Base64Provider))
        .plugins(plugin_processes("files", &format!("127.0.0.1:{port}")))
        .build()
        .unwrap();
    let program = from_fn(|context| async move {
        let provider = Registration {
            resource_type: "pulumi:providers:files".into(),
            name: "files".to_owned(),
            custom: true,
            ..Registration::default()
        };
        context.monitor.register(provider).await?;
        Ok(())
    });
    let settings = StackSettings {
        program: Some(program),
        ..StackSettings::default()
    };
    let stack = engine.create_stack("shop/dev", settings).await.unwrap();
    let held = OperationOptions {
        hold_session: true,
        ..OperationOptions::default()
    };
    let operation = stack.update(held);
    assert!(operation.ended().await.error.is_none());
    let plugins = engine.metrics().plugins;
    assert_eq!(plugins.len(), 1, "{plugins:?}");
    assert_eq!(
        (plugins[0].name.as_str(), plugins[0].kind.as_str()),
        ("files", "resource")
    );
    assert!(plugins[0].resident_memory.is_some_and(|bytes| bytes > 0));
    operation.release().within("the end of the session").await;
    engine.close().within("the end of the plugin").await;
    until("the end of the process", || engine.metrics().plugins.is_empty()).await;
    assert_eq!(engine.metrics().plugins_started, 1);
}
