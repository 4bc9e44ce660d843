//! Clients of a run's monitor, on loopback.

use std::sync::Arc;

use stackwright::{monitor::MonitorServer, program::from_fn};
use stackwright_proto::{
    pulumirpc::{
        GetRootResourceRequest, RegisterResourceOutputsRequest, RegisterResourceRequest,
        SupportsFeatureRequest, engine_client::EngineClient,
    },
    values::{ListValue, Struct, Value, value::Kind},
};
use stackwright_testkit::{fake::EchoProvider, wait::Within as _};
use tonic::{Code, Status, transport::Channel};

use crate::fixture::{client, echo, engine, object, over_loopback, register, root, stack, text, update};

#[tokio::test(flavor = "multi_thread")]
async fn resources_registered_over_loopback_are_created_and_recorded() {
    let provider = Arc::new(EchoProvider::default());
    let program = over_loopback(|address| async move {
        let mut client = client(&address).await;
        let info = client.get_deployment_info(()).await.unwrap().into_inner();
        assert_eq!((info.project.as_str(), info.stack.as_str()), ("shop", "dev"));
        let feature = SupportsFeatureRequest {
            id: "secrets".to_owned(),
        };
        assert!(
            client
                .supports_feature(feature)
                .await
                .unwrap()
                .into_inner()
                .has_support
        );
        let root = root(&mut client, "shop", "dev").await;
        let mut engine = EngineClient::connect(format!("http://{address}")).await.unwrap();
        let root_resource = engine.get_root_resource(GetRootResourceRequest {});
        assert_eq!(root_resource.await.unwrap().into_inner().urn, root);
        let mut running = Vec::new();
        for number in 0..300 {
            let (mut client, request) = (client.clone(), echo(&format!("r{number}"), &root, "1"));
            running.push(tokio::spawn(async move {
                register(&mut client, request).await.unwrap()
            }));
        }
        for (number, registered) in running.into_iter().enumerate() {
            let registered = registered.within("a registration").await;
            assert_eq!(registered.unwrap().id, format!("id-r{number}"));
        }
        let outputs = RegisterResourceOutputsRequest {
            urn: root,
            outputs: Some(object(&[("answer", "42")])),
        };
        client.register_resource_outputs(outputs).await.unwrap();
        client.signal_and_wait_for_shutdown(()).await.unwrap();
    });
    let stack = stack(&engine(&provider), "shop/dev", program).await;
    let result = update(&stack).await;
    assert!(result.error.is_none(), "{:?}", result.error);
    assert_eq!(result.changes.get("create"), Some(&301));
    assert_eq!(result.outputs.get("answer"), Some(&"42".into()));
    let again = update(&stack).await;
    assert_eq!(again.changes.get("same"), Some(&301), "{:?}", again.changes);
}

#[tokio::test(flavor = "multi_thread")]
async fn values_may_nest_hundreds_of_levels_and_deeper_ones_are_refused_by_name() {
    let program = over_loopback(|address| async move {
        let mut client = client(&address).await;
        let nested = |name: &str, levels: usize| {
            let mut value = text("leaf");
            for _ in 0..levels {
                let kind = Some(Kind::ListValue(ListValue { values: vec![value] }));
                value = Value { kind };
            }
            let object = Struct {
                fields: [("deep".to_owned(), value)].into(),
            };
            RegisterResourceRequest {
                object: Some(object),
                ..echo(name, "", "1")
            }
        };
        for levels in [40, 100, 500] {
            let request = nested(&format!("deep{levels}"), levels);
            let registered = register(&mut client, request.clone()).await.unwrap();
            assert_eq!(registered.object, request.object);
        }
        let status = register(&mut client, nested("deeper", 2000)).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument);
        assert!(
            status.message().ends_with("values nest deeper than 1024 levels"),
            "{status}"
        );
    });
    let engine = engine(&Arc::new(EchoProvider::default()));
    let stack = stack(&engine, "shop/dev", program).await;
    let result = update(&stack).await;
    assert!(result.error.is_none(), "{:?}", result.error);
    // The written state is readable.
    let result = update(&stack).await;
    assert_eq!(result.changes.get("same"), Some(&3), "{:?}", result.changes);
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_and_unknown_calls_are_refused_with_a_status_and_leave_the_run_alone() {
    let program = over_loopback(|address| async move {
        let mut client = client(&address).await;
        let bad_type = RegisterResourceRequest {
            r#type: "nonsense".to_owned(),
            ..echo("a", "", "1")
        };
        let status = register(&mut client, bad_type).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument);
        assert!(
            status.message().contains("'nonsense' is not a valid type token"),
            "{status}"
        );
        let status = register(&mut client, echo("a", "no urn", "1")).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument);
        assert!(status.message().starts_with("invalid parent URN"), "{status}");
        let mapped = RegisterResourceRequest {
            env_var_mappings: [("NEW".to_owned(), "OLD".to_owned())].into(),
            ..echo("mapped", "", "1")
        };
        let status = register(&mut client, mapped).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument);
        assert_eq!(
            status.message(),
            "envVarMappings can only be used with provider resources"
        );
        let migrated = RegisterResourceRequest {
            state_migrations: vec![Default::default()],
            ..echo("migrated", "", "1")
        };
        let status = register(&mut client, migrated).await.unwrap_err();
        assert_eq!(
            (status.code(), status.message()),
            (
                Code::FailedPrecondition,
                "state migrations are not supported by this deployment"
            )
        );
        let of_snippet = RegisterResourceRequest {
            snippet_id: "part".to_owned(),
            ..echo("snipped", "", "1")
        };
        let status = register(&mut client, of_snippet).await.unwrap_err();
        assert!(
            status
                .message()
                .starts_with("resource 'snipped' is of the snippet 'part'"),
            "{status}"
        );
        assert!(not_a_message(&address).await.message().contains("decode"));
        let registered = register(&mut client, echo("a", "", "1")).await.unwrap();
        assert_eq!(registered.id, "id-a");
    });
    let stack = stack(&engine(&Arc::default()), "shop/dev", program).await;
    let result = update(&stack).await;
    assert!(result.error.is_none(), "{:?}", result.error);
    assert_eq!(result.changes.get("create"), Some(&1));
}

