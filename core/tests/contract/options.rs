//! Options: unsupported ones are refused before any step.

use std::sync::Arc;

use stackwright::{
    ErrorKind, StackSettings,
    operation::{OperationKind, OperationOptions},
};
use stackwright_testkit::wait::Ended as _;

use crate::fixture::{Scripted, program, stack};

#[tokio::test(flavor = "multi_thread")]
async fn an_unsupported_option_is_named_and_nothing_happens() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let options = OperationOptions {
        snippets: vec![serde_json::json!({})],
        ..OperationOptions::default()
    };
    let operation = stack.start(OperationKind::Update, options, Some(program(&[("a", "1")])));
    let error = operation.ended().await.error.clone().unwrap();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert_eq!(error.message(), "unsupported option: snippets");
    assert!(provider.calls.lock().unwrap().is_empty());
    assert!(stack.snapshot().await.unwrap().resources.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn without_provider_previews_inputs_are_shown_as_outputs_and_create_is_not_called() {
    for disabled in [false, true] {
        let provider = Arc::new(Scripted::default());
        let stack = stack(&provider, StackSettings::default()).await;
        let options = OperationOptions {
            disable_provider_preview: disabled,
            ..OperationOptions::default()
        };
        let program = program(&[("a", "1")]);
        let operation = stack.start(OperationKind::Update, options.preview(), Some(program));
        assert!(operation.ended().await.error.is_none());
        assert_eq!(provider.calls.lock().unwrap().is_empty(), disabled);
    }
}
