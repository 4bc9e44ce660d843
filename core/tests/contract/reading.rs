//! Reading a stack without a program: while an operation runs, by unknown names, and with damaged files beside it.

use std::{fs, path::Path, sync::Arc, time::Duration};

use stackwright::{
    Engine, ErrorKind, Stack, StackSettings,
    operation::{Adoption, OperationKind, OperationOptions},
    program::{Program, from_fn},
    provider::ProviderBackend,
    runtime::Runtime,
    secrets::Base64Provider,
    store::FileStore,
};
use stackwright_testkit::wait::{Ended as _, Within as _};

use crate::fixture::{Scripted, program, resource, stack};

/// How many resources the program registers whose states are read meanwhile.
const RESOURCES: usize = 60;

fn file_engine(folder: &Path, provider: &Arc<Scripted>) -> Engine {
    let handle = tokio::runtime::Handle::current();
    let store = FileStore::new(folder, Runtime::system(handle.clone())).unwrap();
    let provider: Arc<dyn ProviderBackend> = Arc::clone(provider) as _;
    Engine::builder(handle)
        .store(Arc::new(store))
        .secrets(Arc::new(Base64Provider))
        .provider("echo", provider)
        // The checkpoint is written as often as possible.
        .checkpoint_interval(Some(Duration::from_millis(1)))
        .build()
        .unwrap()
}

async fn file_stack(engine: &Engine) -> Stack {
    let opened = engine.create_or_select_stack("shop/dev", StackSettings::default());
    opened.await.unwrap()
}

/// Registers `RESOURCES` resources one after the other, and then one whose creation waits.
fn strand() -> Arc<dyn Program> {
    from_fn(|context| async move {
        let mut last = None;
        for number in 0..RESOURCES {
            let mut registration = resource(&format!("r{number}"), "1");
            registration.dependencies = last.into_iter().collect();
            last = Some(context.monitor.register(registration).await?.urn);
        }
        context.monitor.register(resource("waits", "1")).await?;
        Ok(())
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_read_during_an_operation_is_a_valid_state_that_only_grows() {
    let folder = tempfile::tempdir().unwrap();
    let provider = Arc::new(Scripted::default());
    let engine = file_engine(folder.path(), &provider);
    let stack = file_stack(&engine).await;
    let update = stack.start(OperationKind::Update, OperationOptions::default(), Some(strand()));
    let reader = stack.clone();
    let reading = async {
        let (mut seen, mut reads) = (0, 0);
        loop {
            // A torn state would be an error, or have a reference to a record that is not there.
            let graph = reader.graph().await.unwrap();
            let edges = graph
                .edges
                .iter()
                .filter(|edge| edge.source > edge.target)
                .count();
            let (dependent, named) = (
                graph
                    .nodes
                    .iter()
                    .filter(|node| !node.dependencies.is_empty())
                    .count(),
                graph.nodes.len(),
            );
            assert!(edges >= dependent, "{edges} edges of {dependent} records");
            assert!(named >= seen, "{named} records after {seen}");
            (seen, reads) = (named, reads + 1);
            // The stack, its provider and all but the last resource.
            if seen == RESOURCES + 2 {
                return reads;
            }
        }
    };
    let reads = reading.within("all records but the last one").await;
    assert!(reads > 1, "{reads} reads");
    provider
        .entered
        .notified()
        .within("the begin of the held call")
        .await;
    let pending = stack.pending().await.unwrap();
    let [entry] = pending.as_slice() else {
        panic!("one step is in flight, not {pending:?}");
    };
    assert!(entry.in_progress && entry.operation.resource.urn.name() == "waits");
    let stacks = engine.stacks(None, true).await.unwrap();
    let lock = stacks[0].lock.as_ref().unwrap();
    assert!(
        lock.is_running && lock.operation.as_deref() == Some("update"),
        "{lock:?}"
    );
    assert!(lock.process == Some(std::process::id()) && lock.since.is_some());
    let refused = stack.forget_pending(&entry.id, false).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Conflict, "{refused}");
    provider.given_up.notify_one();
    assert!(update.ended().await.error.is_none());
    assert_eq!(stack.resources().await.unwrap().len(), RESOURCES + 3);
    assert!(stack.pending().await.unwrap().is_empty());
    assert!(engine.stacks(None, true).await.unwrap()[0].lock.is_none());
}

#[tokio::test]
async fn an_unknown_urn_is_refused_with_the_nearest_ones() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let names = program(&[
        ("server-1", "1"),
        ("server-2", "1"),
        ("server-3", "1"),
        ("database", "1"),
    ]);
    let update = stack.start(OperationKind::Update, OperationOptions::default(), Some(names));
    assert!(update.ended().await.error.is_none());
    let urn = |name: &str| format!("urn:pulumi:dev::shop::echo:index:Echo::{name}");
    let found = stack.resource(&urn("server-2")).await.unwrap();
    assert_eq!(found.urn.name(), "server-2");
    let error = stack.resource(&urn("server-22")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let hints: Vec<_> = error.hints().iter().map(String::as_str).collect();
    assert_eq!(hints[0], format!("did you mean '{}'?", urn("server-2")));
    assert!(
        hints.len() == 3 && !hints.iter().any(|hint| hint.contains("database")),
        "{hints:?}"
    );
}

#[tokio::test]
async fn an_id_of_a_pending_operation_that_is_gone_is_refused_and_changes_nothing() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let interrupted = r#"{"version":3,"deployment":{"manifest":{"time":"2026-01-01T00:00:00Z","magic":"","version":""},
        "pending_operations":[
            {"type":"creating","resource":{"urn":"urn:pulumi:dev::shop::echo:index:Echo::a","custom":true,"type":"echo:index:Echo"}},
            {"type":"creating","resource":{"urn":"urn:pulumi:dev::shop::echo:index:Echo::a","custom":true,"type":"echo:index:Echo"}}]}}"#;
    stack.import_deployment(interrupted.as_bytes()).await.unwrap();
    let [first, second] = stack.pending().await.unwrap().try_into().unwrap();
    assert_ne!(first.id, second.id);
    let previewed = stack.forget_pending(&first.id, true).await.unwrap();
    assert_eq!(previewed.id, first.id);
    stack.forget_pending(&first.id, false).await.unwrap();
    // A repeated call must not remove the other one.
    for id in [&first.id, &second.id] {
        let error = stack.forget_pending(id, false).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    }
    let [left] = stack.pending().await.unwrap().try_into().unwrap();
    let adoption = Adoption {
        pending: first.id,
        resource_id: Some("id-a".to_owned()),
        replace: false,
    };
    let adopted = stack
        .adopt_pending(adoption, OperationOptions::default())
        .ended()
        .await;
    assert_eq!(adopted.error.as_ref().unwrap().kind(), ErrorKind::NotFound);
    assert_eq!(stack.pending().await.unwrap(), [left]);
    assert!(stack.history().await.unwrap().is_empty(), "nothing was done");
}

