//! Property values in the tree: JSON, shortened.

use std::fmt::Write as _;

use crate::property::PropertyValue;

/// Maximum length of a shown value, in characters.
const MAX_LENGTH: usize = 60;

/// Maximum number of compared characters in two long values.
const MAX_COMPARED_LENGTH: usize = 64 * 1024;

/// Number of characters shown before the first difference of two long values, and the minimum after it.
const CONTEXT_LENGTH: usize = 15;

/// Returns a value on one line; a long one ends with an ellipsis.
pub(super) fn shown(value: &PropertyValue) -> String {
    cut(&written(value, MAX_LENGTH), 0)
}

/// Returns a value on one line, of at most `limit` characters and an ellipsis.
pub(crate) fn value_text(value: &PropertyValue, limit: usize) -> String {
    let mut text = written(value, limit);
    if let Some((end, _)) = text.char_indices().nth(limit) {
        text.truncate(end);
        text.push('…');
    }
    text
}

/// Returns two values, each on one line. Long values with a late first difference are cut before it as well.
pub(super) fn shown_change(old: &PropertyValue, new: &PropertyValue) -> (String, String) {
    let (before, after) = (
        written(old, MAX_COMPARED_LENGTH),
        written(new, MAX_COMPARED_LENGTH),
    );
    let sides = || before.chars().zip(after.chars());
    let place = sides().take_while(|(old, new)| old == new).count();
    let differs = sides().nth(place).is_some();
    let mut start = match differs && place + CONTEXT_LENGTH > MAX_LENGTH {
        true => place.saturating_sub(CONTEXT_LENGTH),
        false => 0,
    };
    // An escape sequence is not split.
    let skipped = before.chars().take(start).collect::<String>();
    let slashes = skipped.chars().rev().take_while(|letter| *letter == '\\').count();
    start -= slashes % 2;
    (cut(&before, start), cut(&after, start))
}

/// Returns the shown part of a text from the character `start` on, with ellipses for omitted parts.
fn cut(text: &str, start: usize) -> String {
    let mut shown = match (start, text.starts_with('"')) {
        (0, _) => String::new(),
        (_, true) => "\"…".to_owned(),
        (_, false) => "…".to_owned(),
    };
    let mut letters = text.chars().skip(start);
    shown.extend(letters.by_ref().take(MAX_LENGTH));
    if letters.next().is_some() {
        shown.push('…');
    }
    shown
}

/// Writes at least the first `limit` characters of a value.
fn written(value: &PropertyValue, limit: usize) -> String {
    let mut text = String::new();
    write(value, limit, &mut text);
    text
}

fn write(value: &PropertyValue, limit: usize, out: &mut String) {
    if out.len() > 4 * limit {
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
            let start: String = text.chars().take(limit + 1).collect();
            let _written = write!(out, "{}", serde_json::Value::String(start));
        }
        PropertyValue::Array(values) => {
            out.push('[');
            for (index, value) in values.iter().enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                write(value, limit, out);
            }
            out.push(']');
        }
        PropertyValue::Object(map) => {
            out.push('{');
            for (index, (key, value)) in map.iter().enumerate() {
                let _written = write!(out, "{}{key}: ", if index > 0 { ", " } else { "" });
                write(value, limit, out);
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
    fn the_first_difference_of_long_values_is_shown() {
        let common = "x".repeat(500);
        let long = |end: &str| PropertyValue::string(format!("{common}{end}"));
        let seen = "x".repeat(CONTEXT_LENGTH);
        let both = |old: &str, new: &str| (format!("\"…{seen}{old}"), format!("\"…{seen}{new}"));
        assert_eq!(shown_change(&long("old"), &long("new")), both("old\"", "new\""));
        assert_eq!(shown_change(&long(""), &long("more")), both("\"", "more\""));
        let tail = "y".repeat(100);
        let (old, new) = shown_change(&long(&format!("1{tail}")), &long(&format!("2{tail}")));
        assert!(old.starts_with(&both("1y", "").0) && old.ends_with('…'), "{old}");
        assert!(new.starts_with(&both("2y", "").0) && new.ends_with('…'), "{new}");
        let (old, new) = shown_change(
            &format!("1{common}").as_str().into(),
            &format!("2{common}").as_str().into(),
        );
        assert!(
            old.starts_with("\"1xx") && new.starts_with("\"2xx"),
            "{old} {new}"
        );
        let list =
            |last: f64| PropertyValue::array((0..100).map(f64::from).chain([last]).map(Into::into).collect());
        let (old, new) = shown_change(&list(1.0), &list(2.0));
        assert!(
            old.starts_with('…') && old.ends_with(", 1]") && new.ends_with(", 2]"),
            "{old} {new}"
        );
        let lines = |end: &str| PropertyValue::string(format!("{}{end}", "\n".repeat(300)));
        let (old, _) = shown_change(&lines("a"), &lines("b"));
        assert!(old.starts_with("\"…\\n") && old.ends_with("\\na\""), "{old}");
    }

    #[test]
    fn secrets_and_unknowns_are_named_as_such() {
        assert_eq!(shown(&PropertyValue::secret("x".into())), "[secret]");
        assert_eq!(shown(&PropertyValue::unknown()), "<unknown>");
    }
}
