//! A parameterizable base plugin for tests: it serves the package of its parameter, and records the calls.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use stackwright::{
    Result,
    provider::{Resolution, ResolutionRequest, Resolver},
};
use stackwright_proto::pulumirpc::{
    self as rpc,
    parameterize_request::Parameters,
    resource_provider_server::{ResourceProvider, ResourceProviderServer},
};
use tonic::{Request, Response, Status};

/// The calls of all instances, in order.
#[derive(Clone, Default)]
pub(crate) struct Asked(Arc<Mutex<Vec<String>>>);

impl Asked {
    fn record(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }

    /// Returns the calls since the last time.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

/// Starts a new one for each instance of `base`.
#[async_trait]
impl Resolver for Asked {
    async fn resolve(&self, request: ResolutionRequest) -> Result<Resolution> {
        let version = request.version.map(|version| format!("@{version}"));
        self.record(format!("{}{}", request.name, version.unwrap_or_default()));
        if request.name != "base" {
            return Ok(Resolution::Default);
        }
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let provider = FakeBase {
            asked: self.clone(),
            package: Mutex::default(),
        };
        let server = tonic::transport::Server::builder()
            .add_service(ResourceProviderServer::new(provider))
            .serve_with_incoming(tokio_stream::wrappers::TcpListenerStream::new(listener));
        tokio::spawn(server);
        Ok(Resolution::Address(address))
    }
}

struct FakeBase {
    asked: Asked,
    /// The package that it serves; empty before Parameterize.
    package: Mutex<String>,
}

impl FakeBase {
    fn asked(&self, what: &str, name: &str) -> Result<(), Status> {
        let package = self.package.lock().unwrap();
        if package.is_empty() {
            return Err(Status::failed_precondition("no package was set by Parameterize"));
        }
        self.asked.record(format!("{package}: {what} {name}"));
        Ok(())
    }
}

macro_rules! fake {
    ($($call:ident: $request:ty => $response:ty;)*) => {
        #[tonic::async_trait]
        impl ResourceProvider for FakeBase {
            type ListStream = futures::stream::Empty<Result<rpc::ListResponse, Status>>;

            async fn list(&self, _request: Request<rpc::ListRequest>) -> Result<Response<Self::ListStream>, Status> {
                Err(Status::unimplemented("list"))
            }

            async fn handshake(
                &self,
                _request: Request<rpc::ProviderHandshakeRequest>,
            ) -> Result<Response<rpc::ProviderHandshakeResponse>, Status> {
                Ok(Response::new(rpc::ProviderHandshakeResponse::default()))
            }

            async fn parameterize(
                &self,
                request: Request<rpc::ParameterizeRequest>,
            ) -> Result<Response<rpc::ParameterizeResponse>, Status> {
                let Some(Parameters::Value(parameter)) = request.into_inner().parameters else {
                    return Err(Status::invalid_argument("a value is required"));
                };
                let rpc::parameterize_request::ParametersValue { name, version, value } = parameter;
                name.clone_into(&mut self.package.lock().unwrap());
                self.asked(&format!("parameterize {version}"), &String::from_utf8(value).unwrap())?;
                Ok(Response::new(rpc::ParameterizeResponse { name, version }))
            }

            async fn configure(
                &self,
                request: Request<rpc::ConfigureRequest>,
            ) -> Result<Response<rpc::ConfigureResponse>, Status> {
                let arguments = request.into_inner().args.unwrap_or_default();
                let keys: Vec<_> = arguments.fields.into_keys().collect();
                self.asked("configure", &keys.join(" "))?;
                Ok(Response::new(rpc::ConfigureResponse::default()))
            }

            async fn check(&self, request: Request<rpc::CheckRequest>) -> Result<Response<rpc::CheckResponse>, Status> {
                let inputs = request.into_inner().news;
                Ok(Response::new(rpc::CheckResponse { inputs, ..rpc::CheckResponse::default() }))
            }

            async fn diff(&self, _request: Request<rpc::DiffRequest>) -> Result<Response<rpc::DiffResponse>, Status> {
                Ok(Response::new(rpc::DiffResponse::default()))
            }

            async fn create(
                &self,
                request: Request<rpc::CreateRequest>,
            ) -> Result<Response<rpc::CreateResponse>, Status> {
                let request = request.into_inner();
                self.asked("create", &request.name)?;
                Ok(Response::new(rpc::CreateResponse {
                    id: format!("id-{}", request.name),
                    properties: request.properties,
                    ..rpc::CreateResponse::default()
                }))
            }

            async fn read(&self, request: Request<rpc::ReadRequest>) -> Result<Response<rpc::ReadResponse>, Status> {
                let request = request.into_inner();
                self.asked("read", &request.id)?;
                Ok(Response::new(rpc::ReadResponse {
                    id: request.id,
                    properties: request.properties,
                    inputs: request.inputs,
                    ..rpc::ReadResponse::default()
                }))
            }

            async fn delete(&self, request: Request<rpc::DeleteRequest>) -> Result<Response<()>, Status> {
                self.asked("delete", &request.into_inner().id)?;
                Ok(Response::new(()))
            }

            $(async fn $call(&self, _request: Request<$request>) -> Result<Response<$response>, Status> {
                Err(Status::unimplemented(stringify!($call)))
            })*
        }
    };
}

fake! {
    get_schema: rpc::GetSchemaRequest => rpc::GetSchemaResponse;
    check_config: rpc::CheckRequest => rpc::CheckResponse;
    diff_config: rpc::DiffRequest => rpc::DiffResponse;
    invoke: rpc::InvokeRequest => rpc::InvokeResponse;
    call: rpc::CallRequest => rpc::CallResponse;
    update: rpc::UpdateRequest => rpc::UpdateResponse;
    construct: rpc::ConstructRequest => rpc::ConstructResponse;
    cancel: () => ();
    get_plugin_info: () => rpc::PluginInfo;
    attach: rpc::PluginAttach => ();
    get_mapping: rpc::GetMappingRequest => rpc::GetMappingResponse;
    get_mappings: rpc::GetMappingsRequest => rpc::GetMappingsResponse;
}