#[tokio::test]
async fn a_damaged_history_is_named_in_the_listing_and_hides_no_stack() {
    let folder = tempfile::tempdir().unwrap();
    let provider = Arc::new(Scripted::default());
    let engine = file_engine(folder.path(), &provider);
    let stack = file_stack(&engine).await;
    let update = stack.start(
        OperationKind::Update,
        OperationOptions::default(),
        Some(program(&[("a", "1")])),
    );
    assert!(update.ended().await.error.is_none());
    engine
        .create_stack("shop/other", StackSettings::default())
        .await
        .unwrap();
    let listed = engine.stacks(Some("shop"), true).await.unwrap();
    let names: Vec<_> = listed.iter().map(|stack| stack.name.to_string()).collect();
    assert_eq!(names, ["shop/dev", "shop/other"]);
    assert_eq!(listed[0].last_update.as_ref().unwrap().result, "succeeded");
    assert_eq!(
        (listed[0].resource_count, listed[1].resource_count),
        (Some(3), Some(0))
    );
    assert!(listed[1].last_update.is_none() && listed[1].problems.is_empty());
    assert!(engine.stacks(Some("sho"), false).await.unwrap().is_empty());

    let history = folder.path().join(".pulumi/history/shop/dev");
    let records = fs::read_dir(&history).unwrap().map(|entry| entry.unwrap().path());
    let record = records
        .filter(|path| path.to_string_lossy().ends_with(".history.json"))
        .max()
        .unwrap();
    fs::write(&record, "{").unwrap();
    fs::write(folder.path().join(".pulumi/stacks/shop/other.json"), "{").unwrap();
    let listed = engine.stacks(None, true).await.unwrap();
    assert_eq!(listed.len(), 2);
    let name = record.file_name().unwrap().to_string_lossy().into_owned();
    assert!(listed[0].problems[0].contains(&name), "{:?}", listed[0].problems);
    assert!(
        listed[1].problems[0].contains("shop/other.json"),
        "{:?}",
        listed[1].problems
    );
    assert_eq!(
        (listed[0].resource_count, listed[1].resource_count),
        (Some(3), None)
    );
}
