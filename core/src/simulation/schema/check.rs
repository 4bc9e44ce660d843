//! Checks inputs against a schema: names, types and required ones.

use super::{PackageSchema, PropertySchema, Referenced, ResourceSchema, TypeSchema, is_internal, value_of};
use crate::{
    message::nearest_names,
    property::{PropertyMap, PropertyPath, PropertyValue},
    provider::CheckFailure,
};

/// Checks the inputs of one resource.
struct Checker<'a> {
    schema: &'a PackageSchema,
    path: PropertyPath,
    failures: Vec<CheckFailure>,
}

impl PackageSchema {
    /// Returns what is wrong with inputs.
    pub(in crate::simulation) fn check(
        &self,
        resource: &ResourceSchema,
        inputs: &PropertyMap,
    ) -> Vec<CheckFailure> {
        let mut checker = Checker {
            schema: self,
            path: PropertyPath::default(),
            failures: Vec::new(),
        };
        let known = resource.input_properties.iter();
        let known: Vec<_> = known.map(|(name, property)| (name.as_str(), property)).collect();
        checker.object(inputs, &known, &resource.required_inputs);
        checker.failures
    }
}

impl Checker<'_> {
    fn fail(&mut self, reason: String) {
        self.failures.push(CheckFailure {
            property: self.path.to_string(),
            reason,
        });
    }

    fn object(&mut self, values: &PropertyMap, known: &[(&str, &PropertySchema)], required: &[String]) {
        for (name, value) in values.iter().filter(|(name, _)| !is_internal(name)) {
            self.path.push(name.clone());
            match known.iter().find(|(known, _)| known == name) {
                Some((_, property)) => self.value(value, property),
                None => {
                    let names = known.iter().map(|(known, _)| *known);
                    self.fail(match nearest_names(name, names, 1).first() {
                        Some(near) => format!("the schema has no such property; did you mean `{near}`?"),
                        None => "the schema has no such property".to_owned(),
                    });
                }
            }
            self.path.pop();
        }
        for name in required {
            if values.get(name).is_none_or(PropertyValue::is_null) {
                self.path.push(name.as_str());
                self.fail("the schema requires this property".to_owned());
                self.path.pop();
            }
        }
    }

    fn value(&mut self, value: &PropertyValue, property: &PropertySchema) {
        let value = value.unwrapped();
        if matches!(
            value,
            PropertyValue::Unknown(_) | PropertyValue::Output(_) | PropertyValue::Null
        ) {
            return;
        }
        if !property.one_of.is_empty() {
            return self.one_of(value, property);
        }
        if !property.reference.is_empty() {
            if let Referenced::Type(referenced) = self.schema.resolve(&property.reference) {
                self.referenced(value, referenced);
            }
            return;
        }
        match (property.kind.as_str(), value) {
            ("string", PropertyValue::String(_))
            | ("number", PropertyValue::Number(_))
            | ("boolean", PropertyValue::Bool(_))
            | ("", _) => {}
            ("integer", PropertyValue::Number(number)) if number.fract() == 0.0 => {}
            ("array", PropertyValue::Array(values)) => {
                for (index, value) in values.iter().enumerate() {
                    self.path.push(index);
                    property.items.iter().for_each(|items| self.value(value, items));
                    self.path.pop();
                }
            }
            ("object", PropertyValue::Object(values)) => {
                for (name, value) in values.iter().filter(|(name, _)| !is_internal(name)) {
                    self.path.push(name.clone());
                    property
                        .additional_properties
                        .iter()
                        .for_each(|each| self.value(value, each));
                    self.path.pop();
                }
            }
            (kind, other) => self.fail(format!(
                "the schema takes {}, not {}",
                article(kind),
                kind_of(other)
            )),
        }
    }

    /// Accepts a value that one of the alternatives accepts.
    fn one_of(&mut self, value: &PropertyValue, property: &PropertySchema) {
        let before = self.failures.len();
        let mut first = Vec::new();
        for alternative in &property.one_of {
            self.value(value, alternative);
            let failures = self.failures.split_off(before);
            if failures.is_empty() {
                return;
            }
            if first.is_empty() {
                first = failures;
            }
        }
        self.failures.extend(first);
    }

    fn referenced(&mut self, value: &PropertyValue, referenced: &TypeSchema) {
        if !referenced.values.is_empty() {
            let allowed: Vec<PropertyValue> = referenced
                .values
                .iter()
                .map(|each| value_of(&each.value))
                .collect();
            if !allowed.contains(value) {
                let allowed: Vec<String> = allowed.iter().map(|each| format!("{each:?}")).collect();
                self.fail(format!("the schema takes one of {}", allowed.join(", ")));
            }
            return;
        }
        match value {
            PropertyValue::Object(values) => {
                let known = referenced.properties.iter();
                let known: Vec<_> = known.map(|(name, property)| (name.as_str(), property)).collect();
                self.object(values, &known, &referenced.required);
            }
            _ if !matches!(referenced.kind.as_str(), "object" | "") => {}
            other => self.fail(format!("the schema takes an object, not {}", kind_of(other))),
        }
    }
}

fn article(kind: &str) -> &str {
    match kind {
        "string" => "a string",
        "number" => "a number",
        "integer" => "an integer",
        "boolean" => "a boolean",
        "array" => "a list",
        "object" => "an object",
        other => other,
    }
}

const fn kind_of(value: &PropertyValue) -> &'static str {
    match value {
        PropertyValue::Null => "null",
        PropertyValue::Bool(_) => "a boolean",
        PropertyValue::Number(_) => "a number",
        PropertyValue::String(_) => "a string",
        PropertyValue::Bytes(_) => "bytes",
        PropertyValue::Array(_) => "a list",
        PropertyValue::Object(_) => "an object",
        PropertyValue::Asset(_) => "an asset",
        PropertyValue::Archive(_) => "an archive",
        PropertyValue::ResourceReference(_) => "a resource",
        PropertyValue::Secret(_) | PropertyValue::Output(_) | PropertyValue::Unknown(_) => "an output",
    }
}
