//! Values of scenarios: plain JSON with `$secret`, `$unknown`, `$asset` and `$archive`, and the engine's plain JSON form.

use serde_json::{Map, Value, json};

/// The key that marks special values: secrets, assets, archives and others.
pub(crate) const SIGNATURE: &str = "4dabf18193072939515e22adb298388d";
const SECRET: &str = "1b47061264138c4ac30d75fd1eb44270";
const ASSET: &str = "c44067f5952c0a294b673a41bacd8c17";
const ARCHIVE: &str = "0def7320c3a5731c473e5ecbe6d01bc7";
const RESOURCE: &str = "5cf8f73096256a8f31e491e813e4eb8e";
const OUTPUT: &str = "d0e6a833031e9bbcd3f4e8bde6ca49a4";

/// The protocol's marks of unknown values, one for each kind.
const UNKNOWNS: [&str; 7] = [
    "04da6b54-80e4-46f7-96ec-b56ff0331ba9",
    "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",
    "3eeb2bf0-c639-47a8-9e75-3b44932eb421",
    "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",
    "030794c1-ac77-496b-92df-f27374a8bd58",
    "e48ece36-62e2-4504-bad9-02848725956a",
    "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",
];

/// Wraps a value as secret, in the form of scenarios.
#[must_use]
pub fn secret(value: Value) -> Value {
    json!({ "$secret": value })
}

/// Returns an unknown, in the form of scenarios.
#[must_use]
pub fn unknown() -> Value {
    json!({ "$unknown": true })
}

/// Returns whether a value in the form of scenarios is unknown.
#[must_use]
pub fn is_unknown(value: &Value) -> bool {
    value.get("$unknown").is_some()
}

/// Returns whether a value in the form of scenarios contains an unknown at any depth.
#[must_use]
pub fn contains_unknown(value: &Value) -> bool {
    match value {
        Value::Array(values) => values.iter().any(contains_unknown),
        Value::Object(object) => is_unknown(value) || object.values().any(contains_unknown),
        _ => false,
    }
}

/// Returns the value without its secret marks.
#[must_use]
pub fn revealed(value: &Value) -> Value {
    match value {
        Value::Object(object) => match object.get("$secret") {
            Some(inner) => revealed(inner),
            None => Value::Object(
                object
                    .iter()
                    .map(|(key, value)| (key.clone(), revealed(value)))
                    .collect(),
            ),
        },
        Value::Array(values) => values.iter().map(revealed).collect(),
        other => other.clone(),
    }
}

/// Returns whether a text outside of all secrets contains `secret`.
#[must_use]
pub fn contains_in_plain(value: &Value, secret: &str) -> bool {
    match value {
        Value::String(text) => text.contains(secret),
        Value::Array(values) => values.iter().any(|value| contains_in_plain(value, secret)),
        Value::Object(object) => object
            .iter()
            .any(|(key, value)| key != "$secret" && contains_in_plain(value, secret)),
        _ => false,
    }
}

/// Gathers every secret text in a value in the form of scenarios.
pub fn collect_secrets(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| collect_secrets(value, texts)),
        Value::Object(object) => {
            for (key, value) in object {
                if key == "$secret" {
                    collect_texts(value, texts);
                } else {
                    collect_secrets(value, texts);
                }
            }
        }
        _ => {}
    }
}

fn collect_texts(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| collect_texts(value, texts)),
        Value::Object(object) => object.values().for_each(|value| collect_texts(value, texts)),
        _ => {}
    }
}

/// Turns the form of scenarios into the engine's plain JSON form.
#[must_use]
pub fn to_plain(value: &Value) -> Value {
    match value {
        Value::Array(values) => values.iter().map(to_plain).collect(),
        Value::Object(object) => {
            if let Some(inner) = object.get("$secret") {
                return json!({ SIGNATURE: SECRET, "value": to_plain(inner) });
            }
            if object.contains_key("$unknown") {
                return UNKNOWNS[0].into();
            }
            for (mark, signature) in [("$asset", ASSET), ("$archive", ARCHIVE)] {
                if let Some(Value::Object(fields)) = object.get(mark) {
                    let mut fields: Map<_, _> = fields
                        .iter()
                        .map(|(key, value)| (key.clone(), to_plain_fields(value)))
                        .collect();
                    fields.insert(SIGNATURE.into(), signature.into());
                    return fields.into();
                }
            }
            object
                .iter()
                .map(|(key, value)| (key.clone(), to_plain(value)))
                .collect::<Map<_, _>>()
                .into()
        }
        other => other.clone(),
    }
}

/// The assets of an archive are values of their own; its other fields are texts.
fn to_plain_fields(value: &Value) -> Value {
    match value {
        Value::Object(assets) => assets
            .iter()
            .map(|(name, asset)| (name.clone(), to_plain(asset)))
            .collect::<Map<_, _>>()
            .into(),
        other => other.clone(),
    }
}

/// Turns the engine's plain JSON form, or that of an export that shows secrets, into the form of scenarios.
#[must_use]
pub fn from_plain(value: &Value) -> Value {
    match value {
        Value::String(text) if UNKNOWNS.contains(&text.as_str()) => unknown(),
        Value::Array(values) => values.iter().map(from_plain).collect(),
        Value::Object(object) => match object.get(SIGNATURE).and_then(Value::as_str) {
            Some(SECRET) => secret(secret_content(object)),
            Some(OUTPUT) => output_content(object),
            Some(ASSET) => json!({ "$asset": without_signature(object) }),
            Some(ARCHIVE) => json!({ "$archive": without_signature(object) }),
            Some(RESOURCE) => json!({ "$resource": without_signature(object) }),
            _ => object
                .iter()
                .map(|(key, value)| (key.clone(), from_plain(value)))
                .collect::<Map<_, _>>()
                .into(),
        },
        other => other.clone(),
    }
}

