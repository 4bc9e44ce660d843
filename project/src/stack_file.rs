//! Stack files, `Pulumi.<stack>.yaml`: the configuration of one stack, and the settings of its secrets manager.

use stackwright::{Error, Result, config::Config};

use crate::{
    config::{AsYaml as _, of_entry},
    yaml::{Mapping, Node},
};

/// The content of a stack file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StackFile {
    /// The URL of a key service, or `passphrase`, or `default`.
    pub secrets_provider: Option<String>,
    /// The data key, encrypted by the key service.
    pub encrypted_key: Option<String>,
    /// The passphrase manager's salt with its check value.
    pub encryption_salt: Option<String>,
    /// The configuration.
    pub config: Config,
    /// Imports of environments; kept unchanged.
    pub environment: Option<Node>,
    /// All other entries; kept unchanged.
    pub extra: Mapping,
    /// The text from which it was read, whose form and comments are kept.
    source: Option<String>,
}

impl StackFile {
    /// Parses YAML or JSON text; an empty one is an empty stack file.
    ///
    /// # Errors
    /// [`stackwright::ErrorKind::InvalidInput`] that names the fault and its position.
    pub fn parse(text: &str) -> Result<Self> {
        let Node::Mapping(entries) = Node::parse(text)? else {
            return Err(Error::invalid("a stack file must be a mapping"));
        };
        let mut file = Self {
            source: (!text.is_empty()).then(|| text.to_owned()),
            ..Self::default()
        };
        for (name, value) in entries {
            match name.to_ascii_lowercase().as_str() {
                "secretsprovider" => file.secrets_provider = text_of(&name, &value)?,
                "encryptedkey" => file.encrypted_key = text_of(&name, &value)?,
                "encryptionsalt" => file.encryption_salt = text_of(&name, &value)?,
                "config" => file.config = Config::from_yaml(&value)?,
                "environment" => file.environment = Some(value),
                _ => {
                    file.extra.insert(name, value);
                }
            }
        }
        Ok(file)
    }

    /// Writes the file in the form in which it was read, or in the reference engine's form.
    ///
    /// # Errors
    /// [`stackwright::ErrorKind::Secrets`] when a secret of the configuration is not encrypted yet.
    pub fn to_yaml(&self) -> Result<String> {
        let mut entries = Mapping::new();
        for (name, value) in [
            ("secretsprovider", &self.secrets_provider),
            ("encryptedkey", &self.encrypted_key),
            ("encryptionsalt", &self.encryption_salt),
        ] {
            if let Some(value) = value {
                entries.insert(name.to_owned(), Node::string(value.as_str()));
            }
        }
        if let Some(environment) = &self.environment {
            entries.insert("environment".to_owned(), environment.clone());
        }
        if !self.config.is_empty() {
            entries.insert("config".to_owned(), self.config.to_yaml()?);
        }
        entries.extend(self.extra.clone());
        Ok(match &self.source {
            Some(source) => {
                keep_form(source, &mut entries);
                Node::edit(source, &entries)
            }
            None => Node::Mapping(entries).to_yaml(),
        })
    }

    /// Returns the file name for a stack, whose name may be qualified with an organization and a project.
    #[must_use]
    pub fn name_for(stack: &str) -> String {
        let name = stack.rsplit('/').next().unwrap_or(stack);
        format!("Pulumi.{name}.yaml")
    }
}

/// Keeps the source's form of values that are equal to those in the source: `1` does not become `"1"`.
fn keep_form(source: &str, entries: &mut Mapping) {
    let Ok(Node::Mapping(written)) = Node::parse(source) else {
        return;
    };
    for (name, value) in entries {
        let Some(before) = written.get(name) else {
            continue;
        };
        match (before, &mut *value) {
            (Node::Scalar(before_text), Node::Scalar(text)) if before_text.text() == text.text() => {
                *value = before.clone();
            }
            (Node::Mapping(before), Node::Mapping(config)) if name == "config" => {
                for (key, value) in config {
                    let Some(before) = before.get(key) else { continue };
                    let meaning = |node: &Node| of_entry(key, node).ok();
                    if meaning(before).is_some_and(|before| Some(before) == meaning(value)) {
                        *value = before.clone();
                    }
                }
            }
            _ => {}
        }
    }
}

/// Reads the text of an entry; null is none.
pub(super) fn text_of(name: &str, value: &Node) -> Result<Option<String>> {
    if value.is_null() {
        return Ok(None);
    }
    match value.as_text() {
        Some(text) => Ok(Some(text.to_owned())),
        None => Err(Error::invalid(format!("`{name}` must be a text"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_file_of_the_reference_engine_is_written_with_the_same_bytes() {
        let text = include_str!("../../core/tests/fixtures/states/Pulumi.dev.yaml");
        let file = StackFile::parse(text).unwrap();
        assert!(
            file.encryption_salt
                .as_ref()
                .unwrap()
                .starts_with("v1:T9FaSItA8xQ=:")
        );
        assert_eq!(file.config.len(), 3);
        assert_eq!(file.to_yaml().unwrap(), text);
    }

    #[test]
    fn a_change_keeps_the_rest_of_the_file() {
        let text = "# mine\nconfig:\n  a:n: 1 # one\n  a:m: 2\nencryptionsalt: 'v1:x'\n";
        let mut file = StackFile::parse(text).unwrap();
        assert_eq!(file.to_yaml().unwrap(), text);
        file.config
            .set_path("a:m", "a", stackwright::config::ConfigValue::plain("3"))
            .unwrap();
        assert_eq!(
            file.to_yaml().unwrap(),
            "# mine\nconfig:\n  a:n: 1 # one\n  a:m: \"3\"\nencryptionsalt: 'v1:x'\n"
        );
    }

    #[test]
    fn unknown_entries_are_kept() {
        let text = "environment:\n  - base\nconfig:\n  a:b: \"1\"\nmine:\n  x: 1.50\n";
        assert_eq!(StackFile::parse(text).unwrap().to_yaml().unwrap(), text);
        assert_eq!(StackFile::parse("").unwrap(), StackFile::default());
        assert!(StackFile::parse("- a\n").is_err());
    }
}
