//! The checkpoint while an operation runs: programs that do not read the journal find the completed steps in it.

use std::{sync::Arc, time::Duration};

use stackwright::{
    Engine, Stack, StackSettings,
    operation::{OperationKind, OperationOptions},
    provider::{
        Capabilities, CreateRequest, CreateResponse, DeleteRequest, DiffRequest, DiffResponse,
        HandshakeRequest, Provider, ProviderResult, UpdateRequest, UpdateResponse,
    },
    runtime::Runtime,
    secrets::Base64Provider,
    store::{MemoryStore, Store},
};
use stackwright_testkit::wait::Ended as _;

use crate::fixture::program;

const CHECKPOINT: &str = ".pulumi/stacks/shop/dev.json";

/// Polls the checkpoint during the creation of `slow`, until it has the expected content.
struct CheckpointPoller {
    store: Arc<dyn Store>,
    runtime: Runtime,
    expects_refresh: bool,
}

impl CheckpointPoller {
    /// Returns the names of the records, and of the pending operations.
    async fn seen(&self) -> (Vec<String>, Vec<String>) {
        let bytes = self.store.get(CHECKPOINT).await.unwrap().unwrap().bytes;
        let document: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        let latest = &document["checkpoint"]["latest"];
        let name = |record: &serde_json::Value| {
            let urn = record["urn"].as_str().unwrap_or_default();
            urn.rsplit("::").next().unwrap_or_default().to_owned()
        };
        let list = |value: &serde_json::Value| value.as_array().cloned().unwrap_or_default();
        let records = list(&latest["resources"]);
        let pending = list(&latest["pending_operations"]);
        (
            records.iter().map(name).collect(),
            pending.iter().map(|pending| name(&pending["resource"])).collect(),
        )
    }
}

impl Provider for CheckpointPoller {
    async fn handshake(&self, _request: HandshakeRequest) -> ProviderResult<Capabilities> {
        Ok(Capabilities::all())
    }

    async fn diff(&self, _request: DiffRequest) -> ProviderResult<DiffResponse> {
        Ok(DiffResponse::default())
    }

    async fn create(&self, request: CreateRequest) -> ProviderResult<CreateResponse> {
        if request.name == "slow" {
            let rounds = if self.expects_refresh { 6000 } else { 20 };
            let mut shown = false;
            for _ in 0..rounds {
                let (records, pending) = self.seen().await;
                shown = records.iter().any(|name| name == "fast") && pending == ["slow"];
                if shown {
                    break;
                }
                self.runtime.clock.wait(Duration::from_millis(5)).await;
            }
            assert_eq!(shown, self.expects_refresh);
        }
        Ok(CreateResponse {
            id: format!("id-{}", request.name).into(),
            outputs: request.inputs,
            refresh_before_update: false,
        })
    }

    async fn update(&self, request: UpdateRequest) -> ProviderResult<UpdateResponse> {
        Ok(UpdateResponse {
            outputs: request.news,
            refresh_before_update: false,
        })
    }

    async fn delete(&self, _request: DeleteRequest) -> ProviderResult<()> {
        Ok(())
    }
}

async fn open(interval: Option<Duration>) -> (Arc<dyn Store>, Stack) {
    let handle = tokio::runtime::Handle::current();
    let runtime = Runtime::system(handle.clone());
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(runtime.clone()));
    let poller = CheckpointPoller {
        store: Arc::clone(&store),
        runtime,
        expects_refresh: interval.is_some(),
    };
    let engine = Engine::builder(handle)
        .store(Arc::clone(&store))
        .secrets(Arc::new(Base64Provider))
        .provider("echo", Arc::new(poller))
        .checkpoint_interval(interval)
        .build()
        .unwrap();
    let stack = engine.stack("shop/dev", StackSettings::default()).await.unwrap();
    (store, stack)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_checkpoint_contains_completed_steps_while_the_operation_runs() {
    for interval in [Some(Duration::from_millis(5)), None] {
        let (store, stack) = open(interval).await;
        let program = program(&[("fast", "1"), ("slow", "1")]);
        let operation = stack.start(OperationKind::Update, OperationOptions::default(), Some(program));
        let result = operation.ended().await;
        assert!(result.error.is_none(), "{interval:?}: {:?}", result.error);
        assert!(result.snapshot.pending_operations.is_empty());
        assert_eq!(stack.history().await.unwrap().len(), 1);
        // The copy is the state before the operation, which was empty.
        let previous = store.get(&format!("{CHECKPOINT}.bak")).await.unwrap().unwrap();
        assert!(!String::from_utf8_lossy(&previous.bytes).contains("resources"));
    }
}
