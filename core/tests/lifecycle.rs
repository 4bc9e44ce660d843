//! The lifecycle of a stack in the Rust API, with an in-process provider and program.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::sync::{Arc, Mutex};

use stackwright::{
    Engine, Stack, StackSettings,
    monitor::Registration,
    operation::{OperationOptions, OperationResult},
    program::{Program, from_fn},
    property::PropertyMap,
    provider::{
        Capabilities, CreateRequest, CreateResponse, DeleteRequest, DiffChanges, DiffRequest, DiffResponse,
        HandshakeRequest, Provider, ProviderBackend, ProviderResult, UpdateRequest, UpdateResponse,
    },
    runtime::Runtime,
    secrets::Base64Provider,
    store::MemoryStore,
};

#[derive(Default)]
struct Echo {
    calls: Mutex<Vec<String>>,
}

impl Echo {
    fn note(&self, call: &str, name: &str) {
        self.calls.lock().unwrap().push(format!("{call} {name}"));
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.calls.lock().unwrap())
    }
}

impl Provider for Echo {
    async fn handshake(&self, _request: HandshakeRequest) -> ProviderResult<Capabilities> {
        Ok(Capabilities::all())
    }

    async fn diff(&self, request: DiffRequest) -> ProviderResult<DiffResponse> {
        let replaces = if request.old_inputs.get("name") == request.news.get("name") {
            vec![]
        } else {
            vec!["name".to_owned()]
        };
        let same = request.old_inputs == request.news;
        Ok(DiffResponse {
            changes: if same {
                DiffChanges::None
            } else {
                DiffChanges::Some
            },
            replaces,
            ..DiffResponse::default()
        })
    }

    async fn create(&self, request: CreateRequest) -> ProviderResult<CreateResponse> {
        self.note("create", &request.name);
        Ok(CreateResponse {
            id: format!("id-{}", request.name).into(),
            outputs: request.inputs,
            refresh_before_update: false,
        })
    }

    async fn update(&self, request: UpdateRequest) -> ProviderResult<UpdateResponse> {
        self.note("update", &request.name);
        Ok(UpdateResponse {
            outputs: request.news,
            refresh_before_update: false,
        })
    }

    async fn delete(&self, request: DeleteRequest) -> ProviderResult<()> {
        self.note("delete", &request.name);
        Ok(())
    }
}

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

async fn stack(echo: &Arc<Echo>, name: &str) -> Stack {
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
        .wait()
        .await;
    (*result).clone().into_result().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stack_is_created_unchanged_changed_and_destroyed() {
    let echo = Arc::new(Echo::default());
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

    let destroyed = stack.destroy(OperationOptions::default()).wait().await;
    assert!(destroyed.error.is_none(), "{:?}", destroyed.error);
    assert_eq!(destroyed.changes.get("delete"), Some(&3));
    assert!(stack.snapshot().await.unwrap().resources.is_empty());
}
