//! The documents of projects and their settings files.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// A project: the content of its file `Pulumi.yaml`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProjectFacts")]
pub struct ProjectDocument {
    /// The name.
    pub name: String,
    /// The folder of the file.
    pub folder: String,
    /// The path of the file.
    pub path: String,
    /// The language of the program: `python`, `nodejs`…
    pub runtime: String,
    /// The options of the language's runtime, by name.
    pub runtime_options: Map<String, Value>,
    /// The path of the program, relative to the folder.
    pub main: Option<String>,
    /// The description.
    pub description: Option<String>,
    /// The author.
    pub author: Option<String>,
    /// The website.
    pub website: Option<String>,
    /// The license.
    pub license: Option<String>,
    /// The URL of the store of states. The engine's own store is used all the same.
    pub backend_url: Option<String>,
    /// The folder of the settings files of stacks, relative to the folder.
    pub stack_config_dir: Option<String>,
    /// The versions of the reference engine that the project admits. They are not compared.
    pub required_version: Option<String>,
    /// `always` when updates and destroys refresh first.
    pub refresh: Option<String>,
    /// Plugins at fixed paths, as written.
    pub plugins: Value,
    /// Packages by name, as written.
    pub packages: Value,
    /// The template that the project was made from, as written.
    pub template: Value,
    /// The declared configuration, in the order of the file.
    pub config: Vec<ConfigDeclarationDocument>,
    /// The whole file, as plain JSON.
    pub document: Map<String, Value>,
}

/// The declaration of a configuration key in a project.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ConfigDeclaration")]
pub struct ConfigDeclarationDocument {
    /// The key, as `namespace:name`.
    pub key: String,
    /// The type: `string`, `integer`, `number`, `boolean`, `object`, `array` or `array<string>`; any when left out.
    #[serde(rename = "type")]
    pub value_type: Option<String>,
    /// The value of stacks that do not set the key.
    pub default: Value,
    /// The same, for keys of other namespaces.
    pub value: Value,
    /// Whether stacks must encrypt the value.
    pub secret: bool,
    /// The description.
    pub description: Option<String>,
}

/// A value of a stack's configuration.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ConfigEntry")]
pub struct ConfigEntryDocument {
    /// The text that programs read; that of a structure is JSON. Left out for a secret that is not shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The structure. Left out for a single value, and for a secret that is not shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object_value: Option<Value>,
    /// Whether the value is secret, or holds a secret.
    pub secret: bool,
}

/// The settings file of a stack, `Pulumi.<stack>.yaml`, apart from its configuration.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "StackFile")]
pub struct StackFileDocument {
    /// The path of the file.
    pub path: String,
    /// Whether there is such a file.
    pub exists: bool,
    /// The kind of the secrets manager: `passphrase`, `default`, or the URL of a key service.
    pub secrets_provider: Option<String>,
    /// The data key, encrypted by the key service.
    pub encrypted_key: Option<String>,
    /// The salt of the passphrase, with a value to check it.
    pub encryption_salt: Option<String>,
    /// The imported environments, as written. A stack that imports some is not opened.
    pub environment: Value,
}

/// Shows no value: it can be secret.
impl std::fmt::Debug for ConfigEntryDocument {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("ConfigEntryDocument")
            .field("secret", &self.secret)
            .finish_non_exhaustive()
    }
}
