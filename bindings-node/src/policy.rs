//! Policies of the host: JavaScript functions that check resources, or rewrite their inputs, called over the bridge.

use std::sync::Arc;

use async_trait::async_trait;
use napi_derive::napi;
use stackwright::{
    Error, ErrorKind, Result,
    policy::{
        Policy, PolicyFinding, PolicyFunctions, PolicyPack, PolicyPackOption, PolicyProvider, PolicyResource,
        PolicyStack,
    },
    property::{PropertyMap, PropertyValue},
    urn::Urn,
};

use crate::{
    bridge::Shared,
    host::JsHost,
    provider::{Answered, PolicyCall, Request},
};

/// A pack of policies that are functions.
#[napi(object)]
pub struct PackEntry {
    /// The name.
    pub name: String,
    /// The version.
    pub version: Option<String>,
    /// Whether it is among the required packs, and not among the local ones.
    pub required: bool,
    /// Its place among those of the options.
    pub index: u32,
    /// The package's number of the object that runs the functions.
    pub number: u32,
    /// The policies, in the order of their numbers.
    pub policies: Vec<PolicyEntry>,
}

/// A policy.
#[napi(object)]
pub struct PolicyEntry {
    /// The name.
    pub name: String,
    /// The enforcement level.
    pub level: String,
    /// The description for users.
    pub description: String,
    /// The severity.
    pub severity: Option<String>,
    /// Whether it has a check of resources.
    pub checks: bool,
    /// Whether it has a remediation.
    pub remediates: bool,
    /// Whether it has a check of stacks, and nothing else.
    pub of_stack: bool,
}

/// Adds the functions of packs to the options that name these.
pub(crate) fn attach(
    shared: &Arc<Shared>,
    entries: Vec<PackEntry>,
    required: &mut [PolicyPackOption],
    local: &mut [PolicyPackOption],
) -> Result<()> {
    for entry in entries {
        let packs = match entry.required {
            true => &mut *required,
            false => &mut *local,
        };
        let option = packs.get_mut(entry.index as usize);
        let pack = pack(shared, entry)?;
        let option = option.ok_or_else(|| Error::internal("there is no option for a pack of functions"))?;
        option.host = Some(pack);
    }
    Ok(())
}

/// Makes a pack.
fn pack(shared: &Arc<Shared>, entry: PackEntry) -> Result<PolicyPack> {
    let host = JsHost::new(shared, entry.number);
    let policies = (0..).zip(entry.policies).map(|(number, policy)| {
        let functions = JsPolicy {
            host: Arc::clone(&host),
            number,
            checks: policy.checks,
            remediates: policy.remediates,
        };
        Ok(Policy {
            name: policy.name,
            level: named(policy.level)?,
            description: policy.description,
            severity: policy.severity.map(named).transpose()?,
            is_of_stack: policy.of_stack,
            functions: Arc::new(functions),
        })
    });
    Ok(PolicyPack {
        version: entry.version.unwrap_or_default(),
        ..PolicyPack::new(entry.name, policies.collect::<Result<Vec<_>>>()?)
    })
}

/// Reads a name of a fixed set, which the package has checked.
fn named<T: serde::de::DeserializeOwned>(name: String) -> Result<T> {
    serde_json::from_value(name.into()).map_err(|error| Error::invalid(format!("a policy has an {error}")))
}

/// The functions of one policy.
struct JsPolicy {
    host: Arc<JsHost>,
    /// Its number in the pack.
    number: u32,
    checks: bool,
    remediates: bool,
}

impl JsPolicy {
    async fn call(
        &self,
        function: &'static str,
        urn: Option<&Urn>,
        argument: PropertyMap,
    ) -> Result<Answered> {
        let call = PolicyCall {
            policy: self.number,
            function,
            urn: urn.map(ToString::to_string),
            argument,
        };
        self.host
            .ask(Request::CheckPolicy(call), ErrorKind::Program)
            .await
    }
}

