//! The text of a diagnostic or an error, in two forms.

use std::{borrow::Cow, fmt};

use serde_json::{Map, Value};

use super::catalog::Message;

/// The text of a diagnostic or an error. Most texts are the same for tools and users; the text of a message has two
/// forms.
#[derive(Clone, PartialEq, Eq)]
pub struct Text(Form);

#[derive(Clone, PartialEq, Eq)]
enum Form {
    Plain(String),
    Coded(Box<Coded>),
}

#[derive(Clone, PartialEq, Eq)]
struct Coded {
    code: &'static str,
    arguments: Map<String, Value>,
    reference: String,
    library: String,
}

impl Text {
    /// Creates a text with two forms and no code: `reference` for tools, `library` for users.
    #[must_use]
    pub fn pair(reference: impl Into<String>, library: impl Into<String>) -> Self {
        let (reference, library) = (reference.into(), library.into());
        if reference == library {
            return Self(Form::Plain(library));
        }
        Self(Form::Coded(Box::new(Coded {
            code: "",
            arguments: Map::new(),
            reference,
            library,
        })))
    }

    /// Returns the text of the reference engine, which tools match on: that of event JSON and of the protocol.
    #[must_use]
    pub fn reference(&self) -> &str {
        match &self.0 {
            Form::Plain(text) => text,
            Form::Coded(coded) => &coded.reference,
        }
    }

    /// Returns the library's text. It names no command, file, variable or path that this library does not use.
    #[must_use]
    pub fn library(&self) -> &str {
        match &self.0 {
            Form::Plain(text) => text,
            Form::Coded(coded) => &coded.library,
        }
    }

    /// Returns whether one of the two texts contains `part`.
    #[must_use]
    pub fn contains(&self, part: &str) -> bool {
        self.reference().contains(part) || self.library().contains(part)
    }

    /// Returns the code of the message; `None` for a text without one.
    #[must_use]
    pub fn code(&self) -> Option<&'static str> {
        match &self.0 {
            Form::Coded(coded) if !coded.code.is_empty() => Some(coded.code),
            _ => None,
        }
    }

    /// Returns the arguments of the message by name; `None` for a text without a code.
    #[must_use]
    pub fn arguments(&self) -> Option<&Map<String, Value>> {
        match &self.0 {
            Form::Coded(coded) if !coded.code.is_empty() => Some(&coded.arguments),
            _ => None,
        }
    }

    /// Changes each of the two texts; code and arguments stay.
    #[must_use]
    pub(crate) fn map(
        &self,
        reference: impl FnOnce(&str) -> String,
        library: impl FnOnce(&str) -> String,
    ) -> Self {
        let (changed, shown) = (reference(self.reference()), library(self.library()));
        match &self.0 {
            Form::Plain(_) => Self::pair(changed, shown),
            Form::Coded(coded) => Self(Form::Coded(Box::new(Coded {
                code: coded.code,
                arguments: coded.arguments.clone(),
                reference: changed,
                library: shown,
            }))),
        }
    }

    /// Applies `scrub` to every text; `None` when nothing changes.
    pub(crate) fn scrubbed<'a>(&'a self, scrub: impl Fn(&'a str) -> Cow<'a, str>) -> Option<Self> {
        let scrub = |text: &'a str| match scrub(text) {
            Cow::Owned(scrubbed) => Some(scrubbed),
            Cow::Borrowed(_) => None,
        };
        match &self.0 {
            Form::Plain(text) => scrub(text).map(|text| Self(Form::Plain(text))),
            Form::Coded(coded) => {
                let (reference, library) = (scrub(&coded.reference), scrub(&coded.library));
                let mut arguments = coded.arguments.clone();
                let mut changed = reference.is_some() || library.is_some();
                for (name, original) in &coded.arguments {
                    if let Some(value) = scrubbed_value(original, &scrub) {
                        arguments.insert(name.clone(), value);
                        changed = true;
                    }
                }
                changed.then(|| {
                    Self(Form::Coded(Box::new(Coded {
                        code: coded.code,
                        arguments,
                        reference: reference.unwrap_or_else(|| coded.reference.clone()),
                        library: library.unwrap_or_else(|| coded.library.clone()),
                    })))
                })
            }
        }
    }
}

fn scrubbed_value<'a>(value: &'a Value, scrub: &impl Fn(&'a str) -> Option<String>) -> Option<Value> {
    match value {
        Value::String(text) => scrub(text).map(Value::String),
        Value::Array(values) => {
            let scrubbed: Vec<_> = values.iter().map(|value| scrubbed_value(value, scrub)).collect();
            scrubbed.iter().any(Option::is_some).then(|| {
                let pairs = scrubbed.into_iter().zip(values);
                Value::Array(
                    pairs
                        .map(|(scrubbed, value)| scrubbed.unwrap_or_else(|| value.clone()))
                        .collect(),
                )
            })
        }
        Value::Object(members) => {
            let mut changed = None;
            for (name, value) in members {
                if let Some(value) = scrubbed_value(value, scrub) {
                    changed
                        .get_or_insert_with(|| members.clone())
                        .insert(name.clone(), value);
                }
            }
            changed.map(Value::Object)
        }
        _ => None,
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self(Form::Plain(text))
    }
}

impl From<&String> for Text {
    fn from(text: &String) -> Self {
        Self(Form::Plain(text.clone()))
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(Form::Plain(text.to_owned()))
    }
}

impl From<Message<'_>> for Text {
    fn from(message: Message<'_>) -> Self {
        Self(Form::Coded(Box::new(Coded {
            code: message.code(),
            arguments: message.arguments(),
            reference: message.reference(),
            library: message.library(),
        })))
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.library(), formatter)
    }
}

impl fmt::Display for Text {
    /// Writes the library's text.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.library())
    }
}
