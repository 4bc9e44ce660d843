//! What is wrong with a document, in the terms of the caller's language.

use serde_json::Value;

use super::read::{Reader, list_of, stand_in_text, type_of};
use crate::{
    error::Error,
    message::{Language, distance},
};

impl Reader<'_> {
    /// The error of a name that an object does not have.
    pub(super) fn unknown(&self, name: &str, schema: &Value, path: &str) -> Error {
        let known = schema.get("properties").and_then(Value::as_object);
        let known = known.into_iter().flatten();
        let own = known
            .filter(|(_, schema)| self.is_known(schema))
            .map(|(name, _)| name.as_str());
        let beside = schema
            .get("x-beside")
            .map(|beside| list_of(beside, self.language));
        let names = own.chain(beside.into_iter().flatten());
        let mut known: Vec<_> = names.map(|name| self.language.member(name)).collect();
        known.sort();
        let (part, owner) = if path.is_empty() {
            ("option", self.subject.to_owned())
        } else {
            ("member", format!("{path} in the options of {}", self.subject))
        };
        unknown_name(self.language, part, name, &owner, &known)
    }

    /// The error of a value that a schema does not accept.
    pub(super) fn refused(&self, path: &str, schema: &Value, value: &Value) -> Error {
        let (takes, given) = (self.takes(schema), self.described(value, schema));
        if path.is_empty() {
            return Error::invalid(format!(
                "the options of {} are {takes}, not {given}",
                self.subject
            ));
        }
        Error::invalid(format!(
            "{path} takes {takes}, not {given}, in the options of {}",
            self.subject
        ))
    }

    /// Describes the values that a schema accepts.
    fn takes(&self, schema: &Value) -> String {
        if let Some(own) = schema.get("x-takes").and_then(Value::as_str) {
            return own.to_owned();
        }
        if let Some(names) = schema.get("enum").and_then(Value::as_array) {
            let names: Vec<_> = names.iter().filter_map(Value::as_str).collect();
            return format!("one of {}", names.join(", "));
        }
        let range = |noun: &str| match (schema.get("minimum"), schema.get("maximum")) {
            (Some(least), Some(most)) => format!("{noun} from {least} to {most}"),
            (Some(least), None) => format!("{noun} from {least}"),
            _ => noun.to_owned(),
        };
        let is_of = |inner: &str| type_of(self.branch(&schema["items"], &Value::Null)) == Some(inner);
        let words = Words::of(self.language);
        match type_of(schema) {
            Some("boolean") => words.boolean.to_owned(),
            Some("integer") => range("a whole number"),
            Some("number") => range("a number"),
            Some("string") => "a string".to_owned(),
            Some("array") if is_of("string") => format!("{} of strings", words.array),
            Some("array") if is_of("object") => format!("{} of {}", words.array, words.objects),
            Some("array") => words.array.to_owned(),
            _ => words.object.to_owned(),
        }
    }

    /// Describes a value by its type. A number is shown where one is expected, a text where a URN is: that is no secret.
    fn described(&self, value: &Value, schema: &Value) -> String {
        let is_numeric = matches!(type_of(schema), Some("integer" | "number"));
        let words = Words::of(self.language);
        if let Some(text) = stand_in_text(value) {
            return text.to_owned();
        }
        match value {
            Value::String(text) if schema.get("format").is_some_and(|it| it == "urn") => {
                quoted(self.language, text)
            }
            Value::Null => words.null.to_owned(),
            Value::Bool(flag) => words.flags[usize::from(*flag)].to_owned(),
            Value::Number(number) if is_numeric => number.to_string(),
            Value::Number(_) => "a number".to_owned(),
            Value::String(_) => "a string".to_owned(),
            Value::Array(_) => words.array.to_owned(),
            Value::Object(_) => words.object.to_owned(),
        }
    }
}

/// The error of a name that does not exist: `unknown option "parralel" of up(); did you mean "parallel"?`.
///
/// `part` is the noun of a name, and `owner` has them. Where no name is similar, the error lists all that exist.
#[must_use]
pub fn unknown_name<T: AsRef<str>>(
    language: Language,
    part: &str,
    name: &str,
    owner: &str,
    known: &[T],
) -> Error {
    let hint = match nearest(name, known) {
        Some(near) => format!("did you mean {}?", quoted(language, near)),
        None => format!(
            "there are: {}",
            known.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(", ")
        ),
    };
    let name = quoted(language, name);
    Error::invalid(format!("unknown {part} {name} of {owner}; {hint}"))
}

fn quoted(language: Language, text: &str) -> String {
    match language {
        Language::Python => format!("'{text}'"),
        _ => format!("\"{text}\""),
    }
}

/// The names of JSON types in a language.
struct Words {
    null: &'static str,
    boolean: &'static str,
    flags: [&'static str; 2],
    array: &'static str,
    object: &'static str,
    objects: &'static str,
}

impl Words {
    const fn of(language: Language) -> Self {
        match language {
            Language::Python => Self {
                null: "None",
                boolean: "True or False",
                flags: ["False", "True"],
                array: "a list",
                object: "a dictionary",
                objects: "dictionaries",
            },
            Language::Rust | Language::C | Language::Node => Self {
                null: "null",
                boolean: "true or false",
                flags: ["false", "true"],
                array: "an array",
                object: "an object",
                objects: "objects",
            },
        }
    }
}

/// Returns the name that a misspelt one most likely means, if one is similar.
fn nearest<'a, T: AsRef<str>>(misspelt: &str, known: &'a [T]) -> Option<&'a str> {
    let near = known.iter().map(AsRef::as_ref);
    let near = near.map(|name: &str| (distance(misspelt, name), name));
    let near = near.filter(|(distance, name)| distance * 3 <= name.len().max(misspelt.len()));
    near.min().map(|(_, name)| name)
}
