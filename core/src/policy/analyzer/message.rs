//! Requests to analyzers as messages of the protocol, and their decoded responses.

use stackwright_proto::{pulumirpc as rpc, values::Struct};

use crate::{
    error::Result,
    event::{EnforcementLevel, PolicyName, PolicySeverity, PolicyViolation},
    policy::{
        Analysis, PackName, Rewriting, Subject,
        schema::SettingsSchema,
        settings::{DeclaredPolicy, EnforcedPolicy},
        subject::{provider_properties, shown, violation_level},
    },
    property::{
        PropertyMap,
        wire::{DecodeOptions, EncodeOptions, from_struct, to_struct},
    },
    resource::ResourceState,
    urn::Urn,
};

/// Describes a resource for Analyze and Remediate.
pub(super) fn request(subject: &Subject<'_>, inputs: &PropertyMap) -> Result<rpc::AnalyzeRequest> {
    let state = subject.state;
    Ok(rpc::AnalyzeRequest {
        r#type: state.resource_type.to_string(),
        properties: Some(encode(&shown(inputs))?),
        urn: state.urn.to_string(),
        name: state.urn.name().to_owned(),
        options: Some(options(
            state,
            subject.delete_before_replace,
            subject.aliases.clone(),
        )),
        provider: subject.provider.as_deref().map(provider).transpose()?,
    })
}

/// Describes a resource for AnalyzeStack: with its outputs.
pub(super) fn resource(subject: &Subject<'_>) -> Result<rpc::AnalyzerResource> {
    let state = subject.state;
    let dependencies = state.property_dependencies.iter().map(|(name, urns)| {
        let urns = urns.iter().map(ToString::to_string).collect();
        (name.to_string(), rpc::AnalyzerPropertyDependencies { urns })
    });
    Ok(rpc::AnalyzerResource {
        r#type: state.resource_type.to_string(),
        properties: Some(encode(&shown(&state.outputs))?),
        urn: state.urn.to_string(),
        name: state.urn.name().to_owned(),
        options: Some(options(state, None, Vec::new())),
        provider: subject.provider.as_deref().map(provider).transpose()?,
        parent: text(state.parent.as_ref()),
        dependencies: state.dependencies.iter().map(ToString::to_string).collect(),
        property_dependencies: dependencies.collect(),
    })
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
        properties: Some(encode(&provider_properties(state))?),
        urn: state.urn.to_string(),
        name: state.urn.name().to_owned(),
    })
}

fn encode(properties: &PropertyMap) -> Result<Struct> {
    let options = EncodeOptions {
        keep_resources: false,
        ..EncodeOptions::all("properties")
    };
    to_struct(properties, &options)
}

/// Returns the policies that a pack declares.
///
/// # Errors
/// A text about settings that cannot be decoded.
pub(super) fn declared(info: &mut rpc::AnalyzerInfo) -> Result<Vec<DeclaredPolicy>, String> {
    let policies = std::mem::take(&mut info.policies).into_iter();
    let policies = policies.map(|policy| {
        let initial = info.initial_config.remove(&policy.name);
        let level = initial
            .as_ref()
            .map_or(policy.enforcement_level, |initial| initial.enforcement_level);
        let decode = |values: Option<Struct>| {
            let decoded = from_struct(values.unwrap_or_default(), &DecodeOptions::all("config"));
            decoded.map_err(|error| error.message().to_owned())
        };
        let schema = policy.config_schema.unwrap_or_default();
        Ok(DeclaredPolicy {
            is_of_stack: policy.policy_type == i32::from(rpc::PolicyType::Stack),
            level: read_level(level).ok_or(level),
            settings: decode(initial.and_then(|initial| initial.properties))?,
            schema: SettingsSchema::new(&decode(schema.properties)?, schema.required),
            name: policy.name,
        })
    });
    policies.collect()
}

/// Encodes the levels and settings of policies.
pub(super) fn configuration(policies: &[EnforcedPolicy]) -> Result<rpc::ConfigureAnalyzerRequest> {
    let configs = policies.iter().map(|policy| {
        let config = rpc::PolicyConfig {
            enforcement_level: write_level(policy.level),
            properties: Some(to_struct(&policy.settings, &EncodeOptions::all("config"))?),
        };
        Ok((policy.name.clone(), config))
    });
    Ok(rpc::ConfigureAnalyzerRequest {
        policy_config: configs.collect::<Result<_>>()?,
    })
}

