//! A policy pack in an operation's options, with the settings of its policies.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::PolicyPack;
use crate::{
    error::{Error, Result},
    event::EnforcementLevel,
};

/// The key of the settings that apply to every policy of a pack without settings of its own.
const ALL: &str = "all";
/// The member of a policy's settings that contains its enforcement level.
const LEVEL: &str = "enforcementLevel";

/// A policy pack. A name or a path is required. The pack is an analyzer at an address, or a folder that the engine starts.
///
/// # Rust
/// As JSON: `{"name": "guard", "version": "1.2.0", "address": "127.0.0.1:4711", "config": {"all": "advisory",
/// "no-public-buckets": {"enforcementLevel": "mandatory", "allowed": ["logs"]}}}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[schemars(rename = "PolicyPack")]
pub struct PolicyPackOption {
    /// The name of the pack, in requests to the resolver and in errors. Defaults to the path.
    pub name: String,
    /// The folder of the pack, with its `PulumiPolicy.yaml`. Without an address, and when the engine's resolver names none,
    /// the engine starts the pack. A relative path begins at the project's folder.
    pub path: String,
    /// The required version; any, when left out.
    pub version: String,
    /// The address at which the pack's analyzer listens: `host:port`, or an `http` URL. Left out, the engine's resolver
    /// is asked for an `analyzer` of this name and version, with path and settings; one without an answer leaves it to the
    /// path.
    pub address: String,
    /// The address from which the pack can be downloaded, for the resolver.
    pub download_url: String,
    /// Hex checksums by platform, for the resolver.
    pub checksums: BTreeMap<String, String>,
    /// Settings by policy, and for `all`: an enforcement level (`advisory`, `mandatory`, `remediate`, `disabled`), or
    /// an object with `enforcementLevel` and the members of the policy's own schema.
    #[schemars(extend(
        "x-takes" = "an object of settings by policy",
        "x-python" = "Mapping[str, PolicySettings]",
        "x-typescript" = "{ [policy: string]: PolicySettings }"
    ))]
    pub config: BTreeMap<String, Value>,
    /// The functions of a pack of the host, which is neither at an address nor in a folder. Bindings hand it over beside
    /// the options.
    #[serde(skip)]
    pub host: Option<PolicyPack>,
}

impl From<PolicyPack> for PolicyPackOption {
    fn from(pack: PolicyPack) -> Self {
        Self {
            name: pack.name.clone(),
            host: Some(pack),
            ..Self::default()
        }
    }
}

/// The settings of one policy in the options.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PolicyConfigSource {
    pub(super) level: Option<EnforcementLevel>,
    pub(super) properties: Map<String, Value>,
}

impl PolicyPackOption {
    /// Checks the option by itself.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] that names the pack and the policy.
    pub(crate) fn check(&self) -> Result<()> {
        if self.named().name.is_empty() {
            return Err(Error::invalid(
                "a policy pack in the options has neither a name nor a path",
            ));
        }
        if let Some(pack) = &self.host {
            if !self.address.is_empty() {
                return Err(self.wrong("it has functions of the host and an address"));
            }
            pack.check()?;
        }
        if !self.version.is_empty() {
            let parsed = semver::Version::parse(self.version.trim_start_matches('v'));
            parsed.map_err(|error| self.wrong(&format!("version {:?}: {error}", self.version)))?;
        }
        self.config
            .keys()
            .try_for_each(|policy| self.config_source(policy).map(drop))
    }

    /// Returns the same option with a name; the name defaults to that of the host's pack, else to the path.
    pub(crate) fn named(&self) -> Self {
        let mut option = self.clone();
        if option.name.is_empty() {
            let of_host = self.host.as_ref().map(|pack| &pack.name);
            option.name.clone_from(of_host.unwrap_or(&self.path));
        }
        option
    }

    /// Returns the settings of a policy: its own, with the level of `all` as default.
    pub(super) fn config_source(&self, policy: &str) -> Result<PolicyConfigSource> {
        let all = self.read(ALL)?;
        let own = if policy == ALL {
            all.clone()
        } else {
            self.read(policy)?
        };
        Ok(PolicyConfigSource {
            level: own.level.or(all.level),
            properties: own.properties,
        })
    }

    /// Returns the names of policies with settings.
    pub(super) fn configured(&self) -> impl Iterator<Item = &str> {
        self.config.keys().map(String::as_str).filter(|name| *name != ALL)
    }

    /// Returns whether any policy has settings other than a level.
    pub(super) fn has_properties(&self) -> bool {
        let mut settings = self.config.values().filter_map(Value::as_object);
        settings.any(|members| members.keys().any(|name| name != LEVEL))
    }

    fn read(&self, policy: &str) -> Result<PolicyConfigSource> {
        let level = |value: &Value| {
            serde_json::from_value(value.clone()).map_err(|_| {
                self.wrong(&format!(
                    "policy {policy:?} has an enforcement level that is none of advisory, mandatory, remediate and disabled"
                ))
            })
        };
        match self.config.get(policy) {
            None => Ok(PolicyConfigSource::default()),
            Some(text @ Value::String(_)) => Ok(PolicyConfigSource {
                level: Some(level(text)?),
                properties: Map::new(),
            }),
            Some(Value::Object(members)) => {
                let mut properties = members.clone();
                let level = properties.remove(LEVEL).map(|value| level(&value)).transpose()?;
                Ok(PolicyConfigSource { level, properties })
            }
            Some(_) => Err(self.wrong(&format!(
                "policy {policy:?} has settings that are neither a level nor an object"
            ))),
        }
    }

    fn wrong(&self, why: &str) -> Error {
        Error::invalid(format!("invalid policy pack {:?}: {why}", self.named().name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn option(text: &str) -> PolicyPackOption {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_policy_has_its_own_level_else_that_of_all() {
        let option = option(
            r#"{"name": "guard", "config": {"all": "advisory", "a": "mandatory", "b": {"limit": 3},
                "c": {"enforcementLevel": "disabled", "limit": 4}}}"#,
        );
        option.check().unwrap();
        let level = |policy| option.config_source(policy).unwrap().level.unwrap();
        assert_eq!(level("a"), EnforcementLevel::Mandatory);
        assert_eq!(level("b"), EnforcementLevel::Advisory);
        assert_eq!(level("c"), EnforcementLevel::Disabled);
        assert_eq!(level("other"), EnforcementLevel::Advisory);
        assert_eq!(option.config_source("c").unwrap().properties["limit"], 4);
    }

    #[test]
    fn errors_name_the_pack_and_the_policy() {
        for (text, expected) in [
            ("{}", "has neither a name nor a path"),
            (r#"{"path": "packs/guard", "version": "one"}"#, "packs/guard"),
            (r#"{"name": "guard", "version": "one"}"#, "guard"),
            (r#"{"name": "guard", "config": {"a": "strict"}}"#, "\"a\""),
            (
                r#"{"name": "guard", "config": {"a": {"enforcementLevel": 3}}}"#,
                "\"a\"",
            ),
            (r#"{"name": "guard", "config": {"a": 3}}"#, "\"a\""),
        ] {
            let error = option(text).check().unwrap_err();
            assert!(error.message().contains(expected), "{error}");
        }
    }
}
