//! The settings with which a host opens a stack.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use bytes::Bytes;
use serde_json::Value;

use crate::{
    config::{Config, ConfigSource},
    error::{Error, Result},
    operation::Opening,
    program::Program,
    secrets::{KeyService, SecretsProvider},
    state::journal::JournalReceiver,
    store::{ORGANIZATION, StackName},
    urn::is_plain_name,
};

/// Maximum length of a tag's name, in bytes.
const MAX_TAG_NAME: usize = 40;
/// Maximum length of a tag's value, in characters.
const MAX_TAG_VALUE: usize = 256;

/// The settings with which a host opens a stack.
#[derive(Clone)]
pub struct StackSettings {
    /// The program; required for previews and updates.
    pub program: Option<Arc<dyn Program>>,
    /// The configuration.
    pub config: Config,
    /// Supplies the configuration of each operation, for a host that keeps it elsewhere. It gets [`Self::config`] as the
    /// values that the host sets beside it.
    pub config_source: Option<Arc<dyn ConfigSource>>,
    /// The salt of encrypted configuration: the `encryptionsalt` of the stack's configuration file. Requires an engine
    /// with the passphrase. A stack without a state encrypts its own secrets with it as well. Without it, configuration
    /// is decrypted with the secrets manager of the state.
    pub encryption_salt: Option<String>,
    /// The key service of encrypted configuration: `secretsprovider` and `encryptedkey` of the stack's configuration file. Requires a
    /// secrets provider that knows key services, see [`SecretsProvider::for_key_service`]; others ignore it. A stack without a state
    /// encrypts its own secrets with this data key as well.
    pub key_service: Option<KeyService>,
    /// The folder of the project: the base of asset paths and source positions.
    pub root_directory: Option<PathBuf>,
    /// The options of the project's runtime by name (`virtualenv`, `typescript`…), each any JSON. Plugins receive them
    /// as environment variables `PULUMI_RUNTIME_<NAME>`: texts unchanged, other values as JSON. Language runtimes
    /// receive the values.
    pub runtime_options: BTreeMap<String, Value>,
    /// Receives every journal entry before the engine continues; an error ends the operation.
    pub journal: Option<Arc<dyn JournalReceiver>>,
    /// Whether the stack must exist, must not exist, or is created when absent.
    pub opening: Opening,
    /// The state, as a deployment document (`{"version", "features"?, "deployment"}`). The stack is then kept in
    /// memory, separate from the engine's store, which may contain a stack of the same name: [`Self::opening`] is
    /// ignored, there is no history, and [`crate::operation::OperationResult::deployment`] is the only result of an
    /// operation that is kept. Later operations of the same [`crate::Stack`] continue from it. A document without a
    /// deployment (`{}`) is a new stack.
    pub deployment: Option<Bytes>,
    /// The organization that programs receive; the default is `organization`, as in file stores. It is no part of the
    /// stack's name.
    pub organization: String,
    /// Tags of the stack by name, set by the host. Programs do not receive them.
    pub tags: BTreeMap<String, String>,
    /// Facts about the environment (`exec.kind`, a commit of version control), which the history keeps with each operation.
    pub environment: BTreeMap<String, String>,
    /// Encrypts the stack's secrets instead of the engine's provider. Also the default for the stacks that it refers
    /// to.
    pub secrets: Option<Arc<dyn SecretsProvider>>,
    /// The secrets providers of other stacks that this one refers to, by their names (`project/stack`). The default is
    /// the stack's own.
    pub reference_secrets: BTreeMap<String, Arc<dyn SecretsProvider>>,
}

impl Default for StackSettings {
    fn default() -> Self {
        Self {
            program: None,
            config: Config::default(),
            config_source: None,
            encryption_salt: None,
            key_service: None,
            root_directory: None,
            runtime_options: BTreeMap::new(),
            journal: None,
            opening: Opening::default(),
            deployment: None,
            organization: ORGANIZATION.to_owned(),
            tags: BTreeMap::new(),
            environment: BTreeMap::new(),
            secrets: None,
            reference_secrets: BTreeMap::new(),
        }
    }
}

