//! Malformed provider responses: the possible effects of the call stay recorded.

use std::sync::Arc;

use stackwright::{
    StackSettings,
    operation::{OperationKind, OperationOptions, OperationResult},
    property::PropertyValue,
    resource::{PendingOperationKind, ResourceState},
};
use stackwright_testkit::wait::Ended as _;

use crate::fixture::{Scripted, program, stack};

fn pending(result: &OperationResult) -> Vec<(&str, PendingOperationKind)> {
    let pending = result.snapshot.pending_operations.iter();
    pending
        .map(|operation| (operation.resource.urn.name(), operation.kind))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_possible_effect_of_a_malformed_response_is_reported_by_the_next_operation() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let update = async |values: &'static [(&'static str, &'static str)]| {
        let options = OperationOptions::default();
        let operation = stack.start(OperationKind::Update, options, Some(program(values)));
        operation.ended().await
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
    // A provider's refusal is a known result: nothing stays pending.
    let result = update(&[("unreadable update", "1"), ("refused", "1")]).await;
    assert!(!pending(&result).iter().any(|(name, _)| *name == "refused"));
    let is_reported = result.diagnostics.iter().any(|diagnostic| {
        diagnostic
            .message
            .reference()
            .contains("unreadable, interrupted while creating")
    });
    assert!(is_reported, "{:?}", result.diagnostics);
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_outputs_leave_the_recorded_ones() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let run = async |kind, values: &'static [(&'static str, &'static str)]| {
        let operation = stack.start(kind, OperationOptions::default(), Some(program(values)));
        let result = operation.ended().await;
        let named = |record: &&Arc<ResourceState>| record.urn.name() == "unreadable outputs";
        let records = result.snapshot.resources.iter().filter(named);
        assert_eq!(records.clone().count(), 1);
        let mut records = records;
        let record = records.next().unwrap();
        let value = record.outputs.get("value").and_then(PropertyValue::as_str);
        (
            value.map(str::to_owned),
            record.init_errors.len(),
            result.error.is_some(),
        )
    };
    let made = run(OperationKind::Update, &[("unreadable outputs", "1")]).await;
    assert_eq!(made, (Some("1".to_owned()), 0, false));
    let refreshed = run(OperationKind::Refresh, &[]).await;
    assert_eq!(refreshed, (Some("1".to_owned()), 0, true));
    let updated = run(OperationKind::Update, &[("unreadable outputs", "2")]).await;
    assert_eq!(updated, (Some("1".to_owned()), 1, true));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_created_resource_keeps_its_id_and_a_preview_creates_nothing() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let run = async |options| {
        let program = program(&[("made unreadably", "1")]);
        let operation = stack.start(OperationKind::Update, options, Some(program));
        operation.ended().await
    };
    let planned = run(OperationOptions::default().preview()).await;
    let error = planned.error.clone().unwrap();
    assert!(
        error.message().contains("malformed answer") && !error.message().contains("it exists"),
        "{error}"
    );
    let made = run(OperationOptions::default()).await;
    let mut records = made.snapshot.resources.iter();
    let record = records
        .find(|record| record.urn.name() == "made unreadably")
        .unwrap();
    assert_eq!((record.id.as_str(), record.init_errors.len()), ("made", 1));
    assert_eq!(pending(&made), []);
}
