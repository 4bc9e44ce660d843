//! Autonaming: which names providers are to give to the real things that resources stand for.

mod draw;
mod pattern;
mod rule;
mod settings;

use async_trait::async_trait;

use crate::{error::Result, provider::Autonaming, token::TypeToken, urn::Urn};

pub(crate) use settings::{ConfiguredNames, KEY as SETTINGS, StackFacts};

/// Decides how real things are named, in the stead of the configuration's `pulumi:autonaming`.
///
/// It is asked once for each registration of a custom resource that is no provider. Calls come CONCURRENTLY.
#[async_trait]
pub trait Autonamer: Send + Sync + 'static {
    /// Says what the provider is told about the name; `None` leaves the name to the provider.
    ///
    /// # Errors
    /// Any; it ends the operation, and the resource is named.
    async fn propose(&self, request: NamingRequest) -> Result<Option<Proposal>>;
}

/// Asks how a resource's real thing is to be named.
#[derive(Clone, Debug)]
pub struct NamingRequest {
    /// The resource.
    pub urn: Urn,
    /// Its type.
    pub resource_type: TypeToken,
    /// Its name.
    pub name: String,
    /// 32 random bytes. A plan keeps them: names that are drawn from them are those that the preview showed.
    pub random_seed: Vec<u8>,
    /// True while previewing.
    pub preview: bool,
}

/// What is said about the name of one real thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// What the provider is told.
    pub autonaming: Autonaming,
    /// The name would be the same again, so that a replacement must delete the old thing first.
    pub delete_before_replace: bool,
    /// People are warned when the provider does not heed names.
    pub warn_if_unsupported: bool,
}
