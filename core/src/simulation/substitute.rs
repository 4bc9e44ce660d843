//! How an engine finds the providers of a simulation.

use std::sync::Arc;

use super::{Simulation, lock, watched::Watched};
use crate::provider::{ProviderBackend, ProviderSubstitute};

impl Simulation {
    fn watched(&self, inner: Arc<dyn ProviderBackend>, is_real: bool) -> Arc<dyn ProviderBackend> {
        Arc::new(Watched {
            inner,
            simulation: self.clone(),
            recorder: self.0.recorder.clone().filter(|_| is_real),
        })
    }
}

impl ProviderSubstitute for Simulation {
    fn serves(&self, package: &str, is_given: bool) -> bool {
        if self.0.player.is_some() {
            return true;
        }
        let is_real =
            is_given || self.0.recorder.is_some() || self.0.settings.real.iter().any(|real| real == package);
        !is_real
    }

    fn provider(&self, package: &str) -> Arc<dyn ProviderBackend> {
        let mut providers = lock(&self.0.providers);
        let provider = providers
            .entry(package.to_owned())
            .or_insert_with(|| self.watched(self.provider_of(package), false));
        Arc::clone(provider)
    }

    fn around(
        &self,
        package: &str,
        provider: Arc<dyn ProviderBackend>,
        is_shared: bool,
    ) -> Arc<dyn ProviderBackend> {
        if !is_shared {
            return self.watched(provider, true);
        }
        let mut providers = lock(&self.0.providers);
        let provider = providers
            .entry(package.to_owned())
            .or_insert_with(|| self.watched(provider, true));
        Arc::clone(provider)
    }
}
