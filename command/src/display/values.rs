//! Outputs as text, in the reference engine's layout: lists and objects over several lines, secrets masked.

use stackwright::property::{PropertyMap, PropertyValue};

/// What is shown in place of a secret.
pub(super) const MASKED: &str = "[secret]";
/// The indentation of one level.
const LEVEL: &str = "    ";

/// Returns the lines of the outputs: those that stay, and those that a run adds, changes or removes.
pub(super) fn lines(old: Option<&PropertyMap>, new: &PropertyMap) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, value) in new.iter() {
        let shown = shown(value, 2);
        lines.push(match old.map(|old| old.get(name)) {
            None => format!("    {name}: {shown}"),
            Some(None) => format!("  + {name}: {shown}"),
            Some(Some(before)) if before == value => format!("    {name}: {shown}"),
            Some(Some(before)) => format!("  ~ {name}: {} => {shown}", self::shown(before, 2)),
        });
    }
    let removed = old.into_iter().flat_map(PropertyMap::iter);
    for (name, value) in removed.filter(|(name, _)| !new.contains_key(name)) {
        lines.push(format!("  - {name}: {}", shown(value, 2)));
    }
    lines
}

/// Returns values with the plaintext of their secrets.
pub(super) fn revealed(map: &PropertyMap) -> PropertyMap {
    map.iter()
        .map(|(name, value)| (name.clone(), revealed_value(value)))
        .collect()
}

pub(super) fn revealed_value(value: &PropertyValue) -> PropertyValue {
    match value {
        PropertyValue::Array(items) => PropertyValue::array(items.iter().map(revealed_value).collect()),
        PropertyValue::Object(members) => revealed(members).into(),
        PropertyValue::Output(output) if output.secret => match &output.element {
            Some(element) => revealed_value(element),
            None => value.clone(),
        },
        PropertyValue::Secret(_) => revealed_value(value.unwrapped()),
        other => other.clone(),
    }
}

/// Returns a value; its parts are indented by `depth` levels.
pub(super) fn shown(value: &PropertyValue, depth: usize) -> String {
    let indent = LEVEL.repeat(depth);
    let end = LEVEL.repeat(depth - 1);
    match value {
        PropertyValue::Null => "<null>".to_owned(),
        PropertyValue::Bool(value) => value.to_string(),
        PropertyValue::Number(value) => value.to_string(),
        PropertyValue::String(text) => format!("{:?}", text.as_str()),
        PropertyValue::Secret(_) => MASKED.to_owned(),
        PropertyValue::Array(items) if items.is_empty() => "[]".to_owned(),
        PropertyValue::Array(items) => {
            let items = items.iter().enumerate();
            let items: String = items
                .map(|(index, item)| format!("{indent}[{index}]: {}\n", shown(item, depth + 1)))
                .collect();
            format!("[\n{items}{end}]")
        }
        PropertyValue::Object(members) if members.is_empty() => "{}".to_owned(),
        PropertyValue::Object(members) => {
            let members = members.iter();
            let members: String = members
                .map(|(name, member)| format!("{indent}{name}: {}\n", shown(member, depth + 1)))
                .collect();
            format!("{{\n{members}{end}}}")
        }
        PropertyValue::Output(output) if output.secret => MASKED.to_owned(),
        PropertyValue::Output(output) => match &output.element {
            Some(element) => shown(element, depth),
            None => "[unknown]".to_owned(),
        },
        PropertyValue::Unknown(_) => "[unknown]".to_owned(),
        PropertyValue::Asset(_) => "asset".to_owned(),
        PropertyValue::Archive(_) => "archive".to_owned(),
        PropertyValue::Bytes(_) => "bytes".to_owned(),
        PropertyValue::ResourceReference(reference) => format!("{:?}", reference.urn.as_str()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(entries: &[(&str, PropertyValue)]) -> PropertyMap {
        entries.iter().cloned().collect()
    }

    #[test]
    fn outputs_are_marked_by_what_happens_to_them() {
        let old = map(&[("gone", "a".into()), ("kept", 1.5.into()), ("size", "x".into())]);
        let new = map(&[
            ("kept", 1.5.into()),
            ("new", PropertyValue::secret("s".into())),
            ("size", "y".into()),
        ]);
        assert_eq!(
            lines(Some(&old), &new),
            [
                "    kept: 1.5",
                "  + new: [secret]",
                "  ~ size: \"x\" => \"y\"",
                "  - gone: \"a\""
            ]
        );
    }

    #[test]
    fn structures_have_a_line_for_each_part() {
        let list = PropertyValue::array(vec!["a".into(), map(&[("b", true.into())]).into()]);
        assert_eq!(
            lines(None, &map(&[("list", list)])),
            ["    list: [\n        [0]: \"a\"\n        [1]: {\n            b: true\n        }\n    ]"]
        );
    }
}