fn secret_content(object: &Map<String, Value>) -> Value {
    if let Some(value) = object.get("value") {
        return from_plain(value);
    }
    // An export holds the JSON text of the content.
    match object
        .get("plaintext")
        .and_then(Value::as_str)
        .map(serde_json::from_str::<Value>)
    {
        Some(Ok(value)) => from_plain(&value),
        _ => json!("<encrypted>"),
    }
}

fn output_content(object: &Map<String, Value>) -> Value {
    let content = object.get("value").map_or_else(unknown, from_plain);
    match object.get("secret") {
        Some(Value::Bool(true)) => secret(content),
        _ => content,
    }
}

fn without_signature(object: &Map<String, Value>) -> Value {
    let fields = object.iter().filter(|(key, _)| *key != SIGNATURE);
    fields
        .map(|(key, value)| (key.clone(), from_plain(value)))
        .collect::<Map<_, _>>()
        .into()
}

/// Explains how `actual` differs from `expected`; `None` when it does not.
///
/// Objects in `expected` name the members that matter; a null member must be absent or null. Lists are compared as a
/// whole. The text `*` stands for any text that is not empty; `{$exactly: …}` compares an object as a whole, and `{$contains: …}`
/// names a part of a text.
#[must_use]
pub fn difference(expected: &Value, actual: &Value) -> Option<String> {
    match (expected, actual) {
        (Value::Object(expected), _) if expected.contains_key("$exactly") => {
            let expected = &expected["$exactly"];
            (!equal(expected, actual)).then(|| format!("is {actual}, not exactly {expected}"))
        }
        (Value::Object(expected), _) if expected.contains_key("$contains") => {
            let part = expected["$contains"].as_str().unwrap_or_default();
            let found = actual.as_str().is_some_and(|text| text.contains(part));
            (!found).then(|| format!("is {actual}, without {part:?}"))
        }
        (Value::Object(expected), Value::Object(actual)) => expected.iter().find_map(|(key, expected)| {
            let actual = actual.get(key).unwrap_or(&Value::Null);
            difference(expected, actual).map(|text| format!(".{key}{}{text}", separator(&text)))
        }),
        (Value::Array(expected), Value::Array(found)) => {
            if expected.len() != found.len() {
                return Some(format!("is {actual}, not of {} items", expected.len()));
            }
            expected
                .iter()
                .zip(found)
                .enumerate()
                .find_map(|(index, (expected, actual))| {
                    difference(expected, actual).map(|text| format!("[{index}]{}{text}", separator(&text)))
                })
        }
        (Value::String(pattern), Value::String(text)) if pattern == "*" && !text.is_empty() => None,
        _ => (!equal(expected, actual)).then(|| format!("is {actual}, not {expected}")),
    }
}

fn separator(text: &str) -> &'static str {
    if text.starts_with(['.', '[']) { "" } else { " " }
}

/// Compares two values; numbers by value.
#[must_use]
pub fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| equal(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(key, left)| right.get(key).is_some_and(|right| equal(left, right)))
        }
        _ => left == right,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_survives_the_way_to_the_engine_and_back() {
        let value = json!({
            "n": [1, {"$secret": {"k": "v", "u": {"$unknown": true}}}],
            "a": {"$archive": {"assets": {"f": {"$asset": {"text": "hi"}}}}},
        });
        assert_eq!(from_plain(&to_plain(&value)), value);
    }

    #[test]
    fn an_exported_secret_is_the_content_of_its_plaintext() {
        let exported = json!({ SIGNATURE: SECRET, "plaintext": "{\"k\":1}" });
        assert_eq!(from_plain(&exported), json!({"$secret": {"k": 1}}));
    }

    #[test]
    fn an_object_names_only_the_members_that_matter() {
        let actual = json!({"a": {"b": 1.0, "c": 2}, "d": [1, 2]});
        assert_eq!(
            difference(&json!({"a": {"b": 1}, "e": null, "d": [1, 2]}), &actual),
            None
        );
        assert_eq!(
            difference(&json!({"a": {"b": 3}}), &actual).unwrap(),
            ".a.b is 1.0, not 3"
        );
        assert_eq!(
            difference(&json!({"d": [1]}), &actual).unwrap(),
            ".d is [1,2], not of 1 items"
        );
        assert!(difference(&json!({"a": {"$exactly": {"b": 1}}}), &actual).is_some());
    }

    #[test]
    fn a_star_stands_for_any_text_but_none() {
        assert_eq!(difference(&json!("*"), &json!("x")), None);
        assert!(difference(&json!("*"), &json!("")).is_some());
        assert!(difference(&json!("*"), &json!(null)).is_some());
    }

    #[test]
    fn a_part_of_a_text_is_enough_where_it_is_asked_for() {
        let part = json!({ "$contains": "two" });
        assert_eq!(difference(&part, &json!("my two cents")), None);
        assert!(difference(&part, &json!("my cents")).is_some());
        assert!(difference(&part, &json!(["two"])).is_some());
    }

    #[test]
    fn a_plain_occurrence_is_outside_of_secrets() {
        assert!(contains_in_plain(&json!({"a": ["my two cents"]}), "two"));
        assert!(!contains_in_plain(
            &json!({"a": {"$secret": "two"}, "b": "one"}),
            "two"
        ));
    }

    #[test]
    fn secret_texts_are_found_at_every_depth() {
        let mut texts = Vec::new();
        collect_secrets(
            &json!([{"a": {"$secret": {"k": ["one"]}}}, {"$secret": "two"}, "three"]),
            &mut texts,
        );
        assert_eq!(texts, ["one", "two"]);
    }
}
