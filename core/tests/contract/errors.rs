//! Provider errors, early errors, and secrets that cannot be decrypted.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use stackwright::{
    Error, ErrorClass, ErrorKind, Result, Stack, StackSettings,
    config::{Config, ConfigKey, ConfigValue},
    event::{EngineEvent, EventPayload},
    operation::{Operation, OperationKind, OperationOptions},
    provider::ProviderStatus,
    runtime::Runtime,
    secrets::{Base64Provider, SecretsManager, SecretsProvider},
    store::MemoryStore,
};
use stackwright_testkit::wait::{Ended as _, Within as _};

use crate::fixture::{Scripted, engine, program, stack};

const CREATED: &[(&str, &str)] = &[("a", "1"), ("b", "1")];
const CHANGED: &[(&str, &str)] = &[("a", "2")];

fn update(stack: &Stack, values: &'static [(&'static str, &'static str)]) -> Operation {
    stack.start(
        OperationKind::Update,
        OperationOptions::default(),
        Some(program(values)),
    )
}

async fn events(operation: &Operation) -> Vec<Arc<EngineEvent>> {
    let mut stream = operation.events();
    let mut events = Vec::new();
    while let Some(event) = stream.next().within("the next event").await {
        events.push(event);
    }
    events
}

#[tokio::test(flavor = "multi_thread")]
async fn a_status_states_whether_the_state_of_the_resource_is_known() {
    for (status, unknown) in [
        (ProviderStatus::Unknown, true),
        (ProviderStatus::Internal, true),
        (ProviderStatus::DataLoss, true),
        (ProviderStatus::InvalidArgument, false),
        (ProviderStatus::Unavailable, false),
    ] {
        let provider = Arc::new(Scripted::default());
        let stack = stack(&provider, StackSettings::default()).await;
        assert!(update(&stack, &[("a", "1")]).ended().await.error.is_none());
        *provider.failure.lock().unwrap() = Some(status);
        for values in [CHANGED, &[]] {
            let operation = update(&stack, values);
            let emitted = events(&operation).await;
            let result = operation.ended().await;
            let error = result.error.clone().unwrap();
            assert!(error.message().contains("the resource is locked"), "{error}");
            let phase = if values.is_empty() { "delete" } else { "update" };
            assert_eq!((error.provider(), error.phase()), (Some("echo"), Some(phase)));
            assert_eq!(error.urn().map(|urn| urn.name()), Some("a"));
            let failed = emitted.iter().find_map(|event| match &event.payload {
                EventPayload::ResourceOperationFailed { status, .. } => Some(*status as u64),
                _ => None,
            });
            assert_eq!(failed, Some(if unknown { 2 } else { 0 }), "{status:?}");
            let corrupt = emitted.iter().find_map(|event| match &event.payload {
                EventPayload::Summary(summary) => Some(summary.maybe_corrupt),
                _ => None,
            });
            assert_eq!(corrupt, Some(unknown), "{status:?}");
            let kept = result
                .snapshot
                .resources
                .iter()
                .find(|state| state.urn.name() == "a");
            assert_eq!(kept.unwrap().inputs.get("value"), Some(&"1".into()));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tree_of_a_refused_operation_has_no_resource_counts() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    assert!(update(&stack, CREATED).ended().await.error.is_none());
    let options = serde_json::from_str::<OperationOptions>(r#"{"targetSnippets":["a"]}"#).unwrap();
    let refused = stack.start(OperationKind::Update, options, Some(program(CREATED)));
    let result = refused.ended().await;
    let error = result.error.clone().unwrap();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(result.tree().starts_with(error.message()), "{}", result.tree());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_glob_that_matches_nothing_is_reported_in_the_result_but_in_no_event() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let run = async |kind, options: &str| {
        let options = serde_json::from_str::<OperationOptions>(options).unwrap();
        let operation = stack.start(kind, options, Some(program(CREATED)));
        let emitted = events(&operation).await;
        let is_diagnostic = |event: &Arc<EngineEvent>| matches!(event.payload, EventPayload::Diagnostic(_));
        let result = operation.ended().await;
        assert!(result.error.is_none(), "{:?}", result.error);
        assert!(!emitted.iter().any(is_diagnostic), "{emitted:?}");
        let messages = result
            .diagnostics
            .iter()
            .map(|diagnostic| diagnostic.message.reference());
        messages.collect::<Vec<_>>().join("\n")
    };
    let [update, refresh, destroy] = [
        OperationKind::Update,
        OperationKind::Refresh,
        OperationKind::Destroy,
    ];
    let unmatched = |option| format!("no resource matches '**::nope*' of the option {option}");
    // Resources that the program registers count.
    assert_eq!(
        run(update, r#"{"targets":["**::a","**::nope*"]}"#).await,
        unmatched("targets")
    );
    assert_eq!(
        run(update, r#"{"replaceTargets":["**::nope*","**::b"]}"#).await,
        unmatched("replaceTargets (replace_targets in Python and Rust)")
    );
    assert_eq!(
        run(refresh, r#"{"excludes":["**::nope*"]}"#).await,
        unmatched("excludes")
    );
    assert_eq!(
        run(update, r#"{"targets":["**::a"],"excludes":["**::nope*"]}"#).await,
        ""
    );
    assert_eq!(
        run(destroy, r#"{"targets":["**::nope*"]}"#).await,
        unmatched("targets")
    );
    assert_eq!(run(destroy, r#"{"targets":["**"]}"#).await, "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_that_can_not_be_decrypted_names_the_key_and_ends_the_events() {
    let mut config = Config::new();
    let key = ConfigKey::new("shop", "token");
    drop(config.insert(key, ConfigValue::Secure("no base64!".to_owned())));
    let settings = StackSettings {
        config,
        ..StackSettings::default()
    };
    let stack = stack(&Arc::new(Scripted::default()), settings).await;
    let operation = update(&stack, &[("a", "1")]);
    let emitted = events(&operation).await;
    let error = operation.ended().await.error.clone().unwrap();
    assert_eq!(
        (error.kind(), error.kind().class()),
        (ErrorKind::Decrypt, ErrorClass::Decrypt)
    );
    assert_eq!(error.phase(), Some("decrypt"));
    assert!(error.message().contains("shop:token"), "{error}");
    assert!(std::error::Error::source(&error).is_some());
    let cancels = emitted
        .iter()
        .filter(|event| matches!(event.payload, EventPayload::Cancel));
    assert_eq!(cancels.count(), 1);
    assert!(matches!(emitted.last().unwrap().payload, EventPayload::Cancel));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operation_on_a_locked_stack_ends_its_events_too() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let running = update(&stack, &[("waits", "1")]);
    provider
        .entered
        .notified()
        .within("the begin of the held call")
        .await;
    let second = update(&stack, &[]);
    let emitted = events(&second).await;
    let error = second.ended().await.error.clone().unwrap();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(matches!(emitted.last().unwrap().payload, EventPayload::Cancel));
    provider.given_up.notify_one();
    assert!(running.ended().await.error.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn two_runs_of_the_same_kind_count_the_same_events() {
    let mut counts = Vec::new();
    for _ in 0..2 {
        let provider = Arc::new(Scripted::default());
        let stack = stack(&provider, StackSettings::default()).await;
        let mut of_run = std::collections::BTreeMap::new();
        for values in [CREATED, CHANGED] {
            for event in events(&update(&stack, values)).await {
                let kind = std::mem::discriminant(&event.payload);
                *of_run.entry(format!("{kind:?}")).or_insert(0) += 1;
            }
        }
        counts.push(of_run);
    }
    assert_eq!(counts[0], counts[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_plugin_is_reported_with_provider_phase_and_hints() {
    let runtime = Runtime::system(tokio::runtime::Handle::current());
    let store = Arc::new(MemoryStore::new(runtime));
    let provider = Arc::new(Scripted::default());
    let with = engine()
        .store(Arc::clone(&store) as _)
        .provider("echo", provider)
        .build()
        .unwrap();
    let stack = with.stack("shop/dev", StackSettings::default()).await.unwrap();
    assert!(update(&stack, CREATED).ended().await.error.is_none());
    let without = engine().store(Arc::clone(&store) as _).build().unwrap();
    for (name, kind, expected) in [
        ("shop/new", OperationKind::Update, ErrorKind::Failed),
        ("shop/dev", OperationKind::Update, ErrorKind::Failed),
        // It is missing before the first step.
        ("shop/dev", OperationKind::Destroy, ErrorKind::Plugin),
    ] {
        let stack = without.stack(name, StackSettings::default()).await.unwrap();
        let program = (kind == OperationKind::Update).then(|| program(CHANGED));
        let operation = stack.start(kind, OperationOptions::default(), program);
        let error = operation.ended().await.error.clone().unwrap();
        assert_eq!(error.kind(), expected, "{name} {kind:?}: {error:?}");
        assert!(error.urn().is_some(), "{name} {kind:?}: {error:?}");
        assert_eq!(error.provider(), Some("echo"), "{name} {kind:?}: {error:?}");
        assert_eq!(error.phase(), Some("load"), "{name} {kind:?}: {error:?}");
        assert!(!error.hints().is_empty(), "{name} {kind:?}: {error:?}");
    }
}

/// Panics at the first creation of a manager.
#[derive(Default)]
struct Panicking(AtomicBool);

#[async_trait]
impl SecretsProvider for Panicking {
    async fn open(&self, kind: &str, state: Option<&serde_json::Value>) -> Result<Arc<dyn SecretsManager>> {
        Base64Provider.open(kind, state).await
    }

    async fn create(&self) -> Result<Arc<dyn SecretsManager>> {
        assert!(self.0.swap(true, Ordering::SeqCst), "a panic in the host's code");
        Base64Provider.create().await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_of_the_hosts_code_fails_the_operation_and_leaves_the_stack_free() {
    let provider = Arc::new(Scripted::default());
    let engine = engine()
        .provider("echo", provider)
        .secrets(Arc::new(Panicking::default()))
        .build()
        .unwrap();
    let stack = engine.stack("shop/dev", StackSettings::default()).await.unwrap();
    let result = update(&stack, CREATED).ended().await;
    assert_eq!(result.error.as_ref().unwrap().kind(), ErrorKind::Internal);
    let result = update(&stack, CREATED).ended().await;
    assert!(result.error.is_none(), "{:?}", result.error);
}

/// Fails to create a manager, with an error that contains a secret.
struct LeakingSecretsProvider;

#[async_trait]
impl SecretsProvider for LeakingSecretsProvider {
    async fn open(&self, kind: &str, _state: Option<&serde_json::Value>) -> Result<Arc<dyn SecretsManager>> {
        Err(Error::new(ErrorKind::Secrets, format!("unknown kind {kind}")))
    }

    async fn create(&self) -> Result<Arc<dyn SecretsManager>> {
        Err(Error::new(ErrorKind::Secrets, "no key for hunter2"))
    }
}

#[tokio::test]
async fn secrets_of_the_configuration_are_redacted_before_it_is_decrypted() {
    let engine = engine()
        .secrets(Arc::new(LeakingSecretsProvider))
        .build()
        .unwrap();
    let mut config = Config::new();
    config.insert("shop:password".parse().unwrap(), ConfigValue::secret("hunter2"));
    let settings = StackSettings {
        config,
        ..StackSettings::default()
    };
    let stack = engine.create_stack("shop/dev", settings).await.unwrap();
    let result = stack.refresh(OperationOptions::default()).ended().await;
    assert_eq!(result.error.clone().unwrap().message(), "no key for [secret]");
}
