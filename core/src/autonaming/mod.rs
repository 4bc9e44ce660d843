//! Autonaming: the physical names that providers are to give to new resources.

mod draw;
mod pattern;
mod rule;
mod settings;

use async_trait::async_trait;

use crate::{error::Result, provider::Autonaming, token::TypeToken, urn::Urn};

pub(crate) use settings::{ConfiguredNames, KEY as SETTINGS, StackFacts};

/// Decides how new resources are named, instead of the configuration's `pulumi:autonaming`.
///
/// Called once for each registration of a custom resource that is no provider. Calls are concurrent.
#[async_trait]
pub trait Autonamer: Send + Sync + 'static {
    /// Returns the proposal that is sent to the provider; `None` leaves the name to the provider.
    ///
    /// # Errors
    /// Any error ends the operation; the engine adds the resource to it.
    async fn propose(&self, request: NamingRequest) -> Result<Option<Proposal>>;
}

/// The resource whose physical name is requested.
#[derive(Clone, Debug)]
pub struct NamingRequest {
    /// The resource.
    pub urn: Urn,
    /// Its type.
    pub resource_type: TypeToken,
    /// Its name.
    pub name: String,
    /// 32 random bytes. A plan keeps them, so that names drawn from them are those of the preview.
    pub random_seed: Vec<u8>,
    /// True in a preview.
    pub preview: bool,
}

/// The autonaming of one resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// The name and mode that are sent to the provider.
    pub autonaming: Autonaming,
    /// True when a replacement would get the same name, so that the old resource must be deleted first.
    pub delete_before_replace: bool,
    /// True when a warning is emitted for a provider that does not support autonaming.
    pub warn_if_unsupported: bool,
}
