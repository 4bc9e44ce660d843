//! Transforms of the host: their order, what they change, how they fail, and registrations that refer to resources whose
//! transforms still run.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use stackwright::{
    Error, ErrorKind, Result, Stack, StackSettings,
    event::OperationOutcome,
    monitor::{
        Invoke, InvokeTransformArgs, Monitor, Registration, ResourceTransform, TransformArgs,
        TransformOptions,
    },
    operation::{OperationKind, OperationOptions, OperationResult},
    program::{Program, from_fn},
    property::{Output, PropertyMap, PropertyValue},
    provider::{
        Capabilities, ConstructRequest, ConstructResponse, CreateRequest, CreateResponse, DeleteRequest,
        HandshakeRequest, Provider, ProviderResult,
    },
    resource::{PropertyDependencies, ResourceState},
    runtime::Runtime,
    secrets::Base64Provider,
    store::MemoryStore,
    urn::Urn,
};
use stackwright_testkit::{
    clock::SkippingClock,
    wait::{Ended as _, Within as _},
};
use tokio::sync::{Notify, Semaphore};

use crate::fixture::{Scripted, engine, resource, stack};

pub(crate) async fn update(stack: &Stack, program: Arc<dyn Program>) -> Arc<OperationResult> {
    let operation = stack.start(OperationKind::Update, OperationOptions::default(), Some(program));
    operation.ended().await
}

pub(crate) fn record<'a>(result: &'a OperationResult, name: &str) -> &'a ResourceState {
    assert!(result.error.is_none(), "{:?}", result.error);
    let mut records = result.snapshot.resources.iter();
    records.find(|state| state.urn.name() == name).unwrap()
}

fn component(name: &str) -> Registration {
    Registration {
        resource_type: "echo:index:Box".into(),
        name: name.to_owned(),
        ..Registration::default()
    }
}

fn urn(name: &str) -> Urn {
    Urn::new("dev", "shop", "", "echo:index:Echo", name)
}

/// Appends its label to the input `value`.
fn appends(label: &'static str) -> Arc<dyn ResourceTransform> {
    Arc::new(move |mut args: TransformArgs| async move {
        let value = args
            .inputs
            .get("value")
            .and_then(PropertyValue::as_str)
            .unwrap_or_default();
        let value = format!("{value} {label}");
        args.inputs.insert("value", value.as_str().into());
        Ok(Some(args))
    })
}

/// Waits for a permit before it returns.
fn waits(permits: &Arc<Semaphore>) -> Arc<dyn ResourceTransform> {
    let permits = Arc::clone(permits);
    Arc::new(move |_: TransformArgs| {
        let permits = Arc::clone(&permits);
        async move {
            permits.acquire().await.unwrap().forget();
            Ok(None)
        }
    })
}

fn fails(message: &'static str) -> Arc<dyn ResourceTransform> {
    Arc::new(move |_: TransformArgs| async move { Err(Error::new(ErrorKind::Program, message)) })
}

