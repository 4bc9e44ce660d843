//! The changed properties of a step, with their values before and after; secrets are masked.

use std::{borrow::Cow, collections::BTreeMap};

use crate::{
    event::{DiffKind, StepMetadata},
    property::{
        PropertyMap, PropertyValue,
        path::{PathElement, PropertyPath},
    },
    resource::ResourceState,
    secrets::Redactor,
    step::StepOp,
};

/// Replaces secrets.
const MASK: &str = "[secret]";

/// Maximum number of changes listed inside one property; beyond it, the whole property is one change.
const MAX_NESTED_CHANGES: usize = 50;

/// How one property of a step changes. Secrets in its values are masked.
#[derive(Clone, Debug, PartialEq)]
pub struct PropertyChange {
    /// The path of the property.
    pub path: String,
    /// How it changes, and whether that forces a replacement.
    pub kind: DiffKind,
    /// The value before; `None` when absent or unknown.
    pub old: Option<PropertyValue>,
    /// The value after; `None` when absent or unknown.
    pub new: Option<PropertyValue>,
}

impl StepMetadata {
    /// Returns the properties that the step changes in an existing resource, in the order of their paths. Paths that
    /// only forced a replacement and are no properties (`id`, `provider`) have no values.
    #[must_use]
    pub fn changes(&self, redactor: &Redactor) -> Vec<PropertyChange> {
        let changes = matches!(
            self.op,
            StepOp::Update
                | StepOp::Replace
                | StepOp::CreateReplacement
                | StepOp::ReadReplacement
                | StepOp::ImportReplacement
                | StepOp::Refresh
                | StepOp::Read
        );
        if !changes {
            return Vec::new();
        }
        let mut found = Found {
            sides: Sides {
                old: self.old.as_ref().map(|old| &*old.0),
                new: self.new.as_ref().map(|new| &*new.0),
                // The result of a refresh with other outputs is an update that does not count.
                refreshed: self.op == StepOp::Refresh || self.op == StepOp::Update && !self.logical,
            },
            changes: BTreeMap::new(),
            redactor,
        };
        match &self.detailed_diff {
            Some(detailed) => {
                for (path, diff) in detailed {
                    found.add(path, Some(diff.kind), diff.input_diff);
                }
            }
            None => {
                for path in self.diffs.iter().chain(&self.keys) {
                    found.add(path, None, true);
                }
            }
        }
        for key in &self.keys {
            found.force(key);
        }
        found.changes.into_values().collect()
    }
}

/// Returns the properties that differ between two maps, in the order of their names. Secrets are masked.
pub(crate) fn changes_between(
    old: &PropertyMap,
    new: &PropertyMap,
    redactor: &Redactor,
) -> Vec<PropertyChange> {
    let mut found = Found {
        sides: Sides {
            old: None,
            new: None,
            refreshed: false,
        },
        changes: BTreeMap::new(),
        redactor,
    };
    let located = |value| Located {
        value,
        in_secret: false,
    };
    for key in old.keys().chain(new.keys()) {
        let (before, after) = (old.get(key), new.get(key));
        if before != after {
            let (before, after) = (before.map(located), after.map(located));
            found.insert(
                key.to_string(),
                kind_of(before.as_ref(), after.as_ref()),
                before,
                after,
            );
        }
    }
    found.changes.into_values().collect()
}

/// The states before and after.
#[derive(Clone, Copy)]
struct Sides<'a> {
    old: Option<&'a ResourceState>,
    new: Option<&'a ResourceState>,
    refreshed: bool,
}

/// A value at a path, and whether a secret encloses it.
#[derive(Clone, Copy)]
struct Located<'a> {
    value: &'a PropertyValue,
    in_secret: bool,
}

impl<'a> Sides<'a> {
    fn before(self, path: &PropertyPath, input_diff: bool) -> Option<Located<'a>> {
        let state = self.old?;
        match input_diff && !self.refreshed {
            true => first(path, [&state.inputs, &state.outputs]),
            false => first(path, [&state.outputs, &state.inputs]),
        }
    }

    fn after(self, path: &PropertyPath) -> Option<Located<'a>> {
        let state = self.new?;
        match self.refreshed {
            true => first(path, [&state.outputs, &state.inputs]),
            false => first(path, [&state.inputs, &state.outputs]),
        }
    }
}

