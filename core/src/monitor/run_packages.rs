//! The source of packages for schemas and mappings: providers loaded in the same way as those of the run.

use async_trait::async_trait;

use super::Monitor;
use crate::{
    error::{Error, ErrorKind, Result},
    provider::{PackageSource, PreparedProvider, ProviderWish, settings::ProviderSettings},
};

/// Answers questions about packages with the providers of one run.
pub(super) struct RunPackages(pub(super) Monitor);

#[async_trait]
impl PackageSource for RunPackages {
    async fn load_package(&self, wish: &ProviderWish) -> Result<PreparedProvider> {
        tokio::select! {
            loaded = self.0.0.generator.registry().source().load_package(wish) => loaded,
            () = self.0.cancelled() => Err(Error::new(ErrorKind::Cancelled, "the operation was canceled")),
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
        self.0.0.defaults.complete(&mut settings);
        *wish = settings.into();
    }

    fn known(&self) -> Vec<ProviderWish> {
        let mut known: Vec<_> = self.0.0.defaults.known().map(ProviderWish::from).collect();
        for package in self.0.0.generator.registry().source().in_process() {
            if known.iter().all(|wish| wish.package() != package.plugin) {
                known.push(package);
            }
        }
        known
    }
}
