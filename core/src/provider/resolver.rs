//! The host's say in which provider serves a package.

use std::{collections::BTreeMap, fmt, sync::Arc};

use async_trait::async_trait;

use crate::{error::Result, plugin::PluginKind, provider::ProviderBackend};

/// Which plugin is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolutionRequest {
    /// What it does.
    pub kind: PluginKind,
    /// Its name: the package's, unless the package is parameterized.
    pub name: String,
    /// The version that was asked for.
    pub version: Option<semver::Version>,
    /// Where it can be had; empty when nobody said.
    pub download_url: String,
    /// Hex checksums by platform (`linux-amd64`).
    pub checksums: BTreeMap<String, String>,
    /// Policy packs: the folder or file of the pack, as the options of the operation have it; empty when they have none.
    pub path: String,
    /// Policy packs: the settings by policy, as the options of the operation have them.
    pub config: BTreeMap<String, serde_json::Value>,
}

/// What serves a package.
#[derive(Clone)]
pub enum Resolution {
    /// A provider that listens at this address (`127.0.0.1:4711`), which is for this one instance.
    Address(String),
    /// Code of the host.
    InProcess(Arc<dyn ProviderBackend>),
    /// Whatever the engine finds itself.
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

/// Decides what serves a package. Asked for every instance: a provider that is configured twice is two instances.
#[async_trait]
pub trait Resolver: Send + Sync + 'static {
    /// Names what serves a package.
    ///
    /// # Errors
    /// Any; it reaches people unchanged.
    async fn resolve(&self, request: ResolutionRequest) -> Result<Resolution>;
}
