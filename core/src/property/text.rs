//! Property values as messages show them.

use super::PropertyValue;

/// Formats a value in braces, as the reference engine does in messages. A secret value is not shown.
pub(crate) fn in_braces(value: Option<&PropertyValue>) -> String {
    value.map_or_else(
        || "{<nil>}".to_owned(),
        |value| format!("{{{}}}", plain_text(value)),
    )
}

/// Formats a value as the reference engine does in messages. A secret value is not shown.
pub(crate) fn plain_text(value: &PropertyValue) -> String {
    match value {
        PropertyValue::String(text) => text.to_string(),
        PropertyValue::Null => "<nil>".to_owned(),
        PropertyValue::Number(number) => number.to_string(),
        _ if value.contains_secrets() => "[secret]".to_owned(),
        _ => format!("{value:?}"),
    }
}
