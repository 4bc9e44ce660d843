//! The JSON of a stack's settings.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use serde::Deserialize;
use stackwright::{
    StackSettings,
    program::{LanguageRuntimeProgram, Program},
    project::{Config, ConfigKey, ConfigValue},
};

use crate::guard::{Failure, Outcome};

#[derive(Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Settings {
    config: BTreeMap<String, ConfigDocument>,
    organization: Option<String>,
    tags: BTreeMap<String, String>,
    root_directory: Option<PathBuf>,
    create: bool,
    language_runtime: Option<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            config: BTreeMap::new(),
            organization: None,
            tags: BTreeMap::new(),
            root_directory: None,
            create: true,
            language_runtime: None,
        }
    }
}

/// A configuration value: a text, or one with its secrecy.
#[derive(Deserialize)]
#[serde(untagged)]
enum ConfigDocument {
    Text(String),
    Marked(MarkedValue),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MarkedValue {
    value: String,
    #[serde(default)]
    secret: bool,
}

impl Settings {
    /// Reads settings; empty is none.
    pub(super) fn from_json(json: &[u8]) -> Outcome<Self> {
        if json.is_empty() {
            return Ok(Self::default());
        }
        serde_json::from_slice(json)
            .map_err(|error| Failure::invalid(format!("invalid settings of the stack: {error}")))
    }

    /// Tells whether they say what runs.
    pub(super) fn names_a_program(&self) -> bool {
        self.language_runtime.is_some()
    }

    /// Gives them to the stack of this name.
    pub(super) fn for_stack(self, name: &str) -> Outcome<StackSettings> {
        let remote = self.language_runtime.map(LanguageRuntimeProgram::new);
        let default = StackSettings::default();
        Ok(StackSettings {
            organization: self.organization.unwrap_or(default.organization),
            tags: self.tags,
            program: remote.map(|remote| Arc::new(remote) as Arc<dyn Program>),
            config: config(self.config, name)?,
            root_directory: self.root_directory,
            create: self.create,
            journal: None,
        })
    }
}

fn config(entries: BTreeMap<String, ConfigDocument>, stack: &str) -> Outcome<Config> {
    let project = stack.rsplit('/').nth(1).unwrap_or_default();
    let entry = |(key, value): (String, ConfigDocument)| {
        let key = ConfigKey::parse_in_project(&key, project)?;
        let value = match value {
            ConfigDocument::Text(value) | ConfigDocument::Marked(MarkedValue { value, secret: false }) => {
                ConfigValue::plain(value)
            }
            ConfigDocument::Marked(MarkedValue { value, secret: true }) => ConfigValue::secret(value),
        };
        Ok((key, value))
    };
    entries.into_iter().map(entry).collect()
}
