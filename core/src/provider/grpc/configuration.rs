//! The provider's own configuration: checked, compared, and sent in the background.

use std::{collections::BTreeMap, sync::Arc};

use stackwright_proto::pulumirpc;
use tokio::sync::watch;

use super::{
    GrpcProvider,
    resource::{check_response, diff_response},
    status::is_unknown_call,
    values::{Unknowns, encode, sending_plain},
};
use crate::{
    property::{
        PropertyMap, PropertyValue,
        wire::{EncodeOptions, to_struct, to_value},
    },
    provider::{
        Capabilities, CheckRequest, CheckResponse, ConfigureRequest, DiffRequest, DiffResponse,
        ProviderError, ProviderResult, ProviderStatus,
    },
};

/// The state of the configuration.
#[derive(Clone, Debug)]
pub(super) enum Configuration {
    /// Configure has not been called.
    None,
    /// Configure has been sent.
    Running,
    /// The provider accepted the configuration.
    Done(Capabilities),
    /// The provider refused the configuration.
    Failed(Arc<ProviderError>),
}

/// The configuration, with notification of changes.
pub(super) struct ConfigurationCell(watch::Sender<Configuration>);

impl Default for ConfigurationCell {
    fn default() -> Self {
        Self(watch::Sender::new(Configuration::None))
    }
}

impl ConfigurationCell {
    /// Returns the current state.
    pub(super) fn now(&self) -> Configuration {
        self.0.borrow().clone()
    }

    /// Waits until the configuration is not running.
    pub(super) async fn settled(&self) -> Configuration {
        let settled = |state: &Configuration| !matches!(state, Configuration::Running);
        let now = self.now();
        if settled(&now) {
            return now;
        }
        match self.0.subscribe().wait_for(settled).await {
            Ok(state) => state.clone(),
            // Unreachable: `self` holds the sender.
            Err(_) => Configuration::None,
        }
    }
}

impl GrpcProvider {
    pub(super) async fn check_configuration(&self, request: CheckRequest) -> ProviderResult<CheckResponse> {
        let capabilities = self.capabilities_without_configuration();
        let message = pulumirpc::CheckRequest {
            urn: request.urn.to_string(),
            name: request.name,
            r#type: request.resource_type.to_string(),
            olds: encode(
                request.olds.as_ref().unwrap_or(&PropertyMap::new()),
                &sending_plain("olds", capabilities),
            )?,
            news: encode(&request.news, &sending_plain("news", capabilities))?,
            ..pulumirpc::CheckRequest::default()
        };
        match self.client().check_config(message).await {
            Ok(answer) => check_response(self, "CheckConfig", answer.into_inner(), Unknowns::Keep),
            Err(failure) if is_unknown_call(self.name(), &failure) => Ok(CheckResponse {
                inputs: request.news,
                failures: Vec::new(),
            }),
            Err(failure) => Err(self.peer.call_error("CheckConfig", failure, &self.runtime).await),
        }
    }

    pub(super) async fn diff_configuration(&self, request: DiffRequest) -> ProviderResult<DiffResponse> {
        let options = |label| sending_plain(label, self.capabilities_without_configuration());
        let message = pulumirpc::DiffRequest {
            id: request.id.to_string(),
            urn: request.urn.to_string(),
            name: request.name,
            r#type: request.resource_type.to_string(),
            olds: encode(&request.old_outputs, &options("olds"))?,
            news: encode(&request.news, &options("news"))?,
            old_inputs: encode(&request.old_inputs, &options("old inputs"))?,
            ignore_changes: request.ignore_changes,
        };
        match self.client().diff_config(message).await {
            Ok(answer) => diff_response(answer.into_inner(), &request.urn),
            Err(failure) if is_unknown_call(self.name(), &failure) => Ok(DiffResponse::default()),
            Err(failure) => Err(self.peer.call_error("DiffConfig", failure, &self.runtime).await),
        }
    }

