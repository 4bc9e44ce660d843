//! Requests to policy packs about resources, and their decoded responses.

use std::sync::Arc;

use stackwright_proto::{pulumirpc as rpc, values::Struct};

use super::{
    Pack,
    settings::{read_level, read_severity},
};
use crate::{
    error::Error,
    event::{EnforcementLevel, PolicyName, PolicyRemediation, PolicyViolation},
    property::{
        PropertyMap,
        wire::{DecodeOptions, EncodeOptions, from_struct, to_struct},
    },
    provider::settings::ProviderSettings,
    resource::ResourceState,
    urn::Urn,
};

type Result<T, E = Error> = std::result::Result<T, E>;

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

/// The result of Remediate.
#[derive(Default)]
pub(crate) struct Rewriting {
    /// The changed inputs; `None` if no policy changed them.
    pub(crate) inputs: Option<PropertyMap>,
    /// The remediation of each policy, or the reason of its failure.
    pub(crate) results: Vec<Result<PolicyRemediation, PolicyViolation>>,
    /// Policies that do not apply to the resource.
    pub(crate) not_applicable: Vec<String>,
}

/// The result of Analyze and AnalyzeStack.
#[derive(Default)]
pub(crate) struct Analysis {
    pub(crate) violations: Vec<PolicyViolation>,
    /// Policies that do not apply to the resource.
    pub(crate) not_applicable: Vec<String>,
}

impl Subject<'_> {
    pub(super) fn request(&self, inputs: &PropertyMap) -> Result<rpc::AnalyzeRequest> {
        let state = self.state;
        Ok(rpc::AnalyzeRequest {
            r#type: state.resource_type.to_string(),
            properties: Some(encode(inputs)?),
            urn: state.urn.to_string(),
            name: state.urn.name().to_owned(),
            options: Some(options(state, self.delete_before_replace, self.aliases.clone())),
            provider: self.provider.as_deref().map(provider).transpose()?,
        })
    }

    /// Describes the resource for AnalyzeStack: with its outputs.
    pub(super) fn resource(&self) -> Result<rpc::AnalyzerResource> {
        let state = self.state;
        let dependencies = state.property_dependencies.iter().map(|(name, urns)| {
            let urns = urns.iter().map(ToString::to_string).collect();
            (name.to_string(), rpc::AnalyzerPropertyDependencies { urns })
        });
        Ok(rpc::AnalyzerResource {
            r#type: state.resource_type.to_string(),
            properties: Some(encode(&state.outputs)?),
            urn: state.urn.to_string(),
            name: state.urn.name().to_owned(),
            options: Some(options(state, None, Vec::new())),
            provider: self.provider.as_deref().map(provider).transpose()?,
            parent: text(state.parent.as_ref()),
            dependencies: state.dependencies.iter().map(ToString::to_string).collect(),
            property_dependencies: dependencies.collect(),
        })
    }
}

fn text(urn: Option<&Urn>) -> String {
    urn.map(ToString::to_string).unwrap_or_default()
}

fn options(
    state: &ResourceState,
    delete_before_replace: Option<bool>,
    aliases: Vec<String>,
) -> rpc::AnalyzerResourceOptions {
    let timeouts = &state.options.custom_timeouts;
    rpc::AnalyzerResourceOptions {
        protect: state.protect,
        ignore_changes: state.options.ignore_changes.clone(),
        delete_before_replace: delete_before_replace.unwrap_or_default(),
        delete_before_replace_defined: delete_before_replace.is_some(),
        additional_secret_outputs: state.options.additional_secret_outputs.clone(),
        aliases,
        custom_timeouts: Some(rpc::analyzer_resource_options::CustomTimeouts {
            create: timeouts.create.unwrap_or_default(),
            update: timeouts.update.unwrap_or_default(),
            delete: timeouts.delete.unwrap_or_default(),
            read: timeouts.read.unwrap_or_default(),
        }),
        parent: text(state.parent.as_ref()),
    }
}

