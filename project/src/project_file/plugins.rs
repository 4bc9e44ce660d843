//! The plugins that a project file has at paths of their own.

use std::path::PathBuf;

use semver::Version;
use stackwright::{Error, Result, plugin::PluginKind};

use crate::yaml::Node;

/// A plugin whose executable is in a folder that the project file names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginAtPath {
    /// Its kind.
    pub kind: PluginKind,
    /// Its name.
    pub name: String,
    /// The folder of the executable, relative to the file.
    pub folder: PathBuf,
    /// The only version that it serves; `None` serves each.
    pub version: Option<Version>,
}

impl PluginAtPath {
    /// Returns the name of the executable in the folder.
    #[must_use]
    pub fn file_name(&self) -> String {
        self.kind.executable_name(&self.name)
    }
}

/// The lists by kind.
const LISTS: [(&str, PluginKind); 3] = [
    ("providers", PluginKind::Resource),
    ("languages", PluginKind::Language),
    ("analyzers", PluginKind::Analyzer),
];

/// Reads the entry `plugins`.
pub(super) fn read(node: Option<&Node>) -> Result<Vec<PluginAtPath>> {
    let Some(node) = node.filter(|node| !node.is_null()) else {
        return Ok(Vec::new());
    };
    let lists = node
        .as_mapping()
        .ok_or_else(|| Error::invalid("`plugins` must be a mapping"))?;
    let mut plugins = Vec::new();
    for (list, kind) in LISTS {
        let entries = match lists.get(list) {
            None => continue,
            Some(entries) if entries.is_null() => continue,
            Some(Node::Sequence(entries)) => entries,
            Some(_) => return Err(Error::invalid(format!("`plugins.{list}` must be a list"))),
        };
        for (place, entry) in entries.iter().enumerate() {
            let text = |name: &str| entry.as_mapping()?.get(name)?.as_text();
            let (Some(name), Some(folder)) = (text("name"), text("path")) else {
                let message = format!("`plugins.{list}[{place}]` must have a `name` and a `path`");
                return Err(Error::invalid(message));
            };
            let version = text("version").map(|version| {
                Version::parse(version.trim_start_matches('v')).map_err(|_| {
                    Error::invalid(format!(
                        "`plugins.{list}[{place}].version` is no version: `{version}`"
                    ))
                })
            });
            plugins.push(PluginAtPath {
                kind,
                name: name.to_owned(),
                folder: PathBuf::from(folder),
                version: version.transpose()?,
            });
        }
    }
    Ok(plugins)
}
