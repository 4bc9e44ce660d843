//! The environment variables and the working directory that plugin processes inherit from the host.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fmt,
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};

/// The environment variables and the working directory of the host at one moment.
///
/// They often contain the credentials of a plugin, so processes with different environments are never interchanged.
/// Read once per process, so that the compared environment is the one the process starts with.
#[derive(Clone, PartialEq, Eq)]
pub struct HostEnvironment {
    variables: BTreeMap<OsString, OsString>,
    directory: Option<PathBuf>,
}

impl HostEnvironment {
    /// Reads the current environment of the host.
    #[must_use]
    #[expect(
        clippy::disallowed_methods,
        reason = "plugins inherit the host's environment, and this is the only place that reads it"
    )]
    pub fn now() -> Self {
        Self {
            variables: std::env::vars_os().collect(),
            // `None` if the directory was deleted; the child process then fails on its own.
            directory: std::env::current_dir().ok(),
        }
    }

    /// Creates an environment of these variables, whose processes start in `directory`.
    #[must_use]
    pub fn new(variables: BTreeMap<OsString, OsString>, directory: PathBuf) -> Self {
        Self {
            variables,
            directory: Some(directory),
        }
    }

    /// Returns all variables.
    #[must_use]
    pub const fn variables(&self) -> &BTreeMap<OsString, OsString> {
        &self.variables
    }

    /// Returns the same environment with another variable, which replaces one of its name.
    #[must_use]
    pub fn with(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.variables.insert(name.into(), value.into());
        self
    }

    /// Returns the same environment without a variable.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.variables.remove(OsStr::new(name));
        self
    }

    /// Returns the value of a variable.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    /// Returns the value of a variable that is not empty.
    pub(super) fn set(&self, name: &str) -> Option<&OsStr> {
        self.variable(name).filter(|value| !value.is_empty())
    }

    /// Returns the variable `PATH` where plugins are looked for in its folders: not with a true `PULUMI_IGNORE_AMBIENT_PLUGINS`.
    pub(crate) fn plugin_path(&self) -> Option<&OsStr> {
        let ignores = self.is_enabled("PULUMI_IGNORE_AMBIENT_PLUGINS");
        self.set("PATH").filter(|_| !ignores)
    }

    /// Returns whether a variable has a value that the reference engine understands as true.
    pub(super) fn is_enabled(&self, name: &str) -> bool {
        let value = self.set(name).and_then(OsStr::to_str);
        matches!(value, Some("1" | "t" | "T" | "true" | "TRUE" | "True"))
    }

    /// Returns the folder in which the reference engine installs plugins; `None` without a home.
    pub(super) fn installed_plugins(&self) -> Option<PathBuf> {
        let home = match self.set("PULUMI_HOME") {
            Some(home) => PathBuf::from(home),
            None => Path::new(self.set("HOME")?).join(".pulumi"),
        };
        let place = self.directory().unwrap_or(Path::new("/")).join(home);
        Some(place.join("plugins"))
    }

    /// Returns the folders of the variable `PATH`. Empty entries, which mean the working directory, are skipped.
    #[must_use]
    pub fn path_folders(&self) -> Vec<PathBuf> {
        let path = self.variable("PATH").unwrap_or_default();
        let folders = std::env::split_paths(path);
        folders.filter(|folder| folder.is_absolute()).collect()
    }

    /// Returns the first of some programs that a folder of the variable `PATH` has: the first name in any folder, then the next name.
    #[must_use]
    pub fn executable(&self, names: &[&str]) -> Option<PathBuf> {
        let folders = self.path_folders();
        let mut candidates = names
            .iter()
            .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
        candidates.find(|candidate| candidate.is_file())
    }

    /// Returns the working directory.
    #[must_use]
    pub fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// Returns a digest that identifies this environment without containing it.
    pub(crate) fn digest(&self) -> HostEnvironmentDigest {
        let mut digest = Sha256::new();
        for part in self.variables.iter().flat_map(|(name, value)| [name, value]) {
            let bytes = part.as_encoded_bytes();
            digest.update((bytes.len() as u64).to_le_bytes());
            digest.update(bytes);
        }
        HostEnvironmentDigest(digest.finalize().into())
    }
}

impl fmt::Debug for HostEnvironment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Variables may contain credentials.
        formatter
            .debug_struct("HostEnvironment")
            .field("directory", &self.directory)
            .finish_non_exhaustive()
    }
}

/// The SHA-256 of an environment's variables: comparable, without their values.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct HostEnvironmentDigest([u8; 32]);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugin::PluginSettings;

    fn of(variables: &[(&str, &str)]) -> HostEnvironment {
        let empty = HostEnvironment {
            variables: BTreeMap::new(),
            directory: None,
        };
        variables.iter().fold(empty, |host_environment, (name, value)| {
            host_environment.with(name, value)
        })
    }

    #[test]
    fn the_digest_depends_on_every_name_and_value_and_not_on_their_order() {
        let digest = |variables: &[(&str, &str)]| of(variables).digest();
        let first = digest(&[("A", "1"), ("B", "2")]);
        assert!(first == digest(&[("B", "2"), ("A", "1")]));
        for other in [
            &[("A", "1")][..],
            &[("A", "1"), ("B", "3")],
            &[("A", "1"), ("C", "2")],
            &[("A", "1B"), ("", "2")],
            &[("A", "1"), ("B", "2"), ("C", "")],
        ] {
            assert!(first != digest(other));
        }
    }

    #[test]
    fn plugins_are_where_the_reference_engine_installs_them() {
        let places = |variables: &[(&str, &str)]| {
            let mut environment = of(variables);
            environment.directory = Some("/work".into());
            let settings = PluginSettings::default().or_from(&environment);
            let text = |path: Option<&OsStr>| path.map(|path| path.to_str().unwrap().to_owned());
            (
                text(settings.path.as_deref()),
                text(settings.cache.as_ref().map(|cache| cache.as_os_str())),
            )
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(places(&[]), (None, None));
        assert_eq!(
            places(&[("HOME", "/home/me"), ("PATH", "/bin"), ("PULUMI_HOME", "")]),
            (some("/bin"), some("/home/me/.pulumi/plugins"))
        );
        let ignoring = [
            ("HOME", "/home/me"),
            ("PATH", "/bin"),
            ("PULUMI_HOME", "pulumi"),
            ("PULUMI_IGNORE_AMBIENT_PLUGINS", "true"),
        ];
        assert_eq!(places(&ignoring), (None, some("/work/pulumi/plugins")));
        let own = PluginSettings {
            path: Some("/own".into()),
            cache: Some("/cache".into()),
            ..PluginSettings::default()
        };
        let kept = own
            .clone()
            .or_from(&of(&[("HOME", "/home/me"), ("PATH", "/bin")]));
        assert_eq!((kept.path, kept.cache), (own.path, own.cache));
    }

    #[test]
    fn the_debug_output_of_an_environment_contains_no_values() {
        let text = format!("{:?}", of(&[("TOKEN", "hush")]));
        assert!(!text.contains("hush") && !text.contains("TOKEN"));
    }
}
