//! Functions of the host that do not return: the deadline ends them, with an error that names the function.

use std::{future::pending, sync::Arc, time::Duration};

use async_trait::async_trait;
use stackwright::{
    Error, ErrorKind, Result, Stack, StackSettings,
    callback::{ErrorHook, ErrorHookCall},
    diagnostic::Severity,
    monitor::{Invoke, InvokeTransformArgs, MethodCall, Registration},
    operation::{AnalysisOptions, OperationKind, OperationOptions, OperationResult},
    policy::{Policy, PolicyPack},
    program::{Program, from_fn},
    provider::{
        Capabilities, ConstructRequest, ConstructResponse, CreateRequest, CreateResponse, DeleteRequest,
        HandshakeRequest, MethodRequest, MethodResponse, Provider, ProviderError, ProviderResult,
        ProviderStatus,
    },
    runtime::{Clock, Runtime, SystemClock, Timestamp},
};
use stackwright_testkit::{
    clock::SkippingClock,
    wait::{Ended as _, Within as _},
};
use tokio::sync::Notify;

use crate::fixture::{Scripted, engine, resource};

/// A deadline of functions that an operation sets.
const SHORT: Duration = Duration::from_secs(77);

/// A clock on which the deadline of functions passes at once.
struct PastDeadline;

#[async_trait]
impl Clock for PastDeadline {
    fn now(&self) -> Timestamp {
        SystemClock.now()
    }

    fn elapsed(&self) -> Duration {
        SystemClock.elapsed()
    }

    async fn wait(&self, duration: Duration) {
        if ![Duration::from_secs(300), SHORT].contains(&duration) {
            SystemClock.wait(duration).await;
        }
    }
}

struct Hanging;

#[async_trait]
impl ErrorHook for Hanging {
    async fn should_retry(&self, _call: ErrorHookCall) -> Result<bool> {
        pending().await
    }
}

async fn run(program: Arc<dyn Program>, policies: Vec<Policy>) -> Arc<OperationResult> {
    run_with(OperationOptions::default(), program, policies).await
}

/// Returns a stack whose deadlines have passed.
async fn stack() -> Stack {
    let runtime = Runtime {
        clock: Arc::new(PastDeadline),
        ..Runtime::system(tokio::runtime::Handle::current())
    };
    let engine = engine()
        .runtime(runtime)
        .provider("echo", Arc::new(Scripted::default()))
        .build()
        .unwrap();
    engine.stack("shop/dev", StackSettings::default()).await.unwrap()
}

async fn run_with(
    options: OperationOptions,
    program: Arc<dyn Program>,
    policies: Vec<Policy>,
) -> Arc<OperationResult> {
    let stack = stack().await;
    let options = OperationOptions {
        local_policy_packs: vec![PolicyPack::new("guard", policies).into()],
        ..options
    };
    let operation = stack.start(OperationKind::Update, options, Some(program));
    operation.ended().await
}

