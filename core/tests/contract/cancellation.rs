//! Cancellation: every loaded provider hears of it before the operation returns.

use std::sync::Arc;

use stackwright::{
    ErrorKind, StackSettings,
    event::OperationOutcome,
    operation::{OperationKind, OperationOptions},
};

use crate::fixture::{Scripted, program, stack};

#[tokio::test(flavor = "multi_thread")]
async fn a_cancellation_reaches_every_provider_and_what_ran_is_recorded() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let program = program(&[("first", "1"), ("waits", "1"), ("never", "1")]);
    let operation = stack.start(OperationKind::Update, OperationOptions::default(), Some(program));
    provider.entered.notified().await;
    operation.cancel();
    let result = operation.wait().await;
    assert_eq!(provider.cancelled(), 1);
    let error = result.error.clone().unwrap();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert_eq!(error.message(), "BAIL: update canceled");
    assert_eq!(error.words(), "update canceled");
    assert!(
        result.tree().ends_with("\nupdate canceled\n"),
        "{}",
        result.tree()
    );
    assert_ne!(result.outcome, OperationOutcome::Succeeded);
    let names: Vec<_> = result
        .snapshot
        .resources
        .iter()
        .map(|state| state.urn.name())
        .collect();
    assert!(names.contains(&"waits") && !names.contains(&"never"), "{names:?}");
}

/// On one thread nothing of the operation runs before the cancellation.
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
    let result = operation.wait().await;
    let error = result.error.clone().unwrap();
    assert_eq!(error.message(), "BAIL: update canceled");
    assert!(provider.calls.lock().unwrap().is_empty());
    let names: Vec<_> = result
        .snapshot
        .resources
        .iter()
        .map(|state| state.urn.name())
        .collect();
    assert!(!names.contains(&"a"), "{names:?}");
}