fn first<'a>(path: &PropertyPath, maps: [&'a PropertyMap; 2]) -> Option<Located<'a>> {
    maps.into_iter().find_map(|map| locate(path, map))
}

/// Follows a path through secrets, and records whether one was passed.
fn locate<'a>(path: &PropertyPath, map: &'a PropertyMap) -> Option<Located<'a>> {
    let (head, rest) = path.elements().split_first()?;
    let PathElement::Key(key) = head else {
        return None;
    };
    let mut at = Located {
        value: map.get(key)?,
        in_secret: false,
    };
    for element in rest {
        at.in_secret |= at.value.is_secret();
        at.value = match (element, at.value.unwrapped()) {
            (PathElement::Key(key), PropertyValue::Object(map)) => map.get(key)?,
            (PathElement::Index(index), PropertyValue::Array(values)) => values.get(*index)?,
            _ => return None,
        };
    }
    (!at.value.is_null()).then_some(at)
}

struct Found<'a> {
    sides: Sides<'a>,
    changes: BTreeMap<String, PropertyChange>,
    redactor: &'a Redactor,
}

impl Found<'_> {
    fn add(&mut self, text: &str, kind: Option<DiffKind>, input_diff: bool) {
        let Ok(path) = PropertyPath::parse(text) else {
            self.insert(text.to_owned(), kind.unwrap_or(DiffKind::Update), None, None);
            return;
        };
        let (old, new) = (self.sides.before(&path, input_diff), self.sides.after(&path));
        // What the provider compares with its own state may only differ there.
        let old = match (kind, old, new) {
            (None, Some(before), Some(after)) if before.value == after.value => {
                self.sides.before(&path, false)
            }
            _ => old,
        };
        if let (Some(before), Some(after)) = (old, new) {
            let mut inside = Vec::new();
            if expand(&path, before, after, &mut inside) {
                for (path, old, new) in inside {
                    let kind = kind.unwrap_or_else(|| kind_of(old.as_ref(), new.as_ref()));
                    self.insert(path.to_string(), kind, old, new);
                }
                return;
            }
        }
        let kind = kind.unwrap_or_else(|| kind_of(old.as_ref(), new.as_ref()));
        self.insert(path.to_string(), kind, old, new);
    }

    fn insert(&mut self, path: String, kind: DiffKind, old: Option<Located<'_>>, new: Option<Located<'_>>) {
        let hides = |side: Option<Located<'_>>| {
            side.is_some_and(|side| side.in_secret || side.value.contains_secrets())
        };
        let hidden = hides(old) || hides(new);
        let shown = |side: Option<Located<'_>>| {
            side.map(|side| match hidden {
                true => PropertyValue::string(MASK),
                false => scrubbed(side.value, self.redactor),
            })
        };
        let change = PropertyChange {
            kind,
            old: shown(old),
            new: shown(new),
            path: path.clone(),
        };
        self.changes.entry(path).or_insert(change);
    }

    /// Marks a property and its nested changes as forcing a replacement.
    fn force(&mut self, key: &str) {
        let mut forced = false;
        for change in self.changes.values_mut() {
            let rest = change.path.strip_prefix(key);
            if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '['])) {
                change.kind = replacing(change.kind);
                forced = true;
            }
        }
        if !forced {
            self.insert(key.to_owned(), DiffKind::UpdateReplace, None, None);
        }
    }
}

type Inside<'a> = (PropertyPath, Option<Located<'a>>, Option<Located<'a>>);

