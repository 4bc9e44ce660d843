//! Plans: what a result keeps of one, and what it holds a later operation to.

use std::sync::Arc;

use stackwright::{
    ErrorKind, StackSettings,
    event::EventPayload,
    operation::{OperationKind, OperationOptions},
    plan::GivenPlan,
    program::from_fn,
    step::StepOp,
};

use crate::fixture::{Scripted, program, resource, stack};

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
        .map(|step| plan.resource(&step.step.metadata.urn).unwrap().steps.clone())
        .collect();
    assert_eq!(steps, vec![vec![StepOp::Create]; 2]);

    let other = run(held_to(Arc::clone(&plan)), &[("a", "2")]).wait().await;
    let error = other.error.as_ref().unwrap();
    assert_eq!(error.kind(), ErrorKind::Failed);
    assert!(error.reference_message().contains("violates plan"), "{error}");
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

#[tokio::test(flavor = "multi_thread")]
async fn a_strict_update_is_held_to_what_its_own_preview_found() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let fickle = from_fn(|context| async move {
        context.monitor.register(resource("shown", "1")).await?;
        if !context.info.dry_run {
            context.monitor.register(resource("hidden", "1")).await?;
        }
        Ok(())
    });
    let strict = || OperationOptions {
        strict: true,
        ..OperationOptions::default()
    };
    let run = |kind, options, program| stack.start(kind, options, program);
    let update = run(OperationKind::Update, strict(), Some(Arc::clone(&fickle)))
        .wait()
        .await;
    let error = update.error.as_ref().unwrap();
    assert!(
        error
            .message()
            .contains("no steps were expected for this resource"),
        "{error}"
    );
    let hidden = |calls: &Vec<String>| calls.contains(&"create hidden".to_owned());
    assert!(!hidden(&provider.calls.lock().unwrap()));
    let update = run(
        OperationKind::Update,
        strict(),
        Some(program(&[("shown", "1"), ("other", "1")])),
    )
    .wait()
    .await;
    assert!(update.error.is_none(), "{:?}", update.error);
    let last = update.snapshot.resources.last().unwrap();
    assert_eq!(last.urn.name(), "other");
    let destroy = run(OperationKind::Destroy, strict(), None).wait().await;
    assert!(destroy.error.is_none(), "{:?}", destroy.error);
    assert!(destroy.snapshot.resources.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_strict_update_whose_preview_fails_says_why_and_touches_nothing() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let options = OperationOptions {
        strict: true,
        ..OperationOptions::default()
    };
    let twice = Some(program(&[("a", "1"), ("a", "2")]));
    let operation = stack.start(OperationKind::Update, options, twice);
    let mut events = operation.events();
    let result = operation.wait().await;
    assert!(result.error.is_some());
    assert!(result.snapshot.resources.is_empty());
    let mut ended = false;
    let mut said = false;
    while let Some(event) = events.next().await {
        ended = matches!(event.payload, EventPayload::Cancel);
        said |= matches!(&event.payload, EventPayload::Diagnostic(said) if said.message.reference().contains("Duplicate resource URN"));
    }
    assert!(ended && said);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operation_that_is_refused_is_not_remembered() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let nonsense = held_to(GivenPlan::Document("{}".into()));
    let refused = stack.start(OperationKind::Update, nonsense, Some(program(&[("a", "1")])));
    let error = refused.wait().await.error.clone().unwrap();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(stack.history().await.unwrap().is_empty());
}
