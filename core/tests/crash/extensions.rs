//! Extensions of providers in interrupted updates: no record is ever without the extension that it refers to.

use std::sync::Arc;

use prost::Message as _;
use stackwright::{
    Engine, Stack, StackSettings,
    monitor::{PackageChoice, Registration},
    operation::{OperationKind, OperationOptions},
    program::{Program, ProgramContext, from_fn},
    secrets::Base64Provider,
    state::{Snapshot, integrity},
    store::Store,
};
use stackwright_proto::pulumirpc::{Parameterization, RegisterPackageRequest, RegisterPackageResponse};
use stackwright_testkit::{
    fake::ExtensiblePlugins,
    wait::{Ended as _, Within as _},
};

use super::prefixes::{JournalRecorder, checkpoint_of, ends_of_lines, interrupted};

async fn open(store: Arc<dyn Store>) -> Stack {
    let engine = Engine::builder(tokio::runtime::Handle::current())
        .store(store)
        .secrets(Arc::new(Base64Provider))
        .resolver(Arc::new(ExtensiblePlugins::default()))
        .build()
        .unwrap();
    engine.stack("shop/dev", StackSettings::default()).await.unwrap()
}

/// Runs an operation, which must succeed.
async fn run(stack: &Stack, kind: OperationKind, program: Option<Arc<dyn Program>>) {
    let operation = stack.start(kind, OperationOptions::default(), program);
    let result = operation.ended().await;
    assert!(result.error.is_none(), "{:?}", result.error);
}

/// Returns a program with resources of a version of the extension `more`.
fn program(version: &'static str, names: &'static [&'static str]) -> Arc<dyn Program> {
    from_fn(move |context: ProgramContext| async move {
        let request = RegisterPackageRequest {
            name: "base".to_owned(),
            extension: Some(Parameterization {
                name: "more".to_owned(),
                version: version.to_owned(),
                value: version.into(),
            }),
            ..RegisterPackageRequest::default()
        };
        let method = "ResourceMonitor/RegisterPackage";
        let answer = context.monitor.call(method, request.encode_to_vec().into()).await;
        let answer = RegisterPackageResponse::decode(&*answer.unwrap()).unwrap();
        for name in names {
            let registration = Registration {
                resource_type: "more:index:Thing".into(),
                name: (*name).to_owned(),
                custom: true,
                package: PackageChoice {
                    package_ref: answer.r#ref.clone(),
                    ..PackageChoice::default()
                },
                ..Registration::default()
            };
            let registered = context.monitor.register(registration);
            registered.within("a registration").await.unwrap();
        }
        Ok(())
    })
}

/// Returns the versions of the recorded extensions; every reference has its extension.
fn versions(snapshot: &Snapshot) -> Vec<String> {
    let extensions = snapshot.extra.get("extensions");
    let pending = snapshot
        .pending_operations
        .iter()
        .map(|pending| &pending.resource);
    for state in snapshot.resources.iter().chain(pending) {
        let reference = state.extension_ref.as_str();
        let found = extensions.and_then(|extensions| extensions.get(reference));
        assert!(
            reference.is_empty() || found.is_some(),
            "{} has no {reference}",
            state.urn
        );
    }
    let all = extensions
        .and_then(serde_json::Value::as_object)
        .into_iter()
        .flatten();
    let mut versions: Vec<_> = all
        .map(|(_, extension)| extension["version"].as_str().unwrap().to_owned())
        .collect();
    versions.sort();
    versions
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_prefix_of_a_journal_has_the_extensions_that_its_records_need() {
    let store = Arc::new(JournalRecorder::new());
    let stack = open(Arc::clone(&store) as _).await;
    run(&stack, OperationKind::Update, Some(program("1.0.0", &["a", "b"]))).await;
    let before = checkpoint_of(&*store).await;
    drop(store.take_journal());
    run(&stack, OperationKind::Update, Some(program("2.0.0", &["b", "c"]))).await;
    assert_eq!(versions(&stack.snapshot().await.unwrap()), ["2.0.0"]);
    let journal = store.take_journal();
    let (mut unused, mut both) = (0, 0);
    for end in ends_of_lines(&journal) {
        // At the line's end, and in the middle of the next line.
        for length in [end, (end + 9).min(journal.len())] {
            let lines = &journal[..length];
            let store = interrupted(before.clone(), lines).await;
            let stack = open(store).await;
            let snapshot = stack.snapshot().await.unwrap();
            integrity::verify(&snapshot).unwrap();
            let versions = versions(&snapshot);
            let is_added = String::from_utf8_lossy(lines).contains(r#""kind":"extension""#);
            assert!(is_added || versions == ["1.0.0"], "{versions:?}");
            unused += usize::from(is_added && versions == ["1.0.0"]);
            both += usize::from(versions == ["1.0.0", "2.0.0"]);
            // The plugin refuses what belongs to an extension that it has not been given.
            run(&stack, OperationKind::Refresh, None).await;
            run(&stack, OperationKind::Destroy, None).await;
            let left = stack.snapshot().await.unwrap();
            assert!(left.resources.is_empty());
        }
    }
    assert!(
        unused > 0,
        "no prefix ends between the extension and the first record that needs it"
    );
    assert!(both > 0, "no prefix has records of both versions");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_journal_without_its_checkpoint_leaves_pending_comes_with_its_extension() {
    let store = Arc::new(JournalRecorder::new());
    let stack = open(Arc::clone(&store) as _).await;
    run(&stack, OperationKind::Update, Some(program("1.0.0", &["a", "b"]))).await;
    let before = checkpoint_of(&*store).await;
    drop(store.take_journal());
    run(
        &stack,
        OperationKind::Update,
        Some(program("2.0.0", &["a", "b", "c"])),
    )
    .await;
    let journal = store.take_journal();
    // Without the announcement of the last checkpoint, and over one that another program has written.
    let ends = ends_of_lines(&journal);
    let lines = &journal[..ends[ends.len() - 2]];
    let restored = [b"\n", &before[..]].concat().into();
    let stack = open(interrupted(restored, lines).await).await;
    let snapshot = stack.snapshot().await.unwrap();
    let pending: Vec<_> = snapshot
        .pending_operations
        .iter()
        .map(|pending| pending.resource.urn.name())
        .collect();
    assert_eq!(pending, ["c"]);
    assert_eq!(versions(&snapshot), ["1.0.0", "2.0.0"]);
}
