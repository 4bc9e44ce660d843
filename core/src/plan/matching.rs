//! Comparison of planned and actual values: an unknown on either side matches any value.

use crate::property::{Output, PropertyMap, PropertyValue};

/// Returns whether a planned value allows the actual one.
pub(super) fn matches(planned: &PropertyValue, real: &PropertyValue) -> bool {
    match (planned, real) {
        (PropertyValue::Unknown(_), _) | (_, PropertyValue::Unknown(_)) => true,
        (PropertyValue::Output(output), other) | (other, PropertyValue::Output(output)) => {
            output_matches(output, other)
        }
        (PropertyValue::Secret(left), PropertyValue::Secret(right)) => matches(&left.element, &right.element),
        (PropertyValue::Array(left), PropertyValue::Array(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .zip(right.iter())
                    .all(|(left, right)| matches(left, right))
        }
        (PropertyValue::Object(left), PropertyValue::Object(right)) => maps_match(left, right),
        (left, right) => left.is_equivalent(right),
    }
}

/// An output value is compared in its recorded form.
fn output_matches(output: &Output, other: &PropertyValue) -> bool {
    let Some(element) = &output.element else {
        return true;
    };
    match other {
        PropertyValue::Output(other) => {
            output.secret == other.secret
                && other.element.as_ref().is_none_or(|other| matches(element, other))
        }
        PropertyValue::Secret(secret) if output.secret => matches(element, &secret.element),
        other if !output.secret => matches(element, other),
        _ => false,
    }
}

fn maps_match(planned: &PropertyMap, real: &PropertyMap) -> bool {
    let planned_are = planned
        .iter()
        .all(|(key, planned)| entries_match(Some(planned), real.get(key)));
    planned_are
        && real
            .iter()
            .filter(|(key, _)| !planned.contains_key(key))
            .all(|(_, real)| entries_match(None, Some(real)))
}

/// Null counts as absent, and an unknown may become absent.
fn entries_match(planned: Option<&PropertyValue>, real: Option<&PropertyValue>) -> bool {
    let present = |value: &&PropertyValue| !value.is_null();
    match (planned.filter(present), real.filter(present)) {
        (None, None) => true,
        (Some(planned), Some(real)) => matches(planned, real),
        (Some(one), None) | (None, Some(one)) => matches!(one, PropertyValue::Unknown(_)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(entries: &[(&str, PropertyValue)]) -> PropertyValue {
        PropertyValue::Object(entries.iter().cloned().collect())
    }

    #[test]
    fn an_unknown_anywhere_matches_anything() {
        let planned = map(&[("a", PropertyValue::unknown()), ("b", 1.0.into())]);
        assert!(matches(&planned, &map(&[("a", "x".into()), ("b", 1.0.into())])));
        assert!(matches(&planned, &map(&[("b", 1.0.into())])));
        assert!(!matches(&planned, &map(&[("a", "x".into()), ("b", 2.0.into())])));
        let secret = PropertyValue::secret(PropertyValue::unknown());
        assert!(matches(&secret, &PropertyValue::secret("x".into())));
    }

    #[test]
    fn a_secret_is_not_its_plain_value() {
        let secret = PropertyValue::secret("x".into());
        assert!(!matches(&secret, &"x".into()));
        assert!(matches(&secret, &PropertyValue::secret("x".into())));
        assert!(!matches(&secret, &PropertyValue::secret("y".into())));
    }

    #[test]
    fn null_counts_as_absent() {
        assert!(matches(&map(&[("a", PropertyValue::Null)]), &map(&[])));
        assert!(!matches(&map(&[]), &map(&[("a", "x".into())])));
    }
}
