//! Settings of stacks.

use std::{collections::BTreeMap, fmt, path::PathBuf, sync::Arc};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::secrets::SecretsDocument;
use crate::{
    config::{Config, ConfigKey, ConfigValue},
    engine::{Engine, StackSettings},
    error::{Error, Result},
    message::Language,
    operation::Opening,
    program::LanguageRuntimeProgram,
};

/// How deep the values of runtime options may nest: language runtimes receive them as property values.
const MAX_OPTION_DEPTH: usize = 100;

/// The settings with which a stack is opened. None of them is kept with the stack.
///
/// # Rust
/// Python and Node hand over [`Self::config`], [`Self::deployment`], [`Self::secrets`], `journal` and `program` beside the
/// document, because these are or hold objects of the language. Those with `x-secret` in their schema can hold secret values as plain
/// data.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "StackSettings")]
pub struct StackDocument {
    /// The program that registers the stack's resources; needed for previews and updates, unless each has its own.
    #[schemars(extend("x-in" = ["python", "node"], "x-argument" = true, "x-typescript" = "AnyProgram"))]
    program: Beside,
    /// The configuration by `namespace:name`, or by name for the project's own: texts, structures, and secrets. A value that
    /// is encrypted already is `{"secure": "v1:…"}`, as files have it.
    #[schemars(extend(
        "x-takes" = "values by key",
        "x-python" = "Mapping[str, PropertyValue] | None",
        "x-typescript" = "{ readonly [name: string]: ConfigValue }"
    ))]
    pub config: BTreeMap<String, Value>,
    /// The salt of the values of [`Self::config`] that are encrypted already, as `encryptionsalt` of the stack's configuration
    /// file has it; the engine needs the passphrase. A stack without a state encrypts its own secrets with it, too. Left
    /// out, the configuration is decrypted as the state is.
    #[schemars(extend("x-python" = "str | None"))]
    pub encryption_salt: Option<String>,
    /// The folder of a project, with its `Pulumi.yaml`: the stack takes configuration, encryption salt, the defaults of
    /// declared configuration and runtime options from there, again for each operation, and its name can leave out the
    /// project. Values of [`Self::config`] and [`Self::runtime_options`] replace those of the files. Without a program of the
    /// host, each update runs the one in the folder, in a process of its own. A relative path begins at the working directory.
    #[schemars(extend(
        "x-takes" = "the path of a folder",
        "x-python" = "str | os.PathLike[str] | None",
        "x-typescript" = "string | { readonly folder: string }"
    ))]
    pub project: Option<PathBuf>,
    /// Variables of the environment of the program in the folder of [`Self::project`], beside those that plugins inherit.
    #[schemars(extend(
        "x-takes" = "strings by name",
        "x-python" = "Mapping[str, str] | None",
        "x-secret" = true
    ))]
    pub program_environment: BTreeMap<String, String>,
    /// The organization that programs see, `organization` when left out. It is no part of the stack's name.
    #[schemars(extend("x-python" = "str | None"))]
    pub organization: Option<String>,
    /// Notes of the host about the stack, by name: a name has at most 40 characters, a value at most 256.
    #[schemars(extend("x-takes" = "strings by name", "x-python" = "Mapping[str, str] | None"))]
    pub tags: BTreeMap<String, String>,
    /// The folder of the project, which must exist. Relative paths of assets, and source positions, are relative to it.
    #[schemars(extend("x-takes" = "the path of a folder", "x-python" = "str | os.PathLike[str] | None"))]
    pub root_directory: Option<PathBuf>,
    /// The options of the project's runtime by name (`virtualenv`, `typescript`…), each any JSON. Plugins find them in their
    /// environment, as `PULUMI_RUNTIME_NAME`: texts as they are, other values as JSON. Language runtimes receive the
    /// values.
    #[schemars(extend("x-takes" = "JSON values by name", "x-python" = "Mapping[str, Any] | None"))]
    pub runtime_options: BTreeMap<String, Value>,
    /// Whether a stack that does not exist is created. Left out, it is created when there is a program; without one, its
    /// first update or import creates it, and operations that only read it fail with `not_found` until then.
    #[schemars(extend("x-argument" = true))]
    pub create: Option<bool>,
    /// The state, as a deployment document. The stack lives in memory then, apart from the engine's store, which may have
    /// another stack of the same name: [`Self::create`] has no effect, there is no history, and the deployment of a result
    /// is all that remains of an operation, also of a failed or cancelled one. Later operations of the same stack continue
    /// from there. `{}` is a new stack. A malformed document fails with `state`, a wrong passphrase for its secrets with
    /// `decrypt`.
    #[schemars(
        with = "Option<Map<String, Value>>",
        extend(
            "x-raw" = true,
            "x-secret" = true,
            "x-python" = "Mapping[str, Any] | bytes | str | None",
            "x-typescript" = "string | object"
        )
    )]
    pub deployment: Option<String>,
    /// Receives every change of the state before the engine continues; what it raises refuses the change.
    #[schemars(extend(
        "x-in" = ["python", "node"],
        "x-python" = "Journal | None",
        "x-typescript" = "JournalReceiver"
    ))]
    journal: Beside,
    /// Encrypts the stack's secrets, in place of the engine's passphrase. A wrong one fails with `decrypt` when the stack has
    /// secrets.
    #[schemars(extend("x-python" = "str | None", "x-secret" = true))]
    pub passphrase: Option<String>,
    /// The host's own encryption of the stack's secrets, or a key service, in place of the engine's.
    #[schemars(extend("x-python" = "Secrets | KeyService | None", "x-typescript" = "Secrets | KeyService"))]
    pub secrets: Option<SecretsDocument>,
    /// The passphrases of other stacks by their names (`project/stack`), for references to them. A stack that is not named
    /// here is opened as this one is.
    #[schemars(extend(
        "x-takes" = "strings by the names of stacks",
        "x-python" = "Mapping[str, str] | None",
        "x-secret" = true
    ))]
    pub reference_passphrases: BTreeMap<String, String>,
    /// The address of a language runtime that runs the program, in place of one of the host.
    #[schemars(extend("x-in" = ["c"]))]
    pub language_runtime: Option<String>,
}

