//! The configuration of a pack's policies: the options override the defaults of the pack.

use super::{PolicyPackOption, schema::SettingsSchema};
use crate::{
    error::{Error, ErrorKind, Result},
    event::EnforcementLevel,
    property::{PropertyMap, json::PlainMap},
};

/// A policy as its pack declares it.
pub(super) struct DeclaredPolicy {
    pub(super) name: String,
    /// The default level, or the number of an unknown one.
    pub(super) level: Result<EnforcementLevel, i32>,
    /// True if it analyzes all resources together.
    pub(super) is_of_stack: bool,
    /// The settings with which the pack begins. They override the defaults of the schema.
    pub(super) settings: PropertyMap,
    /// The rules of its settings.
    pub(super) schema: SettingsSchema,
}

/// A policy with its effective level and settings.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct EnforcedPolicy {
    pub(super) name: String,
    pub(super) level: EnforcementLevel,
    /// True if it analyzes all resources together.
    pub(super) is_of_stack: bool,
    pub(super) settings: PropertyMap,
}

impl EnforcedPolicy {
    /// Returns whether the policy runs.
    pub(super) fn is_enabled(&self) -> bool {
        self.level != EnforcementLevel::Disabled
    }
}

/// Returns the policies of a pack with the levels and settings of the options.
///
/// # Errors
/// [`ErrorKind::InvalidInput`] for a missing setting and one that breaks its schema, [`ErrorKind::Plugin`] for an unknown level; both name the pack.
pub(super) fn reconcile(
    option: &PolicyPackOption,
    declared: Vec<DeclaredPolicy>,
) -> Result<Vec<EnforcedPolicy>> {
    let policies = declared.into_iter().map(|policy| {
        let source = option.config_source(&policy.name)?;
        let level = match source.level {
            Some(level) => level,
            None => policy.level.map_err(|number| {
                malformed_info(
                    option,
                    &format!("policy {:?} has the unknown level {number}", policy.name),
                )
            })?,
        };
        let mut settings = policy.schema.defaults.clone();
        for given in [policy.settings, to_properties(source.properties)?] {
            for (name, value) in given {
                settings.insert(name, value);
            }
        }
        let enforced = EnforcedPolicy {
            name: policy.name,
            level,
            is_of_stack: policy.is_of_stack,
            settings,
        };
        let fault = policy.schema.fault(&enforced.settings);
        match fault.filter(|_| enforced.is_enabled()) {
            Some(fault) => Err(Error::invalid(format!(
                "the policy {:?} of the pack {:?} {fault}",
                enforced.name, option.name
            ))),
            None => Ok(enforced),
        }
    });
    policies.collect()
}

fn to_properties(members: serde_json::Map<String, serde_json::Value>) -> Result<PropertyMap> {
    let plain: PlainMap = serde_json::from_value(serde_json::Value::Object(members))
        .map_err(|error| Error::invalid(format!("invalid settings of a policy: {error}")))?;
    Ok(plain.0)
}

/// Creates the error of a pack whose description of itself cannot be read.
pub(super) fn malformed_info(option: &PolicyPackOption, why: &str) -> Error {
    Error::new(
        ErrorKind::Plugin,
        format!(
            "malformed GetAnalyzerInfo response from policy pack {}: {why}",
            option.name
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::PropertyValue;

    fn limit() -> serde_json::Map<String, serde_json::Value> {
        let schema = serde_json::json!({"limit": {"type": "number"}, "unit": {"default": "pieces"}});
        schema.as_object().unwrap().clone()
    }

    fn declared() -> Vec<DeclaredPolicy> {
        let policy = |name: &str, required: &[&str]| DeclaredPolicy {
            name: name.to_owned(),
            level: Ok(EnforcementLevel::Mandatory),
            is_of_stack: false,
            settings: PropertyMap::new(),
            schema: SettingsSchema::new(
                &to_properties(limit()).unwrap(),
                required.iter().map(ToString::to_string).collect(),
            ),
        };
        vec![policy("a", &[]), policy("b", &["limit"])]
    }

    fn option(text: &str) -> PolicyPackOption {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn options_override_the_defaults_of_a_pack() {
        let option = option(r#"{"name": "guard", "config": {"all": "advisory", "b": {"limit": 3}}}"#);
        let policies = reconcile(&option, declared()).unwrap();
        assert!(
            policies
                .iter()
                .all(|policy| policy.level == EnforcementLevel::Advisory)
        );
        let limit = policies[1].settings.get("limit").unwrap();
        assert_eq!(*limit, PropertyValue::Number(3.0));
        let unit = policies[1].settings.get("unit").unwrap();
        assert_eq!(*unit, PropertyValue::from("pieces"));
    }

    #[test]
    fn a_missing_or_wrong_setting_is_named_unless_its_policy_is_disabled() {
        let error = reconcile(&option(r#"{"name": "guard"}"#), declared()).unwrap_err();
        assert!(error.message().contains("\"limit\""), "{error}");
        let text = option(r#"{"name": "guard", "config": {"b": {"limit": "three"}}}"#);
        let error = reconcile(&text, declared()).unwrap_err();
        assert_eq!(
            error.message(),
            r#"the policy "b" of the pack "guard" has the setting "limit", which is no number"#
        );
        let disabled = option(r#"{"name": "guard", "config": {"b": "disabled"}}"#);
        assert_eq!(
            reconcile(&disabled, declared()).unwrap()[1].level,
            EnforcementLevel::Disabled
        );
    }

    #[test]
    fn an_unknown_level_is_refused_unless_the_options_set_one() {
        let mut unknown = declared();
        unknown[0].level = Err(9);
        let error = reconcile(
            &option(r#"{"name": "guard", "config": {"b": "disabled"}}"#),
            unknown,
        )
        .unwrap_err();
        assert!(error.message().contains("guard"), "{error}");
        let mut unknown = declared();
        unknown[0].level = Err(9);
        let set = option(r#"{"name": "guard", "config": {"all": "disabled"}}"#);
        assert!(reconcile(&set, unknown).is_ok());
    }
}
