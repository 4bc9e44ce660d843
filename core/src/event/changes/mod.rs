//! The changed properties of a step, with their values before and after; secrets are masked.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    event::{DiffKind, StepMetadata},
    property::{
        PropertyMap, PropertyValue,
        diff::ObjectDiff,
        path::{PathElement, PropertyPath},
    },
    resource::ResourceState,
    secrets::{PLACEHOLDER, Redactor, numbered},
    step::StepOp,
};

/// How the names of inputs begin that providers keep for themselves.
const INTERNAL_PREFIX: &str = "__";

/// Maximum number of changes listed inside one property; beyond it, the whole property is one change.
const MAX_NESTED_CHANGES: usize = 50;

/// How one property of a step changes. Secrets in its path and its values are masked.
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
        if found.changes.is_empty() {
            found.compare_inputs(self);
        }
        found.finish()
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
    found.finish()
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
    /// Adds the inputs that differ, for a change of which the provider names no property.
    fn compare_inputs(&mut self, step: &StepMetadata) {
        let writes = matches!(
            step.op,
            StepOp::Update | StepOp::Replace | StepOp::CreateReplacement | StepOp::ImportReplacement
        );
        let (Some(old), Some(new)) = (self.sides.old, self.sides.new) else {
            return;
        };
        if !writes || self.sides.refreshed {
            return;
        }
        let difference = old.inputs.without_wrappers().diff(&new.inputs.without_wrappers());
        let names = difference.iter().flat_map(ObjectDiff::keys);
        for name in names.filter(|name| !name.starts_with(INTERNAL_PREFIX)) {
            let path = PropertyPath::new(vec![name.into()]);
            self.add(&path.to_string(), None, true);
        }
    }

    /// Returns the changes, without secrets in their paths. Two paths that are equal without them stay apart.
    fn finish(self) -> Vec<PropertyChange> {
        let mut taken = BTreeSet::new();
        let changes = self.changes.into_values().map(|mut change| {
            let path = self.redactor.scrub(&change.path).into_owned();
            change.path = numbered(path, |path| taken.contains(path));
            taken.insert(change.path.clone());
            change
        });
        changes.collect()
    }

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
                true => PropertyValue::string(PLACEHOLDER),
                false => self.redactor.scrub_value(side.value),
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