/// The folder of a project, and what its program gets.
#[derive(Clone, Debug, Default)]
pub struct ProjectFolder {
    /// The folder.
    pub folder: PathBuf,
    /// Variables of the environment of its program.
    pub environment: BTreeMap<String, String>,
}

impl From<PathBuf> for ProjectFolder {
    fn from(folder: PathBuf) -> Self {
        Self {
            folder,
            environment: BTreeMap::new(),
        }
    }
}

/// A member that a binding hands over beside the document.
#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[schemars(inline)]
struct Beside;

/// Shows no values: they can be secret.
impl fmt::Debug for StackDocument {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("StackDocument").finish_non_exhaustive()
    }
}

impl StackDocument {
    /// Takes the folder of the project; `None` for a stack without one.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] for the environment of a program without a folder.
    pub fn take_project(&mut self, language: Language) -> Result<Option<ProjectFolder>> {
        let environment = std::mem::take(&mut self.program_environment);
        match self.project.take() {
            Some(folder) => Ok(Some(ProjectFolder { folder, environment })),
            None if environment.is_empty() => Ok(None),
            None => {
                let option = language.member("programEnvironment");
                Err(Error::invalid(format!(
                    "{option} is that of a program in the folder of a project, and there is no project"
                )))
            }
        }
    }