/// Lists the differences inside two objects or two arrays; returns false for other values.
fn expand<'a>(path: &PropertyPath, old: Located<'a>, new: Located<'a>, inside: &mut Vec<Inside<'a>>) -> bool {
    let mut pending = vec![(path.clone(), old, new)];
    let mut opened = false;
    while let Some((path, old, new)) = pending.pop() {
        if inside.len() + pending.len() > MAX_NESTED_CHANGES {
            return false;
        }
        let within = |parent: Located<'a>, value: &'a PropertyValue| Located {
            value,
            in_secret: parent.in_secret || parent.value.is_secret(),
        };
        let mut compare = |element: PathElement,
                           before: Option<&'a PropertyValue>,
                           after: Option<&'a PropertyValue>| {
            if before == after {
                return;
            }
            let mut path = path.clone();
            path.push(element);
            match (before, after) {
                (Some(before), Some(after)) => pending.push((path, within(old, before), within(new, after))),
                _ => inside.push((
                    path,
                    before.map(|value| within(old, value)),
                    after.map(|value| within(new, value)),
                )),
            }
        };
        match (old.value.unwrapped(), new.value.unwrapped()) {
            (PropertyValue::Object(before), PropertyValue::Object(after)) => {
                opened = true;
                for (key, value) in before.iter() {
                    compare(key.clone().into(), Some(value), after.get(key));
                }
                for (key, value) in after.iter().filter(|(key, _)| !before.contains_key(key)) {
                    compare(key.clone().into(), None, Some(value));
                }
            }
            (PropertyValue::Array(before), PropertyValue::Array(after)) => {
                opened = true;
                for index in 0..before.len().max(after.len()) {
                    compare(index.into(), before.get(index), after.get(index));
                }
            }
            _ => inside.push((path, Some(old), Some(new))),
        }
    }
    opened && !inside.is_empty()
}

fn kind_of(old: Option<&Located<'_>>, new: Option<&Located<'_>>) -> DiffKind {
    match (old, new) {
        (None, Some(_)) => DiffKind::Add,
        (Some(_), None) => DiffKind::Delete,
        _ => DiffKind::Update,
    }
}

const fn replacing(kind: DiffKind) -> DiffKind {
    match kind {
        DiffKind::Add | DiffKind::AddReplace => DiffKind::AddReplace,
        DiffKind::Delete | DiffKind::DeleteReplace => DiffKind::DeleteReplace,
        DiffKind::Update | DiffKind::UpdateReplace => DiffKind::UpdateReplace,
    }
}

