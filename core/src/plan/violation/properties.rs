//! Properties that differ from the plan.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::{
    message::{Message, Text},
    plan::{PlanDiff, matching::matches, text::text},
    property::{Key, PropertyMap, PropertyValue},
    urn::Urn,
};

/// The properties that violate the plan, in the order of their names.
#[derive(Debug, Default)]
pub(in crate::plan) struct Differences {
    reference: Vec<String>,
    library: Vec<String>,
    changes: Vec<Value>,
}

impl Differences {
    /// Returns the message; `what` is the reference engine's term for inputs or outputs.
    pub(in crate::plan) fn message(&self, urn: &Urn, what: &str) -> Text {
        let mut reference = self.reference.clone();
        reference.sort_unstable();
        Text::from(Message::PlanViolated {
            urn: urn.as_str(),
            what,
            reference: &reference.join(", "),
            library: &self.library.join("; "),
            changes: &self.changes,
        })
    }
}

/// Finds the properties that violate the plan.
///
/// A planned addition that exists with another value, and a planned change or deletion that is already done, are no
/// violations.
pub(in crate::plan) fn of_properties(
    planned: &PlanDiff,
    old: &PropertyMap,
    new: &PropertyMap,
) -> Option<Differences> {
    of_some_properties(planned, old, new, |_| true)
}

/// The same for the compared properties.
pub(in crate::plan) fn of_some_properties(
    planned: &PlanDiff,
    old: &PropertyMap,
    new: &PropertyMap,
    counts: impl Fn(&Key) -> bool,
) -> Option<Differences> {
    let maps = [&planned.adds, &planned.updates, old, new];
    let keys: BTreeSet<&Key> = maps.into_iter().flat_map(PropertyMap::keys).collect();
    let mut found = Differences::default();
    for key in keys.into_iter().filter(|key| counts(key)) {
        let place = Place::of(planned, key, present(old, key), present(new, key));
        if place.is_violation() {
            place.add_to(&mut found);
        }
    }
    (!found.reference.is_empty()).then_some(found)
}

/// One property: its plan, its old value, and its new value.
struct Place<'a> {
    key: &'a Key,
    /// The planned change: `+` adds, `~` changes, `-` deletes, `=` keeps the property.
    planned: char,
    expected: Option<&'a PropertyValue>,
    before: Option<&'a PropertyValue>,
    value: Option<&'a PropertyValue>,
}

impl<'a> Place<'a> {
    fn of(
        plan: &'a PlanDiff,
        key: &'a Key,
        before: Option<&'a PropertyValue>,
        value: Option<&'a PropertyValue>,
    ) -> Self {
        let (planned, expected) = match (present(&plan.adds, key), present(&plan.updates, key)) {
            (Some(expected), _) => ('+', Some(expected)),
            (None, Some(expected)) => ('~', Some(expected)),
            (None, None) if plan.deletes.contains(key) => ('-', None),
            (None, None) => ('=', None),
        };
        Self {
            key,
            planned,
            expected,
            before,
            value,
        }
    }

    /// Returns the actual change, with the same signs.
    fn actual(&self) -> char {
        match (self.before, self.value) {
            (None, None) => '=',
            (None, Some(_)) => '+',
            (Some(_), None) => '-',
            (Some(before), Some(value)) if matches(before, value) => '=',
            (Some(_), Some(_)) => '~',
        }
    }

    fn is_violation(&self) -> bool {
        match (self.planned, self.expected, self.value) {
            // An unknown value may become absent.
            (_, Some(expected), None) => !matches!(expected, PropertyValue::Unknown(_)),
            // A property to change must exist.
            ('~', Some(_), Some(_)) if self.before.is_none() => true,
            (_, Some(expected), Some(value)) => !matches(expected, value),
            ('-', None, value) => value.is_some(),
            (_, None, _) => self.actual() != '=',
        }
    }

