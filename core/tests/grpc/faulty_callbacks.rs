//! Functions of a program that die, raise, or answer with something else: the texts that the user sees.

use std::sync::Arc;

use futures::future::pending;
use stackwright::{
    Engine,
    operation::{OperationOptions, OperationResult},
    provider::{
        Capabilities, CreateRequest, CreateResponse, DeleteRequest, HandshakeRequest, Provider,
        ProviderError, ProviderResult, ProviderStatus,
    },
    secrets::Base64Provider,
    store::MemoryStore,
};
use stackwright_proto::pulumirpc::{
    Callback, RegisterErrorHookRequest, RegisterResourceHookRequest, RegisterResourceRequest,
    ResourceInvokeRequest, register_resource_request::ResourceHooksBinding,
    resource_monitor_client::ResourceMonitorClient,
};
use stackwright_testkit::{
    fake::{EchoProvider, FakeCallbackServer, FakeProxy},
    wait::{Ended as _, Within as _},
};
use tokio::sync::Notify;
use tonic::{Status, transport::Channel};

use crate::fixture::{client, echo, engine, over_loopback, register, runtime, stack, update};

/// The functions `dies`, `raises`, `garbage` and `wrong`, behind a proxy.
struct Faulty {
    proxy: FakeProxy,
    entered: Arc<Notify>,
    /// Lets a call of `late` return.
    release: Arc<Notify>,
}

impl Faulty {
    async fn serve() -> Self {
        let (entered, release) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (begun, released) = (Arc::clone(&entered), Arc::clone(&release));
        let server = FakeCallbackServer::serve(move |token, _| {
            let (begun, released) = (Arc::clone(&begun), Arc::clone(&released));
            async move {
                begun.notify_one();
                match token.as_str() {
                    "dies" => pending().await,
                    "raises" => Err(Status::unknown("no such region")),
                    // No message at all.
                    "garbage" => Ok(vec![0xff]),
                    // A message whose first field is a number.
                    "wrong" => Ok(vec![0x08, 0x01]),
                    _ => {
                        released.notified().within("the release of the late answer").await;
                        Ok(Vec::new())
                    }
                }
            }
        })
        .await;
        Self {
            proxy: FakeProxy::before(&server.target).await,
            entered,
            release,
        }
    }

    fn callback(&self, token: &str) -> Callback {
        Callback {
            target: self.proxy.address.clone(),
            token: token.to_owned(),
            accepts_byte_string: false,
        }
    }

    /// Cuts the connections once a function has been called.
    async fn die(&self) {
        self.entered.notified().within("the call of the function").await;
        self.proxy.cut();
    }
}

/// The faults of answers, and the text of each.
const ANSWERS: [(&str, &str); 3] = [
    ("raises", "no such region"),
    ("garbage", "it returned a malformed response: "),
    ("wrong", "it returned a malformed response: "),
];

/// Asserts that the text of a failure names the function, which did not answer.
fn assert_died(text: &str, head: &str, faulty: &Faulty) {
    let expected = format!(
        "{head}the program's functions at {} did not answer: ",
        faulty.proxy.address
    );
    assert!(text.starts_with(&expected), "{text}");
}

async fn transform_failures(client: &mut ResourceMonitorClient<Channel>) {
    let transformed = |faulty: &Faulty, token: &str| RegisterResourceRequest {
        transforms: vec![faulty.callback(token)],
        ..echo("a", "", "1")
    };
    let faulty = Faulty::serve().await;
    for (token, text) in ANSWERS {
        let refused = register(client, transformed(&faulty, token)).await.unwrap_err();
        let expected = format!("invoke transform: transform 1 of resource 'a': {text}");
        assert!(refused.message().starts_with(&expected), "{refused}");
        faulty
            .entered
            .notified()
            .within("the call of the transform")
            .await;
    }
    let (refused, ()) = tokio::join!(
        register(client, transformed(&faulty, "dies")).within("the refusal of the registration"),
        faulty.die()
    );
    let head = "invoke transform: transform 1 of resource 'a': ";
    assert_died(refused.unwrap_err().message(), head, &faulty);
}

/// Returns the request to call a function.
fn shout() -> ResourceInvokeRequest {
    ResourceInvokeRequest {
        tok: "echo:index:shout".to_owned(),
        ..ResourceInvokeRequest::default()
    }
}

