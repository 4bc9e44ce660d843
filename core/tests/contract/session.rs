//! Sessions: their state after the result, and after the release.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use stackwright::{
    Result, StackSettings,
    monitor::{Monitor, WireStatus},
    operation::{OperationKind, OperationOptions},
    program::{Program, from_fn},
    property::PropertyMap,
    provider::{ProviderBackend, Resolution, ResolutionRequest, Resolver},
};
use stackwright_testkit::wait::{Ended as _, Within as _};

use crate::fixture::{Scripted, engine, resource, stack};

fn held() -> OperationOptions {
    OperationOptions {
        hold_session: true,
        ..OperationOptions::default()
    }
}

/// A program that keeps its monitor and records the response to its refused registration.
struct Keeps {
    monitor: Arc<Mutex<Option<Monitor>>>,
    answers: tokio::sync::mpsc::UnboundedSender<WireStatus>,
}

fn keeps() -> (
    Arc<Mutex<Option<Monitor>>>,
    tokio::sync::mpsc::UnboundedReceiver<WireStatus>,
    Arc<dyn Program>,
) {
    let (answers, answered) = tokio::sync::mpsc::unbounded_channel();
    let monitor = Arc::new(Mutex::new(None));
    let keeps = Arc::new(Keeps {
        monitor: Arc::clone(&monitor),
        answers,
    });
    let program = from_fn(move |context| {
        let keeps = Arc::clone(&keeps);
        async move {
            *keeps.monitor.lock().unwrap() = Some(context.monitor.clone());
            if let Err(status) = context.monitor.register(resource("refused", "1")).await {
                keeps.answers.send(status.clone()).unwrap();
                return Err(status.into());
            }
            Ok(())
        }
    });
    (monitor, answered, program)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_held_session_leaves_a_failed_registration_unanswered_until_it_is_released() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let (monitor, mut answered, program) = keeps();
    let operation = stack.start(OperationKind::Update, held(), Some(program));
    let result = operation.ended().await;
    assert!(result.error.is_some());
    assert!(answered.try_recv().is_err(), "answered before the release");
    let kept = monitor.lock().unwrap().clone().unwrap();
    assert!(!kept.is_closed());
    operation.release().within("the release of the session").await;
    operation.release().within("the release of the session").await;
    assert!(kept.is_closed());
    let status = answered.recv().within("the response").await.unwrap();
    assert!(status.message.contains("shut down"), "{}", status.message);
    // The stack was unlocked with the result already.
    let again = stack.destroy(OperationOptions::default()).ended().await;
    assert!(again.error.is_none(), "{:?}", again.error);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_holding_the_session_ends_with_the_operation() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let (monitor, mut answered, program) = keeps();
    let operation = stack.start(OperationKind::Update, OperationOptions::default(), Some(program));
    operation.ended().await;
    assert!(monitor.lock().unwrap().clone().unwrap().is_closed());
    assert!(answered.try_recv().is_ok());
    operation.release().within("the release of the session").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unanswered_outputs_fail_at_the_end_with_the_text_of_the_reference() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let (answers, mut answered) = tokio::sync::mpsc::unbounded_channel();
    let program = from_fn(move |context| {
        let answers = answers.clone();
        async move {
            let urn = context.monitor.register(resource("a", "1")).await?.urn;
            let publish = || context.monitor.register_outputs(&urn, PropertyMap::new());
            publish().await?;
            answers.send(publish().await.unwrap_err()).unwrap();
            Ok(())
        }
    });
    let operation = stack.start(OperationKind::Update, OperationOptions::default(), Some(program));
    operation.ended().await;
    assert_eq!(
        answered.recv().within("the response").await.unwrap().message,
        "resource monitor shut down while waiting on output step's done channel"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_handle_releases_a_held_session() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let (_, mut answered, program) = keeps();
    let operation = stack.start(OperationKind::Update, held(), Some(program));
    let other = operation.clone();
    operation.ended().await;
    drop(operation);
    assert!(answered.try_recv().is_err());
    drop(other);
    assert!(answered.recv().within("the response").await.is_some());
}

/// Returns a new provider for each instance, and counts the requests.
struct Hook {
    provider: Arc<dyn ProviderBackend>,
    asked: Mutex<Vec<String>>,
}

#[async_trait]
impl Resolver for Hook {
    async fn resolve(&self, request: ResolutionRequest) -> Result<Resolution> {
        self.asked.lock().unwrap().push(request.name.clone());
        if request.name == "echo" {
            return Ok(Resolution::InProcess(Arc::clone(&self.provider)));
        }
        Err(stackwright::Error::new(
            stackwright::ErrorKind::Plugin,
            "Not Found: contact the host!",
        ))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_resolver_is_called_for_every_instance_and_its_error_is_unchanged() {
    let provider = Arc::new(Scripted::default());
    let hook = Arc::new(Hook {
        provider: Arc::clone(&provider) as _,
        asked: Mutex::default(),
    });
    let built = engine().resolver(Arc::clone(&hook) as _).build().unwrap();
    let stack = built.stack("shop/dev", StackSettings::default()).await.unwrap();
    let two = from_fn(|context| async move {
        let mut explicit = resource("explicit", "");
        explicit.resource_type = "pulumi:providers:echo".into();
        let explicit = context.monitor.register(explicit).await?;
        let mut second = resource("b", "1");
        second.package.provider = format!("{}::{}", explicit.urn, explicit.id);
        context.monitor.register(second).await?;
        context.monitor.register(resource("a", "1")).await?;
        Ok(())
    });
    let operation = stack.start(OperationKind::Update, OperationOptions::default(), Some(two));
    let result = operation.ended().await;
    assert!(result.error.is_none(), "{:?}", result.error);
    assert_eq!(*hook.asked.lock().unwrap(), ["echo", "echo"]);

    let unknown = from_fn(|context| async move {
        let mut other = resource("a", "1");
        other.resource_type = "other:index:Thing".into();
        context.monitor.register(other).await?;
        Ok(())
    });
    let operation = stack.start(OperationKind::Update, OperationOptions::default(), Some(unknown));
    let error = operation.ended().await.error.clone().unwrap();
    assert!(
        error.message().contains("Not Found: contact the host!"),
        "{error}"
    );
}
