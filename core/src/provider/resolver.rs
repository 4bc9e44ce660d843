//! The host's resolver: chooses the provider of a package.

use std::{collections::BTreeMap, fmt, sync::Arc};

use async_trait::async_trait;

use crate::{error::Result, plugin::PluginKind, provider::ProviderBackend};

/// The plugin to resolve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolutionRequest {
    /// Its kind.
    pub kind: PluginKind,
    /// Its name: the package's, unless the package is parameterized.
    pub name: String,
    /// The requested version.
    pub version: Option<semver::Version>,
    /// The download address; empty if unknown.
    pub download_url: String,
    /// Hex checksums by platform (`linux-amd64`).
    pub checksums: BTreeMap<String, String>,
    /// Policy packs: the folder or file of the pack from the operation's options; empty without one.
    pub path: String,
    /// Policy packs: the settings by policy from the operation's options.
    pub config: BTreeMap<String, serde_json::Value>,
}

/// The provider of a package.
#[derive(Clone)]
pub enum Resolution {
    /// A provider that listens at this address (`127.0.0.1:4711`), reserved for this instance.
    Address(String),
    /// Code of the host.
    InProcess(Arc<dyn ProviderBackend>),
    /// The provider that the engine finds itself.
    Default,
}

impl fmt::Debug for Resolution {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => formatter.debug_tuple("Address").field(address).finish(),
            Self::InProcess(_) => formatter.write_str("InProcess"),
            Self::Default => formatter.write_str("Default"),
        }
    }
}

/// Chooses the provider of a package. Called for every instance: a provider with two configurations is two instances.
#[async_trait]
pub trait Resolver: Send + Sync + 'static {
    /// Returns the provider of a package.
    ///
    /// # Errors
    /// Any; returned unchanged.
    async fn resolve(&self, request: ResolutionRequest) -> Result<Resolution>;
}
