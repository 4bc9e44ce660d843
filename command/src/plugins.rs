//! `plugin`: the plugins of the cache in the user's home.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use flate2::read::GzDecoder;
use jiff::Timestamp;
use semver::{Version, VersionReq};
use serde::Serialize;

use crate::{
    arguments::PluginCommand,
    failure::{Failure, Result},
    home::Home,
    invocation::Invocation,
    text,
};

/// The kinds of plugins.
const KINDS: [&str; 5] = ["analyzer", "converter", "language", "resource", "tool"];
/// What precedes the version in the name of a plugin's folder.
const VERSION_MARK: &str = "-v";
/// What the name of a folder ends with while it is written or removed, before a number.
const TEMPORARY_MARK: &str = ".tmp";

/// An installed plugin.
struct Plugin {
    kind: &'static str,
    name: String,
    version: Version,
    folder: PathBuf,
}

/// A row of the list.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
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
pub(crate) fn run(invocation: &Invocation, command: &PluginCommand) -> Result {
    let cache = Home::of(invocation)?.plugins();
    match command {
        PluginCommand::Ls(form) => list(invocation, &cache, form.is_json()),
        PluginCommand::Rm {
            kind,
            name,
            version,
            all,
            yes,
        } => {
            if kind.is_none() && !all {
                return Err(Failure::new(
                    "please pass --all if you'd like to remove all plugins",
                ));
            }
            let filter = PluginFilter::new(kind.as_deref(), name.as_deref(), version.as_deref())?;
            remove(invocation, &cache, &filter, *yes)
        }
        PluginCommand::Install {
            kind,
            name,
            version,
            file,
            server,
        } => {
            let kind = known_kind(kind)?;
            let version = parse_version(version)?;
            match (file, server) {
                (Some(file), None) => install(invocation, &cache, kind, name, &version, file),
                (_, Some(_)) => Err(Failure::new(format!(
                    "[{kind} plugin {name}-{version}] is not installed: --server is not supported, give the archive with --file"
                ))),
                (None, None) => Err(Failure::new(format!(
                    "[{kind} plugin {name}-{version}] is not installed: plugins are not downloaded, give the archive with --file"
                ))),
            }
        }
    }
}

fn known_kind(kind: &str) -> Result<&'static str> {
    let known = KINDS.into_iter().find(|known| *known == kind);
    known.ok_or_else(|| Failure::new(format!("unrecognized plugin kind: {kind}")))
}

fn parse_version(version: &str) -> Result<Version> {
    let parsed = Version::parse(version.strip_prefix('v').unwrap_or(version));
    parsed.map_err(|error| Failure::new(format!("invalid plugin semver: {error}")))
}

/// Returns the installed plugins, sorted by name and version.
fn installed(cache: &Path) -> Result<Vec<Plugin>> {
    let entries = match fs::read_dir(cache) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(|error| Failure::new(format!("reading {}: {error}", cache.display())))?,
    };
    let mut plugins: Vec<Plugin> = entries
        .flatten()
        .filter_map(|entry| plugin_at(entry.path()))
        .collect();
    plugins.sort_by(|left, right| (&left.name, &left.version).cmp(&(&right.name, &right.version)));
    Ok(plugins)
}

fn plugin_at(folder: PathBuf) -> Option<Plugin> {
    let name = folder.file_name()?.to_str()?;
    let (kind, rest) = name.split_once('-')?;
    let (name, version) = rest.rsplit_once(VERSION_MARK)?;
    let plugin = Plugin {
        kind: KINDS.into_iter().find(|known| *known == kind)?,
        name: name.to_owned(),
        version: Version::parse(version).ok()?,
        folder: folder.clone(),
    };
    let mut unfinished = folder.clone().into_os_string();
    unfinished.push(".partial");
    (folder.is_dir() && !Path::new(&unfinished).exists()).then_some(plugin)
}

fn list(invocation: &Invocation, cache: &Path, json: bool) -> Result {
    let plugins = installed(cache)?;
    if !json {
        invocation.print("NAME  KIND  VERSION");
        for plugin in plugins {
            invocation.print(format!("{}  {}  {}", plugin.name, plugin.kind, plugin.version));
        }
        return Ok(());
    }
    let rows: Vec<Row> = plugins.into_iter().map(row).collect();
    invocation.print(text::document(&rows)?);
    Ok(())
}