/// Sends an invalid RegisterResource request: its second field, a string, is not UTF-8.
async fn not_a_message(address: &str) -> Status {
    let channel = Channel::from_shared(format!("http://{address}"))
        .unwrap()
        .connect()
        .await
        .unwrap();
    let mut caller = tonic::client::Grpc::new(channel);
    caller.ready().await.unwrap();
    let request = prost_types::Any {
        type_url: String::new(),
        value: vec![0xff, 0xfe],
    };
    let codec = tonic_prost::ProstCodec::<prost_types::Any, ()>::default();
    let path = "/pulumirpc.ResourceMonitor/RegisterResource".parse().unwrap();
    caller
        .unary(tonic::Request::new(request), path, codec)
        .await
        .unwrap_err()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_input_of_20_mebibytes_passes_there_and_back() {
    let program = over_loopback(|address| async move {
        let mut client = client(&address).await;
        let big = "x".repeat(20 * 1024 * 1024);
        let registered = register(&mut client, echo("big", "", &big)).await.unwrap();
        assert_eq!(registered.object.unwrap().fields["value"], text(&big));
    });
    let stack = stack(&engine(&Arc::default()), "shop/dev", program).await;
    let result = update(&stack).await;
    assert!(result.error.is_none(), "{:?}", result.error);
    let snapshot = stack.snapshot().await.unwrap();
    let recorded = snapshot
        .resources
        .iter()
        .find(|state| state.urn.name() == "big")
        .unwrap();
    let length = recorded
        .inputs
        .get("value")
        .and_then(|value| value.as_str())
        .map(str::len);
    assert_eq!(length, Some(20 * 1024 * 1024));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registration_continues_when_its_client_disconnects() {
    let provider = Arc::new(EchoProvider::default());
    let held = Arc::clone(&provider);
    let program = over_loopback(move |address| {
        let held = Arc::clone(&held);
        async move {
            let mut client = client(&address).await;
            let call = tokio::spawn(async move { register(&mut client, echo("held", "", "1")).await });
            held.started.notified().within("the begin of the creation").await;
            call.abort();
            drop(call.within("the end of the aborted call").await);
            held.release.notify_one();
        }
    });
    let stack = stack(&engine(&provider), "shop/dev", program).await;
    let result = update(&stack).await;
    assert!(result.error.is_none(), "{:?}", result.error);
    let snapshot = stack.snapshot().await.unwrap();
    assert!(snapshot.pending_operations.is_empty());
    assert!(
        snapshot
            .resources
            .iter()
            .any(|state| state.id.as_str() == "id-held")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_server_closes_its_socket() {
    let program = from_fn(|context| async move {
        let server = MonitorServer::start(&context.monitor, context.monitor.runtime())?;
        let address = server.address();
        let mut client = client(&address).await;
        client.get_deployment_info(()).await.unwrap();
        drop(server);
        let refused = async {
            while tokio::net::TcpStream::connect(&address).await.is_ok() {
                tokio::task::yield_now().await;
            }
        };
        refused.within("the end of the server").await;
        Ok(())
    });
    let stack = stack(&engine(&Arc::default()), "shop/dev", program).await;
    assert!(update(&stack).await.error.is_none());
}
