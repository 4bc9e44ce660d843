//! The JSON of a stack's settings.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use stackwright::{
    Error, Opening, StackSettings,
    binding::SecretsDocument,
    config::{Config, ConfigKey, ConfigValue},
    program::{LanguageRuntimeProgram, Program},
    secrets::SecretsProvider,
};

use crate::failure::{Failure, Outcome};

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Settings {
    config: BTreeMap<String, Value>,
    organization: Option<String>,
    tags: BTreeMap<String, String>,
    encryption_salt: Option<String>,
    passphrase: Option<String>,
    pub(super) secrets: Option<SecretsDocument>,
    reference_passphrases: BTreeMap<String, String>,
    root_directory: Option<PathBuf>,
    runtime_options: BTreeMap<String, Value>,
    create: Option<bool>,
    deployment: Option<Box<RawValue>>,
    language_runtime: Option<String>,
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

    /// Gives them to the stack of this name; `open` makes what a passphrase opens.
    ///
    /// `opening` is that of the function that was called; without one the setting `create` decides.
    pub(super) fn for_stack(
        self,
        name: &str,
        has_program: bool,
        opening: Option<Opening>,
        open: impl Fn(String) -> stackwright::Result<Arc<dyn SecretsProvider>>,
    ) -> Outcome<StackSettings> {
        let has_program = has_program || self.names_a_program();
        if opening.is_some() && self.create.is_some() {
            let message = "the setting create is for sw_stack_open alone";
            return Err(Failure::invalid(message));
        }
        let remote = self.language_runtime.map(LanguageRuntimeProgram::new);
        let default = StackSettings::default();
        let passphrases = self.reference_passphrases.into_iter();
        let references = passphrases.map(|(stack, passphrase)| Ok((stack, open(passphrase)?)));
        let reference_secrets = references.collect::<stackwright::Result<_>>()?;
        Ok(StackSettings {
            organization: self.organization.unwrap_or(default.organization),
            tags: self.tags,
            program: remote.map(|remote| Arc::new(remote) as Arc<dyn Program>),
            config: config(self.config, name)?,
            encryption_salt: self.encryption_salt,
            root_directory: self.root_directory,
            runtime_options: self.runtime_options,
            opening: opening.unwrap_or_else(|| Opening::of_create(self.create, has_program)),
            deployment: self
                .deployment
                .map(|document| String::from(Box::<str>::from(document)).into()),
            journal: None,
            secrets: self.passphrase.map(&open).transpose()?,
            reference_secrets,
        })
    }
}

fn config(entries: BTreeMap<String, Value>, stack: &str) -> Outcome<Config> {
    let project = stack.rsplit('/').nth(1).unwrap_or_default();
    let entry = |(key, value): (String, Value)| {
        let key = ConfigKey::parse_in_project(&key, project)?;
        let value = config_value(value).map_err(|error| {
            Error::new(
                error.kind(),
                format!("configuration key {key}: {}", error.message()),
            )
        })?;
        Ok((key, value))
    };
    entries.into_iter().map(entry).collect()
}

/// Reads the value of a key. An object with `value` and `secret`, and nothing else, is a value with its secrecy.
fn config_value(value: Value) -> stackwright::Result<ConfigValue> {
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

#[cfg(test)]
mod tests {
    use stackwright::secrets::Base64Provider;

    use super::*;

    fn read(config: &str) -> Result<Config, String> {
        let json = format!(r#"{{"config": {config}}}"#);
        let settings = Settings::from_json(json.as_bytes())
            .and_then(|it| it.for_stack("shop/dev", false, None, |_| Ok(Arc::new(Base64Provider))));
        match settings {
            Ok(settings) => Ok(settings.config),
            Err(Failure::Engine(error)) => Err(error.message().to_owned()),
            Err(Failure::Misuse(message)) => Err(message),
        }
    }

    fn value(json: &str) -> ConfigValue {
        let config = read(&format!(r#"{{"key": {json}}}"#)).unwrap();
        let key = ConfigKey::parse("shop:key").unwrap();
        config.get(&key).unwrap().clone()
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
    fn what_is_wrong_is_said_with_the_key_and_without_the_value() {
        for wrong in [
            r#"{"value": "hunter2", "secret": "yes"}"#,
            r#"[{"4dabf18193072939515e22adb298388d": "?", "value": "hunter2"}]"#,
        ] {
            let message = read(&format!(r#"{{"a": "b", "key": {wrong}}}"#)).unwrap_err();
            assert!(message.starts_with("configuration key shop:key: "), "{message}");
            assert!(!message.contains("hunter2"), "{message}");
        }
    }
}
