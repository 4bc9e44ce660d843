//! The configuration of providers in the SDKs: their classes write a property that is no string as its JSON, so that programs give
//! them the value in it.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::{Value, value::RawValue};

use super::{schema::PackageSchema, secret_keys::SecretKeys, value::Expression};
use crate::property::{json::PlainValue, signature::SIGNATURE};

/// The entries of a JSON object in their order, which the class keeps when it writes them.
struct Entries<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Entries<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Ordered;

        impl<'de> Visitor<'de> for Ordered {
            type Value = Entries<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry::<Cow<'de, str>, &'de RawValue>()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }

        deserializer.deserialize_map(Ordered)
    }
}

/// Returns the arguments of a provider's class. A text of a property that is no string is its JSON; one that is no JSON is kept,
/// as is everything that is no text.
pub(super) fn arguments(
    keys: &mut SecretKeys,
    resource: &str,
    inputs: &[(String, Expression)],
    schema: &PackageSchema,
) -> Vec<(String, Expression)> {
    let argument = |(key, value): &(String, Expression)| {
        let property = schema.provider.input_properties.get(key);
        let is_encoded = property.is_some_and(|property| !schema.is_string(property));
        let decoded = is_encoded.then(|| {
            let mut path = vec![resource.to_owned(), key.clone()];
            decoded(keys, value, &mut path)
        });
        (key.clone(), decoded.flatten().unwrap_or_else(|| value.clone()))
    };
    inputs.iter().map(argument).collect()
}

/// Returns the value of which an argument is the JSON.
fn decoded(keys: &mut SecretKeys, value: &Expression, path: &mut Vec<String>) -> Option<Expression> {
    match value {
        Expression::Text(text) => {
            // What is read below is JSON of a limited depth.
            is_json(text).then_some(())?;
            of_json(keys, text, path)
        }
        Expression::Secret { key, is_text: true } => {
            let is_json = keys.text(key).is_some_and(is_json);
            is_json.then(|| Expression::Secret {
                key: key.clone(),
                is_text: false,
            })
        }
        _ => None,
    }
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok()
}

/// Returns the expression of a JSON text. A secret in it becomes a key of the configuration.
fn of_json(keys: &mut SecretKeys, text: &str, path: &mut Vec<String>) -> Option<Expression> {
    let text = text.trim_ascii();
    let mut inner = |name: String, text: &str| {
        path.push(name);
        let value = of_json(keys, text, path);
        path.pop();
        value
    };
    match text.as_bytes().first()? {
        b'[' => {
            let values: Vec<&RawValue> = serde_json::from_str(text).ok()?;
            let values = values.iter().enumerate();
            let values = values.map(|(index, value)| inner(index.to_string(), value.get()));
            values.collect::<Option<_>>().map(Expression::List)
        }
        b'{' => {
            let Entries(entries) = serde_json::from_str(text).ok()?;
            if entries.iter().any(|(key, _)| key == SIGNATURE) {
                // A value with a signature is what it is in any other input.
                let PlainValue(value) = serde_json::from_str(text).ok()?;
                return Some(keys.expression(&value, path));
            }
            let entries = entries.into_iter();
            let entries =
                entries.map(|(key, value)| Some((key.to_string(), inner(key.to_string(), value.get())?)));
            entries.collect::<Option<_>>().map(Expression::Object)
        }
        _ => Some(match serde_json::from_str(text).ok()? {
            Value::Bool(flag) => Expression::Bool(flag),
            Value::Number(number) => Expression::Number(number.as_f64()?),
            Value::String(text) => Expression::Text(text),
            Value::Null | Value::Array(_) | Value::Object(_) => Expression::Null,
        }),
    }
}
