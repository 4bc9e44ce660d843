//! Where the registry gets instances of providers from.

use std::sync::Arc;

use async_trait::async_trait;

use crate::{
    error::{Error, ErrorKind, Result},
    provider::{Capabilities, PreparedProvider, ProviderBackend, ProviderWish, settings::ProviderSettings},
};

/// An instance that has been greeted, but not configured.
pub(crate) struct LoadedProvider {
    /// The instance.
    pub provider: Arc<dyn ProviderBackend>,
    /// What it said it understands.
    pub capabilities: Capabilities,
    /// Whether it is a plugin, and not code of this process.
    pub is_plugin: bool,
}

/// Loads instances of providers: code of the host, processes, what the host's resolver names.
#[async_trait]
pub(crate) trait ProviderSource: Send + Sync + 'static {
    /// Loads an instance of its own for one provider resource.
    async fn load(&self, settings: ProviderSettings) -> Result<LoadedProvider>;

    /// Loads an instance for a question about its package, as [`Self::load`] does for a provider resource.
    async fn load_package(&self, wish: &ProviderWish) -> Result<PreparedProvider> {
        Err(Error::new(
            ErrorKind::NotFound,
            format!("there is no package {:?}", wish.plugin),
        ))
    }

    /// Has those plugins installed that are missing, where the host does that and nobody asked to leave it.
    async fn install_beforehand(&self, _wishes: &[ProviderWish]) {}

    /// Returns the packages that code of the host serves.
    fn in_process(&self) -> Vec<ProviderWish> {
        Vec::new()
    }

    /// Takes an instance back at the end of a run.
    async fn release(&self, provider: Arc<dyn ProviderBackend>);

    /// Asks an instance to give up what it does for this run.
    async fn cancel(&self, provider: &Arc<dyn ProviderBackend>) {
        provider.cancel().await;
    }
}
