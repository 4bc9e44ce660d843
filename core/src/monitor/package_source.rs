//! Providers for questions about packages, loaded as those of the run are.

use async_trait::async_trait;

use super::Monitor;
use crate::{
    error::{Error, ErrorKind, Result},
    provider::{PackageSource, PreparedProvider, ProviderWish, settings::ProviderSettings},
};

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
        };
        self.0.defaults.complete(&mut settings);
        *wish = of_settings(settings);
    }

    fn known(&self) -> Vec<ProviderWish> {
        let named = self.0.defaults.known().chain(self.0.packages.announced());
        let mut known: Vec<_> = named.map(of_settings).collect();
        for package in self.0.generator.registry().source().in_process() {
            if known.iter().all(|wish| wish.plugin != package.plugin) {
                known.push(package);
            }
        }
        known
    }
}

fn of_settings(settings: ProviderSettings) -> ProviderWish {
    ProviderWish {
        plugin: settings.package,
        version: settings.version,
        download_url: settings.download_url,
        checksums: settings.checksums,
        parameter: None,
    }
}
