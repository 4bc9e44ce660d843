//! Values in the texts of violations, in the words of the reference engine; secrets are not told.

use std::fmt::Write as _;

use crate::{project::number_as_text, property::PropertyValue};

/// Returns the text of a value: `{2}`, `{hello}`, `{map[a:{1}]}`.
pub(super) fn text(value: &PropertyValue) -> String {
    let mut text = String::new();
    write(&mut text, value);
    text
}

fn write(out: &mut String, value: &PropertyValue) {
    out.push('{');
    match value {
        PropertyValue::Null => out.push_str("<nil>"),
        PropertyValue::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        PropertyValue::Number(number) => out.push_str(&number_as_text(*number)),
        PropertyValue::String(text) => out.push_str(text),
        PropertyValue::Array(values) => {
            out.push('[');
            for (index, value) in values.iter().enumerate() {
                if index > 0 {
                    out.push(' ');
                }
                write(out, value);
            }
            out.push(']');
        }
        PropertyValue::Object(map) => {
            out.push_str("map[");
            for (index, (key, value)) in map.iter().enumerate() {
                if index > 0 {
                    out.push(' ');
                }
                // Writing to a string cannot fail.
                write!(out, "{key}:").ok();
                write(out, value);
            }
            out.push(']');
        }
        PropertyValue::Secret(_) => out.push_str("[secret]"),
        PropertyValue::Output(output) if output.secret => out.push_str("[secret]"),
        PropertyValue::Output(output) => match &output.element {
            Some(element) => write(out, element),
            None => out.push_str("<unknown>"),
        },
        PropertyValue::Unknown(_) => out.push_str("<unknown>"),
        PropertyValue::Asset(asset) => {
            write!(out, "asset {}", asset.hash).ok();
        }
        PropertyValue::Archive(archive) => {
            write!(out, "archive {}", archive.hash).ok();
        }
        PropertyValue::ResourceReference(reference) => out.push_str(reference.urn.as_str()),
        PropertyValue::Bytes(bytes) => {
            write!(out, "{} bytes", bytes.len()).ok();
        }
    }
    out.push('}');
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn values_stand_in_braces_as_the_reference_prints_them() {
        let list = PropertyValue::Array(Arc::new(vec![1.0.into(), "x".into()]));
        let map = PropertyValue::Object([("a", true.into()), ("b", list)].into_iter().collect());
        assert_eq!(text(&2.0.into()), "{2}");
        assert_eq!(text(&1e6.into()), "{1e+06}");
        assert_eq!(text(&map), "{map[a:{true} b:{[{1} {x}]}]}");
    }

    #[test]
    fn a_secret_is_not_told() {
        let secret = PropertyValue::secret("hidden".into());
        let map = PropertyValue::Object([("a", secret)].into_iter().collect());
        assert_eq!(text(&map), "{map[a:{[secret]}]}");
    }
}
