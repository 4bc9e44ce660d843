//! `plugin`: the plugins of the cache in the user's home.

use semver::Version;
use serde::Serialize;
use stackwright::{
    plugin::{InstalledPlugin, PluginArchive, PluginCache, PluginInstallation, PluginKind, PluginSelection},
    runtime::Timestamp,
};

use crate::{
    arguments::{PluginCommand, PluginInstall, PluginRemove},
    downloads::{Servers, cache, install_one},
    failure::{Failure, Result},
    invocation::Invocation,
    printer::Printer,
    project_plugins,
    session::Components,
    text,
};

/// A row of the list.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Row {
    name: String,
    kind: &'static str,
    version: String,
    size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    install_time: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_used_time: Option<String>,
}

/// Runs a subcommand of `plugin`.
pub(crate) async fn run(components: &Components, invocation: &Invocation, command: &PluginCommand) -> Result {
    let cache = cache(&components.handle, invocation)?;
    match command {
        PluginCommand::Ls(form) => list(invocation, &cache, form.is_json()).await,
        PluginCommand::Rm(arguments) => remove(invocation, &cache, arguments).await,
        PluginCommand::Install(arguments) => {
            let installed = install(invocation, &cache, arguments).await?;
            Printer::new(invocation, arguments.form.is_json()).document(&rows(installed))
        }
    }
}

fn known_kind(kind: &str) -> Result<PluginKind> {
    PluginKind::named(kind).ok_or_else(|| Failure::new(format!("unrecognized plugin kind: {kind}")))
}

fn parse_version(version: &str) -> Result<Version> {
    let parsed = Version::parse(version.strip_prefix('v').unwrap_or(version));
    parsed.map_err(|error| Failure::new(format!("invalid plugin semver: {error}")))
}

async fn list(invocation: &Invocation, cache: &PluginCache, json: bool) -> Result {
    let plugins = cache.list(PluginSelection::default()).await?;
    if !json {
        invocation.print("NAME  KIND  VERSION");
        for plugin in plugins {
            invocation.print(format!(
                "{}  {}  {}",
                plugin.name,
                plugin.kind.name(),
                plugin.version
            ));
        }
        return Ok(());
    }
    invocation.print(text::document(&rows(plugins))?);
    Ok(())
}

/// Returns the document of plugins.
pub(crate) fn rows(plugins: Vec<InstalledPlugin>) -> Vec<Row> {
    plugins.into_iter().map(row).collect()
}

fn row(plugin: InstalledPlugin) -> Row {
    let shown = |time: Option<Timestamp>| time.map(text::milliseconds);
    Row {
        install_time: shown(plugin.installed),
        last_used_time: shown(plugin.last_used),
        size: plugin.size,
        name: plugin.name,
        kind: plugin.kind.name(),
        version: plugin.version.to_string(),
    }
}

async fn remove(invocation: &Invocation, cache: &PluginCache, arguments: &PluginRemove) -> Result {
    if arguments.kind.is_none() && !arguments.all {
        return Err(Failure::new(
            "please pass --all if you'd like to remove all plugins",
        ));
    }
    let versions = arguments.version.as_deref().map(|range| {
        let parsed = PluginSelection::parse_versions(range);
        parsed.map_err(|error| Failure::new(format!("invalid plugin semver: {}", error.message())))
    });
    let selection = PluginSelection {
        kind: arguments.kind.as_deref().map(known_kind).transpose()?,
        name: arguments.name.clone(),
        versions: versions.transpose()?,
    };
    let printer = Printer::new(invocation, arguments.form.is_json());
    let plugins = cache.list(selection.clone()).await?;
    if plugins.is_empty() {
        invocation.note("no plugins found to uninstall");
        return printer.document(&rows(plugins));
    }
    printer.require_confirmation(arguments.yes)?;
    if invocation.terminal.ask.is_some() {
        let question = format!(
            "This will remove {} plugins from the cache. Confirm? (y/N)",
            plugins.len()
        );
        if !invocation.confirm(arguments.yes, &question).await? {
            return Err(Failure::declined());
        }
    } else if !invocation.is_confirmed(arguments.yes) {
        invocation.print(format!(
            "This will remove {} plugins from the cache; nothing is removed without --yes",
            plugins.len()
        ));
        return Ok(());
    }
    let removed = cache.remove(selection).await?;
    for InstalledPlugin {
        kind, name, version, ..
    } in &removed
    {
        printer.prose(format!("removed: {} {name}-{version}", kind.name()));
    }
    printer.document(&rows(removed))
}

/// Returns a version of a plugin if it is installed.
async fn present(
    cache: &PluginCache,
    kind: PluginKind,
    name: &str,
    version: &Version,
) -> Result<Option<InstalledPlugin>> {
    let installed = cache.list(PluginSelection::default()).await?;
    let name = name.replace('/', "_");
    Ok(installed
        .into_iter()
        .find(|plugin| plugin.kind == kind && plugin.name == name && plugin.version == *version))
}

/// Installs a plugin from an archive or a server, or those of the project where none is named, and returns them. What is installed
/// already is among them.
async fn install(
    invocation: &Invocation,
    cache: &PluginCache,
    arguments: &PluginInstall,
) -> Result<Vec<InstalledPlugin>> {
    let Some(kind) = &arguments.kind else {
        let of_one = [
            ("--file", arguments.file.is_some()),
            ("--server", arguments.server.is_some()),
            ("--checksum", arguments.checksum.is_some()),
            ("--exact", arguments.exact),
        ];
        if let Some((flag, _)) = of_one.iter().find(|(_, is_given)| *is_given) {
            return Err(Failure::new(format!(
                "{flag} is of one plugin: name its kind, name and version"
            )));
        }
        return project_plugins::install(invocation, cache, arguments.reinstall).await;
    };
    let kind = known_kind(kind)?;
    let Some(name) = &arguments.name else {
        return Err(Failure::new("missing plugin name argument"));
    };
    let servers = Servers::of(invocation)?;
    let version = arguments.version.as_deref().map(parse_version).transpose()?;
    let Some(version) = version else {
        return Err(Failure::new(format!(
            "[{} plugin {name}] is not installed: name its version, no server is asked for the latest one",
            kind.name()
        )));
    };
    let label = format!("[{} plugin {name}-{version}]", kind.name());
    let names_archive = arguments.file.is_some() || arguments.server.is_some();
    if !names_archive
        && !arguments.reinstall
        && let Some(present) = present(cache, kind, name, &version).await?
    {
        return Ok(vec![present]);
    }
    let archive = match (&arguments.file, &arguments.server) {
        (Some(file), _) => PluginArchive::File(invocation.path(file)),
        (None, Some(server)) => PluginArchive::Server(server.clone()),
        (None, None) => match servers.of_plugin(name, "") {
            Some(server) => PluginArchive::Server(server),
            None => {
                return Err(Failure::new(format!(
                    "{label} is not installed: {}",
                    Servers::MISSING
                )));
            }
        },
    };
    let installation = PluginInstallation {
        kind,
        name: name.clone(),
        version,
        archive,
        checksum: arguments.checksum.clone(),
        reinstall: arguments.reinstall,
    };
    Ok(vec![install_one(&invocation.stderr, cache, installation).await?])
}
