//! Policy packs by address: resolved by the host, and named in errors when they cannot be reached, die or hang.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use futures::future::pending;
use stackwright::{
    EngineBuilder, Error, ErrorKind, Result, StackSettings,
    event::{EnforcementLevel, EventPayload},
    operation::{OperationKind, OperationOptions, OperationResult},
    plugin::{PluginKind, PluginSettings, PluginTimeouts},
    policy::PolicyPackOption,
    provider::{Resolution, ResolutionRequest, Resolver},
    urn::Urn,
};
use stackwright_proto::pulumirpc::{
    self as rpc,
    analyzer_server::{Analyzer, AnalyzerServer},
};
use stackwright_testkit::{
    fake,
    wait::{Ended as _, Within as _},
};
use tokio::{net::TcpListener, sync::Notify};
use tonic::{Request, Response, Status, transport::Server};

use crate::fixture::{Scripted, engine, program};

/// A pack that implements only the required calls, and reports a violation for every resource.
#[derive(Default)]
struct Violating {
    /// Notified by the Analyze of `a`, which then never returns.
    entered: Option<Arc<Notify>>,
}

macro_rules! grumpy {
    ($($call:ident: $request:ty => $response:ty;)*) => {
        #[tonic::async_trait]
        impl Analyzer for Violating {
            async fn get_analyzer_info(&self, _request: Request<()>) -> Result<Response<rpc::AnalyzerInfo>, Status> {
                Ok(Response::new(rpc::AnalyzerInfo {
                    name: "grumpy".to_owned(),
                    version: "2.0.0".to_owned(),
                    ..rpc::AnalyzerInfo::default()
                }))
            }

            async fn analyze(
                &self,
                request: Request<rpc::AnalyzeRequest>,
            ) -> Result<Response<rpc::AnalyzeResponse>, Status> {
                let request = request.into_inner();
                if let Some(entered) = self.entered.as_ref().filter(|_| request.name == "a") {
                    entered.notify_one();
                    pending::<()>().await;
                }
                let diagnostic = rpc::AnalyzeDiagnostic {
                    policy_name: "anything".to_owned(),
                    message: format!("there is {}", request.name),
                    ..rpc::AnalyzeDiagnostic::default()
                };
                Ok(Response::new(rpc::AnalyzeResponse {
                    diagnostics: vec![diagnostic],
                    not_applicable: Vec::new(),
                }))
            }

            $(async fn $call(&self, _request: Request<$request>) -> Result<Response<$response>, Status> {
                Err(Status::unimplemented(stringify!($call)))
            })*
        }
    };
}

grumpy! {
    analyze_stack: rpc::AnalyzeStackRequest => rpc::AnalyzeResponse;
    remediate: rpc::AnalyzeRequest => rpc::RemediateResponse;
    get_plugin_info: () => rpc::PluginInfo;
    configure: rpc::ConfigureAnalyzerRequest => ();
    handshake: rpc::AnalyzerHandshakeRequest => rpc::AnalyzerHandshakeResponse;
    configure_stack: rpc::AnalyzerStackConfigureRequest => rpc::AnalyzerStackConfigureResponse;
    cancel: () => ();
}

/// Resolves packs to one address, or to an error, and records the requests.
struct Addresses {
    address: Result<String>,
    asked: Mutex<Vec<ResolutionRequest>>,
}

#[async_trait]
impl Resolver for Addresses {
    async fn resolve(&self, request: ResolutionRequest) -> Result<Resolution> {
        if request.kind != PluginKind::Analyzer {
            return Ok(Resolution::Default);
        }
        self.asked.lock().unwrap().push(request);
        self.address.clone().map(Resolution::Address)
    }
}

fn pack(address: &str) -> PolicyPackOption {
    PolicyPackOption {
        name: "guard".to_owned(),
        version: "1.5.0".to_owned(),
        address: address.to_owned(),
        ..PolicyPackOption::default()
    }
}

/// Serves the pack until the test ends; returns its address.
pub(crate) async fn serve() -> String {
    serve_pack(Violating::default()).await
}

async fn serve_pack(pack: Violating) -> String {
    let router = Server::builder().add_service(AnalyzerServer::new(pack));
    fake::serve(router).await.to_string()
}

/// Updates a stack with a pack; the timeouts for packs are short.
async fn update(builder: EngineBuilder, pack: PolicyPackOption) -> Arc<OperationResult> {
    let timeouts = PluginTimeouts {
        ready: Duration::from_millis(300),
        ..PluginTimeouts::default()
    };
    let settings = PluginSettings {
        timeouts,
        ..PluginSettings::default()
    };
    let builder = builder
        .plugins(settings)
        .provider("echo", Arc::new(Scripted::default()));
    let stack = builder
        .build()
        .unwrap()
        .stack("shop/dev", StackSettings::default())
        .await
        .unwrap();
    let options = OperationOptions {
        local_policy_packs: vec![pack],
        ..OperationOptions::default()
    };
    let operation = stack.start(OperationKind::Update, options, Some(program(&[("a", "1")])));
    let mut events = operation.events();
    let result = operation.ended().await;
    while let Some(event) = events.next().within("the next event").await {
        if let EventPayload::PolicyViolation(violation) = &event.payload {
            assert_eq!(violation.name.pack, "grumpy");
            assert_eq!(violation.level, EnforcementLevel::Advisory);
            assert_eq!(violation.message, format!("there is {}", violation.urn.name()));
        }
    }
    result
}

