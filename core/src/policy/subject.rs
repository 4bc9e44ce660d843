//! A resource in calls to policy packs, and what the packs return about it.

use std::sync::Arc;

use crate::{
    event::{EnforcementLevel, PolicyName, PolicyRemediation, PolicyViolation},
    property::PropertyMap,
    provider::settings::ProviderSettings,
    resource::ResourceState,
    urn::Urn,
};

/// A resource in requests to policy packs.
pub(crate) struct Subject<'a> {
    /// The planned or recorded state.
    pub(crate) state: &'a ResourceState,
    /// Whether the program deletes the old resource before it creates the replacement.
    pub(crate) delete_before_replace: Option<bool>,
    /// The aliases in the program.
    pub(crate) aliases: Vec<String>,
    /// The record of its provider.
    pub(crate) provider: Option<Arc<ResourceState>>,
}

/// The result of a remediation.
#[derive(Default)]
pub(crate) struct Rewriting {
    /// The changed inputs; `None` if no policy changed them.
    pub(crate) inputs: Option<PropertyMap>,
    /// The remediation of each policy, or the reason of its failure.
    pub(crate) results: Vec<Result<PolicyRemediation, PolicyViolation>>,
    /// Policies that do not apply to the resource.
    pub(crate) not_applicable: Vec<String>,
}

/// The result of an analysis of one resource, or of all of them.
#[derive(Default)]
pub(crate) struct Analysis {
    pub(crate) violations: Vec<PolicyViolation>,
    /// Policies that do not apply to the resource.
    pub(crate) not_applicable: Vec<String>,
}

impl Rewriting {
    /// Adds the inputs that a policy has rewritten. Internal inputs are kept.
    pub(super) fn add(&mut self, urn: &Urn, name: PolicyName, inputs: &PropertyMap, mut after: PropertyMap) {
        let before = self.inputs.take().unwrap_or_else(|| inputs.clone());
        for (key, value) in before.iter().filter(|(key, _)| is_internal(key)) {
            after.insert(key.clone(), value.clone());
        }
        self.inputs = Some(after.clone());
        self.results.push(Ok(PolicyRemediation {
            urn: urn.clone(),
            name,
            before,
            after,
        }));
    }
}

/// Returns the properties of a provider that packs receive.
pub(super) fn provider_properties(provider: &ResourceState) -> PropertyMap {
    shown(&ProviderSettings::strip(&provider.inputs))
}

/// Returns the properties of a resource that packs receive.
pub(super) fn shown(properties: &PropertyMap) -> PropertyMap {
    if !properties.iter().any(|(name, _)| is_internal(name)) {
        return properties.clone();
    }
    let shown = properties.iter().filter(|(name, _)| !is_internal(name));
    shown.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Returns the level of a violation; `None` if its policy is disabled. A violation that was not remediated is mandatory.
pub(super) fn violation_level(level: EnforcementLevel) -> Option<EnforcementLevel> {
    match level {
        EnforcementLevel::Disabled => None,
        EnforcementLevel::Remediate | EnforcementLevel::Mandatory => Some(EnforcementLevel::Mandatory),
        EnforcementLevel::Advisory => Some(EnforcementLevel::Advisory),
    }
}

/// Returns whether a property is internal to the provider: packs neither receive nor remove it.
fn is_internal(name: &str) -> bool {
    name.starts_with("__")
}
