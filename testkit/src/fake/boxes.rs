//! A provider in this process whose components and methods fail on demand.

use stackwright::{
    monitor::{Component, Registration},
    provider::{
        Capabilities, ConstructRequest, ConstructResponse, CreateRequest, CreateResponse, DeleteRequest,
        HandshakeRequest, MethodRequest, MethodResponse, Provider, ProviderError, ProviderResult,
        ProviderStatus,
    },
};

/// Constructs components whose outputs are their inputs. One named `early` fails before it is registered, one named `late`
/// afterwards. Methods fail.
#[derive(Clone, Debug, Default)]
pub struct FakeBoxes {
    child: Option<Registration>,
}

impl FakeBoxes {
    /// Creates the provider of components that have one child each.
    #[must_use]
    pub fn with_child(child: Registration) -> Self {
        Self { child: Some(child) }
    }
}

impl Provider for FakeBoxes {
    async fn handshake(&self, _request: HandshakeRequest) -> ProviderResult<Capabilities> {
        Ok(Capabilities::all())
    }

    async fn create(&self, _request: CreateRequest) -> ProviderResult<CreateResponse> {
        Err(ProviderError::unimplemented("it has components only"))
    }

    async fn delete(&self, _request: DeleteRequest) -> ProviderResult<()> {
        Ok(())
    }

    async fn construct(&self, request: ConstructRequest) -> ProviderResult<ConstructResponse> {
        let failure = ProviderError::new(ProviderStatus::Unknown, "no more wood");
        if request.name == "early" {
            return Err(failure);
        }
        let component = Component::register(&request).await?;
        if request.name == "late" {
            return Err(failure);
        }
        if let Some(child) = &self.child {
            component.register_child(child.clone()).await?;
        }
        component.finish(request.inputs).await
    }

    async fn call_method(&self, _request: MethodRequest) -> ProviderResult<MethodResponse> {
        Err(ProviderError::new(ProviderStatus::Unknown, "it is stuck"))
    }
}
