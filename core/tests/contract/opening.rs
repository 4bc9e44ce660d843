//! Opening stacks by name: created, selected, either, or created by the first update.

use std::sync::Arc;

use stackwright::{Engine, ErrorKind, Opening, Stack, StackSettings, operation::OperationOptions};
use stackwright_testkit::wait::Ended as _;

use crate::fixture::{Scripted, engine, program};

fn echo_engine() -> Engine {
    let provider = Arc::new(Scripted::default());
    engine().provider("echo", provider).build().unwrap()
}

fn with_program() -> StackSettings {
    StackSettings {
        program: Some(program(&[("a", "1")])),
        ..StackSettings::default()
    }
}

async fn names(engine: &Engine) -> Vec<String> {
    let names = engine.stacks(None, false).await.unwrap();
    names.iter().map(|stack| stack.name.to_string()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn create_refuses_a_stack_that_exists_and_select_one_that_does_not() {
    let engine = echo_engine();
    let missing = engine
        .select_stack("shop/dev", with_program())
        .await
        .err()
        .unwrap();
    assert_eq!(missing.kind(), ErrorKind::NotFound, "{missing}");
    assert_eq!(names(&engine).await, [""; 0]);
    engine
        .create_stack("shop/dev", StackSettings::default())
        .await
        .unwrap();
    let exists = engine
        .create_stack("shop/dev", with_program())
        .await
        .err()
        .unwrap();
    assert_eq!(exists.kind(), ErrorKind::Conflict, "{exists}");
    engine.select_stack("shop/dev", with_program()).await.unwrap();
    engine
        .create_or_select_stack("shop/dev", with_program())
        .await
        .unwrap();
    engine
        .create_or_select_stack("shop/new", StackSettings::default())
        .await
        .unwrap();
    assert_eq!(names(&engine).await, ["shop/dev", "shop/new"]);
    let misspelt = engine
        .select_stack("shop/dve", with_program())
        .await
        .err()
        .unwrap();
    assert!(
        misspelt
            .hints()
            .iter()
            .any(|hint| hint.contains("did you mean 'shop/dev'?")),
        "{misspelt}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stack_opened_without_a_program_is_created_by_its_first_update_or_import_only() {
    let engine = echo_engine();
    let stack = engine.stack("shop/dev", StackSettings::default()).await.unwrap();
    assert_eq!(stack.snapshot().await.err().unwrap().kind(), ErrorKind::NotFound);
    for start in [Stack::refresh, Stack::destroy] {
        let result = start(&stack, OperationOptions::default()).ended().await;
        let error = result.error.as_ref().unwrap();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
        assert!(
            error.hints().iter().any(|hint| hint.contains("create_stack")),
            "{error}"
        );
    }
    let refused = stack.update(OperationOptions::default()).ended().await;
    assert_eq!(
        refused.error.as_ref().unwrap().message(),
        "the stack has no program to update from"
    );
    let start = |options| {
        let kind = stackwright::operation::OperationKind::Update;
        stack.start(kind, options, Some(program(&[("a", "1")])))
    };
    let preview = start(OperationOptions::default().preview()).ended().await;
    assert!(preview.error.is_none(), "{:?}", preview.error);
    assert_eq!(names(&engine).await, [""; 0]);
    let updated = start(OperationOptions::default()).ended().await;
    assert!(updated.error.is_none(), "{:?}", updated.error);
    assert_eq!(names(&engine).await, ["shop/dev"]);
    let document = stack.export_deployment(false).await.unwrap();
    stack.remove(true).await.unwrap();
    let copy = engine.stack("shop/dev", StackSettings::default()).await.unwrap();
    assert_eq!(names(&engine).await, [""; 0]);
    assert!(copy.import_deployment(b"{").await.is_err());
    assert_eq!(
        names(&engine).await,
        [""; 0],
        "an unreadable document creates no stack"
    );
    copy.import_deployment(&document).await.unwrap();
    assert_eq!(names(&engine).await, ["shop/dev"]);
    engine.stack("shop/third", with_program()).await.unwrap();
    assert_eq!(names(&engine).await, ["shop/dev", "shop/third"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_of_a_stack_that_exists_again_reads_its_state() {
    let engine = echo_engine();
    let early = engine.stack("shop/dev", StackSettings::default()).await.unwrap();
    let other = engine.stack("shop/dev", with_program()).await.unwrap();
    other.update(OperationOptions::default()).ended().await;
    let kind = stackwright::operation::OperationKind::Update;
    let options = OperationOptions::default().preview();
    let preview = early
        .start(kind, options, Some(program(&[("a", "1")])))
        .ended()
        .await;
    assert!(preview.error.is_none(), "{:?}", preview.error);
    assert!(
        !preview
            .changes
            .keys()
            .any(|step| format!("{step:?}").contains("Create")),
        "{:?}",
        preview.changes
    );
    let settings = StackSettings {
        opening: Opening::Select,
        ..with_program()
    };
    assert!(engine.stack("shop/other", settings).await.is_err());
}
