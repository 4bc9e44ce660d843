//! States that the reference engine wrote are loaded, refreshed, updated and destroyed.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::{path::PathBuf, sync::Arc};

use bytes::Bytes;
use stackwright::{
    Engine, ErrorKind, Opening, Stack, StackSettings,
    monitor::{Read, Registration},
    operation::{OperationKind, OperationOptions},
    program::{Program, from_fn},
    provider::ProviderBackend,
    resource::{PendingOperationKind, ResourceState},
    runtime::Runtime,
    secrets::PassphraseProvider,
    state::{Snapshot, integrity},
    store::{Condition, HostFacts, MemoryStore, Store, SystemProcesses},
    urn::ROOT_STACK_TYPE,
};
use stackwright_testkit::{fake::EchoProvider, wait::Ended as _};

const STATES: [&str; 6] = [
    "1-created",
    "1b-noop",
    "2-changed-delete-failed",
    "2b-refreshed",
    "4-create-failed",
    "5-pending-operations",
];

fn fixtures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/states")
}

async fn open(store: Arc<dyn Store>, echo: &Arc<EchoProvider>) -> Stack {
    let runtime = Runtime::system(tokio::runtime::Handle::current());
    let provider: Arc<dyn ProviderBackend> = Arc::clone(echo) as _;
    let engine = Engine::builder(tokio::runtime::Handle::current())
        .store(store)
        .secrets(Arc::new(PassphraseProvider::new("correct horse", runtime)))
        .host_facts(HostFacts {
            pid: 1,
            username: "other".to_owned(),
            // Not the host of the fixture's lock, on any test machine.
            hostname: "elsewhere".to_owned(),
            system: String::new(),
            processes: Arc::new(SystemProcesses),
        })
        .provider("testprovider", Arc::clone(&provider))
        .provider("pulumi-python", provider)
        .build()
        .unwrap();
    let settings = StackSettings {
        opening: Opening::Select,
        ..StackSettings::default()
    };
    engine.stack("fixtures/dev", settings).await.unwrap()
}

async fn put(store: &dyn Store, key: &str, bytes: Vec<u8>) {
    store.put(key, Bytes::from(bytes), Condition::Any).await.unwrap();
}

const CHECKPOINT: &str = ".pulumi/stacks/fixtures/dev.json";

async fn stored(state: &str) -> Arc<dyn Store> {
    let runtime = Runtime::system(tokio::runtime::Handle::current());
    let store = MemoryStore::new(runtime);
    put(&store, ".pulumi/meta.yaml", b"version: 1\n".to_vec()).await;
    let checkpoint = std::fs::read(fixtures().join(state).join("checkpoint.json")).unwrap();
    put(&store, CHECKPOINT, checkpoint).await;
    Arc::new(store)
}

/// Registers the recorded resources, in their order.
fn as_recorded(snapshot: &Snapshot) -> Arc<dyn Program> {
    let records: Arc<Vec<Arc<ResourceState>>> = Arc::new(
        snapshot
            .resources
            .iter()
            .filter(|state| !state.delete && !is_own(state))
            .cloned()
            .collect(),
    );
    from_fn(move |context| {
        let records = Arc::clone(&records);
        async move {
            for state in records.iter() {
                if state.external {
                    let read = Read {
                        resource_type: state.resource_type.clone(),
                        name: state.urn.name().to_owned(),
                        id: state.id.clone(),
                        parent: state.parent.clone(),
                        inputs: state.inputs.clone(),
                        ..Read::default()
                    };
                    context.monitor.read(read).await?;
                    continue;
                }
                let registered = context.monitor.register(registration(state)).await?;
                if !state.custom {
                    context
                        .monitor
                        .register_outputs(&registered.urn, state.outputs.clone())
                        .await?;
                }
            }
            Ok(())
        }
    })
}

/// Returns whether the engine registers the resource itself.
fn is_own(state: &ResourceState) -> bool {
    state.resource_type.as_str() == ROOT_STACK_TYPE
        || (state.is_provider() && state.urn.name().starts_with("default"))
}

fn registration(state: &ResourceState) -> Registration {
    let mut registration = Registration {
        resource_type: state.resource_type.clone(),
        name: state.urn.name().to_owned(),
        custom: state.custom,
        inputs: state.inputs.clone(),
        parent: state.parent.clone(),
        dependencies: state.dependencies.clone(),
        property_dependencies: Some(state.property_dependencies.clone()),
        protect: Some(state.protect),
        retain_on_delete: Some(state.retain_on_delete),
        options: state.options.clone(),
        ..Registration::default()
    };
    // The engine chooses default providers; programs name only explicit ones.
    if !state.provider.contains("::default::") && !state.provider.contains("::default_") {
        registration.package.provider = state.provider.to_string();
    }
    registration
}

