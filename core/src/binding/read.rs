//! Reads documents of callers: names in the language's style, and errors in its terms.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{Document, members::members};
use crate::{
    error::{Error, Result},
    message::{Language, is_snake_case_of},
    urn::Urn,
};

/// The name of the only member of an object that stands in for a value of the caller's language.
const STAND_IN: &str = "\0";

/// Reads a document. `subject` names it in errors: `an engine` for "the options of an engine".
///
/// Names are those of the language: `snake_case` from Python, `camelCase` from others. Members that are null count as
/// left out. Errors show the types of values that can be secret, never their text.
///
/// # Errors
/// [`crate::ErrorKind::InvalidInput`] that names the option, what it takes and what was given; for an unknown name, the
/// most similar one, or all names where none is similar.
///
/// ```
/// use stackwright::{Language, binding, operation::OperationOptions};
///
/// let read = |json: &str| binding::read::<OperationOptions>(json.as_bytes(), Language::Python, "an update");
/// assert!(read(r#"{"continue_on_error": true}"#)?.continue_on_error);
/// let error = read(r#"{"continue_on_eror": true}"#).unwrap_err();
/// assert!(error.message().starts_with("unknown option 'continue_on_eror' of an update; did you mean 'continue_on_error'?"));
/// let error = read(r#"{"parallel": "4"}"#).unwrap_err();
/// assert_eq!(error.message(), "parallel takes a whole number from 0 to 2147483647, not a string, in the options of an update");
/// # Ok::<(), stackwright::Error>(())
/// ```
pub fn read<T: Document + DeserializeOwned>(json: &[u8], language: Language, subject: &str) -> Result<T> {
    let schema = T::schema();
    let value = checked::<T>(Value::Object(members(json, schema, subject)?), language, subject)?;
    let document: T = read_checked(value, subject)?;
    document.check()?;
    Ok(document)
}

/// Reads what has been [`checked`].
pub(super) fn read_checked<T: DeserializeOwned>(document: Value, subject: &str) -> Result<T> {
    serde_json::from_value(document)
        .map_err(|error| Error::invalid(format!("invalid options of {subject}: {error}")))
}

/// Checks a document as [`read`] does and returns it with the names of the schema.
///
/// Where the schema has `x-reference`, a [`stand_in`] of such a value is accepted in the place of a text.
pub(super) fn checked<T: Document>(document: Value, language: Language, subject: &str) -> Result<Value> {
    let schema = T::schema();
    let reader = Reader {
        definitions: &schema["$defs"],
        language,
        subject,
    };
    reader.value(document, schema, "")
}

/// Returns what stands in a document for a value of the caller's language that has no JSON, as errors describe it: `a resource`.
#[must_use]
pub fn stand_in(description: &str) -> Value {
    Value::Object(Map::from_iter([(STAND_IN.to_owned(), description.into())]))
}

pub(super) fn stand_in_text(value: &Value) -> Option<&str> {
    let members = value.as_object().filter(|members| members.len() == 1)?;
    members.get(STAND_IN)?.as_str()
}

pub(super) struct Reader<'a> {
    definitions: &'a Value,
    pub(super) language: Language,
    pub(super) subject: &'a str,
}

