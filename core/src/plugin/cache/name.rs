//! The names in a folder of installed plugins, which are those of the reference engine: `<kind>-<name>-v<version>` for a
//! plugin, and beside it a lock file, the mark of an unfinished installation, and folders that are written or removed.

use std::path::{Path, PathBuf};

use semver::Version;

use crate::{
    error::{Error, Result},
    plugin::{PluginKind, file_part},
};

/// What precedes the version.
const VERSION_MARK: &str = "-v";
/// What follows the name of a folder that is written or removed, before a number.
const TEMPORARY_MARK: &str = ".tmp";
/// What follows the name of a folder in the name of the file that marks an unfinished installation.
const PARTIAL_MARK: &str = ".partial";
/// What follows the name of a folder in the name of its lock file.
const LOCK_MARK: &str = ".lock";
/// The most characters of a plugin's name.
const MAX_NAME: usize = 200;

/// A plugin of a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::plugin) struct PluginId {
    pub(in crate::plugin) kind: PluginKind,
    pub(in crate::plugin) name: String,
    pub(in crate::plugin) version: Version,
}

impl PluginId {
    /// Checks a name: its characters, and that it stays in its folder.
    pub(in crate::plugin) fn new(kind: PluginKind, name: &str, version: Version) -> Result<Self> {
        let is_plain =
            |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.' | '/');
        let first = name
            .chars()
            .next()
            .is_some_and(|first| first.is_ascii_alphanumeric());
        if !first || name.len() > MAX_NAME || !name.chars().all(is_plain) {
            return Err(Error::invalid(format!(
                "the name of a plugin has 1 to {MAX_NAME} letters, digits, hyphens, underscores, periods and slashes, and begins \
                 with a letter or a digit, unlike {name:?}"
            )));
        }
        Ok(Self {
            kind,
            name: file_part(name),
            version,
        })
    }

    /// Parses the name of a folder; `None` for other folders.
    pub(in crate::plugin) fn parse(folder: &str) -> Option<Self> {
        let (kind, rest) = folder.split_once('-')?;
        let kind = PluginKind::named(kind)?;
        // Names and versions can have the mark, too.
        rest.rmatch_indices(VERSION_MARK).find_map(|(place, mark)| {
            let (name, version) = (rest.get(..place)?, rest.get(place + mark.len()..)?);
            let version = Version::parse(version).ok()?;
            (!name.is_empty() && !is_temporary(folder)).then(|| Self {
                kind,
                name: name.to_owned(),
                version,
            })
        })
    }

    /// Returns the name of the folder.
    pub(in crate::plugin) fn folder(&self) -> String {
        format!("{}-{}{VERSION_MARK}{}", self.kind.name(), self.name, self.version)
    }

    /// Returns the name of the executable.
    pub(in crate::plugin) fn executable(&self) -> String {
        self.kind.executable_name(&self.name)
    }

    /// Returns the name for messages.
    pub(in crate::plugin) fn shown(&self) -> String {
        format!("the {} plugin `{}` {}", self.kind.name(), self.name, self.version)
    }
}

/// Returns the version of an installed plugin's folder, where it is one of this plugin; the inner `None` is a folder without a
/// version.
pub(in crate::plugin) fn version_of(folder: &str, kind: PluginKind, name: &str) -> Option<Option<Version>> {
    let rest = folder
        .strip_prefix(kind.name())?
        .strip_prefix('-')?
        .strip_prefix(file_part(name).as_str())?;
    if rest.is_empty() {
        return Some(None);
    }
    Version::parse(rest.strip_prefix(VERSION_MARK)?).ok().map(Some)
}

/// Returns whether a folder is written or removed: by name, or by the mark of an unfinished installation beside it.
pub(in crate::plugin) fn is_unfinished(cache: &Path, folder: &str) -> bool {
    is_temporary(folder) || partial_mark(cache, folder).exists()
}

fn is_temporary(folder: &str) -> bool {
    folder
        .rsplit_once(TEMPORARY_MARK)
        .is_some_and(|(_, digits)| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns whether an entry was left by an installation or a removal of this folder.
pub(super) fn is_remainder(entry: &str, folder: &str) -> bool {
    is_temporary(entry)
        && entry
            .strip_prefix(folder)
            .and_then(|rest| rest.strip_prefix(TEMPORARY_MARK))
            .is_some()
}

/// Returns the file that marks an unfinished installation.
pub(super) fn partial_mark(cache: &Path, folder: &str) -> PathBuf {
    cache.join(format!("{folder}{PARTIAL_MARK}"))
}

/// Returns the lock file of a plugin.
pub(super) fn lock_file(cache: &Path, folder: &str) -> PathBuf {
    cache.join(format!("{folder}{LOCK_MARK}"))
}

/// Returns a folder that is no plugin, beside that of a plugin. The holder of the plugin's lock is its only user.
pub(super) fn temporary(cache: &Path, folder: &str, number: u32) -> PathBuf {
    cache.join(format!("{folder}{TEMPORARY_MARK}{number}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_folders_are_read_as_they_are_written() {
        for (kind, name, version, folder) in [
            (PluginKind::Resource, "aws", "6.0.0", "resource-aws-v6.0.0"),
            (
                PluginKind::Language,
                "my-v2-thing",
                "1.0.0-v1",
                "language-my-v2-thing-v1.0.0-v1",
            ),
            (
                PluginKind::Tool,
                "acme/shop",
                "1.0.0+b",
                "tool-acme_shop-v1.0.0+b",
            ),
        ] {
            let id = PluginId::new(kind, name, Version::parse(version).unwrap()).unwrap();
            assert_eq!(id.folder(), folder);
            assert_eq!(PluginId::parse(folder), Some(id));
        }
        for other in [
            "resource-aws",
            "resource-aws-v6",
            "resource--v1.0.0",
            "bundle-aws-v1.0.0",
            "resource-aws-v1.0.0.tmp12",
            "resource-aws-v1.0.0.lock",
        ] {
            assert_eq!(PluginId::parse(other), None, "{other}");
        }
    }

    #[test]
    fn names_that_leave_the_folder_are_refused() {
        for name in ["", "..", "../aws", "a b", "-a", "ä", &"a".repeat(201)] {
            let refused = PluginId::new(PluginKind::Resource, name, Version::new(1, 0, 0));
            assert!(refused.is_err(), "{name:?}");
        }
    }
}
