//! Responses to programs that query whether a resource exists.

use std::sync::{Arc, Mutex};

use stackwright::{
    Engine,
    provider::{
        Capabilities, CreateRequest, CreateResponse, DeleteRequest, HandshakeRequest, InitFailure, Provider,
        ProviderError, ProviderResult, ProviderStatus, ReadRequest, ReadResponse,
    },
    secrets::Base64Provider,
    store::MemoryStore,
};
use stackwright_proto::pulumirpc::{ExistsResourceRequest, ExistsResourceResponse};
use tonic::Code;

use crate::fixture::{client, object, over_loopback, runtime, stack, update};

/// Finds resources by their ids.
#[derive(Default)]
struct Finds(Mutex<Vec<(String, bool)>>);

impl Provider for Finds {
    async fn handshake(&self, _request: HandshakeRequest) -> ProviderResult<Capabilities> {
        Ok(Capabilities::all())
    }

    async fn create(&self, _request: CreateRequest) -> ProviderResult<CreateResponse> {
        Ok(CreateResponse::default())
    }

    async fn delete(&self, _request: DeleteRequest) -> ProviderResult<()> {
        Ok(())
    }

    async fn read(&self, request: ReadRequest) -> ProviderResult<ReadResponse> {
        let has_properties = request
            .properties
            .as_ref()
            .is_some_and(|values| values.get("value").is_some());
        self.0
            .lock()
            .unwrap()
            .push((request.urn.to_string(), has_properties));
        match request.id.as_str() {
            "gone" => Ok(ReadResponse::default()),
            "hidden" => Err(ProviderError::new(
                ProviderStatus::PermissionDenied,
                "may not look",
            )),
            "ailing" => Err(ProviderError::init_failed(InitFailure {
                id: "ailing".to_owned(),
                reasons: vec!["not ready".to_owned()],
                ..InitFailure::default()
            })),
            _ => Ok(ReadResponse {
                id: request.id,
                outputs: request.properties,
                ..ReadResponse::default()
            }),
        }
    }
}

fn asked(resource_type: &str, id: &str) -> ExistsResourceRequest {
    ExistsResourceRequest {
        r#type: resource_type.to_owned(),
        id: id.to_owned(),
        properties: Some(object(&[("value", "1")])),
        ..ExistsResourceRequest::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_finds_a_resource_without_making_it_part_of_the_stack() {
    let program = over_loopback(|address| async move {
        let mut client = client(&address).await;
        for (id, exists) in [("there", true), ("gone", false), ("ailing", true)] {
            let answer = client.exists_resource(asked("echo:index:Echo", id)).await;
            let expected = ExistsResourceResponse {
                exists,
                unknown: false,
            };
            assert_eq!(answer.unwrap().into_inner(), expected, "{id}");
        }
        let unknown = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";
        let answer = client.exists_resource(asked("echo:index:Echo", unknown)).await;
        assert!(answer.unwrap().into_inner().unknown);
        let hidden = client
            .exists_resource(asked("echo:index:Echo", "hidden"))
            .await
            .unwrap_err();
        assert_eq!(
            (hidden.code(), hidden.message()),
            (
                Code::Unknown,
                "whether the resource 'hidden' of type 'echo:index:Echo' exists is not known: may not look"
            )
        );
        for (resource_type, id) in [("echo", "there"), ("echo:index:Echo", "")] {
            let refused = client
                .exists_resource(asked(resource_type, id))
                .await
                .unwrap_err();
            assert_eq!(refused.code(), Code::InvalidArgument, "{resource_type} {id}");
        }
    });
    let provider = Arc::new(Finds::default());
    let engine = Engine::builder(tokio::runtime::Handle::current())
        .store(Arc::new(MemoryStore::new(runtime())))
        .secrets(Arc::new(Base64Provider))
        .provider("echo", Arc::clone(&provider) as _)
        .build()
        .unwrap();
    let result = update(&stack(&engine, "shop/dev", program).await).await;
    assert!(result.error.is_none(), "{:?}", result.error);
    let recorded: Vec<_> = result
        .snapshot
        .resources
        .iter()
        .map(|state| state.urn.name())
        .collect();
    assert_eq!(recorded, ["default"], "the provider alone");
    let read = provider.0.lock().unwrap();
    let first = ("urn:pulumi:dev::shop::echo:index:Echo::there".to_owned(), true);
    assert_eq!((read.len(), &read[0]), (4, &first));
}
