//! Registrations: each is a separate task, and each is answered, refused, or left unanswered.

use std::sync::{Arc, Mutex, atomic::Ordering};

use stackwright::{
    Error, ErrorKind, Stack, StackSettings,
    event::StepStatus,
    monitor::{Invoke, Monitor, Read, Registration},
    operation::{OperationKind, OperationOptions, OperationResult},
    program::{Program, from_fn},
    property::{Asset, AssetSource, PropertyValue},
    resource::ResourceState,
    step::StepOp,
    urn::Urn,
};

use crate::fixture::{Scripted, program, resource, stack};

fn names(result: &OperationResult) -> Vec<&str> {
    let provided = result.snapshot.resources.iter();
    let custom = provided.filter(|state| state.custom && !state.is_provider());
    custom.map(|state| state.urn.name()).collect()
}

async fn update(stack: &Stack, program: Arc<dyn Program>) -> Arc<OperationResult> {
    let operation = stack.start(OperationKind::Update, OperationOptions::default(), Some(program));
    operation.wait().await
}

/// Returns an asset whose file does not exist.
fn nowhere() -> PropertyValue {
    let asset = Asset {
        hash: "".into(),
        source: AssetSource::Path("/nowhere/at/all".to_owned()),
    };
    PropertyValue::Asset(Arc::new(asset))
}

fn succeeded(result: &OperationResult) {
    assert!(result.error.is_none(), "{:?}", result.error);
    assert!(result.snapshot.pending_operations.is_empty());
}

