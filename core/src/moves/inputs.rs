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

/// Compares recorded inputs with those of a creation, each with the name of its resource. Unknown values do not count,
/// and names only where they are equal.
pub(super) fn compare(old: (&PropertyMap, &str), new: (&PropertyMap, &str)) -> Equal {
    let mut found = Equal::default();
    let ((old, old_name), (new, new_name)) = (old, new);
    let mut count = |name: &str, before: Option<&PropertyValue>, after: Option<&PropertyValue>| {
        if is_internal(name) || after.is_some_and(PropertyValue::contains_unknowns) {
            return;
        }
        let is_equal = match (before, after) {
            (Some(before), Some(after)) => is_same(before, old_name, after, new_name),
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

/// Returns whether two values are equal, or differ only in the name of the resource that they contain.
fn is_same(old: &PropertyValue, old_name: &str, new: &PropertyValue, new_name: &str) -> bool {
    let (old, new) = (old.unwrapped(), new.unwrapped());
    if old.is_equivalent(new) {
        return true;
    }
    match (old, new) {
        (PropertyValue::String(old), PropertyValue::String(new)) if !old_name.is_empty() => {
            old.contains(old_name) && old.replace(old_name, new_name) == new.as_str()
        }
        _ => false,
    }
}
