//! The keys of the configuration that hold the secrets of a program.

use rustc_hash::FxHashSet;

use super::{
    names::{Case, identifier},
    program::SecretConfiguration,
    value::{self, Expression},
};
use crate::property::{
    PropertyMap, PropertyValue,
    json::{PlainValue, to_vec},
};

/// Gives each secret value a key of the project's namespace.
pub(super) struct SecretKeys {
    project: String,
    taken: FxHashSet<String>,
    values: SecretConfiguration,
}

impl SecretKeys {
    /// Creates the keys of a project; `taken` are those that its configuration has.
    pub(super) fn new<'a>(project: &str, taken: impl IntoIterator<Item = &'a str>) -> Self {
        Self {
            project: project.to_owned(),
            taken: taken.into_iter().map(str::to_owned).collect(),
            values: SecretConfiguration::default(),
        }
    }

    /// Returns the values by key.
    pub(super) fn into_values(self) -> SecretConfiguration {
        self.values
    }

    /// Returns the value of a key that a secret has been given, as a text.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.values.0.get(key).map(String::as_str)
    }

    /// Returns the inputs of a resource as expressions.
    pub(super) fn inputs(&mut self, resource: &str, inputs: &PropertyMap) -> Vec<(String, Expression)> {
        let mut path = vec![resource.to_owned()];
        self.entries(inputs, &mut path)
    }

    fn entries(&mut self, map: &PropertyMap, path: &mut Vec<String>) -> Vec<(String, Expression)> {
        let mut entries = Vec::with_capacity(map.len());
        for (key, value) in value::declared_entries(map) {
            let expression = self.at(key, value, path);
            entries.push((key.to_owned(), expression));
        }
        entries
    }

    fn at(&mut self, name: &str, value: &PropertyValue, path: &mut Vec<String>) -> Expression {
        path.push(name.to_owned());
        let expression = self.expression(value, path);
        path.pop();
        expression
    }

    /// Returns a value at a path as an expression.
    pub(super) fn expression(&mut self, value: &PropertyValue, path: &mut Vec<String>) -> Expression {
        match value {
            PropertyValue::Null => Expression::Null,
            PropertyValue::Bool(flag) => Expression::Bool(*flag),
            PropertyValue::Number(number) => Expression::Number(*number),
            PropertyValue::String(text) => Expression::Text(text.to_string()),
            PropertyValue::Bytes(bytes) => Expression::Bytes(bytes.to_vec()),
            PropertyValue::Array(values) => {
                let mut list = Vec::with_capacity(values.len());
                for (index, value) in values.iter().enumerate() {
                    list.push(self.at(&index.to_string(), value, path));
                }
                Expression::List(list)
            }
            PropertyValue::Object(map) => Expression::Object(self.entries(map, path)),
            PropertyValue::Asset(asset) => value::asset(asset),
            PropertyValue::Archive(archive) => {
                value::archive(archive, |name, part| self.at(name, part, path))
            }
            PropertyValue::Secret(secret) => self.secret(&secret.element, path),
            PropertyValue::Output(output) => match &output.element {
                Some(element) if output.secret => self.secret(element, path),
                Some(element) => self.expression(element, path),
                None => Expression::Missing("this value is not known before the import"),
            },
            PropertyValue::ResourceReference(_) => {
                Expression::Missing("this value refers to another resource")
            }
            PropertyValue::Unknown(_) => Expression::Missing("this value is not known before the import"),
        }
    }

    /// Gives a secret its key. A text is the value itself, anything else its JSON.
    fn secret(&mut self, element: &PropertyValue, path: &[String]) -> Expression {
        let element = element.without_wrappers();
        let is_special = element.any(&mut |value| {
            matches!(
                value,
                PropertyValue::Asset(_)
                    | PropertyValue::Archive(_)
                    | PropertyValue::Bytes(_)
                    | PropertyValue::ResourceReference(_)
                    | PropertyValue::Unknown(_)
            ) || matches!(value, PropertyValue::Number(number) if !number.is_finite())
        });
        if is_special {
            return Expression::Missing("this secret has parts that a configuration cannot hold");
        }
        let (text, is_text) = match &element {
            PropertyValue::String(text) => (text.to_string(), true),
            // The depth of recorded values is limited, so that each has a JSON.
            other => match to_vec(&PlainValue(other.clone())).map(String::from_utf8) {
                Ok(Ok(json)) => (json, false),
                _ => return Expression::Missing("this secret has no JSON"),
            },
        };
        let key = self.key(path);
        self.values.0.insert(key.clone(), text);
        Expression::Secret { key, is_text }
    }

    /// Returns a free key for a path: the words of its parts, in camel case.
    fn key(&mut self, path: &[String]) -> String {
        let base = format!("{}:{}", self.project, identifier(&path.join("-"), Case::Camel));
        let mut key = base.clone();
        let mut count = 2_usize;
        while !self.taken.insert(key.clone()) {
            key = format!("{base}{count}");
            count += 1;
        }
        key
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_become_keys_and_leave_the_expressions() {
        let json = r#"{
            "password": {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "value": "hunter2"},
            "login": {"keys": [{"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "value": {"a": 1}}]},
            "size": 3, "made": "m", "__defaults": ["made"], "inner": {"__defaults": [], "x": true}
        }"#;
        let inputs = crate::property::json::from_plain_json(json.as_bytes()).unwrap();
        let mut keys = SecretKeys::new("shop", ["shop:webPassword"]);
        let entries = keys.inputs("web", &inputs);
        let expected = [
            (
                "inner",
                Expression::Object(vec![("x".to_owned(), Expression::Bool(true))]),
            ),
            (
                "login",
                Expression::Object(vec![(
                    "keys".to_owned(),
                    Expression::List(vec![Expression::Secret {
                        key: "shop:webLoginKeys0".to_owned(),
                        is_text: false,
                    }]),
                )]),
            ),
            (
                "password",
                Expression::Secret {
                    key: "shop:webPassword2".to_owned(),
                    is_text: true,
                },
            ),
            ("size", Expression::Number(3.0)),
        ];
        assert_eq!(entries, expected.map(|(name, value)| (name.to_owned(), value)));
        let values = keys.into_values();
        assert_eq!(
            format!("{values:?}"),
            r#"{"shop:webLoginKeys0", "shop:webPassword2"}"#
        );
        assert_eq!(values.0["shop:webPassword2"], "hunter2");
        assert_eq!(values.0["shop:webLoginKeys0"], r#"{"a":1}"#);
    }
}
