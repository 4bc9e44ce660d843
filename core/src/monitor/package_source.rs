//! Providers for questions about packages, loaded as those of the run are.

use async_trait::async_trait;

use super::Monitor;
use crate::{
    error::{Error, ErrorKind, Result},
    provider::{PackageSource, PreparedProvider, ProviderWish, settings::ProviderSettings},
};

impl Monitor {
    /// Has those plugins installed that are missing before the program runs; tells whether it still is to run.
    ///
    /// What is being installed when the user asks for an end is installed to its end, unless the user insists.
    pub(crate) async fn install_beforehand(&self, plugins: &[ProviderWish]) -> bool {
        let executor = self.0.generator.executor();
        if let Some(_flight) = self.0.in_flight.enter() {
            tokio::select! {
                biased;
                () = executor.terminated() => {}
                () = self.0.generator.registry().source().install_beforehand(plugins) => {}
            }
        }
        !executor.control().is_stopped()
    }
}

#[async_trait]
impl PackageSource for Monitor {
    async fn load_package(&self, wish: &ProviderWish) -> Result<PreparedProvider> {
        tokio::select! {
            loaded = self.0.generator.registry().source().load_package(wish) => loaded,
            () = self.cancelled() => Err(Error::new(ErrorKind::Cancelled, "the operation was canceled")),
        }
    }

    fn complete(&self, wish: &mut ProviderWish) {
        if wish.parameter.is_some() {
            return;
        }
        let mut settings = ProviderSettings {
            package: std::mem::take(&mut wish.plugin),
            version: wish.version.take(),
            download_url: std::mem::take(&mut wish.download_url),
            checksums: std::mem::take(&mut wish.checksums),
            base: None,
        };
        self.0.defaults.complete(&mut settings);
        *wish = settings.into();
    }

    fn known(&self) -> Vec<ProviderWish> {
        let named = self.0.defaults.known().chain(self.0.packages.announced());
        let mut known: Vec<_> = named.map(ProviderWish::from).collect();
        for package in self.0.generator.registry().source().in_process() {
            if known.iter().all(|wish| wish.package() != package.plugin) {
                known.push(package);
            }
        }
        known
    }
}
