//! Property values as the tree shows them: JSON, shortened.

use std::fmt::Write as _;

use crate::property::PropertyValue;

/// How many characters of a value are shown.
const MAX_LENGTH: usize = 60;

/// Returns a value on one line; a long one ends with an ellipsis.
pub(super) fn shown(value: &PropertyValue) -> String {
    let mut text = String::new();
    write(value, &mut text);
    let Some((end, _)) = text.char_indices().nth(MAX_LENGTH) else {
        return text;
    };
    text.truncate(end);
    text.push('…');
    text
}

fn write(value: &PropertyValue, out: &mut String) {
    if out.len() > 4 * MAX_LENGTH {
        // Nothing of what follows would be shown.
        return;
    }
    // Writing to a string does not fail.
    match value {
        PropertyValue::Null => out.push_str("null"),
        PropertyValue::Bool(value) => {
            let _written = write!(out, "{value}");
        }
        PropertyValue::Number(number) => {
            let _written = write!(out, "{number}");
        }
        PropertyValue::String(text) if text == "[secret]" => out.push_str(text),
        PropertyValue::String(text) => {
            let start: String = text.chars().take(MAX_LENGTH + 1).collect();
            let _written = write!(out, "{}", serde_json::Value::String(start));
        }
        PropertyValue::Array(values) => {
            out.push('[');
            for (index, value) in values.iter().enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                write(value, out);
            }
            out.push(']');
        }
        PropertyValue::Object(map) => {
            out.push('{');
            for (index, (key, value)) in map.iter().enumerate() {
                let _written = write!(out, "{}{key}: ", if index > 0 { ", " } else { "" });
                write(value, out);
            }
            out.push('}');
        }
        PropertyValue::Asset(_) => out.push_str("<asset>"),
        PropertyValue::Archive(_) => out.push_str("<archive>"),
        PropertyValue::Bytes(bytes) => {
            let _written = write!(out, "<{} bytes>", bytes.len());
        }
        PropertyValue::ResourceReference(reference) => out.push_str(reference.urn.as_str()),
        PropertyValue::Secret(_) => out.push_str("[secret]"),
        PropertyValue::Output(_) | PropertyValue::Unknown(_) => out.push_str("<unknown>"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_are_shortened_and_texts_stay_on_their_line() {
        assert_eq!(shown(&"a\nb".into()), r#""a\nb""#);
        assert_eq!(
            shown(&"x".repeat(500).as_str().into()),
            format!("\"{}…", "x".repeat(59))
        );
        let list = PropertyValue::array(vec![1.0.into(), true.into(), PropertyValue::Null]);
        let map = PropertyValue::Object([("a", list), ("b", "c".into())].into_iter().collect());
        assert_eq!(shown(&map), r#"{a: [1, true, null], b: "c"}"#);
        let many = PropertyValue::array((0..10_000).map(|index| f64::from(index).into()).collect());
        assert!(shown(&many).ends_with('…') && shown(&many).chars().count() == MAX_LENGTH + 1);
    }

    #[test]
    fn secrets_and_unknowns_are_named_as_such() {
        assert_eq!(shown(&PropertyValue::secret("x".into())), "[secret]");
        assert_eq!(shown(&PropertyValue::unknown()), "<unknown>");
    }
}
