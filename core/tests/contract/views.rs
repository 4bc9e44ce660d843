//! Views that a gRPC provider publishes at the engine's ResourceStatus service: emitted, recorded and journaled; calls
//! without a valid token are refused.

use std::sync::{Arc, Mutex};

use stackwright::{
    EngineBuilder, StackSettings,
    event::EventPayload,
    operation::{OperationKind, OperationOptions, OperationResult},
    provider::{
        Capabilities, CreateRequest, CreateResponse, DeleteRequest, HandshakeRequest, Provider,
        ProviderResult, ProviderStatus, View, ViewName, ViewStep,
    },
    resource::ResourceState,
    state::{JournalRecord, JournalReplay, integrity},
    step::StepOp,
};
use stackwright_proto::{
    pulumirpc::{self as rpc, resource_status_client::ResourceStatusClient, view_step::Op},
    values::{Struct, Value, value::Kind},
};
use stackwright_testkit::{
    fake::{AddressResolver, ProviderCalls, serve_provider},
    wait::{Ended as _, Within as _},
};
use tonic::{Request, Response, Status};

use crate::fixture::{Entries, engine, program};

/// A provider whose resources have one view each, `<name>-part`.
#[derive(Clone, Default)]
struct Boxes(Arc<Mutex<Seen>>);

#[derive(Default)]
struct Seen {
    greeting: Option<rpc::ProviderHandshakeRequest>,
    /// Address and token of every call.
    tokens: Vec<(String, String)>,
    /// The recorded views in each call, as `<call> <view> <value>`.
    old_views: Vec<String>,
}

impl Boxes {
    fn note(&self, call: &str, old_views: &[rpc::View]) {
        let texts = old_views.iter().map(|view| {
            let value = view
                .inputs
                .as_ref()
                .and_then(|inputs| inputs.fields["value"].kind.clone());
            let value = match value {
                Some(Kind::StringValue(text)) => text,
                other => format!("{other:?}"),
            };
            format!("{call} {} {value}", view.name)
        });
        self.0.lock().unwrap().old_views.extend(texts);
    }

    async fn publish(&self, address: String, token: String, steps: Vec<rpc::ViewStep>) -> Result<(), Status> {
        self.0
            .lock()
            .unwrap()
            .tokens
            .push((address.clone(), token.clone()));
        publish(address, token, steps).await
    }
}

async fn publish(address: String, token: String, steps: Vec<rpc::ViewStep>) -> Result<(), Status> {
    let mut client = ResourceStatusClient::connect(format!("http://{address}"))
        .await
        .unwrap();
    let request = rpc::PublishViewStepsRequest { token, steps };
    client.publish_view_steps(request).await.map(drop)
}

fn step(op: Op, name: &str, new: Option<Struct>) -> rpc::ViewStep {
    let state = |inputs| rpc::ViewStepState {
        r#type: "echo:index:Part".to_owned(),
        name: format!("{name}-part"),
        inputs,
        ..rpc::ViewStepState::default()
    };
    rpc::ViewStep {
        op: op.into(),
        r#type: "echo:index:Part".to_owned(),
        name: format!("{name}-part"),
        old: (op != Op::Create).then(|| state(None)),
        new: (op != Op::Delete).then(|| state(new)),
        ..rpc::ViewStep::default()
    }
}

#[tonic::async_trait]
impl ProviderCalls for Boxes {
    async fn handshake(
        &self,
        request: Request<rpc::ProviderHandshakeRequest>,
    ) -> Result<Response<rpc::ProviderHandshakeResponse>, Status> {
        self.0.lock().unwrap().greeting = Some(request.into_inner());
        Ok(Response::new(rpc::ProviderHandshakeResponse::default()))
    }

    async fn configure(
        &self,
        _request: Request<rpc::ConfigureRequest>,
    ) -> Result<Response<rpc::ConfigureResponse>, Status> {
        Ok(Response::new(rpc::ConfigureResponse::default()))
    }

    async fn check(
        &self,
        request: Request<rpc::CheckRequest>,
    ) -> Result<Response<rpc::CheckResponse>, Status> {
        let inputs = request.into_inner().news;
        let failures = Vec::new();
        Ok(Response::new(rpc::CheckResponse { inputs, failures }))
    }

