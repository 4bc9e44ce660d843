//! Differences between a goal or its inputs and the plan, in the messages of the reference engine.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::{
    message::{Message, Text},
    plan::{GoalPlan, PlanDiff, matching::matches, text::text},
    property::{Key, PropertyMap, PropertyValue},
    resource::{Alias, Goal, ProviderReference, UNKNOWN_ID},
    urn::Urn,
};

/// Returns how a goal violates the plan; inputs are compared by [`of_properties`].
pub(super) fn of_goal(urn: &Urn, planned: &GoalPlan, goal: &Goal) -> Option<String> {
    let options = &goal.options;
    of_identity(planned, goal)
        .or_else(|| {
            (planned.protect != goal.protect.unwrap_or(false)).then(|| changed("protect", planned.protect))
        })
        .or_else(|| of_delete_before_replace(planned.delete_before_replace, goal.delete_before_replace))
        .or_else(|| (planned.import_id != options.import_id).then(|| changed("importID", &planned.import_id)))
        .or_else(|| of_timeouts(planned, goal))
        .or_else(|| of_sets("ignoreChanges", &planned.ignore_changes, &options.ignore_changes))
        .or_else(|| {
            of_sets(
                "additionalSecretOutputs",
                &planned.additional_secret_outputs,
                &options.additional_secret_outputs,
            )
        })
        .or_else(|| of_aliases(urn, planned, goal))
        .or_else(|| of_sets("dependencies", &planned.dependencies, &goal.dependencies))
        .or_else(|| of_property_dependencies(planned, goal))
}

fn changed(what: &str, expected: impl std::fmt::Display) -> String {
    format!("{what} changed (expected {expected})")
}

fn of_identity(planned: &GoalPlan, goal: &Goal) -> Option<String> {
    if planned.custom != goal.custom {
        let expected = if planned.custom { "custom" } else { "component" };
        return Some(changed("resource kind", expected));
    }
    if planned.resource_type != goal.resource_type {
        return Some(changed("type", &planned.resource_type));
    }
    if !same_provider(&planned.provider, &goal.provider) {
        return Some(changed("provider", &planned.provider));
    }
    if planned.parent != goal.parent {
        let expected = planned.parent.as_ref().map_or("no parent", |urn| urn.as_str());
        return Some(changed("parent", expected));
    }
    None
}

/// The id of a planned provider is unknown.
fn same_provider(planned: &str, real: &str) -> bool {
    if planned == real {
        return true;
    }
    match (ProviderReference::parse(planned), ProviderReference::parse(real)) {
        (Ok(planned), Ok(real)) => {
            let is_unknown = |reference: &ProviderReference| reference.id.as_str() == UNKNOWN_ID;
            planned.urn == real.urn && (is_unknown(&planned) || is_unknown(&real))
        }
        _ => false,
    }
}

fn of_delete_before_replace(planned: Option<bool>, real: Option<bool>) -> Option<String> {
    match (planned, real) {
        (planned, real) if planned == real => None,
        (None, _) => Some(changed("deleteBeforeReplace", "no value")),
        (Some(planned), _) => Some(changed("deleteBeforeReplace", planned)),
    }
}

fn of_timeouts(planned: &GoalPlan, goal: &Goal) -> Option<String> {
    let (planned, real) = (planned.custom_timeouts, goal.options.custom_timeouts);
    [
        ("create timeout", planned.create, real.create),
        ("update timeout", planned.update, real.update),
        ("delete timeout", planned.delete, real.delete),
        ("read timeout", planned.read, real.read),
    ]
    .into_iter()
    // None and zero both mean the default.
    .find(|(_, planned, real)| planned.unwrap_or_default().to_bits() != real.unwrap_or_default().to_bits())
    .map(|(what, planned, _)| changed(what, planned.unwrap_or_default()))
}

fn of_property_dependencies(planned: &GoalPlan, goal: &Goal) -> Option<String> {
    // A value that was unknown in the plan may be absent now, and vice versa.
    goal.property_dependencies.iter().find_map(|(key, real)| {
        let planned = planned.property_dependencies.get(key)?;
        of_sets(&format!("dependencies for {key}"), planned, real)
    })
}

/// Lists added and removed items.
fn of_sets<T: ToString>(
    what: &str,
    planned: impl IntoIterator<Item = T>,
    real: impl IntoIterator<Item = T>,
) -> Option<String> {
    let planned: BTreeSet<String> = planned.into_iter().map(|item| item.to_string()).collect();
    let real: BTreeSet<String> = real.into_iter().map(|item| item.to_string()).collect();
    let list =
        |word: &str, items: Vec<&str>| (!items.is_empty()).then(|| format!("{word} {}", items.join(", ")));
    let added = list("added", real.difference(&planned).map(String::as_str).collect());
    let deleted = list("deleted", planned.difference(&real).map(String::as_str).collect());
    let parts: Vec<String> = added.into_iter().chain(deleted).collect();
    (!parts.is_empty()).then(|| format!("{what} changed: {}", parts.join("; ")))
}

/// One alias has several forms: they are compared by their URNs.
fn of_aliases(urn: &Urn, planned: &GoalPlan, goal: &Goal) -> Option<String> {
    let stands_for = |alias: &Alias, parent: &Option<Urn>| alias_urn(alias, urn, parent.as_ref());
    let is_planned = |real: &&Alias| {
        let real = stands_for(real, &goal.parent);
        let mut aliases = planned.aliases.iter();
        !aliases.any(|planned_alias| stands_for(planned_alias, &planned.parent) == real)
    };
    let is_real = |planned_alias: &&Alias| {
        let planned_urn = stands_for(planned_alias, &planned.parent);
        let mut aliases = goal.aliases.iter();
        !aliases.any(|real| stands_for(real, &goal.parent) == planned_urn)
    };
    let added = goal.aliases.iter().filter(is_planned).map(alias_text);
    let deleted = planned.aliases.iter().filter(is_real).map(alias_text);
    of_sets("aliases", deleted.collect::<Vec<_>>(), added.collect::<Vec<_>>())
}

