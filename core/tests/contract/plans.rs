//! Plans: the plan in a result, and the constraint of a later operation by it.

use std::sync::Arc;

use stackwright::{
    ErrorKind, StackSettings,
    event::EventPayload,
    operation::{OperationKind, OperationOptions},
    plan::GivenPlan,
    program::from_fn,
    step::StepOp,
};
use stackwright_testkit::wait::{Ended as _, Within as _};

use crate::fixture::{Scripted, program, resource, stack};

fn held_to(plan: impl Into<GivenPlan>) -> OperationOptions {
    OperationOptions {
        plan: Some(plan.into()),
        ..OperationOptions::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_returns_a_plan_that_constrains_an_update() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let run = |options: OperationOptions, resources: &'static [(&'static str, &'static str)]| {
        stack.start(OperationKind::Update, options, Some(program(resources)))
    };
    let preview = run(OperationOptions::default().preview(), &[("a", "1")])
        .ended()
        .await;
    let plan = preview.plan.clone().unwrap();
    assert_eq!(plan.document(), None);
    let steps: Vec<_> = preview
        .steps
        .iter()
        .map(|step| plan.resource(&step.step.metadata.urn).unwrap().steps.clone())
        .collect();
    assert_eq!(steps, vec![vec![StepOp::Create]; 2]);

    let other = run(held_to(Arc::clone(&plan)), &[("a", "2")]).ended().await;
    let error = other.error.as_ref().unwrap();
    assert_eq!(error.kind(), ErrorKind::Failed);
    assert!(error.reference_message().contains("violates plan"), "{error}");
    assert!(other.plan.is_none());

    let document = GivenPlan::Document(plan.write().await.unwrap().into());
    assert!(plan.document().is_some());
    let update = run(held_to(document), &[("a", "1")]).ended().await;
    assert!(update.error.is_none(), "{:?}", update.error);
    assert!(update.plan.is_none(), "no plan was requested");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_option_disables_the_plan_of_a_preview_and_enables_that_of_an_update() {
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
    assert!(run(false, true).ended().await.plan.is_none());
    let update = run(true, false).ended().await;
    let document = update.plan.as_ref().unwrap().document().unwrap();
    assert!(document.contains("\"resourcePlans\""), "{document}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_strict_update_is_constrained_by_its_own_preview() {
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
        .ended()
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
    .ended()
    .await;
    assert!(update.error.is_none(), "{:?}", update.error);
    let last = update.snapshot.resources.last().unwrap();
    assert_eq!(last.urn.name(), "other");
    let destroy = run(OperationKind::Destroy, strict(), None).ended().await;
    assert!(destroy.error.is_none(), "{:?}", destroy.error);
    assert!(destroy.snapshot.resources.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_strict_update_whose_preview_fails_reports_the_error_and_changes_nothing() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let options = OperationOptions {
        strict: true,
        ..OperationOptions::default()
    };
    let twice = Some(program(&[("a", "1"), ("a", "2")]));
    let operation = stack.start(OperationKind::Update, options, twice);
    let mut events = operation.events();
    let result = operation.ended().await;
    assert!(result.error.is_some());
    assert!(result.snapshot.resources.is_empty());
    let mut ended = false;
    let mut reported = false;
    while let Some(event) = events.next().within("the next event").await {
        ended = matches!(event.payload, EventPayload::Cancel);
        reported |= matches!(&event.payload, EventPayload::Diagnostic(diagnostic) if diagnostic.message.reference().contains("Duplicate resource URN"));
    }
    assert!(ended && reported);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_operation_is_not_recorded() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let nonsense = held_to(GivenPlan::Document("{}".into()));
    let refused = stack.start(OperationKind::Update, nonsense, Some(program(&[("a", "1")])));
    let error = refused.ended().await.error.clone().unwrap();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(stack.history().await.unwrap().is_empty());
}
