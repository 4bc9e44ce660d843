//! Crashes and full disks at any point of an operation: the next operation continues, and nothing is lost.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test fails by panicking, and reports that it was skipped"
)]

mod extensions;
mod full;
mod hosts;
mod killed;
mod mortal;
mod prefixes;
mod programs;
mod things;

use std::{collections::BTreeMap, path::Path, sync::Arc};

use stackwright::{
    Engine, Stack, StackSettings,
    operation::{OperationKind, OperationOptions, OperationResult},
    property::PropertyMap,
    provider::ProviderBackend,
    resource::PendingOperationKind,
    secrets::Base64Provider,
    state::{Snapshot, integrity},
    store::Store,
    urn::Urn,
};
use stackwright_testkit::wait::Ended as _;

use programs::Version;
use things::{existing, name_of};

/// Opens the stack of all these tests.
async fn open(store: Arc<dyn Store>, provider: Arc<dyn ProviderBackend>) -> Stack {
    let engine = Engine::builder(tokio::runtime::Handle::current())
        .store(store)
        .secrets(Arc::new(Base64Provider))
        .provider("things", provider)
        .build()
        .unwrap();
    engine.stack("shop/dev", StackSettings::default()).await.unwrap()
}

/// Updates the stack to a version of its program.
async fn update(stack: &Stack, version: Version) -> OperationResult {
    let program = Some(programs::program(version));
    let operation = stack.start(OperationKind::Update, OperationOptions::default(), program);
    (*operation.ended().await).clone().into_result().unwrap()
}

/// The comparable part of a state: all but ids, times and the order.
type Essence = BTreeMap<Urn, (PropertyMap, PropertyMap, Vec<Urn>)>;

fn essence(snapshot: &Snapshot) -> Essence {
    snapshot
        .resources
        .iter()
        .map(|state| {
            let mut dependencies = state.dependencies.clone();
            dependencies.sort();
            let values = (state.inputs.clone(), state.outputs.clone(), dependencies);
            (state.urn.clone(), values)
        })
        .collect()
}

/// Returns the kinds of pending operations by resource names.
fn pending(snapshot: &Snapshot) -> BTreeMap<String, PendingOperationKind> {
    snapshot
        .pending_operations
        .iter()
        .map(|pending| (pending.resource.urn.name().to_owned(), pending.kind))
        .collect()
}

/// Checks the state that an interrupted operation leaves against the files in `things`: each file is a record or a
/// pending creation, and each record has a file or is a pending deletion. Returns what is pending.
fn check_nothing_lost(snapshot: &Snapshot, things: &Path) -> BTreeMap<String, PendingOperationKind> {
    integrity::verify(snapshot).unwrap();
    let pending = pending(snapshot);
    let there = existing(things);
    let known: BTreeMap<&str, &str> = snapshot
        .resources
        .iter()
        .filter(|state| state.custom && !state.is_provider())
        .map(|state| (state.id.as_str(), state.urn.name()))
        .collect();
    for id in there.keys() {
        let creating = pending.get(name_of(id)) == Some(&PendingOperationKind::Creating);
        assert!(known.contains_key(id.as_str()) || creating, "{id} is lost");
    }
    for (id, name) in known {
        let deleting = pending.get(name) == Some(&PendingOperationKind::Deleting);
        assert!(there.contains_key(id) || deleting, "{id} is in the state only");
    }
    pending
}