    fn add_to(&self, found: &mut Differences) {
        let both = [self.expected, self.value, self.before];
        let shown = |value: &PropertyValue| {
            let others: Vec<_> = both.into_iter().flatten().collect();
            text(value, &others)
        };
        let (planned, actual) = (self.planned, self.actual());
        let is_planned =
            matches!((self.expected, self.value), (Some(expected), Some(value)) if matches(expected, value));
        let (expected, value) = (self.expected.map(shown), self.value.map(shown));
        // The second sign compares with the planned value, if there is one.
        let sign = match (&expected, &value) {
            (Some(_), Some(_)) => '~',
            (Some(_), None) => '-',
            (None, _) => actual,
        };
        let values = match (&expected, &value) {
            (Some(expected), Some(value)) if !is_planned => format!("[{expected}!={value}]"),
            (Some(one), _) | (None, Some(one)) => format!("[{one}]"),
            (None, None) => String::new(),
        };
        let key = self.key;
        found.reference.push(format!("{planned}{sign}{key}{values}"));
        let old = self.before.map(shown);
        let bare = |shown: &Option<String>| shown.as_deref().map_or("absent", bare_text).to_owned();
        found.library.push(match planned {
            '=' => format!(
                "`{key}` was to stay {} and is to become {}",
                bare(&old),
                bare(&value)
            ),
            '-' => format!("`{key}` was to be removed and is to be {}", bare(&value)),
            _ => format!(
                "`{key}` was to become {} and is to be {}",
                bare(&expected),
                bare(&value)
            ),
        });
        found.changes.push(json!({
            "property": key.as_str(),
            "planned": verb(planned),
            "actual": verb(actual),
            "expected": expected.as_deref().map(bare_text),
            "old": old.as_deref().map(bare_text),
            "new": value.as_deref().map(bare_text),
        }));
    }
}

/// Returns the verb of a sign.
const fn verb(sign: char) -> &'static str {
    match sign {
        '+' => "add",
        '~' => "update",
        '-' => "delete",
        _ => "same",
    }
}

/// Removes the braces of the reference engine around a value.
fn bare_text(shown: &str) -> &str {
    let inside = shown.strip_prefix('{').and_then(|shown| shown.strip_suffix('}'));
    inside.unwrap_or(shown)
}