fn provider(state: &ResourceState) -> Result<rpc::AnalyzerProviderResource> {
    Ok(rpc::AnalyzerProviderResource {
        r#type: state.resource_type.to_string(),
        properties: Some(encode(&ProviderSettings::strip(&state.inputs))?),
        urn: state.urn.to_string(),
        name: state.urn.name().to_owned(),
    })
}

/// Returns whether a property is internal to the provider: packs neither receive nor remove it.
fn is_internal(name: &str) -> bool {
    name.starts_with("__")
}

fn encode(properties: &PropertyMap) -> Result<Struct> {
    let options = EncodeOptions {
        keep_resources: false,
        ..EncodeOptions::all("properties")
    };
    if !properties.iter().any(|(name, _)| is_internal(name)) {
        return to_struct(properties, &options);
    }
    let shown = properties.iter().filter(|(name, _)| !is_internal(name));
    let shown = shown.map(|(name, value)| (name.clone(), value.clone()));
    to_struct(&shown.collect(), &options)
}

impl Pack {
    pub(super) fn name_of(&self, policy: String, pack: String, version: String) -> PolicyName {
        PolicyName {
            policy,
            pack: if pack.is_empty() {
                self.name().to_owned()
            } else {
                pack
            },
            version: if version.is_empty() {
                self.version().to_owned()
            } else {
                version
            },
        }
    }

    /// Applies the remediations in their order.
    pub(super) fn read_rewriting(
        &self,
        urn: &Urn,
        inputs: &PropertyMap,
        response: rpc::RemediateResponse,
    ) -> Result<Rewriting, String> {
        let not_applicable = response.not_applicable.into_iter();
        let mut rewriting = Rewriting {
            not_applicable: not_applicable.map(|policy| policy.policy_name).collect(),
            ..Rewriting::default()
        };
        for remediation in response.remediations {
            let name = self.name_of(
                remediation.policy_name,
                remediation.policy_pack_name,
                remediation.policy_pack_version,
            );
            if !remediation.diagnostic.is_empty() {
                rewriting.results.push(Err(PolicyViolation {
                    urn: urn.clone(),
                    name,
                    message: remediation.diagnostic,
                    level: EnforcementLevel::Advisory,
                    severity: None,
                }));
                continue;
            }
            let Some(message) = remediation.properties else {
                continue;
            };
            let options = DecodeOptions {
                keep_outputs: false,
                ..DecodeOptions::all("properties")
            };
            let mut after = from_struct(message, &options).map_err(|error| error.message().to_owned())?;
            let before = rewriting.inputs.take().unwrap_or_else(|| inputs.clone());
            for (key, value) in before.iter().filter(|(key, _)| is_internal(key)) {
                after.insert(key.clone(), value.clone());
            }
            rewriting.inputs = Some(after.clone());
            rewriting.results.push(Ok(PolicyRemediation {
                urn: urn.clone(),
                name,
                before,
                after,
            }));
        }
        Ok(rewriting)
    }

    /// Decodes an analysis; `place` returns the resource of a violation's URN, which may be empty.
    pub(super) fn read_analysis(
        &self,
        response: rpc::AnalyzeResponse,
        place: impl Fn(&str) -> Urn,
    ) -> Result<Analysis, String> {
        let mut analysis = Analysis::default();
        for found in response.diagnostics {
            let level = read_level(found.enforcement_level).ok_or_else(|| {
                format!(
                    "unknown enforcement level {} of policy {:?}",
                    found.enforcement_level, found.policy_name
                )
            })?;
            let level = match level {
                EnforcementLevel::Disabled => continue,
                // A violation that was not remediated is mandatory.
                EnforcementLevel::Remediate | EnforcementLevel::Mandatory => EnforcementLevel::Mandatory,
                EnforcementLevel::Advisory => EnforcementLevel::Advisory,
            };
            analysis.violations.push(PolicyViolation {
                urn: place(&found.urn),
                name: self.name_of(
                    found.policy_name,
                    found.policy_pack_name,
                    found.policy_pack_version,
                ),
                message: found.message,
                level,
                severity: read_severity(found.severity),
            });
        }
        let not_applicable = response.not_applicable.into_iter();
        analysis.not_applicable = not_applicable.map(|policy| policy.policy_name).collect();
        Ok(analysis)
    }
}
