//! For the bindings: projects, settings and configuration as documents.

use std::{collections::BTreeMap, sync::Arc};

use serde::Serialize;
use serde_json::{Map, Value};
use stackwright::{
    Engine, Error, Result,
    binding::{
        ConfigDeclarationDocument, ConfigEntryDocument, ProjectDocument, StackFileDocument, config_value,
    },
    config::{ConfigKey, ConfigValue},
    secrets::SecretsProvider,
};

use crate::{
    ConfigChange, ConfigDeclaration, ConfigEntry, Project, ProjectFile,
    yaml::{Mapping, Node},
};

/// Returns the provider of a passphrase that takes the place of the engine's.
///
/// # Errors
/// [`stackwright::ErrorKind::InvalidInput`] for an empty one.
pub fn secrets_of(engine: &Engine, passphrase: Option<String>) -> Result<Option<Arc<dyn SecretsProvider>>> {
    passphrase
        .map(|passphrase| engine.passphrase(passphrase))
        .transpose()
}

/// Returns the content of the project file as JSON, see [`ProjectDocument`].
///
/// # Errors
/// As [`Project::file`].
///
/// # Cancel safety
/// Cancel safe.
pub async fn project_document(project: &Project) -> Result<Vec<u8>> {
    let path = project.path().await?;
    let file = project.file().await?;
    let json = |node: &Option<Node>| node.as_ref().map_or(Value::Null, Node::to_json_value);
    written(&ProjectDocument {
        name: file.name.clone(),
        folder: project.folder().display().to_string(),
        path: path.display().to_string(),
        runtime: file.runtime.name.clone(),
        runtime_options: members(&file.runtime.options),
        main: file.main.clone(),
        description: file.description.clone(),
        author: file.author.clone(),
        website: file.website.clone(),
        license: file.license.clone(),
        backend_url: file.backend_url.clone(),
        stack_config_dir: file.stack_config_dir.clone(),
        required_version: file.required_version.clone(),
        refresh: file.refresh.clone(),
        plugins: json(&file.plugins),
        packages: json(&file.packages),
        template: json(&file.template),
        config: declarations(&file)?,
        document: members(file.entries()),
    })
}

/// Returns the settings of a stack apart from its configuration as JSON, see [`StackFileDocument`].
///
/// # Errors
/// As [`Project::stack_file`].
///
/// # Cancel safety
/// Cancel safe.
pub async fn stack_file_document(project: &Project, stack: &str) -> Result<Vec<u8>> {
    let (file, path, exists) = project.stack_file_at(stack).await?;
    written(&StackFileDocument {
        path: path.display().to_string(),
        exists,
        secrets_provider: file.secrets_provider,
        encrypted_key: file.encrypted_key,
        encryption_salt: file.encryption_salt,
        environment: file.environment.as_ref().map_or(Value::Null, Node::to_json_value),
    })
}

/// Returns a value as JSON, see [`ConfigEntryDocument`].
///
/// # Errors
/// [`stackwright::ErrorKind::InvalidInput`] for a number without a JSON form.
pub fn entry_document(entry: &ConfigEntry) -> Result<Vec<u8>> {
    written(&document_of(entry)?)
}

/// Returns values by key as JSON.
///
/// # Errors
/// As [`entry_document`].
pub fn entries_document(entries: &BTreeMap<ConfigKey, ConfigEntry>) -> Result<Vec<u8>> {
    let documents = entries
        .iter()
        .map(|(key, entry)| Ok((key.to_string(), document_of(entry)?)));
    written(&documents.collect::<Result<BTreeMap<_, _>>>()?)
}

/// Reads the new value at a path from JSON, see [`config_value`]. Beside a value, `"secret": false` leaves it unencrypted also
/// where its key is declared as secret.
///
/// # Errors
/// As [`config_value`], with the path.
pub fn config_change(path: String, value: Value) -> Result<ConfigChange> {
    let is_left = match &value {
        Value::Object(members) => {
            members.len() == 2
                && members.contains_key("value")
                && members.get("secret") == Some(&Value::Bool(false))
        }
        _ => false,
    };
    match config_value(value) {
        Ok(value) => Ok(ConfigChange {
            path,
            value,
            secret: is_left.then_some(false),
        }),
        Err(error) => Err(Error::new(
            error.kind(),
            format!("configuration {path}: {}", error.message()),
        )),
    }
}

/// Returns the document of a value.
///
/// # Errors
/// As [`entry_document`].
pub fn document_of(entry: &ConfigEntry) -> Result<ConfigEntryDocument> {
    let structure = match &entry.value {
        Some(value @ (ConfigValue::List(_) | ConfigValue::Object(_))) => Some(value.to_plain_json()?),
        _ => None,
    };
    let value = match (&entry.value, &structure) {
        (Some(value), Some(_)) => Some(value.to_text()?),
        (Some(value), None) => value.scalar_text(),
        (None, _) => None,
    };
    Ok(ConfigEntryDocument {
        value,
        object_value: structure,
        secret: entry.secret,
    })
}

fn declarations(file: &ProjectFile) -> Result<Vec<ConfigDeclarationDocument>> {
    let json = |value: &Option<ConfigValue>| match value {
        Some(value) => value.to_plain_json(),
        None => Ok(Value::Null),
    };
    let declared = file
        .config
        .iter()
        .map(|(key, declaration): (&ConfigKey, &ConfigDeclaration)| {
            Ok(ConfigDeclarationDocument {
                key: key.to_string(),
                value_type: declaration.value_type.as_ref().map(ToString::to_string),
                default: json(&declaration.default)?,
                value: json(&declaration.value)?,
                secret: declaration.secret,
                description: declaration.description.clone(),
            })
        });
    declared.collect()
}

fn members(entries: &Mapping) -> Map<String, Value> {
    let entries = entries.iter();
    entries
        .map(|(name, node)| (name.clone(), node.to_json_value()))
        .collect()
}

fn written(document: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(document)
        .map_err(|error| Error::internal(format!("a document cannot be written: {error}")))
}