/// Masks known secrets in the texts of a value.
pub(crate) fn scrubbed(value: &PropertyValue, redactor: &Redactor) -> PropertyValue {
    match value {
        PropertyValue::String(text) => match redactor.scrub(text) {
            Cow::Owned(text) => PropertyValue::string(text),
            Cow::Borrowed(_) => value.clone(),
        },
        PropertyValue::Array(values) => {
            PropertyValue::array(values.iter().map(|value| scrubbed(value, redactor)).collect())
        }
        PropertyValue::Object(map) => {
            let entries = map.iter();
            PropertyValue::Object(
                entries
                    .map(|(key, value)| (key.clone(), scrubbed(value, redactor)))
                    .collect(),
            )
        }
        PropertyValue::Output(output) => match &output.element {
            Some(element) => scrubbed(element, redactor),
            None => PropertyValue::unknown(),
        },
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        event::{PropertyDiff, StateMetadata},
        urn::Urn,
    };

    fn state(inputs: PropertyMap) -> Option<StateMetadata> {
        let urn = Urn::new("dev", "shop", "", "files:index:File", "a");
        let mut state = ResourceState::new(urn, "files:index:File".into(), true);
        state.inputs = inputs;
        Some(StateMetadata(Arc::new(state)))
    }

    fn map(entries: Vec<(&str, PropertyValue)>) -> PropertyMap {
        entries.into_iter().collect()
    }

    fn step(old: PropertyMap, new: PropertyMap, diffs: &[&str], keys: &[&str]) -> StepMetadata {
        let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        StepMetadata {
            op: StepOp::Update,
            urn: Urn::new("dev", "shop", "", "files:index:File", "a"),
            resource_type: "files:index:File".into(),
            old: state(old),
            new: state(new),
            keys: list(keys),
            diffs: list(diffs),
            detailed_diff: None,
            logical: true,
            provider: "".into(),
        }
    }

    fn rendered(step: &StepMetadata) -> Vec<String> {
        let value = |value: &Option<PropertyValue>| {
            value
                .as_ref()
                .map_or("-".to_owned(), |value| format!("{value:?}").replace('"', ""))
        };
        let changes = step.changes(&Redactor::new());
        changes
            .iter()
            .map(|change| {
                format!(
                    "{} {}: {} > {}",
                    change.kind.name(),
                    change.path,
                    value(&change.old),
                    value(&change.new)
                )
            })
            .collect()
    }

    #[test]
    fn what_differs_inside_a_property_has_its_own_path_and_values() {
        let inner = |a: &str, more: bool| {
            let mut inner = map(vec![("a", a.into()), ("same", "s".into())]);
            if more {
                inner.insert("b", "new".into());
            }
            PropertyValue::Object(inner)
        };
        let list = |last: &str| PropertyValue::array(vec!["0".into(), last.into()]);
        let step = step(
            map(vec![
                ("tags", inner("x", false)),
                ("list", list("1")),
                ("gone", "g".into()),
            ]),
            map(vec![("tags", inner("y", true)), ("list", list("2"))]),
            &["tags", "list", "gone"],
            &[],
        );
        assert_eq!(
            rendered(&step),
            [
                "delete gone: g > -",
                "update list[1]: 1 > 2",
                "update tags.a: x > y",
                "add tags.b: - > new"
            ]
        );
    }

    #[test]
    fn secrets_are_masked_on_both_sides_and_below() {
        let secret = PropertyValue::secret("hidden".into());
        let object = PropertyValue::secret(PropertyValue::Object(map(vec![("pin", "1".into())])));
        let other = PropertyValue::secret(PropertyValue::Object(map(vec![("pin", "2".into())])));
        let mut step = step(
            map(vec![("password", "hidden".into()), ("deep", object)]),
            map(vec![("password", secret), ("deep", other)]),
            &["password"],
            &[],
        );
        let kind = DiffKind::Update;
        let diff = |path: &str| {
            let input_diff = true;
            (path.to_owned(), PropertyDiff { kind, input_diff })
        };
        step.detailed_diff = Some([diff("password"), diff("deep.pin")].into_iter().collect());
        assert_eq!(
            rendered(&step),
            [
                "update deep.pin: [secret] > [secret]",
                "update password: [secret] > [secret]"
            ]
        );
    }

    #[test]
    fn known_secrets_in_texts_are_taken_out() {
        let redactor = Redactor::new();
        redactor.learn(["hunter2"]);
        let step = step(
            map(vec![("url", "u:hunter2@h".into())]),
            map(vec![("url", "plain".into())]),
            &["url"],
            &[],
        );
        let changes = step.changes(&redactor);
        assert!(!format!("{changes:?}").contains("hunter2"), "{changes:?}");
    }

    #[test]
    fn what_forces_a_replacement_is_marked_and_what_is_no_property_has_no_values() {
        let step = step(
            map(vec![("format", "png".into())]),
            map(vec![("format", "svg".into())]),
            &["format"],
            &["format", "provider"],
        );
        assert_eq!(
            rendered(&step),
            [
                "update-replace format: png > svg",
                "update-replace provider: - > -"
            ]
        );
    }

    #[test]
    fn a_property_with_very_many_differences_is_one_change() {
        let many = |text: &str| {
            let values: Vec<PropertyValue> = (0..500).map(|index| format!("{text}{index}").into()).collect();
            PropertyValue::array(values)
        };
        let step = step(
            map(vec![("list", many("a"))]),
            map(vec![("list", many("b"))]),
            &["list"],
            &[],
        );
        assert_eq!(step.changes(&Redactor::new()).len(), 1);
    }

    #[test]
    fn a_creation_and_a_deletion_list_nothing() {
        for op in [StepOp::Create, StepOp::Delete, StepOp::Same] {
            let mut step = step(map(vec![]), map(vec![("a", "1".into())]), &["a"], &[]);
            step.op = op;
            assert!(step.changes(&Redactor::new()).is_empty());
        }
    }
}
