//! The autonamer of an operation: the host's, or that of the stack's configuration.

use std::sync::Arc;

use crate::{
    autonaming::{Autonamer, ConfiguredNames, SETTINGS, StackFacts},
    config::{ConfigKey, DecryptedConfig},
    error::{Error, Result},
    operation::StackContext,
};

impl StackContext {
    /// Returns the autonamer; `None` without one.
    ///
    /// # Errors
    /// The fault of the settings, with its path.
    pub(super) fn autonamer(&self, config: &DecryptedConfig) -> Result<Option<Arc<dyn Autonamer>>> {
        if let Some(host) = &self.engine.autonamer {
            return Ok(Some(Arc::clone(host)));
        }
        let Some(entry) = config.get(&ConfigKey::parse(SETTINGS)?) else {
            return Ok(None);
        };
        // Names are visible to all.
        if entry.is_secret() {
            return Err(Error::invalid(format!(
                "the autonaming settings {SETTINGS} hold a secret"
            )));
        }
        let settings = serde_json::from_str(entry.text()).map_err(|error| {
            Error::invalid(format!("the autonaming settings {SETTINGS} are no JSON: {error}"))
        })?;
        let facts = StackFacts {
            organization: &self.organization,
            project: &self.project,
            stack: &self.stack,
            config: &|name| self.fact(config, name),
        };
        let names = ConfiguredNames::read(&settings, &facts)?;
        Ok(Some(Arc::new(names)))
    }

    fn fact(&self, config: &DecryptedConfig, name: &str) -> Result<String, String> {
        let key =
            ConfigKey::parse_in_project(name, &self.project).map_err(|error| error.message().to_owned())?;
        match config.get(&key) {
            None => Err(format!("the configuration has no {key}")),
            Some(entry) if entry.is_secret() => {
                Err(format!("{key} of the configuration is secret, and names are not"))
            }
            Some(entry) => Ok(entry.text().to_owned()),
        }
    }
}
