//! A served provider: every call belongs to the scene, and has the engine's address from the connection's handshake.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::{Value, json};
use stackwright_proto::{
    pulumirpc::{self as rpc, parameterize_request::Parameters},
    values::Struct,
};
use tonic::{Code, Request, Response, Status};

use super::{
    Stage, body,
    message::{awaits, check, checked, compared, diff, failures, read, text, write},
};
use crate::{
    fake::ProviderCalls,
    scenario::{BodyScript, PackageScript},
    script::{ProviderCall, Providers},
};

/// One package's provider.
pub(super) struct Served {
    package: String,
    providers: Arc<Providers>,
    stage: Stage,
    accepts_secrets: bool,
    /// The engine's address by connection.
    engines: Mutex<HashMap<SocketAddr, String>>,
}

type Answered<T> = Result<Response<T>, Status>;

impl Served {
    pub(super) fn new(
        package: &str,
        script: &PackageScript,
        providers: Arc<Providers>,
        stage: Stage,
    ) -> Self {
        Self {
            package: package.to_owned(),
            providers,
            stage,
            accepts_secrets: !script.declines_secrets,
            engines: Mutex::default(),
        }
    }

    /// Returns the code of a component or of a method.
    fn body(&self, method: &str, token: &str) -> Result<BodyScript, Status> {
        let code = self.providers.body(&self.package, method, token);
        code.ok_or_else(|| Status::unimplemented(format!("the scenario has no code for {token}")))
    }

    /// Plays a call. What an answer has that this server cannot send is a problem of the scenario.
    async fn play(&self, client: Option<SocketAddr>, method: &str, request: Value) -> Result<Value, Status> {
        let engine = client.and_then(|client| {
            let engines = self.engines.lock().unwrap_or_else(PoisonError::into_inner);
            engines.get(&client).cloned()
        });
        let scene = self.stage.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let scene = scene.ok_or_else(|| Status::internal("nothing is being played"))?;
        let call = ProviderCall {
            package: self.package.clone(),
            method: method.to_owned(),
            request,
            engine,
        };
        let label = call.label();
        let unsupported =
            |what: &str| scene.problem(format!("`{label}`: a served provider cannot send {what}"));
        match self.providers.answer(&scene, call).await {
            Ok(answer) => {
                if answer.get("viewSteps").is_some() {
                    unsupported("steps on views");
                }
                Ok(answer)
            }
            Err(failure) => {
                if failure.init_failure.is_some() {
                    unsupported("a failed initialization");
                }
                let code = Code::from(i32::from(failure.status));
                Err(match failure.awaits {
                    true => awaits(code, failure.message),
                    false => Status::new(code, failure.message),
                })
            }
        }
    }
}

#[tonic::async_trait]
impl ProviderCalls for Served {
    async fn handshake(
        &self,
        request: Request<rpc::ProviderHandshakeRequest>,
    ) -> Answered<rpc::ProviderHandshakeResponse> {
        if let Some(client) = request.remote_addr() {
            let mut engines = self.engines.lock().unwrap_or_else(PoisonError::into_inner);
            engines.insert(client, request.into_inner().engine_address);
        }
        Ok(Response::new(rpc::ProviderHandshakeResponse {
            accept_secrets: self.accepts_secrets,
            accept_resources: true,
            accept_outputs: true,
            ..rpc::ProviderHandshakeResponse::default()
        }))
    }

    async fn get_plugin_info(&self, _request: Request<()>) -> Answered<rpc::PluginInfo> {
        Ok(Response::new(rpc::PluginInfo::default()))
    }

    async fn parameterize(
        &self,
        request: Request<rpc::ParameterizeRequest>,
    ) -> Answered<rpc::ParameterizeResponse> {
        let client = request.remote_addr();
        let Some(Parameters::Value(given)) = request.into_inner().parameters else {
            return Err(Status::invalid_argument("a value is required"));
        };
        let rpc::parameterize_request::ParametersValue { name, version, value } = given;
        let value = String::from_utf8_lossy(&value);
        let asked = json!({ "name": name, "version": version, "value": value });
        self.play(client, "parameterize", asked).await?;
        Ok(Response::new(rpc::ParameterizeResponse { name, version }))
    }

    async fn check_config(&self, request: Request<rpc::CheckRequest>) -> Answered<rpc::CheckResponse> {
        let client = request.remote_addr();
        let answer = self
            .play(client, "checkConfig", check(request.into_inner())?)
            .await?;
        Ok(Response::new(checked(&answer)?))
    }

    async fn diff_config(&self, request: Request<rpc::DiffRequest>) -> Answered<rpc::DiffResponse> {
        let client = request.remote_addr();
        let answer = self
            .play(client, "diffConfig", diff(request.into_inner())?)
            .await?;
        Ok(Response::new(compared(&answer)))
    }

    async fn configure(&self, request: Request<rpc::ConfigureRequest>) -> Answered<rpc::ConfigureResponse> {
        let client = request.remote_addr();
        let request = request.into_inner();
        let inputs = read(request.args)?;
        let asked = json!({ "urn": request.urn, "name": request.name, "id": request.id, "inputs": inputs });
        self.play(client, "configure", asked).await?;
        Ok(Response::new(rpc::ConfigureResponse {
            accept_secrets: self.accepts_secrets,
            accept_resources: true,
            accept_outputs: true,
            supports_preview: true,
            ..rpc::ConfigureResponse::default()
        }))
    }

