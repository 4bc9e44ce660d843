//! The calls about a package: functions, parameterization, schema and mappings.

use async_trait::async_trait;
use stackwright_proto::pulumirpc;

use super::{
    GrpcProvider,
    resource::failures,
    values::{Unknowns, decode_with, encode, sending},
};
use crate::{
    property::wire::EncodeOptions,
    provider::{
        Extensible, InvokeRequest, InvokeResponse, Mapping, MappingRequest, ProviderError, ProviderResult,
        ProviderStatus, SchemaRequest, package::SCHEMA_FORMAT,
    },
    resource::Extension,
};

/// The parameter that turns the provider of many packages into that of one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Parameter {
    /// The resulting package.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The value; opaque to the engine.
    pub value: Vec<u8>,
}

#[async_trait]
impl Extensible for GrpcProvider {
    async fn extend(&self, extension: &Extension) -> ProviderResult<()> {
        // A configuration that fails is the reason, and one that is under way comes first.
        self.configured().await?;
        let parameter = Parameter {
            name: extension.name.clone(),
            version: extension.version.clone(),
            value: extension.value.clone(),
        };
        let name = self.send_parameter(&parameter).await?;
        if name == extension.name {
            return Ok(());
        }
        let plugin = self.name();
        let text = format!("plugin {plugin} answered with the extension {name:?}");
        Err(ProviderError::new(ProviderStatus::FailedPrecondition, text))
    }
}

impl GrpcProvider {
    pub(super) async fn invoke_function(&self, request: InvokeRequest) -> ProviderResult<InvokeResponse> {
        let capabilities = self.configured().await?;
        let options = EncodeOptions {
            keep_outputs: capabilities.accept_outputs_in_invoke,
            ..sending("args", capabilities, Unknowns::Drop)
        };
        let message = pulumirpc::InvokeRequest {
            tok: request.token,
            args: encode(&request.arguments, &options)?,
            preview: request.preview,
        };
        let answer = match self.client().invoke(message).await {
            Ok(answer) => answer.into_inner(),
            Err(failure) => return Err(self.peer.call_error("Invoke", failure, &self.runtime).await),
        };
        let result = decode_with(self, "Invoke", "result", answer.r#return, Unknowns::Drop, true)?;
        Ok(InvokeResponse {
            result,
            failures: failures(answer.failures),
        })
    }

    /// Parameterizes a provider of many packages; sent after the handshake and before any call about its package.
    ///
    /// # Errors
    /// The provider's error, or that it serves another package than requested.
    pub(crate) async fn parameterize(&self, parameter: &Parameter) -> ProviderResult<()> {
        let name = self.send_parameter(parameter).await?;
        if name == parameter.name {
            return Ok(());
        }
        let (plugin, expected) = (self.name(), &parameter.name);
        let text = format!("plugin {plugin} was to serve the package {expected:?}, but serves {name:?}");
        Err(ProviderError::new(ProviderStatus::FailedPrecondition, text))
    }

    /// Sends a parameter; returns the name of the resulting package.
    async fn send_parameter(&self, parameter: &Parameter) -> ProviderResult<String> {
        use pulumirpc::parameterize_request::{Parameters, ParametersValue};
        let message = pulumirpc::ParameterizeRequest {
            parameters: Some(Parameters::Value(ParametersValue {
                name: parameter.name.clone(),
                version: parameter.version.clone(),
                value: parameter.value.clone(),
            })),
        };
        match self.client().parameterize(message).await {
            Ok(answer) => Ok(answer.into_inner().name),
            Err(failure) => Err(self.peer.call_error("Parameterize", failure, &self.runtime).await),
        }
    }

    pub(super) async fn ask_for_schema(&self, request: SchemaRequest) -> ProviderResult<String> {
        let message = pulumirpc::GetSchemaRequest {
            version: SCHEMA_FORMAT,
            subpackage_name: request.subpackage_name,
            subpackage_version: request.subpackage_version,
        };
        match self.client().get_schema(message).await {
            Ok(answer) => Ok(answer.into_inner().schema),
            Err(failure) => Err(self.peer.call_error("GetSchema", failure, &self.runtime).await),
        }
    }

    pub(super) async fn ask_for_mapping(&self, request: MappingRequest) -> ProviderResult<Mapping> {
        let message = pulumirpc::GetMappingRequest {
            key: request.key,
            provider: request.provider,
        };
        match self.client().get_mapping(message).await {
            Ok(answer) => {
                let answer = answer.into_inner();
                Ok(Mapping {
                    provider: answer.provider,
                    data: answer.data,
                })
            }
            Err(failure) => Err(self.peer.call_error("GetMapping", failure, &self.runtime).await),
        }
    }

    pub(super) async fn ask_for_mappings(&self, key: &str) -> ProviderResult<Vec<String>> {
        let message = pulumirpc::GetMappingsRequest { key: key.to_owned() };
        match self.client().get_mappings(message).await {
            Ok(answer) => Ok(answer.into_inner().providers),
            Err(failure) => Err(self.peer.call_error("GetMappings", failure, &self.runtime).await),
        }
    }
}