async fn destroyed(stack: &Stack) {
    let result = stack.destroy(OperationOptions::default()).wait().await;
    succeeded(&result);
    assert!(result.snapshot.resources.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registration_continues_when_its_caller_is_dropped() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let scripted = Arc::clone(&provider);
    let program = from_fn(move |context| {
        let provider = Arc::clone(&scripted);
        async move {
            drop(context.monitor.register(resource("never awaited", "1")));
            let waiting = tokio::spawn(context.monitor.register(resource("waits", "1")));
            provider.entered.notified().await;
            waiting.abort();
            assert!(waiting.await.is_err());
            provider.given_up.notify_one();
            Ok(())
        }
    });
    let result = update(&stack, program).await;
    succeeded(&result);
    let mut names = names(&result);
    names.sort_unstable();
    assert_eq!(names, ["never awaited", "waits"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invoke_that_is_dropped_leaves_its_default_provider_to_the_next_one() {
    let provider = Arc::new(Scripted::default());
    provider.configure_waits.store(true, Ordering::SeqCst);
    let stack = stack(&provider, StackSettings::default()).await;
    let scripted = Arc::clone(&provider);
    let program = from_fn(move |context| {
        let provider = Arc::clone(&scripted);
        async move {
            let monitor = context.monitor.clone();
            let invoking = tokio::spawn(async move {
                let invoke = Invoke {
                    token: "echo:index:lookup".to_owned(),
                    ..Invoke::default()
                };
                monitor.invoke(invoke).await
            });
            provider.entered.notified().await;
            invoking.abort();
            assert!(invoking.await.is_err());
            provider.given_up.notify_one();
            context.monitor.register(resource("a", "1")).await?;
            Ok(())
        }
    });
    let result = update(&stack, program).await;
    succeeded(&result);
    assert_eq!(names(&result), ["a"]);
}

fn read(name: &str, dependencies: Vec<Urn>) -> Read {
    Read {
        resource_type: "echo:index:Echo".into(),
        name: name.to_owned(),
        id: "7".into(),
        dependencies,
        ..Read::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_with_an_unknown_dependency_is_refused() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let program = from_fn(|context| async move {
        let ghost = Urn::parse("urn:pulumi:dev::shop::echo:index:Echo::ghost")?;
        context.monitor.read(read("r", vec![ghost])).await?;
        Ok(())
    });
    let result = update(&stack, program).await;
    let error = result.error.clone().unwrap();
    assert!(error.message().contains("refers to missing resource"), "{error}");
    assert!(names(&result).is_empty());
    destroyed(&stack).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn registrations_and_reads_that_depend_on_a_failed_resource_are_skipped() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let program = from_fn(|context| async move {
        let refused = context.monitor.register(resource("refused", "1")).await?;
        assert!(refused.failed && !refused.skipped);
        let read = context.monitor.read(read("r", vec![refused.urn.clone()])).await?;
        assert!(read.failed && read.skipped);
        let dependent = Registration {
            dependencies: vec![refused.urn],
            ..resource("dependent", "1")
        };
        let dependent = context.monitor.register(dependent).await?;
        assert!(dependent.failed && dependent.skipped);
        Ok(())
    });
    let options = OperationOptions {
        continue_on_error: true,
        ..OperationOptions::default()
    };
    let operation = stack.start(OperationKind::Update, options, Some(program));
    let result = operation.wait().await;
    let error = result.error.clone().unwrap();
    assert!(error.message().contains("refused by the provider"), "{error}");
    assert!(names(&result).is_empty());
    destroyed(&stack).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registration_refused_for_its_asset_can_be_repeated() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let first = program(&[("a", "1"), ("b", "1")]);
    succeeded(&*update(&stack, first).await);
    let program = from_fn(|context| async move {
        for name in ["a", "b"] {
            let mut missing = resource(name, "1");
            missing.inputs.insert("file", nowhere());
            let refused = context.monitor.register(missing).await.unwrap_err();
            assert!(refused.message.contains("/nowhere/at/all"), "{}", refused.message);
        }
        // The program may register it again with an existing file.
        context.monitor.register(resource("a", "1")).await?;
        Ok(())
    });
    let result = update(&stack, program).await;
    succeeded(&result);
    assert_eq!(names(&result), ["a"]);
    assert!(provider.calls.lock().unwrap().contains(&"delete b".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registration_that_waits_for_a_refused_one_is_refused() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let program = from_fn(|context| async move {
        let mut missing = resource("a", "1");
        missing.inputs.insert("file", nowhere());
        let refused = context.monitor.register(missing);
        let a = Urn::parse("urn:pulumi:dev::shop::echo:index:Echo::a")?;
        let dependent = Registration {
            dependencies: vec![a],
            ..resource("dependent", "1")
        };
        let dependent = context.monitor.register(dependent);
        assert!(refused.await.is_err());
        dependent.await?;
        Ok(())
    });
    let error = update(&stack, program).await.error.clone().unwrap();
    assert!(error.message().contains("refers to missing resource"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn registrations_are_refused_once_the_deletions_have_begun() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    provider.given_up.notify_one();
    let first = program(&[("waits", "1")]);
    succeeded(&*update(&stack, first).await);
    provider.entered.notified().await;
    let kept: Arc<Mutex<Option<Monitor>>> = Arc::default();
    let program = from_fn({
        let kept = Arc::clone(&kept);
        move |context| {
            *kept.lock().unwrap() = Some(context.monitor.clone());
            async { Ok(()) }
        }
    });
    let operation = stack.start(OperationKind::Update, OperationOptions::default(), Some(program));
    provider.entered.notified().await;
    let monitor = kept.lock().unwrap().clone().unwrap();
    let late = monitor.register(resource("waits", "2")).await.unwrap_err();
    assert_eq!(
        late.message,
        "resource monitor shut down while sending resource registration"
    );
    let late = monitor.read(read("r", Vec::new())).await.unwrap_err();
    assert!(late.is_shut_down());
    let late = monitor.invoke(Invoke {
        token: "echo:index:lookup".to_owned(),
        ..Invoke::default()
    });
    assert!(late.await.unwrap_err().is_shut_down());
    provider.given_up.notify_one();
    let result = operation.wait().await;
    succeeded(&result);
    assert!(names(&result).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recorded_provider_stays_while_a_resource_refers_to_it() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let reference: Arc<Mutex<String>> = Arc::default();
    let explicit = from_fn({
        let reference = Arc::clone(&reference);
        move |context| {
            let reference = Arc::clone(&reference);
            async move {
                let base = context.monitor.register(resource("base", "1")).await?;
                let explicit = Registration {
                    resource_type: "pulumi:providers:echo".into(),
                    dependencies: vec![base.urn],
                    ..resource("explicit", "1")
                };
                let explicit = context.monitor.register(explicit).await?;
                *reference.lock().unwrap() = format!("{}::{}", explicit.urn, explicit.id);
                let mut user = resource("a", "1");
                user.package.provider.clone_from(&reference.lock().unwrap());
                context.monitor.register(user).await?;
                Ok(())
            }
        }
    });
    succeeded(&*update(&stack, explicit).await);
    // The program now only refers to it, in a recorded resource and in a new one.
    let named = from_fn({
        let reference = Arc::clone(&reference);
        move |context| {
            let reference = reference.lock().unwrap().clone();
            async move {
                for name in ["a", "b"] {
                    let mut user = resource(name, "1");
                    user.package.provider.clone_from(&reference);
                    context.monitor.register(user).await?;
                }
                Ok(())
            }
        }
    });
    let result = update(&stack, named).await;
    succeeded(&result);
    let is_explicit = |state: &Arc<ResourceState>| state.urn.name() == "explicit";
    assert!(result.snapshot.resources.iter().any(is_explicit));
    let mut names = names(&result);
    names.sort_unstable();
    assert_eq!(names, ["a", "b", "base"]);
    // Without references it is deleted, after its resources and before its dependencies.
    let result = update(&stack, program(&[])).await;
    succeeded(&result);
    assert!(!result.snapshot.resources.iter().any(is_explicit));
    let calls = provider.calls.lock().unwrap();
    assert_eq!(calls[..3], ["create base", "create a", "create b"]);
    assert_eq!(calls.last().unwrap(), "delete base");
}

/// Registers `base` and, concurrently, its dependent.
fn pair(value: &'static str) -> Arc<dyn Program> {
    from_fn(move |context| async move {
        let base = context.monitor.register(resource("base", value));
        let urn = Urn::parse("urn:pulumi:dev::shop::echo:index:Echo::base")?;
        let mut tied = resource("tied", value);
        tied.property_dependencies = Some([("value".into(), vec![urn.clone()])].into_iter().collect());
        tied.dependencies = vec![urn];
        let tied = context.monitor.register(tied);
        base.await?;
        tied.await?;
        Ok(())
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dependent_that_waits_for_a_replacement_is_deleted_before_it() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    succeeded(&*update(&stack, pair("1")).await);
    succeeded(&*update(&stack, pair("2")).await);
    assert_eq!(
        *provider.calls.lock().unwrap(),
        [
            "create base",
            "create tied",
            "delete tied",
            "delete base",
            "create base",
            "create tied"
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn unsupported_hooks_are_refused_by_name() {
    let provider = Arc::new(Scripted::default());
    let stack = stack(&provider, StackSettings::default()).await;
    let hooked = from_fn(|context| async move {
        let text = br#"{"type": "echo:index:Echo", "name": "a", "inputs": {"value": "1"},
            "resourceHooks": {"BeforeDelete": ["drain"]}}"#;
        context.monitor.register(Registration::from_json(text)?).await?;
        Ok(())
    });
    let result = update(&stack, hooked).await;
    let error = result.error.clone().unwrap();
    let refusal = "resource hooks of resource 'a' are not supported by this engine";
    assert!(error.message().contains(refusal), "{error}");
    assert!(names(&result).is_empty());
}

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
            .wait()
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
            let result = operation.wait().await;
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