    async fn diff(&self, _request: Request<rpc::DiffRequest>) -> Result<Response<rpc::DiffResponse>, Status> {
        Ok(Response::new(rpc::DiffResponse::default()))
    }

    async fn create(
        &self,
        request: Request<rpc::CreateRequest>,
    ) -> Result<Response<rpc::CreateResponse>, Status> {
        let request = request.into_inner();
        let steps = vec![step(Op::Create, &request.name, request.properties.clone())];
        let (address, token) = (request.resource_status_address, request.resource_status_token);
        self.publish(address, token, steps).await?;
        Ok(Response::new(rpc::CreateResponse {
            id: if request.preview {
                String::new()
            } else {
                "id".to_owned()
            },
            properties: request.properties,
            refresh_before_update: false,
        }))
    }

    async fn update(
        &self,
        request: Request<rpc::UpdateRequest>,
    ) -> Result<Response<rpc::UpdateResponse>, Status> {
        let request = request.into_inner();
        self.note("update", &request.old_views);
        let steps = vec![step(Op::Update, &request.name, request.news.clone())];
        let (address, token) = (request.resource_status_address, request.resource_status_token);
        self.publish(address, token, steps).await?;
        Ok(Response::new(rpc::UpdateResponse {
            properties: request.news,
            refresh_before_update: false,
        }))
    }

    async fn read(&self, request: Request<rpc::ReadRequest>) -> Result<Response<rpc::ReadResponse>, Status> {
        let request = request.into_inner();
        self.note("read", &request.old_views);
        let found = Struct {
            fields: [("value".to_owned(), text("found"))].into(),
        };
        let steps = vec![step(Op::Update, &request.name, Some(found))];
        let (address, token) = (request.resource_status_address, request.resource_status_token);
        self.publish(address, token, steps).await?;
        Ok(Response::new(rpc::ReadResponse {
            id: request.id,
            properties: request.properties,
            inputs: request.inputs,
            refresh_before_update: false,
        }))
    }

    async fn delete(&self, request: Request<rpc::DeleteRequest>) -> Result<Response<()>, Status> {
        let request = request.into_inner();
        self.note("delete", &request.old_views);
        let steps = vec![step(Op::Delete, &request.name, None)];
        let (address, token) = (request.resource_status_address, request.resource_status_token);
        self.publish(address, token, steps).await?;
        Ok(Response::new(()))
    }
}

fn text(text: &str) -> Value {
    Value {
        kind: Some(Kind::StringValue(text.to_owned())),
    }
}

async fn engine_with(boxes: &Boxes) -> EngineBuilder {
    let address = serve_provider(boxes.clone()).await;
    engine().resolver(Arc::new(AddressResolver(address.to_string())))
}

