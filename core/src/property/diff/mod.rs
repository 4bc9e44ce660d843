//! Comparing values: equality as the protocol means it, and what differs, level by level.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::property::{Archive, Asset, Key, PropertyMap, PropertyPath, PropertyValue, ResourceReference};

/// How one place differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Change {
    /// Only the new side has a value.
    Add,
    /// Only the old side has a value.
    Delete,
    /// Both sides have a value, and these are not equal.
    Update,
}

/// What differs between two objects; names in order, equal entries left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ObjectDiff {
    /// Entries that only the new object has.
    pub adds: BTreeMap<Key, PropertyValue>,
    /// Entries that only the old object has.
    pub deletes: BTreeMap<Key, PropertyValue>,
    /// Entries that both have with values that are not equal.
    pub updates: BTreeMap<Key, ValueDiff>,
}

/// What differs between two arrays, by index.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ArrayDiff {
    /// Elements past the end of the old array.
    pub adds: BTreeMap<usize, PropertyValue>,
    /// Elements past the end of the new array.
    pub deletes: BTreeMap<usize, PropertyValue>,
    /// Elements that both have with values that are not equal.
    pub updates: BTreeMap<usize, ValueDiff>,
}

/// Two values that are not equal.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ValueDiff {
    /// The old value.
    pub old: PropertyValue,
    /// The new value.
    pub new: PropertyValue,
    /// What differs inside, when both are objects or both are arrays.
    pub inside: Option<InnerDiff>,
}

/// What differs inside two values of one kind.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum InnerDiff {
    Object(ObjectDiff),
    Array(ArrayDiff),
}

impl PropertyMap {
    /// Tells whether both say the same: null counts as absent, assets and archives are equal when their hashes are,
    /// a secret never equals its plain value, and an unknown equals only an unknown of its kind.
    #[must_use]
    pub fn says_the_same(&self, other: &Self) -> bool {
        self.same_content(other) || pairs(self, other).all(|(_, pair)| pair.are_equal())
    }

    /// Returns what differs from `self`, the old side, to `new`; `None` when both say the same.
    #[must_use]
    pub(crate) fn diff(&self, new: &Self) -> Option<ObjectDiff> {
        if self.same_content(new) {
            return None;
        }
        let mut diff = ObjectDiff::default();
        for (key, pair) in pairs(self, new) {
            match pair {
                Pair::Neither => {}
                Pair::Old(old) => drop(diff.deletes.insert(key.clone(), old.clone())),
                Pair::New(new) => drop(diff.adds.insert(key.clone(), new.clone())),
                Pair::Both(old, new) => {
                    if let Some(update) = old.diff(new) {
                        diff.updates.insert(key.clone(), update);
                    }
                }
            }
        }
        (!diff.is_empty()).then_some(diff)
    }
}

/// What the two sides have under one name.
enum Pair<'a> {
    Neither,
    Old(&'a PropertyValue),
    New(&'a PropertyValue),
    Both(&'a PropertyValue, &'a PropertyValue),
}

impl<'a> Pair<'a> {
    fn new(old: Option<&'a PropertyValue>, new: Option<&'a PropertyValue>) -> Self {
        let present = |value: &&PropertyValue| !value.is_null();
        match (old.filter(present), new.filter(present)) {
            (None, None) => Self::Neither,
            (Some(old), None) => Self::Old(old),
            (None, Some(new)) => Self::New(new),
            (Some(old), Some(new)) => Self::Both(old, new),
        }
    }

    fn are_equal(&self) -> bool {
        match self {
            Self::Neither => true,
            Self::Old(_) | Self::New(_) => false,
            Self::Both(old, new) => old.says_the_same(new),
        }
    }
}

/// Walks two sorted maps side by side.
fn pairs<'a>(old: &'a PropertyMap, new: &'a PropertyMap) -> impl Iterator<Item = (&'a Key, Pair<'a>)> {
    let mut old = old.iter().peekable();
    let mut new = new.iter().peekable();
    std::iter::from_fn(move || {
        let order = match (old.peek(), new.peek()) {
            (None, None) => return None,
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (Some((left, _)), Some((right, _))) => left.cmp(right),
        };
        let left = order.is_le().then(|| old.next()).flatten();
        let right = order.is_ge().then(|| new.next()).flatten();
        let key = left.or(right)?.0;
        Some((
            key,
            Pair::new(left.map(|(_, value)| value), right.map(|(_, value)| value)),
        ))
    })
}

