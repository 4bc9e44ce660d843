//! A listening provider for tests that tells its schema, remembers how it was greeted, and knows nothing else.

use std::sync::{Arc, Mutex};

use stackwright_proto::pulumirpc::{
    self as rpc, ProviderHandshakeRequest,
    resource_provider_server::{ResourceProvider, ResourceProviderServer},
};
use tonic::{Request, Response, Status};

/// How a provider was greeted, each time.
pub(crate) type Greetings = Arc<Mutex<Vec<ProviderHandshakeRequest>>>;

pub(crate) struct FakeProvider {
    schema: &'static str,
    greetings: Greetings,
}

impl FakeProvider {
    /// Serves it until the test's runtime ends; returns the address.
    pub(crate) async fn serve(schema: &'static str) -> (String, Greetings) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let greetings = Greetings::default();
        let provider = Self {
            schema,
            greetings: Arc::clone(&greetings),
        };
        let server = tonic::transport::Server::builder()
            .add_service(ResourceProviderServer::new(provider))
            .serve_with_incoming(tokio_stream::wrappers::TcpListenerStream::new(listener));
        tokio::spawn(server);
        (address, greetings)
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
                self.greetings.lock().unwrap().push(request.into_inner());
                Ok(Response::new(rpc::ProviderHandshakeResponse::default()))
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
    configure: rpc::ConfigureRequest => rpc::ConfigureResponse;
    invoke: rpc::InvokeRequest => rpc::InvokeResponse;
    call: rpc::CallRequest => rpc::CallResponse;
    check: rpc::CheckRequest => rpc::CheckResponse;
    diff: rpc::DiffRequest => rpc::DiffResponse;
    create: rpc::CreateRequest => rpc::CreateResponse;
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