/// Returns URN and id of the live resources.
fn identities(snapshot: &Snapshot) -> Vec<(String, String)> {
    let mut identities: Vec<_> = snapshot
        .resources
        .iter()
        .filter(|state| !state.delete)
        .map(|state| (state.urn.to_string(), state.id.to_string()))
        .collect();
    identities.sort();
    identities
}

/// Refreshes, updates and destroys a stack with any state.
async fn continues(state: &str, store: Arc<dyn Store>, stack: &Stack, echo: &EchoProvider) {
    let before = stack.snapshot().await.unwrap();
    let pending = before.pending_operations.len();

    let refreshed = stack.refresh(OperationOptions::default()).ended().await;
    assert!(refreshed.error.is_none(), "{state}: {:?}", refreshed.error);
    assert_eq!(identities(&refreshed.snapshot), identities(&before), "{state}");
    // Pending creations persist through refreshes: their results are unknown.
    let kept = &refreshed.snapshot.pending_operations;
    assert_eq!(kept.len(), pending, "{state}");
    assert!(
        kept.iter()
            .all(|operation| operation.kind == PendingOperationKind::Creating)
    );
    assert_eq!(echo.take(), Vec::<String>::new(), "{state}: a refresh only reads");

    let program = as_recorded(&before);
    let operation = stack.start(OperationKind::Update, OperationOptions::default(), Some(program));
    let updated = operation.ended().await;
    assert!(
        updated.error.is_none(),
        "{state}: {:?} {:#?}",
        updated.error,
        updated.diagnostics
    );
    assert_eq!(
        updated.changes.get("create"),
        None,
        "{state}: {:?}",
        updated.changes
    );
    assert_eq!(
        updated.changes.get("replace"),
        None,
        "{state}: {:?}",
        updated.changes
    );
    assert_eq!(identities(&updated.snapshot), identities(&before), "{state}");
    assert_eq!(updated.snapshot.pending_operations.len(), pending, "{state}");
    let mut waiting: Vec<String> = before
        .resources
        .iter()
        .filter(|state| state.delete)
        .map(|state| format!("delete {}", state.urn.name()))
        .collect();
    waiting.sort();
    let mut calls = echo.take();
    calls.sort();
    assert_eq!(
        calls, waiting,
        "{state}: only copies that are marked for deletion are touched"
    );
    let warned = updated.diagnostics.iter().any(|diagnostic| {
        diagnostic
            .message
            .contains(&format!("with {pending} pending operations"))
    });
    assert_eq!(warned, pending > 0, "{state}");

    let checkpoint = store.get(CHECKPOINT).await.unwrap().unwrap();
    let checkpoint: serde_json::Value = serde_json::from_slice(&checkpoint.bytes).unwrap();
    assert_eq!(checkpoint["version"], 3, "{state}");
    integrity::verify(&stack.snapshot().await.unwrap()).unwrap();

    let all = OperationOptions {
        ignore_protect: true,
        ..OperationOptions::default()
    };
    let destroyed = stack.destroy(all).ended().await;
    assert!(destroyed.error.is_none(), "{state}: {:?}", destroyed.error);
    let left = stack.snapshot().await.unwrap();
    assert_eq!(identities(&left), [], "{state}");
    assert_eq!(left.pending_operations.len(), pending, "{state}");
}

#[tokio::test(flavor = "multi_thread")]
async fn operations_continue_from_every_state_of_the_reference_engine() {
    for state in STATES {
        let store = stored(state).await;
        let echo = Arc::new(EchoProvider::default());
        let stack = open(Arc::clone(&store), &echo).await;
        continues(state, store, &stack, &echo).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_of_a_dead_process_elsewhere_is_a_conflict_until_it_is_broken() {
    let runtime = Runtime::system(tokio::runtime::Handle::current());
    let store = MemoryStore::new(runtime);
    let root = fixtures().join("killed-with-lock/dot-pulumi");
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            // Sidecars of the reference engine's file driver are no objects.
            if path.extension().is_some_and(|extension| extension == "attrs") {
                continue;
            }
            let name = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
            put(&store, &format!(".pulumi/{name}"), std::fs::read(&path).unwrap()).await;
        }
    }
    let store: Arc<dyn Store> = Arc::new(store);
    let echo = Arc::new(EchoProvider::default());
    let stack = open(Arc::clone(&store), &echo).await;
    let refused = stack.refresh(OperationOptions::default()).ended().await;
    assert_eq!(refused.error.as_ref().unwrap().kind(), ErrorKind::Conflict);
    assert_eq!(stack.unlock().await.unwrap(), 1);
    continues("killed-with-lock", store, &stack, &echo).await;
}
