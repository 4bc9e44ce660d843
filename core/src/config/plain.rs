//! Configuration values from JSON, for hosts without typed values.

use serde_json::{Map, Value};

use super::{ConfigValue, reserved};
use crate::{
    error::{Error, Result},
    property::signature::{SECRET, SIGNATURE},
};

impl ConfigValue {
    /// Converts JSON to a value. A secret, at any depth, is the marked object of plain property values, in plaintext;
    /// `{"secure": "<ciphertext>"}` is one that the stack's secrets manager has encrypted.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] for a mark of another type, and for the single key `secure` with a value that
    /// is no text.
    pub fn from_plain_json(value: Value) -> Result<Self> {
        Ok(match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(value),
            Value::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
                (Some(whole), _, _) => Self::Integer(whole.into()),
                (None, Some(whole), _) => Self::Integer(whole.into()),
                (None, None, Some(number)) => Self::Float(number),
                (None, None, None) => return Err(Error::invalid(format!("{number} is out of range"))),
            },
            Value::String(text) => Self::String(text),
            Value::Array(values) => Self::List(
                values
                    .into_iter()
                    .map(Self::from_plain_json)
                    .collect::<Result<_>>()?,
            ),
            Value::Object(entries) if entries.contains_key(SIGNATURE) => {
                return Self::secret_from_plain_json(marked(entries)?);
            }
            Value::Object(entries) if entries.len() == 1 && entries.contains_key("secure") => {
                match entries.into_iter().next() {
                    Some((_, Value::String(ciphertext))) => Self::Secure(ciphertext),
                    _ => return Err(reserved()),
                }
            }
            Value::Object(entries) => Self::Object(
                entries
                    .into_iter()
                    .map(|(name, value)| Ok((name, Self::from_plain_json(value)?)))
                    .collect::<Result<_>>()?,
            ),
        })
    }

    /// Creates a secret from plaintext JSON. A value that is no text is kept as its JSON text.
    ///
    /// # Errors
    /// Those of [`Self::from_plain_json`].
    pub fn secret_from_plain_json(value: Value) -> Result<Self> {
        Ok(match revealed(value)? {
            Value::String(text) => Self::secret(text),
            other => Self::secret(other.to_string()),
        })
    }
}

/// Removes the marks of secrets inside a secret.
fn revealed(value: Value) -> Result<Value> {
    Ok(match value {
        Value::Array(values) => Value::Array(values.into_iter().map(revealed).collect::<Result<_>>()?),
        Value::Object(entries) if entries.contains_key(SIGNATURE) => revealed(marked(entries)?)?,
        Value::Object(entries) => Value::Object(
            entries
                .into_iter()
                .map(|(name, value)| Ok((name, revealed(value)?)))
                .collect::<Result<_>>()?,
        ),
        scalar => scalar,
    })
}

/// Returns the content of a secret.
fn marked(mut entries: Map<String, Value>) -> Result<Value> {
    if entries.len() == 2
        && entries.get(SIGNATURE).and_then(Value::as_str) == Some(SECRET)
        && let Some(content) = entries.remove("value")
    {
        return Ok(content);
    }
    let message = "only texts, numbers, booleans, lists, objects and secrets can be configured";
    Err(Error::invalid(message))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn structures_keep_their_types_and_secrets_stand_at_any_depth() {
        let secret = |value: Value| json!({ SIGNATURE: SECRET, "value": value });
        let value = ConfigValue::from_plain_json(json!({
            "ports": [80, 1.5, 1_234_567_890_123_456_789_i64, u64::MAX], "on": true, "off": null,
            "inner": { "key": secret("k".into()), "sealed": { "secure": "v1:x" } },
            "all": secret(json!({ "a": [secret(7.into())] })),
        }));
        let ConfigValue::Object(entries) = value.unwrap() else {
            panic!("an object")
        };
        let ports = [
            ConfigValue::Integer(80),
            ConfigValue::Float(1.5),
            ConfigValue::Integer(1_234_567_890_123_456_789),
            ConfigValue::Integer(u64::MAX.into()),
        ];
        assert_eq!(entries["ports"], ConfigValue::List(ports.into()));
        assert_eq!(
            (&entries["on"], &entries["off"]),
            (&ConfigValue::Bool(true), &ConfigValue::Null)
        );
        let ConfigValue::Object(inner) = &entries["inner"] else {
            panic!("an object")
        };
        assert_eq!(inner["key"], ConfigValue::secret("k"));
        assert_eq!(inner["sealed"], ConfigValue::Secure("v1:x".to_owned()));
        assert_eq!(entries["all"], ConfigValue::secret(r#"{"a":[7]}"#));
    }

    #[test]
    fn other_marks_and_other_uses_of_secure_are_refused() {
        for wrong in [
            json!({ SIGNATURE: "c44067f5952c0a294b673a41bacd8c17", "text": "x" }),
            json!({ SIGNATURE: SECRET }),
            json!({ SIGNATURE: SECRET, "value": "hunter2", "more": 1 }),
            json!([{ "secure": 3 }]),
            json!({ SIGNATURE: SECRET, "value": [{ SIGNATURE: 1, "value": "hunter2" }] }),
        ] {
            let error = ConfigValue::from_plain_json(wrong).unwrap_err();
            assert_eq!(error.kind(), crate::ErrorKind::InvalidInput);
            assert!(!error.to_string().contains("hunter2"));
        }
    }
}
