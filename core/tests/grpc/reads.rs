//! Responses to programs for resources that they read.

use std::sync::Arc;

use stackwright::{
    Engine,
    operation::OperationOptions,
    provider::{
        Capabilities, CreateRequest, CreateResponse, DeleteRequest, HandshakeRequest, Provider,
        ProviderError, ProviderResult, ProviderStatus, ReadRequest, ReadResponse,
    },
    secrets::Base64Provider,
    store::MemoryStore,
};
use stackwright_proto::pulumirpc::{ReadResourceRequest, RegisterResourceRequest, Result as WireResult};
use stackwright_testkit::wait::Ended as _;

use crate::fixture::{client, echo, object, over_loopback, register, runtime, stack};

/// Reads every resource that is not named `broken`.
struct Finds;

impl Provider for Finds {
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

    async fn read(&self, request: ReadRequest) -> ProviderResult<ReadResponse> {
        if request.name == "broken" {
            return Err(ProviderError::new(
                ProviderStatus::PermissionDenied,
                "may not look",
            ));
        }
        Ok(ReadResponse {
            outputs: request.properties,
            id: request.id,
            ..ReadResponse::default()
        })
    }

    async fn delete(&self, _request: DeleteRequest) -> ProviderResult<()> {
        Ok(())
    }
}

fn wanted(name: &str, dependencies: &[&str]) -> ReadResourceRequest {
    ReadResourceRequest {
        r#type: "echo:index:Echo".to_owned(),
        name: name.to_owned(),
        id: format!("id-{name}"),
        properties: Some(object(&[("value", "1")])),
        dependencies: dependencies.iter().map(|urn| (*urn).to_owned()).collect(),
        ..ReadResourceRequest::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_read_is_answered_as_failed_where_the_run_continues() {
    let program = over_loopback(|address| async move {
        let mut client = client(&address).await;
        let found = client
            .read_resource(wanted("found", &[]))
            .await
            .unwrap()
            .into_inner();
        assert_eq!(
            (found.result(), found.id.as_str()),
            (WireResult::Success, "id-found")
        );
        assert_eq!(found.properties, Some(object(&[("value", "1")])));
        let broken = client
            .read_resource(wanted("broken", &[]))
            .await
            .unwrap()
            .into_inner();
        assert_eq!((broken.result(), broken.id.as_str()), (WireResult::Fail, ""));
        assert!(broken.urn.ends_with("::broken") && !broken.unknown);
        assert_eq!(broken.properties, Some(object(&[])));
        // Its dependents are not executed.
        let tied = client
            .read_resource(wanted("tied", &[&broken.urn]))
            .await
            .unwrap()
            .into_inner();
        assert_eq!(tied.result(), WireResult::Fail);
        let after = RegisterResourceRequest {
            dependencies: vec![broken.urn],
            ..echo("after", "", "1")
        };
        let after = register(&mut client, after).await.unwrap();
        assert_ne!(after.result, i32::from(WireResult::Success));
    });
    let engine = Engine::builder(tokio::runtime::Handle::current())
        .store(Arc::new(MemoryStore::new(runtime())))
        .secrets(Arc::new(Base64Provider))
        .provider("echo", Arc::new(Finds))
        .build()
        .unwrap();
    let stack = stack(&engine, "shop/dev", program).await;
    let options = OperationOptions {
        continue_on_error: true,
        ..OperationOptions::default()
    };
    let result = stack.update(options).ended().await;
    let error = result.error.as_ref().unwrap();
    assert!(error.message().contains("may not look"), "{error}");
    let names: Vec<_> = result
        .snapshot
        .resources
        .iter()
        .map(|state| state.urn.name())
        .collect();
    assert!(names.contains(&"found") && !names.contains(&"broken") && !names.contains(&"after"));
}
