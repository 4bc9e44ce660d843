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
    config::{Config, ConfigKey, ConfigValue},
    monitor::Read,
    operation::{OperationKind, OperationOptions, OperationResult},
    program::{Program, ProgramContext, from_fn},
    property::PropertyValue,
    provider::ProviderBackend,
    runtime::Runtime,
    secrets::{Base64Provider, CallbackProvider, PassphraseProvider, SecretsCallbacks, SecretsProvider},
    store::{Condition, LockGuard, MemoryStore, Object, ObjectInfo, Store, Version},
};

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

struct Host {
    engine: Engine,
    store: Arc<Counted>,
    provider: Arc<Scripted>,
}

fn passphrase(text: &str) -> Arc<dyn SecretsProvider> {
    let runtime = Runtime::system(tokio::runtime::Handle::current());
    Arc::new(PassphraseProvider::new(text, runtime))
}

impl Host {
    fn new() -> Self {
        Self::with(Arc::new(Base64Provider))
    }

    fn with(secrets: Arc<dyn SecretsProvider>) -> Self {
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

    async fn open(&self, settings: StackSettings) -> Result<Stack> {
        self.engine.stack("shop/dev", settings).await
    }

    async fn open_with(&self, document: impl Into<Bytes>) -> Result<Stack> {
        self.open(supplied(document)).await
    }
}

fn supplied(document: impl Into<Bytes>) -> StackSettings {
    StackSettings {
        deployment: Some(document.into()),
        ..StackSettings::default()
    }
}

async fn update(stack: &Stack, program: Arc<dyn Program>) -> Arc<OperationResult> {
    let operation = stack.start(OperationKind::Update, OperationOptions::default(), Some(program));
    operation.wait().await
}

fn left(result: &Arc<OperationResult>) -> Vec<u8> {
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
fn secretive() -> Arc<dyn Program> {
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
    let preview = preview.wait().await;
    assert_eq!((preview.changes["update"], preview.changes["same"]), (1, 2));
    assert!(preview.deployment().unwrap().is_none());
    host.provider.gone.lock().unwrap().push("b".to_owned());
    let refreshed = stack.refresh(OperationOptions::default()).wait().await;
    assert!(refreshed.error.is_none(), "{:?}", refreshed.error);
    assert_eq!(names(&left(&refreshed)), ["a"]);
    let exported = stack.export_deployment(false).await.unwrap();
    assert_eq!(names(&exported), ["a"]);
    let destroyed = stack.destroy(OperationOptions::default()).wait().await;
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
    host.provider.entered.notified().await;
    running.cancel();
    host.provider.given_up.notify_one();
    let cancelled = running.wait().await;
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
    host.provider.entered.notified().await;
    let quick = update(&other, program(&[("b", "1")])).await;
    assert_eq!(names(&left(&quick)), ["b"]);
    // Two operations of one stack exclude each other.
    let refused = update(&one, program(&[("c", "1")])).await;
    assert_eq!(
        refused.error.as_ref().map(|error| error.kind()),
        Some(ErrorKind::Conflict)
    );
    host.provider.given_up.notify_one();
    assert_eq!(names(&left(&waiting.wait().await)), ["waits"]);
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

#[tokio::test(flavor = "multi_thread")]
async fn secrets_stay_encrypted_with_the_passphrase_of_the_document() {
    let host = Host::with(passphrase("of the engine"));
    let with = |document: Vec<u8>, text: &str| StackSettings {
        secrets: Some(passphrase(text)),
        ..supplied(document)
    };
    let stack = host.open(with(b"{}".to_vec(), "right")).await.unwrap();
    let document = left(&update(&stack, secretive()).await);
    let text = String::from_utf8(document.clone()).unwrap();
    assert!(text.contains("ciphertext") && !text.contains("hunter2"), "{text}");

    for settings in [with(document.clone(), "wrong"), supplied(document.clone())] {
        let error = host.open(settings).await.err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Decrypt);
        assert_eq!(
            error.message(),
            "the deployment of stack 'shop/dev': incorrect passphrase"
        );
        assert!(error.hints().iter().any(|hint| hint.contains("passphrase")));
    }
    let stack = host.open(with(document.clone(), "right")).await.unwrap();
    let again = update(&stack, secretive()).await;
    assert_eq!(again.changes["same"], 2);
    let provider = |text: &[u8]| {
        serde_json::from_slice::<Value>(text).unwrap()["deployment"]["secrets_providers"].clone()
    };
    assert_eq!(provider(&left(&again)), provider(&document));
    assert!(
        String::from_utf8(stack.export_deployment(true).await.unwrap())
            .unwrap()
            .contains("hunter2")
    );

    // A manager without a secret is known, too: a wrong passphrase is found before the first secret.
    let stack = host.open(with(b"{}".to_vec(), "right")).await.unwrap();
    let document = left(&update(&stack, program(&[("a", "1")])).await);
    let error = host.open(with(document, "wrong")).await.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Decrypt);
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_in_the_clear_are_encrypted_and_kept_in_the_document() {
    let host = Host::new();
    let stack = host.open_with("{}").await.unwrap();
    update(&stack, secretive()).await;
    let shown = stack.export_deployment(true).await.unwrap();
    let mut document: Value = serde_json::from_slice(&shown).unwrap();
    let removed = document["deployment"]
        .as_object_mut()
        .unwrap()
        .remove("secrets_providers");
    assert!(removed.is_some());
    let stack = host.open_with(document.to_string()).await.unwrap();
    let again = update(&stack, secretive()).await;
    assert_eq!(again.changes["same"], 2, "{:?}", again.error);
    let text = String::from_utf8(left(&again)).unwrap();
    assert!(text.contains("ciphertext") && !text.contains("hunter2"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn pending_operations_of_the_document_are_kept_until_a_run_settles_them() {
    let host = Host::new();
    let stack = host.open_with("{}").await.unwrap();
    let mut document: Value =
        serde_json::from_slice(&left(&update(&stack, program(&[("a", "1")])).await)).unwrap();
    let resources = document["deployment"]["resources"].as_array().unwrap();
    let of_a = resources
        .iter()
        .find(|each| each["urn"].as_str().unwrap().ends_with("::a"));
    let pending = json!({ "resource": of_a.unwrap(), "type": "updating" });
    document["deployment"]["pending_operations"] = json!([pending]);
    document["deployment"]["metadata"] = json!({ "integrity_error": null, "note": "kept" });
    let stack = host.open_with(document.to_string()).await.unwrap();
    let exported: Value = serde_json::from_slice(&stack.export_deployment(false).await.unwrap()).unwrap();
    assert_eq!(
        exported["deployment"]["pending_operations"][0]["type"],
        "updating"
    );
    let failed = update(&stack, program(&[("a", "1"), ("refused", "1")])).await;
    assert!(failed.error.is_some());
    let warned = failed.diagnostics.iter();
    let warned = warned.filter(|diagnostic| {
        diagnostic
            .message
            .library()
            .contains("interrupted while updating")
    });
    assert_eq!(warned.count(), 1);
    let stack = host.open_with(left(&failed)).await.unwrap();
    let refreshed = stack.refresh(OperationOptions::default()).wait().await;
    assert!(refreshed.error.is_none(), "{:?}", refreshed.error);
    let after: Value = serde_json::from_slice(&left(&refreshed)).unwrap();
    assert_eq!(after["deployment"]["pending_operations"], Value::Null);
}

/// Reads what `name` exports.
fn referring(name: &'static str) -> Arc<dyn Program> {
    from_fn(move |context: ProgramContext| async move {
        let inputs = [("name", name.into())];
        let read = Read {
            resource_type: "pulumi:pulumi:StackReference".into(),
            name: "other".into(),
            id: name.into(),
            inputs: inputs.into_iter().collect(),
            ..Read::default()
        };
        let found = context.monitor.read(read).await?;
        let outputs = found.outputs.get("outputs").cloned();
        context
            .monitor
            .export("found", outputs.unwrap_or(PropertyValue::Null));
        Ok(())
    })
}

fn exporting(value: &'static str) -> Arc<dyn Program> {
    from_fn(move |context: ProgramContext| async move {
        context.monitor.export("value", value.into());
        Ok(())
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn references_read_other_stacks_from_the_store_and_the_own_one_from_the_document() {
    let host = Host::new();
    for (name, value) in [("shop/base", "of the base"), ("shop/dev", "of the store")] {
        let stored = host.engine.stack(name, StackSettings::default()).await.unwrap();
        update(&stored, exporting(value)).await;
    }
    let stack = host.open_with("{}").await.unwrap();
    update(&stack, exporting("of the document")).await;
    for (name, expected) in [("shop/dev", "of the document"), ("shop/base", "of the base")] {
        let result = update(&stack, referring(name)).await;
        assert!(result.error.is_none(), "{:?}", result.error);
        let found = format!("{:?}", result.outputs.get("found"));
        assert!(found.contains(expected), "{found}");
    }
}

/// An encryption of the host that reverses texts.
struct Reversing;

#[async_trait]
impl SecretsCallbacks for Reversing {
    async fn encrypt(&self, plaintexts: Vec<String>) -> Result<Vec<String>> {
        self.decrypt(plaintexts).await
    }

    async fn decrypt(&self, ciphertexts: Vec<String>) -> Result<Vec<String>> {
        let reversed = |text: &String| text.chars().rev().collect();
        Ok(ciphertexts.iter().map(reversed).collect())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_configuration_beside_a_plain_deployment_is_for_the_host_to_decrypt() {
    let stack = Host::new().open_with("{}").await.unwrap();
    let document = left(&update(&stack, secretive()).await);
    let secrets = CallbackProvider::new("reversed", None, Arc::new(Reversing)).or(Arc::new(Base64Provider));
    let mut config = Config::new();
    let secure = ConfigValue::Secure("nekot".to_owned());
    drop(config.insert(ConfigKey::new("shop", "token"), secure));
    let settings = StackSettings {
        config,
        ..supplied(document)
    };
    let stack = Host::with(Arc::new(secrets)).open(settings).await.unwrap();
    let program = from_fn(|context: ProgramContext| async move {
        let token = context.info.config.get("shop:token").cloned();
        context
            .monitor
            .export("token", PropertyValue::from(token.unwrap_or_default().as_str()));
        Ok(())
    });
    let result = update(&stack, program).await;
    assert!(result.error.is_none(), "{:?}", result.error);
    assert_eq!(result.outputs.get("token"), Some(&PropertyValue::from("token")));
}
