//! References of programs, `${handle.path}`, and their resolution.

use serde_json::{Map, Value, json};

use crate::value;

/// One reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The handle of the referenced statement.
    pub handle: String,
    /// `urn`, `id`, or a path in its outputs.
    pub path: Vec<String>,
}

impl Reference {
    /// Reads a text that is a reference as a whole; `None` for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let inner = text.strip_prefix("${")?.strip_suffix('}')?;
        let mut parts = inner
            .split(['.', '['])
            .map(|part| part.trim_end_matches(']').to_owned());
        let handle = parts.next()?;
        Some(Self {
            handle,
            path: parts.collect(),
        })
    }

    /// Resolves the reference in the answer of a statement.
    #[must_use]
    pub fn resolve(&self, answer: &Value, preview: bool) -> Value {
        let missing = || if preview { value::unknown() } else { Value::Null };
        let member = |name: &str| {
            answer
                .get(name)
                .and_then(Value::as_str)
                .filter(|text| !text.is_empty())
        };
        match self.path.first().map(String::as_str) {
            Some("urn") => member("urn").map_or_else(missing, Value::from),
            Some("id") => member("id").map_or_else(value::unknown, |id| value::from_plain(&id.into())),
            _ if answer["unknown"] == json!(true) => value::unknown(),
            _ => {
                let outputs = answer.get("outputs").or_else(|| answer.get("result"));
                let outputs = outputs.map(value::from_plain).unwrap_or_default();
                follow(&outputs, &self.path).unwrap_or_else(missing)
            }
        }
    }
}

/// Follows a path; members of a secret are secret, members of an unknown are unknown.
fn follow(value: &Value, path: &[String]) -> Option<Value> {
    let Some((first, rest)) = path.split_first() else {
        return Some(value.clone());
    };
    if let Some(inner) = value.get("$secret") {
        let taken = follow(inner, path)?;
        return Some(if taken.get("$secret").is_some() {
            taken
        } else {
            value::secret(taken)
        });
    }
    if value::is_unknown(value) {
        return Some(value::unknown());
    }
    let member = match value {
        Value::Array(values) => values.get(first.parse::<usize>().ok()?),
        other => other.get(first),
    };
    follow(member?, rest)
}

/// Calls `visit` with every reference in a value.
pub(super) fn for_each_reference(value: &Value, visit: &mut impl FnMut(Reference)) {
    match value {
        Value::String(text) => Reference::parse(text).into_iter().for_each(visit),
        Value::Array(values) => values.iter().for_each(|value| for_each_reference(value, visit)),
        Value::Object(object) => object.values().for_each(|value| for_each_reference(value, visit)),
        _ => {}
    }
}

/// Replaces every reference in a value.
pub(super) fn replace_references(value: &Value, replace: &mut impl FnMut(Reference) -> Value) -> Value {
    match value {
        Value::String(text) => match Reference::parse(text) {
            Some(reference) => replace(reference),
            None => value.clone(),
        },
        Value::Array(values) => values
            .iter()
            .map(|value| replace_references(value, replace))
            .collect(),
        Value::Object(object) => {
            let entries = object
                .iter()
                .map(|(key, value)| (key.clone(), replace_references(value, replace)));
            entries.collect::<Map<_, _>>().into()
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(text: &str, preview: bool) -> Value {
        let answer = json!({
            "urn": "urn:pulumi:dev::story::t::a",
            "id": "",
            "outputs": {"x": {"list": [1, {"y": 2}]}},
        });
        Reference::parse(text).unwrap().resolve(&answer, preview)
    }

    #[test]
    fn a_reference_goes_into_lists_and_objects() {
        assert_eq!(resolve("${a.x.list[1].y}", false), json!(2));
        assert_eq!(resolve("${a.urn}", false), json!("urn:pulumi:dev::story::t::a"));
    }

    #[test]
    fn what_is_missing_is_unknown_only_in_a_preview() {
        assert_eq!(resolve("${a.z}", false), Value::Null);
        assert_eq!(resolve("${a.z}", true), value::unknown());
        assert_eq!(resolve("${a.id}", true), value::unknown());
    }

    #[test]
    fn what_comes_out_of_a_secret_is_secret() {
        let outputs = json!({"s": {"$secret": {"k": [1]}}});
        let path = ["s".to_owned(), "k".to_owned(), "0".to_owned()];
        assert_eq!(follow(&outputs, &path), Some(value::secret(json!(1))));
    }

    #[test]
    fn only_a_whole_text_is_a_reference() {
        assert_eq!(Reference::parse("is ${a.x}"), None);
        let mut handles = Vec::new();
        for_each_reference(&json!({"p": ["${a.x}", {"q": "${b.id}"}]}), &mut |reference| {
            handles.push(reference.handle);
        });
        assert_eq!(handles, ["a", "b"]);
    }
}
