//! The preview of resources whose provider has an unknown configuration.

use crate::{
    property::PropertyMap,
    provider::{
        Call, CheckResponse, CreateResponse, DiffChanges, DiffResponse, InvokeResponse, MethodResponse,
        ProviderError, ProviderResult, ProviderStatus, ReadResponse, Reply, UpdateResponse,
    },
};

/// The reference engine's warning; tools match on it.
const UNAVAILABLE: &str = "The provider for this resource has inputs that are not known during preview.\n\
    This preview may not correctly represent the changes that will be applied during an update.";

/// Responds for the provider: Check returns the inputs unchanged, outputs are unknown, and Diff is unavailable. Returns
/// the call as the error if it needs no configuration.
pub(super) fn answer(call: Call) -> Result<ProviderResult<Reply>, Box<Call>> {
    Ok(match call {
        Call::Check(request) => Ok(Reply::Check(CheckResponse {
            inputs: request.news,
            failures: Vec::new(),
        })),
        Call::Diff(_) => Ok(Reply::Diff(DiffResponse {
            changes: DiffChanges::Some,
            unavailable: Some(UNAVAILABLE.to_owned()),
            ..DiffResponse::default()
        })),
        Call::Create(request) if request.preview => Ok(Reply::Create(CreateResponse::default())),
        Call::Update(request) if request.preview => Ok(Reply::Update(UpdateResponse::default())),
        Call::Create(_) | Call::Update(_) | Call::Delete(_) => Err(ProviderError::new(
            ProviderStatus::FailedPrecondition,
            "the provider's configuration is not known",
        )),
        Call::Read(request) => Ok(Reply::Read(ReadResponse {
            id: request.id,
            inputs: Some(PropertyMap::new()),
            outputs: Some(PropertyMap::new()),
            ..ReadResponse::default()
        })),
        Call::Invoke(_) => Ok(Reply::Invoke(InvokeResponse::default())),
        Call::Method(_) => Ok(Reply::Method(MethodResponse::default())),
        other => return Err(Box::new(other)),
    })
}
