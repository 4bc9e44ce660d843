//! Cancellation: every loaded provider is cancelled before the operation returns.

use std::sync::{Arc, Mutex};

use stackwright::{
    ErrorKind, StackSettings,
    event::{EventPayload, OperationOutcome},
    operation::{OperationKind, OperationOptions},
    program::from_fn,
};
use stackwright_testkit::wait::{Ended as _, Within as _};

use crate::fixture::{Scripted, program, resource, stack};

#[tokio::test(flavor = "multi_thread")]
async fn a_cancellation_reaches_every_provider_and_what_ran_is_recorded() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let program = program(&[("first", "1"), ("waits", "1"), ("never", "1")]);
    let operation = stack.start(OperationKind::Update, OperationOptions::default(), Some(program));
    provider
        .entered
        .notified()
        .within("the begin of the held call")
        .await;
    operation.cancel();
    let result = operation.ended().await;
    assert_eq!(provider.cancelled(), 1);
    let error = result.error.clone().unwrap();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert_eq!(error.message(), "update canceled");
    assert_eq!(error.reference_message(), "BAIL: canceled");
    assert!(
        result.tree().ends_with("\nupdate canceled\n"),
        "{}",
        result.tree()
    );
    assert_eq!(result.outcome, OperationOutcome::Canceled);
    let names: Vec<_> = result
        .snapshot
        .resources
        .iter()
        .map(|state| state.urn.name())
        .collect();
    assert!(names.contains(&"waits") && !names.contains(&"never"), "{names:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_is_cancelled_also_when_the_context_of_an_earlier_run_is_held() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let kept = Arc::new(Mutex::new(None));
    let keeps = Arc::clone(&kept);
    let earlier = from_fn(move |context| {
        *keeps.lock().unwrap() = Some(context.clone());
        async move {
            context.monitor.register(resource("first", "1")).await?;
            Ok(())
        }
    });
    let earlier = stack.start(OperationKind::Update, OperationOptions::default(), Some(earlier));
    assert!(earlier.ended().await.error.is_none() && kept.lock().unwrap().is_some());
    let operation = stack.start(
        OperationKind::Update,
        OperationOptions::default(),
        Some(program(&[("waits", "1")])),
    );
    provider
        .entered
        .notified()
        .within("the begin of the held call")
        .await;
    operation.cancel();
    let result = operation.ended().await;
    assert_eq!(provider.cancelled(), 1);
    assert_eq!(result.outcome, OperationOutcome::Canceled);
}

/// The summary counts as the reference engine's does; the result states the host's cancellation.
#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_destroy_is_reported_with_the_text_of_the_reference() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    provider.given_up.notify_one();
    let created = stack.start(
        OperationKind::Update,
        OperationOptions::default(),
        Some(program(&[("waits", "1")])),
    );
    assert!(created.ended().await.error.is_none());
    provider
        .entered
        .notified()
        .within("the begin of the held call")
        .await;
    let operation = stack.destroy(OperationOptions::default());
    provider
        .entered
        .notified()
        .within("the begin of the held call")
        .await;
    operation.cancel();
    let result = operation.ended().await;
    assert_eq!(result.error.clone().unwrap().message(), "destroy canceled");
    assert_eq!(result.outcome, OperationOutcome::Canceled);
    let tree = result.tree();
    assert!(
        tree.contains("destroy canceled") && !tree.contains("update"),
        "{tree}"
    );
    let messages: Vec<_> = result
        .diagnostics
        .iter()
        .map(|diagnostic| diagnostic.message.reference())
        .collect();
    assert_eq!(messages, ["update canceled"], "the reference engine's text");
    let mut events = operation.events();
    let mut summed_up = None;
    while let Some(event) = events.next().within("the next event").await {
        if let EventPayload::Summary(summary) = &event.payload {
            summed_up = Some(summary.result);
        }
    }
    assert_eq!(summed_up, Some(OperationOutcome::Failed));
}

/// A cancellation after the last step has no effect.
#[tokio::test]
async fn an_ended_operation_is_not_cancelled_afterwards() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let operation = stack.start(
        OperationKind::Update,
        OperationOptions::default(),
        Some(program(&[("a", "1")])),
    );
    operation.ended().await;
    operation.cancel();
    operation.cancel();
    let result = operation.ended().await;
    assert_eq!(result.outcome, OperationOutcome::Succeeded);
}

/// On one thread no step runs before the cancellation.
#[tokio::test]
async fn a_cancellation_before_the_first_step_changes_nothing() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let operation = stack.start(
        OperationKind::Update,
        OperationOptions::default(),
        Some(program(&[("a", "1")])),
    );
    operation.cancel();
    let result = operation.ended().await;
    let error = result.error.clone().unwrap();
    assert_eq!(error.message(), "update canceled");
    assert!(provider.calls.lock().unwrap().is_empty());
    let names: Vec<_> = result
        .snapshot
        .resources
        .iter()
        .map(|state| state.urn.name())
        .collect();
    assert!(!names.contains(&"a"), "{names:?}");
}
