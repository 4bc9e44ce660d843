//! Host code that declines secrets: it gets plain values, and its results are marked secret after its inputs.

use std::sync::{Arc, Mutex};

use stackwright::{
    StackSettings,
    operation::{OperationKind, OperationOptions},
    program::from_fn,
    property::{PropertyMap, PropertyValue},
    provider::{
        Capabilities, CheckRequest, CheckResponse, CreateRequest, CreateResponse, DeleteRequest, DiffRequest,
        DiffResponse, HandshakeRequest, InvokeRequest, InvokeResponse, Provider, ProviderResult,
        UpdateRequest, UpdateResponse,
    },
};
use stackwright_testkit::wait::Ended as _;

use crate::fixture::{engine, resource};

/// Returns its inputs, and records each call with a secret.
#[derive(Default)]
struct Plain {
    marked: Mutex<Vec<&'static str>>,
}

impl Plain {
    fn look(&self, call: &'static str, maps: &[&PropertyMap]) {
        if maps.iter().any(|map| map.contains_secrets()) {
            self.marked.lock().unwrap().push(call);
        }
    }
}

impl Provider for Plain {
    async fn handshake(&self, _request: HandshakeRequest) -> ProviderResult<Capabilities> {
        Ok(Capabilities {
            accept_secrets: false,
            ..Capabilities::all()
        })
    }

    async fn check(&self, request: CheckRequest) -> ProviderResult<CheckResponse> {
        self.look("check", &[&request.news, &request.olds.unwrap_or_default()]);
        Ok(CheckResponse {
            inputs: request.news,
            failures: Vec::new(),
        })
    }

    async fn diff(&self, request: DiffRequest) -> ProviderResult<DiffResponse> {
        self.look(
            "diff",
            &[&request.old_inputs, &request.old_outputs, &request.news],
        );
        Ok(DiffResponse::default())
    }

    async fn create(&self, request: CreateRequest) -> ProviderResult<CreateResponse> {
        self.look("create", &[&request.inputs]);
        Ok(CreateResponse {
            id: "id".into(),
            outputs: request.inputs,
            ..CreateResponse::default()
        })
    }

    async fn update(&self, request: UpdateRequest) -> ProviderResult<UpdateResponse> {
        self.look(
            "update",
            &[&request.old_inputs, &request.old_outputs, &request.news],
        );
        Ok(UpdateResponse {
            outputs: request.news,
            refresh_before_update: false,
        })
    }

    async fn delete(&self, request: DeleteRequest) -> ProviderResult<()> {
        self.look("delete", &[&request.inputs, &request.outputs]);
        Ok(())
    }

    async fn invoke(&self, request: InvokeRequest) -> ProviderResult<InvokeResponse> {
        self.look("invoke", &[&request.arguments]);
        Ok(InvokeResponse {
            result: [("arguments", format!("{:?}", request.arguments).into())]
                .into_iter()
                .collect(),
            failures: Vec::new(),
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_declines_secrets_gets_none_and_its_answers_are_marked_again() {
    let provider = Arc::new(Plain::default());
    let engine = engine()
        .provider("echo", Arc::clone(&provider) as _)
        .build()
        .unwrap();
    let stack = engine.stack("shop/dev", StackSettings::default()).await.unwrap();
    for token in ["first-token", "second-token"] {
        let program = from_fn(move |context| async move {
            let secret = PropertyValue::secret(token.into());
            let arguments: PropertyMap = [("token", secret.clone())].into_iter().collect();
            let answer = context
                .monitor
                .invoke(stackwright::monitor::Invoke {
                    token: "echo:index:call".to_owned(),
                    arguments,
                    ..stackwright::monitor::Invoke::default()
                })
                .await?;
            assert!(answer.contains_secrets(), "{answer:?}");
            let mut registration = resource("a", "1");
            registration.inputs.insert("token", secret);
            context.monitor.register(registration).await?;
            Ok(())
        });
        let operation = stack.start(OperationKind::Update, OperationOptions::default(), Some(program));
        let result = operation.ended().await;
        assert!(result.error.is_none(), "{:?}", result.error);
        let state = result.snapshot.resources.last().unwrap();
        for map in [&state.inputs, &state.outputs] {
            assert!(map.get("token").unwrap().is_secret(), "{map:?}");
        }
    }
    let destroyed = stack
        .start(OperationKind::Destroy, OperationOptions::default(), None)
        .ended()
        .await;
    assert!(destroyed.error.is_none(), "{:?}", destroyed.error);
    assert_eq!(*provider.marked.lock().unwrap(), Vec::<&str>::new());
}
