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
    for key in old.keys().chain(new.keys()) {
        let (before, after) = (old.get(key), new.get(key));
        if before != after {
            found.insert(key.to_string(), kind_of(before, after), before, after);
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

impl<'a> Sides<'a> {
    fn before(self, path: &PropertyPath, input_diff: bool) -> Option<&'a PropertyValue> {
        let state = self.old?;
        match input_diff && !self.refreshed {
            true => first(path, [&state.inputs, &state.outputs]),
            false => first(path, [&state.outputs, &state.inputs]),
        }
    }

    fn after(self, path: &PropertyPath) -> Option<&'a PropertyValue> {
        let state = self.new?;
        match self.refreshed {
            true => first(path, [&state.outputs, &state.inputs]),
            false => first(path, [&state.inputs, &state.outputs]),
        }
    }

    /// Returns the path of the outermost secret on the way of a path, which encloses what the path names: the names in a secret
    /// are secret, too. `None` when there is none, on either side.
    fn enclosing_secret(self, path: &PropertyPath) -> Option<PropertyPath> {
        let states = self.old.into_iter().chain(self.new);
        let maps = states.flat_map(|state| [&state.inputs, &state.outputs]);
        let depth = maps.filter_map(|map| depth_of_secret(path, map)).min()?;
        Some(PropertyPath::new(path.elements()[..depth].to_vec()))
    }
}

fn first<'a>(path: &PropertyPath, maps: [&'a PropertyMap; 2]) -> Option<&'a PropertyValue> {
    maps.into_iter().find_map(|map| {
        let value = values_on(path, map).last()?;
        (value.0 == path.elements().len() && !value.1.is_null()).then_some(value.1)
    })
}

/// Returns the number of elements after which a path is at a secret that encloses the rest of it.
fn depth_of_secret(path: &PropertyPath, map: &PropertyMap) -> Option<usize> {
    let enclosing = values_on(path, map).filter(|(depth, _)| *depth < path.elements().len());
    enclosing
        .filter(|(_, value)| value.is_secret())
        .map(|(depth, _)| depth)
        .next()
}

/// Returns the values on the way of a path, through secrets, each with the number of elements that lead to it. It ends where there is none.
fn values_on<'a>(
    path: &PropertyPath,
    map: &'a PropertyMap,
) -> impl Iterator<Item = (usize, &'a PropertyValue)> {
    let mut elements = path.elements().iter();
    let head = elements.next().and_then(|head| match head {
        PathElement::Key(key) => map.get(key),
        _ => None,
    });
    let step = move |value: &&'a PropertyValue| match (elements.next()?, value.unwrapped()) {
        (PathElement::Key(key), PropertyValue::Object(map)) => map.get(key),
        (PathElement::Index(index), PropertyValue::Array(values)) => values.get(*index),
        _ => None,
    };
    (1..).zip(std::iter::successors(head, step))
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
        let (path, kind) = match self.sides.enclosing_secret(&path) {
            Some(enclosing) => (enclosing, kind.map(of_enclosing)),
            None => (path, kind),
        };
        let (old, new) = (self.sides.before(&path, input_diff), self.sides.after(&path));
        // What the provider compares with its own state may only differ there.
        let old = match (kind, old, new) {
            (None, Some(before), Some(after)) if before == after => self.sides.before(&path, false),
            _ => old,
        };
        if let (Some(before), Some(after)) = (old, new) {
            let mut inside = Vec::new();
            if expand(&path, before, after, &mut inside) {
                for (path, old, new) in inside {
                    let kind = kind.unwrap_or_else(|| kind_of(old, new));
                    self.insert(path.to_string(), kind, old, new);
                }
                return;
            }
        }
        let kind = kind.unwrap_or_else(|| kind_of(old, new));
        self.insert(path.to_string(), kind, old, new);
    }

    fn insert(
        &mut self,
        path: String,
        kind: DiffKind,
        old: Option<&PropertyValue>,
        new: Option<&PropertyValue>,
    ) {
        let hidden = old.into_iter().chain(new).any(PropertyValue::contains_secrets);
        let shown = |side: Option<&PropertyValue>| {
            side.map(|side| match hidden {
                true => PropertyValue::string(PLACEHOLDER),
                false => self.redactor.scrub_value(side),
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
        let path = PropertyPath::parse(key).ok();
        let enclosing = path.and_then(|path| self.sides.enclosing_secret(&path));
        let key = &*enclosing.map_or_else(|| key.to_owned(), |path| path.to_string());
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

type Inside<'a> = (PropertyPath, Option<&'a PropertyValue>, Option<&'a PropertyValue>);

/// Lists the differences inside two objects or two arrays; returns false for other values, and for secrets.
fn expand<'a>(
    path: &PropertyPath,
    old: &'a PropertyValue,
    new: &'a PropertyValue,
    inside: &mut Vec<Inside<'a>>,
) -> bool {
    let mut pending = vec![(path.clone(), old, new)];
    let mut opened = false;
    while let Some((path, old, new)) = pending.pop() {
        if inside.len() + pending.len() > MAX_NESTED_CHANGES {
            return false;
        }
        let mut compare =
            |element: PathElement, before: Option<&'a PropertyValue>, after: Option<&'a PropertyValue>| {
                if before == after {
                    return;
                }
                let mut path = path.clone();
                path.push(element);
                match (before, after) {
                    (Some(before), Some(after)) => pending.push((path, before, after)),
                    _ => inside.push((path, before, after)),
                }
            };
        if old.is_secret() || new.is_secret() {
            inside.push((path, Some(old), Some(new)));
            continue;
        }
        match (old.unwrapped(), new.unwrapped()) {
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

const fn kind_of(old: Option<&PropertyValue>, new: Option<&PropertyValue>) -> DiffKind {
    match (old, new) {
        (None, Some(_)) => DiffKind::Add,
        (Some(_), None) => DiffKind::Delete,
        _ => DiffKind::Update,
    }
}

/// Returns how what encloses a changed property changes.
const fn of_enclosing(kind: DiffKind) -> DiffKind {
    match kind {
        DiffKind::Add | DiffKind::Delete | DiffKind::Update => DiffKind::Update,
        DiffKind::AddReplace | DiffKind::DeleteReplace | DiffKind::UpdateReplace => DiffKind::UpdateReplace,
    }
}

const fn replacing(kind: DiffKind) -> DiffKind {
    match kind {
        DiffKind::Add | DiffKind::AddReplace => DiffKind::AddReplace,
        DiffKind::Delete | DiffKind::DeleteReplace => DiffKind::DeleteReplace,
        DiffKind::Update | DiffKind::UpdateReplace => DiffKind::UpdateReplace,
    }
}
