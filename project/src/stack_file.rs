//! Stack files, `Pulumi.<stack>.yaml`: the configuration of one stack, and the settings of its secrets manager.

use stackwright::{
    Error, Result,
    config::{Config, ConfigKey},
    secrets::{KeyService, kind},
};

use crate::{
    config::{AsYaml as _, keep_form, of_entry},
    yaml::{Format, Mapping, Node},
};

/// The text of a file, and the mapping that it was parsed as.
#[derive(Clone, Debug, PartialEq)]
struct Source {
    text: String,
    written: Node,
}

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
    /// The project, to which keys without a namespace belong.
    project: Option<String>,
    /// What it was read from, whose form and comments are kept.
    source: Option<Source>,
    format: Format,
}

impl StackFile {
    /// What opens the secrets of the file: the manager, its encrypted key, and the salt.
    pub(crate) fn encryption(&self) -> [Option<String>; 3] {
        [&self.secrets_provider, &self.encrypted_key, &self.encryption_salt].map(Clone::clone)
    }

    /// Parses YAML or JSON text; an empty one is an empty stack file.
    ///
    /// # Errors
    /// [`stackwright::ErrorKind::InvalidInput`] that names the fault and its position.
    pub fn parse(text: &str) -> Result<Self> {
        Self::parse_as(text, Format::Yaml, None)
    }

    /// Parses the text of a stack of `project`, whose namespace keys can leave out; [`Self::to_text`] writes `format`.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn parse_as(text: &str, format: Format, project: Option<&str>) -> Result<Self> {
        let parsed = Node::parse(text)?;
        let source = (!text.is_empty()).then(|| Source {
            text: text.to_owned(),
            written: parsed.clone(),
        });
        let Node::Mapping(entries) = parsed else {
            return Err(Error::invalid("a stack file must be a mapping"));
        };
        let mut file = Self {
            source,
            project: project.map(str::to_owned),
            format,
            ..Self::default()
        };
        for (name, value) in entries {
            match name.to_ascii_lowercase().as_str() {
                "secretsprovider" => file.secrets_provider = text_of(&name, &value)?,
                "encryptedkey" => file.encrypted_key = text_of(&name, &value)?,
                "encryptionsalt" => file.encryption_salt = text_of(&name, &value)?,
                "config" => file.config = file.read_config(&value)?,
                "environment" => file.environment = Some(value),
                _ => {
                    file.extra.insert(name, value);
                }
            }
        }
        Ok(file)
    }

    fn read_config(&self, node: &Node) -> Result<Config> {
        if node.is_null() {
            return Ok(Config::new());
        }
        let Some(entries) = node.as_mapping() else {
            return Err(Error::invalid("`config` must be a mapping"));
        };
        let mut config = Config::new();
        for (name, node) in entries {
            let key = self.key(name)?;
            if config.insert(key.clone(), of_entry(name, node)?).is_some() {
                return Err(Error::invalid(format!("configuration key {key} is set twice")));
            }
        }
        Ok(config)
    }

    fn key(&self, name: &str) -> Result<ConfigKey> {
        match &self.project {
            Some(project) => ConfigKey::parse_in_project(name, project),
            None => ConfigKey::parse(name),
        }
    }

    /// Writes the file in the form in which it was read, or in the reference engine's form.
    ///
    /// # Errors
    /// [`stackwright::ErrorKind::Secrets`] when a secret of the configuration is not encrypted yet;
    /// [`stackwright::ErrorKind::InvalidInput`] when the text has a form in which the change cannot be made.
    pub fn to_text(&self) -> Result<String> {
        let Some(source) = &self.source else {
            let node = Node::Mapping(self.entries(&Mapping::new())?);
            return Ok(match self.format {
                Format::Yaml => node.to_yaml(),
                Format::Json => node.to_json(),
            });
        };
        let Source { text, written } = source;
        let entries = written.as_mapping().map(|written| self.entries(written));
        let entries = entries.ok_or_else(|| Error::internal("a stack file is no mapping"))??;
        written.edit_parsed(text, entries, self.format)
    }

    /// Returns the entries in the order of those that are `written`; equal ones keep their form.
    fn entries(&self, written: &Mapping) -> Result<Mapping> {
        let mut entries = Mapping::new();
        for (name, node) in written {
            let kept = match name.to_ascii_lowercase().as_str() {
                "secretsprovider" => setting(&self.secrets_provider, node)?,
                "encryptedkey" => setting(&self.encrypted_key, node)?,
                "encryptionsalt" => setting(&self.encryption_salt, node)?,
                "environment" => self.environment.clone(),
                "config" => Some(self.written_config(node)?),
                _ => self.extra.get(name).cloned(),
            };
            if let Some(node) = kept {
                entries.insert(name.clone(), node);
            }
        }
        let is_written = |name: &str| written.keys().any(|written| written.eq_ignore_ascii_case(name));
        for (name, value) in [
            ("secretsprovider", &self.secrets_provider),
            ("encryptedkey", &self.encrypted_key),
            ("encryptionsalt", &self.encryption_salt),
        ] {
            if let Some(value) = value
                && !is_written(name)
            {
                entries.insert(name.to_owned(), Node::string(value.as_str()));
            }
        }
        if let Some(environment) = &self.environment
            && !is_written("environment")
        {
            entries.insert("environment".to_owned(), environment.clone());
        }
        if !self.config.is_empty() && !is_written("config") {
            entries.insert("config".to_owned(), self.config.to_yaml()?);
        }
        for (name, node) in &self.extra {
            if !entries.contains_key(name) {
                entries.insert(name.clone(), node.clone());
            }
        }
        Ok(entries)
    }

    /// Returns the configuration with the names and the form of what is written.
    fn written_config(&self, node: &Node) -> Result<Node> {
        let empty = Mapping::new();
        let written = node.as_mapping().unwrap_or(&empty);
        if self.config.is_empty() && written.is_empty() {
            return Ok(node.clone());
        }
        let mut entries = Mapping::new();
        let mut rest = self.config.clone();
        for (name, before) in written {
            let key = self.key(name)?;
            let Some(value) = rest.remove(&key) else { continue };
            let old = of_entry(name, before)?;
            let node = keep_form(before, &old, &value).map_err(|error| {
                Error::new(
                    error.kind(),
                    format!("configuration key {key}: {}", error.message()),
                )
            })?;
            entries.insert(name.clone(), node);
        }
        if let Node::Mapping(added) = rest.to_yaml()? {
            entries.extend(added);
        }
        Ok(Node::Mapping(entries))
    }

    /// Returns the key service that encrypts the configuration; `None` for a file that names none, or has the salt of a passphrase.
    #[must_use]
    pub fn key_service(&self) -> Option<KeyService> {
        let url = self.secrets_provider.as_ref()?;
        let names_service = self.encryption_salt.is_none() && url.contains("://");
        names_service.then(|| KeyService {
            url: url.clone(),
            encrypted_key: self.encrypted_key.clone().filter(|key| !key.is_empty()),
        })
    }

    /// Names the secrets manager of a key service, and removes the salt of a passphrase.
    pub(crate) fn name_key_service(&mut self, service: KeyService) {
        self.secrets_provider = Some(service.url);
        self.encrypted_key = service.encrypted_key;
        self.encryption_salt = None;
    }

    /// Removes the key service.
    pub(crate) fn drop_key_service(&mut self) {
        if self.key_service().is_some() {
            (self.secrets_provider, self.encrypted_key) = (None, None);
        }
    }

    /// Names the secrets manager of a passphrase with this salt, or with `None` one of the host.
    pub(crate) fn name_passphrase(&mut self, salt: Option<String>) {
        let is_passphrase = |named: &String| kind::is_passphrase(named);
        if salt.is_some() {
            self.encrypted_key = None;
            self.secrets_provider = self
                .secrets_provider
                .take()
                .map(|named| match is_passphrase(&named) {
                    true => named,
                    false => kind::PASSPHRASE.to_owned(),
                });
        } else {
            self.secrets_provider = self.secrets_provider.take().filter(|named| !is_passphrase(named));
        }
        self.encryption_salt = salt;
    }

    /// Returns whether the file has no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let settings = [&self.secrets_provider, &self.encrypted_key, &self.encryption_salt];
        let has_setting = settings.into_iter().any(Option::is_some) || self.environment.is_some();
        !has_setting && self.config.is_empty() && self.extra.is_empty()
    }

    /// Returns the file name for a stack, whose name may be qualified with an organization and a project.
    #[must_use]
    pub fn name_for(stack: &str) -> String {
        let name = stack.rsplit('/').next().unwrap_or(stack);
        format!("Pulumi.{name}.yaml")
    }
}

