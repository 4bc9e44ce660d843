//! The source of the registry's provider instances.

use std::sync::Arc;

use async_trait::async_trait;

use crate::{
    error::{Error, ErrorKind, Result},
    provider::{
        CallLimit, Capabilities, Extensible, PreparedProvider, ProviderBackend, ProviderSpec,
        settings::ProviderSettings,
    },
};

/// An instance after its handshake, not yet configured.
pub(crate) struct LoadedProvider {
    /// The instance.
    pub provider: Arc<dyn ProviderBackend>,
    /// Its capabilities.
    pub capabilities: Capabilities,
    /// Whether it is a plugin, not code of this process.
    pub is_plugin: bool,
    /// The plugin, for its extensions; `None` for code of this process.
    pub plugin: Option<Arc<dyn Extensible>>,
    /// How long its calls may take; `None` without a limit.
    pub call_limit: Option<CallLimit>,
}

/// Loads provider instances: code of the host, processes, addresses of the host's resolver.
#[async_trait]
pub(crate) trait ProviderSource: Send + Sync + 'static {
    /// Loads a separate instance for one provider resource.
    async fn load(&self, settings: ProviderSettings) -> Result<LoadedProvider>;

    /// Loads an instance for a request about its package.
    async fn load_package(&self, spec: &ProviderSpec) -> Result<PreparedProvider> {
        Err(Error::new(
            ErrorKind::NotFound,
            format!("there is no package {:?}", spec.plugin),
        ))
    }

    /// Installs missing plugins through the host's hooks, unless the operation's options skip that.
    async fn install_beforehand(&self, _wishes: &[ProviderSpec]) {}

    /// Returns why the plugin of a provider is missing; `None` if it is there, is not a plugin, or is not looked for here.
    async fn missing(&self, _spec: &ProviderSpec) -> Option<Error> {
        None
    }

    /// Returns whether the plugin of a provider is neither installed nor code of the host. Nothing is installed.
    async fn is_absent(&self, _spec: &ProviderSpec) -> bool {
        false
    }

    /// Returns the packages that code of the host serves.
    fn in_process(&self) -> Vec<ProviderSpec> {
        Vec::new()
    }

    /// Releases an instance at the end of a run.
    async fn release(&self, provider: Arc<dyn ProviderBackend>);

    /// Asks an instance to cancel its calls for this run.
    async fn cancel(&self, provider: &Arc<dyn ProviderBackend>) {
        provider.cancel().await;
    }
}
