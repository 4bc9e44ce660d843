//! The facts of a run, as a program without a typed context reads them.

use std::{collections::BTreeMap, path::Path};

use schemars::JsonSchema;
use serde::Serialize;

use crate::{error::Result, monitor::RunInfo, property::json::to_vec, urn::Urn};

/// The facts of a run.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "RunInfo")]
pub(super) struct RunDocument<'a> {
    /// The project.
    project: &'a str,
    /// The stack, without its project.
    stack: &'a str,
    /// The organization.
    organization: &'a str,
    /// The folder of the project, to which relative paths refer.
    root_directory: Option<&'a Path>,
    /// The configuration by `namespace:name`. Structured values are JSON texts; secret ones are readable.
    config: &'a BTreeMap<String, String>,
    /// The names of configuration values that are secret.
    config_secret_keys: &'a [String],
    /// True during a preview.
    dry_run: bool,
    /// How many steps run at a time.
    parallel: i32,
    /// The URN of the stack itself.
    root_stack: &'a str,
}

/// Writes the facts of a run as JSON.
///
/// # Errors
/// [`crate::ErrorKind::Internal`] for a folder whose path is not UTF-8.
pub fn run_document(info: &RunInfo, root: &Urn) -> Result<Vec<u8>> {
    to_vec(&RunDocument {
        project: &info.project,
        stack: &info.stack,
        organization: &info.organization,
        root_directory: info.root_directory.as_deref(),
        config: &info.config,
        config_secret_keys: &info.config_secret_keys,
        dry_run: info.dry_run,
        parallel: info.parallel,
        root_stack: root.as_str(),
    })
}
