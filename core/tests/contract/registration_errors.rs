//! Registrations and declarations that are refused, and their place among the steps.

use std::sync::Arc;

use stackwright::{
    Error, ErrorKind, StackSettings,
    event::StepStatus,
    monitor::Registration,
    operation::{OperationKind, OperationOptions, OperationResult},
    program::{Program, from_fn},
    step::StepOp,
};
use stackwright_testkit::wait::Ended as _;

use crate::{
    fixture::{Scripted, program, resource, stack},
    registration::{destroyed, names, succeeded, update},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_component_with_a_wrong_provider_is_refused_before_it_has_children() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let program = from_fn(|context| async move {
        let wrong = Registration {
            resource_type: "my:index:Box".into(),
            name: "box".to_owned(),
            providers: [("echo".to_owned(), "no-reference".to_owned())].into(),
            ..Registration::default()
        };
        let status = context.monitor.register(wrong).await.unwrap_err();
        assert_eq!(
            (status.code, status.message.as_str()),
            (2, "could not parse provider reference: \"no-reference\"")
        );
        Ok(())
    });
    let result = update(&stack, program).await;
    succeeded(&result);
    assert!(
        result
            .snapshot
            .resources
            .iter()
            .all(|state| state.urn.name() != "box")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_custom_resource_may_publish_outputs_of_its_own_once() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let publishing = |times: usize| {
        from_fn(move |context| async move {
            let registered = context.monitor.register(resource("a", "1")).await?;
            for _ in 0..times {
                let outputs = [("url", "here".into())].into_iter().collect();
                context.monitor.register_outputs(&registered.urn, outputs).await?;
            }
            Ok(())
        })
    };
    let outputs = |result: &OperationResult| {
        let a = result
            .snapshot
            .resources
            .iter()
            .find(|state| state.urn.name() == "a");
        a.unwrap().outputs.get("url").cloned()
    };
    let result = update(&stack, publishing(1)).await;
    succeeded(&result);
    assert_eq!(outputs(&result), Some("here".into()));
    let result = update(&stack, publishing(2)).await;
    let error = result.error.clone().unwrap();
    assert!(
        error.message().contains("whose registration isn't pending"),
        "{error}"
    );
    destroyed(&stack).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_declaration_of_a_binding_fails_the_run_although_the_program_continues() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let result = update(&stack, program(&[("a", "1"), ("b", "1")])).await;
    succeeded(&result);
    for continue_on_error in [false, true] {
        let program = from_fn(|context| async move {
            context.monitor.register(resource("a", "1")).await?;
            for text in ["`b` has the unknown option `protct`", "another"] {
                context.monitor.declaration_unreadable(&Error::invalid(text));
            }
            Ok(())
        });
        let options = OperationOptions {
            continue_on_error,
            ..OperationOptions::default()
        };
        let result = stack
            .start(OperationKind::Update, options, Some(program))
            .ended()
            .await;
        let error = result.error.as_ref().unwrap();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert_eq!(error.message(), "`b` has the unknown option `protct`");
        assert_eq!(
            names(&result),
            ["a", "b"],
            "resources with invalid declarations are not deleted"
        );
    }
    assert!(
        !provider
            .calls
            .lock()
            .unwrap()
            .iter()
            .any(|call| call.starts_with("delete"))
    );
}

/// Registers a component with the child `child`.
fn below_a_component(child: Registration) -> Arc<dyn Program> {
    let child = Arc::new(child);
    from_fn(move |context| {
        let child = Arc::clone(&child);
        async move {
            let component = Registration {
                resource_type: "shop:index:Box".into(),
                name: "box".to_owned(),
                ..Registration::default()
            };
            let parent = context.monitor.register(component).await?;
            let child = Registration {
                parent: Some(parent.urn.clone()),
                ..Registration::clone(&child)
            };
            context.monitor.register(child.clone()).await?;
            context.monitor.register(child).await?;
            Ok(())
        }
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registration_refused_before_its_step_is_in_the_steps_and_in_the_tree() {
    let missing = Registration {
        resource_type: "absent:index:Thing".into(),
        ..resource("needs", "1")
    };
    for (child, refusal) in [
        (resource("unchecked", "1"), "cannot check that"),
        (missing, "plugin `absent` was not found"),
        (resource("twice", "1"), "Duplicate resource URN"),
    ] {
        let provider = Arc::new(Scripted::default());
        let stack = stack(&provider, StackSettings::default()).await;
        let name = child.name.clone();
        for dry_run in [true, false] {
            let program = Some(below_a_component(child.clone()));
            let options = OperationOptions {
                dry_run,
                ..OperationOptions::default()
            };
            let operation = stack.start(OperationKind::Update, options, program);
            let result = operation.ended().await;
            let steps = result.steps.iter();
            let refused: Vec<_> = steps
                .filter(|step| step.status() == StepStatus::Refused)
                .collect();
            let [step] = refused.as_slice() else {
                panic!("{name}: {:?}", result.steps)
            };
            let error = &step.failure.as_ref().unwrap().error;
            assert!(error.message().contains(refusal), "{name}: {error}");
            assert_eq!(step.step.metadata.urn.name(), name);
            assert_eq!(step.step.metadata.op, StepOp::Create, "{name}");
            let tree = result.tree();
            let below = tree.lines().skip_while(|line| !line.contains("─ box (")).nth(1);
            let row = below.unwrap_or_default();
            assert!(
                row.contains(&format!("─ {name} (")) && row.starts_with(" ! "),
                "{tree}"
            );
            assert_eq!(tree.matches(refusal).count(), 2, "the row and the error:\n{tree}");
        }
    }
}
