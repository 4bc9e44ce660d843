//! A plugin with extensions: it serves the packages of its extensions beside its own, and records the calls.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use stackwright::{
    Result,
    provider::{Resolution, ResolutionRequest, Resolver},
};
use stackwright_proto::pulumirpc::{self as rpc, parameterize_request::Parameters};
use tokio::sync::Semaphore;
use tonic::{Request, Response, Status};

use super::{ProviderCalls, serve_provider};

/// The plugins `base`, one for each resolved instance, with the calls of all of them in order.
///
/// A call about another package than `base` fails unless the instance has been given that extension. The extension `bad` is
/// refused, and `odd` is answered with another name.
#[derive(Clone, Debug)]
pub struct ExtensiblePlugins(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    calls: Mutex<Vec<String>>,
    instances: Mutex<usize>,
    /// One permit for each Parameterize that may be answered.
    may_extend: Semaphore,
}

impl Default for ExtensiblePlugins {
    fn default() -> Self {
        let plugins = Self::holding_extensions();
        plugins.let_extend();
        plugins
    }
}

impl ExtensiblePlugins {
    /// Creates plugins that answer no Parameterize before [`Self::let_extend`].
    #[must_use]
    pub fn holding_extensions() -> Self {
        Self(Arc::new(Shared {
            calls: Mutex::default(),
            instances: Mutex::default(),
            may_extend: Semaphore::new(0),
        }))
    }

    /// Answers every Parameterize from now on.
    pub fn let_extend(&self) {
        self.0.may_extend.add_permits(1);
    }

    /// Returns the calls so far.
    #[must_use]
    pub fn calls(&self) -> Vec<String> {
        self.0.calls.lock().unwrap().clone()
    }

    /// Returns the calls since the last time; instances count from 1 again.
    #[must_use]
    pub fn take(&self) -> Vec<String> {
        *self.0.instances.lock().unwrap() = 0;
        std::mem::take(&mut *self.0.calls.lock().unwrap())
    }

    fn record(&self, what: String) {
        self.0.calls.lock().unwrap().push(what);
    }

    /// Serves one more instance; returns its address.
    ///
    /// # Panics
    /// When no port can be bound.
    pub async fn serve(&self) -> String {
        let number = {
            let mut instances = self.0.instances.lock().unwrap();
            *instances += 1;
            *instances
        };
        let plugin = Plugin {
            plugins: self.clone(),
            number,
            given: Mutex::default(),
        };
        serve_provider(plugin).await.to_string()
    }
}

#[async_trait]
impl Resolver for ExtensiblePlugins {
    async fn resolve(&self, request: ResolutionRequest) -> Result<Resolution> {
        if request.name != "base" {
            return Ok(Resolution::Default);
        }
        Ok(Resolution::Address(self.serve().await))
    }
}

struct Plugin {
    plugins: ExtensiblePlugins,
    number: usize,
    /// The names of the extensions that it has been given.
    given: Mutex<BTreeSet<String>>,
}

impl Plugin {
    fn record(&self, what: &str) {
        self.plugins.record(format!("{} {what}", self.number));
    }

    /// Refuses a call about a package that it does not serve.
    fn serves(&self, token: &str) -> Result<(), Status> {
        let package = token.split(':').next().unwrap_or_default();
        if package == "base" || self.given.lock().unwrap().contains(package) {
            return Ok(());
        }
        self.record(&format!("does not serve {token}"));
        Err(Status::failed_precondition(format!(
            "no extension serves {token}"
        )))
    }
}

#[tonic::async_trait]
impl ProviderCalls for Plugin {
    async fn handshake(
        &self,
        _request: Request<rpc::ProviderHandshakeRequest>,
    ) -> Result<Response<rpc::ProviderHandshakeResponse>, Status> {
        Ok(Response::new(rpc::ProviderHandshakeResponse {
            accept_secrets: true,
            ..rpc::ProviderHandshakeResponse::default()
        }))
    }

    async fn configure(
        &self,
        _request: Request<rpc::ConfigureRequest>,
    ) -> Result<Response<rpc::ConfigureResponse>, Status> {
        self.record("configure");
        Ok(Response::new(rpc::ConfigureResponse::default()))
    }

