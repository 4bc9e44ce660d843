//! Passphrases of stacks: wrong ones, other ones than the engine's, and those of referenced stacks.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use stackwright::{
    Engine, ErrorKind, Result, Stack, StackSettings,
    monitor::Read,
    operation::{OperationKind, OperationOptions},
    program::{Program, ProgramContext, from_fn},
    property::PropertyValue,
    provider::ProviderBackend,
    runtime::Runtime,
    secrets::{PassphraseProvider, SecretsManager, SecretsProvider},
    store::{Condition, MemoryStore, Store},
};
use stackwright_testkit::wait::{Ended as _, Within as _};

use crate::fixture::{Scripted, engine, resource};

fn passphrase(text: &str) -> Arc<dyn SecretsProvider> {
    let runtime = Runtime::system(tokio::runtime::Handle::current());
    Arc::new(PassphraseProvider::new(text, runtime))
}

fn store() -> Arc<dyn Store> {
    Arc::new(MemoryStore::new(Runtime::system(
        tokio::runtime::Handle::current(),
    )))
}

fn engine_of(store: &Arc<dyn Store>, text: &str) -> Engine {
    engine()
        .store(Arc::clone(store))
        .secrets(passphrase(text))
        .build()
        .unwrap()
}

/// A program that exports a secret.
fn exporting() -> Arc<dyn Program> {
    from_fn(|context: ProgramContext| async move {
        context
            .monitor
            .export("token", PropertyValue::secret("tok".into()));
        Ok(())
    })
}