/// Returns the node of a setting; an unchanged one keeps its form.
fn setting(value: &Option<String>, before: &Node) -> Result<Option<Node>> {
    Ok(match value {
        value if text_of("", before)? == *value => Some(before.clone()),
        Some(value) => Some(Node::string(value.as_str())),
        None => None,
    })
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
        assert_eq!(file.to_text().unwrap(), text);
    }

    #[test]
    fn a_change_keeps_the_rest_of_the_file() {
        let text = "# mine\nconfig:\n  a:n: 1 # one\n  a:m: 2\nencryptionsalt: 'v1:x'\n";
        let mut file = StackFile::parse(text).unwrap();
        assert_eq!(file.to_text().unwrap(), text);
        file.config
            .set_path("a:m", "a", stackwright::config::ConfigValue::plain("3"))
            .unwrap();
        assert_eq!(
            file.to_text().unwrap(),
            "# mine\nconfig:\n  a:n: 1 # one\n  a:m: \"3\"\nencryptionsalt: 'v1:x'\n"
        );
    }

    #[test]
    fn unknown_entries_are_kept() {
        let text = "environment:\n  - base\nconfig:\n  a:b: \"1\"\nmine:\n  x: 1.50\n";
        assert_eq!(StackFile::parse(text).unwrap().to_text().unwrap(), text);
        assert_eq!(StackFile::parse("").unwrap(), StackFile::default());
        assert!(StackFile::parse("- a\n").is_err());
    }
}