async fn invoke_transform_failure(address: &str, token: &str) {
    let faulty = Faulty::serve().await;
    let mut client = client(address).await;
    let transform = faulty.callback(token);
    client.register_stack_invoke_transform(transform).await.unwrap();
    let called = client.invoke(shout()).within("the refusal of the call");
    let head = "invoke transform: transform 1 of function 'echo:index:shout': ";
    let answer = ANSWERS.into_iter().find(|(known, _)| *known == token);
    let Some((_, text)) = answer else {
        let (refused, ()) = tokio::join!(called, faulty.die());
        return assert_died(refused.unwrap_err().message(), head, &faulty);
    };
    let refused = called.await.unwrap_err();
    assert!(
        refused.message().starts_with(&format!("{head}{text}")),
        "{refused}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transform_that_dies_or_answers_nonsense_is_named() {
    let program = over_loopback(|address| async move {
        transform_failures(&mut client(&address).await).await;
    });
    let stack = stack(&engine(&Arc::default()), "shop/dev", program).await;
    let result = update(&stack).await;
    assert!(result.error.is_none(), "{:?}", result.error);
    assert!(result.snapshot.resources.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transform_of_functions_that_dies_or_answers_nonsense_is_named() {
    for one in ["raises", "garbage", "wrong", "dies"] {
        let program =
            over_loopback(move |address| async move { invoke_transform_failure(&address, one).await });
        let stack = stack(&engine(&Arc::default()), "shop/dev", program).await;
        let result = update(&stack).await;
        assert!(result.error.is_none(), "{one}: {:?}", result.error);
    }
}

/// Creates nothing.
pub(crate) struct Refuses;

impl Provider for Refuses {
    async fn handshake(&self, _request: HandshakeRequest) -> ProviderResult<Capabilities> {
        Ok(Capabilities::all())
    }

    async fn create(&self, _request: CreateRequest) -> ProviderResult<CreateResponse> {
        Err(ProviderError::new(ProviderStatus::ResourceExhausted, "no quota"))
    }

    async fn delete(&self, _request: DeleteRequest) -> ProviderResult<()> {
        Ok(())
    }
}

/// Registers the function as a hook before a creation, or after a failure; returns the option that names it.
async fn bound(
    client: &mut ResourceMonitorClient<Channel>,
    callback: Callback,
    is_error_hook: bool,
) -> ResourceHooksBinding {
    let (name, callback) = ("gate".to_owned(), Some(callback));
    let names = vec![name.clone()];
    if is_error_hook {
        let hook = RegisterErrorHookRequest { name, callback };
        client.register_error_hook(hook).await.unwrap();
        return ResourceHooksBinding {
            on_error: names,
            ..ResourceHooksBinding::default()
        };
    }
    let hook = RegisterResourceHookRequest {
        name,
        callback,
        ..RegisterResourceHookRequest::default()
    };
    client.register_resource_hook(hook).await.unwrap();
    ResourceHooksBinding {
        before_create: names,
        ..ResourceHooksBinding::default()
    }
}

/// Returns an engine whose provider creates nothing.
fn refusing() -> Engine {
    Engine::builder(tokio::runtime::Handle::current())
        .store(Arc::new(MemoryStore::new(runtime())))
        .secrets(Arc::new(Base64Provider))
        .provider("echo", Arc::new(Refuses))
        .build()
        .unwrap()
}

/// Runs an update whose resource `a` cannot be created, with a hook before its creation or after the failure.
async fn hooked(token: &'static str, is_error_hook: bool) -> (OperationResult, Arc<Faulty>) {
    let faulty = Arc::new(Faulty::serve().await);
    let served = Arc::clone(&faulty);
    let program = over_loopback(move |address| {
        let faulty = Arc::clone(&served);
        async move {
            let mut client = client(&address).await;
            let hooks = bound(&mut client, faulty.callback(token), is_error_hook).await;
            let request = RegisterResourceRequest {
                hooks: Some(hooks),
                ..echo("a", "", "1")
            };
            let registered = register(&mut client, request);
            let refused = if token == "dies" {
                tokio::join!(registered, faulty.die()).0
            } else {
                registered.await
            };
            refused.unwrap_err();
        }
    });
    let engine = refusing();
    let stack = stack(&engine, "shop/dev", program).await;
    let result = update(&stack).await;
    // The provider is called only after the hooks before the step.
    let refused = result
        .diagnostics
        .iter()
        .any(|it| it.message.library().contains("no quota"));
    assert_eq!(refused, is_error_hook, "{token}: {:?}", result.diagnostics);
    (result, faulty)
}

/// Returns the text of the error about a resource.
fn text_about<'a>(result: &'a OperationResult, head: &str) -> &'a str {
    let mut texts = result
        .diagnostics
        .iter()
        .map(|diagnostic| diagnostic.message.library());
    let found = texts.find(|text| text.starts_with(head));
    found.unwrap_or_else(|| panic!("{head}: {:?}", result.diagnostics))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_that_dies_or_answers_nonsense_is_named() {
    let head = "before hook \"gate\" failed: ";
    for (token, text) in ANSWERS {
        let (result, _faulty) = hooked(token, false).await;
        text_about(&result, &format!("{head}{text}"));
    }
    let (result, faulty) = hooked("dies", false).await;
    assert_died(text_about(&result, head), head, &faulty);
    assert!(result.snapshot.pending_operations.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_hook_that_dies_or_answers_nonsense_is_named() {
    let head = "error hooks execution failed: error hook \"gate\" failed: ";
    for (token, text) in ANSWERS {
        let (result, _faulty) = hooked(token, true).await;
        text_about(&result, &format!("{head}{text}"));
    }
    let (result, faulty) = hooked("dies", true).await;
    assert_died(text_about(&result, head), head, &faulty);
}

/// A function that the engine calls.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Function {
    Transform,
    InvokeTransform,
    Hook,
    ErrorHook,
}

/// Cancels a run whose function has been called, and lets the function return after the end of the run.
async fn answer_late(function: Function) {
    let faulty = Arc::new(Faulty::serve().await);
    let served = Arc::clone(&faulty);
    let program = over_loopback(move |address| {
        let faulty = Arc::clone(&served);
        async move {
            let mut client = client(&address).await;
            let mut request = echo("a", "", "1");
            let callback = faulty.callback("late");
            match function {
                Function::InvokeTransform => {
                    client.register_stack_invoke_transform(callback).await.unwrap();
                    client.invoke(shout()).await.unwrap_err();
                    return;
                }
                Function::Transform => request.transforms = vec![callback],
                Function::Hook => request.hooks = Some(bound(&mut client, callback, false).await),
                Function::ErrorHook => request.hooks = Some(bound(&mut client, callback, true).await),
            }
            // The end of the run closes the connection, or refuses the request.
            register(&mut client, request).await.unwrap_err();
        }
    });
    let provider = Arc::new(EchoProvider::default());
    let engine = match function {
        // It runs only after a failure.
        Function::ErrorHook => refusing(),
        _ => engine(&provider),
    };
    let stack = stack(&engine, "shop/dev", program).await;
    let operation = stack.update(OperationOptions::default());
    faulty.entered.notified().within("the call of the function").await;
    operation.cancel();
    let result = operation.ended().await;
    assert!(result.error.is_some(), "{function:?}");
    faulty.release.notify_one();
    engine.close().within("the end of the engine").await;
    assert!(provider.take().is_empty());
    let recorded = result.snapshot.resources.iter();
    assert!(
        recorded.clone().all(|state| state.urn.name() != "a"),
        "{function:?}: {recorded:?}"
    );
    assert!(result.snapshot.pending_operations.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_function_that_answers_after_the_end_of_the_run_changes_nothing() {
    let functions = [
        Function::Transform,
        Function::InvokeTransform,
        Function::Hook,
        Function::ErrorHook,
    ];
    for function in functions {
        answer_late(function).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transform_of_functions_that_answers_after_its_deadline_has_refused_one_call_only() {
    let faulty = Arc::new(Faulty::serve().await);
    let served = Arc::clone(&faulty);
    let program = over_loopback(move |address| {
        let faulty = Arc::clone(&served);
        async move {
            let mut client = client(&address).await;
            let late = faulty.callback("late");
            client.register_stack_invoke_transform(late).await.unwrap();
            let refused = client.invoke(shout()).await.unwrap_err();
            let text = "transform 1 of function 'echo:index:shout': it did not return within 0.3 s";
            assert!(refused.message().contains(text), "{refused}");
            faulty.release.notify_one();
            register(&mut client, echo("a", "", "1")).await.unwrap();
        }
    });
    let provider = Arc::new(EchoProvider::default());
    let stack = stack(&engine(&provider), "shop/dev", program).await;
    let options = OperationOptions {
        callback_timeout: Some(0.3),
        ..OperationOptions::default()
    };
    let result = stack.update(options).ended().await;
    assert!(result.error.is_none(), "{:?}", result.error);
    let names = result.snapshot.resources.iter().map(|state| state.urn.name());
    assert!(
        names.clone().any(|name| name == "a"),
        "{:?}",
        names.collect::<Vec<_>>()
    );
    assert_eq!(provider.take(), ["create a"]);
}
