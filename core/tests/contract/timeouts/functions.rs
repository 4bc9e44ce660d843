//! Timeouts around code that calls the engine again: components, methods, transforms, hooks and policies.

use super::*;

/// Returns a program with a component, or a call of a method.
fn remote(is_method: bool) -> Arc<dyn Program> {
    from_fn(move |context| async move {
        if is_method {
            let call = MethodCall {
                token: "echo:index:Box/open".to_owned(),
                ..MethodCall::default()
            };
            context.monitor.call_method(call).await?;
        } else {
            let component = Registration {
                resource_type: "echo:index:Box".into(),
                name: "box".to_owned(),
                remote: true,
                ..Registration::default()
            };
            context.monitor.register(component).await?;
        }
        Ok(())
    })
}

const BOX: &str = "urn:pulumi:dev::shop::echo:index:Box::box";

#[tokio::test(flavor = "multi_thread")]
async fn a_component_or_a_method_that_hangs_is_given_up_at_the_timeout_of_the_operation() {
    for (is_method, subject) in [
        (false, format!("construct of {BOX}")),
        (true, "call of echo:index:Box/open".to_owned()),
    ] {
        let provider = Arc::new(Hanging::default());
        let (stack, clock) = stack(Arc::clone(&provider) as _).await;
        let operation = stack.start(OperationKind::Update, limited(), Some(remote(is_method)));
        provider.entered.notified().within("the begin of the call").await;
        clock.pass(OPERATION);
        provider.cancelled.notified().within("the cancellation").await;
        clock.pass(GRACE);
        let result = operation.ended().await;
        let error = result.error.as_ref().unwrap();
        assert_eq!(
            error.message(),
            format!(
                "update canceled, because it did not end within 3600 s: provider `echo` did not return from {subject}"
            )
        );
        assert!(pending(&result).is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_or_a_method_that_hangs_fails_at_the_timeout_of_its_provider() {
    for (is_method, text, phase, urn) in [
        (
            false,
            format!(
                "echo:index:Box resource 'box' has a problem: provider `echo` did not return from construct of {BOX} within 60 s"
            ),
            "construct",
            Some(BOX),
        ),
        (
            true,
            "call to function 'echo:index:Box/open' failed: provider `echo` did not return from call of \
             echo:index:Box/open within 60 s"
                .to_owned(),
            "call",
            None,
        ),
    ] {
        let provider = Arc::new(Hanging::default());
        let (stack, clock) = stack(Arc::clone(&provider) as _).await;
        let options = OperationOptions::default();
        let operation = stack.start(OperationKind::Update, options, Some(remote(is_method)));
        provider.entered.notified().within("the begin of the call").await;
        clock.pass(CALL);
        let result = operation.ended().await;
        let error = result.error.as_ref().unwrap();
        assert!(error.message().contains(&text), "{error}");
        assert_eq!((error.provider(), error.phase()), (Some("echo"), Some(phase)));
        assert_eq!(error.urn().map(Urn::as_str), urn);
        assert_eq!(result.outcome, OperationOutcome::Failed);
        assert!(pending(&result).is_empty());
    }
}

/// A clock that the test sets.
struct Manual(watch::Sender<Duration>);

#[async_trait]
impl Clock for Manual {
    fn now(&self) -> Timestamp {
        SystemClock.now()
    }

    fn elapsed(&self) -> Duration {
        *self.0.borrow()
    }

    async fn wait(&self, duration: Duration) {
        let deadline = self.elapsed() + duration;
        let mut time = self.0.subscribe();
        drop(time.wait_for(|now| *now >= deadline).await);
    }
}

/// Creates resources when the test permits it.
#[derive(Default)]
struct Slow {
    entered: Notify,
    permitted: Notify,
}

impl Provider for Slow {
    async fn handshake(&self, _request: HandshakeRequest) -> ProviderResult<Capabilities> {
        Ok(Capabilities::all())
    }

    async fn create(&self, request: CreateRequest) -> ProviderResult<CreateResponse> {
        self.entered.notify_one();
        self.permitted.notified().await;
        Ok(CreateResponse {
            id: "made".into(),
            outputs: request.inputs,
            ..CreateResponse::default()
        })
    }

    async fn delete(&self, _request: DeleteRequest) -> ProviderResult<()> {
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_timeout_of_a_component_does_not_count_the_time_of_its_children() {
    let time = watch::Sender::new(Duration::ZERO);
    let runtime = Runtime {
        clock: Arc::new(Manual(time.clone())),
        ..Runtime::system(tokio::runtime::Handle::current())
    };
    let plugins = PluginSettings {
        call_timeouts: [("boxes".to_owned(), CALL)].into(),
        ..PluginSettings::default()
    };
    let slow = Arc::new(Slow::default());
    let engine = engine()
        .runtime(runtime)
        .plugins(plugins)
        .provider("boxes", Arc::new(FakeBoxes::with_child(resource("child", "1"))))
        .provider("echo", Arc::clone(&slow) as _);
    let engine = engine.build().unwrap();
    let stack = engine.stack("shop/dev", StackSettings::default()).await.unwrap();
    let program = from_fn(|context| async move {
        let component = Registration {
            resource_type: "boxes:index:Box".into(),
            name: "box".to_owned(),
            remote: true,
            ..Registration::default()
        };
        context.monitor.register(component).await?;
        Ok(())
    });
    let operation = stack.start(OperationKind::Update, OperationOptions::default(), Some(program));
    slow.entered.notified().within("the creation of the child").await;
    for _ in 0..3 {
        time.send_modify(|now| *now += CALL);
        tokio::task::yield_now().await;
    }
    slow.permitted.notify_one();
    let result = operation.ended().await;
    assert!(result.error.is_none(), "{:?}", result.error);
}

/// Never returns.
struct HangingHook(Arc<Notify>);

#[async_trait]
impl ResourceHook for HangingHook {
    async fn run(&self, _call: HookCall) -> stackwright::Result<()> {
        self.0.notify_one();
        std::future::pending().await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_timeout_of_an_operation_names_the_function_that_hangs() {
    for (function, text, phase) in [
        (
            "policy",
            format!("policy slow of policy pack guard did not return from Analyze of {URN}"),
            "policy",
        ),
        (
            "transform",
            "transform 1 of resource 'a' did not return".to_owned(),
            "transform",
        ),
        (
            "hook",
            format!("before hook \"drain\" of {URN} did not return"),
            "hook",
        ),
    ] {
        let (stack, clock) = stack(Arc::new(Scripted::default())).await;
        let entered = Arc::new(Notify::new());
        let mut options = limited();
        if function == "policy" {
            let entered = Arc::clone(&entered);
            let slow = Policy::from_check("slow", move |resource| {
                let hangs = resource.urn.as_str() == URN;
                if hangs {
                    entered.notify_one();
                }
                async move {
                    match hangs {
                        true => std::future::pending().await,
                        false => Ok(Vec::new()),
                    }
                }
            });
            let quick = Policy::from_check("quick", |_| async { Ok(Vec::new()) });
            options.local_policy_packs = vec![PolicyPack::new("guard", vec![quick, slow]).into()];
        }
        let program = {
            let entered = Arc::clone(&entered);
            from_fn(move |context| {
                let entered = Arc::clone(&entered);
                async move {
                    let mut a = resource("a", "1");
                    if function == "transform" {
                        let hangs = move |_: TransformArgs| {
                            entered.notify_one();
                            std::future::pending::<stackwright::Result<Option<TransformArgs>>>()
                        };
                        a.transforms = vec![Arc::new(hangs)];
                    } else if function == "hook" {
                        let hook = Arc::new(HangingHook(entered));
                        context
                            .monitor
                            .register_resource_hook("drain", hook, HookOptions::default())?;
                        let hooks = &mut a.options.resource_hooks;
                        hooks.insert("BeforeCreate".to_owned(), vec!["drain".to_owned()]);
                    }
                    context.monitor.register(a).await?;
                    Ok(())
                }
            })
        };
        let operation = stack.start(OperationKind::Update, options, Some(program));
        entered.notified().within("the call of the function").await;
        clock.pass(OPERATION);
        clock.pass(GRACE);
        let result = operation.ended().await;
        let error = result.error.as_ref().unwrap();
        assert_eq!(
            error.message(),
            format!("update canceled, because it did not end within 3600 s: {text}")
        );
        assert_eq!((error.kind(), error.phase()), (ErrorKind::Cancelled, Some(phase)));
        assert_eq!(
            (error.urn().map(Urn::as_str), error.provider()),
            (Some(URN), None)
        );
        assert!(pending(&result).is_empty(), "{function}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operation_that_takes_too_long_lets_its_calls_complete() {
    let provider = Arc::new(Scripted::default());
    let (stack, clock) = stack(Arc::clone(&provider) as _).await;
    let steps = program(&[("waits", "1"), ("never", "1")]);
    let operation = stack.start(OperationKind::Update, limited(), Some(steps));
    provider.entered.notified().within("the begin of the call").await;
    // The provider ends the call when it is cancelled.
    clock.pass(OPERATION);
    let result = operation.ended().await;
    let error = result.error.as_ref().unwrap();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    let urn = "urn:pulumi:dev::shop::echo:index:Echo::waits";
    let call = format!("provider `echo` did not return from create of {urn}");
    assert_eq!(
        error.message(),
        format!("update canceled, because it did not end within 3600 s: {call}")
    );
    assert_eq!(error.provider(), Some("echo"));
    assert_eq!(
        (error.urn().map(ToString::to_string), error.phase()),
        (Some(urn.to_owned()), Some("create"))
    );
    let names: Vec<_> = result
        .snapshot
        .resources
        .iter()
        .map(|state| state.urn.name())
        .collect();
    assert!(names.contains(&"waits") && !names.contains(&"never"), "{names:?}");
    assert_eq!(pending(&result), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operation_within_its_timeout_is_not_cancelled() {
    let provider: Arc<Scripted> = Arc::default();
    let (stack, clock) = stack(Arc::clone(&provider) as _).await;
    let operation = stack.start(OperationKind::Update, limited(), Some(program(&[("a", "1")])));
    let result = operation.ended().await;
    clock.pass(OPERATION);
    assert!(result.error.is_none(), "{:?}", result.error);
    assert_eq!(result.outcome, OperationOutcome::Succeeded);
}