impl PropertyValue {
    /// Tells whether both say the same; see [`PropertyMap::says_the_same`].
    #[must_use]
    pub fn says_the_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Array(left), Self::Array(right)) => {
                left.len() == right.len()
                    && left
                        .iter()
                        .zip(right.iter())
                        .all(|(left, right)| left.says_the_same(right))
            }
            (Self::Object(left), Self::Object(right)) => left.says_the_same(right),
            (Self::Asset(left), Self::Asset(right)) => left.says_the_same(right),
            (Self::Archive(left), Self::Archive(right)) => left.says_the_same(right),
            (Self::ResourceReference(left), Self::ResourceReference(right)) => left.says_the_same(right),
            (Self::Secret(left), Self::Secret(right)) => left.element.says_the_same(&right.element),
            (Self::Output(left), Self::Output(right)) => {
                left.secret == right.secret
                    && left.dependencies == right.dependencies
                    && match (&left.element, &right.element) {
                        (None, None) => true,
                        (Some(left), Some(right)) => left.says_the_same(right),
                        _ => false,
                    }
            }
            (left, right) => left == right,
        }
    }

    /// Returns what differs from `self`, the old side, to `new`; `None` when both say the same.
    #[must_use]
    pub(crate) fn diff(&self, new: &Self) -> Option<ValueDiff> {
        let inside = match (self, new) {
            (Self::Object(left), Self::Object(right)) => Some(InnerDiff::Object(left.diff(right)?)),
            (Self::Array(left), Self::Array(right)) => Some(InnerDiff::Array(array_diff(left, right)?)),
            (left, right) if left.says_the_same(right) => return None,
            _ => None,
        };
        Some(ValueDiff {
            old: self.clone(),
            new: new.clone(),
            inside,
        })
    }
}

fn array_diff(old: &[PropertyValue], new: &[PropertyValue]) -> Option<ArrayDiff> {
    let shared = old.len().min(new.len());
    let rest = |values: &[PropertyValue]| values.iter().cloned().enumerate().skip(shared).collect();
    // A loop, where values nest deep, takes a tenth of the stack that a chain of iterators does.
    let mut updates = BTreeMap::new();
    for (index, (old, new)) in old.iter().zip(new).enumerate() {
        if let Some(update) = old.diff(new) {
            updates.insert(index, update);
        }
    }
    let diff = ArrayDiff {
        adds: rest(new),
        deletes: rest(old),
        updates,
    };
    let empty = diff.adds.is_empty() && diff.deletes.is_empty() && diff.updates.is_empty();
    (!empty).then_some(diff)
}

impl Asset {
    /// Tells whether both have the same contents, going by the hashes when both have one.
    #[must_use]
    pub fn says_the_same(&self, other: &Self) -> bool {
        if self.hash.is_empty() || other.hash.is_empty() {
            return self == other;
        }
        self.hash == other.hash
    }
}

impl Archive {
    /// Tells whether both have the same contents, going by the hashes when both have one.
    #[must_use]
    pub fn says_the_same(&self, other: &Self) -> bool {
        if self.hash.is_empty() || other.hash.is_empty() {
            return self == other;
        }
        self.hash == other.hash
    }
}

impl ResourceReference {
    /// Tells whether both name one resource; the package's version does not count, nor the kinds of unknown ids.
    #[must_use]
    pub fn says_the_same(&self, other: &Self) -> bool {
        self.urn == other.urn
            && match (&self.id, &other.id) {
                (Some(Err(_)), Some(Err(_))) => true,
                (left, right) => left == right,
            }
    }
}

impl ObjectDiff {
    /// Tells whether nothing differs.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.adds.is_empty() && self.deletes.is_empty() && self.updates.is_empty()
    }

    /// Returns the names of the entries that differ, in order.
    #[must_use]
    pub(crate) fn keys(&self) -> Vec<Key> {
        let mut keys: Vec<Key> = self
            .adds
            .keys()
            .chain(self.deletes.keys())
            .chain(self.updates.keys())
            .cloned()
            .collect();
        keys.sort_unstable();
        keys
    }

    /// Returns every innermost place that differs, in the order of the paths: what a detailed diff lists.
    #[must_use]
    pub(crate) fn paths(&self) -> Vec<(PropertyPath, Change)> {
        let mut places = Vec::new();
        self.list(&mut PropertyPath::default(), &mut places);
        places.sort_by(|left, right| left.0.cmp(&right.0));
        places
    }

    fn list(&self, path: &mut PropertyPath, places: &mut Vec<(PropertyPath, Change)>) {
        let key = |key: &Key| key.clone();
        list(path, places, (&self.adds, &self.deletes, &self.updates), key);
    }
}

impl ValueDiff {
    fn list(&self, path: &mut PropertyPath, places: &mut Vec<(PropertyPath, Change)>) {
        match &self.inside {
            None => places.push((path.clone(), Change::Update)),
            Some(InnerDiff::Object(diff)) => diff.list(path, places),
            Some(InnerDiff::Array(diff)) => {
                list(
                    path,
                    places,
                    (&diff.adds, &diff.deletes, &diff.updates),
                    |index| *index,
                );
            }
        }
    }
}

type Parts<'a, K> = (
    &'a BTreeMap<K, PropertyValue>,
    &'a BTreeMap<K, PropertyValue>,
    &'a BTreeMap<K, ValueDiff>,
);

fn list<K, E: Into<crate::property::PathElement>>(
    path: &mut PropertyPath,
    places: &mut Vec<(PropertyPath, Change)>,
    (adds, deletes, updates): Parts<'_, K>,
    element: impl Fn(&K) -> E,
) {
    let plain = adds.keys().map(|key| (key, Change::Add));
    for (key, change) in plain.chain(deletes.keys().map(|key| (key, Change::Delete))) {
        path.push(element(key));
        places.push((path.clone(), change));
        path.pop();
    }
    for (key, update) in updates {
        path.push(element(key));
        update.list(path, places);
        path.pop();
    }
}
