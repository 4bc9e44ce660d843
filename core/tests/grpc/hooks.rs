//! Hooks behind the protocol: their registration, the messages of their calls, and the phase of deletions.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use prost::Message as _;
use stackwright::{ErrorKind, callback::CallbackChannel, operation::OperationResult, program::from_fn};
use stackwright_proto::pulumirpc::{
    Callback, ErrorHookRequest, ErrorHookResponse, RegisterErrorHookRequest, RegisterResourceHookRequest,
    RegisterResourceRequest, ResourceHookRequest, ResourceHookResponse, SupportsFeatureRequest,
    register_resource_request::ResourceHooksBinding, resource_monitor_client::ResourceMonitorClient,
};
use stackwright_testkit::{
    fake::{EchoProvider, FakeCallbackServer},
    wait::Ended as _,
};
use tonic::{Code, Status, transport::Channel};

use crate::fixture::{client, echo, engine, over_loopback, register, stack, update};

/// The calls of hooks, decoded.
type Seen = Arc<Mutex<Vec<ResourceHookRequest>>>;

/// Serves hooks that record their calls; one with the token `refuses` answers with an error, `breaks` with a status.
async fn hooks(seen: &Seen) -> FakeCallbackServer {
    let seen = Arc::clone(seen);
    FakeCallbackServer::serve(move |token, request| {
        let request = ResourceHookRequest::decode(&*request).unwrap();
        seen.lock().unwrap().push(request);
        async move {
            let error = match token.as_str() {
                "refuses" => "not now".to_owned(),
                "breaks" => return Err(Status::unknown("it raised")),
                _ => String::new(),
            };
            Ok(ResourceHookResponse { error }.encode_to_vec())
        }
    })
    .await
}

async fn register_hook(
    client: &mut ResourceMonitorClient<Channel>,
    name: &str,
    target: &str,
) -> Result<(), Status> {
    let request = RegisterResourceHookRequest {
        name: name.to_owned(),
        callback: Some(Callback {
            target: target.to_owned(),
            token: name.to_owned(),
            ..Callback::default()
        }),
        ..RegisterResourceHookRequest::default()
    };
    client.register_resource_hook(request).await.map(drop)
}

/// Returns a registration with a hook before and one after its creation, and one before its deletion.
fn hooked(name: &str, before: &str, after: &str) -> RegisterResourceRequest {
    let names = |name: &str| vec![name.to_owned()];
    RegisterResourceRequest {
        hooks: Some(ResourceHooksBinding {
            before_create: names(before),
            after_create: names(after),
            before_delete: names("drain"),
            ..ResourceHooksBinding::default()
        }),
        ..echo(name, "", "1")
    }
}