/// Returns the URN that an alias of the resource `urn` denotes.
fn alias_urn(alias: &Alias, urn: &Urn, own_parent: Option<&Urn>) -> Urn {
    match alias {
        Alias::Urn(urn) => urn.clone(),
        Alias::Spec {
            name,
            resource_type,
            stack,
            project,
            parent,
            no_parent,
        } => {
            let parent = parent.as_ref().or(own_parent).filter(|_| !no_parent);
            Urn::new(
                stack.as_deref().unwrap_or(urn.stack()),
                project.as_deref().unwrap_or(urn.project()),
                parent
                    .filter(|parent| !parent.is_root_stack())
                    .map_or("", Urn::qualified_type),
                resource_type.as_deref().unwrap_or(urn.resource_type()),
                name.as_deref().unwrap_or(urn.name()),
            )
        }
    }
}

fn alias_text(alias: &Alias) -> String {
    match alias {
        Alias::Urn(urn) => urn.to_string(),
        Alias::Spec {
            name,
            resource_type,
            stack,
            project,
            parent,
            no_parent,
        } => {
            let parts = [
                ("name", name.as_deref()),
                ("type", resource_type.as_deref()),
                ("stack", stack.as_deref()),
                ("project", project.as_deref()),
                ("parent", parent.as_ref().map(|urn| urn.as_str())),
                ("noParent", no_parent.then_some("true")),
            ];
            let set = parts.iter().filter_map(|(key, value)| {
                let value = value.filter(|value| !value.is_empty())?;
                Some(format!("{key}={value}"))
            });
            set.collect::<Vec<_>>().join(" ")
        }
    }
}

/// The properties that violate the plan, in the order of their names.
#[derive(Debug, Default)]
pub(super) struct Differences {
    reference: Vec<String>,
    library: Vec<String>,
    changes: Vec<Value>,
}

impl Differences {
    /// Returns the message; `what` is the reference engine's term for inputs or outputs.
    pub(super) fn message(&self, urn: &Urn, what: &str) -> Text {
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
pub(super) fn of_properties(planned: &PlanDiff, old: &PropertyMap, new: &PropertyMap) -> Option<Differences> {
    of_some_properties(planned, old, new, |_| true)
}

/// The same for the compared properties.
pub(super) fn of_some_properties(
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

    #[test]
    fn a_violation_names_the_options_that_differ() {
        let goal = Goal {
            resource_type: "test:index:Thing".into(),
            name: "a".to_owned(),
            custom: true,
            ..Goal::default()
        };
        let planned = GoalPlan::of(&goal, PlanDiff::default());
        let urn = Urn::new("dev", "shop", "", "test:index:Thing", "a");
        assert_eq!(of_goal(&urn, &planned, &goal), None);
        let diff = |change: &dyn Fn(&mut Goal)| {
            let mut goal = goal.clone();
            change(&mut goal);
            of_goal(&urn, &planned, &goal).unwrap()
        };
        assert_eq!(
            diff(&|goal| goal.custom = false),
            "resource kind changed (expected custom)"
        );
        assert_eq!(
            diff(&|goal| goal.protect = Some(true)),
            "protect changed (expected false)"
        );
        assert_eq!(
            diff(&|goal| goal.delete_before_replace = Some(true)),
            "deleteBeforeReplace changed (expected no value)"
        );
        assert_eq!(
            diff(&|goal| goal.options.ignore_changes.push("v".into())),
            "ignoreChanges changed: added v"
        );
        assert_eq!(
            diff(&|goal| goal.options.custom_timeouts.create = Some(5.0)),
            "create timeout changed (expected 0)"
        );
    }

    #[test]
    fn an_alias_is_as_planned_however_it_is_written() {
        let named = |name: &str| Alias::Spec {
            name: Some(name.to_owned()),
            resource_type: None,
            stack: None,
            project: None,
            parent: None,
            no_parent: false,
        };
        let parent = Urn::new("dev", "shop", "", "box:index:Box", "b");
        let former = |name: &str| Urn::new("dev", "shop", "box:index:Box", "test:index:Thing", name);
        let goal = |aliases| Goal {
            resource_type: "test:index:Thing".into(),
            name: "a".to_owned(),
            custom: true,
            parent: Some(parent.clone()),
            aliases,
            ..Goal::default()
        };
        let planned = GoalPlan::of(&goal(vec![Alias::Urn(former("old"))]), PlanDiff::default());
        let diff = |aliases| of_goal(&former("a"), &planned, &goal(aliases));
        assert_eq!(diff(vec![named("old")]), None);
        assert_eq!(diff(vec![named("old"), Alias::Urn(former("old"))]), None);
        assert_eq!(
            diff(vec![named("older")]),
            Some(format!(
                "aliases changed: added name=older; deleted {}",
                former("old")
            ))
        );
    }

    #[test]
    fn the_id_of_a_provider_that_was_only_planned_may_be_any() {
        let urn = "urn:pulumi:dev::shop::pulumi:providers:test::default";
        assert!(same_provider(
            &format!("{urn}::{UNKNOWN_ID}"),
            &format!("{urn}::x")
        ));
        assert!(!same_provider(&format!("{urn}::y"), &format!("{urn}::x")));
        assert!(!same_provider(
            &format!("{urn}_2::{UNKNOWN_ID}"),
            &format!("{urn}::x")
        ));
    }
}
