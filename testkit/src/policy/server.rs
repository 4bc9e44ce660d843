//! A pack's analyzer: every call is one of the scene, with its rules, its log and its trace.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value, json};
use stackwright::property::{
    PropertyMap,
    json::PlainMap,
    wire::{DecodeOptions, EncodeOptions, from_struct, to_struct},
};
use stackwright_proto::{
    pulumirpc::{self as rpc, analyzer_server::Analyzer},
    values::{ListValue, Struct, Value as WireValue, value::Kind},
};
use tonic::{Code, Request, Response, Status};

use super::{
    Stage,
    judge::{self, Levels},
};
use crate::{provider::plain, scenario::PackScript, script::Scene, value};

/// One pack.
pub(super) struct Served {
    name: String,
    script: PackScript,
    stage: Stage,
    levels: Mutex<Levels>,
}

impl Served {
    pub(super) fn new(name: &str, script: &PackScript, stage: Stage) -> Self {
        Self {
            name: name.to_owned(),
            script: script.clone(),
            stage,
            levels: Mutex::default(),
        }
    }

    fn scene(&self) -> Result<Arc<Scene>, Status> {
        let stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        stage
            .clone()
            .ok_or_else(|| Status::internal("nothing is being played"))
    }

    fn levels(&self) -> Levels {
        self.levels.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Plays a call: `usual` is the answer unless a rule replaces it.
    async fn play(&self, method: &str, subject: &str, request: Value, usual: Value) -> Result<Value, Status> {
        let scene = self.scene()?;
        let answer = scene.play(method, subject, request, usual).await;
        answer.map_err(|failure| Status::new(Code::from(i32::from(failure.status)), failure.message))
    }

    fn response(&self, answer: &Value) -> rpc::AnalyzeResponse {
        let text = |found: &Value, name: &str| found[name].as_str().unwrap_or_default().to_owned();
        let found = answer["diagnostics"].as_array().into_iter().flatten();
        let diagnostics = found.map(|found| rpc::AnalyzeDiagnostic {
            policy_name: text(found, "policy"),
            policy_pack_name: self.name.clone(),
            policy_pack_version: self.script.version.clone(),
            message: text(found, "message"),
            enforcement_level: i32::try_from(found["level"].as_i64().unwrap_or_default()).unwrap_or_default(),
            urn: text(found, "urn"),
            severity: judge::severity(&text(found, "severity")),
            ..rpc::AnalyzeDiagnostic::default()
        });
        rpc::AnalyzeResponse {
            diagnostics: diagnostics.collect(),
            not_applicable: Vec::new(),
        }
    }
}

/// Returns properties in the form of scenarios.
fn read(message: Option<Struct>) -> Result<Map<String, Value>, Status> {
    let properties = from_struct(message.unwrap_or_default(), &DecodeOptions::all("properties"));
    let properties = properties.map_err(|error| Status::invalid_argument(error.message().to_owned()))?;
    match value::from_plain(&plain(properties)) {
        Value::Object(members) => Ok(members),
        other => Err(Status::internal(format!("these are no properties: {other}"))),
    }
}

fn write(properties: Map<String, Value>) -> Result<Struct, Status> {
    let plain: PlainMap = serde_json::from_value(value::to_plain(&Value::Object(properties)))
        .map_err(|error| Status::internal(error.to_string()))?;
    let properties: PropertyMap = plain.0;
    to_struct(&properties, &EncodeOptions::all("properties"))
        .map_err(|error| Status::internal(error.message().to_owned()))
}

/// Encodes properties as they are: special values may be malformed.
fn unchanged(properties: &Map<String, Value>) -> Struct {
    let fields = properties
        .iter()
        .map(|(name, value)| (name.clone(), unchanged_value(value)));
    Struct {
        fields: fields.collect(),
    }
}

fn unchanged_value(value: &Value) -> WireValue {
    let kind = match value {
        Value::Null => Kind::NullValue(0),
        Value::Bool(value) => Kind::BoolValue(*value),
        Value::Number(number) => Kind::NumberValue(number.as_f64().unwrap_or_default()),
        Value::String(text) => Kind::StringValue(text.clone()),
        Value::Array(values) => Kind::ListValue(ListValue {
            values: values.iter().map(unchanged_value).collect(),
        }),
        Value::Object(fields) => Kind::StructValue(unchanged(fields)),
    };
    WireValue { kind: Some(kind) }
}

/// Returns whether a resource is part of scenarios: neither the stack nor a default provider.
fn is_visible(request: &rpc::AnalyzeRequest) -> bool {
    let default = request.r#type.starts_with("pulumi:providers:") && request.name.starts_with("default");
    request.r#type != "pulumi:pulumi:Stack" && !default
}

#[tonic::async_trait]
impl Analyzer for Served {
    async fn analyze(
        &self,
        request: Request<rpc::AnalyzeRequest>,
    ) -> Result<Response<rpc::AnalyzeResponse>, Status> {
        let request = request.into_inner();
        if !is_visible(&request) {
            return Ok(Response::new(rpc::AnalyzeResponse::default()));
        }
        let provider = request.provider.as_ref().map(|provider| provider.name.clone());
        let properties = read(request.properties)?;
        let found = judge::analyze(&self.script, &self.levels(), &properties);
        let asked = json!({ "pack": self.name, "type": request.r#type, "properties": properties, "provider": provider });
        let answer = self.play("analyze", &request.name, asked, json!({ "diagnostics": found }));
        Ok(Response::new(self.response(&answer.await?)))
    }

    async fn remediate(
        &self,
        request: Request<rpc::AnalyzeRequest>,
    ) -> Result<Response<rpc::RemediateResponse>, Status> {
        let request = request.into_inner();
        if !is_visible(&request) {
            return Ok(Response::new(rpc::RemediateResponse::default()));
        }
        let properties = read(request.properties)?;
        let rewrites = judge::remediate(&self.script, &self.levels(), &properties);
        let asked = json!({ "pack": self.name, "type": request.r#type, "properties": properties });
        let answer = self.play("remediate", &request.name, asked, json!({})).await?;
        let mut remediations = Vec::new();
        for (policy, properties) in rewrites {
            remediations.push(rpc::Remediation {
                policy_name: policy,
                policy_pack_name: self.name.clone(),
                policy_pack_version: self.script.version.clone(),
                properties: Some(write(properties)?),
                ..rpc::Remediation::default()
            });
        }
        if let Some(reason) = answer["diagnostic"].as_str() {
            remediations.push(rpc::Remediation {
                policy_name: answer["policy"].as_str().unwrap_or_default().to_owned(),
                diagnostic: reason.to_owned(),
                ..rpc::Remediation::default()
            });
        }
        if let Value::Object(properties) = &answer["properties"] {
            remediations.push(rpc::Remediation {
                policy_name: answer["policy"].as_str().unwrap_or_default().to_owned(),
                properties: Some(unchanged(properties)),
                ..rpc::Remediation::default()
            });
        }
        Ok(Response::new(rpc::RemediateResponse {
            remediations,
            not_applicable: Vec::new(),
        }))
    }

    async fn analyze_stack(
        &self,
        request: Request<rpc::AnalyzeStackRequest>,
    ) -> Result<Response<rpc::AnalyzeResponse>, Status> {
        let mut resources = Map::new();
        for resource in request.into_inner().resources {
            if !resource.r#type.starts_with("pulumi:") {
                resources.insert(resource.name.clone(), read(resource.properties)?.into());
            }
        }
        let found = judge::analyze_stack(&self.script, &self.levels(), resources.len());
        let asked = json!({ "resources": resources });
        let answer = self.play("analyzeStack", &self.name, asked, json!({ "diagnostics": found }));
        Ok(Response::new(self.response(&answer.await?)))
    }

    async fn get_analyzer_info(&self, _request: Request<()>) -> Result<Response<rpc::AnalyzerInfo>, Status> {
        self.play("getAnalyzerInfo", &self.name, json!({}), json!({}))
            .await?;
        let policies = self.script.has.iter().map(|(name, policy)| rpc::PolicyInfo {
            name: name.clone(),
            enforcement_level: judge::level(&policy.level),
            config_schema: Some(rpc::PolicyConfigSchema {
                properties: None,
                required: policy.requires.clone(),
            }),
            policy_type: i32::from(match policy.at_most {
                Some(_) => rpc::PolicyType::Stack,
                None => rpc::PolicyType::Resource,
            }),
            ..rpc::PolicyInfo::default()
        });
        Ok(Response::new(rpc::AnalyzerInfo {
            name: self.name.clone(),
            version: self.script.version.clone(),
            supports_config: true,
            policies: policies.collect(),
            ..rpc::AnalyzerInfo::default()
        }))
    }

    async fn get_plugin_info(&self, _request: Request<()>) -> Result<Response<rpc::PluginInfo>, Status> {
        Err(Status::unimplemented("GetPluginInfo"))
    }

    async fn configure(
        &self,
        request: Request<rpc::ConfigureAnalyzerRequest>,
    ) -> Result<Response<()>, Status> {
        let mut asked = Map::new();
        let mut levels = Levels::new();
        for (policy, config) in request.into_inner().policy_config {
            levels.insert(policy.clone(), config.enforcement_level);
            let settings = json!({ "level": config.enforcement_level, "settings": read(config.properties)? });
            asked.insert(policy, settings);
        }
        *self.levels.lock().unwrap_or_else(PoisonError::into_inner) = levels;
        self.play("configurePolicies", &self.name, asked.into(), json!({}))
            .await?;
        Ok(Response::new(()))
    }

    async fn handshake(
        &self,
        _request: Request<rpc::AnalyzerHandshakeRequest>,
    ) -> Result<Response<rpc::AnalyzerHandshakeResponse>, Status> {
        Ok(Response::new(rpc::AnalyzerHandshakeResponse {}))
    }

    async fn configure_stack(
        &self,
        request: Request<rpc::AnalyzerStackConfigureRequest>,
    ) -> Result<Response<rpc::AnalyzerStackConfigureResponse>, Status> {
        let request = request.into_inner();
        let asked = json!({
            "stack": request.stack, "project": request.project, "organization": request.organization,
            "preview": request.dry_run, "config": request.config,
            "configSecretKeys": request.config_secret_keys,
        });
        self.play("configureStack", &self.name, asked, json!({})).await?;
        Ok(Response::new(rpc::AnalyzerStackConfigureResponse {}))
    }

    async fn cancel(&self, _request: Request<()>) -> Result<Response<()>, Status> {
        self.scene()?.note_cancel(&self.name);
        Ok(Response::new(()))
    }
}
