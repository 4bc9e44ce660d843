//! Transforms behind the protocol: functions of a program in another process, called over gRPC.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use prost::Message as _;
use stackwright::{operation::OperationResult, program::from_fn, resource::ResourceState};
use stackwright_proto::{
    pulumirpc::{
        Alias, Callback, RegisterResourceRequest, RegisterResourceResponse, ResourceInvokeRequest,
        SupportsFeatureRequest, TransformInvokeOptions, TransformInvokeRequest, TransformInvokeResponse,
        TransformRequest, TransformResourceOptions, TransformResponse, alias,
        register_resource_request::PropertyDependencies, resource_monitor_client::ResourceMonitorClient,
    },
    values::{Struct, Value, value::Kind},
};
use stackwright_testkit::fake::{EchoProvider, FakeCallbacks, FakeProxy};
use tonic::{Code, Status, transport::Channel};

use crate::fixture::{client, echo, engine, over_loopback, register, root, stack, text, update};

/// The signature of special values, and that of output values.
const SIGNATURE: (&str, &str) = (
    "4dabf18193072939515e22adb298388d",
    "d0e6a833031e9bbcd3f4e8bde6ca49a4",
);

fn callback(target: &str, token: &str) -> Callback {
    Callback {
        target: target.to_owned(),
        token: token.to_owned(),
        accepts_byte_string: false,
    }
}

fn with(properties: Option<Struct>, name: &str, value: Value) -> Option<Struct> {
    let mut properties = properties.unwrap_or_default();
    properties.fields.insert(name.to_owned(), value);
    Some(properties)
}

fn record<'a>(result: &'a OperationResult, name: &str) -> &'a ResourceState {
    assert!(result.error.is_none(), "{:?}", result.error);
    let mut records = result.snapshot.resources.iter();
    records.find(|state| state.urn.name() == name).unwrap()
}

/// Returns the members of an output value.
fn output(value: &Value) -> &Struct {
    match &value.kind {
        Some(Kind::StructValue(members)) if members.fields[SIGNATURE.0] == text(SIGNATURE.1) => members,
        other => panic!("{other:?}"),
    }
}