    async fn parameterize(
        &self,
        request: Request<rpc::ParameterizeRequest>,
    ) -> Result<Response<rpc::ParameterizeResponse>, Status> {
        let Some(Parameters::Value(parameter)) = request.into_inner().parameters else {
            return Err(Status::invalid_argument("a value is required"));
        };
        let rpc::parameterize_request::ParametersValue { name, version, value } = parameter;
        let value = String::from_utf8(value).unwrap();
        self.record(&format!("parameterize {name} {version} {value}"));
        drop(self.plugins.0.may_extend.acquire().await.unwrap());
        if name == "bad" {
            return Err(Status::invalid_argument("the schema is damaged"));
        }
        self.given.lock().unwrap().insert(name.clone());
        let name = if name == "odd" { "even".to_owned() } else { name };
        Ok(Response::new(rpc::ParameterizeResponse { name, version }))
    }

    async fn check(
        &self,
        request: Request<rpc::CheckRequest>,
    ) -> Result<Response<rpc::CheckResponse>, Status> {
        let request = request.into_inner();
        self.serves(&request.r#type)?;
        Ok(Response::new(rpc::CheckResponse {
            inputs: request.news,
            ..rpc::CheckResponse::default()
        }))
    }

    async fn diff(&self, request: Request<rpc::DiffRequest>) -> Result<Response<rpc::DiffResponse>, Status> {
        let request = request.into_inner();
        self.serves(&request.r#type)?;
        Ok(Response::new(rpc::DiffResponse::default()))
    }

    async fn create(
        &self,
        request: Request<rpc::CreateRequest>,
    ) -> Result<Response<rpc::CreateResponse>, Status> {
        let request = request.into_inner();
        self.serves(&request.r#type)?;
        self.record(&format!("create {}", request.name));
        Ok(Response::new(rpc::CreateResponse {
            id: format!("id-{}", request.name),
            properties: request.properties,
            ..rpc::CreateResponse::default()
        }))
    }

    async fn read(&self, request: Request<rpc::ReadRequest>) -> Result<Response<rpc::ReadResponse>, Status> {
        let request = request.into_inner();
        self.serves(&request.r#type)?;
        self.record(&format!("read {}", request.id));
        Ok(Response::new(rpc::ReadResponse {
            id: request.id,
            properties: Some(request.properties.unwrap_or_default()),
            inputs: Some(request.inputs.unwrap_or_default()),
            ..rpc::ReadResponse::default()
        }))
    }

    async fn delete(&self, request: Request<rpc::DeleteRequest>) -> Result<Response<()>, Status> {
        let request = request.into_inner();
        self.serves(&request.r#type)?;
        self.record(&format!("delete {}", request.id));
        Ok(Response::new(()))
    }

    async fn invoke(
        &self,
        request: Request<rpc::InvokeRequest>,
    ) -> Result<Response<rpc::InvokeResponse>, Status> {
        let request = request.into_inner();
        self.serves(&request.tok)?;
        self.record(&format!("invoke {}", request.tok));
        Ok(Response::new(rpc::InvokeResponse::default()))
    }

    async fn call(&self, request: Request<rpc::CallRequest>) -> Result<Response<rpc::CallResponse>, Status> {
        let request = request.into_inner();
        self.serves(&request.tok)?;
        self.record(&format!("call {}", request.tok));
        Ok(Response::new(rpc::CallResponse::default()))
    }

    async fn construct(
        &self,
        request: Request<rpc::ConstructRequest>,
    ) -> Result<Response<rpc::ConstructResponse>, Status> {
        let request = request.into_inner();
        self.serves(&request.r#type)?;
        self.record(&format!("construct {}", request.name));
        let (stack, project) = (&request.stack, &request.project);
        Ok(Response::new(rpc::ConstructResponse {
            urn: format!(
                "urn:pulumi:{stack}::{project}::{}::{}",
                request.r#type, request.name
            ),
            ..rpc::ConstructResponse::default()
        }))
    }
}
