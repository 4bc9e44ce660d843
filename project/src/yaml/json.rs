//! Values of files as JSON, and the other way round.

use serde_json::{Map, Number, Value};

use super::{Node, Resolved, Scalar, Style};

impl Node {
    /// Converts to JSON. Dates, and numbers that JSON cannot express, become texts as written.
    #[must_use]
    pub fn to_json_value(&self) -> Value {
        match self {
            Self::Mapping(entries) => {
                let entries = entries
                    .iter()
                    .map(|(name, node)| (name.clone(), node.to_json_value()));
                Value::Object(entries.collect::<Map<_, _>>())
            }
            Self::Sequence(items) => items.iter().map(Self::to_json_value).collect(),
            Self::Scalar(scalar) => {
                let as_text = || Value::from(scalar.text());
                match scalar.resolve() {
                    Resolved::Null => Value::Null,
                    Resolved::Bool(value) => value.into(),
                    Resolved::Integer(value) => Number::from_i128(value).map_or_else(as_text, Value::Number),
                    Resolved::Float(value) => Number::from_f64(value).map_or_else(as_text, Value::Number),
                    Resolved::Date(_) => as_text(),
                    Resolved::String(text) => text.into(),
                }
            }
        }
    }

    /// Creates a node from JSON.
    #[must_use]
    pub fn from_json_value(value: &Value) -> Self {
        let plain = |text: String| Self::Scalar(Scalar::new(text, Style::Plain));
        match value {
            Value::Null => plain("null".to_owned()),
            Value::Bool(value) => plain(value.to_string()),
            Value::Number(number) => plain(number.to_string()),
            Value::String(text) => Self::string(text.as_str()),
            Value::Array(items) => Self::Sequence(items.iter().map(Self::from_json_value).collect()),
            Value::Object(entries) => {
                let entries = entries
                    .iter()
                    .map(|(name, value)| (name.clone(), Self::from_json_value(value)));
                Self::Mapping(entries.collect())
            }
        }
    }
}
