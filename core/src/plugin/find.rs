//! Finding a plugin, in this order: commands of the settings, executables in folders of the settings, a `PATH`, the
//! cache of installed plugins.

use std::{
    cmp::Ordering,
    fs,
    path::{Path, PathBuf},
};

use semver::{Comparator, Op, Version};

use crate::{
    error::{Error, ErrorKind, Result},
    message::Message,
    plugin::{
        PluginCommand, PluginKind, PluginSettings,
        cache::{is_unfinished, version_of},
    },
};

/// The plugin to find.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PluginQuery {
    /// Its kind.
    pub kind: PluginKind,
    /// Its name: the package's name unless the package is parameterized.
    pub name: String,
    /// Its version; `None` selects the newest.
    pub version: Option<Version>,
}

impl PluginQuery {
    /// Returns the name of the executable.
    #[must_use]
    pub(crate) fn file_name(&self) -> String {
        self.kind.executable_name(&self.name)
    }

    /// Returns whether a command of the settings has the version.
    fn is_served_by(&self, command: &PluginCommand) -> bool {
        let (Some(required), Some(served)) = (&self.version, &command.version) else {
            return true;
        };
        required == served
    }
}

/// The place where a plugin was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PluginOrigin {
    /// One of the folders of the settings.
    Directory,
    /// A folder of the `PATH`.
    Path,
    /// The cache of installed plugins.
    Cache,
    /// None: the settings contain a command that starts it.
    Command,
}

/// A plugin that can be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FoundPlugin {
    /// The command that starts it.
    pub command: PluginCommand,
    /// The place where it was found.
    pub origin: PluginOrigin,
    /// The version in the name of its folder; only in the cache.
    pub version: Option<Version>,
}

impl FoundPlugin {
    /// Creates one that a command starts.
    pub(crate) const fn started_by(command: PluginCommand) -> Self {
        Self {
            command,
            origin: PluginOrigin::Command,
            version: None,
        }
    }
}

/// Finds a plugin. Reads folders, so it blocks.
///
/// # Errors
/// [`ErrorKind::Plugin`] if it is not found; the message lists the places that were searched.
pub(crate) fn find(settings: &PluginSettings, query: &PluginQuery) -> Result<FoundPlugin> {
    // Part of the SDK that the program uses: an executable of that name in another place belongs to another
    // installation.
    if query.kind == PluginKind::Resource
        && let Some(command) = settings.commands.get(&query.name)
        && query.is_served_by(command)
    {
        return Ok(FoundPlugin::started_by(command.clone()));
    }
    let file_name = query.file_name();
    for directory in &settings.directories {
        if let Some(program) = executable(directory.join(&file_name)) {
            return Ok(found(program, PluginOrigin::Directory, None));
        }
    }
    for directory in path_folders(settings) {
        if let Some(program) = executable(directory.join(&file_name)) {
            return Ok(found(program, PluginOrigin::Path, None));
        }
    }
    if let Some(cache) = &settings.cache
        && let Some((program, version)) = find_installed(cache, query, settings.ignore_versions)
    {
        return Ok(found(program, PluginOrigin::Cache, version));
    }
    Err(missing(query, &searched(settings, query)))
}

fn found(program: PathBuf, origin: PluginOrigin, version: Option<Version>) -> FoundPlugin {
    FoundPlugin {
        command: PluginCommand {
            program,
            ..PluginCommand::default()
        },
        origin,
        version,
    }
}

/// Returns the folders of the `PATH`. Empty entries, which mean the working directory, are skipped.
fn path_folders(settings: &PluginSettings) -> impl Iterator<Item = PathBuf> {
    let folders = settings.path.iter().flat_map(std::env::split_paths);
    folders.filter(|folder| folder.is_absolute())
}

/// Returns every place that was searched without success, with the reason.
fn searched(settings: &PluginSettings, query: &PluginQuery) -> Vec<(String, String)> {
    let folders = settings.directories.iter().cloned();
    let mut places: Vec<_> = folders
        .chain(path_folders(settings))
        .map(|folder| {
            let reason = misfit(&folder, &query.file_name());
            (folder.display().to_string(), reason)
        })
        .collect();
    if let Some(cache) = &settings.cache {
        places.push((cache.display().to_string(), misfit_of_cache(cache, query)));
    }
    if places.is_empty() {
        let place = "folders of the engine".to_owned();
        places.push((place, "none are configured".to_owned()));
    }
    places
}

/// Returns why a folder does not contain the plugin's executable.
fn misfit(folder: &Path, file_name: &str) -> String {
    if !folder.is_dir() {
        return "there is no such folder".to_owned();
    }
    match fs::metadata(folder.join(file_name)) {
        Ok(metadata) if metadata.is_dir() => format!("{file_name} is a folder"),
        Ok(_) => format!("{file_name} is not executable"),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => format!("it has no {file_name}"),
        Err(error) => format!("{file_name} cannot be looked at: {error}"),
    }
}