    /// Returns the settings of the stack of this name. What a binding hands over beside the document is not part of them.
    ///
    /// `opening` is that of the function that was called; without one, [`Self::create`] decides.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] for a value that no stack can have, with the name of the setting.
    pub fn into_settings(
        self,
        name: &str,
        opening: Option<Opening>,
        has_program: bool,
        engine: &Engine,
        language: Language,
    ) -> Result<StackSettings> {
        if opening.is_some() && self.create.is_some() {
            let function = match language {
                Language::C => "sw_stack_open",
                _ => "stack()",
            };
            return Err(Error::invalid(format!("create is an option of {function} alone")));
        }
        if let Some(directory) = self
            .root_directory
            .as_ref()
            .filter(|directory| !directory.is_dir())
        {
            let option = language.member("rootDirectory");
            return Err(Error::invalid(format!(
                "{option} takes the path of a folder that exists, and {directory:?} is none"
            )));
        }
        if self
            .runtime_options
            .values()
            .any(|value| depth(value) > MAX_OPTION_DEPTH)
        {
            let option = language.member("runtimeOptions");
            return Err(Error::invalid(format!(
                "{option}: a value nests deeper than {MAX_OPTION_DEPTH} levels"
            )));
        }
        let has_program = has_program || self.language_runtime.is_some();
        let default = StackSettings::default();
        let passphrases = self.reference_passphrases.into_iter();
        let references = passphrases.map(|(stack, passphrase)| Ok((stack, engine.passphrase(passphrase)?)));
        Ok(StackSettings {
            program: self
                .language_runtime
                .map(|address| Arc::new(LanguageRuntimeProgram::new(address)) as _),
            config: config(self.config, name)?,
            config_source: None,
            encryption_salt: self.encryption_salt,
            key_service: None,
            root_directory: self.root_directory,
            runtime_options: self.runtime_options,
            journal: None,
            opening: opening.unwrap_or_else(|| Opening::of_create(self.create, has_program)),
            deployment: self.deployment.map(Into::into),
            organization: self.organization.unwrap_or(default.organization),
            tags: self.tags,
            environment: default.environment,
            secrets: self
                .passphrase
                .map(|passphrase| engine.passphrase(passphrase))
                .transpose()?,
            reference_secrets: references.collect::<Result<_>>()?,
        })
    }
}

/// Reads configuration by key; a key without a namespace is of the stack's project.
fn config(entries: BTreeMap<String, Value>, stack: &str) -> Result<Config> {
    let project = stack.rsplit('/').nth(1).unwrap_or_default();
    let entry = |(key, value): (String, Value)| {
        let key = ConfigKey::parse_in_project(&key, project)?;
        let value = config_value(value).map_err(|error| {
            let message = format!("configuration key {key}: {}", error.message());
            Error::new(error.kind(), message)
        })?;
        Ok((key, value))
    };
    entries.into_iter().map(entry).collect()
}

/// Reads the value of a configuration key from JSON. An object with `value` and `secret`, and nothing else, is a value with
/// its secrecy; secrets inside structures are marked as those of property values are.
///
/// # Errors
/// [`crate::ErrorKind::InvalidInput`], without the value in its message.
pub fn config_value(value: Value) -> Result<ConfigValue> {
    let mut entries = match value {
        Value::Object(entries)
            if entries.len() == 2 && entries.contains_key("value") && entries.contains_key("secret") =>
        {
            entries
        }
        other => return ConfigValue::from_plain_json(other),
    };
    let content = entries.remove("value").unwrap_or_default();
    match entries.get("secret") {
        Some(Value::Bool(true)) => ConfigValue::secret_from_plain_json(content),
        Some(Value::Bool(false)) => ConfigValue::from_plain_json(content),
        _ => Err(Error::invalid(
            "\"secret\", beside \"value\", is neither true nor false",
        )),
    }
}