async fn update(stack: &Stack) {
    let result = stack.update(OperationOptions::default()).ended().await;
    assert!(result.error.is_none(), "{:?}", result.error);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_passphrase_is_refused_when_a_stack_with_secrets_is_opened() {
    let store = store();
    let settings = || StackSettings {
        program: Some(exporting()),
        ..StackSettings::default()
    };
    let right = engine_of(&store, "right");
    update(&right.stack("shop/dev", settings()).await.unwrap()).await;
    let wrong = engine_of(&store, "wrong");
    let error = wrong.stack("shop/dev", settings()).await.err().unwrap();
    assert_eq!(
        (error.kind(), error.message()),
        (ErrorKind::Decrypt, "stack 'shop/dev': incorrect passphrase")
    );
    // A stack with another key opens, and one without a state.
    update(&wrong.stack("shop/prod", settings()).await.unwrap()).await;
    engine_of(&store, "right")
        .stack("shop/dev", settings())
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stack_has_a_passphrase_of_its_own() {
    let store = store();
    let settings = |text: &str| StackSettings {
        program: Some(exporting()),
        secrets: Some(passphrase(text)),
        ..StackSettings::default()
    };
    let engine = engine_of(&store, "of the engine");
    for text in ["first", "second"] {
        let stack = engine
            .stack(&format!("shop/{text}"), settings(text))
            .await
            .unwrap();
        update(&stack).await;
    }
    let error = engine
        .stack("shop/first", settings("second"))
        .await
        .err()
        .unwrap();
    assert_eq!(error.kind(), ErrorKind::Decrypt);
    let error = engine
        .stack("shop/first", StackSettings::default())
        .await
        .err()
        .unwrap();
    assert_eq!(error.kind(), ErrorKind::Decrypt);
    let again = engine.stack("shop/second", settings("second")).await.unwrap();
    let outputs = again.outputs().await.unwrap();
    assert_eq!(outputs.get("token"), Some(&PropertyValue::secret("tok".into())));
}

/// A program that exports the outputs of `shop/base`.
fn referring() -> Arc<dyn Program> {
    from_fn(|context: ProgramContext| async move {
        let inputs = [("name", "shop/base".into())];
        let read = Read {
            resource_type: "pulumi:pulumi:StackReference".into(),
            name: "base".into(),
            id: "shop/base".into(),
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

#[tokio::test(flavor = "multi_thread")]
async fn a_reference_reads_a_stack_of_another_passphrase_that_the_referring_stack_names() {
    let store = store();
    let engine = engine_of(&store, "of the engine");
    let base = StackSettings {
        program: Some(exporting()),
        secrets: Some(passphrase("of the base")),
        ..StackSettings::default()
    };
    update(&engine.stack("shop/base", base).await.unwrap()).await;
    let referring = |text: &str| StackSettings {
        program: Some(referring()),
        reference_secrets: [("shop/base".to_owned(), passphrase(text))].into(),
        ..StackSettings::default()
    };
    let stack = engine.stack("shop/dev", referring("of the base")).await.unwrap();
    update(&stack).await;
    let found = stack.outputs().await.unwrap();
    let text = format!("{:?}", found.get("found"));
    assert!(
        found.get("found").is_some_and(PropertyValue::contains_secrets),
        "{text}"
    );
    // Without it, the error names the stack that cannot be read.
    let stack = engine.stack("shop/dev", referring("another")).await.unwrap();
    let result = stack.update(OperationOptions::default()).ended().await;
    let messages = result
        .diagnostics
        .iter()
        .map(|diagnostic| diagnostic.message.library());
    let texts: Vec<&str> = messages.collect();
    assert!(
        texts
            .iter()
            .any(|text| text.contains("stack 'shop/base': incorrect passphrase")),
        "{:?} {texts:?}",
        result.error
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_passphrase_is_refused_when_only_the_journal_has_the_key() {
    let store = store();
    let provider = Arc::new(Scripted::default());
    let engine = Engine::builder(tokio::runtime::Handle::current())
        .store(Arc::clone(&store))
        .secrets(passphrase("right"))
        .provider("echo", Arc::clone(&provider) as Arc<dyn ProviderBackend>)
        .build()
        .unwrap();
    let settings = StackSettings::default();
    let stack = engine.create_stack("shop/dev", settings).await.unwrap();
    let options = OperationOptions::default();
    let waiting = from_fn(|context| async move {
        let mut waits = resource("waits", "1");
        waits
            .inputs
            .insert("token", PropertyValue::secret("hunter2".into()));
        context.monitor.register(waits).await?;
        Ok(())
    });
    let operation = stack.start(OperationKind::Update, options, Some(waiting));
    provider
        .entered
        .notified()
        .within("the begin of the held call")
        .await;
    // The store is now as after the death of a host.
    let left = self::store();
    for object in store.list("").await.unwrap() {
        let bytes = store.get(&object.key).await.unwrap().unwrap().bytes;
        left.put(&object.key, bytes, Condition::Any).await.unwrap();
    }
    provider.given_up.notify_one();
    operation.ended().await;
    let opened = engine_of(&left, "wrong")
        .stack("shop/dev", StackSettings::default())
        .await;
    let error = opened.err().unwrap();
    assert_eq!(error.message(), "stack 'shop/dev': incorrect passphrase");
    engine_of(&left, "right")
        .stack("shop/dev", StackSettings::default())
        .await
        .unwrap();
}

/// A passphrase that is not verified when a stack is opened.
struct Unverified(Arc<dyn SecretsProvider>);

#[async_trait]
impl SecretsProvider for Unverified {
    async fn open(&self, kind: &str, state: Option<&Value>) -> Result<Arc<dyn SecretsManager>> {
        self.0.open(kind, state).await
    }

    async fn create(&self) -> Result<Arc<dyn SecretsManager>> {
        self.0.create().await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_with_another_passphrase_than_the_stacks_writes_nothing() {
    let store = store();
    let settings = |text: &str| StackSettings {
        program: Some(exporting()),
        secrets: Some(Arc::new(Unverified(passphrase(text)))),
        ..StackSettings::default()
    };
    let engine = engine_of(&store, "of the engine");
    let right = engine.stack("shop/dev", settings("right")).await.unwrap();
    update(&right).await;
    let shown = right.export_deployment(true).await.unwrap();
    let before = right.export_deployment(false).await.unwrap();
    let wrong = engine.stack("shop/dev", settings("wrong")).await.unwrap();
    for dry_run in [true, false] {
        let refused = wrong.import_deployment_with(&shown, true, dry_run).await;
        let error = refused.unwrap_err();
        assert_eq!(
            (error.kind(), error.message()),
            (ErrorKind::Decrypt, "stack 'shop/dev': incorrect passphrase")
        );
    }
    assert_eq!(right.export_deployment(false).await.unwrap(), before);
    // The key of a state that cannot be read any more is kept.
    let [checkpoint] = store
        .list(".pulumi/stacks/shop/dev.json")
        .await
        .unwrap()
        .into_iter()
        .filter(|object| object.key.ends_with("dev.json"))
        .map(|object| object.key)
        .collect::<Vec<_>>()
        .try_into()
        .unwrap();
    let bytes = store.get(&checkpoint).await.unwrap().unwrap().bytes;
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    let damaged = text.replace("\"outputs\"", "\"outputs\":7,\"outputs\"");
    assert_ne!(text, damaged);
    store
        .put(&checkpoint, damaged.into(), Condition::Any)
        .await
        .unwrap();
    let right = engine.stack("shop/dev", settings("right")).await.unwrap();
    right.import_deployment(&shown).await.unwrap();
    let outputs = engine
        .stack("shop/dev", settings("right"))
        .await
        .unwrap()
        .outputs()
        .await
        .unwrap();
    assert_eq!(outputs.get("token"), Some(&PropertyValue::secret("tok".into())));
    let salt = |document: &[u8]| {
        let document: Value = serde_json::from_slice(document).unwrap();
        document["deployment"]["secrets_providers"].clone()
    };
    assert_eq!(
        salt(&right.export_deployment(false).await.unwrap()),
        salt(&before)
    );
}
