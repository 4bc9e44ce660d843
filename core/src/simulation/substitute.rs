//! How an engine finds the providers of a simulation.

use std::sync::{Arc, Weak};

use async_trait::async_trait;

use super::{Simulation, lock, watched::Watched};
use crate::provider::{Call, ProviderBackend, ProviderResult, ProviderSubstitute, Reply, builtin::PACKAGE};

/// Constructs the remote components of a package with its real provider, while a recording is played.
struct Constructing {
    real: Arc<dyn ProviderBackend>,
    played: Arc<dyn ProviderBackend>,
}

#[async_trait]
impl ProviderBackend for Constructing {
    async fn call(&self, call: Call) -> ProviderResult<Reply> {
        match call {
            Call::Check(_)
            | Call::Diff(_)
            | Call::Create(_)
            | Call::Read(_)
            | Call::Update(_)
            | Call::Delete(_)
            | Call::Invoke(_)
            | Call::Method(_) => self.played.call(call).await,
            _ => self.real.call(call).await,
        }
    }
}

impl Simulation {
    fn watched(&self, inner: Arc<dyn ProviderBackend>, is_real: bool) -> Arc<dyn ProviderBackend> {
        Arc::new(Watched {
            inner,
            simulation: self.clone(),
            recorder: self.0.recorder.clone().filter(|_| is_real),
            is_real,
        })
    }

    /// Returns a real provider with what stands around it.
    fn around_real(&self, package: &str, real: Arc<dyn ProviderBackend>) -> Arc<dyn ProviderBackend> {
        if self.0.player.is_some() {
            let played = self.provider_of(package);
            return self.watched(Arc::new(Constructing { real, played }), false);
        }
        lock(&self.0.real).insert(package.to_owned());
        self.watched(real, true)
    }

    /// Returns whether the things of a package are those of the world.
    pub(super) fn is_simulated(&self, package: &str) -> bool {
        package != PACKAGE && !lock(&self.0.real).contains(package)
    }
}

impl ProviderSubstitute for Simulation {
    fn serves(&self, package: &str, is_given: bool) -> bool {
        let is_named = self.0.settings.is_real(package);
        if self.0.player.is_some() {
            return !is_named;
        }
        !(is_given || is_named || self.0.recorder.is_some())
    }

    fn provider(&self, package: &str) -> Arc<dyn ProviderBackend> {
        let mut providers = lock(&self.0.providers);
        if let Some(provider) = providers.get(package).and_then(Weak::upgrade) {
            return provider;
        }
        let provider = self.watched(self.provider_of(package), false);
        providers.insert(package.to_owned(), Arc::downgrade(&provider));
        provider
    }

    fn around(
        &self,
        package: &str,
        provider: Arc<dyn ProviderBackend>,
        is_shared: bool,
    ) -> Arc<dyn ProviderBackend> {
        if !is_shared {
            return self.around_real(package, provider);
        }
        let mut shared = lock(&self.0.shared);
        if let Some([inner, around]) = shared.get(package)
            // What stands around a provider keeps it.
            && let Some(around) = around.upgrade()
            && Weak::ptr_eq(inner, &Arc::downgrade(&provider))
        {
            return around;
        }
        let around = self.around_real(package, Arc::clone(&provider));
        let pair = [&provider, &around].map(Arc::downgrade);
        shared.insert(package.to_owned(), pair);
        around
    }
}
