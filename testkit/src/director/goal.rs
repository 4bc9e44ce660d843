//! Goals: registrations for the actor, built from a statement and the answers of earlier ones.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::reference::{Reference, for_each_reference, replace_references};
use crate::{
    scenario::{AliasSpec, Statement},
    value,
};

/// The text by which provider references name an id that is not known yet.
const UNKNOWN_ID: &str = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";

/// Which side resolves references into values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum References {
    /// The director: the actor gets values, URNs and explicit lists of dependencies.
    Resolved,
    /// The actor: it gets handles, and its binding's own outputs carry values and dependencies.
    Native,
}

/// The answers of the statements so far, by handle.
pub type Answers = BTreeMap<String, Value>;

/// Makes goals from statements.
pub(crate) struct GoalMaker<'a> {
    pub(crate) references: References,
    pub(crate) preview: bool,
    pub(crate) answers: &'a Answers,
}

impl GoalMaker<'_> {
    /// Returns the goal of a registration or a read.
    pub(super) fn goal(&self, statement: &Statement, resource_type: &str, custom: bool) -> Value {
        let mut goal = Map::new();
        let mut put = |name: &str, value: Value| {
            goal.insert(name.into(), value);
        };
        put("type", resource_type.into());
        put("name", statement.name.clone().unwrap_or_default().into());
        put("custom", custom.into());
        put("inputs", self.inputs(&statement.inputs));
        if let Some(parent) = &statement.parent_urn {
            put("parent", parent.clone().into());
        } else if let Some(parent) = &statement.parent {
            put("parent", self.resource(parent));
        }
        let dependencies = self.dependencies(statement);
        if !dependencies.is_empty() {
            put("dependencies", dependencies.into());
        }
        if self.references == References::Resolved && custom {
            put(
                "propertyDependencies",
                self.property_dependencies(&statement.inputs),
            );
        }
        if let Some(text) = &statement.provider_reference {
            put("provider", text.clone().into());
        } else if let Some(provider) = &statement.provider {
            put("provider", self.provider(provider));
        }
        if !statement.providers.is_empty() {
            put("providers", self.providers(&statement.providers));
        }
        self.options(statement, &mut put);
        goal.into()
    }

    /// Returns the goal of a method's call.
    pub(super) fn call(&self, statement: &Statement, token: &str) -> Value {
        let mut goal = json!({ "token": token, "arguments": self.inputs(&statement.inputs) });
        if let Some(of) = &statement.of {
            goal["of"] = self.resource(of);
        }
        if let Some(provider) = &statement.provider {
            goal["provider"] = self.provider(provider);
        }
        if self.references == References::Resolved {
            goal["argumentDependencies"] = self.property_dependencies(&statement.inputs);
        }
        goal
    }

    /// Returns the goal of a query whether a resource exists.
    pub(super) fn exists(&self, statement: &Statement, token: &str) -> Value {
        let id = statement.id.clone().unwrap_or_default();
        let mut goal = json!({
            "type": token, "id": value::to_plain(&self.value(&id.into())),
            "inputs": self.inputs(&statement.inputs),
        });
        if let Some(provider) = &statement.provider {
            goal["provider"] = self.provider(provider);
        }
        if let Some(parent) = &statement.parent {
            goal["parent"] = self.resource(parent);
        }
        if !statement.depends_on.is_empty() {
            let handles = statement.depends_on.iter();
            goal["dependsOn"] = handles.map(|handle| self.resource(handle)).collect();
        }
        goal
    }

    /// Returns the goal of a function call.
    pub(super) fn invoke(&self, statement: &Statement, token: &str) -> Value {
        let mut goal = json!({ "token": token, "arguments": self.inputs(&statement.inputs) });
        if let Some(provider) = &statement.provider {
            goal["provider"] = self.provider(provider);
        }
        if let Some(package) = &statement.package {
            goal["package"] = package.clone();
        }
        if let Some(parent) = &statement.parent {
            goal["parent"] = self.resource(parent);
        }
        if !statement.depends_on.is_empty() {
            goal["dependsOn"] = statement
                .depends_on
                .iter()
                .map(|handle| self.resource(handle))
                .collect();
        }
        goal
    }

    fn options(&self, statement: &Statement, put: &mut impl FnMut(&str, Value)) {
        for (name, flag) in [
            ("protect", statement.protect),
            ("deleteBeforeReplace", statement.delete_before_replace),
            ("retainOnDelete", statement.retain_on_delete),
        ] {
            if let Some(flag) = flag {
                put(name, flag.into());
            }
        }
        for (name, list) in [
            ("ignoreChanges", &statement.ignore_changes),
            ("replaceOnChanges", &statement.replace_on_changes),
            ("hideDiffs", &statement.hide_diffs),
            ("additionalSecretOutputs", &statement.additional_secret_outputs),
        ] {
            if !list.is_empty() {
                put(name, list.clone().into());
            }
        }
        if !statement.aliases.is_empty() {
            put("aliases", statement.aliases.iter().map(alias).collect());
        }
        if let Some(id) = &statement.import {
            put("importId", id.clone().into());
        }
        if let Some(version) = &statement.version {
            put("version", version.clone().into());
        }
        if let Some(package) = &statement.package {
            put("package", package.clone());
        }
        if !statement.env_var_mappings.is_empty() {
            put("envVarMappings", json!(statement.env_var_mappings));
        }
        if !statement.custom_timeouts.is_empty() {
            put("customTimeouts", json!(statement.custom_timeouts));
        }
        if let Some(handle) = &statement.deleted_with {
            put("deletedWith", self.resource(handle));
        }
        if !statement.replace_with.is_empty() {
            put(
                "replaceWith",
                statement
                    .replace_with
                    .iter()
                    .map(|handle| self.resource(handle))
                    .collect(),
            );
        }
        if !statement.transforms.is_empty() {
            put("transforms", statement.transforms.clone().into());
        }
        if let Some(trigger) = &statement.replacement_trigger {
            put("replacementTrigger", value::to_plain(&self.value(trigger)));
        }
        if !statement.hooks.is_empty() {
            let bindings = statement
                .hooks
                .iter()
                .map(|(name, hooks)| (moment(name), json!(hooks)));
            put("resourceHooks", bindings.collect::<Map<_, _>>().into());
        }
    }

    /// Returns values in plain JSON form, references replaced.
    pub(super) fn inputs(&self, inputs: &Map<String, Value>) -> Value {
        value::to_plain(&self.value(&Value::Object(inputs.clone())))
    }

    pub(crate) fn value(&self, value: &Value) -> Value {
        replace_references(value, &mut |reference| match self.references {
            References::Native => {
                let way = std::iter::once(reference.handle).chain(reference.path);
                json!({ "$output": way.collect::<Vec<_>>() })
            }
            References::Resolved => {
                let answer = self.answers.get(&reference.handle).unwrap_or(&Value::Null);
                reference.resolve(answer, self.preview)
            }
        })
    }

    /// Returns the URN of a handle, or the handle itself for the actor to look up.
    pub(super) fn resource(&self, handle: &str) -> Value {
        match self.references {
            References::Native => json!({ "$resource": handle }),
            References::Resolved => self
                .answers
                .get(handle)
                .map_or(Value::Null, |answer| answer["urn"].clone()),
        }
    }

    pub(super) fn provider(&self, handle: &str) -> Value {
        let Some(answer) = self
            .answers
            .get(handle)
            .filter(|_| self.references == References::Resolved)
        else {
            return json!({ "$resource": handle });
        };
        let id = answer["id"]
            .as_str()
            .filter(|id| !id.is_empty())
            .unwrap_or(UNKNOWN_ID);
        format!("{}::{id}", answer["urn"].as_str().unwrap_or_default()).into()
    }

    fn providers(&self, handles: &[String]) -> Value {
        if self.references == References::Native {
            return handles.iter().map(|handle| self.provider(handle)).collect();
        }
        let package_of = |reference: &Value| {
            let text = reference.as_str().unwrap_or_default().to_owned();
            text.split("pulumi:providers:")
                .nth(1)
                .and_then(|rest| rest.split("::").next())
                .map(str::to_owned)
        };
        let references = handles.iter().map(|handle| self.provider(handle));
        let entries = references.map(|reference| (package_of(&reference).unwrap_or_default(), reference));
        entries.collect::<Map<_, _>>().into()
    }

    /// Returns the resource's dependencies; as in SDKs, resolved lists contain those of the inputs, too.
    fn dependencies(&self, statement: &Statement) -> Vec<Value> {
        let mut urns: Vec<Value> = Vec::new();
        let mut add = |urn: Value| {
            if !urn.is_null() && !urns.contains(&urn) {
                urns.push(urn);
            }
        };
        statement
            .depends_on
            .iter()
            .for_each(|handle| add(self.resource(handle)));
        if self.references == References::Resolved {
            for value in statement.inputs.values() {
                self.urns(value).into_iter().for_each(|urn| add(urn.into()));
            }
        }
        urns
    }

    pub(super) fn property_dependencies(&self, inputs: &Map<String, Value>) -> Value {
        let entries = inputs
            .iter()
            .map(|(name, value)| (name.clone(), json!(self.urns(value))));
        entries.collect::<Map<_, _>>().into()
    }

    /// Returns the URNs that a value comes from, in the order of its references.
    fn urns(&self, value: &Value) -> Vec<String> {
        let mut urns = Vec::new();
        for_each_reference(value, &mut |reference: Reference| {
            if let Some(answer) = self.answers.get(&reference.handle) {
                add_new(&mut urns, sources(answer, reference.path.first()));
            }
        });
        urns
    }

    /// Returns the URNs that the result of a call comes from beside those that its provider states: those of its arguments, and the
    /// resource whose method it is, with what the provider has made it of.
    pub(super) fn sources_of_call(&self, statement: &Statement) -> Vec<String> {
        let mut urns = self.urns(&Value::Object(statement.inputs.clone()));
        if let Some(answer) = statement.of.as_ref().and_then(|of| self.answers.get(of)) {
            add_new(&mut urns, sources(answer, None));
            let outputs = answer["outputDependencies"].as_object().into_iter().flatten();
            outputs.for_each(|(output, _)| add_new(&mut urns, sources(answer, Some(output))));
        }
        urns
    }
}

/// Returns the URNs that an answer comes from, or one of its outputs or results; the resource itself is the first.
fn sources(answer: &Value, output: Option<&String>) -> Vec<String> {
    let listed = ["outputDependencies", "resultDependencies"].map(|lists| {
        let list = output.and_then(|output| answer[lists].get(output));
        list.and_then(Value::as_array)
    });
    let made = [answer["sources"].as_array()];
    let urns = made.into_iter().chain(listed).flatten().flatten();
    let urns = std::iter::once(&answer["urn"])
        .chain(urns)
        .filter_map(Value::as_str);
    urns.map(str::to_owned).collect()
}

fn add_new(urns: &mut Vec<String>, more: Vec<String>) {
    for urn in more {
        if !urns.contains(&urn) {
            urns.push(urn);
        }
    }
}

/// Returns the moment of hooks as records name it: `BeforeCreate` for `beforeCreate`.
fn moment(name: &str) -> String {
    let mut letters = name.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

fn alias(alias: &AliasSpec) -> Value {
    match alias {
        AliasSpec::Text(text) if text.starts_with("urn:") => json!({ "urn": text }),
        AliasSpec::Text(name) => json!({ "name": name }),
        AliasSpec::Parts(parts) => json!(parts),
    }
}
