//! The likeness of inputs: how many properties are equal, apart from names.

use std::hash::{Hash, Hasher as _};

use rustc_hash::FxHasher;

use crate::property::{PropertyMap, PropertyValue};

/// How many of the compared properties are equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Equal {
    pub(super) equal: usize,
    pub(super) compared: usize,
}

/// Returns whether a property is the engine's or the SDK's own.
fn is_internal(name: &str) -> bool {
    name.starts_with("__")
}

/// Returns whether a property holds a name, which changes with that of the resource.
fn is_name_like(name: &str) -> bool {
    let start = name.len().saturating_sub("name".len());
    name.get(start..)
        .is_some_and(|end| end.eq_ignore_ascii_case("name"))
}

/// Returns the hash of a value.
pub(super) fn hash_of(value: &impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Returns a hash that equal inputs share, names left out; `None` for inputs without any or with unknown values.
pub(super) fn fingerprint(inputs: &PropertyMap) -> Option<u64> {
    let mut hasher = FxHasher::default();
    let mut is_empty = true;
    for (name, value) in inputs.iter() {
        if is_internal(name) || is_name_like(name) {
            continue;
        }
        if value.contains_unknowns() {
            return None;
        }
        is_empty = false;
        name.hash(&mut hasher);
        hash_value(value, &mut hasher);
    }
    (!is_empty).then(|| hasher.finish())
}

/// Hashes a value. Kinds without a simple content have the same hash: fingerprints only find what is compared then.
fn hash_value(value: &PropertyValue, hasher: &mut FxHasher) {
    match value.unwrapped() {
        PropertyValue::Bool(value) => (1_u8, value).hash(hasher),
        PropertyValue::Number(number) => (2_u8, (number + 0.0).to_bits()).hash(hasher),
        PropertyValue::String(text) => (3_u8, text.as_str()).hash(hasher),
        PropertyValue::Array(items) => {
            (4_u8, items.len()).hash(hasher);
            items.iter().for_each(|item| hash_value(item, hasher));
        }
        PropertyValue::Object(members) => {
            (5_u8, members.len()).hash(hasher);
            for (name, member) in members.iter() {
                name.hash(hasher);
                hash_value(member, hasher);
            }
        }
        _ => 0_u8.hash(hasher),
    }
}

/// Former names, each with the one that takes its place.
pub(super) type Names<'a> = &'a [(&'a str, &'a str)];

/// Compares recorded inputs with those of a creation, in which the names of the resource and of its parent are replaced. Unknown
/// values do not count, and names only where they are equal.
pub(super) fn compare(old: &PropertyMap, new: &PropertyMap, names: Names<'_>) -> Equal {
    let mut found = Equal::default();
    let mut count = |name: &str, before: Option<&PropertyValue>, after: Option<&PropertyValue>| {
        if is_internal(name) || after.is_some_and(PropertyValue::contains_unknowns) {
            return;
        }
        let is_equal = match (before, after) {
            (Some(before), Some(after)) => is_same(before, after, names),
            _ => false,
        };
        if is_equal || !is_name_like(name) {
            found.compared += 1;
            found.equal += usize::from(is_equal);
        }
    };
    for (name, before) in old.iter() {
        count(name, Some(before), new.get(name));
    }
    for (name, after) in new.iter().filter(|(name, _)| !old.contains_key(name)) {
        count(name, None, Some(after));
    }
    found
}

/// Returns whether two values are equal, or differ only in names that they contain.
fn is_same(old: &PropertyValue, new: &PropertyValue, names: Names<'_>) -> bool {
    let (old, new) = (old.unwrapped(), new.unwrapped());
    if old.is_equivalent(new) {
        return true;
    }
    match (old, new) {
        (PropertyValue::String(old), PropertyValue::String(new)) => is_renamed(old, new, names),
        (PropertyValue::Array(old), PropertyValue::Array(new)) => {
            let mut pairs = old.iter().zip(new.iter());
            old.len() == new.len() && pairs.all(|(old, new)| is_same(old, new, names))
        }
        (PropertyValue::Object(old), PropertyValue::Object(new)) => {
            let mut members = old.iter();
            old.len() == new.len()
                && members.all(|(name, old)| new.get(name).is_some_and(|new| is_same(old, new, names)))
        }
        _ => false,
    }
}

/// Returns whether a text with one of the former names, or with all of them, is another one with the new names.
fn is_renamed(old: &str, new: &str, names: Names<'_>) -> bool {
    let mut used = names
        .iter()
        .filter(|(former, _)| !former.is_empty() && old.contains(former));
    let Some(first) = used.next() else {
        return false;
    };
    let with = |text: &str, (former, present): &(&str, &str)| text.replace(former, present);
    let mut all = with(old, first);
    let mut is_found = all == new;
    for names in used {
        is_found |= with(old, names) == new;
        all = with(&all, names);
    }
    is_found || all == new
}

/// The hash of a property that can be equal to that of any resource.
pub(super) const ANY: u64 = 0;

/// Returns the hash of each property by its name's, in the order of the names; [`ANY`] where it is unknown or contains one of
/// `names`.
pub(super) fn hashes(inputs: &PropertyMap, names: &[&str]) -> Vec<(u64, u64)> {
    let properties = inputs.iter().filter(|(name, _)| !is_internal(name));
    let mut hashes: Vec<_> = properties
        .map(|(name, value)| {
            let is_any =
                is_name_like(name) || value.contains_unknowns() || mentions(value, names) || has_null(value);
            let mut hasher = FxHasher::default();
            hash_value(value, &mut hasher);
            let hash = if is_any { ANY } else { hasher.finish() | 1 };
            (hash_of(&name), hash)
        })
        .collect();
    hashes.sort_unstable();
    hashes
}

/// Returns whether a text within a value contains one of `names`.
fn mentions(value: &PropertyValue, names: &[&str]) -> bool {
    match value.unwrapped() {
        PropertyValue::String(text) => names.iter().any(|name| text.contains(name)),
        PropertyValue::Array(items) => items.iter().any(|item| mentions(item, names)),
        PropertyValue::Object(members) => members.iter().any(|(_, member)| mentions(member, names)),
        _ => false,
    }
}

/// Returns whether a value contains a null, which an object equals without it.
fn has_null(value: &PropertyValue) -> bool {
    match value.unwrapped() {
        PropertyValue::Array(items) => items.iter().any(has_null),
        PropertyValue::Object(members) => members.iter().any(|(_, member)| has_null(member)),
        other => other.is_null(),
    }
}
