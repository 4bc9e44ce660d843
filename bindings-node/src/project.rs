//! A project: its files to read and change.

use std::{path::Path, sync::Arc};

use napi::{Env, Result, bindgen_prelude::Unknown};
use napi_derive::napi;
use stackwright::{Error, config::ConfigValue, secrets::SecretsProvider};
use stackwright_project::{Project as Files, binding};

use crate::{config_values::path_values, errors};

/// A project.
#[napi]
pub struct Project {
    project: Files,
}

/// Values of a configuration by path.
#[napi]
pub struct ConfigChanges(Vec<(String, ConfigValue)>);

impl Project {
    /// Wraps an opened project.
    pub(crate) const fn new(project: Files) -> Self {
        Self { project }
    }

    fn secrets(&self, passphrase: Option<String>) -> Result<Option<Arc<dyn SecretsProvider>>> {
        or_raise(binding::secrets_of(self.project.engine(), passphrase))
    }
}

fn or_raise<T>(outcome: stackwright::Result<T>) -> Result<T> {
    outcome.map_err(|error| errors::to_napi(&error))
}

fn text(document: stackwright::Result<Vec<u8>>) -> Result<String> {
    let text = document.and_then(|document| {
        String::from_utf8(document).map_err(|_| Error::internal("a document is not a text"))
    });
    or_raise(text)
}

/// Returns the settings file of a stack as JSON, or `null` without such a file.
#[napi(catch_unwind)]
pub fn settings_document(folder: String, stack: String) -> Result<Option<String>> {
    or_raise(stackwright_project::settings_document(Path::new(&folder), &stack))
}

/// Writes a document to the settings file of a stack.
#[napi(catch_unwind)]
pub fn replace_settings(folder: String, stack: String, document: String) -> Result<()> {
    or_raise(stackwright_project::replace_settings(
        Path::new(&folder),
        &stack,
        &document,
    ))
}

/// Writes a document to the project file of a folder.
#[napi(catch_unwind)]
pub fn replace_project(folder: String, document: String) -> Result<()> {
    or_raise(stackwright_project::replace_project(
        Path::new(&folder),
        &document,
    ))
}

#[napi]
impl Project {
    /// The folder.
    #[napi(getter, catch_unwind)]
    pub fn folder(&self) -> String {
        self.project.folder().display().to_string()
    }

    /// Returns the content of the project file as JSON.
    #[napi]
    pub async fn facts(&self) -> Result<String> {
        text(binding::project_document(&self.project).await)
    }

    /// Sets the value at a path of the project file, as JSON.
    #[napi]
    pub async fn set(&self, path: String, value: String) -> Result<()> {
        let value = serde_json::from_str(&value)
            .map_err(|error| errors::to_napi(&Error::invalid(format!("the value is no JSON: {error}"))))?;
        or_raise(self.project.set(&path, &value).await)
    }

    /// Removes the value at a path of the project file; returns whether there was one.
    #[napi]
    pub async fn remove(&self, path: String) -> Result<bool> {
        or_raise(self.project.remove(&path).await)
    }

    /// Returns the settings of a stack apart from its configuration as JSON.
    #[napi]
    pub async fn settings(&self, stack: String) -> Result<String> {
        text(binding::stack_file_document(&self.project, &stack).await)
    }

    /// Returns the value at a path of a stack's configuration as JSON.
    #[napi]
    pub async fn get_config(
        &self,
        stack: String,
        path: String,
        passphrase: Option<String>,
    ) -> Result<String> {
        let secrets = self.secrets(passphrase)?;
        let entry = or_raise(self.project.get_config(&stack, &path, secrets).await)?;
        text(binding::entry_document(&entry))
    }

    /// Returns a stack's configuration as JSON, by key.
    #[napi]
    pub async fn list_config(
        &self,
        stack: String,
        show_secrets: bool,
        passphrase: Option<String>,
    ) -> Result<String> {
        let secrets = self.secrets(passphrase)?;
        let entries = or_raise(self.project.list_config(&stack, show_secrets, secrets).await)?;
        text(binding::entries_document(&entries))
    }

    /// Reads values by path, for `setConfig`.
    #[napi(catch_unwind, ts_args_type = "values: unknown")]
    pub fn changes(&self, env: &Env, values: Unknown<'_>) -> Result<ConfigChanges> {
        path_values(env, &values).map(ConfigChanges)
    }

    /// Sets values at paths of a stack's configuration.
    #[napi]
    pub async fn set_config(
        &self,
        stack: String,
        changes: &ConfigChanges,
        secret: Option<bool>,
        passphrase: Option<String>,
    ) -> Result<()> {
        let secrets = self.secrets(passphrase)?;
        let values = changes.0.clone();
        or_raise(self.project.set_all_config(&stack, values, secret, secrets).await)
    }

    /// Removes the values at paths of a stack's configuration; returns how many there were.
    #[napi]
    pub async fn remove_config(&self, stack: String, paths: Vec<String>) -> Result<u32> {
        let removed = or_raise(self.project.remove_config(&stack, &paths).await)?;
        Ok(u32::try_from(removed).unwrap_or(u32::MAX))
    }
}
