//! Stacks whose state the host supplies: operations take a deployment and return another, without using the engine's
//! store.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use bytes::Bytes;
use serde_json::{Value, json};
use stackwright::{
    Engine, ErrorKind, Opening, Result, Stack, StackSettings,
    operation::{OperationKind, OperationOptions, OperationResult},
    program::{Program, ProgramContext, from_fn},
    property::PropertyValue,
    provider::ProviderBackend,
    runtime::Runtime,
    secrets::{Base64Provider, PassphraseProvider, SecretsProvider},
    store::{Condition, LockGuard, MemoryStore, Object, ObjectInfo, Store, Version},
};
use stackwright_testkit::wait::{Ended as _, Within as _};

use crate::fixture::{Scripted, program, resource};

/// A store that counts every use.
struct Counted {
    inner: MemoryStore,
    uses: AtomicUsize,
}

impl Counted {
    fn inner(&self) -> &MemoryStore {
        self.uses.fetch_add(1, Ordering::SeqCst);
        &self.inner
    }

    fn uses(&self) -> usize {
        self.uses.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Store for Counted {
    fn url(&self) -> String {
        self.inner.url()
    }

    async fn get(&self, key: &str) -> Result<Option<Object>> {
        self.inner().get(key).await
    }

    async fn put(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        self.inner().put(key, bytes, condition).await
    }

    async fn append(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        self.inner().append(key, bytes, condition).await
    }

    async fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>> {
        self.inner().list(prefix).await
    }

    async fn delete(&self, key: &str) -> Result<()> {
        self.inner().delete(key).await
    }

    async fn lock(&self, name: &str) -> Result<Box<dyn LockGuard>> {
        self.inner().lock(name).await
    }
}

pub(crate) struct Host {
    pub(crate) engine: Engine,
    store: Arc<Counted>,
    pub(crate) provider: Arc<Scripted>,
}

pub(crate) fn passphrase(text: &str) -> Arc<dyn SecretsProvider> {
    let runtime = Runtime::system(tokio::runtime::Handle::current());
    Arc::new(PassphraseProvider::new(text, runtime))
}

impl Host {
    pub(crate) fn new() -> Self {
        Self::with(Arc::new(Base64Provider))
    }

    pub(crate) fn with(secrets: Arc<dyn SecretsProvider>) -> Self {
        let handle = tokio::runtime::Handle::current();
        let store = Arc::new(Counted {
            inner: MemoryStore::new(Runtime::system(handle.clone())),
            uses: AtomicUsize::new(0),
        });
        let provider = Arc::new(Scripted::default());
        let engine = Engine::builder(handle)
            .store(Arc::clone(&store) as _)
            .secrets(secrets)
            .provider("echo", Arc::clone(&provider) as Arc<dyn ProviderBackend>)
            .build()
            .unwrap();
        Self {
            engine,
            store,
            provider,
        }
    }

    pub(crate) async fn open(&self, settings: StackSettings) -> Result<Stack> {
        self.engine.stack("shop/dev", settings).await
    }

    pub(crate) async fn open_with(&self, document: impl Into<Bytes>) -> Result<Stack> {
        self.open(supplied(document)).await
    }
}

pub(crate) fn supplied(document: impl Into<Bytes>) -> StackSettings {
    StackSettings {
        deployment: Some(document.into()),
        ..StackSettings::default()
    }
}

pub(crate) async fn update(stack: &Stack, program: Arc<dyn Program>) -> Arc<OperationResult> {
    let operation = stack.start(OperationKind::Update, OperationOptions::default(), Some(program));
    operation.ended().await
}

pub(crate) fn left(result: &Arc<OperationResult>) -> Vec<u8> {
    result.deployment().unwrap().expect("the result has a state")
}

fn names(document: &[u8]) -> Vec<String> {
    let document: Value = serde_json::from_slice(document).unwrap();
    let resources = document["deployment"]["resources"].as_array();
    let urns = resources
        .into_iter()
        .flatten()
        .filter_map(|each| each["urn"].as_str());
    let names = urns.filter_map(|urn| urn.rsplit("::").next());
    let own = names.filter(|name| !name.starts_with("default") && *name != "shop-dev");
    own.map(str::to_owned).collect()
}

/// A program with a resource that has a secret.
pub(crate) fn secretive() -> Arc<dyn Program> {
    from_fn(|context: ProgramContext| async move {
        let mut secretive = resource("a", "");
        let secret = PropertyValue::secret("hunter2".into());
        secretive.inputs.insert("value", secret);
        context.monitor.register(secretive).await?;
        Ok(())
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operation_takes_a_deployment_and_returns_another_without_the_store() {
    let host = Host::new();
    let stack = host.open_with("{}").await.unwrap();
    let first = update(&stack, program(&[("a", "1")])).await;
    assert!(first.error.is_none(), "{:?}", first.error);
    assert_eq!(names(&left(&first)), ["a"]);

    // The next operation of the same stack continues from it, as does one of a stack that is opened with the document.
    let second = update(&stack, program(&[("a", "1"), ("b", "1")])).await;
    assert_eq!(second.changes["create"], 1);
    let stack = host.open_with(left(&second)).await.unwrap();
    let preview = stack.start(
        OperationKind::Update,
        OperationOptions::default().preview(),
        Some(program(&[("a", "2"), ("b", "1")])),
    );
    let preview = preview.ended().await;
    assert_eq!((preview.changes["update"], preview.changes["same"]), (1, 2));
    assert!(preview.deployment().unwrap().is_none());
    host.provider.gone.lock().unwrap().push("b".to_owned());
    let refreshed = stack.refresh(OperationOptions::default()).ended().await;
    assert!(refreshed.error.is_none(), "{:?}", refreshed.error);
    assert_eq!(names(&left(&refreshed)), ["a"]);
    let exported = stack.export_deployment(false).await.unwrap();
    assert_eq!(names(&exported), ["a"]);
    let destroyed = stack.destroy(OperationOptions::default()).ended().await;
    assert_eq!(destroyed.changes["delete"], 2);
    assert!(names(&left(&destroyed)).is_empty());
    assert!(stack.history().await.unwrap().is_empty());
    assert_eq!(host.store.uses(), 0, "the engine's store was used");
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_and_cancelled_operations_give_their_deployment() {
    let host = Host::new();
    let stack = host.open_with("{}").await.unwrap();
    let failed = update(&stack, program(&[("a", "1"), ("refused", "1")])).await;
    assert!(failed.error.is_some());
    let document = left(&failed);
    assert_eq!(names(&document), ["a"]);

    let stack = host.open_with(document).await.unwrap();
    let running = stack.start(
        OperationKind::Update,
        OperationOptions::default(),
        Some(program(&[("a", "1"), ("waits", "1")])),
    );
    host.provider
        .entered
        .notified()
        .within("the begin of the held call")
        .await;
    running.cancel();
    host.provider.given_up.notify_one();
    let cancelled = running.ended().await;
    assert_eq!(
        cancelled.error.as_ref().map(|error| error.kind()),
        Some(ErrorKind::Cancelled)
    );
    assert_eq!(names(&left(&cancelled)), ["a", "waits"]);
    assert_eq!(host.store.uses(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn stacks_of_one_name_do_not_see_each_other() {
    let host = Host::new();
    let stored = host.open(StackSettings::default()).await.unwrap();
    update(&stored, program(&[("stored", "1")])).await;
    let of_store = stored.export_deployment(false).await.unwrap();

    let one = host.open_with("{}").await.unwrap();
    let other = host.open_with("{}").await.unwrap();
    // Also concurrently: they have separate locks.
    let waiting = one.start(
        OperationKind::Update,
        OperationOptions::default(),
        Some(program(&[("waits", "1")])),
    );
    host.provider
        .entered
        .notified()
        .within("the begin of the held call")
        .await;
    let quick = update(&other, program(&[("b", "1")])).await;
    assert_eq!(names(&left(&quick)), ["b"]);
    // Two operations of one stack exclude each other.
    let refused = update(&one, program(&[("c", "1")])).await;
    assert_eq!(
        refused.error.as_ref().map(|error| error.kind()),
        Some(ErrorKind::Conflict)
    );
    host.provider.given_up.notify_one();
    assert_eq!(names(&left(&waiting.ended().await)), ["waits"]);
    assert_eq!(stored.export_deployment(false).await.unwrap(), of_store);
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_without_resources_are_new_stacks() {
    let host = Host::new();
    for document in [
        "{}".to_owned(),
        r#"{"version": 3}"#.to_owned(),
        r#"{"version": 3, "deployment": null}"#.to_owned(),
        r#"{"version": 3, "deployment": {}}"#.to_owned(),
        json!({ "version": 3, "deployment": { "manifest": { "time": "0001-01-01T00:00:00Z", "magic": "", "version": "" } } })
            .to_string(),
    ] {
        let settings = StackSettings {
            opening: Opening::Select,
            ..supplied(document.clone())
        };
        let stack = host.open(settings).await.unwrap();
        let result = update(&stack, program(&[("a", "1")])).await;
        assert_eq!(result.changes["create"], 2, "{document}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_of_malformed_documents_name_the_fault_and_the_stack() {
    let host = Host::new();
    let stack = host.open_with("{}").await.unwrap();
    let good = left(&update(&stack, program(&[("a", "1")])).await);
    let edited = |edit: &dyn Fn(&mut Value)| {
        let mut document: Value = serde_json::from_slice(&good).unwrap();
        edit(&mut document);
        document.to_string()
    };
    for (document, part) in [
        (String::new(), "cannot read the state: EOF"),
        (
            r#"{"version": 3, "deployment":"#.to_owned(),
            "cannot read the state: EOF",
        ),
        (
            r#"{"version": 99, "deployment": {}}"#.to_owned(),
            "deployment version is too new",
        ),
        (r#"{"version": 9}"#.to_owned(), "deployment version is too new"),
        (
            r#"{"version": 3, "deployment": {"resource": []}}"#.to_owned(),
            "no resources, and an unknown member \"resource\"",
        ),
        (
            r#"{"version": 3, "checkpoint": {"stack": "organization/shop/dev"}}"#.to_owned(),
            "no field 'deployment'",
        ),
        (
            edited(&|document| document["deployment"]["manifest"]["magic"] = "0".into()),
            "magic cookie mismatch",
        ),
        (
            edited(&|document| {
                document["deployment"]["resources"][0]["parent"] = "urn:pulumi:dev::shop::t:i:T::none".into();
            }),
            "snapshot integrity failure",
        ),
        (
            edited(&|document| {
                let text = document
                    .to_string()
                    .replace("urn:pulumi:dev::", "urn:pulumi:prod::");
                *document = serde_json::from_str(&text).unwrap();
            }),
            "belongs to stack 'shop/prod', not to 'shop/dev'",
        ),
    ] {
        let error = host.open_with(document).await.err().unwrap();
        assert_eq!(error.kind(), ErrorKind::State, "{error}");
        let message = error.message();
        assert!(
            message.starts_with("the deployment of stack 'shop/dev': ") && message.contains(part),
            "{message}"
        );
    }
    assert_eq!(host.store.uses(), 0);
}