/// Reads the remediations of a response, in their order.
pub(super) fn rewriting(
    pack: &PackName,
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
        let name = name_of(
            pack,
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
        let after = from_struct(message, &options).map_err(|error| error.message().to_owned())?;
        rewriting.add(urn, name, inputs, after);
    }
    Ok(rewriting)
}

/// Reads an analysis; `place` returns the resource of a violation's URN, which may be empty.
pub(super) fn analysis(
    pack: &PackName,
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
        let Some(level) = violation_level(level) else {
            continue;
        };
        analysis.violations.push(PolicyViolation {
            urn: place(&found.urn),
            name: name_of(
                pack,
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

/// Returns the name of a policy; a response without the pack's name or version means the pack itself.
fn name_of(own: &PackName, policy: String, pack: String, version: String) -> PolicyName {
    let given = |given: String, own: &str| if given.is_empty() { own.to_owned() } else { given };
    PolicyName {
        policy,
        pack: given(pack, &own.name),
        version: given(version, &own.version),
    }
}

/// Converts a level of the protocol; `None` if it is unknown.
fn read_level(number: i32) -> Option<EnforcementLevel> {
    Some(match rpc::EnforcementLevel::try_from(number).ok()? {
        rpc::EnforcementLevel::Advisory => EnforcementLevel::Advisory,
        rpc::EnforcementLevel::Mandatory => EnforcementLevel::Mandatory,
        rpc::EnforcementLevel::Disabled => EnforcementLevel::Disabled,
        rpc::EnforcementLevel::Remediate => EnforcementLevel::Remediate,
    })
}

fn write_level(level: EnforcementLevel) -> i32 {
    i32::from(match level {
        EnforcementLevel::Advisory => rpc::EnforcementLevel::Advisory,
        EnforcementLevel::Mandatory => rpc::EnforcementLevel::Mandatory,
        EnforcementLevel::Disabled => rpc::EnforcementLevel::Disabled,
        EnforcementLevel::Remediate => rpc::EnforcementLevel::Remediate,
    })
}

/// Converts a severity of the protocol; `None` if it is unknown.
fn read_severity(number: i32) -> Option<PolicySeverity> {
    match rpc::PolicySeverity::try_from(number).ok()? {
        rpc::PolicySeverity::Unspecified => None,
        rpc::PolicySeverity::Low => Some(PolicySeverity::Low),
        rpc::PolicySeverity::Medium => Some(PolicySeverity::Medium),
        rpc::PolicySeverity::High => Some(PolicySeverity::High),
        rpc::PolicySeverity::Critical => Some(PolicySeverity::Critical),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::PropertyValue;

    #[test]
    fn declared_policies_have_the_initial_level_and_settings_of_the_pack() {
        let limit: PropertyMap = [("limit", PropertyValue::Number(3.0))].into_iter().collect();
        let initial = rpc::PolicyConfig {
            enforcement_level: 9,
            properties: Some(to_struct(&limit, &EncodeOptions::all("config")).unwrap()),
        };
        let policy = |name: &str, policy_type: rpc::PolicyType| rpc::PolicyInfo {
            name: name.to_owned(),
            enforcement_level: 1,
            policy_type: i32::from(policy_type),
            ..rpc::PolicyInfo::default()
        };
        let mut info = rpc::AnalyzerInfo {
            policies: vec![
                policy("a", rpc::PolicyType::Resource),
                policy("b", rpc::PolicyType::Stack),
            ],
            initial_config: [("b".to_owned(), initial)].into(),
            ..rpc::AnalyzerInfo::default()
        };
        let declared = declared(&mut info).unwrap();
        assert_eq!(declared[0].level, Ok(EnforcementLevel::Mandatory));
        assert!(!declared[0].is_of_stack && declared[0].settings.is_empty());
        assert_eq!((declared[1].level, &declared[1].settings), (Err(9), &limit));
        assert!(declared[1].is_of_stack);
    }
}
