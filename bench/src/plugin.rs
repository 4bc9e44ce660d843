//! A plugin process that provides `things`: what the figures of chains with a plugin talk to.

use std::{io::Write as _, net::Ipv4Addr};

use stackwright::{Error, Result};
use stackwright_proto::pulumirpc::{
    self as rpc,
    resource_provider_server::{ResourceProvider, ResourceProviderServer},
};
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status};

/// The argument that makes this program a plugin.
pub(crate) const ARGUMENT: &str = "--plugin";

/// Prints the port and serves until the engine ends the process.
pub(crate) fn serve() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::internal(error.to_string()))?;
    runtime.block_on(async {
        let failed = |error: std::io::Error| Error::internal(error.to_string());
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        writeln!(std::io::stdout(), "{port}").map_err(failed)?;
        tonic::transport::Server::builder()
            .tcp_nodelay(true)
            .add_service(ResourceProviderServer::new(Things))
            .serve_with_incoming(TcpListenerStream::new(listener))
            .await
            .map_err(|error| Error::internal(error.to_string()))
    })
}

/// Returns inputs as outputs, at once.
struct Things;

type Answered<T> = std::result::Result<Response<T>, Status>;

macro_rules! provider {
    ($($missing:ident: $request:ty => $response:ty;)*) => {
        #[tonic::async_trait]
        impl ResourceProvider for Things {
            type ListStream = tokio_stream::Empty<std::result::Result<rpc::ListResponse, Status>>;

            async fn list(&self, _request: Request<rpc::ListRequest>) -> Answered<Self::ListStream> {
                Err(Status::unimplemented("list"))
            }

            async fn check_config(&self, request: Request<rpc::CheckRequest>) -> Answered<rpc::CheckResponse> {
                self.check(request).await
            }

            async fn configure(&self, _request: Request<rpc::ConfigureRequest>) -> Answered<rpc::ConfigureResponse> {
                Ok(Response::new(rpc::ConfigureResponse {
                    accept_secrets: true,
                    accept_resources: true,
                    accept_outputs: true,
                    supports_preview: true,
                    ..rpc::ConfigureResponse::default()
                }))
            }

            async fn check(&self, request: Request<rpc::CheckRequest>) -> Answered<rpc::CheckResponse> {
                Ok(Response::new(rpc::CheckResponse {
                    inputs: request.into_inner().news,
                    ..rpc::CheckResponse::default()
                }))
            }

            async fn diff(&self, _request: Request<rpc::DiffRequest>) -> Answered<rpc::DiffResponse> {
                Ok(Response::new(rpc::DiffResponse::default()))
            }

            async fn create(&self, request: Request<rpc::CreateRequest>) -> Answered<rpc::CreateResponse> {
                let request = request.into_inner();
                Ok(Response::new(rpc::CreateResponse {
                    id: if request.preview { String::new() } else { request.name },
                    properties: request.properties,
                    ..rpc::CreateResponse::default()
                }))
            }

            async fn delete(&self, _request: Request<rpc::DeleteRequest>) -> Answered<()> {
                Ok(Response::new(()))
            }

            async fn cancel(&self, _request: Request<()>) -> Answered<()> {
                Ok(Response::new(()))
            }

            async fn get_plugin_info(&self, _request: Request<()>) -> Answered<rpc::PluginInfo> {
                Ok(Response::new(rpc::PluginInfo::default()))
            }

            $(async fn $missing(&self, _request: Request<$request>) -> Answered<$response> {
                Err(Status::unimplemented(stringify!($missing)))
            })*
        }
    };
}

provider! {
    handshake: rpc::ProviderHandshakeRequest => rpc::ProviderHandshakeResponse;
    diff_config: rpc::DiffRequest => rpc::DiffResponse;
    read: rpc::ReadRequest => rpc::ReadResponse;
    update: rpc::UpdateRequest => rpc::UpdateResponse;
    invoke: rpc::InvokeRequest => rpc::InvokeResponse;
    parameterize: rpc::ParameterizeRequest => rpc::ParameterizeResponse;
    get_schema: rpc::GetSchemaRequest => rpc::GetSchemaResponse;
    call: rpc::CallRequest => rpc::CallResponse;
    construct: rpc::ConstructRequest => rpc::ConstructResponse;
    attach: rpc::PluginAttach => ();
    get_mapping: rpc::GetMappingRequest => rpc::GetMappingResponse;
    get_mappings: rpc::GetMappingsRequest => rpc::GetMappingsResponse;
}
