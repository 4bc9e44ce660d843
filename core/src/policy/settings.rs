//! The configuration of a pack's policies: the options override the defaults of the pack.

use stackwright_proto::{pulumirpc as rpc, values::Struct};

use super::PolicyPackOption;
use crate::{
    error::{Error, Result},
    event::{EnforcementLevel, PolicySeverity},
    property::{
        PropertyMap,
        json::PlainMap,
        wire::{EncodeOptions, to_struct},
    },
};

/// A policy with its effective level.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Policy {
    pub(super) name: String,
    pub(super) level: EnforcementLevel,
    /// True if it analyzes all resources together.
    pub(super) is_of_stack: bool,
}

/// Returns the enforced policies of a pack, and the configuration to send to it.
pub(super) fn reconcile(
    option: &PolicyPackOption,
    info: &rpc::AnalyzerInfo,
) -> Result<(Vec<Policy>, rpc::ConfigureAnalyzerRequest)> {
    let mut policies = Vec::with_capacity(info.policies.len());
    let mut request = rpc::ConfigureAnalyzerRequest::default();
    for policy in &info.policies {
        let initial = info.initial_config.get(&policy.name);
        let source = option.config_source(&policy.name)?;
        let given = initial.map_or(policy.enforcement_level, |initial| initial.enforcement_level);
        let level = match source.level {
            Some(level) => level,
            None => read_level(given).ok_or_else(|| {
                malformed_info(
                    option,
                    &format!("policy {:?} has the unknown level {given}", policy.name),
                )
            })?,
        };
        let mut properties = initial
            .and_then(|initial| initial.properties.clone())
            .unwrap_or_default();
        let own = to_message(source.properties)?;
        properties.fields.extend(own.fields);
        let schema = policy.config_schema.as_ref();
        let enforced = level != EnforcementLevel::Disabled;
        let missing = schema.into_iter().flat_map(|schema| &schema.required);
        if let Some(missing) = missing
            .filter(|_| enforced)
            .find(|name| !properties.fields.contains_key(*name))
        {
            return Err(Error::invalid(format!(
                "the policy {:?} of the pack {:?} needs the setting {missing:?}",
                policy.name, option.name
            )));
        }
        let config = rpc::PolicyConfig {
            enforcement_level: write_level(level),
            properties: Some(properties),
        };
        request.policy_config.insert(policy.name.clone(), config);
        policies.push(Policy {
            name: policy.name.clone(),
            level,
            is_of_stack: policy.policy_type == i32::from(rpc::PolicyType::Stack),
        });
    }
    Ok((policies, request))
}

fn to_message(members: serde_json::Map<String, serde_json::Value>) -> Result<Struct> {
    let plain: PlainMap = serde_json::from_value(serde_json::Value::Object(members))
        .map_err(|error| Error::invalid(format!("invalid settings of a policy: {error}")))?;
    let properties: PropertyMap = plain.0;
    to_struct(&properties, &EncodeOptions::all("config"))
}

fn malformed_info(option: &PolicyPackOption, why: &str) -> Error {
    Error::new(
        crate::error::ErrorKind::Plugin,
        format!(
            "malformed GetAnalyzerInfo response from policy pack {}: {why}",
            option.name
        ),
    )
}

/// Converts a level of the protocol; `None` if it is unknown.
pub(super) fn read_level(number: i32) -> Option<EnforcementLevel> {
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
pub(super) fn read_severity(number: i32) -> Option<PolicySeverity> {
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

    fn info() -> rpc::AnalyzerInfo {
        let policy = |name: &str, required: &[&str]| rpc::PolicyInfo {
            name: name.to_owned(),
            enforcement_level: 1,
            config_schema: Some(rpc::PolicyConfigSchema {
                properties: None,
                required: required.iter().map(ToString::to_string).collect(),
            }),
            ..rpc::PolicyInfo::default()
        };
        rpc::AnalyzerInfo {
            policies: vec![policy("a", &[]), policy("b", &["limit"])],
            ..rpc::AnalyzerInfo::default()
        }
    }

    fn option(text: &str) -> PolicyPackOption {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn options_override_the_defaults_of_a_pack() {
        let option = option(r#"{"name": "guard", "config": {"all": "advisory", "b": {"limit": 3}}}"#);
        let (policies, request) = reconcile(&option, &info()).unwrap();
        assert!(
            policies
                .iter()
                .all(|policy| policy.level == EnforcementLevel::Advisory)
        );
        let limit = &request.policy_config["b"].properties.as_ref().unwrap().fields["limit"];
        assert_eq!(
            *limit,
            to_message(serde_json::from_str(r#"{"x": 3}"#).unwrap())
                .unwrap()
                .fields["x"]
        );
    }

    #[test]
    fn a_missing_setting_is_named_unless_its_policy_is_disabled() {
        let error = reconcile(&option(r#"{"name": "guard"}"#), &info()).unwrap_err();
        assert!(error.message().contains("\"limit\""), "{error}");
        let disabled = option(r#"{"name": "guard", "config": {"b": "disabled"}}"#);
        assert_eq!(
            reconcile(&disabled, &info()).unwrap().0[1].level,
            EnforcementLevel::Disabled
        );
    }

    #[test]
    fn an_unknown_level_is_refused() {
        let mut info = info();
        info.policies[0].enforcement_level = 9;
        let error = reconcile(&option(r#"{"name": "guard"}"#), &info).unwrap_err();
        assert!(error.message().contains("guard"), "{error}");
    }
}
