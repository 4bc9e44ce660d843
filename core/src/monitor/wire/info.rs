//! GetDeploymentInfo, SupportsFeature and RegisterPackage.

use stackwright_proto::pulumirpc::{
    DeploymentInfo, RegisterPackageRequest, RegisterPackageResponse, SupportsFeatureResponse,
};

use crate::{
    monitor::{Monitor, WireStatus, features},
    provider::{BasePlugin, ProviderStatus, settings::ProviderSettings},
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
        if let Some(extension) = &request.extension {
            let text = format!(
                "package '{}' is an extension of package '{}', which is not supported by this engine",
                extension.name, request.name
            );
            return Err(WireStatus::new(ProviderStatus::Unimplemented, text));
        }
        let version = version("package", &request.version)?;
        let choice = super::options::package(
            String::new(),
            String::new(),
            request.download_url,
            request.checksums,
            String::new(),
        );
        let (package, version, base) = match request.parameterization {
            None => (request.name, version, None),
            Some(made) if made.name.is_empty() => {
                return Err(WireStatus::unknown(
                    "the name of the parameterized package is empty",
                ));
            }
            Some(made) => {
                let base = BasePlugin {
                    name: request.name,
                    version,
                    value: made.value,
                };
                (made.name, self::version("parameter", &made.version)?, Some(base))
            }
        };
        let settings = ProviderSettings {
            package,
            version,
            download_url: choice.download_url.trim_end_matches('/').to_owned(),
            checksums: choice.checksums,
            base,
        };
        let reference = self.announce(settings);
        Ok(RegisterPackageResponse { r#ref: reference })
    }
}

/// Reads a version that may be left out.
fn version(whose: &str, text: &str) -> Result<Option<semver::Version>, WireStatus> {
    if text.is_empty() {
        return Ok(None);
    }
    let version = semver::Version::parse(text);
    let bad = |error| WireStatus::unknown(format!("parse {whose} version {text}: {error}"));
    version.map(Some).map_err(bad)
}
