//! Crashes: whatever moment a host is killed at, the next update goes on from there, and nothing is lost or made twice.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod hosts;
mod killed;
mod prefixes;
mod programs;
mod things;

use std::{collections::BTreeMap, sync::Arc};

use stackwright::{
    Engine, Stack, StackSettings,
    operation::{OperationKind, OperationOptions, OperationResult},
    property::PropertyMap,
    provider::Provider,
    resource::PendingOperationKind,
    secrets::Base64Provider,
    state::Snapshot,
    store::Store,
    urn::Urn,
};

use programs::Version;

/// Opens the stack of all these tests.
async fn open(store: Arc<dyn Store>, provider: Arc<dyn Provider>) -> Stack {
    let engine = Engine::builder(tokio::runtime::Handle::current())
        .store(store)
        .secrets(Arc::new(Base64Provider))
        .provider("things", provider)
        .build()
        .unwrap();
    engine.stack("shop/dev", StackSettings::default()).await.unwrap()
}

/// Brings the stack to a version of its program.
async fn update(stack: &Stack, version: Version) -> OperationResult {
    let program = Some(programs::program(version));
    let operation = stack.start(OperationKind::Update, OperationOptions::default(), program);
    (*operation.wait().await).clone().into_result().unwrap()
}

/// What one state has in common with another that was reached in another way: all but ids, times and the order.
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

/// Returns what was in flight, by the resources' names.
fn pending(snapshot: &Snapshot) -> BTreeMap<String, PendingOperationKind> {
    snapshot
        .pending_operations
        .iter()
        .map(|pending| (pending.resource.urn.name().to_owned(), pending.kind))
        .collect()
}
