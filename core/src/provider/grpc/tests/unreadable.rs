//! Responses that cannot be decoded, or only in part: created resources are recorded.

use std::convert::Infallible;

use futures::future::{BoxFuture, FutureExt as _};
use stackwright_proto::values::{ListValue, Value};
use tonic::{
    Request, Response,
    body::Body,
    codegen::{Service, http},
    server::{Grpc, NamedService, UnaryService},
};
use tonic_prost::ProstCodec;

use super::{failures::with_detail, *};
use crate::property::MAX_DEPTH;

/// Outputs with an object of an unknown signature.
fn garbage() -> Struct {
    let kind = Some(Kind::StructValue(wire([(
        "4dabf18193072939515e22adb298388d",
        "of no kind that there is",
    )])));
    Struct {
        fields: [("odd".to_owned(), Value { kind })].into(),
    }
}

#[tokio::test]
async fn a_created_resource_keeps_its_id_if_its_outputs_cannot_be_decoded() {
    let (create_call, _requests) = recorded(created(garbage()));
    let fake = FakeProvider {
        create: create_call,
        ..FakeProvider::greeting(true)
    };
    let provider = ready(fake, PropertyMap::new()).await;
    let error = provider
        .create(create(PropertyMap::new(), false))
        .await
        .unwrap_err();
    let failure = error.init_failure.unwrap();
    assert_eq!(failure.id, created(Struct::default()).id);
    assert!(failure.outputs.is_empty() && failure.reasons == [error.message]);
    // A preview creates nothing.
    let error = provider
        .create(create(PropertyMap::new(), true))
        .await
        .unwrap_err();
    assert!(error.init_failure.is_none());
}

/// Returns outputs with `levels` nested lists.
fn nested(levels: usize) -> Struct {
    let mut value = Value {
        kind: Some(Kind::StringValue("leaf".into())),
    };
    for level in 0..levels {
        let kind = if level % 2 == 0 {
            Kind::ListValue(ListValue { values: vec![value] })
        } else {
            Kind::StructValue(Struct {
                fields: [("k".to_owned(), value)].into(),
            })
        };
        value = Value { kind: Some(kind) };
    }
    Struct {
        fields: [("deep".to_owned(), value)].into(),
    }
}

async fn answering(properties: Struct) -> Adapter {
    let made = created(properties.clone());
    let changed = rpc::UpdateResponse {
        properties: Some(properties),
        ..rpc::UpdateResponse::default()
    };
    let fake = FakeProvider {
        create: Some(Box::new(move |_| Ok(made.clone()))),
        update: Some(Box::new(move |_| Ok(changed.clone()))),
        ..FakeProvider::greeting(true)
    };
    ready(fake, PropertyMap::new()).await
}

fn update() -> UpdateRequest {
    UpdateRequest {
        urn: urn(),
        resource_type: "files:index:File".into(),
        name: "a".into(),
        id: "id".into(),
        old_inputs: PropertyMap::new(),
        old_outputs: map([("old", "1".into())]),
        news: PropertyMap::new(),
        ignore_changes: Vec::new(),
        timeout: 0.0,
        preview: false,
        views: Views::default(),
    }
}

#[tokio::test]
async fn outputs_may_nest_a_thousand_levels() {
    for levels in [40, 100, 1000, MAX_DEPTH - 1] {
        let provider = answering(nested(levels)).await;
        let answer = provider.create(create(PropertyMap::new(), false)).await.unwrap();
        let mut value = answer.outputs.get("deep").unwrap();
        let mut found = 0;
        loop {
            value = match value {
                PropertyValue::Array(values) => &values[0],
                PropertyValue::Object(map) => map.get("k").unwrap(),
                leaf => break assert_eq!(leaf.as_str(), Some("leaf")),
            };
            found += 1;
        }
        assert_eq!(found, levels);
        // They can be sent back, too.
        let request = UpdateRequest {
            old_outputs: answer.outputs,
            ..update()
        };
        provider.update(request).await.unwrap();
    }
}

#[tokio::test]
async fn a_created_resource_keeps_its_id_if_its_outputs_nest_too_deep() {
    let provider = answering(nested(MAX_DEPTH + 1)).await;
    let error = provider
        .create(create(PropertyMap::new(), false))
        .await
        .unwrap_err();
    let text = format!("values nest deeper than {MAX_DEPTH} levels");
    assert!(error.message.ends_with(&text), "{}", error.message);
    assert_eq!(error.init_failure.unwrap().id, created(Struct::default()).id);
    let error = provider.update(update()).await.unwrap_err();
    assert!(error.outcome_unknown);
    assert_eq!(error.init_failure.unwrap().id, "id");
}

