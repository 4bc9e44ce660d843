//! Interrupted operations: their diagnostics in results and events.

use std::sync::Arc;

use stackwright::{
    StackSettings,
    diagnostic::Severity,
    event::EventPayload,
    operation::{Operation, OperationKind, OperationOptions},
};
use stackwright_testkit::wait::{Ended as _, Within as _};

use crate::fixture::{Scripted, program, stack};

/// A state in which an update of `a` was interrupted.
const INTERRUPTED: &str = r#"{"version":3,"deployment":{"manifest":{"time":"2026-01-01T00:00:00Z","magic":"","version":""},
    "pending_operations":[{"type":"updating","resource":
        {"urn":"urn:pulumi:dev::shop::echo:index:Echo::a","custom":true,"type":"echo:index:Echo"}}]}}"#;

/// Returns the diagnostics about it in the result, and the number of events with one.
async fn diagnostics(operation: Operation) -> (Vec<String>, usize) {
    let result = operation.ended().await;
    assert!(result.error.is_none(), "{:?}", result.error);
    let is_about = |message: &str| message.contains("::a, interrupted while updating");
    let in_result = result
        .diagnostics
        .iter()
        .map(|diagnostic| diagnostic.message.library().to_owned());
    let in_result = in_result.filter(|message| is_about(message)).collect();
    let mut events = operation.events();
    let mut in_events = 0;
    while let Some(event) = events.next().within("the next event").await {
        if let EventPayload::Diagnostic(diagnostic) = &event.payload
            && is_about(diagnostic.message.reference())
        {
            in_events += 1;
        }
    }
    (in_result, in_events)
}

#[tokio::test]
async fn every_result_reports_interrupted_operations_but_only_updates_emit_events() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    stack.import_deployment(INTERRUPTED.as_bytes()).await.unwrap();
    let options = OperationOptions::default;
    let start = |kind, options| stack.start(kind, options, Some(program(&[("b", "1")])));
    let (preview, events) = diagnostics(start(OperationKind::Update, options().preview())).await;
    assert!(preview[0].starts_with("Attempting to deploy"), "{preview:?}");
    assert_eq!((preview.len(), events), (1, 0));
    let (planned, events) = diagnostics(start(OperationKind::Refresh, options().preview())).await;
    assert!(planned[0].contains("A refresh records"), "{planned:?}");
    assert_eq!((planned.len(), events), (1, 0));
    let (refresh, events) = diagnostics(start(OperationKind::Refresh, options())).await;
    assert!(refresh[0].contains("This refresh records"), "{refresh:?}");
    assert_eq!((refresh.len(), events), (1, 0));
    let settled = diagnostics(start(OperationKind::Update, options())).await;
    assert_eq!(settled, (Vec::new(), 0), "the refresh has settled it");
    stack.import_deployment(INTERRUPTED.as_bytes()).await.unwrap();
    let (update, events) = diagnostics(start(OperationKind::Update, options())).await;
    assert_eq!((update.len(), events), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_during_an_update_reports_it_as_in_progress() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let start = |options, program| stack.start(OperationKind::Update, options, Some(program));
    let update = start(OperationOptions::default(), program(&[("waits", "1")]));
    provider
        .entered
        .notified()
        .within("the begin of the held call")
        .await;
    let preview = start(OperationOptions::default().preview(), program(&[("b", "1")]));
    let preview = preview.ended().await;
    provider.given_up.notify_one();
    let updated = update.ended().await;
    assert!(
        updated.error.is_none() && preview.error.is_none(),
        "{:?}",
        preview.error
    );
    let [diagnostic] = preview.diagnostics.as_slice() else {
        panic!("one message, not {:?}", preview.diagnostics);
    };
    assert_eq!(diagnostic.severity, Severity::Info);
    let text = diagnostic.message.library();
    assert!(
        text.contains("in progress: the update that this very process began at"),
        "{text}"
    );
    assert!(
        text.contains("::waits: creating") && !text.contains("interrupted"),
        "{text}"
    );
}
