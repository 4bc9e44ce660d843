//! What stands in the place of providers, or around them.

use std::sync::Arc;

use crate::provider::ProviderBackend;

/// Decides what serves packages: stands in the place of their providers, or around them. A loader asks it first.
pub(crate) trait ProviderSubstitute: Send + Sync + 'static {
    /// Returns whether it serves a package itself. `is_given` is true for one that code of the host serves.
    fn serves(&self, package: &str, is_given: bool) -> bool;

    /// Returns the provider that serves a package; the same one for each call.
    fn provider(&self, package: &str) -> Arc<dyn ProviderBackend>;

    /// Returns a provider with what stands around it. Of a shared provider, all calls return the same one.
    fn around(
        &self,
        package: &str,
        provider: Arc<dyn ProviderBackend>,
        is_shared: bool,
    ) -> Arc<dyn ProviderBackend>;
}
