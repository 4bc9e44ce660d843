//! Providers of components and methods that die, raise, or answer with something else: the texts that the user sees.

use std::sync::Arc;

use futures::future::pending;
use stackwright::{
    Engine,
    operation::{OperationOptions, OperationResult},
    secrets::Base64Provider,
    store::MemoryStore,
};
use stackwright_proto::{
    pulumirpc::{self as rpc, RegisterResourceRequest, ResourceCallRequest},
    values::{Struct, Value, value::Kind},
};
use stackwright_testkit::{
    fake::{AddressResolver, FakeProxy, ProviderCalls, serve_provider},
    wait::{Ended as _, Within as _},
};
use tokio::sync::Notify;
use tonic::{Request, Response, Status};

use crate::fixture::{client, object, over_loopback, register, runtime, stack};

/// A provider of components, each of whose calls has one fault.
struct FaultyBox {
    fault: &'static str,
    entered: Arc<Notify>,
    release: Arc<Notify>,
}

impl FaultyBox {
    /// Returns nothing where the answer is malformed, or late.
    async fn fail(&self) -> Result<(), Status> {
        self.entered.notify_one();
        match self.fault {
            "dies" => pending().await,
            "raises" => Err(Status::unknown("no more wood")),
            "late" => {
                self.release
                    .notified()
                    .within("the release of the late answer")
                    .await;
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

#[tonic::async_trait]
impl ProviderCalls for FaultyBox {
    async fn handshake(
        &self,
        _request: Request<rpc::ProviderHandshakeRequest>,
    ) -> Result<Response<rpc::ProviderHandshakeResponse>, Status> {
        Ok(Response::new(rpc::ProviderHandshakeResponse {
            accept_secrets: self.fault != "declines secrets",
            ..rpc::ProviderHandshakeResponse::default()
        }))
    }

    async fn configure(
        &self,
        _request: Request<rpc::ConfigureRequest>,
    ) -> Result<Response<rpc::ConfigureResponse>, Status> {
        Ok(Response::new(rpc::ConfigureResponse::default()))
    }

    async fn construct(
        &self,
        _request: Request<rpc::ConstructRequest>,
    ) -> Result<Response<rpc::ConstructResponse>, Status> {
        self.fail().await?;
        Ok(Response::new(rpc::ConstructResponse {
            urn: "nonsense".to_owned(),
            ..rpc::ConstructResponse::default()
        }))
    }

    async fn call(&self, _request: Request<rpc::CallRequest>) -> Result<Response<rpc::CallResponse>, Status> {
        self.fail().await?;
        // A special value of an unknown kind.
        let special = Struct {
            fields: object(&[("4dabf18193072939515e22adb298388d", "nonsense")]).fields,
        };
        let kind = Some(Kind::StructValue(special));
        Ok(Response::new(rpc::CallResponse {
            r#return: Some(Struct {
                fields: [("opened".to_owned(), Value { kind })].into(),
            }),
            ..rpc::CallResponse::default()
        }))
    }
}

/// What the program asks of the provider.
#[derive(Clone, Copy, Debug)]
enum Asked {
    Component,
    Method,
}

impl Asked {
    /// Returns the beginning of the error's text.
    fn head(self) -> &'static str {
        match self {
            Self::Component => "box:index:Box resource 'a' has a problem: ",
            Self::Method => "call to function 'box:index:Box/open' failed: ",
        }
    }
}

/// Runs an update whose program asks for a component or a method; the provider has a fault. A run with a `late` answer
/// is cancelled twice.
async fn run(asked: Asked, fault: &'static str, late: bool) -> OperationResult {
    let (entered, release) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let provider = FaultyBox {
        fault,
        entered: Arc::clone(&entered),
        release: Arc::clone(&release),
    };
    let proxy = FakeProxy::before(&serve_provider(provider).await.to_string()).await;
    let engine = Engine::builder(tokio::runtime::Handle::current())
        .store(Arc::new(MemoryStore::new(runtime())))
        .secrets(Arc::new(Base64Provider))
        .resolver(Arc::new(AddressResolver(proxy.address.clone())))
        .build()
        .unwrap();
    let program = over_loopback(move |address| async move {
        let mut client = client(&address).await;
        let failed = match asked {
            Asked::Component => {
                let component = RegisterResourceRequest {
                    r#type: "box:index:Box".to_owned(),
                    name: "a".to_owned(),
                    remote: true,
                    ..RegisterResourceRequest::default()
                };
                register(&mut client, component).await.map(drop)
            }
            Asked::Method => {
                let method = ResourceCallRequest {
                    tok: "box:index:Box/open".to_owned(),
                    ..ResourceCallRequest::default()
                };
                client.call(method).await.map(drop)
            }
        };
        failed.unwrap_err();
    });
    let stack = stack(&engine, "shop/dev", program).await;
    let operation = stack.update(OperationOptions::default());
    if fault == "dies" {
        entered.notified().within("the call of the provider").await;
        proxy.cut();
    }
    if late {
        entered.notified().within("the call of the provider").await;
        // The second one gives up the call.
        operation.cancel();
        operation.cancel();
    }
    let result = (*operation.ended().await).clone();
    release.notify_one();
    engine.close().within("the end of the engine").await;
    result
}

/// Asserts that the run has failed with a text, which is reported once and about no resource.
fn assert_failed(result: &OperationResult, text: &str) {
    let error = result.error.as_ref().unwrap();
    assert!(error.message().contains(text), "{error}");
    let reported = result.diagnostics.iter();
    let reported = reported.filter(|it| it.message.library().starts_with(text));
    let about: Vec<_> = reported.map(|it| it.urn.as_ref()).collect();
    assert_eq!(about, [None], "{:?}", result.diagnostics);
    let recorded: Vec<_> = result
        .snapshot
        .resources
        .iter()
        .map(|state| state.urn.name())
        .collect();
    assert_eq!(recorded, ["default"], "the provider alone");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_dies_or_answers_nonsense_is_named() {
    for (asked, call) in [(Asked::Component, "Construct"), (Asked::Method, "Call")] {
        let head = asked.head();
        let died = run(asked, "dies", false).await;
        assert_failed(&died, &format!("{head}plugin box ["));
        let error = died.error.as_ref().unwrap();
        let text = format!("] did not complete {call}: ");
        assert!(error.message().contains(&text), "{error}");

        let raised = run(asked, "raises", false).await;
        assert_failed(&raised, &format!("{head}no more wood"));

        let malformed = run(asked, "garbage", false).await;
        assert_failed(
            &malformed,
            &format!("{head}malformed {call} response from provider `box`: "),
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_declines_secrets_constructs_nothing() {
    let refused = run(Asked::Component, "declines secrets", false).await;
    let text = "box:index:Box resource 'a' has a problem: plugins that can construct components must support secrets";
    assert_failed(&refused, text);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_after_the_end_of_the_run_changes_nothing() {
    for asked in [Asked::Component, Asked::Method] {
        let result = run(asked, "late", true).await;
        assert_eq!(
            result.error.as_ref().unwrap().kind(),
            stackwright::ErrorKind::Cancelled
        );
        let names: Vec<_> = result
            .snapshot
            .resources
            .iter()
            .map(|state| state.urn.name())
            .collect();
        assert_eq!(names, ["default"], "{asked:?}");
    }
}
