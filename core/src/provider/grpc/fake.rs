//! A provider's server for tests: each call is handled by a closure, or unimplemented.

use std::sync::{Arc, Mutex};

use stackwright_proto::{
    MESSAGE_LIMIT,
    pulumirpc::{
        self as rpc,
        resource_provider_server::{ResourceProvider, ResourceProviderServer},
    },
};
use tonic::{Request, Response, Status};

/// The handler of a call.
pub(crate) type Answer<Q, A> = Option<Box<dyn Fn(Q) -> Result<A, Status> + Send + Sync>>;

macro_rules! fake {
    ($($call:ident: $request:ty => $response:ty;)*) => {
        /// The handlers of a fake provider; a call without a handler is unimplemented.
        #[derive(Default)]
        pub(crate) struct Fake {
            $(pub(crate) $call: Answer<$request, $response>,)*
            /// The names of the received calls.
            pub(crate) calls: Arc<Mutex<Vec<&'static str>>>,
        }

        #[tonic::async_trait]
        impl ResourceProvider for Fake {
            type ListStream = futures::stream::Empty<Result<rpc::ListResponse, Status>>;

            async fn list(&self, _request: Request<rpc::ListRequest>) -> Result<Response<Self::ListStream>, Status> {
                Err(Status::unimplemented("list"))
            }

            $(async fn $call(&self, request: Request<$request>) -> Result<Response<$response>, Status> {
                self.calls.lock().unwrap().push(stringify!($call));
                match &self.$call {
                    Some(answer) => answer(request.into_inner()).map(Response::new),
                    None => Err(Status::unimplemented(stringify!($call))),
                }
            })*
        }
    };
}

fake! {
    handshake: rpc::ProviderHandshakeRequest => rpc::ProviderHandshakeResponse;
    parameterize: rpc::ParameterizeRequest => rpc::ParameterizeResponse;
    get_schema: rpc::GetSchemaRequest => rpc::GetSchemaResponse;
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

impl Fake {
    /// Creates a provider with a handshake; `secrets` sets whether it accepts secrets.
    pub(crate) fn greeting(secrets: bool) -> Self {
        Self {
            handshake: Some(Box::new(move |_| {
                Ok(rpc::ProviderHandshakeResponse {
                    accept_secrets: secrets,
                    ..rpc::ProviderHandshakeResponse::default()
                })
            })),
            configure: Some(Box::new(|_| Ok(rpc::ConfigureResponse::default()))),
            ..Self::default()
        }
    }

    /// Serves the provider until the test's runtime ends; returns the port.
    pub(crate) async fn serve(self) -> u16 {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let service = ResourceProviderServer::new(self)
            .max_decoding_message_size(MESSAGE_LIMIT)
            .max_encoding_message_size(usize::MAX);
        let server = tonic::transport::Server::builder()
            .add_service(service)
            .serve_with_incoming(tokio_stream::wrappers::TcpListenerStream::new(listener));
        tokio::spawn(server);
        port
    }
}
