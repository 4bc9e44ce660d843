//! A policy pack as options name it, and the settings that they give its policies.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    error::{Error, Result},
    event::EnforcementLevel,
};

/// The key of settings that hold for every policy of a pack that has none of its own.
const ALL: &str = "all";
/// The member of a policy's settings that says how strictly it is enforced.
const LEVEL: &str = "enforcementLevel";

/// A policy pack. A name or a path is required.
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
    /// The folder or file of the pack, for the resolver.
    pub path: String,
    /// The required version; any, when left out.
    pub version: String,
    /// The address at which the pack's analyzer listens: `host:port`, or an `http` URL. Left out, the engine's resolver is
    /// asked for an `analyzer` of this name and version, with path and settings.
    pub address: String,
    /// The address from which the pack can be downloaded, for the resolver.
    pub download_url: String,
    /// Hex checksums by platform, for the resolver.
    pub checksums: BTreeMap<String, String>,
    /// Settings by policy, and for `all`: an enforcement level (`advisory`, `mandatory`, `remediate`, `disabled`), or an
    /// object with `enforcementLevel` and the members of the policy's own schema.
    #[schemars(extend(
        "x-takes" = "an object of settings by policy",
        "x-python" = "Mapping[str, PolicySettings]",
        "x-typescript" = "{ [policy: string]: PolicySettings }"
    ))]
    pub config: BTreeMap<String, Value>,
}

/// What options say about one policy.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Wanted {
    pub(super) level: Option<EnforcementLevel>,
    pub(super) properties: Map<String, Value>,
}

impl PolicyPackOption {
    /// Refuses what is wrong in itself.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] that names the pack and the policy.
    pub(crate) fn check(&self) -> Result<()> {
        if self.name.is_empty() && self.path.is_empty() {
            return Err(Error::invalid(
                "a policy pack in the options has neither a name nor a path",
            ));
        }
        if !self.version.is_empty() {
            let parsed = semver::Version::parse(self.version.trim_start_matches('v'));
            parsed.map_err(|error| self.wrong(&format!("version {:?}: {error}", self.version)))?;
        }
        self.config
            .keys()
            .try_for_each(|policy| self.wanted(policy).map(drop))
    }

    /// Returns the same option with a name: that of a pack without one is its path.
    pub(crate) fn named(&self) -> Self {
        let mut option = self.clone();
        if option.name.is_empty() {
            option.name.clone_from(&option.path);
        }
        option
    }

    /// Returns what the options say about a policy: its own settings, its level else that of all.
    pub(super) fn wanted(&self, policy: &str) -> Result<Wanted> {
        let all = self.read(ALL)?;
        let own = if policy == ALL {
            all.clone()
        } else {
            self.read(policy)?
        };
        Ok(Wanted {
            level: own.level.or(all.level),
            properties: own.properties,
        })
    }

    /// Returns the policies that settings are given for.
    pub(super) fn configured(&self) -> impl Iterator<Item = &str> {
        self.config.keys().map(String::as_str).filter(|name| *name != ALL)
    }

    /// Tells whether policies are given more than a level.
    pub(super) fn has_properties(&self) -> bool {
        let mut settings = self.config.values().filter_map(Value::as_object);
        settings.any(|members| members.keys().any(|name| name != LEVEL))
    }

    fn read(&self, policy: &str) -> Result<Wanted> {
        let level = |value: &Value| {
            serde_json::from_value(value.clone()).map_err(|_| {
                self.wrong(&format!(
                    "policy {policy:?} has an enforcement level that is none of advisory, mandatory, remediate and disabled"
                ))
            })
        };
        match self.config.get(policy) {
            None => Ok(Wanted::default()),
            Some(text @ Value::String(_)) => Ok(Wanted {
                level: Some(level(text)?),
                properties: Map::new(),
            }),
            Some(Value::Object(members)) => {
                let mut properties = members.clone();
                let level = properties.remove(LEVEL).map(|value| level(&value)).transpose()?;
                Ok(Wanted { level, properties })
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
        let level = |policy| option.wanted(policy).unwrap().level.unwrap();
        assert_eq!(level("a"), EnforcementLevel::Mandatory);
        assert_eq!(level("b"), EnforcementLevel::Advisory);
        assert_eq!(level("c"), EnforcementLevel::Disabled);
        assert_eq!(level("other"), EnforcementLevel::Advisory);
        assert_eq!(option.wanted("c").unwrap().properties["limit"], 4);
    }

    #[test]
    fn what_is_wrong_is_told_with_pack_and_policy() {
        for (text, said) in [
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
            assert!(error.message().contains(said), "{error}");
        }
    }
}