impl Reader<'_> {
    /// Checks a value against a schema and returns it with the names of the schema.
    fn value(&self, value: Value, whole: &Value, path: &str) -> Result<Value> {
        let schema = self.branch(whole, &value);
        // The description of the whole takes precedence over that of one alternative.
        let described = if whole.get("x-takes").is_some() {
            whole
        } else {
            schema
        };
        if let Some(text) = stand_in_text(&value) {
            let accepts = |schema: &Value| {
                let accepted = schema.get("x-reference").and_then(Value::as_array);
                accepted.is_some_and(|accepted| accepted.iter().any(|it| it == text))
            };
            let is_free = type_of(schema).is_none() && schema.get("enum").is_none();
            return if is_free || accepts(schema) {
                Ok(value)
            } else {
                Err(self.refused(path, described, &value))
            };
        }
        if let Some(names) = schema.get("enum").and_then(Value::as_array) {
            return if names.contains(&value) {
                Ok(value)
            } else {
                Err(self.refused(path, described, &value))
            };
        }
        match (type_of(schema), value) {
            (None, value) => Ok(value),
            (Some("string"), Value::String(text))
                if schema.get("format").is_some_and(|it| it == "urn") && Urn::parse(&text).is_err() =>
            {
                Err(self.refused(path, schema, &Value::String(text)))
            }
            (Some("boolean"), value @ Value::Bool(_)) | (Some("string"), value @ Value::String(_)) => {
                Ok(value)
            }
            (Some("integer"), Value::Number(number)) if is_whole(&number, schema) => {
                Ok(Value::Number(number))
            }
            (Some("number"), Value::Number(number)) if is_in_range(&number, schema) => {
                Ok(Value::Number(number))
            }
            (Some("array"), Value::Array(items)) => {
                let items = items.into_iter().enumerate();
                let item = |(index, item)| self.value(item, &schema["items"], &format!("{path}[{index}]"));
                items.map(item).collect::<Result<_>>().map(Value::Array)
            }
            (Some("object"), Value::Object(members)) => self.object(members, schema, path).map(Value::Object),
            (Some(_), value) => Err(self.refused(path, described, &value)),
        }
    }

    fn object(&self, members: Map<String, Value>, schema: &Value, path: &str) -> Result<Map<String, Value>> {
        let known = schema.get("properties").and_then(Value::as_object);
        let any = Value::Bool(true);
        let free = match schema.get("additionalProperties") {
            Some(Value::Bool(false)) => None,
            free => Some(free.unwrap_or(&any)),
        };
        let mut read = Map::new();
        for (name, value) in members {
            let property = known.and_then(|known| self.property(known, &name));
            let (own, inner) = match (property, free) {
                (Some((own, inner)), _) => (own.clone(), inner),
                (None, Some(free)) => (name.clone(), free),
                (None, None) => return Err(self.unknown(&name, schema, path)),
            };
            // Null is a value where any name is allowed.
            if inner.get("x-raw").is_some() && value.is_string() {
                read.insert(own, value);
            } else if !value.is_null() || property.is_none() {
                let value = self.value(value, inner, &self.joined(path, &name, property.is_none()))?;
                read.insert(own, value);
            }
        }
        match self.missing(schema, &read) {
            None => Ok(read),
            Some(name) => {
                let name = self.language.member(name);
                Err(Error::invalid(match path {
                    "" => format!("the options of {} lack {name}", self.subject),
                    path => format!("{path} lacks {name}, in the options of {}", self.subject),
                }))
            }
        }
    }

    /// Returns a member that an object lacks.
    fn missing<'a>(&self, schema: &'a Value, members: &Map<String, Value>) -> Option<&'a str> {
        let required = schema.get("required").and_then(Value::as_array);
        let required = required.into_iter().flatten().filter_map(Value::as_str);
        let mut missing = required.filter(|name| !members.contains_key(*name));
        missing.find(|name| self.is_known(&schema["properties"][name]))
    }

    /// Whether a property is one of the caller's language.
    pub(super) fn is_known(&self, property: &Value) -> bool {
        let languages = property.get("x-in").and_then(Value::as_array);
        languages.is_none_or(|languages| languages.iter().any(|it| it == self.language.key()))
    }

    /// Follows references and optional types, and picks the alternative of the value's type.
    pub(super) fn branch<'a>(&'a self, schema: &'a Value, value: &Value) -> &'a Value {
        if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
            let name = name.rsplit('/').next().unwrap_or_default();
            return self.branch(&self.definitions[name], value);
        }
        let Some(branches) = schema.get("anyOf").and_then(Value::as_array) else {
            return schema;
        };
        let branches: Vec<_> = branches.iter().map(|branch| self.branch(branch, value)).collect();
        let mut fitting = branches
            .iter()
            .filter(|branch| type_of(branch) == Some(json_type(value)));
        let first = || branches.iter().find(|branch| type_of(branch) != Some("null"));
        fitting.next().or_else(first).copied().unwrap_or(schema)
    }

    fn property<'a>(&self, known: &'a Map<String, Value>, name: &str) -> Option<(&'a String, &'a Value)> {
        let property = match self.language {
            Language::Python => known.iter().find(|(own, _)| is_snake_case_of(name, own)),
            _ => known.get_key_value(name),
        };
        property.filter(|(_, schema)| self.is_known(schema))
    }

    fn joined(&self, path: &str, name: &str, is_free: bool) -> String {
        match (path.is_empty(), is_free, self.language) {
            (true, ..) => name.to_owned(),
            (false, true, Language::Python) => format!("{path}[{name:?}]").replace('"', "'"),
            _ => format!("{path}.{name}"),
        }
    }
}