async fn failure(builder: EngineBuilder, pack: PolicyPackOption) -> Error {
    let result = update(builder, pack).await;
    assert!(
        result.snapshot.resources.is_empty(),
        "no step runs without the pack"
    );
    result.error.clone().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn all_calls_to_an_analyzer_at_an_address_are_made_over_one_connection() {
    let proxy = fake::FakeProxy::before(&serve().await).await;
    let result = update(engine(), pack(&proxy.address)).await;
    assert!(result.error.is_none(), "{:?}", result.error);
    assert_eq!(proxy.connections(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pack_that_dies_while_it_analyzes_is_named_with_the_resource() {
    let entered = Arc::new(Notify::new());
    let hanging = Violating {
        entered: Some(Arc::clone(&entered)),
    };
    let proxy = fake::FakeProxy::before(&serve_pack(hanging).await).await;
    let death = async {
        entered.notified().within("the call of the pack").await;
        proxy.cut();
    };
    let (result, ()) = tokio::join!(update(engine(), pack(&proxy.address)), death);
    let head = format!("policy pack guard [{}] did not complete Analyze: ", proxy.address);
    let mut reported = result.diagnostics.iter();
    let reported = reported.find(|it| it.message.library().contains(&head));
    let about = reported.and_then(|it| it.urn.as_ref()).map(Urn::name);
    assert_eq!(about, Some("a"), "{:?}", result.diagnostics);
    let error = result.error.as_ref().unwrap();
    assert!(error.message().contains(&head), "{error}");
    let recorded = result.snapshot.resources.iter();
    assert!(
        recorded.clone().all(|state| state.urn.name() != "a"),
        "{recorded:?}"
    );
    assert!(result.snapshot.pending_operations.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_resolver_is_called_for_a_pack_without_an_address() {
    let address = serve().await;
    let resolver = Arc::new(Addresses {
        address: Ok(address),
        asked: Mutex::default(),
    });
    let result = update(engine().resolver(Arc::clone(&resolver) as _), pack("")).await;
    assert!(result.error.is_none(), "{:?}", result.error);
    let asked = resolver.asked.lock().unwrap();
    assert_eq!((asked.len(), asked[0].name.as_str()), (1, "guard"));
    assert_eq!(asked[0].version.as_ref().unwrap().to_string(), "1.5.0");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_resolver_is_given_path_and_settings_of_a_pack() {
    let resolver = Arc::new(Addresses {
        address: Ok(serve().await),
        asked: Mutex::default(),
    });
    let config = [("anything".to_owned(), "advisory".into())];
    let by_path = PolicyPackOption {
        path: "packs/grumpy".to_owned(),
        config: config.clone().into(),
        ..PolicyPackOption::default()
    };
    let result = update(engine().resolver(Arc::clone(&resolver) as _), by_path).await;
    assert!(result.error.is_none(), "{:?}", result.error);
    let asked = resolver.asked.lock().unwrap();
    assert_eq!(
        (asked[0].path.as_str(), &asked[0].config),
        ("packs/grumpy", &config.into())
    );
    assert_eq!(
        asked[0].name, "packs/grumpy",
        "a pack without a name is named by its path"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_of_the_resolver_are_unchanged() {
    let resolver = Arc::new(Addresses {
        address: Err(Error::new(ErrorKind::NotFound, "the pack is not available")),
        asked: Mutex::default(),
    });
    let error = failure(engine().resolver(resolver), pack("")).await;
    assert_eq!(
        (error.kind(), error.message()),
        (ErrorKind::NotFound, "the pack is not available")
    );
    let error = failure(engine(), pack("")).await;
    assert!(error.message().contains("\"guard\" has no address"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pack_that_is_missing_dies_or_hangs_is_named() {
    let gone = TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap();
    let error = failure(engine(), pack(&gone.to_string())).await;
    assert_eq!(error.kind(), ErrorKind::Plugin);
    assert!(
        error
            .message()
            .starts_with("could not connect to policy pack guard at 127.0.0.1"),
        "{error}"
    );

    // The owner of the other end is looked up after connecting; a connection that is closed at once has none.
    for (dies, named, expected) in [
        (
            true,
            "could not connect to policy pack guard at ",
            "it does not answer",
        ),
        (false, "policy pack guard [", "did not answer Handshake within"),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        tokio::spawn(async move {
            let mut kept = Vec::new();
            while let Ok((stream, _)) = listener.accept().await {
                if !dies {
                    kept.push(stream);
                }
            }
        });
        let error = failure(engine(), pack(&address)).await;
        assert_eq!(error.kind(), ErrorKind::Plugin);
        assert!(
            error.message().starts_with(&format!("{named}{address}")) && error.message().contains(expected),
            "{error}"
        );
    }
}
