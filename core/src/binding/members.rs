//! Parser for the members of a JSON document: an object of limited depth with unique names.

use std::fmt;

use serde::{
    Deserializer,
    de::{self, DeserializeSeed, MapAccess, Visitor},
};
use serde_json::{Map, Value, value::RawValue};

use crate::error::{Error, Result};

/// Maximum nesting of a document: a plan contains values of [`crate::property::MAX_DEPTH`] levels.
const MAX_OPTION_DEPTH: usize = crate::property::MAX_DEPTH + 64;

/// Reads the members of a document. Empty is a document without members. A member that has `x-raw` in the schema is not parsed:
/// its value is a string that holds its JSON.
pub(super) fn members(json: &[u8], schema: &Value, subject: &str) -> Result<Map<String, Value>> {
    if json.is_empty() {
        return Ok(Map::new());
    }
    if json.trim_ascii_start().first() != Some(&b'{') {
        return Err(Error::invalid(format!(
            "the options of {subject} are not a JSON object"
        )));
    }
    if depth(json) > MAX_OPTION_DEPTH {
        let message = format!("the options of {subject} nest deeper than {MAX_OPTION_DEPTH} levels");
        return Err(Error::invalid(message));
    }
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    deserializer.disable_recursion_limit();
    let members = Members { schema }.deserialize(&mut deserializer);
    let members = members.and_then(|members| deserializer.end().map(|()| members));
    match members {
        Ok(members) => Ok(members),
        Err(error) if error.is_data() => Err(Error::invalid(format!("the options of {subject} {error}"))),
        Err(error) => Err(Error::invalid(format!(
            "the options of {subject} are not JSON: {error}"
        ))),
    }
}

/// Returns the nesting depth of the brackets in a JSON text.
fn depth(json: &[u8]) -> usize {
    let (mut depth, mut deepest, mut is_text, mut is_escaped) = (0_usize, 0, false, false);
    for byte in json {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            b'{' | b'[' if !is_text => depth += 1,
            b'}' | b']' if !is_text => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// Reads the members of an object, none of which stands there twice.
struct Members<'a> {
    schema: &'a Value,
}

impl<'de> DeserializeSeed<'de> for Members<'_> {
    type Value = Map<String, Value>;

    fn deserialize<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> std::result::Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Members<'_> {
    type Value = Map<String, Value>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> std::result::Result<Self::Value, A::Error> {
        let mut members = Map::new();
        while let Some(name) = access.next_key::<String>()? {
            let value = if self.schema["properties"][&name]["x-raw"] == true {
                raw(&access.next_value::<Box<RawValue>>()?)
            } else {
                access.next_value()?
            };
            if members.contains_key(&name) {
                return Err(de::Error::custom(format!("have {name:?} twice")));
            }
            members.insert(name, value);
        }
        Ok(members)
    }
}

fn raw(value: &RawValue) -> Value {
    match value.get() {
        "null" => Value::Null,
        json => Value::String(json.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(json: &str) -> String {
        members(json.as_bytes(), &Value::Null, "up()")
            .unwrap_err()
            .message()
            .to_owned()
    }

    #[test]
    fn a_document_is_an_object_whose_members_stand_there_once() {
        assert!(members(b"", &Value::Null, "up()").unwrap().is_empty());
        assert_eq!(refusal("[]"), "the options of up() are not a JSON object");
        assert!(refusal("{").starts_with("the options of up() are not JSON: EOF"));
        assert!(refusal("{} {}").starts_with("the options of up() are not JSON: trailing characters"));
        let twice = refusal(r#"{"dryRun": true, "dryRun": false}"#);
        assert!(
            twice.starts_with("the options of up() have \"dryRun\" twice"),
            "{twice}"
        );
    }

    #[test]
    fn a_document_nests_as_deep_as_a_plan_and_no_deeper() {
        let nested = |levels: usize| format!(r#"{{"plan": {}1{}}}"#, "[".repeat(levels), "]".repeat(levels));
        assert!(
            members(
                nested(crate::property::MAX_DEPTH).as_bytes(),
                &Value::Null,
                "up()"
            )
            .is_ok()
        );
        assert!(refusal(&nested(100_000)).contains("nest deeper than"));
        let brackets = format!(r#"{{"message": "\"{}"}}"#, "[".repeat(100_000));
        assert!(
            members(brackets.as_bytes(), &Value::Null, "up()").is_ok(),
            "brackets in a text do not count"
        );
    }
}
