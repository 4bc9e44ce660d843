//! The provider that could not be loaded: each call fails with the reason, so that only what needs it fails.

use async_trait::async_trait;

use crate::{
    error::Error,
    provider::{
        Capabilities, CheckRequest, CheckResponse, CreateRequest, CreateResponse, DeleteRequest, DiffRequest,
        DiffResponse, HandshakeRequest, Provider, ProviderError, ProviderResult, ReadRequest, ReadResponse,
        UpdateRequest, UpdateResponse,
    },
};

/// Stands in for a provider that could not be loaded or configured.
pub(super) struct FailedProvider(ProviderError);

impl FailedProvider {
    pub(super) fn new(error: &Error) -> Self {
        // Nothing was asked of it: what it manages is as it was.
        Self(ProviderError::unreached(error))
    }
}

#[async_trait]
impl Provider for FailedProvider {
    async fn handshake(&self, _request: HandshakeRequest) -> ProviderResult<Capabilities> {
        Err(self.0.clone())
    }

    async fn check(&self, _request: CheckRequest) -> ProviderResult<CheckResponse> {
        Err(self.0.clone())
    }

    async fn diff(&self, _request: DiffRequest) -> ProviderResult<DiffResponse> {
        Err(self.0.clone())
    }

    async fn create(&self, _request: CreateRequest) -> ProviderResult<CreateResponse> {
        Err(self.0.clone())
    }

    async fn read(&self, _request: ReadRequest) -> ProviderResult<ReadResponse> {
        Err(self.0.clone())
    }

    async fn update(&self, _request: UpdateRequest) -> ProviderResult<UpdateResponse> {
        Err(self.0.clone())
    }

    async fn delete(&self, _request: DeleteRequest) -> ProviderResult<()> {
        Err(self.0.clone())
    }
}
