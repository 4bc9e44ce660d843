//! The facts of a run: its project and stack, its configuration and its limits.

use std::{collections::BTreeMap, fmt, path::PathBuf};

use serde_json::Value;

use crate::config::ConfigKey;

/// The facts of a run that a program can query.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct RunInfo {
    /// The project.
    pub project: String,
    /// The stack, without its project.
    pub stack: String,
    /// The organization; `organization` by default.
    pub organization: String,
    /// The folder of the project, to which source positions are relative.
    pub root_directory: Option<PathBuf>,
    /// The options of the project's runtime, by name.
    pub runtime_options: BTreeMap<String, Value>,
    /// Configuration by `namespace:name`, decrypted; structured values are JSON texts.
    pub config: BTreeMap<String, String>,
    /// Those keys whose values are secret.
    pub config_secret_keys: Vec<String>,
    /// True during a preview.
    pub dry_run: bool,
    /// Maximum number of concurrent steps.
    pub parallel: i32,
}

impl RunInfo {
    /// Returns the key in [`Self::config`] of a name that a program reads: the project's namespace may be left out, and
    /// `namespace:config:name` is the same as `namespace:name`. A text that is no key is returned as it is: no value has it.
    #[must_use]
    pub fn config_key(&self, name: &str) -> String {
        match ConfigKey::parse_in_project(name, &self.project) {
            Ok(key) => key.to_string(),
            Err(_) => name.to_owned(),
        }
    }
}

impl fmt::Debug for RunInfo {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RunInfo")
            .field("project", &self.project)
            .field("stack", &self.stack)
            .field("config", &self.config.keys())
            .field("dry_run", &self.dry_run)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_namespace_of_a_configuration_name_is_the_project_unless_the_name_has_one() {
        let info = RunInfo {
            project: "shop".to_owned(),
            ..RunInfo::default()
        };
        for (name, key) in [
            ("size", "shop:size"),
            ("shop:size", "shop:size"),
            ("aws:region", "aws:region"),
            ("aws:config:region", "aws:region"),
            ("", ""),
            (":size", ":size"),
            ("a:b:c", "a:b:c"),
        ] {
            assert_eq!(info.config_key(name), key, "{name}");
        }
    }
}
