//! The calls that touch no resource.

use stackwright_proto::pulumirpc;

use super::{
    GrpcProvider,
    resource::failures,
    values::{Unknowns, encode, sending},
};
use crate::provider::{InvokeRequest, InvokeResponse, ProviderError, ProviderResult, ProviderStatus};

/// The parameter that makes one package out of a provider of many.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Parameter {
    /// The package that results.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What only the provider understands.
    pub value: Vec<u8>,
}

impl GrpcProvider {
    pub(super) async fn invoke_function(&self, request: InvokeRequest) -> ProviderResult<InvokeResponse> {
        let capabilities = self.configured().await?;
        let message = pulumirpc::InvokeRequest {
            tok: request.token,
            args: encode(&request.arguments, &sending("args", capabilities, Unknowns::Drop))?,
            preview: request.preview,
        };
        let answer = match self.client().invoke(message).await {
            Ok(answer) => answer.into_inner(),
            Err(failure) => return Err(self.peer.fault("Invoke", failure, &self.runtime).await),
        };
        let result = self.decode("Invoke", "result", answer.r#return, Unknowns::Drop)?;
        Ok(InvokeResponse {
            result,
            failures: failures(answer.failures),
        })
    }

    /// Makes a provider of many packages serve one; sent after the greeting and before anything about its package.
    ///
    /// # Errors
    /// What the provider failed with, or that it serves another package than it was asked to.
    pub(crate) async fn parameterize(&self, parameter: &Parameter) -> ProviderResult<()> {
        use pulumirpc::parameterize_request::{Parameters, ParametersValue};
        let message = pulumirpc::ParameterizeRequest {
            parameters: Some(Parameters::Value(ParametersValue {
                name: parameter.name.clone(),
                version: parameter.version.clone(),
                value: parameter.value.clone(),
            })),
        };
        match self.client().parameterize(message).await {
            Ok(answer) => {
                let name = answer.into_inner().name;
                if name == parameter.name {
                    return Ok(());
                }
                let wanted = &parameter.name;
                let text = format!(
                    "plugin {} was to serve the package {wanted:?}, but serves {name:?}",
                    self.name()
                );
                Err(ProviderError::new(ProviderStatus::FailedPrecondition, text))
            }
            Err(failure) => Err(self.peer.fault("Parameterize", failure, &self.runtime).await),
        }
    }
}
