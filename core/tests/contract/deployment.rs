//! The final state of an operation, as its result has it.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use bytes::Bytes;
use stackwright::{
    Engine, Error, ErrorKind, Result, StackSettings,
    monitor::Registration,
    operation::{OperationKind, OperationOptions},
    program::from_fn,
    property::PropertyValue,
    runtime::Runtime,
    secrets::{Base64Provider, PassphraseProvider},
    store::{Condition, LockGuard, MemoryStore, Object, ObjectInfo, Store, Version},
};
use stackwright_testkit::wait::{Ended as _, Within as _};

use crate::fixture::{Scripted, program, resource, stack};

/// A store that refuses checkpoints while it is full.
struct Full {
    inner: MemoryStore,
    is_full: AtomicBool,
}

#[async_trait]
impl Store for Full {
    fn url(&self) -> String {
        self.inner.url()
    }

    async fn get(&self, key: &str) -> Result<Option<Object>> {
        self.inner.get(key).await
    }

    async fn put(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        if self.is_full.load(Ordering::SeqCst) && key.ends_with("/dev.json") {
            return Err(Error::new(ErrorKind::Unavailable, "the store is full"));
        }
        self.inner.put(key, bytes, condition).await
    }

    async fn append(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        self.inner.append(key, bytes, condition).await
    }

    async fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>> {
        self.inner.list(prefix).await
    }

    async fn delete(&self, key: &str) -> Result<()> {
        self.inner.delete(key).await
    }

    async fn lock(&self, name: &str) -> Result<Box<dyn LockGuard>> {
        self.inner.lock(name).await
    }
}