#[tokio::test(flavor = "multi_thread")]
async fn own_transforms_run_first_then_those_above_from_the_nearest_and_those_of_the_stack_last() {
    let stack = stack(&Arc::new(Scripted::default()), StackSettings::default()).await;
    let program = from_fn(|context| async move {
        let monitor = &context.monitor;
        let outer = monitor.register(Registration {
            transforms: vec![appends("outer")],
            ..component("outer")
        });
        let outer = outer.await?.urn;
        let middle = Registration {
            parent: Some(outer),
            ..component("middle")
        };
        let middle = monitor.register(middle).await?.urn;
        let inner = monitor.register(Registration {
            parent: Some(middle),
            transforms: vec![appends("inner")],
            ..component("inner")
        });
        let inner = inner.await?.urn;
        monitor.add_transform(appends("stack1"));
        monitor.add_transform(appends("stack2"));
        let registered = monitor.register(Registration {
            parent: Some(inner),
            transforms: vec![appends("own1"), appends("own2")],
            ..resource("a", "given")
        });
        registered.await?;
        monitor.register(resource("b", "given")).await?;
        Ok(())
    });
    let result = update(&stack, program).await;
    let value = |name: &str| record(&result, name).inputs.get("value").cloned();
    assert_eq!(
        value("a"),
        Some("given own1 own2 inner outer stack1 stack2".into())
    );
    assert_eq!(value("b"), Some("given stack1 stack2".into()));
    assert_eq!(
        value("inner"),
        Some(" inner outer".into()),
        "before the stack had transforms"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transform_changes_every_option_but_type_name_and_parent() {
    let stack = stack(&Arc::new(Scripted::default()), StackSettings::default()).await;
    let program = from_fn(|context| async move {
        let other = context.monitor.register(resource("other", "1")).await?.urn;
        let change = move |mut args: TransformArgs| {
            let mut options = TransformOptions {
                protect: Some(true),
                retain_on_delete: Some(true),
                depends_on: vec![other.clone()],
                ..args.options.clone()
            };
            options.others.deleted_with = Some(other.clone());
            options.others.additional_secret_outputs = vec!["value".to_owned()];
            async move {
                args.resource_type = "echo:index:Other".into();
                args.name = "renamed".to_owned();
                args.custom = false;
                args.parent = None;
                args.options = options;
                Ok(Some(args))
            }
        };
        context.monitor.add_transform(Arc::new(change));
        context.monitor.register(resource("a", "1")).await?;
        Ok(())
    });
    let result = update(&stack, program).await;
    let state = record(&result, "a");
    assert!(state.protect && state.retain_on_delete && state.custom);
    assert_eq!(state.urn, urn("a"));
    assert_eq!(state.parent, Some(Urn::root_stack("dev", "shop")));
    assert_eq!(state.dependencies, [urn("other")]);
    assert_eq!(state.options.deleted_with, Some(urn("other")));
    assert!(state.outputs.get("value").unwrap().is_secret());
}

#[tokio::test(flavor = "multi_thread")]
async fn dependencies_reach_own_transforms_in_output_values_and_come_back_out_of_them() {
    let stack = stack(&Arc::new(Scripted::default()), StackSettings::default()).await;
    let program = from_fn(|context| async move {
        let monitor = &context.monitor;
        let a = monitor.register(resource("a", "1")).await?.urn;
        let b = monitor.register(resource("b", "1")).await?.urn;
        let change = move |mut args: TransformArgs| {
            let seen = match args.inputs.get("value") {
                Some(PropertyValue::Output(output)) => output.dependencies.clone(),
                other => panic!("{other:?}"),
            };
            assert_eq!(seen, std::slice::from_ref(&a));
            let added = Output {
                element: Some("added".into()),
                secret: true,
                dependencies: vec![b.clone()],
            };
            args.inputs
                .insert("added", PropertyValue::Output(Arc::new(added)));
            async move { Ok(Some(args)) }
        };
        monitor
            .register(Registration {
                dependencies: vec![urn("a")],
                property_dependencies: Some(PropertyDependencies::from([("value".into(), vec![urn("a")])])),
                transforms: vec![Arc::new(change)],
                ..resource("c", "1")
            })
            .await?;
        Ok(())
    });
    let result = update(&stack, program).await;
    let state = record(&result, "c");
    assert_eq!(state.dependencies, [urn("a"), urn("b")]);
    let expected = [("added".into(), vec![urn("b")]), ("value".into(), vec![urn("a")])];
    assert_eq!(state.property_dependencies, PropertyDependencies::from(expected));
    let expected: PropertyMap = [
        ("added", PropertyValue::secret("added".into())),
        ("value", "1".into()),
    ]
    .into_iter()
    .collect();
    assert_eq!(state.inputs, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn registrations_and_reads_wait_for_the_claims_of_resources_whose_transforms_still_run() {
    let stack = stack(&Arc::new(Scripted::default()), StackSettings::default()).await;
    let program = from_fn(|context| async move {
        let monitor = &context.monitor;
        let permits = Arc::new(Semaphore::new(0));
        let parent = monitor.register(Registration {
            transforms: vec![waits(&permits)],
            ..component("parent")
        });
        let parent_urn = Urn::new("dev", "shop", "", "echo:index:Box", "parent");
        let child = monitor.register(Registration {
            parent: Some(parent_urn),
            ..component("child")
        });
        let child_urn = Urn::new("dev", "shop", "echo:index:Box", "echo:index:Box", "child");
        let dependent = monitor.register(Registration {
            dependencies: vec![child_urn.clone()],
            ..resource("dependent", "1")
        });
        let read = monitor.read(stackwright::monitor::Read {
            resource_type: "echo:index:Echo".into(),
            name: "read".to_owned(),
            id: "id-read".into(),
            dependencies: vec![urn("dependent")],
            ..stackwright::monitor::Read::default()
        });
        let last = monitor.register(Registration {
            dependencies: vec![urn("read")],
            ..resource("last", "1")
        });
        // The parent is transformed for itself, and the child by the same transform.
        permits.add_permits(2);
        parent.await?;
        assert_eq!(child.await?.urn, child_urn);
        futures::future::try_join3(dependent, read, last).await?;
        Ok(())
    });
    let result = update(&stack, program).await;
    assert_eq!(record(&result, "last").dependencies, [urn("read")]);
    let order: Vec<_> = result
        .snapshot
        .resources
        .iter()
        .map(|state| state.urn.name())
        .collect();
    let place = |name: &str| order.iter().position(|other| *other == name).unwrap();
    assert!(place("parent") < place("child") && place("child") < place("dependent"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_transform_refuses_the_registration_and_names_resource_and_transform() {
    let stack = stack(&Arc::new(Scripted::default()), StackSettings::default()).await;
    let program = from_fn(|context| async move {
        let monitor = &context.monitor;
        let parent = Registration {
            transforms: vec![appends("fine")],
            ..component("parent")
        };
        let parent = monitor.register(parent).await?.urn;
        let own = Registration {
            transforms: vec![appends("fine"), fails("no such region")],
            parent: Some(parent.clone()),
            ..resource("a", "1")
        };
        let refused = monitor.register(own).await.unwrap_err();
        assert_eq!(
            refused.message,
            "invoke transform: transform 2 of resource 'a': no such region"
        );
        monitor.add_transform(fails("not allowed"));
        let refused = monitor.register(resource("b", "1")).await.unwrap_err();
        assert_eq!(
            refused.message,
            "invoke transform: transform 1 of the stack for resource 'b': not allowed"
        );
        Ok(())
    });
    let result = update(&stack, program).await;
    assert!(result.error.is_none(), "{:?}", result.error);
    let names: Vec<_> = result
        .snapshot
        .resources
        .iter()
        .map(|state| state.urn.name())
        .collect();
    assert!(!names.contains(&"a") && !names.contains(&"b"), "{names:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_of_one_transform_is_redacted_in_the_failure_of_the_next() {
    let program = from_fn(|context| async move {
        let marks = |mut args: TransformArgs| {
            args.inputs
                .insert("token", PropertyValue::secret("hunter2".into()));
            async move { Ok(Some(args)) }
        };
        let registration = Registration {
            transforms: vec![Arc::new(marks), fails("refused: hunter2")],
            ..resource("a", "1")
        };
        let refused = context.monitor.register(registration).await.unwrap_err();
        assert!(refused.message.contains("refused: "), "{}", refused.message);
        Err(refused.into())
    });
    let stack = stack(&Arc::new(Scripted::default()), StackSettings::default()).await;
    let result = update(&stack, program).await;
    let texts = format!("{:?} {:?}", result.error, result.diagnostics);
    assert!(
        texts.contains("refused: ") && !texts.contains("hunter2"),
        "{texts}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_run_does_not_wait_for_a_transform() {
    let stack = stack(&Arc::new(Scripted::default()), StackSettings::default()).await;
    let entered = Arc::new(Notify::new());
    let notified = Arc::clone(&entered);
    let program = from_fn(move |context| {
        let notified = Arc::clone(&notified);
        async move {
            let hangs = move |_: TransformArgs| {
                notified.notify_one();
                std::future::pending::<Result<Option<TransformArgs>>>()
            };
            context.monitor.add_transform(Arc::new(hangs));
            let registered = context.monitor.register(resource("a", "1"));
            tokio::select! {
                answer = registered => drop(answer),
                () = context.ended() => {}
            }
            Ok(())
        }
    });
    let operation = stack.start(OperationKind::Update, OperationOptions::default(), Some(program));
    entered.notified().within("the begin of the transform").await;
    operation.cancel();
    let result = operation.ended().await;
    assert_eq!(result.outcome, OperationOutcome::Canceled);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transform_that_does_not_return_fails_at_its_deadline() {
    let handle = tokio::runtime::Handle::current();
    let runtime = Runtime {
        clock: Arc::new(SkippingClock(|wait| wait >= Duration::from_secs(300))),
        ..Runtime::system(handle.clone())
    };
    let engine = stackwright::Engine::builder(handle)
        .runtime(runtime.clone())
        .store(Arc::new(MemoryStore::new(runtime)))
        .secrets(Arc::new(Base64Provider))
        .provider("echo", Arc::new(Scripted::default()))
        .build()
        .unwrap();
    let stack = engine.stack("shop/dev", StackSettings::default()).await.unwrap();
    let program = from_fn(|context| async move {
        let hangs = |_: TransformArgs| std::future::pending::<Result<Option<TransformArgs>>>();
        let hangs = Registration {
            transforms: vec![Arc::new(hangs)],
            ..resource("a", "1")
        };
        let refused = context.monitor.register(hangs).await.unwrap_err();
        assert_eq!(
            refused.message,
            "invoke transform: transform 1 of resource 'a': it did not return within 300 s, which is the operation's callback timeout"
        );
        Ok(())
    });
    let result = update(&stack, program).await;
    assert!(result.error.is_none(), "{:?}", result.error);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transform_that_names_a_provider_of_another_package_is_refused() {
    let stack = stack(&Arc::new(Scripted::default()), StackSettings::default()).await;
    let program = from_fn(|context| async move {
        let other = "urn:pulumi:dev::shop::pulumi:providers:other::p::1";
        let elsewhere = move |mut args: TransformArgs| async move {
            args.options.package.provider = other.to_owned();
            Ok(Some(args))
        };
        let moved = Registration {
            transforms: vec![Arc::new(elsewhere)],
            ..resource("a", "1")
        };
        let refused = context.monitor.register(moved).await.unwrap_err();
        assert_eq!(
            refused.message,
            "invoke transform: transform 1 of resource 'a': provider is a provider of the package \"other\" for the package \"echo\""
        );
        context
            .monitor
            .add_invoke_transform(Arc::new(move |mut args: InvokeTransformArgs| async move {
                args.package.provider = other.to_owned();
                Ok(Some(args))
            }));
        let invoke = Invoke {
            token: "echo:index:find".to_owned(),
            ..Invoke::default()
        };
        let refused = context.monitor.invoke(invoke).await.unwrap_err();
        assert_eq!(
            refused.message,
            "invoke transform: transform 1 of function 'echo:index:find': provider is a provider of the package \"other\" for the package \"echo\""
        );
        Ok(())
    });
    let result = update(&stack, program).await;
    assert!(result.error.is_none(), "{:?}", result.error);
}

#[tokio::test(flavor = "multi_thread")]
async fn transforms_of_functions_run_one_call_after_the_other_and_change_arguments_and_provider() {
    let stack = stack(&Arc::new(Scripted::default()), StackSettings::default()).await;
    let most = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&most);
    let program = from_fn(move |context| {
        let seen = Arc::clone(&seen);
        async move {
            let running = Arc::new(AtomicUsize::new(0));
            let adds = move |mut args: InvokeTransformArgs| {
                let (running, seen) = (Arc::clone(&running), Arc::clone(&seen));
                async move {
                    seen.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    tokio::task::yield_now().await;
                    running.fetch_sub(1, Ordering::SeqCst);
                    args.arguments.insert("added", args.token.as_str().into());
                    Ok(Some(args))
                }
            };
            context.monitor.add_invoke_transform(Arc::new(adds));
            let invoke = |number: usize| {
                let monitor = context.monitor.clone();
                tokio::spawn(monitor.invoke(Invoke {
                    token: format!("echo:index:f{number}"),
                    ..Invoke::default()
                }))
            };
            let calls = futures::future::join_all((0..20).map(invoke)).await;
            for (number, result) in calls.into_iter().enumerate() {
                let result = result.unwrap()?;
                assert_eq!(
                    result.get("added"),
                    Some(&format!("echo:index:f{number}").as_str().into())
                );
            }
            let misnamed = |mut args: InvokeTransformArgs| async move {
                args.package.provider = "nonsense".to_owned();
                Ok(Some(args))
            };
            context.monitor.add_invoke_transform(Arc::new(misnamed));
            let refused = context.monitor.invoke(Invoke {
                token: "echo:index:f".to_owned(),
                ..Invoke::default()
            });
            let refused = refused.await.unwrap_err();
            assert!(
                refused.message.contains("could not parse provider reference"),
                "{refused}"
            );
            let fails = |_: InvokeTransformArgs| async { Err(Error::new(ErrorKind::Program, "not now")) };
            context.monitor.add_invoke_transform(Arc::new(fails));
            let refused = context.monitor.invoke(Invoke {
                token: "echo:index:f".to_owned(),
                ..Invoke::default()
            });
            assert_eq!(
                refused.await.unwrap_err().message,
                "invoke transform: transform 3 of function 'echo:index:f': not now"
            );
            Ok(())
        }
    });
    let result = update(&stack, program).await;
    assert!(result.error.is_none(), "{:?}", result.error);
    assert_eq!(most.load(Ordering::SeqCst), 1);
}

/// Calls a function of the package.
fn call(token: &str) -> Invoke {
    Invoke {
        token: token.to_owned(),
        arguments: [("asked", token.into())].into_iter().collect(),
        ..Invoke::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_in_a_transform_of_functions_is_not_transformed() {
    let stack = stack(&Arc::new(Scripted::default()), StackSettings::default()).await;
    let program = from_fn(|context| async move {
        let monitor = context.monitor.clone();
        let asks = move |mut args: InvokeTransformArgs| {
            let answer = monitor.invoke(call("echo:index:inner"));
            async move {
                // Without the transform's argument, or another call of itself.
                let answer = answer.await?;
                assert_eq!(answer, call("echo:index:inner").arguments);
                args.arguments.insert("added", "x".into());
                Ok(Some(args))
            }
        };
        context.monitor.add_invoke_transform(Arc::new(asks));
        for _ in 0..2 {
            let answer = context.monitor.invoke(call("echo:index:outer")).await?;
            assert_eq!(answer.get("added"), Some(&"x".into()));
        }
        // A task of the transform states it.
        let marked = Invoke {
            in_transform: true,
            ..call("echo:index:inner")
        };
        assert_eq!(
            context.monitor.invoke(marked).await?,
            call("echo:index:inner").arguments
        );
        Ok(())
    });
    let result = update(&stack, program).await;
    assert!(result.error.is_none(), "{:?}", result.error);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_may_come_from_a_transform_does_not_wait_for_it_for_ever() {
    let runtime = Runtime {
        clock: Arc::new(SkippingClock(|wait| wait <= Duration::from_secs(5))),
        ..Runtime::system(tokio::runtime::Handle::current())
    };
    let engine = engine()
        .runtime(runtime)
        .provider("echo", Arc::new(Scripted::default()));
    let engine = engine.build().unwrap();
    let stack = engine.stack("shop/dev", StackSettings::default()).await.unwrap();
    let program = from_fn(|context| async move {
        let monitor = context.monitor.clone();
        let asks = move |mut args: InvokeTransformArgs| {
            let monitor = monitor.clone();
            async move {
                if args.token == "echo:index:outer" {
                    // Another task, as a program behind the protocol has.
                    let answer = tokio::spawn(async move { monitor.invoke(call("echo:index:inner")).await });
                    let answer = answer.await.unwrap()?;
                    assert_eq!(answer.get("added"), Some(&"echo:index:inner".into()));
                }
                args.arguments.insert("added", args.token.as_str().into());
                Ok(Some(args))
            }
        };
        context.monitor.add_invoke_transform(Arc::new(asks));
        let answer = context.monitor.invoke(call("echo:index:outer")).await?;
        assert_eq!(answer.get("added"), Some(&"echo:index:outer".into()));
        Ok(())
    });
    let result = update(&stack, program).await;
    assert!(result.error.is_none(), "{:?}", result.error);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_error_of_a_program_whose_transform_failed_has_the_resource_and_the_cause() {
    let stack = stack(&Arc::new(Scripted::default()), StackSettings::default()).await;
    let program = from_fn(|context| async move {
        let fails = |_: TransformArgs| async { Err(Error::new(ErrorKind::Program, "not now")) };
        let a = Registration {
            transforms: vec![Arc::new(fails)],
            ..resource("a", "1")
        };
        context.monitor.register(a).await?;
        Ok(())
    });
    let result = update(&stack, program).await;
    let error = result.error.as_ref().unwrap();
    assert!(
        error.message().contains("transform 1 of resource 'a': not now"),
        "{error}"
    );
    assert_eq!((error.urn(), error.phase()), (Some(&urn("a")), Some("transform")));
    let cause = std::error::Error::source(error).map(ToString::to_string);
    assert_eq!(cause.as_deref(), Some("not now"));
}

/// Constructs components with one child each.
#[derive(Default)]
struct Boxes(Mutex<Vec<PropertyMap>>);

impl Provider for Boxes {
    async fn handshake(&self, _request: HandshakeRequest) -> ProviderResult<Capabilities> {
        Ok(Capabilities::all())
    }

    async fn create(&self, request: CreateRequest) -> ProviderResult<CreateResponse> {
        Ok(CreateResponse {
            id: request.name.into(),
            outputs: request.inputs,
            refresh_before_update: false,
        })
    }

    async fn delete(&self, _request: DeleteRequest) -> ProviderResult<()> {
        Ok(())
    }

    async fn construct(&self, request: ConstructRequest) -> ProviderResult<ConstructResponse> {
        self.0.lock().unwrap().push(request.inputs.clone());
        let monitor = Monitor::of(&request.monitor).unwrap();
        let inner = monitor.register(Registration {
            parent: request.parent.clone(),
            no_parent: request.parent.is_none(),
            inputs: request.inputs.clone(),
            resource_type: request.resource_type.clone(),
            name: request.name.clone(),
            transforms: vec![appends("inner")],
            ..Registration::default()
        });
        let inner = inner.await.unwrap().urn;
        let child = monitor.register(Registration {
            resource_type: "boxes:index:Item".into(),
            custom: true,
            parent: Some(inner.clone()),
            ..resource(&format!("{}-item", request.name), "child")
        });
        child.await.unwrap();
        Ok(ConstructResponse {
            urn: inner,
            outputs: PropertyMap::new(),
            output_dependencies: PropertyDependencies::new(),
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn transforms_of_a_remote_component_run_for_it_for_the_registration_of_its_provider_and_below() {
    let provider = Arc::new(Boxes::default());
    let builder = engine().provider("boxes", Arc::clone(&provider) as _);
    let engine = builder
        .provider("echo", Arc::new(Scripted::default()))
        .build()
        .unwrap();
    let stack = engine.stack("shop/dev", StackSettings::default()).await.unwrap();
    let program = from_fn(|context| async move {
        let a = context.monitor.register(resource("a", "1")).await?.urn;
        let remote = Registration {
            resource_type: "boxes:index:Box".into(),
            name: "box".to_owned(),
            remote: true,
            inputs: [("kept", "x".into())].into_iter().collect(),
            dependencies: vec![a],
            transforms: vec![appends("t")],
            ..Registration::default()
        };
        let outer = context.monitor.register(remote).await?;
        let plain = Registration {
            resource_type: "boxes:index:Box".into(),
            name: "plain".to_owned(),
            remote: true,
            ..Registration::default()
        };
        context.monitor.register(plain).await?;
        // Another registration of that type does not get them.
        let other = Registration {
            resource_type: "boxes:index:Box".into(),
            name: "other".to_owned(),
            ..Registration::default()
        };
        context.monitor.register(other).await?;
        assert_eq!(outer.urn.name(), "box");
        Ok(())
    });
    let result = update(&stack, program).await;
    let value = |name: &str| record(&result, name).inputs.get("value").cloned();
    assert_eq!(
        value("box"),
        Some(" t t".into()),
        "once outside, and once inside in the place of those that the provider gives"
    );
    assert_eq!(value("box-item"), Some("child t".into()));
    assert_eq!(value("plain"), Some(" inner".into()), "those of the provider");
    assert_eq!(value("plain-item"), Some("child inner".into()));
    assert_eq!(value("other"), None);
    let given = provider.0.lock().unwrap().swap_remove(0);
    let kept = given.get("kept").unwrap();
    assert!(
        matches!(kept, PropertyValue::Output(output) if output.dependencies == [urn("a")]),
        "{kept:?}"
    );
}