#[async_trait]
impl PolicyFunctions for JsPolicy {
    async fn check(&self, resource: PolicyResource) -> Result<Vec<PolicyFinding>> {
        if !self.checks {
            return Ok(Vec::new());
        }
        let answer = self.call("check", Some(&resource.urn), facts(&resource)).await;
        Ok(findings(answer?))
    }

    async fn remediate(&self, resource: PolicyResource) -> Result<Option<PropertyMap>> {
        if !self.remediates {
            return Ok(None);
        }
        let answer = self
            .call("remediate", Some(&resource.urn), facts(&resource))
            .await;
        Ok(match answer? {
            Answered::Values(inputs) => Some(inputs),
            _ => None,
        })
    }

    async fn check_stack(&self, stack: PolicyStack) -> Result<Vec<PolicyFinding>> {
        let resources: Vec<PropertyValue> = stack
            .resources
            .iter()
            .map(|resource| facts(resource).into())
            .collect();
        let argument = [("resources", resources.into()), ("config", stack.config.into())];
        let answer = self
            .call("checkStack", None, argument.into_iter().collect())
            .await;
        Ok(findings(answer?))
    }
}

/// Reads the texts of an answer: message and URN of each violation in turn; an empty URN is none.
fn findings(answer: Answered) -> Vec<PolicyFinding> {
    let Answered::Texts(texts) = answer else {
        return Vec::new();
    };
    let found = texts.chunks_exact(2).map(|pair| PolicyFinding {
        message: pair[0].clone(),
        urn: Urn::parse(&pair[1]).ok(),
    });
    found.collect()
}

fn texts<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> PropertyValue {
    let texts: Vec<PropertyValue> = texts.into_iter().map(|text| text.as_ref().into()).collect();
    texts.into()
}

/// Returns the facts of a resource by name.
fn facts(resource: &PolicyResource) -> PropertyMap {
    let provider = resource.provider.as_ref().map(provider_facts);
    let parent = resource.parent.as_ref();
    let dependencies = resource.property_dependencies.iter().map(|(name, urns)| {
        let urns = texts(urns.iter().map(Urn::as_str));
        (name.as_str(), urns)
    });
    let dependencies: PropertyMap = dependencies.collect();
    [
        ("type", resource.resource_type.as_str().into()),
        ("name", resource.name.as_str().into()),
        ("urn", resource.urn.as_str().into()),
        ("props", resource.props.clone().into()),
        ("inputs", resource.inputs.clone().into()),
        ("options", options(resource).into()),
        (
            "provider",
            provider.map_or(PropertyValue::Null, PropertyValue::from),
        ),
        (
            "parent",
            parent.map_or(PropertyValue::Null, |urn| urn.as_str().into()),
        ),
        (
            "dependencies",
            texts(resource.dependencies.iter().map(Urn::as_str)),
        ),
        ("propertyDependencies", dependencies.into()),
        ("config", resource.config.clone().into()),
    ]
    .into_iter()
    .collect()
}

fn options(resource: &PolicyResource) -> PropertyMap {
    let options = &resource.options;
    let given = &options.custom_timeouts;
    let timeouts = [
        ("create", given.create),
        ("update", given.update),
        ("delete", given.delete),
        ("read", given.read),
    ];
    let timeouts: PropertyMap = timeouts
        .into_iter()
        .filter_map(|(name, seconds)| Some((name, PropertyValue::Number(seconds?))))
        .collect();
    let before = options.delete_before_replace;
    [
        ("protect", options.protect.into()),
        ("ignoreChanges", texts(&options.ignore_changes)),
        (
            "deleteBeforeReplace",
            before.map_or(PropertyValue::Null, PropertyValue::from),
        ),
        (
            "additionalSecretOutputs",
            texts(&options.additional_secret_outputs),
        ),
        ("aliases", texts(&options.aliases)),
        ("customTimeouts", timeouts.into()),
    ]
    .into_iter()
    .collect()
}

fn provider_facts(provider: &PolicyProvider) -> PropertyMap {
    [
        ("type", provider.resource_type.as_str().into()),
        ("name", provider.name.as_str().into()),
        ("urn", provider.urn.as_str().into()),
        ("props", provider.props.clone().into()),
    ]
    .into_iter()
    .collect()
}