    async fn check(&self, request: Request<rpc::CheckRequest>) -> Answered<rpc::CheckResponse> {
        let client = request.remote_addr();
        let answer = self.play(client, "check", check(request.into_inner())?).await?;
        Ok(Response::new(checked(&answer)?))
    }

    async fn diff(&self, request: Request<rpc::DiffRequest>) -> Answered<rpc::DiffResponse> {
        let client = request.remote_addr();
        let answer = self.play(client, "diff", diff(request.into_inner())?).await?;
        Ok(Response::new(compared(&answer)))
    }

    async fn create(&self, request: Request<rpc::CreateRequest>) -> Answered<rpc::CreateResponse> {
        let client = request.remote_addr();
        let request = request.into_inner();
        let asked = json!({
            "urn": request.urn, "type": request.r#type, "name": request.name,
            "inputs": read(request.properties)?, "timeout": request.timeout, "preview": request.preview,
        });
        let answer = self.play(client, "create", asked).await?;
        Ok(Response::new(rpc::CreateResponse {
            id: text(&answer, "id"),
            properties: write(&answer["outputs"])?,
            ..rpc::CreateResponse::default()
        }))
    }

    async fn read(&self, request: Request<rpc::ReadRequest>) -> Answered<rpc::ReadResponse> {
        let client = request.remote_addr();
        let request = request.into_inner();
        let asked = json!({
            "urn": request.urn, "type": request.r#type, "name": request.name, "id": request.id,
            "inputs": read(request.inputs)?, "outputs": read(request.properties)?, "timeout": request.timeout,
        });
        let answer = self.play(client, "read", asked).await?;
        Ok(Response::new(rpc::ReadResponse {
            id: text(&answer, "id"),
            properties: write(&answer["outputs"])?,
            inputs: write(&answer["inputs"])?,
            ..rpc::ReadResponse::default()
        }))
    }

    async fn update(&self, request: Request<rpc::UpdateRequest>) -> Answered<rpc::UpdateResponse> {
        let client = request.remote_addr();
        let request = request.into_inner();
        let asked = json!({
            "urn": request.urn, "type": request.r#type, "name": request.name, "id": request.id,
            "oldInputs": read(request.old_inputs)?, "oldOutputs": read(request.olds)?,
            "news": read(request.news)?, "ignoreChanges": request.ignore_changes,
            "timeout": request.timeout, "preview": request.preview,
        });
        let answer = self.play(client, "update", asked).await?;
        Ok(Response::new(rpc::UpdateResponse {
            properties: write(&answer["outputs"])?,
            ..rpc::UpdateResponse::default()
        }))
    }

    async fn delete(&self, request: Request<rpc::DeleteRequest>) -> Answered<()> {
        let client = request.remote_addr();
        let request = request.into_inner();
        let asked = json!({
            "urn": request.urn, "type": request.r#type, "name": request.name, "id": request.id,
            "inputs": read(request.old_inputs)?, "outputs": read(request.properties)?,
            "timeout": request.timeout,
        });
        self.play(client, "delete", asked).await?;
        Ok(Response::new(()))
    }

    async fn invoke(&self, request: Request<rpc::InvokeRequest>) -> Answered<rpc::InvokeResponse> {
        let client = request.remote_addr();
        let request = request.into_inner();
        let asked = json!({
            "token": request.tok, "arguments": read(request.args)?, "preview": request.preview,
        });
        let answer = self.play(client, "invoke", asked).await?;
        Ok(Response::new(rpc::InvokeResponse {
            r#return: write(&answer["result"])?,
            failures: failures(&answer),
        }))
    }

    async fn construct(&self, request: Request<rpc::ConstructRequest>) -> Answered<rpc::ConstructResponse> {
        let client = request.remote_addr();
        let request = request.into_inner();
        self.play(client, "construct", body::construct_facts(&request)?)
            .await?;
        let code = self.body("construct", &request.r#type)?;
        body::construct(request, code).await.map(Response::new)
    }

    async fn call(&self, request: Request<rpc::CallRequest>) -> Answered<rpc::CallResponse> {
        let client = request.remote_addr();
        let mut request = request.into_inner();
        let mut arguments = request.args.take().unwrap_or_default();
        let this = arguments.fields.remove("__self__");
        let this = this.map(|this| {
            body::values(Some(Struct {
                fields: [("of".to_owned(), this)].into(),
            }))
        });
        let asked = json!({
            "token": request.tok, "arguments": body::values(Some(arguments.clone()))?, "self": this.transpose()?,
            "preview": request.dry_run,
        });
        self.play(client, "call", asked).await?;
        let code = self.body("call", &request.tok)?;
        body::call(request, arguments, code).await.map(Response::new)
    }

    async fn cancel(&self, request: Request<()>) -> Answered<()> {
        self.play(request.remote_addr(), "cancel", json!({})).await?;
        Ok(Response::new(()))
    }
}