fn texts(result: &OperationResult) -> Vec<&str> {
    let diagnostics = result.diagnostics.iter();
    diagnostics
        .map(|diagnostic| diagnostic.message.library())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_of_a_program_in_another_process_are_called_over_one_connection() {
    let seen = Seen::default();
    let server = hooks(&seen).await;
    let target = server.target.clone();
    let program = over_loopback(move |address| {
        let target = target.clone();
        async move {
            let mut client = client(&address).await;
            for id in ["resourceHooks", "errorHooks", "sendsOptionsToHooks"] {
                let request = SupportsFeatureRequest { id: id.to_owned() };
                let answer = client.supports_feature(request).await.unwrap().into_inner();
                assert!(answer.has_support, "{id}");
            }
            for name in ["gate", "note", "drain"] {
                register_hook(&mut client, name, &target).await.unwrap();
            }
            let twice = register_hook(&mut client, "gate", &target).await.unwrap_err();
            assert_eq!(
                (twice.code(), twice.message()),
                (
                    Code::Unknown,
                    "resource hook already registered for name \"gate\""
                )
            );
            let nowhere = register_hook(&mut client, "nowhere", "").await.unwrap_err();
            assert_eq!(nowhere.message(), "target must be specified");
            register(&mut client, hooked("a", "gate", "note")).await.unwrap();
            register(&mut client, hooked("b", "gate", "note")).await.unwrap();
        }
    });
    let provider = Arc::new(EchoProvider::default());
    let stack = stack(&engine(&provider), "shop/dev", program).await;
    let result = update(&stack).await;
    assert!(result.error.is_none(), "{:?}", result.error);
    assert_eq!(server.connections(), 1);
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    assert_eq!(seen.len(), 4);
    let [before, after] = &seen[..2] else { panic!() };
    assert_eq!((before.name.as_str(), before.id.as_str()), ("a", ""));
    assert!(before.new_inputs.is_some() && before.new_outputs.is_none() && before.old_inputs.is_none());
    assert_eq!(after.id, "id-a");
    assert!(after.new_outputs.is_some());
    let options = after.new_options.as_ref().unwrap();
    assert_eq!(options.protect, Some(false));
    assert_eq!(options.hooks.as_ref().unwrap().before_create, ["gate"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_error_of_a_hook_is_that_of_its_response_or_of_its_call() {
    for (before, text) in [
        ("refuses", "before hook \"refuses\" failed: not now"),
        ("breaks", "before hook \"breaks\" failed: it raised"),
    ] {
        let server = hooks(&Seen::default()).await;
        let program = over_loopback(move |address| {
            let target = server.target.clone();
            async move {
                let mut client = client(&address).await;
                for name in [before, "note", "drain"] {
                    register_hook(&mut client, name, &target).await.unwrap();
                }
                let refused = register(&mut client, hooked("a", before, "note")).await;
                assert_eq!(refused.unwrap_err().code(), Code::Unavailable);
            }
        });
        let provider = Arc::new(EchoProvider::default());
        let stack = stack(&engine(&provider), "shop/dev", program).await;
        let result = update(&stack).await;
        assert!(texts(&result).contains(&text), "{:?}", texts(&result));
        assert!(provider.take().is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_waits_for_the_end_serves_hooks_of_deletions() {
    let seen = Seen::default();
    let server = hooks(&seen).await;
    let registers = Arc::new(Mutex::new(true));
    let program = {
        let (server, registers, seen) = (server.clone(), Arc::clone(&registers), Arc::clone(&seen));
        over_loopback(move |address| {
            let target = server.target.clone();
            let (registers, seen) = (*registers.lock().unwrap(), Arc::clone(&seen));
            async move {
                let mut client = client(&address).await;
                for name in ["gate", "note", "drain"] {
                    register_hook(&mut client, name, &target).await.unwrap();
                }
                if registers {
                    register(&mut client, hooked("a", "gate", "note")).await.unwrap();
                }
                client.signal_and_wait_for_shutdown(()).await.unwrap();
                let deleted = seen.lock().unwrap().iter().any(|call| call.new_inputs.is_none());
                assert_eq!(deleted, !registers, "the wait ends after the deletions");
            }
        })
    };
    let provider = Arc::new(EchoProvider::default());
    let stack = stack(&engine(&provider), "shop/dev", program).await;
    let created = update(&stack).await;
    assert!(created.error.is_none(), "{:?}", created.error);
    *registers.lock().unwrap() = false;
    let deleted = update(&stack).await;
    assert!(deleted.error.is_none(), "{:?}", deleted.error);
    assert_eq!(provider.take(), ["create a", "delete a"]);
}

/// Functions in the process of the host.
struct Functions(Seen);

#[async_trait::async_trait]
impl CallbackChannel for Functions {
    async fn invoke(&self, token: &str, request: Vec<u8>) -> stackwright::Result<Vec<u8>> {
        if token == "again" {
            let request = ErrorHookRequest::decode(&*request).unwrap();
            assert_eq!(request.failed_operation, "create");
            return Ok(ErrorHookResponse {
                retry: request.errors.len() < 3,
                ..ErrorHookResponse::default()
            }
            .encode_to_vec());
        }
        let request = ResourceHookRequest::decode(&*request).unwrap();
        self.0.lock().unwrap().push(request);
        // No message.
        Ok(vec![0xff])
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_in_the_hosts_process_are_called_without_a_connection() {
    let seen = Seen::default();
    let functions = Arc::new(Functions(Arc::clone(&seen)));
    let program = from_fn(move |context| {
        let functions = Arc::clone(&functions);
        async move {
            let monitor = context.monitor;
            assert!(monitor.serve_callbacks("in-process", functions));
            let callback = |token: &str| {
                Some(Callback {
                    target: "in-process".to_owned(),
                    token: token.to_owned(),
                    ..Callback::default()
                })
            };
            let gate = RegisterResourceHookRequest {
                name: "gate".to_owned(),
                callback: callback("gate"),
                ..RegisterResourceHookRequest::default()
            };
            let again = RegisterErrorHookRequest {
                name: "again".to_owned(),
                callback: callback("again"),
            };
            let call = |method: &str, request: Vec<u8>| monitor.call(method, Bytes::from(request));
            call("ResourceMonitor/RegisterResourceHook", gate.encode_to_vec()).await?;
            call("ResourceMonitor/RegisterErrorHook", again.encode_to_vec()).await?;
            let request = RegisterResourceRequest {
                hooks: Some(ResourceHooksBinding {
                    before_create: vec!["gate".to_owned()],
                    on_error: vec!["again".to_owned()],
                    ..ResourceHooksBinding::default()
                }),
                ..echo("a", "", "1")
            };
            call("ResourceMonitor/RegisterResource", request.encode_to_vec()).await?;
            Ok(())
        }
    });
    let stack = stack(&engine(&Arc::default()), "shop/dev", program).await;
    let result = stack
        .update(stackwright::operation::OperationOptions::default())
        .ended()
        .await;
    assert_eq!(result.error.as_ref().unwrap().kind(), ErrorKind::Failed);
    let malformed = "before hook \"gate\" failed: it returned a malformed response";
    let found = texts(&result).iter().any(|text| text.starts_with(malformed));
    assert!(found, "{:?}", texts(&result));
    assert_eq!(seen.lock().unwrap().len(), 1);
}