#[tokio::test]
async fn a_failed_initialization_keeps_the_id_if_its_outputs_cannot_be_decoded() {
    let detail = rpc::ErrorResourceInitFailed {
        id: "half".into(),
        properties: Some(garbage()),
        reasons: vec!["not ready".into()],
        ..rpc::ErrorResourceInitFailed::default()
    };
    let failing = move || {
        let name = "pulumirpc.ErrorResourceInitFailed";
        with_detail(tonic::Code::Unknown, "init", name, detail.encode_to_vec())
    };
    let (create_fails, update_fails, read_fails) = (failing.clone(), failing.clone(), failing);
    let fake = FakeProvider {
        create: Some(Box::new(move |_| Err(create_fails()))),
        update: Some(Box::new(move |_| Err(update_fails()))),
        read: Some(Box::new(move |_| Err(read_fails()))),
        ..FakeProvider::greeting(true)
    };
    let provider = ready(fake, PropertyMap::new()).await;
    let error = provider
        .create(create(PropertyMap::new(), false))
        .await
        .unwrap_err();
    let failure = error.init_failure.unwrap();
    assert_eq!((failure.id.as_str(), failure.reasons.len()), ("half", 2));
    assert!(
        failure.reasons[1].contains("unrecognized signature"),
        "{:?}",
        failure.reasons
    );
    let error = provider.update(update()).await.unwrap_err();
    assert!(error.outcome_unknown && error.init_failure.is_some());
    let error = provider.read(read(PropertyMap::new())).await.unwrap_err();
    assert!(error.outcome_unknown);
}

/// A server that responds to every call with bytes that are not a message of the protocol.
#[derive(Clone)]
struct Odd;

impl NamedService for Odd {
    const NAME: &'static str = "pulumirpc.ResourceProvider";
}

impl UnaryService<()> for Odd {
    type Response = prost_types::Any;
    type Future = BoxFuture<'static, Result<Response<Self::Response>, Status>>;

    fn call(&mut self, _request: Request<()>) -> Self::Future {
        // The first field of the responses of Create and Update is a text and a struct; here they are truncated.
        let odd = prost_types::Any {
            type_url: "id".into(),
            value: vec![0x0a, 9],
        };
        async move { Ok(Response::new(odd)) }.boxed()
    }
}

impl Service<http::Request<Body>> for Odd {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(
        &mut self,
        _context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Result<(), Infallible>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let codec = ProstCodec::<prost_types::Any, ()>::default();
        async move { Ok(Grpc::new(codec).unary(Self, request).await) }.boxed()
    }
}

#[tokio::test]
async fn a_malformed_response_is_distinguished_from_a_missing_one() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let server = tonic::transport::Server::builder()
        .add_service(Odd)
        .serve_with_incoming(tokio_stream::wrappers::TcpListenerStream::new(listener));
    tokio::spawn(server);
    let timeouts = PluginTimeouts::default();
    let provider = GrpcProvider::at_address("files", &address, timeouts, &runtime())
        .await
        .unwrap();
    let error = provider
        .call(Call::Create(create(PropertyMap::new(), false)))
        .await
        .unwrap_err();
    assert!(error.outcome_unknown, "{error}");
    assert!(error.message.contains("did not complete Create"), "{error}");
    // The provider's own message is kept.
    let fake = FakeProvider {
        create: Some(Box::new(|_| Err(Status::internal("no")))),
        ..FakeProvider::greeting(true)
    };
    let provider = ready(fake, PropertyMap::new()).await;
    let error = provider
        .create(create(PropertyMap::new(), false))
        .await
        .unwrap_err();
    assert!(!error.outcome_unknown);
}

#[tokio::test]
async fn a_call_on_a_broken_connection_has_an_unknown_outcome() {
    let fake = FakeProvider {
        // Panics, which ends the task of the connection.
        create: Some(Box::new(|_| {
            std::panic::resume_unwind(Box::new("the server ends"))
        })),
        ..FakeProvider::greeting(true)
    };
    let provider = ready(fake, PropertyMap::new()).await;
    let error = provider
        .create(create(PropertyMap::new(), false))
        .await
        .unwrap_err();
    assert_eq!(error.status, ProviderStatus::Unavailable);
    assert!(error.outcome_unknown, "{error}");
}

#[tokio::test]
async fn a_call_without_a_connection_was_not_made() {
    let refused = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
    let refused = Status::from_error(Box::new(tonic::ConnectError(Box::new(refused))));
    let provider = connect(FakeProvider::greeting(true)).await;
    let error = provider.peer.call_error("Create", refused, &runtime()).await;
    assert_eq!(error.status, ProviderStatus::Unavailable);
    assert!(!error.outcome_unknown, "{error}");
}