fn parsed(document: &[u8]) -> serde_json::Value {
    serde_json::from_slice(document).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_has_the_state_that_was_saved_with_its_secrets_encrypted() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let secretive = from_fn(|context| async move {
        let mut secretive = resource("a", "");
        let secret = PropertyValue::secret("hunter2".into());
        secretive.inputs.insert("value", secret);
        context.monitor.register(secretive).await?;
        Ok(())
    });
    for _ in 0..2 {
        // An operation without changes is not saved, but has a state.
        let start = stack.start(
            OperationKind::Update,
            OperationOptions::default(),
            Some(Arc::clone(&secretive)),
        );
        let left = start.ended().await.deployment().unwrap().unwrap();
        let exported = stack.export_deployment(false).await.unwrap();
        assert_eq!(parsed(&left), parsed(&exported));
        assert_eq!(parsed(&left)["version"], 3);
        let text = String::from_utf8(left).unwrap();
        assert!(text.contains("ciphertext") && !text.contains("hunter2"), "{text}");
    }
    let preview = OperationOptions {
        dry_run: true,
        ..OperationOptions::default()
    };
    let previewed = stack
        .start(OperationKind::Update, preview, Some(secretive))
        .ended()
        .await;
    assert!(previewed.error.is_none());
    assert_eq!(previewed.deployment().unwrap(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_and_cancelled_operations_have_the_state_that_they_left_as_well() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let start = |options, resources| stack.start(OperationKind::Update, options, Some(program(resources)));
    let failed = start(OperationOptions::default(), &[("a", "1"), ("refused", "1")]);
    let failed = failed.ended().await;
    assert!(failed.error.is_some());
    let left = parsed(&failed.deployment().unwrap().unwrap());
    assert!(left.to_string().contains("::a\""));
    assert_eq!(left, parsed(&stack.export_deployment(false).await.unwrap()));

    let cancelled = start(
        OperationOptions::default(),
        &[("a", "1"), ("waits", "1"), ("b", "1")],
    );
    provider
        .entered
        .notified()
        .within("the begin of the held call")
        .await;
    cancelled.cancel();
    let left = parsed(&cancelled.ended().await.deployment().unwrap().unwrap());
    assert!(left.to_string().contains("::waits\"") && !left.to_string().contains("::b\""));
    assert_eq!(left, parsed(&stack.export_deployment(false).await.unwrap()));

    // The preview at the begin of a strict update is not the result.
    let strict = OperationOptions {
        strict: true,
        ..OperationOptions::default()
    };
    let bad = from_fn(|_| async { Err(Error::new(ErrorKind::Program, "out of ideas")) });
    let rehearsed = stack
        .start(OperationKind::Update, strict, Some(bad))
        .ended()
        .await;
    assert!(rehearsed.error.is_some());
    assert_eq!(parsed(&rehearsed.deployment().unwrap().unwrap()), left);

    let refused = OperationOptions {
        target_snippets: vec![serde_json::Value::Null],
        ..OperationOptions::default()
    };
    let refused = start(refused, &[]).ended().await;
    assert!(refused.error.is_some());
    assert_eq!(refused.deployment().unwrap(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_that_could_not_be_saved_is_in_the_result_and_saved_by_the_next_operation() {
    let runtime = Runtime::system(tokio::runtime::Handle::current());
    let store = Arc::new(Full {
        inner: MemoryStore::new(runtime),
        is_full: AtomicBool::new(false),
    });
    let engine = Engine::builder(tokio::runtime::Handle::current())
        .store(Arc::clone(&store) as Arc<dyn Store>)
        .secrets(Arc::new(Base64Provider))
        .provider("echo", Arc::new(Scripted::default()))
        .build()
        .unwrap();
    let stack = engine
        .create_stack("shop/dev", StackSettings::default())
        .await
        .unwrap();
    let blank = parsed(&stack.export_deployment(false).await.unwrap());
    store.is_full.store(true, Ordering::SeqCst);
    let update = || {
        let program = Some(program(&[("a", "1")]));
        stack.start(OperationKind::Update, OperationOptions::default(), program)
    };
    let failed = update().ended().await;
    assert!(failed.error.as_ref().unwrap().message().contains("is full"));
    let left = parsed(&failed.deployment().unwrap().unwrap());
    assert!(left.to_string().contains("::a\""), "{left}");
    let history = stack.history().await.unwrap();
    let results: Vec<_> = history.iter().map(|entry| entry["result"].clone()).collect();
    assert_eq!(
        results,
        ["failed"],
        "an operation that could not be saved has failed"
    );
    // The journal has it, with the old manifest, as no checkpoint was written since.
    let journaled = parsed(&stack.export_deployment(false).await.unwrap());
    let of = |document: &serde_json::Value, member: &str| document["deployment"][member].clone();
    assert_eq!(of(&journaled, "resources"), of(&left, "resources"));
    assert_eq!(of(&journaled, "manifest"), of(&blank, "manifest"));
    store.is_full.store(false, Ordering::SeqCst);
    let unchanged = update().ended().await;
    assert!(unchanged.error.is_none(), "{:?}", unchanged.error);
    assert!(!unchanged.has_changes(), "{:?}", unchanged.changes);
    let recovered = parsed(&unchanged.deployment().unwrap().unwrap());
    assert_eq!(recovered, parsed(&stack.export_deployment(false).await.unwrap()));
    assert_eq!(of(&recovered, "resources"), of(&left, "resources"));
}

/// A document without secrets that names a manager.
fn document_of(manager: &serde_json::Value) -> Vec<u8> {
    let urn = "urn:pulumi:dev::shop::my:index:Site::a";
    let deployment = serde_json::json!({
        "secrets_providers": manager,
        "resources": [{"urn": urn, "custom": false, "type": "my:index:Site"}],
    });
    serde_json::json!({"version": 3, "deployment": deployment})
        .to_string()
        .into_bytes()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_imported_manager_that_cannot_be_opened_leaves_the_stack_its_own() {
    let salt = "v1:T9FaSItA8xQ=:v1:Kr1yt5YlRPcWOb8A:cKkXdfcl/fR2vHkjxnls0SsHa1kjNw==";
    for manager in [
        serde_json::json!({"type": "service", "state": {"url": "https://api.example", "owner": "acme"}}),
        serde_json::json!({"type": "passphrase", "state": {"salt": salt}}),
    ] {
        let runtime = Runtime::system(tokio::runtime::Handle::current());
        let secrets = PassphraseProvider::new("another horse", runtime.clone());
        let engine = Engine::builder(tokio::runtime::Handle::current())
            .store(Arc::new(MemoryStore::new(runtime)))
            .secrets(Arc::new(secrets))
            .build()
            .unwrap();
        let stack = engine.create_stack("shop/dev", StackSettings::default());
        let stack = stack.await.unwrap();
        let report = stack.import_deployment(&document_of(&manager)).await.unwrap();
        let names_it = |warning: &String| warning.contains("cannot be opened: the stack keeps its own");
        assert!(report.warnings.iter().any(names_it), "{:?}", report.warnings);
        // The stack stores secrets, and opens again.
        let program = from_fn(|context| async move {
            let secret = PropertyValue::secret("hunter2".into());
            let site = Registration {
                resource_type: "my:index:Site".into(),
                name: "a".to_owned(),
                inputs: [("token", secret)].into_iter().collect(),
                ..Registration::default()
            };
            context.monitor.register(site).await?;
            Ok(())
        });
        let update = stack.start(OperationKind::Update, OperationOptions::default(), Some(program));
        let update = update.ended().await;
        assert!(update.error.is_none(), "{:?}", update.error);
        let again = engine.select_stack("shop/dev", StackSettings::default()).await;
        let shown = again.unwrap().export_deployment(true).await.unwrap();
        assert!(String::from_utf8(shown).unwrap().contains("hunter2"));
    }
}
