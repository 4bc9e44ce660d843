//! The schema of a package, as far as a simulated provider follows it.

mod check;
mod function;
mod generate;
mod replace;
mod secrecy;

use std::{borrow::Cow, collections::BTreeMap};

use function::FunctionSchema;
use serde::{Deserialize, Deserializer, de};
use serde_json::Value;

use crate::{
    error::{Error, Result},
    message::nearest_names,
    property::{PropertyMap, PropertyValue, json::PlainValue},
};

/// The schema of a package, as its provider serves it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PackageSchema {
    pub(super) name: String,
    pub(super) resources: BTreeMap<String, ResourceSchema>,
    functions: BTreeMap<String, FunctionSchema>,
    types: BTreeMap<String, TypeSchema>,
    /// The whole document, for programs that ask for it.
    #[serde(skip)]
    pub(super) text: String,
}

/// A resource.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ResourceSchema {
    /// The outputs.
    pub(super) properties: BTreeMap<String, PropertySchema>,
    /// The outputs that are always set.
    pub(super) required: Vec<String>,
    pub(super) input_properties: BTreeMap<String, PropertySchema>,
    pub(super) required_inputs: Vec<String>,
}

/// An object type, or the values of an enumeration.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct TypeSchema {
    #[serde(rename = "type", deserialize_with = "kind")]
    kind: String,
    properties: BTreeMap<String, PropertySchema>,
    required: Vec<String>,
    #[serde(rename = "enum")]
    values: Vec<EnumValue>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct EnumValue {
    value: Value,
}

/// A property, or the element of a list or a map.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct PropertySchema {
    #[serde(rename = "type", deserialize_with = "kind")]
    kind: String,
    #[serde(rename = "$ref")]
    reference: String,
    items: Option<Box<Self>>,
    additional_properties: Option<Box<Self>>,
    one_of: Vec<Self>,
    pub(super) secret: bool,
    default: Option<Value>,
    #[serde(rename = "const")]
    constant: Option<Value>,
    replace_on_changes: bool,
    will_replace_on_changes: bool,
    /// As schemas of bridged providers name it.
    force_new: bool,
}

pub(super) use function::FunctionCall;

/// The types of values; without one, any value is accepted.
const KINDS: [&str; 7] = ["", "array", "boolean", "integer", "number", "object", "string"];

/// Reads a type: with one that is misspelt, the check of each value would fail.
fn kind<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<String, D::Error> {
    let kind = String::deserialize(deserializer)?;
    if KINDS.contains(&kind.as_str()) {
        return Ok(kind);
    }
    let kinds = KINDS[1..].join(", ");
    Err(de::Error::custom(format!(
        "it has the type {kind:?}; there are: {kinds}"
    )))
}

/// What a reference names.
enum Referenced<'a> {
    Type(&'a TypeSchema),
    /// An asset, an archive, a resource, or anything.
    Other,
}

impl PackageSchema {
    /// Reads the schema of a package.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] for a document that is no schema.
    pub(super) fn read(document: &Value) -> Result<Self> {
        let refused = |why: &str| Error::invalid(format!("the schema is no schema of a package: {why}"));
        let mut schema = Self::deserialize(document).map_err(|error| refused(&error.to_string()))?;
        if schema.name.is_empty() {
            return Err(refused("it has no member `name`"));
        }
        schema.text = document.to_string();
        Ok(schema)
    }

    /// Returns the error of a type that the schema lacks, with the most similar one.
    pub(super) fn unknown_type(&self, token: &str) -> Option<String> {
        if self.resources.contains_key(token) {
            return None;
        }
        let near = nearest_names(token, self.resources.keys().map(String::as_str), 1);
        let hint = match near.first() {
            Some(near) => format!("; did you mean `{near}`?"),
            None => String::new(),
        };
        Some(format!(
            "the schema of {} has no resource {token}{hint}",
            self.name
        ))
    }

    /// Returns the schema of a resource.
    pub(super) fn resource(&self, token: &str) -> Option<&ResourceSchema> {
        self.resources.get(token)
    }

    fn resolve(&self, reference: &str) -> Referenced<'_> {
        let Some(token) = reference.strip_prefix("#/types/") else {
            return Referenced::Other;
        };
        let token = match token.contains('%') {
            true => Cow::Owned(token.replace("%2F", "/").replace("%2f", "/")),
            false => Cow::Borrowed(token),
        };
        self.types
            .get(&*token)
            .map_or(Referenced::Other, Referenced::Type)
    }
}

/// Returns a value of a schema as a property value.
fn value_of(json: &Value) -> PropertyValue {
    PlainValue::deserialize(json)
        .map(|value| value.0)
        .unwrap_or_default()
}

/// Returns whether a property is the engine's or the provider's own.
fn is_internal(name: &str) -> bool {
    name.starts_with("__")
}

impl ResourceSchema {
    /// Adds defaults and constants of inputs that are left out.
    pub(super) fn complete(&self, inputs: &mut PropertyMap) {
        for (name, property) in &self.input_properties {
            let default = property.constant.as_ref().or(property.default.as_ref());
            let is_left_out = inputs.get(name).is_none_or(PropertyValue::is_null);
            if let (true, Some(default)) = (is_left_out, default) {
                inputs.insert(name.as_str(), value_of(default));
            }
        }
    }
}

#[cfg(test)]
mod tests;
