//! GetDeploymentInfo, SupportsFeature and RegisterPackage.

use stackwright_proto::pulumirpc::{
    DeploymentInfo, Parameterization, RegisterPackageRequest, RegisterPackageResponse,
    SupportsFeatureResponse,
};

use crate::monitor::{Monitor, PackageParameter, PackageSource, WireStatus, features};

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
        supported_features: features::offered(monitor.shared.generator.options())
            .map(|(feature, _)| i32::from(feature))
            .collect(),
    }
}

/// Returns whether the monitor has a feature, for older programs.
pub(in crate::monitor) fn supports_feature(monitor: &Monitor, id: &str) -> SupportsFeatureResponse {
    SupportsFeatureResponse {
        has_support: features::has(id, monitor.shared.generator.options()),
    }
}

/// Announces a package and returns its reference.
pub(in crate::monitor) fn register_package(
    monitor: &Monitor,
    request: RegisterPackageRequest,
) -> Result<RegisterPackageResponse, WireStatus> {
    let parameter = |given: Parameterization| {
        let Parameterization { name, version, value } = given;
        PackageParameter { name, version, value }
    };
    let choice = super::options::package(
        String::new(),
        String::new(),
        request.download_url,
        request.checksums,
        String::new(),
    );
    let source = PackageSource {
        plugin: request.name,
        version: request.version,
        download_url: choice.download_url,
        checksums: choice.checksums,
        parameterization: request.parameterization.map(parameter),
        extension: request.extension.map(parameter),
    };
    let reference = monitor.shared.providers.announce(source)?;
    Ok(RegisterPackageResponse { r#ref: reference })
}