/// Null counts as absent.
fn present<'a>(map: &'a PropertyMap, key: &Key) -> Option<&'a PropertyValue> {
    map.get(key).filter(|value| !value.is_null())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(entries: &[(&str, f64)]) -> PropertyMap {
        entries
            .iter()
            .map(|(key, value)| (*key, (*value).into()))
            .collect()
    }

    type Numbers<'a> = &'a [(&'a str, f64)];

    fn diff(planned: (Numbers<'_>, Numbers<'_>), old: Numbers<'_>, new: Numbers<'_>) -> String {
        let diff = PlanDiff::between(&map(planned.0), &map(planned.1));
        of_properties(&diff, &map(old), &map(new))
            .map_or_else(String::new, |found| found.reference.join(", "))
    }

    #[test]
    fn what_was_planned_is_allowed_also_when_it_is_so_already() {
        let create = (&[][..], &[("v", 2.0)][..]);
        assert_eq!(diff(create, &[], &[("v", 2.0)]), "");
        assert_eq!(diff(create, &[("v", 2.0)], &[("v", 2.0)]), "");
        assert_eq!(diff(create, &[("v", 1.0)], &[("v", 2.0)]), "");
        let change = (&[("v", 1.0)][..], &[("v", 2.0)][..]);
        assert_eq!(diff(change, &[("v", 2.0)], &[("v", 2.0)]), "");
        let delete = (&[("v", 1.0)][..], &[][..]);
        assert_eq!(diff(delete, &[], &[]), "");
    }

    #[test]
    fn another_value_than_the_planned_one_names_both() {
        let create = (&[][..], &[("v", 2.0)][..]);
        assert_eq!(diff(create, &[], &[("v", 5.0)]), "+~v[{2}!={5}]");
        let change = (&[("v", 1.0)][..], &[("v", 2.0)][..]);
        assert_eq!(diff(change, &[("v", 1.0)], &[("v", 3.0)]), "~~v[{2}!={3}]");
        assert_eq!(diff(change, &[("v", 1.0)], &[("v", 1.0)]), "~~v[{2}!={1}]");
    }

    #[test]
    fn each_place_begins_with_what_is_planned_and_what_the_run_does() {
        let nothing = (&[][..], &[][..]);
        assert_eq!(diff(nothing, &[], &[("v", 1.0)]), "=+v[{1}]");
        assert_eq!(diff(nothing, &[("v", 1.0)], &[("v", 2.0)]), "=~v[{2}]");
        assert_eq!(diff(nothing, &[("v", 1.0)], &[]), "=-v");
        let delete = (&[("v", 1.0)][..], &[][..]);
        assert_eq!(diff(delete, &[("v", 1.0)], &[("v", 1.0)]), "-=v[{1}]");
        let change = (&[("v", 1.0)][..], &[("v", 2.0)][..]);
        assert_eq!(diff(change, &[], &[("v", 2.0)]), "~~v[{2}]");
        assert_eq!(diff(change, &[("v", 1.0)], &[]), "~-v[{2}]");
        let create = (&[][..], &[("v", 2.0)][..]);
        assert_eq!(diff(create, &[("v", 1.0)], &[]), "+-v[{2}]");
    }

    #[test]
    fn a_violation_gives_planned_old_and_new_as_data_and_in_words() {
        let diff = PlanDiff::between(&map(&[("v", 1.0)]), &map(&[("v", 2.0)]));
        let found = of_properties(&diff, &map(&[("v", 1.0)]), &map(&[("v", 3.0)])).unwrap();
        assert_eq!(
            found.changes,
            [json!({
                "property": "v", "planned": "update", "actual": "update", "expected": "2", "old": "1", "new": "3",
            })]
        );
        let urn = Urn::new("dev", "shop", "", "test:index:Thing", "a");
        let text = found.message(&urn, "properties");
        assert_eq!(
            text.reference(),
            format!("resource {urn} violates plan: properties changed: ~~v[{{2}}!={{3}}]")
        );
        assert_eq!(
            text.library(),
            format!(
                "the properties of the resource {urn} are not as planned: `v` was to become 2 and is to be 3"
            )
        );
        let gone = of_properties(&diff, &map(&[("v", 1.0)]), &map(&[])).unwrap();
        assert_eq!(gone.library, ["`v` was to become 2 and is to be absent"]);
    }

    #[test]
    fn a_former_secret_is_masked_when_it_is_plain_now() {
        let secret = |number: f64| PropertyMap::from_iter([("v", PropertyValue::secret(number.into()))]);
        let (none, plain) = (PropertyMap::new(), map(&[("v", 1.0)]));
        let diff = |planned: &PropertyMap, old: &PropertyMap, new: &PropertyMap| {
            let found = of_properties(&PlanDiff::between(&none, planned), old, new).unwrap_or_default();
            assert!(!format!("{found:?}").contains("{1}"), "{found:?}");
            found.reference.join(", ")
        };
        assert_eq!(diff(&secret(1.0), &none, &plain), "+~v[{[secret]}!={[secret]}]");
        assert_eq!(diff(&plain, &none, &secret(1.0)), "+~v[{[secret]}!={[secret]}]");
        assert_eq!(diff(&none, &secret(1.0), &plain), "=~v[{[secret]}]");
    }

    #[test]
    fn what_was_planned_as_unknown_may_be_anything_or_nothing() {
        let adds = [("v", PropertyValue::unknown())].into_iter().collect();
        let planned = PlanDiff {
            adds,
            ..PlanDiff::default()
        };
        assert!(of_properties(&planned, &map(&[]), &map(&[("v", 7.0)])).is_none());
        assert!(of_properties(&planned, &map(&[]), &map(&[])).is_none());
    }
}
