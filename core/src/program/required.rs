//! What a language runtime says that its program needs: packages, and the plugins in which versions that serve them.

use std::collections::BTreeMap;

use stackwright_proto::pulumirpc::{
    GetRequiredPackagesRequest, GetRequiredPluginsRequest, PackageDependency, PluginDependency, ProgramInfo,
    language_runtime_client::LanguageRuntimeClient,
};
use tonic::{Code, Status, transport::Channel};

use crate::provider::{ProviderWish, settings::ProviderSettings};

/// What the protocol calls plugins that are providers.
const RESOURCE: &str = "resource";

/// What a program needs.
#[derive(Default)]
pub(super) struct Required {
    /// Which plugin serves each package. Those that a parameter makes of a plugin are left out: their resources name
    /// themselves.
    pub(super) packages: Vec<ProviderSettings>,
    /// The plugins that are to be there, those that take parameters included.
    pub(super) plugins: Vec<ProviderWish>,
}

/// Asks which packages the program needs. A runtime that knows no packages is asked for plugins, and one that knows
/// neither needs nothing.
///
/// # Errors
/// What the runtime said, or what of its answer cannot be read, for people.
pub(super) async fn ask(
    client: &mut LanguageRuntimeClient<Channel>,
    program: ProgramInfo,
) -> Result<Required, String> {
    let request = GetRequiredPackagesRequest {
        info: Some(program.clone()),
    };
    // Each with whether it is the package of its name.
    let named: Vec<(PluginDependency, bool)> = match client.get_required_packages(request).await {
        Ok(answer) => {
            let packages = answer.into_inner().packages.into_iter();
            let plugin = |package: PackageDependency| {
                let is_package = package.parameterization.is_none() && package.extension.is_none();
                let plugin = PluginDependency {
                    name: package.name,
                    kind: package.kind,
                    version: package.version,
                    server: package.server,
                    checksums: package.checksums,
                };
                (plugin, is_package)
            };
            packages.map(plugin).collect()
        }
        Err(status) if status.code() == Code::Unimplemented => {
            let plugins = plugins(client, program).await?.into_iter();
            plugins.map(|plugin| (plugin, true)).collect()
        }
        Err(status) => return Err(said(&status)),
    };
    let mut required = Required::default();
    for (plugin, is_package) in named {
        if plugin.kind != RESOURCE {
            continue;
        }
        let settings = match settings(plugin) {
            Err(why) if is_package => return Err(why),
            // No package is to be served by it, so that nobody need read its version.
            Err(_) => continue,
            Ok(settings) => settings,
        };
        required.plugins.push(settings.clone().into());
        if is_package {
            required.packages.push(settings);
        }
    }
    Ok(required)
}

/// Asks a runtime that knows no packages.
#[expect(
    deprecated,
    reason = "older runtimes know nothing else, and read the older fields"
)]
async fn plugins(
    client: &mut LanguageRuntimeClient<Channel>,
    program: ProgramInfo,
) -> Result<Vec<PluginDependency>, String> {
    let request = GetRequiredPluginsRequest {
        pwd: program.program_directory.clone(),
        program: program.entry_point.clone(),
        info: Some(program),
        ..GetRequiredPluginsRequest::default()
    };
    match client.get_required_plugins(request).await {
        Ok(answer) => Ok(answer.into_inner().plugins),
        Err(status) if status.code() == Code::Unimplemented => Ok(Vec::new()),
        Err(status) => Err(said(&status)),
    }
}

fn said(status: &Status) -> String {
    match status.message() {
        "" => status.code().description().to_owned(),
        message => message.to_owned(),
    }
}

fn settings(plugin: PluginDependency) -> Result<ProviderSettings, String> {
    let version = match plugin.version.trim_start_matches('v') {
        "" => None,
        text => Some(semver::Version::parse(text).map_err(|error| {
            format!(
                "it needs version {:?} of package '{}', which is none: {error}",
                plugin.version, plugin.name
            )
        })?),
    };
    let hex = |bytes: Vec<u8>| bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let checksums: BTreeMap<String, String> = plugin
        .checksums
        .into_iter()
        .map(|(platform, sum)| (platform, hex(sum)))
        .collect();
    Ok(ProviderSettings {
        package: plugin.name,
        version,
        download_url: plugin.server.trim_end_matches('/').to_owned(),
        checksums,
    })
}
