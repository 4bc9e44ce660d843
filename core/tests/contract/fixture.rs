//! A stack with a provider whose failures are scripted by resource name.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use async_trait::async_trait;
use stackwright::{
    Engine, EngineBuilder, Result, Stack, StackSettings,
    monitor::Registration,
    program::{Program, from_fn},
    property::{Asset, AssetSource, PropertyMap, PropertyValue},
    provider::{
        Capabilities, CheckRequest, CheckResponse, ConfigureRequest, CreateRequest, CreateResponse,
        DeleteRequest, DiffChanges, DiffRequest, DiffResponse, HandshakeRequest, InvokeRequest,
        InvokeResponse, Provider, ProviderBackend, ProviderError, ProviderResult, ProviderStatus,
        ReadRequest, ReadResponse, UpdateRequest, UpdateResponse,
    },
    runtime::Runtime,
    secrets::Base64Provider,
    state::{JournalEntry, journal::JournalReceiver},
    store::MemoryStore,
};
use stackwright_testkit::wait::Within as _;
use tokio::sync::Notify;

/// Fails or waits by resource name, and counts the calls.
///
/// Changes of resources named `base` and `tied` replace them, with deletion first.
#[derive(Default)]
pub(crate) struct Scripted {
    pub(crate) calls: Mutex<Vec<String>>,
    /// The status with which updates and deletes fail.
    pub(crate) failure: Mutex<Option<ProviderStatus>>,
    /// Configure waits as the calls for resources named `waits` do.
    pub(crate) configure_waits: AtomicBool,
    /// Notified when a create or delete of a resource named `waits` has begun; it then waits for its cancellation.
    pub(crate) entered: Notify,
    pub(crate) given_up: Notify,
    pub(crate) cancels: AtomicUsize,
    /// The names of resources that reads do not find.
    pub(crate) gone: Mutex<Vec<String>>,
}

impl Scripted {
    fn note(&self, call: &str, name: &str) {
        self.calls.lock().unwrap().push(format!("{call} {name}"));
    }

    fn outcome(&self) -> ProviderResult<()> {
        match *self.failure.lock().unwrap() {
            Some(status) => Err(ProviderError::new(status, "the resource is locked")),
            None => Ok(()),
        }
    }

    async fn wait_in(&self, name: &str) {
        if name == "waits" {
            self.entered.notify_one();
            self.given_up
                .notified()
                .within("the cancellation of the call")
                .await;
        }
    }

    pub(crate) fn cancelled(&self) -> usize {
        self.cancels.load(Ordering::SeqCst)
    }
}

impl Provider for Scripted {
    async fn handshake(&self, _request: HandshakeRequest) -> ProviderResult<Capabilities> {
        Ok(Capabilities::all())
    }

    async fn configure(&self, _request: ConfigureRequest) -> ProviderResult<Option<Capabilities>> {
        if self.configure_waits.load(Ordering::SeqCst) {
            self.wait_in("waits").await;
        }
        Ok(None)
    }

    async fn invoke(&self, request: InvokeRequest) -> ProviderResult<InvokeResponse> {
        Ok(InvokeResponse {
            result: request.arguments,
            failures: Vec::new(),
        })
    }

    async fn check(&self, request: CheckRequest) -> ProviderResult<CheckResponse> {
        if request.name == "unchecked" {
            return Err(ProviderError::new(ProviderStatus::Unknown, "cannot check that"));
        }
        Ok(CheckResponse {
            inputs: request.news,
            failures: Vec::new(),
        })
    }

    async fn diff(&self, request: DiffRequest) -> ProviderResult<DiffResponse> {
        let same = request.old_inputs == request.news;
        let replaced = !same && matches!(request.name.as_str(), "base" | "tied");
        Ok(DiffResponse {
            changes: if same {
                DiffChanges::None
            } else {
                DiffChanges::Some
            },
            replaces: if replaced {
                vec!["value".to_owned()]
            } else {
                Vec::new()
            },
            delete_before_replace: replaced,
            ..DiffResponse::default()
        })
    }

    async fn create(&self, request: CreateRequest) -> ProviderResult<CreateResponse> {
        self.note("create", &request.name);
        self.wait_in(&request.name).await;
        if request.name == "refused" {
            return Err(ProviderError::new(
                ProviderStatus::Unknown,
                "refused by the provider",
            ));
        }
        if request.name == "unreadable" {
            return Err(unreadable());
        }
        if request.name == "made unreadably" {
            return Err(ProviderError::unreadable("made", "malformed answer"));
        }
        if request.name == "forges" {
            return Ok(CreateResponse {
                id: "id-forges".into(),
                outputs: forged(),
                refresh_before_update: false,
            });
        }
        if request.name == "knows little" {
            return Ok(CreateResponse {
                id: "id-knows little".into(),
                outputs: vague(&request.inputs),
                refresh_before_update: false,
            });
        }
        if request.name == "leaks" {
            return Err(leaking_error(&request.inputs));
        }
        Ok(CreateResponse {
            id: format!("id-{}", request.name).into(),
            outputs: request.inputs,
            refresh_before_update: false,
        })
    }