/// Returns the type of a schema; that of an optional value is the value's. `None` accepts anything.
pub(super) fn type_of(schema: &Value) -> Option<&str> {
    match schema.get("type")? {
        Value::Array(names) => names
            .iter()
            .filter_map(Value::as_str)
            .find(|name| *name != "null"),
        name => name.as_str(),
    }
}

/// Returns the names of a list by language, `{"python": […]}`.
pub(super) fn list_of(lists: &Value, language: Language) -> impl Iterator<Item = &str> {
    let list = lists.get(language.key()).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str)
}

const fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn is_whole(number: &serde_json::Number, schema: &Value) -> bool {
    (number.is_i64() || number.is_u64()) && is_in_range(number, schema)
}

fn is_in_range(number: &serde_json::Number, schema: &Value) -> bool {
    let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
    let number = number.as_f64().unwrap_or(f64::NAN);
    number >= bound("minimum").unwrap_or(f64::NEG_INFINITY)
        && number <= bound("maximum").unwrap_or(f64::INFINITY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        binding::{EngineDocument, PluginDocument},
        operation::OperationOptions,
    };

    fn refusal<T: Document + DeserializeOwned + std::fmt::Debug>(json: &str, language: Language) -> String {
        read::<T>(json.as_bytes(), language, "up()")
            .unwrap_err()
            .message()
            .to_owned()
    }

    #[test]
    fn names_are_those_of_the_language_at_every_depth() {
        let python =
            r#"{"local_policy_packs": [{"name": "a", "download_url": "u", "config": {"a_b": {"c_d": 1}}}]}"#;
        let node =
            r#"{"localPolicyPacks": [{"name": "a", "downloadUrl": "u", "config": {"a_b": {"c_d": 1}}}]}"#;
        let options: OperationOptions = read(python.as_bytes(), Language::Python, "up()").unwrap();
        assert_eq!(options, read(node.as_bytes(), Language::Node, "up()").unwrap());
        assert_eq!(options.local_policy_packs[0].config["a_b"]["c_d"], 1);
        assert!(
            refusal::<OperationOptions>(python, Language::Node)
                .contains("did you mean \"localPolicyPacks\"?")
        );
    }

    #[test]
    fn members_of_a_plan_are_the_document_s_own() {
        for plan in [r#"{"resourcePlans": {"urn:a": {"steps": []}}}"#, r#""{}""#] {
            let json = format!(r#"{{"plan": {plan}}}"#);
            assert!(
                read::<OperationOptions>(json.as_bytes(), Language::Python, "up()")
                    .unwrap()
                    .plan
                    .is_some()
            );
        }
        let message = refusal::<OperationOptions>(r#"{"plan": []}"#, Language::Python);
        assert!(
            message.starts_with("plan takes the result of a preview or a plan's document, not a list"),
            "{message}"
        );
    }

    #[test]
    fn empty_and_null_are_left_out() {
        let options = |json: &str| read::<OperationOptions>(json.as_bytes(), Language::C, "up()").unwrap();
        assert_eq!(options(""), OperationOptions::default());
        assert_eq!(
            options(r#"{"parallel": null, "plan": null}"#),
            OperationOptions::default()
        );
    }

    #[test]
    fn a_value_of_a_wrong_type_is_named_with_its_place_and_what_it_takes_but_not_shown() {
        for (json, message) in [
            (
                r#"{"targets": "s3cret"}"#,
                "targets takes a list of URNs or globs, not a string, in the options of up()",
            ),
            (
                r#"{"targets": [5]}"#,
                "targets[0] takes a string, not a number, in the options of up()",
            ),
            (
                r#"{"refresh": 1}"#,
                "refresh takes True or False, not a number, in the options of up()",
            ),
            (
                r#"{"parallel": -1}"#,
                "parallel takes a whole number from 0 to 2147483647, not -1, in the options of up()",
            ),
            (
                r#"{"parallel": 5000000000}"#,
                "parallel takes a whole number from 0 to 2147483647, not 5000000000, in the options of up()",
            ),
            (
                r#"{"parallel": true}"#,
                "parallel takes a whole number from 0 to 2147483647, not True, in the options of up()",
            ),
            (
                r#"{"local_policy_packs": [5]}"#,
                "local_policy_packs[0] takes a dictionary, not a number, in the options of up()",
            ),
            (
                r#"{"local_policy_packs": [{"nam": "x"}]}"#,
                "unknown member 'nam' of local_policy_packs[0] in the options of up(); did you mean 'name'?",
            ),
        ] {
            assert_eq!(refusal::<OperationOptions>(json, Language::Python), message);
        }
        assert!(
            refusal::<OperationOptions>("{", Language::Python)
                .starts_with("the options of up() are not JSON: EOF")
        );
    }

    #[test]
    fn settings_of_engines_and_plugins_are_read_and_what_is_missing_is_named() {
        let json = r#"{"store": "memory://", "plugins": {"commands": {"a": ["x", "y"], "b": {"program": "z", "environment":
            {"N": "v"}}}, "poolCapacity": 0, "poolIdleLimit": 0.5}, "trustedPeers": [7], "secrets": {"kind": "k"}}"#;
        let settings: EngineDocument = read(json.as_bytes(), Language::C, "an engine").unwrap();
        let (plugins, pool) = settings.plugins.into_settings().unwrap();
        assert_eq!(
            (
                plugins.commands["a"].arguments.len(),
                plugins.commands["b"].environment.len()
            ),
            (1, 1)
        );
        assert_eq!((pool.capacity, pool.idle_limit.as_millis()), (0, 500));
        assert_eq!(
            refusal::<EngineDocument>("{}", Language::C),
            "the options of up() lack store"
        );
        for (json, message) in [
            (
                r#"{"poolCapacity": 1.5}"#,
                "poolCapacity takes a whole number from 0 to 4294967295, not 1.5",
            ),
            (
                r#"{"poolIdleLimit": -1}"#,
                "poolIdleLimit takes a number of seconds from 0, not -1",
            ),
            (
                r#"{"commands": {"a": {"program": "x", "args": []}}}"#,
                "unknown member \"args\" of commands.a in the options of up(); there are: arguments, environment, program",
            ),
            (
                r#"{"commands": {"a": "run"}}"#,
                "commands.a takes a list of strings: the program and its arguments, not a string",
            ),
        ] {
            let refused = refusal::<PluginDocument>(json, Language::C);
            assert!(refused.starts_with(message), "{refused}");
        }
        let empty: PluginDocument = read(br#"{"commands": {"a": []}}"#, Language::C, "an engine").unwrap();
        assert_eq!(
            empty.into_settings().unwrap_err().message(),
            "the command of the plugin a is empty"
        );
        let long = refusal::<PluginDocument>(r#"{"poolAgeLimit": 1e300}"#, Language::C);
        assert!(
            long.starts_with("poolAgeLimit takes a number of seconds"),
            "{long}"
        );
    }

    #[test]
    fn every_property_of_every_document_is_described() {
        for schema in crate::binding::schemas() {
            for (name, property) in schema["properties"].as_object().unwrap() {
                assert!(property["description"].is_string(), "{}.{name}", schema["title"]);
            }
        }
    }
}