fn row(plugin: Plugin) -> Row {
    let facts = fs::metadata(&plugin.folder).ok();
    let time = |time: io::Result<SystemTime>| Timestamp::try_from(time.ok()?).ok().map(text::milliseconds);
    Row {
        install_time: facts.as_ref().and_then(|facts| time(facts.modified())),
        last_used_time: facts.as_ref().and_then(|facts| time(facts.accessed())),
        size: size(&plugin.folder),
        name: plugin.name,
        kind: plugin.kind,
        version: plugin.version.to_string(),
    }
}

/// Returns the number of bytes below a folder. What cannot be read does not count.
fn size(folder: &Path) -> u64 {
    let mut folders = vec![folder.to_owned()];
    let mut total = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(facts) if facts.is_dir() => folders.push(entry.path()),
                Ok(facts) => total += facts.len(),
                Err(_) => {}
            }
        }
    }
    total
}

/// Which plugins are removed.
struct PluginFilter<'a> {
    kind: Option<&'static str>,
    name: Option<&'a str>,
    versions: Option<VersionReq>,
}

impl<'a> PluginFilter<'a> {
    fn new(kind: Option<&str>, name: Option<&'a str>, versions: Option<&str>) -> Result<Self> {
        let range = |text: &str| {
            // A version without an operator is that version alone.
            let text = match text.starts_with(|first: char| first.is_ascii_digit()) {
                true => format!("={text}"),
                false => text.to_owned(),
            };
            VersionReq::parse(&text).map_err(|error| Failure::new(format!("invalid plugin semver: {error}")))
        };
        Ok(Self {
            kind: kind.map(known_kind).transpose()?,
            name,
            versions: versions.map(range).transpose()?,
        })
    }

    fn includes(&self, plugin: &Plugin) -> bool {
        self.kind.is_none_or(|kind| kind == plugin.kind)
            && self.name.is_none_or(|name| name == plugin.name)
            && self
                .versions
                .as_ref()
                .is_none_or(|versions| versions.matches(&plugin.version))
    }
}

fn remove(invocation: &Invocation, cache: &Path, filter: &PluginFilter<'_>, confirmed: bool) -> Result {
    let mut plugins = installed(cache)?;
    plugins.retain(|plugin| filter.includes(plugin));
    if plugins.is_empty() {
        invocation.note("no plugins found to uninstall");
        return Ok(());
    }
    if !confirmed {
        invocation.print(format!(
            "This will remove {} plugins from the cache; nothing is removed without --yes",
            plugins.len()
        ));
        return Ok(());
    }
    for Plugin {
        kind,
        name,
        version,
        folder,
    } in plugins
    {
        // A folder of this name is no plugin, so that no part of one is ever found.
        let doomed = temporary(&folder);
        let removed = fs::rename(&folder, &doomed).and_then(|()| fs::remove_dir_all(&doomed));
        removed.map_err(|error| Failure::new(format!("removing {}: {error}", folder.display())))?;
        invocation.print(format!("removed: {kind} {name}-{version}"));
    }
    Ok(())
}

/// Returns a free name beside a folder.
fn temporary(folder: &Path) -> PathBuf {
    let name = |number: u32| {
        let mut name = folder.as_os_str().to_owned();
        name.push(format!("{TEMPORARY_MARK}{number}"));
        PathBuf::from(name)
    };
    let first = std::process::id();
    (first..)
        .map(name)
        .find(|path| !path.exists())
        .unwrap_or_else(|| name(first))
}

/// Installs a plugin from an archive. A plugin that is installed stays; of two processes that install it, one does.
fn install(
    invocation: &Invocation,
    cache: &Path,
    kind: &str,
    name: &str,
    version: &Version,
    file: &str,
) -> Result {
    let folder = cache.join(format!(
        "{kind}-{}{VERSION_MARK}{version}",
        name.replace('/', "_")
    ));
    if plugin_at(folder.clone()).is_some() {
        return Ok(());
    }
    let label = format!("[{kind} plugin {name}-{version}]");
    invocation.note(format!("{label} installing"));
    let work = || {
        fs::create_dir_all(cache)?;
        let unpacked = temporary(&folder);
        let archive = fs::File::open(invocation.path(file))?;
        let installed = tar::Archive::new(GzDecoder::new(archive))
            .unpack(&unpacked)
            .and_then(|()| fs::rename(&unpacked, &folder));
        match installed {
            Err(error) => {
                drop(fs::remove_dir_all(&unpacked));
                // Another process was first.
                if folder.is_dir() { Ok(()) } else { Err(error) }
            }
            Ok(()) => Ok(()),
        }
    };
    work().map_err(|error| Failure::new(format!("{label} installing from {file}: {error}")))
}
