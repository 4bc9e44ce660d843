//! The plugins that a project needs: listed, and installed.

use stackwright::plugin::{
    InstalledPlugin, PluginArchive, PluginCache, PluginInstallation, PluginKind, PluginSelection,
    RequiredPlugin,
};
use stackwright_project::{FoundProject, required_plugins};

use crate::{
    downloads::{Servers, install_one},
    failure::{Failure, Result},
    invocation::Invocation,
};

/// Returns the project of the working directory.
pub(crate) fn required_project(invocation: &Invocation) -> Result<FoundProject> {
    let found = FoundProject::above(&invocation.directory)?;
    found.ok_or_else(|| {
        Failure::new(format!(
            "no Pulumi.yaml project file found (searching upwards from {})",
            invocation.directory.display()
        ))
    })
}

/// Installs the plugins of a project that are not installed yet, and returns all of them. All that cannot be are named before any is.
pub(crate) async fn install(
    invocation: &Invocation,
    cache: &PluginCache,
    reinstall: bool,
) -> Result<Vec<InstalledPlugin>> {
    let found = required_project(invocation)?;
    let servers = Servers::of(invocation)?;
    let mut plugins = Vec::new();
    let installed = cache.list(PluginSelection::default()).await?;
    let mut installations = Vec::new();
    let mut unknown = Vec::new();
    for wanted in required(invocation, &found).await? {
        let present = installed.iter().find(|plugin| {
            plugin.kind == PluginKind::Resource
                && plugin.name == wanted.name.replace('/', "_")
                && plugin.version == wanted.version
        });
        if let Some(present) = present.filter(|_| !reinstall) {
            plugins.push(present.clone());
            continue;
        }
        match servers.of_plugin(&wanted.name, &wanted.server) {
            Some(server) => installations.push(PluginInstallation {
                kind: PluginKind::Resource,
                name: wanted.name,
                version: wanted.version,
                archive: PluginArchive::Server(server),
                checksum: None,
                reinstall,
            }),
            None => unknown.push(format!("[resource plugin {}-{}]", wanted.name, wanted.version)),
        }
    }
    if !unknown.is_empty() {
        return Err(Failure::new(format!(
            "plugins of the project are not installed: {}: {}",
            unknown.join(", "),
            Servers::MISSING
        )));
    }
    for installation in installations {
        plugins.push(install_one(&invocation.stderr, cache, installation).await?);
    }
    plugins.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(plugins)
}

/// Returns the plugins that a project needs, sorted by name.
pub(crate) async fn required(invocation: &Invocation, found: &FoundProject) -> Result<Vec<RequiredPlugin>> {
    let environment = invocation.process_environment();
    let required = required_plugins(found.folder().to_owned(), found.file.clone(), environment);
    Ok(required.await?)
}
