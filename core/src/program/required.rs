//! What a language runtime says that its program needs: packages, and the plugins in which versions that serve them.

use std::collections::BTreeMap;

use stackwright_proto::pulumirpc::{
    GetRequiredPackagesRequest, GetRequiredPluginsRequest, PluginDependency, ProgramInfo,
    language_runtime_client::LanguageRuntimeClient,
};
use tonic::{Code, Status, transport::Channel};

use crate::provider::settings::ProviderSettings;

/// What the protocol calls plugins that are providers.
const RESOURCE: &str = "resource";

/// Asks which packages the program needs. A runtime that knows no packages is asked for plugins, and one that knows
/// neither needs nothing. Packages that a parameter makes of a plugin are left out: their resources name themselves.
///
/// # Errors
/// What the runtime said, or what of its answer cannot be read, for people.
pub(super) async fn packages(
    client: &mut LanguageRuntimeClient<Channel>,
    program: ProgramInfo,
) -> Result<Vec<ProviderSettings>, String> {
    let request = GetRequiredPackagesRequest {
        info: Some(program.clone()),
    };
    let plugins: Vec<PluginDependency> = match client.get_required_packages(request).await {
        Ok(answer) => answer
            .into_inner()
            .packages
            .into_iter()
            .filter(|package| package.parameterization.is_none() && package.extension.is_none())
            .map(|package| PluginDependency {
                name: package.name,
                kind: package.kind,
                version: package.version,
                server: package.server,
                checksums: package.checksums,
            })
            .collect(),
        Err(status) if status.code() == Code::Unimplemented => plugins(client, program).await?,
        Err(status) => return Err(said(&status)),
    };
    plugins
        .into_iter()
        .filter(|plugin| plugin.kind == RESOURCE)
        .map(settings)
        .collect()
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
