//! The provider whose configuration is not known yet: what previews show of its resources.

use std::sync::Arc;

use async_trait::async_trait;

use crate::{
    property::PropertyMap,
    provider::{
        Capabilities, CheckRequest, CheckResponse, CreateRequest, CreateResponse, DeleteRequest, DiffChanges,
        DiffRequest, DiffResponse, HandshakeRequest, InvokeRequest, InvokeResponse, Provider, ProviderError,
        ProviderResult, ProviderStatus, ReadRequest, ReadResponse, UpdateRequest, UpdateResponse,
    },
};

/// Stands in, during a preview, for a provider that cannot be configured before something else exists.
///
/// Inputs pass Check as they are, outputs are not known, and every comparison says that it cannot tell. What is asked
/// about the configuration itself, the provider answers.
pub(crate) struct UnconfiguredProvider {
    provider: Arc<dyn Provider>,
}

impl UnconfiguredProvider {
    /// Stands in for `provider`.
    #[must_use]
    pub(crate) fn new(provider: Arc<dyn Provider>) -> Self {
        Self { provider }
    }
}

const UNAVAILABLE: &str = "The provider for this resource has inputs that are not known during preview.\n\
    This preview may not correctly represent the changes that will be applied during an update.";

#[async_trait]
impl Provider for UnconfiguredProvider {
    async fn handshake(&self, _request: HandshakeRequest) -> ProviderResult<Capabilities> {
        Ok(Capabilities::all())
    }

    async fn check_config(&self, request: CheckRequest) -> ProviderResult<CheckResponse> {
        self.provider.check_config(request).await
    }

    async fn diff_config(&self, request: DiffRequest) -> ProviderResult<DiffResponse> {
        self.provider.diff_config(request).await
    }

    async fn diff(&self, _request: DiffRequest) -> ProviderResult<DiffResponse> {
        Ok(DiffResponse {
            changes: DiffChanges::Some,
            unavailable: Some(UNAVAILABLE.to_owned()),
            ..DiffResponse::default()
        })
    }

    async fn create(&self, request: CreateRequest) -> ProviderResult<CreateResponse> {
        if request.preview {
            Ok(CreateResponse::default())
        } else {
            Err(unknown_configuration())
        }
    }

    async fn read(&self, request: ReadRequest) -> ProviderResult<ReadResponse> {
        Ok(ReadResponse {
            id: request.id,
            inputs: Some(PropertyMap::new()),
            outputs: Some(PropertyMap::new()),
            refresh_before_update: false,
        })
    }

    async fn update(&self, request: UpdateRequest) -> ProviderResult<UpdateResponse> {
        if request.preview {
            Ok(UpdateResponse::default())
        } else {
            Err(unknown_configuration())
        }
    }

    async fn delete(&self, _request: DeleteRequest) -> ProviderResult<()> {
        Err(unknown_configuration())
    }

    async fn invoke(&self, _request: InvokeRequest) -> ProviderResult<InvokeResponse> {
        Ok(InvokeResponse::default())
    }
}

fn unknown_configuration() -> ProviderError {
    ProviderError::new(
        ProviderStatus::FailedPrecondition,
        "the provider's configuration is not known",
    )
}