    /// Sends the configuration in the background; later calls wait for the result.
    pub(super) fn begin_configuration(&self, request: ConfigureRequest) -> ProviderResult<()> {
        let greeted = self.greeted.get().copied().flatten();
        let args = to_struct(
            &request.inputs,
            &EncodeOptions {
                keep_outputs: false,
                keep_bytes: greeted.is_some_and(|greeted| greeted.accept_byte_strings),
                ..EncodeOptions::all("config")
            },
        )
        .map_err(|error| ProviderError::new(ProviderStatus::InvalidArgument, error.message()))?;
        let message = pulumirpc::ConfigureRequest {
            variables: variables(request.urn.resource_type(), &request.inputs)?,
            args: Some(args),
            accept_secrets: true,
            accept_resources: true,
            sends_old_inputs: true,
            sends_old_inputs_to_delete: true,
            id: Some(request.id.to_string()),
            urn: Some(request.urn.to_string()),
            name: Some(request.name),
            r#type: Some(request.urn.resource_type().to_owned()),
        };
        self.configuration.0.send_replace(Configuration::Running);
        let mut client = self.client();
        let peer = Arc::clone(&self.peer);
        let runtime = self.runtime.clone();
        let outcome = self.configuration.0.clone();
        self.runtime.spawner.spawn(async move {
            let state = match client.configure(message).await {
                Ok(answer) => {
                    let answer = answer.into_inner();
                    Configuration::Done(greeted.unwrap_or(Capabilities {
                        accept_secrets: answer.accept_secrets,
                        accept_resources: answer.accept_resources,
                        accept_outputs: answer.accept_outputs,
                        accept_outputs_in_invoke: false,
                        accept_outputs_in_call: false,
                        supports_preview: answer.supports_preview,
                        supports_autonaming: answer.supports_autonaming_configuration,
                        accept_byte_strings: false,
                        waits_for_registrations: false,
                    }))
                }
                Err(failure) => {
                    Configuration::Failed(Arc::new(peer.call_error("Configure", failure, &runtime).await))
                }
            };
            outcome.send_replace(state);
        });
        Ok(())
    }
}

/// Returns the configuration as texts under `<package>:config:<key>`, for providers without a schema.
fn variables(resource_type: &str, inputs: &PropertyMap) -> ProviderResult<BTreeMap<String, String>> {
    let package = resource_type.rsplit(':').next().unwrap_or_default();
    let mut variables = BTreeMap::new();
    for (key, value) in inputs.iter().filter(|(key, _)| *key != "version") {
        let text = match value.unwrapped() {
            PropertyValue::String(text) => text.to_string(),
            value => {
                let options = EncodeOptions {
                    label: "config",
                    ..EncodeOptions::default()
                };
                let plain = to_value(value, &options)
                    .map_err(|error| ProviderError::new(ProviderStatus::InvalidArgument, error.message()))?;
                plain.as_ref().map(json).unwrap_or_default().to_string()
            }
        };
        variables.insert(format!("{package}:config:{key}"), text);
    }
    Ok(variables)
}

/// Returns a plain value as JSON; integral numbers have no decimal point.
fn json(value: &stackwright_proto::values::Value) -> serde_json::Value {
    use stackwright_proto::values::value::Kind;
    match &value.kind {
        None | Some(Kind::NullValue(_)) => serde_json::Value::Null,
        Some(Kind::BoolValue(value)) => (*value).into(),
        #[expect(clippy::cast_possible_truncation, reason = "integral and within the range")]
        Some(Kind::NumberValue(number)) if number.fract() == 0.0 && number.abs() < 9e15 => {
            (*number as i64).into()
        }
        Some(Kind::NumberValue(number)) => (*number).into(),
        Some(Kind::StringValue(text)) => text.as_str().into(),
        Some(Kind::ListValue(list)) => list.values.iter().map(json).collect(),
        Some(Kind::StructValue(object)) => object
            .fields
            .iter()
            .map(|(key, value)| (key.clone(), json(value)))
            .collect(),
    }
}
