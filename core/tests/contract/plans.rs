//! Plans: what a result keeps of one, and what it holds a later operation to.

use std::sync::Arc;

use stackwright::{
    ErrorKind, StackSettings,
    executor::StepOp,
    operation::{OperationKind, OperationOptions},
    plan::GivenPlan,
};

use crate::fixture::{Scripted, program, stack};

fn held_to(plan: impl Into<GivenPlan>) -> OperationOptions {
    OperationOptions {
        plan: Some(plan.into()),
        ..OperationOptions::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_keeps_a_plan_without_a_document_and_an_update_can_be_held_to_it() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let run = |options: OperationOptions, resources: &'static [(&'static str, &'static str)]| {
        stack.start(OperationKind::Update, options, Some(program(resources)))
    };
    let preview = run(OperationOptions::default().preview(), &[("a", "1")])
        .wait()
        .await;
    let plan = preview.plan.clone().unwrap();
    assert_eq!(plan.document(), None);
    let steps: Vec<_> = preview
        .steps
        .iter()
        .map(|step| plan.resource(&step.metadata.urn).unwrap().steps.clone())
        .collect();
    assert_eq!(steps, vec![vec![StepOp::Create]; 2]);

    let other = run(held_to(Arc::clone(&plan)), &[("a", "2")]).wait().await;
    let error = other.error.as_ref().unwrap();
    assert_eq!(error.kind(), ErrorKind::Failed);
    assert!(error.message().contains("violates plan"), "{error}");
    assert!(other.plan.is_none());

    let document = GivenPlan::Document(plan.write().await.unwrap().into());
    assert!(plan.document().is_some());
    let update = run(held_to(document), &[("a", "1")]).wait().await;
    assert!(update.error.is_none(), "{:?}", update.error);
    assert!(update.plan.is_none(), "nobody asked an update for one");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_that_is_told_so_keeps_no_plan_and_an_update_that_is_told_so_writes_one() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let run = |generate_plan: bool, dry_run: bool| {
        let options = OperationOptions {
            generate_plan: Some(generate_plan),
            dry_run,
            ..OperationOptions::default()
        };
        stack.start(OperationKind::Update, options, Some(program(&[("a", "1")])))
    };
    assert!(run(false, true).wait().await.plan.is_none());
    let update = run(true, false).wait().await;
    let document = update.plan.as_ref().unwrap().document().unwrap();
    assert!(document.contains("\"resourcePlans\""), "{document}");
}
