//! Values in the messages of violations, in the format of the reference engine. Secrets are masked.

use std::fmt::Write as _;

use crate::{
    config::number_as_text,
    property::{Key, PropertyValue, Unknown},
};

/// Returns the text of a value: `{2}`, `{hello}`, `{map[a:{1}]}`. `others` are the other values of the same property: a
/// part that is secret in one of them is masked in all, since the values may be the same.
pub(super) fn text(value: &PropertyValue, others: &[&PropertyValue]) -> String {
    let mut text = String::new();
    write(&mut text, value, others);
    text
}

fn write(out: &mut String, value: &PropertyValue, others: &[&PropertyValue]) {
    out.push('{');
    match value {
        // Only objects are compared by name: elements of lists may have moved.
        value if others.iter().any(|other| hides(other, value)) => out.push_str("[secret]"),
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
                write(out, value, &[]);
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
                let others: Vec<_> = others.iter().filter_map(|other| member(other, key)).collect();
                write(out, value, &others);
            }
            out.push(']');
        }
        PropertyValue::Secret(_) => out.push_str("[secret]"),
        PropertyValue::Output(output) if output.secret => out.push_str("[secret]"),
        PropertyValue::Output(output) => match &output.element {
            Some(element) => write(out, element, others),
            None => out.push_str("output<string>{}"),
        },
        PropertyValue::Unknown(unknown) => {
            write!(out, "output<{}>{{}}", kind_of(*unknown)).ok();
        }
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

/// Returns the type name of an unknown value, in the term of the reference engine.
const fn kind_of(unknown: Unknown) -> &'static str {
    match unknown {
        Unknown::Bool => "bool",
        Unknown::Number => "number",
        Unknown::String => "string",
        Unknown::Array => "[]",
        Unknown::Asset => "asset",
        Unknown::Archive => "archive",
        Unknown::Object => "object",
    }
}

/// Returns whether the whole value must be masked because of a secret in another one.
fn hides(other: &PropertyValue, value: &PropertyValue) -> bool {
    match (other, value) {
        (PropertyValue::Object(_), PropertyValue::Object(_)) => false,
        _ => other.survey().secrets,
    }
}

fn member<'a>(value: &'a PropertyValue, key: &Key) -> Option<&'a PropertyValue> {
    match value {
        PropertyValue::Object(map) => map.get(key),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn values_stand_in_braces_as_the_reference_prints_them() {
        let list = PropertyValue::Array(Arc::new(vec![1.0.into(), "x".into()]));
        let map = PropertyValue::Object([("a", true.into()), ("b", list)].into_iter().collect());
        assert_eq!(text(&2.0.into(), &[]), "{2}");
        assert_eq!(text(&1e6.into(), &[]), "{1e+06}");
        assert_eq!(text(&map, &[]), "{map[a:{true} b:{[{1} {x}]}]}");
    }

    #[test]
    fn a_secret_is_masked() {
        let secret = PropertyValue::secret("hidden".into());
        let map = PropertyValue::Object([("a", secret)].into_iter().collect());
        assert_eq!(text(&map, &[]), "{map[a:{[secret]}]}");
    }

    #[test]
    fn a_part_that_is_secret_in_another_value_is_masked() {
        let plain: PropertyValue = "hidden".into();
        let secret = PropertyValue::secret(plain.clone());
        let object = |a: &PropertyValue| {
            PropertyValue::Object([("a", a.clone()), ("b", 1.0.into())].into_iter().collect())
        };
        let list = |element: &PropertyValue| PropertyValue::array(vec![1.0.into(), element.clone()]);
        assert_eq!(text(&plain, &[&plain]), "{hidden}");
        assert_eq!(text(&plain, &[&plain, &secret]), "{[secret]}");
        assert_eq!(
            text(&object(&plain), &[&object(&secret)]),
            "{map[a:{[secret]} b:{1}]}"
        );
        assert_eq!(
            text(&object(&plain), &[&object(&plain)]),
            "{map[a:{hidden} b:{1}]}"
        );
        assert_eq!(text(&list(&plain), &[&list(&secret)]), "{[secret]}");
        assert_eq!(text(&object(&plain), &[&list(&secret)]), "{[secret]}");
        assert_eq!(text(&plain, &[&object(&secret)]), "{[secret]}");
        let nested = |a: &PropertyValue| object(&object(a));
        assert_eq!(
            text(&nested(&plain), &[&nested(&secret)]),
            "{map[a:{map[a:{[secret]} b:{1}]} b:{1}]}"
        );
    }
}
