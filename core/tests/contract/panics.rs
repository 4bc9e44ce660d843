//! Functions of the host that panic: the error names the function, and the stack is free afterwards.

use std::sync::Arc;

use async_trait::async_trait;
use stackwright::{
    Error, ErrorKind, Result, StackSettings,
    callback::{ErrorHook, ErrorHookCall},
    monitor::{Invoke, InvokeTransformArgs, MethodCall, Registration, TransformArgs},
    operation::{OperationKind, OperationOptions, OperationResult},
    policy::{Policy, PolicyPack},
    program::{Program, from_fn},
    provider::{
        Capabilities, ConstructRequest, ConstructResponse, CreateRequest, CreateResponse, DeleteRequest,
        HandshakeRequest, MethodRequest, MethodResponse, Provider, ProviderError, ProviderResult,
        ProviderStatus,
    },
};
use stackwright_testkit::wait::Ended as _;

use crate::fixture::{engine, resource};

/// Creates nothing, and panics in components and methods.
struct Panicking;

impl Provider for Panicking {
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
        panic!("on purpose")
    }

    async fn call_method(&self, _request: MethodRequest) -> ProviderResult<MethodResponse> {
        panic!("on purpose")
    }
}

#[async_trait]
impl ErrorHook for Panicking {
    async fn should_retry(&self, _call: ErrorHookCall) -> Result<bool> {
        panic!("on purpose")
    }
}

/// Runs an update, and another one that finds the stack free.
async fn run(program: Arc<dyn Program>, policies: Vec<Policy>) -> Arc<OperationResult> {
    let engine = engine().provider("echo", Arc::new(Panicking)).build().unwrap();
    let stack = engine.stack("shop/dev", StackSettings::default()).await.unwrap();
    let options = OperationOptions {
        local_policy_packs: vec![PolicyPack::new("guard", policies).into()],
        ..OperationOptions::default()
    };
    let operation = stack.start(OperationKind::Update, options, Some(program));
    let result = operation.ended().await;
    let empty = from_fn(|_| async { Ok(()) });
    let again = stack.start(OperationKind::Update, OperationOptions::default(), Some(empty));
    let again = again.ended().await;
    assert!(again.error.is_none(), "{:?}", again.error);
    result
}

fn assert_failed(result: &OperationResult, text: &str) {
    let error = result.error.as_ref().unwrap();
    assert!(error.message().contains(text), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transform_that_panics_is_named_and_refuses_the_request_alone() {
    let program = from_fn(|context| async move {
        let panics = |_: TransformArgs| async { panic!("on purpose") };
        let transformed = Registration {
            transforms: vec![Arc::new(panics)],
            ..resource("a", "1")
        };
        let refused = context.monitor.register(transformed).await.unwrap_err();
        assert_eq!(
            refused.message,
            "invoke transform: transform 1 of resource 'a': it panicked"
        );
        let panics = |_: InvokeTransformArgs| async { panic!("on purpose") };
        context.monitor.add_invoke_transform(Arc::new(panics));
        let call = Invoke {
            token: "echo:index:look".to_owned(),
            ..Invoke::default()
        };
        let refused = context.monitor.invoke(call).await.unwrap_err();
        assert_eq!(
            refused.message,
            "invoke transform: transform 1 of function 'echo:index:look': it panicked"
        );
        Ok(())
    });
    let result = run(program, Vec::new()).await;
    assert!(result.error.is_none(), "{:?}", result.error);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_hook_that_panics_is_named_and_the_error_of_the_step_is_kept() {
    let program = from_fn(|context| async move {
        context
            .monitor
            .register_error_hook("again", Arc::new(Panicking))?;
        let mut hooked = resource("a", "1");
        let hooks = &mut hooked.options.resource_hooks;
        hooks.insert("OnError".to_owned(), vec!["again".to_owned()]);
        context.monitor.register(hooked).await?;
        Ok(())
    });
    let result = run(program, Vec::new()).await;
    assert_failed(&result, "error hook \"again\" failed: it panicked");
    assert_failed(&result, "no quota");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_that_panics_is_named() {
    let program = from_fn(|context| async move {
        context.monitor.register(resource("a", "1")).await?;
        Ok(())
    });
    let panics = Policy::from_check("broken", |_| async { panic!("on purpose") });
    let result = run(program, vec![panics]).await;
    assert_failed(
        &result,
        "policy pack guard: policy broken failed during Analyze: it panicked",
    );
    assert!(result.snapshot.pending_operations.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_or_a_method_that_panics_is_named() {
    let component = from_fn(|context| async move {
        let remote = Registration {
            resource_type: "echo:index:Box".into(),
            name: "box".to_owned(),
            remote: true,
            ..Registration::default()
        };
        context.monitor.register(remote).await?;
        Err(Error::new(ErrorKind::Program, "the component was constructed"))
    });
    let result = run(component, Vec::new()).await;
    assert_failed(
        &result,
        "echo:index:Box resource 'box' has a problem: it panicked",
    );
    let method = from_fn(|context| async move {
        let call = MethodCall {
            token: "echo:index:Box/open".to_owned(),
            ..MethodCall::default()
        };
        context.monitor.call_method(call).await?;
        Err(Error::new(ErrorKind::Program, "the method was called"))
    });
    let result = run(method, Vec::new()).await;
    assert_failed(
        &result,
        "call to function 'echo:index:Box/open' failed: it panicked",
    );
}
