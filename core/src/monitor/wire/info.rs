//! GetDeploymentInfo, SupportsFeature and RegisterPackage.

use std::sync::Arc;

use stackwright_proto::pulumirpc::{
    DeploymentInfo, Parameterization, RegisterPackageRequest, RegisterPackageResponse,
    SupportsFeatureResponse,
};

use crate::{
    monitor::{Monitor, WireStatus, features, packages::AnnouncedPackage},
    provider::{BasePlugin, settings::ProviderSettings},
    resource::Extension,
};

/// Returns the run of a program, and the features of its monitor.
pub(in crate::monitor) fn deployment_info(monitor: &Monitor) -> DeploymentInfo {
    let run = monitor.run_info();
    DeploymentInfo {
        project: run.project.clone(),
        stack: run.stack.clone(),
        organization: run.organization.clone(),
        config: run.config.clone(),
        config_secret_keys: run.config_secret_keys.clone(),
        dry_run: run.dry_run,
        parallel: run.parallel,
        supported_features: features::offered(monitor.0.generator.options())
            .map(|(feature, _)| i32::from(feature))
            .collect(),
    }
}

/// Returns whether the monitor has a feature, for older programs.
pub(in crate::monitor) fn supports_feature(monitor: &Monitor, id: &str) -> SupportsFeatureResponse {
    SupportsFeatureResponse {
        has_support: features::has(id, monitor.0.generator.options()),
    }
}

/// Announces a package and returns its reference.
pub(in crate::monitor) fn register_package(
    monitor: &Monitor,
    request: RegisterPackageRequest,
) -> Result<RegisterPackageResponse, WireStatus> {
    if request.name.is_empty() {
        return Err(WireStatus::unknown("package name is empty"));
    }
    let extension = extension(&request)?;
    let package_version = version("package", &request.version)?;
    let choice = super::options::package(
        String::new(),
        String::new(),
        request.download_url,
        request.checksums,
        String::new(),
    );
    let (package, version, base) = match request.parameterization {
        None => (request.name, package_version, None),
        Some(made) if made.name.is_empty() => {
            return Err(WireStatus::unknown(
                "the name of the parameterized package is empty",
            ));
        }
        Some(made) => {
            let base = BasePlugin {
                name: request.name,
                version: package_version,
                value: made.value,
            };
            (made.name, version("parameter", &made.version)?, Some(base))
        }
    };
    let settings = ProviderSettings {
        package,
        version,
        download_url: choice.download_url.trim_end_matches('/').to_owned(),
        checksums: choice.checksums,
        base,
        ..ProviderSettings::default()
    };
    let reference = monitor
        .0
        .defaults
        .announce(AnnouncedPackage { settings, extension });
    Ok(RegisterPackageResponse { r#ref: reference })
}

/// Reads the extension of a package: the package itself is the one whose provider serves the extension.
fn extension(request: &RegisterPackageRequest) -> Result<Option<Arc<Extension>>, WireStatus> {
    let Some(extension) = &request.extension else {
        return Ok(None);
    };
    let refused = |text: String| Err(WireStatus::invalid(text));
    if extension.name.is_empty() {
        return refused(format!(
            "the extension of the package '{}' has no name",
            request.name
        ));
    }
    if let Some(made) = &request.parameterization {
        return refused(format!(
            "the package '{}' has both a parameterization ('{}') and an extension ('{}'), which are mutually exclusive",
            request.name, made.name, extension.name
        ));
    }
    version("extension", &extension.version)?;
    let Parameterization { name, version, value } = extension.clone();
    Ok(Some(Arc::new(Extension::new(name, version, value))))
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
