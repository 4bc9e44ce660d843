//! A listening provider for tests: it has a schema, records its handshakes, and logs the inputs of created resources.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use stackwright_proto::pulumirpc::{
    self as rpc, LogRequest, ProviderHandshakeRequest,
    engine_client::EngineClient,
    resource_provider_server::{ResourceProvider, ResourceProviderServer},
};
use tokio::sync::Barrier;
use tonic::{Request, Response, Status};

/// The handshakes of a provider.
pub(crate) type Greetings = Arc<Mutex<Vec<ProviderHandshakeRequest>>>;

pub(crate) struct FakeProvider {
    schema: &'static str,
    greetings: Greetings,
    /// The engine of each connection's handshake.
    engines: Mutex<HashMap<SocketAddr, String>>,
    /// The barrier of all creations, before and after they log.
    together: Barrier,
}

impl FakeProvider {
    /// Serves it until the test's runtime ends; returns the address.
    pub(crate) async fn serve(schema: &'static str) -> (String, Greetings) {
        Self::serve_together(schema, 1).await
    }

    /// As [`Self::serve`], with a barrier for `creations` concurrent creations.
    pub(crate) async fn serve_together(schema: &'static str, creations: usize) -> (String, Greetings) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let greetings = Greetings::default();
        let provider = Self {
            schema,
            greetings: Arc::clone(&greetings),
            engines: Mutex::default(),
            together: Barrier::new(creations),
        };
        let server = tonic::transport::Server::builder()
            .add_service(ResourceProviderServer::new(provider))
            .serve_with_incoming(tokio_stream::wrappers::TcpListenerStream::new(listener));
        tokio::spawn(server);
        (address, greetings)
    }
}

impl FakeProvider {
    /// Logs a line without a URN at the engine of a connection's handshake.
    async fn log(&self, client: SocketAddr, message: String) {
        let engine = self.engines.lock().unwrap()[&client].clone();
        let mut engine = EngineClient::connect(format!("http://{engine}")).await.unwrap();
        let line = LogRequest {
            severity: 1,
            message,
            ..LogRequest::default()
        };
        engine.log(line).await.unwrap();
    }
}

macro_rules! fake {
    ($($call:ident: $request:ty => $response:ty;)*) => {
        #[tonic::async_trait]
        impl ResourceProvider for FakeProvider {
            type ListStream = futures::stream::Empty<Result<rpc::ListResponse, Status>>;

            async fn list(&self, _request: Request<rpc::ListRequest>) -> Result<Response<Self::ListStream>, Status> {
                Err(Status::unimplemented("list"))
            }

            async fn handshake(
                &self,
                request: Request<ProviderHandshakeRequest>,
            ) -> Result<Response<rpc::ProviderHandshakeResponse>, Status> {
                let client = request.remote_addr().unwrap();
                let greeting = request.into_inner();
                self.engines.lock().unwrap().insert(client, greeting.engine_address.clone());
                self.greetings.lock().unwrap().push(greeting);
                Ok(Response::new(rpc::ProviderHandshakeResponse::default()))
            }

            async fn configure(
                &self,
                _request: Request<rpc::ConfigureRequest>,
            ) -> Result<Response<rpc::ConfigureResponse>, Status> {
                Ok(Response::new(rpc::ConfigureResponse::default()))
            }

            async fn check(&self, request: Request<rpc::CheckRequest>) -> Result<Response<rpc::CheckResponse>, Status> {
                let inputs = request.into_inner().news;
                Ok(Response::new(rpc::CheckResponse { inputs, ..rpc::CheckResponse::default() }))
            }

            async fn create(&self, request: Request<rpc::CreateRequest>) -> Result<Response<rpc::CreateResponse>, Status> {
                let client = request.remote_addr().unwrap();
                let request = request.into_inner();
                self.together.wait().await;
                self.log(client, format!("creating {}: {:?}", request.name, request.properties)).await;
                self.together.wait().await;
                Ok(Response::new(rpc::CreateResponse {
                    id: request.name,
                    properties: request.properties,
                    ..rpc::CreateResponse::default()
                }))
            }

            async fn get_schema(
                &self,
                request: Request<rpc::GetSchemaRequest>,
            ) -> Result<Response<rpc::GetSchemaResponse>, Status> {
                assert_eq!(request.into_inner().version, 0);
                let schema = self.schema.to_owned();
                Ok(Response::new(rpc::GetSchemaResponse { schema }))
            }

            $(async fn $call(&self, _request: Request<$request>) -> Result<Response<$response>, Status> {
                Err(Status::unimplemented(stringify!($call)))
            })*
        }
    };
}

fake! {
    parameterize: rpc::ParameterizeRequest => rpc::ParameterizeResponse;
    check_config: rpc::CheckRequest => rpc::CheckResponse;
    diff_config: rpc::DiffRequest => rpc::DiffResponse;
    invoke: rpc::InvokeRequest => rpc::InvokeResponse;
    call: rpc::CallRequest => rpc::CallResponse;
    diff: rpc::DiffRequest => rpc::DiffResponse;
    read: rpc::ReadRequest => rpc::ReadResponse;
    update: rpc::UpdateRequest => rpc::UpdateResponse;
    delete: rpc::DeleteRequest => ();
    construct: rpc::ConstructRequest => rpc::ConstructResponse;
    cancel: () => ();
    get_plugin_info: () => rpc::PluginInfo;
    attach: rpc::PluginAttach => ();
    get_mapping: rpc::GetMappingRequest => rpc::GetMappingResponse;
    get_mappings: rpc::GetMappingsRequest => rpc::GetMappingsResponse;
}
