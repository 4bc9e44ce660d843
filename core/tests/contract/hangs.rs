//! Functions of the host that do not return: the deadline ends them, with an error that names the function.

use std::{future::pending, sync::Arc, time::Duration};

use async_trait::async_trait;
use stackwright::{
    Result, StackSettings,
    callback::{ErrorHook, ErrorHookCall},
    monitor::{Invoke, InvokeTransformArgs},
    operation::{OperationKind, OperationOptions, OperationResult},
    policy::{Policy, PolicyPack},
    program::{Program, from_fn},
    runtime::{Clock, Runtime, SystemClock, Timestamp},
};
use stackwright_testkit::wait::Ended as _;

use crate::fixture::{Scripted, engine, resource};

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
        if duration != Duration::from_secs(300) {
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
    let runtime = Runtime {
        clock: Arc::new(PastDeadline),
        ..Runtime::system(tokio::runtime::Handle::current())
    };
    let engine = engine()
        .runtime(runtime)
        .provider("echo", Arc::new(Scripted::default()))
        .build()
        .unwrap();
    let stack = engine.stack("shop/dev", StackSettings::default()).await.unwrap();
    let options = OperationOptions {
        local_policy_packs: vec![PolicyPack::new("guard", policies).into()],
        ..OperationOptions::default()
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
    let hangs = Policy::from_check("slow", |_| pending());
    let result = run(program, vec![hangs]).await;
    let text = "policy pack guard: policy slow did not complete Analyze within 300 s";
    assert_failed(&result, text);
    assert!(
        result
            .snapshot
            .resources
            .iter()
            .all(|state| state.urn.name() != "a")
    );
}
