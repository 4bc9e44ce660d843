//! Names: URNs and provider references as scenarios write them.

use serde_json::{Map, Value};

use crate::value;

/// Returns the name of a URN's resource in scenarios.
pub(crate) fn name(urn: &str) -> String {
    let mut parts = urn.splitn(4, "::");
    let (qualified_type, name) = (parts.nth(2).unwrap_or_default(), parts.next().unwrap_or_default());
    let own_type = qualified_type.rsplit('$').next().unwrap_or_default();
    if own_type == "pulumi:pulumi:Stack" {
        return "stack".into();
    }
    match own_type.strip_prefix("pulumi:providers:") {
        // What follows is the id of a provider reference.
        Some(package) if name.starts_with("default") => format!("default:{package}"),
        Some(_) => name.split("::").next().unwrap_or_default().into(),
        None => name.into(),
    }
}

/// Returns whether a URN is that of a default provider or of the stack, which scenarios leave out.
pub(super) fn is_implied(urn: &str) -> bool {
    let name = name(urn);
    name == "stack" || name.starts_with("default:")
}

/// Returns a value in the form of scenarios, with URNs and provider references as `@name`.
pub(super) fn shortened(value: &Value) -> Value {
    shorten(&value::from_plain(value))
}

fn shorten(value: &Value) -> Value {
    match value {
        Value::String(text) if text.starts_with("urn:pulumi:") => format!("@{}", name(text)).into(),
        Value::Array(values) => values.iter().map(shorten).collect(),
        Value::Object(object) => object
            .iter()
            .map(|(key, value)| (key.clone(), shorten(value)))
            .collect::<Map<_, _>>()
            .into(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urns_and_references_become_names() {
        assert_eq!(
            name("urn:pulumi:dev::story::box:index:Box$test:index:Thing::a"),
            "a"
        );
        assert_eq!(
            name("urn:pulumi:dev::story::pulumi:pulumi:Stack::story-dev"),
            "stack"
        );
        assert_eq!(
            name("urn:pulumi:dev::story::pulumi:providers:test::default_1_0_0::some-id"),
            "default:test"
        );
        assert_eq!(
            name("urn:pulumi:dev::story::pulumi:providers:test::mine::some-id"),
            "mine"
        );
    }
}
