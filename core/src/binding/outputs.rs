//! The outputs of a stack: each a plain value, with the fact whether it is secret.

use std::{collections::BTreeMap, sync::Arc};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::{
    error::Result,
    property::{
        Output, PropertyMap, PropertyValue,
        json::{PlainValue, to_vec},
    },
};

/// What stands in place of a secret value that is not to be shown.
const MASK: &str = "[secret]";

/// An output of a stack.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OutputValue")]
pub(super) struct OutputDocument {
    /// The value in plain JSON form. Text for display has `[secret]` in place of a secret one.
    #[schemars(with = "Value")]
    value: PlainValue,
    /// Whether the value is secret, or holds a secret.
    secret: bool,
}

/// Returns the outputs of a stack as bindings hand them out: each is an output without dependencies, which is secret where the
/// value is secret or holds a secret, and whose element is plain.
#[must_use]
pub fn output_values(outputs: &PropertyMap) -> PropertyMap {
    let values = outputs.iter().map(|(name, value)| {
        let output = Output {
            element: Some(value.without_wrappers()),
            secret: value.contains_secrets(),
            dependencies: Vec::new(),
        };
        (name.clone(), PropertyValue::Output(Arc::new(output)))
    });
    values.collect()
}

/// Writes the outputs of a stack as JSON: an object with `value` and `secret` by name. Secret values are `[secret]` unless they
/// are to be shown.
///
/// # Errors
/// [`crate::ErrorKind::State`] for values that nest deeper than [`crate::property::MAX_DEPTH`].
pub fn outputs_document(outputs: &PropertyMap, show_secrets: bool) -> Result<Vec<u8>> {
    to_vec(&documents(outputs, show_secrets))
}

/// Returns the documents of outputs by name.
pub(super) fn documents(outputs: &PropertyMap, show_secrets: bool) -> BTreeMap<String, OutputDocument> {
    let documents = outputs.iter().map(|(name, value)| {
        let secret = value.contains_secrets();
        let value = match secret && !show_secrets {
            true => PropertyValue::string(MASK),
            false => value.without_wrappers(),
        };
        let value = PlainValue(value);
        (name.to_string(), OutputDocument { value, secret })
    });
    documents.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outputs() -> PropertyMap {
        let nested: PropertyMap = [
            ("user", "bob".into()),
            ("password", PropertyValue::secret("hunter2".into())),
        ]
        .into_iter()
        .collect();
        [("login", nested.into()), ("size", 3.0.into())]
            .into_iter()
            .collect()
    }

    fn json(show_secrets: bool) -> Value {
        serde_json::from_slice(&outputs_document(&outputs(), show_secrets).unwrap()).unwrap()
    }

    #[test]
    fn an_output_that_holds_a_secret_is_secret_as_a_whole() {
        let login = serde_json::json!({"value": {"user": "bob", "password": "hunter2"}, "secret": true});
        assert_eq!(json(true)["login"], login);
        assert_eq!(
            json(true)["size"],
            serde_json::json!({"value": 3, "secret": false})
        );
        let values = output_values(&outputs());
        let Some(PropertyValue::Output(login)) = values.get("login") else {
            panic!("an output is expected");
        };
        assert!(login.secret && !login.element.as_ref().unwrap().contains_secrets());
    }

    #[test]
    fn secret_outputs_are_masked_unless_they_are_shown() {
        assert_eq!(
            json(false)["login"],
            serde_json::json!({"value": "[secret]", "secret": true})
        );
        assert_eq!(json(false)["size"], json(true)["size"]);
    }
}
