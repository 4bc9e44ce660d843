//! GetDeploymentInfo, SupportsFeature and RegisterPackage.

use stackwright_proto::pulumirpc::{
    DeploymentInfo, RegisterPackageRequest, RegisterPackageResponse, SupportsFeatureResponse,
};

use crate::{
    monitor::{Monitor, WireStatus, features},
    provider::{ProviderStatus, settings::ProviderSettings},
};

impl Monitor {
    /// Tells a program what it runs in, and what the monitor can do.
    pub(in crate::monitor) fn deployment_info(&self) -> DeploymentInfo {
        let run = self.run_info();
        DeploymentInfo {
            project: run.project.clone(),
            stack: run.stack.clone(),
            organization: run.organization.clone(),
            config: run.config.clone(),
            config_secret_keys: run.config_secret_keys.clone(),
            dry_run: run.dry_run,
            parallel: run.parallel,
            supported_features: features::offered(self.0.generator.options())
                .map(|(feature, _)| i32::from(feature))
                .collect(),
        }
    }

    /// Tells an older program whether the monitor can do one thing.
    pub(in crate::monitor) fn supports_feature(&self, id: &str) -> SupportsFeatureResponse {
        SupportsFeatureResponse {
            has_support: features::has(id, self.0.generator.options()),
        }
    }

    /// Takes a package's announcement.
    pub(in crate::monitor) fn register_package(
        &self,
        request: RegisterPackageRequest,
    ) -> Result<RegisterPackageResponse, WireStatus> {
        if request.name.is_empty() {
            return Err(WireStatus::unknown("package name is empty"));
        }
        if request.parameterization.is_some() || request.extension.is_some() {
            let text = format!(
                "package '{}' is parameterized, which is not supported by this engine",
                request.name
            );
            return Err(WireStatus::new(ProviderStatus::Unimplemented, text));
        }
        let version = match request.version.as_str() {
            "" => None,
            text => Some(
                semver::Version::parse(text)
                    .map_err(|error| WireStatus::unknown(format!("parse package version {text}: {error}")))?,
            ),
        };
        let choice = super::options::package(
            String::new(),
            String::new(),
            request.download_url,
            request.checksums,
            String::new(),
        );
        let settings = ProviderSettings {
            package: request.name,
            version,
            download_url: choice.download_url.trim_end_matches('/').to_owned(),
            checksums: choice.checksums,
        };
        let reference = self.announce(settings);
        Ok(RegisterPackageResponse { r#ref: reference })
    }
}
