//! A provider's answer that nobody can read: what it may have done stays on record.

use std::sync::Arc;

use stackwright::{
    StackSettings,
    operation::{OperationKind, OperationOptions, OperationResult},
    resource::PendingOperationKind,
};

use crate::fixture::{Scripted, program, stack};

fn pending(result: &OperationResult) -> Vec<(&str, PendingOperationKind)> {
    let pending = result.snapshot.pending_operations.iter();
    pending
        .map(|operation| (operation.resource.urn.name(), operation.kind))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_unreadable_call_may_have_done_is_asked_about_at_the_next_operation() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let update = async |values: &'static [(&'static str, &'static str)]| {
        let options = OperationOptions::default();
        let operation = stack.start(OperationKind::Update, options, Some(program(values)));
        operation.wait().await
    };
    let result = update(&[("unreadable update", "1")]).await;
    assert!(result.error.is_none(), "{:?}", result.error);
    let result = update(&[("unreadable update", "2")]).await;
    assert!(result.error.is_some());
    assert_eq!(
        pending(&result),
        [("unreadable update", PendingOperationKind::Updating)]
    );
    let result = update(&[("unreadable update", "1"), ("unreadable", "1")]).await;
    assert!(result.error.is_some());
    let names: Vec<_> = pending(&result);
    assert!(
        names.contains(&("unreadable", PendingOperationKind::Creating)),
        "{names:?}"
    );
    // The words of a provider that refused are read: nothing is left to ask about.
    let result = update(&[("unreadable update", "1"), ("refused", "1")]).await;
    assert!(!pending(&result).iter().any(|(name, _)| *name == "refused"));
    let told = result.diagnostics.iter().any(|diagnostic| {
        diagnostic
            .message
            .reference()
            .contains("unreadable, interrupted while creating")
    });
    assert!(told, "{:?}", result.diagnostics);
}
