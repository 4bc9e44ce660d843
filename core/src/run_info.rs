//! The facts of a run: its project and stack, its configuration and its limits.

use std::{collections::BTreeMap, fmt, path::PathBuf};

use serde_json::Value;

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
