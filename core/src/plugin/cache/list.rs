//! The plugins that are installed in a folder.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use semver::Version;

use super::name::{PluginId, is_unfinished};
use crate::{
    error::{Error, ErrorKind, Result},
    plugin::{PluginKind, VersionRange, file_part},
    runtime::Timestamp,
};

/// An installed plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstalledPlugin {
    /// Its kind.
    pub kind: PluginKind,
    /// Its name. A `/` in it is an `_`, as in the name of its folder.
    pub name: String,
    /// Its version.
    pub version: Version,
    /// Its folder.
    pub path: PathBuf,
    /// The size of its files in bytes.
    pub size: u64,
    /// When it was installed; `None` if the file system does not say.
    pub installed: Option<Timestamp>,
    /// When its folder was last read; `None` if the file system does not say.
    pub last_used: Option<Timestamp>,
}

/// Which installed plugins are meant: those to which all members apply. The default is all plugins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PluginSelection {
    /// Those of a kind.
    pub kind: Option<PluginKind>,
    /// Those of a name.
    pub name: Option<String>,
    /// Those in a range of versions.
    pub versions: Option<VersionRange>,
}

impl PluginSelection {
    /// Parses a range of versions: `>=1.2.0 <2.0.0`, or a version, with or without a leading `v`, which is that version alone.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if it is no range.
    pub fn parse_versions(text: &str) -> Result<VersionRange> {
        VersionRange::parse(text.strip_prefix('v').unwrap_or(text))
            .map_err(|error| Error::invalid(format!("{text:?} is no range of versions: {error}")))
    }

    fn includes(&self, plugin: &PluginId) -> bool {
        let named = |name: &String| file_part(name) == plugin.name;
        self.kind.is_none_or(|kind| kind == plugin.kind)
            && self.name.as_ref().is_none_or(named)
            && self
                .versions
                .as_ref()
                .is_none_or(|versions| versions.contains(&plugin.version))
    }
}

/// Returns the installed plugins of a selection, sorted by name and version. A folder that does not exist has none. Blocks.
pub(super) fn list(cache: &Path, selection: &PluginSelection) -> Result<Vec<InstalledPlugin>> {
    let entries = match fs::read_dir(cache) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(|error| {
            let text = format!(
                "the folder of plugins {} cannot be read: {error}",
                cache.display()
            );
            Error::new(ErrorKind::Plugin, text)
        })?,
    };
    let names = entries.flatten().map(|entry| entry.file_name());
    let mut plugins: Vec<InstalledPlugin> = names
        .filter_map(|folder| {
            let folder = folder.to_str()?;
            selection.includes(&PluginId::parse(folder)?).then_some(())?;
            installed_at(cache, folder)
        })
        .collect();
    let order = |plugin: &InstalledPlugin| (plugin.name.clone(), plugin.kind.name(), plugin.version.clone());
    plugins.sort_by_key(order);
    Ok(plugins)
}

/// Returns the plugin of a folder, unless it is none or its installation is not complete.
pub(super) fn installed_at(cache: &Path, folder: &str) -> Option<InstalledPlugin> {
    let plugin = PluginId::parse(folder)?;
    let path = cache.join(folder);
    let facts = fs::metadata(&path).ok()?;
    if !facts.is_dir() || is_unfinished(cache, folder) {
        return None;
    }
    let time = |time: io::Result<SystemTime>| Timestamp::try_from(time.ok()?).ok();
    Some(InstalledPlugin {
        kind: plugin.kind,
        name: plugin.name,
        version: plugin.version,
        size: size(&path),
        installed: time(facts.modified()),
        last_used: time(facts.accessed()),
        path,
    })
}

/// Returns the number of bytes below a folder. What cannot be read does not count.
fn size(folder: &Path) -> u64 {
    let mut folders = vec![folder.to_owned()];
    let mut total = 0_u64;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(facts) if facts.is_dir() => folders.push(entry.path()),
                Ok(facts) => total = total.saturating_add(facts.len()),
                Err(_) => {}
            }
        }
    }
    total
}
