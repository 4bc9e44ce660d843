//! The settings `pulumi:autonaming` of a stack's configuration: parsed, validated, and applied to resources.

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::{Autonamer, NamingRequest, Proposal, pattern::Pattern, rule::Rule};
use crate::{
    error::{Error, Result},
    token::TypeToken,
};

/// The configuration key of the settings.
pub(crate) const KEY: &str = "pulumi:autonaming";

/// The values that patterns can use.
pub(crate) struct StackFacts<'a> {
    pub(crate) organization: &'a str,
    pub(crate) project: &'a str,
    pub(crate) stack: &'a str,
    /// Returns the value of a configuration key, or the reason why it cannot be part of a name.
    pub(crate) config: &'a dyn Fn(&str) -> Result<String, String>,
}

/// The parsed settings: one rule for each section that has one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ConfiguredNames {
    root: Option<Rule>,
    packages: BTreeMap<String, Rule>,
    types: BTreeMap<String, Rule>,
}

impl ConfiguredNames {
    /// Parses the settings.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] with the path of the invalid setting.
    pub(crate) fn read(settings: &Value, stack: &StackFacts<'_>) -> Result<Self> {
        let mut reader = Reader {
            stack,
            names: Self {
                root: None,
                packages: BTreeMap::new(),
                types: BTreeMap::new(),
            },
        };
        reader.root(settings)?;
        Ok(reader.names)
    }

    /// Returns the most specific rule for a type, and whether it is a rule of the package or the type.
    fn rule(&self, resource_type: &TypeToken) -> Option<(&Rule, bool)> {
        let specific = self
            .types
            .get(resource_type.as_str())
            .or_else(|| self.packages.get(resource_type.package()));
        match specific {
            Some(rule) => Some((rule, true)),
            None => self.root.as_ref().map(|rule| (rule, false)),
        }
    }
}

#[async_trait]
impl Autonamer for ConfiguredNames {
    async fn propose(&self, request: NamingRequest) -> Result<Option<Proposal>> {
        let rule = self.rule(&request.resource_type);
        Ok(rule.and_then(|(rule, specific)| rule.proposal(&request.name, &request.random_seed, specific)))
    }
}

struct Reader<'a> {
    stack: &'a StackFacts<'a>,
    names: ConfiguredNames,
}

impl Reader<'_> {
    fn root(&mut self, settings: &Value) -> Result<()> {
        let section = object(settings, KEY)?;
        known(section, KEY, &["providers", "resources"])?;
        self.names.root = self.rule(section, KEY)?;
        self.types(section, KEY)?;
        let path = format!("{KEY}.providers");
        for (package, value) in members(section, "providers", &path)? {
            let path = format!("{path}.{package}");
            let section = object(value, &path)?;
            known(section, &path, &["resources"])?;
            if let Some(rule) = self.rule(section, &path)? {
                self.names.packages.insert(package.clone(), rule);
            }
            self.types(section, &path)?;
        }
        Ok(())
    }

    fn types(&mut self, section: &Map<String, Value>, path: &str) -> Result<()> {
        let path = format!("{path}.resources");
        for (token, value) in members(section, "resources", &path)? {
            let path = format!("{path}.{token}");
            let section = object(value, &path)?;
            known(section, &path, &[])?;
            if let Some(rule) = self.rule(section, &path)? {
                self.names.types.insert(token.clone(), rule);
            }
        }
        Ok(())
    }

    /// Parses the rule of one section; `None` when it has none and that of the parent section applies.
    fn rule(&self, section: &Map<String, Value>, path: &str) -> Result<Option<Rule>> {
        let enforce = match section.get("enforce") {
            None => None,
            Some(Value::Bool(enforce)) => Some(*enforce),
            Some(_) => return Err(wrong(&format!("{path}.enforce"), "it must be true or false")),
        };
        let pattern = text(section, "pattern", path)?;
        match (text(section, "mode", path)?, pattern) {
            (Some(_), Some(_)) => Err(wrong(path, "a mode and a pattern exclude each other")),
            (_, None) if enforce.is_some() => Err(wrong(
                &format!("{path}.enforce"),
                "only a pattern can be enforced, and there is none",
            )),
            (None, None) => Ok(None),
            (Some("default"), None) => Ok(Some(Rule::Default)),
            (Some("verbatim"), None) => Ok(Some(Rule::verbatim())),
            (Some("disabled"), None) => Ok(Some(Rule::Disabled)),
            (Some(mode), None) => Err(wrong(
                &format!("{path}.mode"),
                &format!("it must be default, verbatim or disabled, not {mode:?}"),
            )),
            (None, Some(pattern)) => {
                let pattern = Pattern::parse(pattern, |name| self.fact(name))
                    .map_err(|fault| wrong(&format!("{path}.pattern"), &fault))?;
                Ok(Some(Rule::Pattern {
                    pattern,
                    enforce: enforce.unwrap_or(false),
                }))
            }
        }
    }

    fn fact(&self, name: &str) -> Result<Option<String>, String> {
        let stack = self.stack;
        Ok(Some(match name {
            "organization" => stack.organization.to_owned(),
            "project" => stack.project.to_owned(),
            "stack" => stack.stack.to_owned(),
            _ => match name.strip_prefix("config.") {
                Some(key) => (stack.config)(key)?,
                None => return Ok(None),
            },
        }))
    }
}

fn wrong(path: &str, fault: &str) -> Error {
    Error::invalid(format!("invalid autonaming settings at {path}: {fault}"))
}

fn object<'a>(value: &'a Value, path: &str) -> Result<&'a Map<String, Value>> {
    value
        .as_object()
        .ok_or_else(|| wrong(path, "it must be an object"))
}

fn members<'a>(
    section: &'a Map<String, Value>,
    name: &str,
    path: &str,
) -> Result<impl Iterator<Item = (&'a String, &'a Value)>> {
    let members = section.get(name).map(|value| object(value, path)).transpose()?;
    Ok(members.into_iter().flatten())
}

fn text<'a>(section: &'a Map<String, Value>, name: &str, path: &str) -> Result<Option<&'a str>> {
    match section.get(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(wrong(&format!("{path}.{name}"), "it must be a text")),
    }
}

/// Refuses unknown settings, a misspelt name for instance.
fn known(section: &Map<String, Value>, path: &str, sections: &[&str]) -> Result<()> {
    let is_known = |name: &&String| {
        ["mode", "pattern", "enforce"].contains(&name.as_str()) || sections.contains(&name.as_str())
    };
    match section.keys().find(|name| !is_known(name)) {
        Some(name) => Err(wrong(&format!("{path}.{name}"), "there is no such setting")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