impl StackSettings {
    /// Parses the options of the project's runtime from a JSON object.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] for text that is no JSON object.
    pub fn runtime_options_from_json(text: &str) -> Result<BTreeMap<String, Value>> {
        serde_json::from_str(text)
            .map_err(|error| Error::invalid(format!("malformed runtime options: {error}")))
    }

    /// Returns the settings with another `opening`.
    #[must_use]
    pub(super) fn opened(self, opening: Opening) -> Self {
        Self { opening, ..self }
    }

    /// Validates the organization, the tags and the runtime options.
    pub(super) fn check(&self) -> Result<()> {
        if !is_plain_name(&self.organization) {
            return Err(Error::invalid(format!(
                "the organization {:?} may only contain alphanumeric, hyphens, underscores, or periods",
                self.organization
            )));
        }
        for name in self.reference_secrets.keys() {
            StackName::parse(name)?;
        }
        self.runtime_options
            .iter()
            .try_for_each(|(name, value)| check_runtime_option(name, value))?;
        self.tags
            .iter()
            .try_for_each(|(name, value)| check_tag(name, value))
    }
}

/// Refuses options that cannot be environment variables: no plugin could be started with them.
fn check_runtime_option(name: &str, value: &Value) -> Result<()> {
    // The JSON of other values contains no NUL.
    let has_nul = value.as_str().is_some_and(|text| text.contains('\0'));
    if name.is_empty() || name.contains(['=', '\0']) || has_nul {
        return Err(Error::invalid(format!(
            "the runtime option {name:?} can be no variable of an environment"
        )));
    }
    Ok(())
}

/// The reference engine's rules for tags that a stack is created with. One that is set later can be any.
fn check_tag(name: &str, value: &str) -> Result<()> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
    if name.is_empty() || name.len() > MAX_TAG_NAME || !name.bytes().all(is_plain) {
        return Err(Error::invalid(format!(
            "the name of the tag {name:?} must be 1 to {MAX_TAG_NAME} alphanumerics, hyphens, underscores, periods or colons"
        )));
    }
    if value.chars().count() > MAX_TAG_VALUE {
        return Err(Error::invalid(format!(
            "the value of the tag {name:?} is longer than {MAX_TAG_VALUE} characters"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(organization: &str, tag: &str, value: &str) -> Option<String> {
        let settings = StackSettings {
            organization: organization.to_owned(),
            tags: BTreeMap::from([(tag.to_owned(), value.to_owned())]),
            ..StackSettings::default()
        };
        settings.check().err().map(|error| error.message().to_owned())
    }

    #[test]
    fn runtime_options_that_can_be_no_variables_are_refused_by_name() {
        let settings = |name: &str, value: &str| StackSettings {
            runtime_options: BTreeMap::from([(name.to_owned(), value.into())]),
            ..StackSettings::default()
        };
        assert!(settings("virtualenv", "a=b").check().is_ok());
        let nested = serde_json::json!({ "args": ["a\0"] });
        let nested = StackSettings {
            runtime_options: BTreeMap::from([("build".to_owned(), nested)]),
            ..StackSettings::default()
        };
        assert!(nested.check().is_ok());
        for (name, value) in [("", "a"), ("a=b", ""), ("a\0", ""), ("a", "b\0")] {
            let error = settings(name, value).check().unwrap_err();
            let named = format!("runtime option {name:?} can be no variable");
            assert!(error.message().contains(&named), "{}", error.message());
        }
    }

    #[test]
    fn invalid_organizations_and_tags_are_refused_by_name() {
        assert_eq!(refusal("acme", "pulumi:runtime", "any text, ä included"), None);
        assert_eq!(refusal("acme", "owner", &"ä".repeat(256)), None);
        for (organization, tag, value, named) in [
            ("", "owner", "me", "organization \"\""),
            ("acme/shop", "owner", "me", "organization \"acme/shop\""),
            ("acme", "", "me", "tag \"\""),
            ("acme", "the owner", "me", "tag \"the owner\""),
            ("acme", &"n".repeat(41), "me", "must be 1 to 40"),
            (
                "acme",
                "owner",
                &"v".repeat(257),
                "tag \"owner\" is longer than 256",
            ),
        ] {
            let message = refusal(organization, tag, value).unwrap();
            assert!(message.contains(named), "{message}");
        }
    }
}
