//! The requirements of a program as reported by its language runtime: packages, and plugins with versions.

use std::collections::BTreeMap;

use stackwright_proto::pulumirpc::{
    GetRequiredPackagesRequest, GetRequiredPluginsRequest, PackageDependency, PackageParameterization,
    PluginDependency, ProgramInfo, language_runtime_client::LanguageRuntimeClient,
};
use tonic::{Code, Status, transport::Channel};

use crate::provider::{BasePlugin, ProviderSpec, settings::ProviderSettings};

/// The protocol's name of provider plugins.
const RESOURCE: &str = "resource";

/// The requirements of a program.
#[derive(Default)]
pub(super) struct Required {
    /// The plugin of each package, without extensions, which have no package of their own.
    pub(super) packages: Vec<ProviderSettings>,
    /// The plugins to install, including those of parameterized packages.
    pub(super) plugins: Vec<ProviderSpec>,
}

/// Requests the packages of the program. A runtime without that call is asked for plugins; without both calls, there
/// are no requirements.
///
/// # Errors
/// The error message of the runtime, or the description of a malformed response.
pub(super) async fn ask(
    client: &mut LanguageRuntimeClient<Channel>,
    program: ProgramInfo,
) -> Result<Required, String> {
    let request = GetRequiredPackagesRequest {
        info: Some(program.clone()),
    };
    let named: Vec<(PluginDependency, Serves)> = match client.get_required_packages(request).await {
        Ok(answer) => {
            let packages = answer.into_inner().packages.into_iter();
            let plugin = |package: PackageDependency| {
                let serves = match (package.parameterization, package.extension) {
                    (None, None) => Serves::Itself,
                    (Some(made), None) if !made.name.is_empty() => Serves::Made(made),
                    _ => Serves::Nothing,
                };
                let plugin = PluginDependency {
                    name: package.name,
                    kind: package.kind,
                    version: package.version,
                    server: package.server,
                    checksums: package.checksums,
                };
                (plugin, serves)
            };
            packages.map(plugin).collect()
        }
        Err(status) if status.code() == Code::Unimplemented => {
            let plugins = plugins(client, program).await?.into_iter();
            plugins.map(|plugin| (plugin, Serves::Itself)).collect()
        }
        Err(status) => return Err(message(&status)),
    };
    let mut required = Required::default();
    for (plugin, serves) in named {
        if plugin.kind != RESOURCE {
            continue;
        }
        let settings = match settings(plugin) {
            // An extension serves no package, so its version is not needed.
            Err(_) if matches!(serves, Serves::Nothing) => continue,
            settings => settings?,
        };
        required.plugins.push(settings.clone().into());
        match serves {
            Serves::Itself => required.packages.push(settings),
            Serves::Made(made) => required.packages.push(made_of(settings, made)?),
            Serves::Nothing => {}
        }
    }
    Ok(required)
}

/// The package of a required plugin.
enum Serves {
    /// The package with the plugin's name.
    Itself,
    /// A parameterized package.
    Made(PackageParameterization),
    /// None: the plugin is an extension.
    Nothing,
}

/// Returns the settings of the parameterized package.
fn made_of(plugin: ProviderSettings, made: PackageParameterization) -> Result<ProviderSettings, String> {
    Ok(ProviderSettings {
        version: version(&made.name, &made.version)?,
        package: made.name,
        base: Some(BasePlugin {
            name: plugin.package,
            version: plugin.version,
            value: made.value,
        }),
        ..plugin
    })
}

/// Parses an optional version.
fn version(package: &str, text: &str) -> Result<Option<semver::Version>, String> {
    match text.trim_start_matches('v') {
        "" => Ok(None),
        bare => semver::Version::parse(bare).map(Some).map_err(|error| {
            format!("it requires the invalid version {text:?} of package '{package}': {error}")
        }),
    }
}

/// Requests the plugins from a runtime that reports no packages.
#[expect(
    deprecated,
    reason = "older runtimes implement only this call, and read the older fields"
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
        Err(status) => Err(message(&status)),
    }
}

fn message(status: &Status) -> String {
    match status.message() {
        "" => status.code().description().to_owned(),
        message => message.to_owned(),
    }
}

fn settings(plugin: PluginDependency) -> Result<ProviderSettings, String> {
    let version = version(&plugin.name, &plugin.version)?;
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
        base: None,
        environment: BTreeMap::new(),
    })
}
