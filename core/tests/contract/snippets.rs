//! Snippets of a state: kept by operations without a program, and never dropped by operations that do not run them.

use std::sync::Arc;

use serde_json::{Value, json};
use stackwright::{
    ErrorKind, Stack, StackSettings,
    operation::{OperationKind, OperationOptions},
};
use stackwright_testkit::wait::Ended as _;

use crate::fixture::{Scripted, program, stack};

const SNIPPET: &str = "6a7b8c9d-0000-4000-8000-000000000001";

async fn exported(stack: &Stack) -> Value {
    let document = stack.export_deployment(false).await.unwrap();
    serde_json::from_slice(&document).unwrap()
}

/// A stack whose resource `a` a snippet has registered.
async fn with_snippet(provider: &Arc<Scripted>) -> (Stack, Value) {
    let stack = stack(provider, StackSettings::default()).await;
    let made = stack.start(
        OperationKind::Update,
        OperationOptions::default(),
        Some(program(&[("a", "1")])),
    );
    assert!(made.ended().await.error.is_none());
    let mut document = exported(&stack).await;
    let deployment = &mut document["deployment"];
    let snippets = json!([{
        "uuid": SNIPPET,
        "name": "bucket",
        "type": "resource",
        "code": "resource a \"echo:index:Echo\" {}",
        "descriptor": {"name": "echo", "version": "1.0.0"},
        "references": {"a": "urn:pulumi:dev::shop::echo:index:Echo::a"},
    }]);
    deployment["snippets"] = snippets.clone();
    let resources = deployment["resources"].as_array_mut().unwrap();
    let of_snippet = resources
        .iter_mut()
        .find(|resource| resource["urn"].as_str().unwrap().ends_with("::a"));
    of_snippet.unwrap()["snippetID"] = json!(SNIPPET);
    document["version"] = json!(4);
    document["features"] = json!(["snippets-prototype"]);
    stack
        .import_deployment(&serde_json::to_vec(&document).unwrap())
        .await
        .unwrap();
    (stack, snippets)
}

fn registered(document: &Value) -> Vec<&str> {
    let resources = document["deployment"]["resources"].as_array();
    let ids = resources.into_iter().flatten();
    ids.filter_map(|resource| resource["snippetID"].as_str())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_with_snippets_is_written_back_as_it_was_read_and_survives_a_refresh() {
    let provider = Arc::new(Scripted::default());
    let (stack, snippets) = with_snippet(&provider).await;
    let refreshes = [OperationKind::Refresh, OperationKind::Refresh];
    for refresh in [None].into_iter().chain(refreshes.map(Some)) {
        if let Some(kind) = refresh {
            let result = stack.start(kind, OperationOptions::default(), None).ended().await;
            assert!(result.error.is_none(), "{:?}", result.error);
        }
        let document = exported(&stack).await;
        assert_eq!(document["deployment"]["snippets"], snippets);
        assert_eq!(document["features"], json!(["snippets-prototype"]));
        assert_eq!(registered(&document), [SNIPPET]);
    }
    let destroyed = stack.start(OperationKind::Destroy, OperationOptions::default(), None);
    assert!(destroyed.ended().await.error.is_none());
    let document = exported(&stack).await;
    assert_eq!(document["deployment"]["snippets"], snippets);
    assert_eq!(registered(&document), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn operations_with_a_program_are_refused_for_a_state_with_snippets() {
    let provider = Arc::new(Scripted::default());
    let (stack, _) = with_snippet(&provider).await;
    let before = exported(&stack).await;
    provider.calls.lock().unwrap().clear();
    let with = |text: &str| serde_json::from_str::<OperationOptions>(text).unwrap();
    for (kind, options) in [
        (OperationKind::Update, with("{}")),
        (OperationKind::Update, with("{}").preview()),
        (OperationKind::Refresh, with(r#"{"refreshProgram": true}"#)),
        (OperationKind::Destroy, with(r#"{"destroyProgram": true}"#)),
    ] {
        let operation = stack.start(kind, options, Some(program(&[("b", "1")])));
        let error = operation.ended().await.error.clone().unwrap();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        assert!(error.message().contains("the stack has snippets"), "{error}");
    }
    assert_eq!(exported(&stack).await, before);
    assert_eq!(provider.calls.lock().unwrap().len(), 0);
}