fn assert_failed(result: &OperationResult, text: &str) {
    let error = result.error.as_ref().unwrap();
    assert!(error.message().contains(text), "{error}");
    assert!(result.snapshot.pending_operations.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transform_of_functions_that_does_not_return_fails_at_its_deadline() {
    let program = from_fn(|context| async move {
        let hangs = |_: InvokeTransformArgs| pending::<Result<Option<InvokeTransformArgs>>>();
        context.monitor.add_invoke_transform(Arc::new(hangs));
        let call = Invoke {
            token: "echo:index:look".to_owned(),
            ..Invoke::default()
        };
        let refused = context.monitor.invoke(call).await.unwrap_err();
        assert_eq!(
            refused.message,
            "invoke transform: transform 1 of function 'echo:index:look': it did not return within 300 s, which is the operation's callback timeout"
        );
        Ok(())
    });
    let result = run(program, Vec::new()).await;
    assert!(result.error.is_none(), "{:?}", result.error);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_hook_that_does_not_return_fails_its_step_at_its_deadline() {
    let program = from_fn(|context| async move {
        context.monitor.register_error_hook("again", Arc::new(Hanging))?;
        let mut hooked = resource("refused", "1");
        let hooks = &mut hooked.options.resource_hooks;
        hooks.insert("OnError".to_owned(), vec!["again".to_owned()]);
        context.monitor.register(hooked).await?;
        Ok(())
    });
    let result = run(program, Vec::new()).await;
    assert_failed(
        &result,
        "error hook \"again\" failed: it did not return within 300 s, which is the operation's callback timeout",
    );
    assert_failed(&result, "refused by the provider");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_that_does_not_return_ends_the_operation_at_its_deadline() {
    let program = from_fn(|context| async move {
        context.monitor.register(resource("a", "1")).await?;
        Ok(())
    });
    for (callback_timeout, seconds) in [(None, 300), (Some(SHORT.as_secs_f64()), 77)] {
        let options = OperationOptions {
            callback_timeout,
            ..OperationOptions::default()
        };
        let hangs = Policy::from_check("slow", |_| pending());
        let result = run_with(options, Arc::clone(&program), vec![hangs]).await;
        let text = format!(
            "policy pack guard: policy slow did not complete Analyze within {seconds} s, which is the callback timeout"
        );
        assert_failed(&result, &text);
        let mut recorded = result.snapshot.resources.iter();
        assert!(recorded.all(|state| state.urn.name() != "a"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_analysis_ends_at_the_deadline_of_a_policy_that_does_not_return() {
    let stack = stack().await;
    let program = from_fn(|context| async move {
        context.monitor.register(resource("a", "1")).await?;
        Ok(())
    });
    let update = stack.start(OperationKind::Update, OperationOptions::default(), Some(program));
    assert!(update.ended().await.error.is_none());
    let hangs = Policy::from_check("slow", |_| pending());
    let error = stack
        .analyze(&AnalysisOptions::new([PolicyPack::new("guard", [hangs])]))
        .await
        .unwrap_err();
    let text = "policy slow did not complete Analyze within 300 s, which is the callback timeout";
    assert!(error.message().contains(text), "{error}");
    let hangs = Policy::from_check("slow", |_| pending());
    let mut options = AnalysisOptions::new([PolicyPack::new("guard", [hangs])]);
    options.callback_timeout = Some(0.05);
    let error = stack.analyze(&options).await.unwrap_err();
    let text = "policy slow did not complete Analyze within 0.05 s, which is the callback timeout";
    assert!(error.message().contains(text), "{error}");
    options.callback_timeout = Some(0.0);
    let error = stack.analyze(&options).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let text = "takes a number of seconds above 0, not 0";
    assert!(error.message().contains(text), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_that_answers_after_the_end_of_the_run_changes_nothing() {
    let (entered, release) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let late = {
        let (entered, release) = (Arc::clone(&entered), Arc::clone(&release));
        Policy::from_check("late", move |_| {
            let (entered, release) = (Arc::clone(&entered), Arc::clone(&release));
            // As code of another language, which runs on when its call is given up.
            let answer = tokio::spawn(async move {
                entered.notify_one();
                release.notified().await;
                vec!["too large".into()]
            });
            async move { Ok(answer.await.unwrap()) }
        })
    };
    let engine = engine()
        .provider("echo", Arc::new(Scripted::default()))
        .build()
        .unwrap();
    let stack = engine.stack("shop/dev", StackSettings::default()).await.unwrap();
    let program = from_fn(|context| async move {
        context.monitor.register(resource("a", "1")).await?;
        Ok(())
    });
    let options = OperationOptions {
        local_policy_packs: vec![PolicyPack::new("guard", vec![late]).into()],
        ..OperationOptions::default()
    };
    let operation = stack.start(OperationKind::Update, options, Some(program));
    entered.notified().within("the call of the policy").await;
    operation.cancel();
    operation.cancel();
    let result = operation.ended().await;
    release.notify_one();
    assert_eq!(result.error.as_ref().unwrap().kind(), ErrorKind::Cancelled);
    assert!(
        result
            .snapshot
            .resources
            .iter()
            .all(|state| state.urn.name() != "a")
    );
    engine.close().within("the end of the engine").await;
}

/// Refuses to create, and never returns from components and methods once they have begun.
#[derive(Default)]
struct Silent {
    begun: Arc<Notify>,
}

impl Provider for Silent {
    async fn handshake(&self, _request: HandshakeRequest) -> ProviderResult<Capabilities> {
        Ok(Capabilities::all())
    }

    async fn create(&self, _request: CreateRequest) -> ProviderResult<CreateResponse> {
        Err(ProviderError::new(ProviderStatus::ResourceExhausted, "no quota"))
    }

    async fn delete(&self, _request: DeleteRequest) -> ProviderResult<()> {
        Ok(())
    }

    async fn construct(&self, _request: ConstructRequest) -> ProviderResult<ConstructResponse> {
        self.begun.notify_one();
        pending().await
    }

    async fn call_method(&self, _request: MethodRequest) -> ProviderResult<MethodResponse> {
        self.begun.notify_one();
        pending().await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_or_a_method_that_does_not_return_holds_up_no_run_that_has_failed() {
    let cases = [
        ("construct of urn:pulumi:dev::shop::echo:index:Box::box", true),
        ("call of echo:index:Box/open", false),
    ];
    for (called, is_component) in cases {
        let silent = Silent::default();
        let begun = Arc::clone(&silent.begun);
        let runtime = Runtime {
            // The wait that a stopped run has for code ends at once.
            clock: Arc::new(SkippingClock(|wait| (25..=30).contains(&wait.as_secs()))),
            ..Runtime::system(tokio::runtime::Handle::current())
        };
        let engine = engine().runtime(runtime).provider("echo", Arc::new(silent));
        let engine = engine.build().unwrap();
        let stack = engine.stack("shop/dev", StackSettings::default()).await.unwrap();
        let program = from_fn(move |context| {
            let begun = Arc::clone(&begun);
            async move {
                let code = async {
                    if is_component {
                        let remote = Registration {
                            remote: true,
                            resource_type: "echo:index:Box".into(),
                            name: "box".to_owned(),
                            ..Registration::default()
                        };
                        context.monitor.register(remote).await.map(drop)
                    } else {
                        let call = MethodCall {
                            token: "echo:index:Box/open".to_owned(),
                            ..MethodCall::default()
                        };
                        context.monitor.call_method(call).await.map(drop)
                    }
                };
                let fails = async {
                    begun.notified().await;
                    context.monitor.register(resource("a", "1")).await.map(drop)
                };
                let (code, failed) = tokio::join!(code, fails);
                code.and(failed).map_err(Error::from)
            }
        });
        let operation = stack.start(OperationKind::Update, OperationOptions::default(), Some(program));
        let result = operation.ended().await;
        assert_failed(&result, "no quota");
        let warning = format!(
            "provider `echo` did not return from {called} within 30 s after the run had been stopped, and is waited for no longer"
        );
        let mut diagnostics = result.diagnostics.iter();
        assert!(
            diagnostics
                .any(|found| found.severity == Severity::Warning && found.message.library() == warning),
            "{:?}",
            result.diagnostics
        );
        let resources = result.snapshot.resources.iter();
        let names: Vec<&str> = resources.map(|state| state.urn.name()).collect();
        assert!(!names.contains(&"box") && !names.contains(&"a"), "{names:?}");
        assert!(result.snapshot.pending_operations.is_empty());
    }
}