/// Returns how deep a value nests.
fn depth(value: &Value) -> usize {
    let inner = match value {
        Value::Array(items) => items.iter().map(depth).max(),
        Value::Object(members) => members.values().map(depth).max(),
        _ => return 0,
    };
    1 + inner.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(values: &str) -> Result<Config> {
        let document = format!(r#"{{"config": {values}}}"#);
        let document: StackDocument = super::super::read(document.as_bytes(), Language::C, "a stack")?;
        config(document.config, "shop/dev")
    }

    fn value(json: &str) -> ConfigValue {
        let config = read(&format!(r#"{{"key": {json}}}"#)).unwrap();
        config
            .get(&ConfigKey::parse("shop:key").unwrap())
            .unwrap()
            .clone()
    }

    fn refusal(json: &str, language: Language) -> String {
        let error = super::super::read::<StackDocument>(json.as_bytes(), language, "a stack").unwrap_err();
        error.message().to_owned()
    }

    #[test]
    fn any_json_can_be_configured_with_secrets_inside() {
        let secret =
            r#"{"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "value": "k"}"#;
        assert_eq!(value("\"text\""), ConfigValue::plain("text"));
        assert_eq!(
            value(r#"{"value": "k", "secret": true}"#),
            ConfigValue::secret("k")
        );
        assert_eq!(
            value(r#"{"value": "k", "secret": false}"#),
            ConfigValue::plain("k")
        );
        assert_eq!(value(secret), ConfigValue::secret("k"));
        assert_eq!(
            value(r#"{"value": {"a": 1}, "secret": true}"#),
            ConfigValue::secret(r#"{"a":1}"#)
        );
        let ConfigValue::Object(entries) =
            value(&format!(r#"{{"ports": [80], "inner": {{"key": {secret}}}}}"#))
        else {
            panic!("an object")
        };
        assert_eq!(
            entries["ports"],
            ConfigValue::List(vec![ConfigValue::Integer(80)])
        );
        let ConfigValue::Object(inner) = &entries["inner"] else {
            panic!("an object")
        };
        assert_eq!(inner["key"], ConfigValue::secret("k"));
    }

    #[test]
    fn an_object_with_other_fields_is_no_mark() {
        for object in [
            r#"{"value": "k"}"#,
            r#"{"secret": true}"#,
            r#"{"secret": true, "other": 1}"#,
            r#"{"value": {"value": "k", "secret": true}, "secret": false}"#,
        ] {
            assert!(matches!(value(object), ConfigValue::Object(_)), "{object}");
        }
    }

    #[test]
    fn a_wrong_value_is_named_by_its_key_and_not_shown() {
        for wrong in [
            r#"{"value": "hunter2", "secret": "yes"}"#,
            r#"[{"4dabf18193072939515e22adb298388d": "?", "value": "hunter2"}]"#,
        ] {
            let error = read(&format!(r#"{{"a": "b", "key": {wrong}}}"#)).unwrap_err();
            let message = error.message();
            assert!(message.starts_with("configuration key shop:key: "), "{message}");
            assert!(!message.contains("hunter2"), "{message}");
        }
    }

    #[test]
    fn a_language_has_its_own_settings_and_no_others() {
        assert_eq!(
            refusal(r#"{"jurnal": 1}"#, Language::Node),
            "unknown option \"jurnal\" of a stack; did you mean \"journal\"?"
        );
        assert_eq!(
            refusal(r#"{"progam": 1}"#, Language::Python),
            "unknown option 'progam' of a stack; did you mean 'program'?"
        );
        assert!(!refusal(r#"{"languageRuntime": "a"}"#, Language::Node).contains("did you mean"));
        let names = refusal(r#"{"x": 1}"#, Language::C);
        assert!(
            names.contains("languageRuntime") && !names.contains("journal"),
            "{names}"
        );
    }

    #[test]
    fn a_deployment_is_kept_as_it_was_written() {
        let json = br#"{"deployment": {"version": 3.0, "deployment": {"a": 1e2}}, "create": null}"#;
        let document: StackDocument = super::super::read(json, Language::C, "a stack").unwrap();
        assert_eq!(
            document.deployment.as_deref(),
            Some(r#"{"version": 3.0, "deployment": {"a": 1e2}}"#)
        );
        let document: StackDocument =
            super::super::read(br#"{"deployment": null}"#, Language::C, "a stack").unwrap();
        assert_eq!(document.deployment, None);
    }
}
