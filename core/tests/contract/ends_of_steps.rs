//! How steps end in events and results: with a component whose code fails, and with resources that are deleted with others.

use std::sync::Arc;

use stackwright::{
    Stack, StackSettings,
    event::{EventPayload, StepStatus},
    monitor::{MethodCall, Registration},
    operation::{OperationKind, OperationOptions, OperationResult},
    program::{Program, from_fn},
    resource::ResourceOptions,
    step::StepOp,
};
use stackwright_testkit::{
    fake::FakeBoxes,
    wait::{Ended as _, Within as _},
};

use crate::fixture::{Scripted, engine, resource, stack};

fn box_named(name: &str) -> Registration {
    Registration {
        resource_type: "box:index:Box".into(),
        name: name.to_owned(),
        remote: true,
        ..Registration::default()
    }
}

fn with_box(name: &'static str) -> Arc<dyn Program> {
    from_fn(move |context| async move {
        let registered = context.monitor.register(box_named(name)).await?;
        let open = MethodCall {
            token: "box:index:Box/open".to_owned(),
            of: Some(registered.urn),
            ..MethodCall::default()
        };
        context.monitor.call_method(open).await?;
        Ok(())
    })
}

/// Returns the steps on a resource, with how they ended.
fn steps_of(result: &OperationResult, name: &str) -> Vec<(StepOp, StepStatus)> {
    let steps = result.steps.iter();
    let own = steps.filter(|step| step.step.metadata.urn.name() == name);
    own.map(|step| (step.step.metadata.op, step.status())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_whose_code_fails_is_created_as_far_as_it_is_registered_and_else_refused() {
    let created = (StepOp::Create, StepStatus::Succeeded);
    let table = [
        (
            "early",
            vec![(StepOp::Create, StepStatus::Refused)],
            "no more wood",
        ),
        ("late", vec![created], "no more wood"),
        ("fine", vec![created], "it is stuck"),
    ];
    for (name, steps, cause) in table {
        let engine = engine()
            .provider("box", Arc::new(FakeBoxes::default()))
            .build()
            .unwrap();
        let stack = engine.stack("shop/dev", StackSettings::default()).await.unwrap();
        let options = OperationOptions::default();
        let result = stack.start(OperationKind::Update, options.clone(), Some(with_box(name)));
        let result = result.ended().await;
        let error = result.error.as_ref().unwrap();
        assert!(error.message().contains(cause), "{error}");
        assert_eq!(error.urn().map(|urn| urn.name()), Some(name));
        assert_eq!(steps_of(&result, name), steps, "{name}\n{}", result.tree());
        // An unchanged component has no step at all.
        let again = stack.start(OperationKind::Update, options, Some(with_box(name)));
        let again = again.ended().await;
        let expected = if name == "early" { steps } else { Vec::new() };
        assert_eq!(steps_of(&again, name), expected, "{name}\n{}", again.tree());
    }
}

/// A thing, another one inside it, and one inside that.
fn nested() -> Arc<dyn Program> {
    from_fn(|context| async move {
        let mut host = None;
        for name in ["host", "inner", "innermost"] {
            let options = ResourceOptions {
                deleted_with: host.take(),
                ..ResourceOptions::default()
            };
            let registration = Registration {
                options: options.into(),
                ..resource(name, "1")
            };
            host = Some(context.monitor.register(registration).await?.urn);
        }
        Ok(())
    })
}

/// Returns the deletions in the events of a destroy, with their begins and ends, and the result.
async fn destroyed(stack: &Stack) -> (Vec<String>, Arc<OperationResult>) {
    let operation = stack.start(OperationKind::Destroy, OperationOptions::default(), None);
    let mut stream = operation.events();
    let mut seen = Vec::new();
    while let Some(event) = stream.next().within("an event").await {
        let (what, step) = match &event.payload {
            EventPayload::ResourcePre(step) => ("begins", step),
            EventPayload::ResourceOutputs(step) => ("has ended", step),
            EventPayload::ResourceOperationFailed { step, .. } => ("has failed", step),
            _ => continue,
        };
        if step.metadata.urn.resource_type() == "echo:index:Echo" {
            seen.push(format!("{} {what}", step.metadata.urn.name()));
        }
    }
    (seen, operation.ended().await)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_with_that_of_a_host_ends_in_events_as_the_host_does() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let made = stack.start(OperationKind::Update, OperationOptions::default(), Some(nested()));
    assert!(made.ended().await.error.is_none());
    *provider.failure.lock().unwrap() = Some(ProviderStatus::FailedPrecondition);
    let (seen, failed) = destroyed(&stack).await;
    let begins = ["innermost begins", "inner begins", "host begins"];
    assert_eq!(seen[..3], begins);
    assert_eq!(
        seen[3..],
        ["host has failed", "innermost has failed", "inner has failed"]
    );
    // Nothing is counted or listed as deleted, and everything is recorded.
    assert_eq!(failed.changes.get("delete"), None, "{}", failed.tree());
    assert!(steps_of(&failed, "inner").is_empty());
    assert_eq!(steps_of(&failed, "host"), [(StepOp::Delete, StepStatus::Failed)]);
    let recorded = failed.snapshot.resources.iter();
    assert_eq!(
        recorded
            .filter(|state| state.urn.resource_type() == "echo:index:Echo")
            .count(),
        3
    );
    *provider.failure.lock().unwrap() = None;
    let (seen, deleted) = destroyed(&stack).await;
    assert_eq!(seen[..3], begins);
    assert_eq!(
        seen[3..],
        ["innermost has ended", "inner has ended", "host has ended"]
    );
    assert!(deleted.error.is_none() && deleted.snapshot.resources.is_empty());
    assert_eq!(
        steps_of(&deleted, "inner"),
        [(StepOp::Delete, StepStatus::Succeeded)]
    );
}
