//! The source of packages for schemas and mappings: providers loaded in the same way as those of the run.

use async_trait::async_trait;

use super::Monitor;
use crate::{
    error::{Error, ErrorKind, Result},
    provider::{PackageSource, PreparedProvider, ProviderSpec, settings::ProviderSettings},
};

/// Answers package requests with the providers of one run.
pub(super) struct RunPackages(pub(super) Monitor);

#[async_trait]
impl PackageSource for RunPackages {
    async fn load_package(&self, spec: &ProviderSpec) -> Result<PreparedProvider> {
        tokio::select! {
            biased;
            loaded = self.0.shared.generator.registry().source().load_package(spec) => loaded,
            () = self.0.cancelled() => Err(Error::new(ErrorKind::Cancelled, "the operation was canceled")),
        }
    }

    fn complete(&self, spec: &mut ProviderSpec) {
        if spec.parameter.is_some() {
            return;
        }
        let mut settings = ProviderSettings {
            package: std::mem::take(&mut spec.plugin),
            version: spec.version.take(),
            download_url: std::mem::take(&mut spec.download_url),
            checksums: std::mem::take(&mut spec.checksums),
            base: None,
            environment: std::mem::take(&mut spec.environment),
        };
        self.0.shared.providers.complete(&mut settings);
        *spec = settings.into();
    }

    fn known(&self) -> Vec<ProviderSpec> {
        let mut known: Vec<_> = self.0.shared.providers.known().map(ProviderSpec::from).collect();
        for package in self.0.shared.generator.registry().source().in_process() {
            if known.iter().all(|spec| spec.package() != package.plugin) {
                known.push(package);
            }
        }
        known
    }
}