    async fn read(&self, request: ReadRequest) -> ProviderResult<ReadResponse> {
        self.note("read", &request.name);
        if self.gone.lock().unwrap().contains(&request.name) {
            return Ok(ReadResponse::default());
        }
        if request.name == "unreadable outputs" {
            return Err(ProviderError::unreadable(request.id.as_str(), "malformed answer"));
        }
        if request.name == "elides" {
            let elided = |values: PropertyMap| {
                values
                    .iter()
                    .map(|(name, value)| (name.clone(), elided(value)))
                    .collect()
            };
            return Ok(ReadResponse {
                id: request.id,
                inputs: request.inputs.map(elided),
                outputs: request.properties.map(elided),
                ..ReadResponse::default()
            });
        }
        Ok(ReadResponse {
            id: request.id,
            inputs: request.inputs,
            outputs: request.properties,
            ..ReadResponse::default()
        })
    }

    async fn update(&self, request: UpdateRequest) -> ProviderResult<UpdateResponse> {
        self.note("update", &request.name);
        if request.name == "knows little" {
            return Ok(UpdateResponse {
                outputs: vague(&request.news),
                refresh_before_update: false,
            });
        }
        if request.name == "forges later" {
            return Ok(UpdateResponse {
                outputs: forged(),
                refresh_before_update: false,
            });
        }
        if request.name == "leaks later" {
            return Err(leaking_error(&request.old_inputs));
        }
        if request.name == "unreadable update" {
            return Err(unreadable());
        }
        if request.name == "unreadable outputs" {
            return Err(ProviderError::unreadable(request.id.as_str(), "malformed answer"));
        }
        self.outcome()?;
        Ok(UpdateResponse {
            outputs: request.news,
            refresh_before_update: false,
        })
    }

    async fn delete(&self, request: DeleteRequest) -> ProviderResult<()> {
        self.note("delete", &request.name);
        self.wait_in(&request.name).await;
        self.outcome()
    }

    async fn cancel(&self) {
        // Yields once, so that an operation that does not wait for this returns first.
        tokio::task::yield_now().await;
        self.cancels.fetch_add(1, Ordering::SeqCst);
        self.given_up.notify_one();
    }
}

/// Returns a value that would be read as a special one.
pub(crate) fn forged() -> PropertyMap {
    let object: PropertyMap = [("4dabf18193072939515e22adb298388d", "zzz".into())]
        .into_iter()
        .collect();
    [("value", object.into())].into_iter().collect()
}

/// Returns an asset without contents, as its hash alone.
fn elided(value: &PropertyValue) -> PropertyValue {
    match value {
        PropertyValue::Asset(asset) => PropertyValue::Asset(Arc::new(Asset {
            hash: asset.hash.clone(),
            source: AssetSource::Text(String::new()),
        })),
        value => value.clone(),
    }
}

/// Returns outputs of which some are unknown.
fn vague(inputs: &PropertyMap) -> PropertyMap {
    let inner = PropertyValue::array(vec![PropertyValue::unknown(), "kept".into()]);
    let mut outputs = inputs.clone();
    outputs.insert("later", PropertyValue::unknown());
    outputs.insert("inner", PropertyValue::secret(inner));
    outputs
}

/// Returns a failure whose text contains the resource's value.
fn leaking_error(inputs: &PropertyMap) -> ProviderError {
    let value = inputs.get("value").and_then(PropertyValue::as_str).unwrap();
    ProviderError::new(ProviderStatus::Unknown, format!("cannot use {value}"))
}

/// Returns the failure of a call with a malformed response.
fn unreadable() -> ProviderError {
    ProviderError::without_answer(ProviderStatus::Internal, "malformed answer")
}

pub(crate) fn engine() -> EngineBuilder {
    let runtime = Runtime::system(tokio::runtime::Handle::current());
    Engine::builder(tokio::runtime::Handle::current())
        .store(Arc::new(MemoryStore::new(runtime)))
        .secrets(Arc::new(Base64Provider))
}

pub(crate) async fn stack(provider: &Arc<Scripted>, settings: StackSettings) -> Stack {
    let provider: Arc<dyn ProviderBackend> = Arc::clone(provider) as _;
    let engine = engine().provider("echo", provider).build().unwrap();
    engine.create_or_select_stack("shop/dev", settings).await.unwrap()
}

pub(crate) fn resource(name: &str, value: &str) -> Registration {
    Registration {
        resource_type: "echo:index:Echo".into(),
        name: name.to_owned(),
        custom: true,
        inputs: [("value", value.into())].into_iter().collect(),
        ..Registration::default()
    }
}

/// Registers these resources, one after the other.
pub(crate) fn program(values: &'static [(&'static str, &'static str)]) -> Arc<dyn Program> {
    from_fn(move |context| async move {
        for (name, value) in values {
            context.monitor.register(resource(name, value)).await?;
        }
        Ok(())
    })
}

/// Records the entries of journals.
#[derive(Default)]
pub(crate) struct Entries(pub(crate) Mutex<Vec<Arc<JournalEntry>>>);

#[async_trait]
impl JournalReceiver for Entries {
    async fn receive(&self, entry: &Arc<JournalEntry>) -> Result<()> {
        self.0.lock().unwrap().push(Arc::clone(entry));
        Ok(())
    }
}