fn part(result: &OperationResult) -> Arc<ResourceState> {
    assert!(result.error.is_none(), "{:?}", result.error);
    let mut records = result.snapshot.resources.iter();
    Arc::clone(records.find(|state| state.urn.name() == "a-part").unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn published_views_are_recorded_and_passed_to_later_calls() {
    let boxes = Boxes::default();
    let journal = Arc::new(Entries::default());
    let settings = StackSettings {
        journal: Some(Arc::clone(&journal) as _),
        ..StackSettings::default()
    };
    let engine = engine_with(&boxes).await.build().unwrap();
    let stack = engine.create_stack("shop/dev", settings).await.unwrap();
    let mut replay = JournalReplay::new(stack.snapshot().await.unwrap());
    let options = OperationOptions::default;
    let runs = [
        (OperationKind::Update, Some(program(&[("a", "1")]))),
        (OperationKind::Update, Some(program(&[("a", "1")]))),
        (OperationKind::Update, Some(program(&[("a", "2")]))),
        (OperationKind::Refresh, None),
        (OperationKind::Destroy, None),
    ];
    let mut published = Vec::new();
    for (place, (kind, program)) in runs.into_iter().enumerate() {
        let operation = stack.start(kind, options(), program);
        let mut events = operation.events();
        let result = operation.ended().await;
        assert!(result.error.is_none(), "{:?}", result.error);
        let mut steps = Vec::new();
        while let Some(event) = events.next().within("the next event").await {
            if let EventPayload::ResourceOutputs(step) = &event.payload
                && step.metadata.urn.name() == "a-part"
            {
                steps.push(step.metadata.op.name());
            }
        }
        published.push(steps);
        // Every prefix of the journal is a valid snapshot.
        replay = JournalReplay::new(replay.to_snapshot().unwrap());
        let mut of_views = 0;
        for entry in std::mem::take(&mut *journal.0.lock().unwrap()) {
            replay.apply(&entry).unwrap();
            integrity::verify(&replay.to_snapshot().unwrap()).unwrap();
            of_views += usize::from(matches!(&entry.record, JournalRecord::Success { view: true, .. }));
        }
        assert_eq!(of_views, 1, "run {place}");
        assert_eq!(replay.to_snapshot().unwrap().resources, result.snapshot.resources);
        if place == 0 {
            let part = part(&result);
            assert_eq!(
                part.urn.as_str(),
                "urn:pulumi:dev::shop::echo:index:Echo$echo:index:Part::a-part"
            );
            assert!(!part.custom && part.view_of == part.parent);
        }
    }
    assert_eq!(
        published,
        [["create"], ["same"], ["update"], ["update"], ["delete"]]
    );
    let seen = boxes.0.lock().unwrap();
    assert!(seen.greeting.as_ref().unwrap().supports_views);
    assert_eq!(
        seen.old_views,
        ["update a-part 1", "read a-part 2", "delete a-part found"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_valid_for_its_own_call_only() {
    let boxes = Boxes::default();
    let engine = engine_with(&boxes).await.build().unwrap();
    let stack = engine.stack("shop/dev", StackSettings::default()).await.unwrap();
    // The endpoint for the provider exists as long as the session.
    let options = OperationOptions {
        hold_session: true,
        ..OperationOptions::default()
    };
    let operation = stack.start(OperationKind::Update, options, Some(program(&[("a", "1")])));
    part(&*operation.ended().await);
    let (address, token) = boxes.0.lock().unwrap().tokens[0].clone();
    let late = publish(address.clone(), token.clone(), vec![step(Op::Delete, "a", None)]).await;
    assert_eq!(late.unwrap_err().message(), format!("token {token} not found"));
    let unknown = publish(address.clone(), "x".to_owned(), Vec::new()).await;
    assert_eq!(unknown.unwrap_err().message(), "token x not found");
    let none = publish(address, String::new(), Vec::new()).await;
    assert_eq!(none.unwrap_err().message(), "token is required");
    operation.release().within("the release of the session").await;
}

/// Host code that publishes invalid steps on views.
struct InvalidViews;

impl Provider for InvalidViews {
    async fn handshake(&self, _request: HandshakeRequest) -> ProviderResult<Capabilities> {
        Ok(Capabilities::all())
    }

    async fn create(&self, request: CreateRequest) -> ProviderResult<CreateResponse> {
        let view = View {
            resource_type: "echo:index:Part".into(),
            name: "a-part".to_owned(),
            parent: ViewName::given("echo:index:Part".to_owned(), "door".to_owned()),
            ..View::default()
        };
        let step = ViewStep::new(StepOp::Create, None, Some(view));
        let refused = request.views.publish(vec![step.clone()]).unwrap_err();
        assert_eq!(refused.status, ProviderStatus::InvalidArgument);
        request.views.publish_with_answer(vec![step]);
        Ok(CreateResponse {
            id: "id".into(),
            outputs: request.inputs,
            refresh_before_update: false,
        })
    }

    async fn delete(&self, _request: DeleteRequest) -> ProviderResult<()> {
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resource_is_recorded_although_its_steps_on_views_are_invalid() {
    let engine = engine().provider("echo", Arc::new(InvalidViews)).build().unwrap();
    let stack = engine.stack("shop/dev", StackSettings::default()).await.unwrap();
    let options = OperationOptions::default();
    let operation = stack.start(OperationKind::Update, options, Some(program(&[("a", "1")])));
    let result = operation.ended().await;
    assert!(result.error.is_none(), "{:?}", result.error);
    assert_eq!(result.snapshot.resources.last().unwrap().id.as_str(), "id");
    let messages: Vec<_> = result
        .diagnostics
        .iter()
        .map(|diagnostic| diagnostic.message.reference())
        .collect();
    assert_eq!(
        messages,
        [
            "the provider's steps on views are not recorded: parent view echo:index:Part 'door' of view \
          echo:index:Part 'a-part' was not found"
        ]
    );
}