/// Returns why the folder of installed plugins does not contain the plugin.
fn misfit_of_cache(cache: &Path, query: &PluginQuery) -> String {
    let Ok(entries) = fs::read_dir(cache) else {
        return "there is no such folder".to_owned();
    };
    let mut others = Vec::new();
    for entry in entries.flatten() {
        let folder = entry.file_name();
        let Some(folder) = folder.to_str() else { continue };
        let Some(version) = version_of(folder, query.kind, &query.name) else {
            continue;
        };
        let version = version.map_or_else(|| "a version that is not named".to_owned(), |it| it.to_string());
        others.push(if is_unfinished(cache, folder) {
            format!("the installation of {version} was not completed")
        } else if executable(entry.path().join(query.file_name())).is_none() {
            format!("{folder}: {}", misfit(&entry.path(), &query.file_name()))
        } else {
            format!("it has {version}")
        });
    }
    others.sort_unstable();
    match others.is_empty() {
        true => "the plugin is not installed there".to_owned(),
        false => others.join(", "),
    }
}

fn missing(query: &PluginQuery, places: &[(String, String)]) -> Error {
    let version = query.version.as_ref().map(ToString::to_string);
    Error::new(
        ErrorKind::Plugin,
        Message::PluginNotFound {
            kind: query.kind.name(),
            name: &query.name,
            executable: &query.file_name(),
            version: version.as_deref(),
            places,
        },
    )
    .with_provider(query.name.clone())
    .with_phase("load")
    .with_hint(match query.kind {
        PluginKind::Language => {
            "give the engine the folder that holds the executable of the language's host (plugins)"
        }
        _ => {
            "give the engine the folder that holds the plugin's executable (plugins), code of the host that provides the package \
             (providers), a resolver or an installer"
        }
    })
}

fn is_executable(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    metadata.is_file() && metadata.permissions().mode() & 0o111 != 0
}

fn executable(path: PathBuf) -> Option<PathBuf> {
    let metadata = fs::metadata(&path).ok()?;
    is_executable(&metadata).then_some(path)
}

/// Orders installed versions: first those without a version, then previews, then stable ones, each by version.
fn preference(left: Option<&Version>, right: Option<&Version>) -> Ordering {
    let stable = |version: &Version| version.pre.is_empty();
    match (left, right) {
        (Some(left), Some(right)) => stable(left)
            .cmp(&stable(right))
            .then_with(|| left.cmp_precedence(right)),
        _ => left.is_some().cmp(&right.is_some()),
    }
}

/// How well an installed version fits the requested one. The variants are in the order of preference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    /// The folder has no version.
    Unversioned,
    /// A later version that is compatible by its number.
    Compatible,
    /// The version itself, or any where none is requested.
    Exact,
}

impl Fit {
    /// Returns how well a version fits; `None` for one that does not.
    fn of(requested: Option<&Version>, installed: Option<&Version>) -> Option<Self> {
        match (requested, installed) {
            (None, _) => Some(Self::Exact),
            (Some(_), None) => Some(Self::Unversioned),
            (Some(requested), Some(installed)) if requested.cmp_precedence(installed).is_eq() => {
                Some(Self::Exact)
            }
            (Some(requested), Some(installed)) => compatible_with(requested)
                .matches(installed)
                .then_some(Self::Compatible),
        }
    }
}

/// Returns the versions that are at least `version` and compatible with it: of its major version or, below 1.0, of its minor one.
fn compatible_with(version: &Version) -> Comparator {
    Comparator {
        op: Op::Caret,
        major: version.major,
        minor: Some(version.minor),
        patch: Some(version.patch),
        pre: version.pre.clone(),
    }
}

fn find_installed(
    cache: &Path,
    query: &PluginQuery,
    ignore_versions: bool,
) -> Option<(PathBuf, Option<Version>)> {
    let requested = query.version.as_ref().filter(|_| !ignore_versions);
    let mut best: Option<(Fit, PathBuf, Option<Version>)> = None;
    for entry in fs::read_dir(cache).ok()?.flatten() {
        let folder = entry.file_name();
        let Some(folder) = folder.to_str() else {
            continue;
        };
        let Some(version) = version_of(folder, query.kind, &query.name) else {
            continue;
        };
        let Some(fit) = Fit::of(requested, version.as_ref()) else {
            continue;
        };
        let better = best.as_ref().is_none_or(|(best_fit, _, best)| {
            fit.cmp(best_fit)
                .then_with(|| preference(version.as_ref(), best.as_ref()))
                .is_gt()
        });
        if !better || is_unfinished(cache, folder) {
            continue;
        }
        if let Some(program) = executable(entry.path().join(query.file_name())) {
            best = Some((fit, program, version));
        }
    }
    best.map(|(_, program, version)| (program, version))
}

#[cfg(test)]
#[path = "find_tests.rs"]
mod tests;
