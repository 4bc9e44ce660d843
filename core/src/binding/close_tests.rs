//! The end of an engine while an operation runs: on a store of the host, and on a folder.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use tokio::sync::Notify;

use super::{HostCalls, ObjectAnswer, ObjectCall, ObjectHost, store::supplied};
use crate::{
    Engine, Result, StackSettings,
    event::OperationOutcome,
    monitor::Registration,
    operation::{OperationKind, OperationOptions},
    program::{Program, from_fn},
    provider::{
        Capabilities, CheckRequest, CheckResponse, CreateRequest, CreateResponse, DeleteRequest, DiffRequest,
        DiffResponse, HandshakeRequest, Provider, ProviderResult, ReadRequest, ReadResponse, UpdateRequest,
        UpdateResponse,
    },
    runtime::{Runtime, Spawner, VirtualClock},
    secrets::Base64Provider,
    store::{MemoryStore, Store, StoreSettings, open_with},
};

const STACK: &str = "shop/dev";

/// Objects in memory.
struct Objects(MemoryStore);

#[async_trait]
impl ObjectHost for Objects {
    async fn call(&self, call: ObjectCall) -> Result<ObjectAnswer> {
        let mut answer = ObjectAnswer::default();
        match call {
            ObjectCall::Get { key } => {
                if let Some(object) = self.0.get(&key).await? {
                    answer.version = Some(object.version.to_string());
                    answer.content = Some(object.bytes);
                }
            }
            ObjectCall::Put {
                key,
                content,
                condition,
            } => answer.version = Some(self.0.put(&key, content, condition).await?.to_string()),
            ObjectCall::List { prefix } => {
                let listed = self.0.list(&prefix).await?;
                let listed = listed.iter().map(
                    |it| serde_json::json!({ "key": it.key, "size": it.size, "modified": it.modified.to_string() }),
                );
                answer.listing = Some(serde_json::to_vec(&listed.collect::<Vec<_>>()).unwrap());
            }
            ObjectCall::Delete { key } => self.0.delete(&key).await?,
            ObjectCall::Copy { from, to } => self.0.copy(&from, &to).await?,
        }
        Ok(answer)
    }

    fn has_copy(&self) -> bool {
        true
    }
}

/// A provider whose creations take until they are allowed to end.
#[derive(Default)]
struct Slow {
    begun: Notify,
    proceed: Notify,
    created: AtomicUsize,
}

impl Provider for Slow {
    async fn handshake(&self, _: HandshakeRequest) -> ProviderResult<Capabilities> {
        Ok(Capabilities::all())
    }

    async fn check(&self, request: CheckRequest) -> ProviderResult<CheckResponse> {
        Ok(CheckResponse {
            inputs: request.news,
            failures: Vec::new(),
        })
    }

    async fn diff(&self, _: DiffRequest) -> ProviderResult<DiffResponse> {
        Ok(DiffResponse::default())
    }

    async fn create(&self, request: CreateRequest) -> ProviderResult<CreateResponse> {
        self.created.fetch_add(1, Ordering::SeqCst);
        self.begun.notify_one();
        self.proceed.notified().await;
        Ok(CreateResponse {
            id: request.name.as_str().into(),
            outputs: request.inputs,
            refresh_before_update: false,
        })
    }

    async fn read(&self, _: ReadRequest) -> ProviderResult<ReadResponse> {
        Ok(ReadResponse::default())
    }

    async fn update(&self, request: UpdateRequest) -> ProviderResult<UpdateResponse> {
        Ok(UpdateResponse {
            outputs: request.news,
            refresh_before_update: false,
        })
    }

    async fn delete(&self, _: DeleteRequest) -> ProviderResult<()> {
        Ok(())
    }
}

fn program() -> Arc<dyn Program> {
    from_fn(|context| async move {
        for name in ["one", "two"] {
            let registration = Registration {
                resource_type: "slow:index:Thing".into(),
                name: name.into(),
                custom: true,
                ..Registration::default()
            };
            context.monitor.register(registration).await?;
        }
        Ok(())
    })
}

fn engine(store: Arc<dyn Store>, provider: &Arc<Slow>, runtime: &Runtime) -> Engine {
    Engine::builder(tokio::runtime::Handle::current())
        .runtime(runtime.clone())
        .store(store)
        .secrets(Arc::new(Base64Provider))
        .provider("slow", Arc::clone(provider) as _)
        .build()
        .unwrap()
}

/// Where the state of a test is.
enum Place<'test> {
    Host(Arc<Objects>),
    Folder(&'test Path),
}

impl Place<'_> {
    fn open(&self, runtime: &Runtime) -> (Arc<dyn Store>, HostCalls) {
        let (calls, settings) = (HostCalls::new(runtime), StoreSettings::default());
        let store = match self {
            Self::Host(objects) => {
                let host = Arc::clone(objects) as _;
                supplied(host, "Objects", &settings, runtime, calls.clone())
            }
            Self::Folder(folder) => {
                let url = format!("file://{}", folder.display());
                open_with(&url, Path::new("/"), runtime, &settings)
            }
        };
        (store.unwrap(), calls)
    }
}

#[tokio::test]
async fn the_operations_of_an_engine_end_before_its_providers_and_its_store() {
    for (is_in_time, is_folder) in [(true, true), (true, false), (false, true), (false, false)] {
        let handle = tokio::runtime::Handle::current();
        let runtime = Runtime {
            clock: VirtualClock::start(),
            spawner: Spawner::single_threaded(handle.clone()),
            ..Runtime::system(handle)
        };
        let folder = tempfile::tempdir().unwrap();
        let place = match is_folder {
            true => Place::Folder(folder.path()),
            false => Place::Host(Arc::new(Objects(MemoryStore::new(runtime.clone())))),
        };
        let slow = Arc::new(Slow::default());
        let (store, calls) = place.open(&runtime);
        let first = engine(store, &slow, &runtime);
        let stack = first.create_stack(STACK, StackSettings::default()).await.unwrap();
        let operation = stack.start(
            OperationKind::Update,
            OperationOptions::default(),
            Some(program()),
        );
        slow.begun.notified().await;
        let ends = async {
            if is_in_time {
                runtime.clock.wait(std::time::Duration::from_secs(3)).await;
                slow.proceed.notify_one();
            }
        };
        let closing = async {
            first.close().await;
            calls.close().await;
        };
        futures::join!(closing, ends);
        let result = operation.wait().await;
        assert_eq!(result.outcome, OperationOutcome::Canceled);
        assert_eq!(slow.created.load(Ordering::SeqCst), 1, "no other step has begun");

        let next = engine(place.open(&runtime).0, &slow, &runtime);
        let stack = next.select_stack(STACK, StackSettings::default()).await.unwrap();
        let snapshot = stack.snapshot().await.unwrap();
        let created = snapshot.resources.iter().filter(|it| it.urn.name() == "one");
        assert_eq!(created.count(), usize::from(is_in_time));
        assert_eq!(snapshot.pending_operations.len(), usize::from(!is_in_time));
        let begin = runtime.clock.elapsed();
        assert_eq!(stack.unlock().await.unwrap(), 0, "nothing is locked");
        stack.rename_stack("live", false).await.unwrap();
        assert_eq!(runtime.clock.elapsed(), begin);
    }
}