/// Adds an input, protects the resource and makes the output `value` secret.
fn changed(request: TransformRequest) -> TransformResponse {
    let options = TransformResourceOptions {
        protect: Some(true),
        additional_secret_outputs: vec!["value".to_owned()],
        ..request.options.unwrap()
    };
    TransformResponse {
        properties: with(request.properties, "added", text("new")),
        options: Some(options),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn own_transforms_get_output_values_and_all_options_and_change_them() {
    let seen = Arc::new(Mutex::new(Vec::<TransformRequest>::new()));
    let requests = Arc::clone(&seen);
    let program = over_loopback(move |address| {
        let requests = Arc::clone(&requests);
        async move {
            let target = FakeCallbacks::default()
                .with("changes", move |request: TransformRequest| {
                    requests.lock().unwrap().push(request.clone());
                    async move { Ok(changed(request)) }
                })
                .with("leaves", |_: TransformRequest| async {
                    Ok(TransformResponse::default())
                })
                .serve()
                .await;
            let mut client = client(&address).await;
            for (name, has) in [
                ("transforms", true),
                ("invokeTransforms", true),
                ("stateMigrations", false),
            ] {
                let feature = SupportsFeatureRequest { id: name.to_owned() };
                let response = client.supports_feature(feature).await.unwrap().into_inner();
                assert_eq!(response.has_support, has, "{name}");
            }
            let root = root(&mut client, "shop", "dev").await;
            let a = register(&mut client, echo("a", &root, "1")).await.unwrap().urn;
            let transformed = RegisterResourceRequest {
                dependencies: vec![a.clone()],
                property_dependencies: [(
                    "value".to_owned(),
                    PropertyDependencies {
                        urns: vec![a.clone()],
                    },
                )]
                .into(),
                ignore_changes: vec!["other".to_owned()],
                aliases: vec![Alias {
                    alias: Some(alias::Alias::Urn(
                        "urn:pulumi:dev::shop::echo:index:Echo::former".to_owned(),
                    )),
                }],
                alias_specs: true,
                transforms: vec![callback(&target, "changes"), callback(&target, "leaves")],
                ..echo("b", &root, "1")
            };
            register(&mut client, transformed).await.unwrap();
        }
    });
    let stack = stack(&engine(&Arc::new(EchoProvider::default())), "shop/dev", program).await;
    let result = update(&stack).await;
    let state = record(&result, "b");
    assert!(state.protect);
    assert_eq!(state.inputs.get("added"), Some(&"new".into()));
    assert_eq!(state.dependencies, [record(&result, "a").urn.clone()]);
    assert_eq!(
        state.property_dependencies.get("value"),
        Some(&state.dependencies[..])
    );
    assert_eq!(state.property_dependencies.get("added"), Some(&[][..]));
    assert!(state.outputs.get("value").unwrap().is_secret());
    let request = seen.lock().unwrap().pop().unwrap();
    assert_eq!(
        (request.r#type.as_str(), request.name.as_str()),
        ("echo:index:Echo", "b")
    );
    assert!(request.custom && request.parent.ends_with("shop-dev"));
    let options = request.options.unwrap();
    assert_eq!(options.ignore_changes, ["other"]);
    assert_eq!((options.depends_on.len(), options.aliases.len()), (1, 1));
    let properties = request.properties.unwrap();
    let value = output(&properties.fields["value"]);
    assert_eq!(value.fields["value"], text("1"));
    assert!(value.fields.contains_key("dependencies"));
}

async fn failures_name_resource_and_transform(
    client: &mut ResourceMonitorClient<Channel>,
    root: &str,
    target: &str,
) {
    for (token, message) in [
        ("fails", "no such region"),
        ("absent", "there is no function absent"),
        ("garbage", "inputs.value: "),
    ] {
        let request = RegisterResourceRequest {
            transforms: vec![callback(target, token)],
            ..echo("c", root, "1")
        };
        let refused = register(client, request).await.unwrap_err();
        let message = format!("invoke transform: transform 1 of resource 'c': {message}");
        assert!(refused.message().starts_with(&message), "{refused}");
    }
    let unreachable = RegisterResourceRequest {
        transforms: vec![callback("127.0.0.1:1", "fails")],
        ..echo("c", root, "1")
    };
    let refused = register(client, unreachable).await.unwrap_err();
    assert_eq!(refused.code(), Code::Unknown);
    let message = "could not connect to the program's functions at 127.0.0.1:1";
    assert!(refused.message().contains(message), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transform_of_the_stack_changes_inputs_and_options_but_no_dependencies() {
    let program = over_loopback(|address| async move {
        let target = FakeCallbacks::default()
            .with("stack", |request: TransformRequest| async move {
                let options = TransformResourceOptions {
                    depends_on: vec!["urn:pulumi:dev::shop::echo:index:Echo::a".to_owned()],
                    retain_on_delete: Some(true),
                    ..request.options.unwrap()
                };
                Ok(TransformResponse {
                    properties: with(request.properties, "tag", text("all")),
                    options: Some(options),
                })
            })
            .with("fails", |_: TransformRequest| async {
                Err::<TransformResponse, _>(Status::unknown("no such region"))
            })
            .with("garbage", |_: TransformRequest| async {
                let properties = Struct {
                    fields: [(SIGNATURE.0.to_owned(), text("nonsense"))].into(),
                };
                let kind = Some(Kind::StructValue(properties));
                Ok(TransformResponse {
                    properties: with(None, "value", Value { kind }),
                    options: None,
                })
            })
            .serve()
            .await;
        let mut client = client(&address).await;
        let root = root(&mut client, "shop", "dev").await;
        register(&mut client, echo("a", &root, "1")).await.unwrap();
        let nowhere = client
            .register_stack_transform(callback("", "stack"))
            .await
            .unwrap_err();
        assert_eq!(nowhere.message(), "target must be specified");
        client
            .register_stack_transform(callback(&target, "stack"))
            .await
            .unwrap();
        register(&mut client, echo("b", &root, "1")).await.unwrap();
        failures_name_resource_and_transform(&mut client, &root, &target).await;
    });
    let stack = stack(&engine(&Arc::new(EchoProvider::default())), "shop/dev", program).await;
    let result = update(&stack).await;
    let state = record(&result, "b");
    assert!(state.retain_on_delete && state.dependencies.is_empty());
    assert_eq!(state.inputs.get("tag"), Some(&"all".into()));
    assert_eq!(
        record(&result, "a").inputs.get("tag"),
        None,
        "registered before the transform"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn transforms_of_functions_change_arguments_and_options() {
    let program = over_loopback(|address| async move {
        let target = FakeCallbacks::default()
            .with("changes", |request: TransformInvokeRequest| async move {
                assert_eq!(request.token, "echo:index:shout");
                assert_eq!(request.options.unwrap().version, "1.2.3");
                Ok(TransformInvokeResponse {
                    args: with(request.args, "added", text("new")),
                    options: Some(TransformInvokeOptions {
                        version: "not a version".to_owned(),
                        ..TransformInvokeOptions::default()
                    }),
                })
            })
            .serve()
            .await;
        let mut client = client(&address).await;
        let nowhere = client
            .register_stack_invoke_transform(callback("", "t"))
            .await
            .unwrap_err();
        assert_eq!(nowhere.message(), "target must be specified");
        let changes = callback(&target, "changes");
        client.register_stack_invoke_transform(changes).await.unwrap();
        let invoke = ResourceInvokeRequest {
            tok: "echo:index:shout".to_owned(),
            version: "1.2.3".to_owned(),
            ..ResourceInvokeRequest::default()
        };
        let refused = client.invoke(invoke).await.unwrap_err();
        assert!(refused.message().contains("not a version"), "{refused}");
    });
    let stack = stack(&engine(&Arc::new(EchoProvider::default())), "shop/dev", program).await;
    let result = update(&stack).await;
    assert!(result.error.is_none(), "{:?}", result.error);
}

#[tokio::test(flavor = "multi_thread")]
async fn all_transforms_of_a_program_in_another_process_are_called_over_one_connection() {
    let called = Arc::new(Mutex::new(Vec::<String>::new()));
    let note = |token: &'static str| {
        let called = Arc::clone(&called);
        move || called.lock().unwrap().push(token.to_owned())
    };
    let (own, whole, functions) = (note("own"), note("stack"), note("functions"));
    let target = FakeCallbacks::default()
        .with("own", move |_: TransformRequest| {
            own();
            async { Ok(TransformResponse::default()) }
        })
        .with("stack", move |_: TransformRequest| {
            whole();
            async { Ok(TransformResponse::default()) }
        })
        .with("functions", move |_: TransformInvokeRequest| {
            functions();
            async { Ok(TransformInvokeResponse::default()) }
        })
        .serve()
        .await;
    let proxy = FakeProxy::before(&target).await;
    let target = proxy.address.clone();
    let program = over_loopback(move |address| {
        let target = target.clone();
        async move {
            let mut client = client(&address).await;
            let root = root(&mut client, "shop", "dev").await;
            let whole = callback(&target, "stack");
            client.register_stack_transform(whole).await.unwrap();
            let functions = callback(&target, "functions");
            client.register_stack_invoke_transform(functions).await.unwrap();
            // At the same time, so that the first calls find no connection.
            let registering = ["a", "b", "c", "d"].map(|name| {
                let (mut client, transformed) = (
                    client.clone(),
                    RegisterResourceRequest {
                        transforms: vec![callback(&target, "own")],
                        ..echo(name, &root, "1")
                    },
                );
                async move { register(&mut client, transformed).await.unwrap() }
            });
            futures::future::join_all(registering).await;
            let invoke = ResourceInvokeRequest {
                tok: "echo:index:shout".to_owned(),
                ..ResourceInvokeRequest::default()
            };
            client.invoke(invoke).await.unwrap();
        }
    });
    let stack = stack(&engine(&Arc::new(EchoProvider::default())), "shop/dev", program).await;
    let result = update(&stack).await;
    assert!(result.error.is_none(), "{:?}", result.error);
    let called = called.lock().unwrap();
    let count = |token: &str| called.iter().filter(|other| *other == token).count();
    // The default provider is a resource, too.
    assert!(
        count("own") == 4 && count("stack") >= 4 && count("functions") == 1,
        "{called:?}"
    );
    assert_eq!(proxy.connections(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_in_this_process_register_transforms_as_bytes() {
    let program = from_fn(|context| async move {
        let target = FakeCallbacks::default()
            .with("stack", |request: TransformRequest| async move {
                Ok(TransformResponse {
                    properties: with(request.properties, "tag", text("all")),
                    options: None,
                })
            })
            .serve()
            .await;
        let monitor = &context.monitor;
        let call = |method: &str, message: Vec<u8>| monitor.call(method, Bytes::from(message));
        let transform = callback(&target, "stack").encode_to_vec();
        call("ResourceMonitor/RegisterStackTransform", transform).await?;
        let invoke = callback(&target, "stack").encode_to_vec();
        call("ResourceMonitor/RegisterStackInvokeTransform", invoke).await?;
        let root = monitor.root_stack().unwrap().to_string();
        let request = echo("a", &root, "1").encode_to_vec();
        let response = call("ResourceMonitor/RegisterResource", request).await?;
        let response = RegisterResourceResponse::decode(&*response).unwrap();
        assert_eq!(response.object.unwrap().fields["tag"], text("all"));
        Ok(())
    });
    let stack = stack(&engine(&Arc::new(EchoProvider::default())), "shop/dev", program).await;
    let result = update(&stack).await;
    assert_eq!(record(&result, "a").inputs.get("tag"), Some(&"all".into()));
}
