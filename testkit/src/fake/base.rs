//! A parameterizable base plugin: it serves the package of its parameter, and records the calls.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use stackwright::{
    Result,
    provider::{Resolution, ResolutionRequest, Resolver},
};
use stackwright_proto::pulumirpc::{self as rpc, parameterize_request::Parameters};
use tonic::{Request, Response, Status};

use super::{ProviderCalls, serve_provider};

/// The base plugins, one for each resolved instance of `base`, with the calls of all of them in order.
#[derive(Clone, Debug, Default)]
pub struct BasePlugins(Arc<Mutex<Vec<String>>>);

impl BasePlugins {
    fn record(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }

    /// Returns the calls since the last time.
    #[must_use]
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

#[async_trait]
impl Resolver for BasePlugins {
    async fn resolve(&self, request: ResolutionRequest) -> Result<Resolution> {
        let version = request.version.map(|version| format!("@{version}"));
        self.record(format!("{}{}", request.name, version.unwrap_or_default()));
        if request.name != "base" {
            return Ok(Resolution::Default);
        }
        let provider = FakeBase {
            asked: self.clone(),
            package: Mutex::default(),
        };
        let address = serve_provider(provider).await;
        Ok(Resolution::Address(address.to_string()))
    }
}

struct FakeBase {
    asked: BasePlugins,
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

#[tonic::async_trait]
impl ProviderCalls for FakeBase {
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
        self.asked(
            &format!("parameterize {version}"),
            &String::from_utf8(value).unwrap(),
        )?;
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

    async fn check(
        &self,
        request: Request<rpc::CheckRequest>,
    ) -> Result<Response<rpc::CheckResponse>, Status> {
        let inputs = request.into_inner().news;
        Ok(Response::new(rpc::CheckResponse {
            inputs,
            ..rpc::CheckResponse::default()
        }))
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
            properties: Some(request.properties.unwrap_or_default()),
            inputs: Some(request.inputs.unwrap_or_default()),
            ..rpc::ReadResponse::default()
        }))
    }

    async fn delete(&self, request: Request<rpc::DeleteRequest>) -> Result<Response<()>, Status> {
        self.asked("delete", &request.into_inner().id)?;
        Ok(Response::new(()))
    }
}
