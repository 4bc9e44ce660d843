//! Comparison of values: equality by the rules of the protocol, and the differences level by level.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::property::{Archive, Asset, Key, PropertyMap, PropertyPath, PropertyValue, ResourceReference};

/// The change of one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Change {
    /// Only the new side has a value.
    Add,
    /// Only the old side has a value.
    Delete,
    /// Both sides have a value, and the values are not equal.
    Update,
}

/// The differences between two objects, sorted by name, without equal entries.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ObjectDiff {
    /// Entries of the new object only.
    pub adds: BTreeMap<Key, PropertyValue>,
    /// Entries of the old object only.
    pub deletes: BTreeMap<Key, PropertyValue>,
    /// Entries of both with different values.
    pub updates: BTreeMap<Key, ValueDiff>,
}

/// The differences between two arrays, by index.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ArrayDiff {
    /// Elements beyond the end of the old array.
    pub adds: BTreeMap<usize, PropertyValue>,
    /// Elements beyond the end of the new array.
    pub deletes: BTreeMap<usize, PropertyValue>,
    /// Elements of both with different values.
    pub updates: BTreeMap<usize, ValueDiff>,
}

/// Two different values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ValueDiff {
    /// The old value.
    pub old: PropertyValue,
    /// The new value.
    pub new: PropertyValue,
    /// The inner differences, if both are objects or both are arrays.
    pub inside: Option<InnerDiff>,
}

/// The inner differences of two values of one kind.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum InnerDiff {
    Object(ObjectDiff),
    Array(ArrayDiff),
}

impl PropertyMap {
    /// Returns whether both are equal by the rules of the protocol: null is absent, assets and archives are compared by
    /// hash, a secret never equals its plain value, and an unknown equals only an unknown of its kind.
    #[must_use]
    pub fn is_equivalent(&self, other: &Self) -> bool {
        self.same_content(other) || pairs(self, other).all(|(_, pair)| pair.are_equal())
    }

    /// Returns the differences from `self`, the old side, to `new`; `None` if both are equivalent.
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

/// The values of both sides under one name.
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
            Self::Both(old, new) => old.is_equivalent(new),
        }
    }
}

/// Iterates over two sorted maps in parallel.
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
    /// Returns whether both are equal by the rules of the protocol; see [`PropertyMap::is_equivalent`].
    #[must_use]
    pub fn is_equivalent(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Array(left), Self::Array(right)) => {
                left.len() == right.len()
                    && left
                        .iter()
                        .zip(right.iter())
                        .all(|(left, right)| left.is_equivalent(right))
            }
            (Self::Object(left), Self::Object(right)) => left.is_equivalent(right),
            (Self::Asset(left), Self::Asset(right)) => left.is_equivalent(right),
            (Self::Archive(left), Self::Archive(right)) => left.is_equivalent(right),
            (Self::ResourceReference(left), Self::ResourceReference(right)) => left.is_equivalent(right),
            (Self::Secret(left), Self::Secret(right)) => left.element.is_equivalent(&right.element),
            (Self::Output(left), Self::Output(right)) => {
                left.secret == right.secret
                    && left.dependencies == right.dependencies
                    && match (&left.element, &right.element) {
                        (None, None) => true,
                        (Some(left), Some(right)) => left.is_equivalent(right),
                        _ => false,
                    }
            }
            (left, right) => left == right,
        }
    }

    /// Returns the differences from `self`, the old side, to `new`; `None` if both are equivalent.
    #[must_use]
    pub(crate) fn diff(&self, new: &Self) -> Option<ValueDiff> {
        let inside = match (self, new) {
            (Self::Object(left), Self::Object(right)) => Some(InnerDiff::Object(left.diff(right)?)),
            (Self::Array(left), Self::Array(right)) => Some(InnerDiff::Array(array_diff(left, right)?)),
            (left, right) if left.is_equivalent(right) => return None,
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
    // A loop needs a tenth of the stack that a chain of iterators needs, which matters for deeply nested values.
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
    /// Returns whether both have the same contents, by their hashes if both have one.
    #[must_use]
    pub fn is_equivalent(&self, other: &Self) -> bool {
        if self.hash.is_empty() || other.hash.is_empty() {
            return self == other;
        }
        self.hash == other.hash
    }
}

impl Archive {
    /// Returns whether both have the same contents, by their hashes if both have one.
    #[must_use]
    pub fn is_equivalent(&self, other: &Self) -> bool {
        if self.hash.is_empty() || other.hash.is_empty() {
            return self == other;
        }
        self.hash == other.hash
    }
}

impl ResourceReference {
    /// Returns whether both refer to the same resource, ignoring the package's version and the kind of unknown ids.
    #[must_use]
    pub fn is_equivalent(&self, other: &Self) -> bool {
        self.urn == other.urn
            && match (&self.id, &other.id) {
                (Some(Err(_)), Some(Err(_))) => true,
                (left, right) => left == right,
            }
    }
}

impl ObjectDiff {
    /// Returns whether there are no differences.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.adds.is_empty() && self.deletes.is_empty() && self.updates.is_empty()
    }

    /// Returns the names of the different entries, in order.
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

    /// Returns every innermost difference in the order of the paths: the content of a detailed diff.
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
