//! The JSON schema of a policy's settings: their defaults, the types that they have, and the values that are allowed.

use std::collections::BTreeMap;

use smol_str::SmolStr;

use crate::property::{PropertyMap, PropertyValue};

/// What the schema of a policy states about its settings. Other rules of JSON schema are ignored: the pack can check them itself.
#[derive(Debug, Default)]
pub(super) struct SettingsSchema {
    /// The names of the settings that the policy needs.
    pub(super) required: Vec<String>,
    /// The default values.
    pub(super) defaults: PropertyMap,
    rules: BTreeMap<SmolStr, SettingRule>,
}

/// The rule of one setting. An empty list allows everything.
#[derive(Debug)]
struct SettingRule {
    types: Vec<SmolStr>,
    values: Vec<PropertyValue>,
}

impl SettingsSchema {
    /// Reads the `properties` of a schema.
    pub(super) fn new(properties: &PropertyMap, required: Vec<String>) -> Self {
        let mut schema = Self {
            required,
            ..Self::default()
        };
        for (name, rule) in properties.iter() {
            let PropertyValue::Object(rule) = rule else {
                continue;
            };
            if let Some(value) = rule.get("default") {
                schema.defaults.insert(name.clone(), value.clone());
            }
            let types = match rule.get("type") {
                Some(PropertyValue::String(one)) => vec![one.clone()],
                Some(PropertyValue::Array(several)) => several.iter().filter_map(text).collect(),
                _ => Vec::new(),
            };
            let values = match rule.get("enum") {
                Some(PropertyValue::Array(values)) => values.to_vec(),
                _ => Vec::new(),
            };
            schema.rules.insert(name.clone(), SettingRule { types, values });
        }
        schema
    }

    /// Returns what is wrong with the first setting that breaks its rule.
    pub(super) fn fault(&self, settings: &PropertyMap) -> Option<String> {
        let missing = self.required.iter().find(|name| !settings.contains_key(name));
        if let Some(missing) = missing {
            return Some(format!("needs the setting {missing:?}"));
        }
        settings.iter().find_map(|(name, value)| {
            let rule = self.rules.get(name)?;
            let fault = rule.fault(value)?;
            Some(format!("has the setting {name:?}, which {fault}"))
        })
    }
}

impl SettingRule {
    fn fault(&self, value: &PropertyValue) -> Option<String> {
        if !self.types.is_empty() && !self.types.iter().any(|expected| is_of_type(value, expected)) {
            return Some(format!("is no {}", self.types.join(" or ")));
        }
        let is_allowed = self.values.is_empty() || self.values.contains(value);
        (!is_allowed).then(|| {
            let values: Vec<String> = self.values.iter().map(described).collect();
            format!("is none of {}", values.join(", "))
        })
    }
}

fn text(value: &PropertyValue) -> Option<SmolStr> {
    value.as_str().map(SmolStr::from)
}

fn described(value: &PropertyValue) -> String {
    match value {
        PropertyValue::String(text) => format!("{text:?}"),
        PropertyValue::Number(number) => number.to_string(),
        PropertyValue::Bool(flag) => flag.to_string(),
        _ => "another value".to_owned(),
    }
}

/// Returns whether a value has a type of JSON schema. Types that it does not define have every value.
fn is_of_type(value: &PropertyValue, expected: &str) -> bool {
    match expected {
        "string" => matches!(value, PropertyValue::String(_)),
        "number" => matches!(value, PropertyValue::Number(_)),
        "integer" => matches!(value, PropertyValue::Number(number) if number.fract() == 0.0),
        "boolean" => matches!(value, PropertyValue::Bool(_)),
        "array" => matches!(value, PropertyValue::Array(_)),
        "object" => matches!(value, PropertyValue::Object(_)),
        "null" => matches!(value, PropertyValue::Null),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::json::PlainMap;

    fn map(text: &str) -> PropertyMap {
        serde_json::from_str::<PlainMap>(text).unwrap().0
    }

    #[test]
    fn settings_have_the_types_and_the_values_of_their_schema() {
        let properties = r#"{
            "most": {"type": "integer", "default": 1},
            "owner": {"type": ["string", "null"]},
            "size": {"enum": ["small", 3]},
            "odd": true,
            "other": {"type": "colour"}
        }"#;
        let schema = SettingsSchema::new(&map(properties), vec!["most".to_owned()]);
        assert_eq!(schema.defaults, map(r#"{"most": 1}"#));
        let cases = [
            (
                r#"{"most": 2, "owner": null, "size": 3, "odd": 7, "other": []}"#,
                None,
            ),
            (
                r#"{"most": 2, "owner": "me", "size": "small", "unknown": {}}"#,
                None,
            ),
            ("{}", Some(r#"needs the setting "most""#)),
            (
                r#"{"most": "2"}"#,
                Some(r#"has the setting "most", which is no integer"#),
            ),
            (
                r#"{"most": 2.5}"#,
                Some(r#"has the setting "most", which is no integer"#),
            ),
            (
                r#"{"most": 2, "owner": 3}"#,
                Some(r#"has the setting "owner", which is no string or null"#),
            ),
            (
                r#"{"most": 2, "size": "large"}"#,
                Some(r#"has the setting "size", which is none of "small", 3"#),
            ),
        ];
        for (settings, expected) in cases {
            assert_eq!(schema.fault(&map(settings)).as_deref(), expected, "{settings}");
        }
    }
}
