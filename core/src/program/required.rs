//! What a language runtime says that its program needs: packages, and the plugins in which versions that serve them.

use std::collections::BTreeMap;

use stackwright_proto::pulumirpc::{
    GetRequiredPackagesRequest, GetRequiredPluginsRequest, PackageDependency, PackageParameterization,
    PluginDependency, ProgramInfo, language_runtime_client::LanguageRuntimeClient,
};
use tonic::{Code, Status, transport::Channel};

use crate::provider::{BasePlugin, ProviderWish, settings::ProviderSettings};

/// What the protocol calls plugins that are providers.
const RESOURCE: &str = "resource";

/// What a program needs.
#[derive(Default)]
pub(super) struct Required {
    /// Which plugin serves each package. Extensions are left out: they make no package of their own.
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
        Err(status) => return Err(said(&status)),
    };
    let mut required = Required::default();
    for (plugin, serves) in named {
        if plugin.kind != RESOURCE {
            continue;
        }
        let settings = match settings(plugin) {
            // No package is to be served by it, so that nobody need read its version.
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

/// The package that a plugin is required for.
enum Serves {
    /// That of its name.
    Itself,
    /// One that a parameter makes of it.
    Made(PackageParameterization),
    /// None.
    Nothing,
}

/// Returns the package that a parameter makes of a plugin.
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

/// Reads a version that may be left out.
fn version(package: &str, text: &str) -> Result<Option<semver::Version>, String> {
    match text.trim_start_matches('v') {
        "" => Ok(None),
        bare => semver::Version::parse(bare).map(Some).map_err(|error| {
            format!("it needs version {text:?} of package '{package}', which is none: {error}")
        }),
    }
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
    })
}
