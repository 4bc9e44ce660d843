//! Property maps: a sorted vector behind a shared pointer.

use std::{fmt, sync::Arc};

use smol_str::SmolStr;

use super::contents;
use crate::property::PropertyValue;

/// A property's name.
pub type Key = SmolStr;

/// Property values by name, sorted by the bytes of the names. Clones share the content.
#[derive(Clone, Default)]
pub struct PropertyMap(Option<Arc<Vec<(Key, PropertyValue)>>>);

impl PropertyMap {
    /// Returns whether both share their content: a clone does until either changes.
    pub(crate) fn is_shared_with(&self, other: &Self) -> bool {
        matches!((&self.0, &other.0), (Some(own), Some(other)) if Arc::ptr_eq(own, other))
    }

    /// Creates an empty map without allocation.
    #[must_use]
    pub const fn new() -> Self {
        Self(None)
    }

    fn entries(&self) -> &[(Key, PropertyValue)] {
        self.0.as_ref().map_or(&[], |entries| entries.as_slice())
    }

    fn position(&self, key: &str) -> Result<usize, usize> {
        self.entries()
            .binary_search_by(|(name, _)| name.as_str().cmp(key))
    }

    fn entries_mut(&mut self) -> &mut Vec<(Key, PropertyValue)> {
        Arc::make_mut(self.0.get_or_insert_default())
    }

    /// Returns the number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries().len()
    }

    /// Returns whether there are no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries().is_empty()
    }

    /// Returns the value of `key`.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&PropertyValue> {
        self.position(key)
            .ok()
            .map(|position| &self.entries()[position].1)
    }

    /// Returns whether there is an entry for `key`.
    #[must_use]
    pub fn contains_key(&self, key: &str) -> bool {
        self.position(key).is_ok()
    }

    /// Sets the value of `key` and returns the previous one.
    pub fn insert(&mut self, key: impl Into<Key>, value: PropertyValue) -> Option<PropertyValue> {
        let key = key.into();
        match self.position(&key) {
            Ok(position) => Some(std::mem::replace(&mut self.entries_mut()[position].1, value)),
            Err(position) => {
                self.entries_mut().insert(position, (key, value));
                None
            }
        }
    }

    /// Removes the entry of `key`.
    pub fn remove(&mut self, key: &str) -> Option<PropertyValue> {
        let position = self.position(key).ok()?;
        Some(self.entries_mut().remove(position).1)
    }

    /// Returns a mutable reference to the value of `key`; copies shared content first.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut PropertyValue> {
        let position = self.position(key).ok()?;
        Some(&mut self.entries_mut()[position].1)
    }

    /// Returns the entries in order with mutable values; copies shared content first.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&Key, &mut PropertyValue)> {
        let entries: &mut [(Key, PropertyValue)] = match &mut self.0 {
            Some(entries) => Arc::make_mut(entries).as_mut_slice(),
            None => &mut [],
        };
        entries.iter_mut().map(|(key, value)| (&*key, value))
    }

    /// Restores assets and archives without contents from those in `recorded` with the same hash.
    pub fn restore_contents<'a>(&mut self, recorded: impl IntoIterator<Item = &'a Self>) {
        contents::restore(self, recorded);
    }

    /// Creates a map from entries with strictly ascending names.
    pub(crate) fn from_ascending(entries: Vec<(Key, PropertyValue)>) -> Self {
        debug_assert!(entries.is_sorted_by(|left, right| left.0 < right.0));
        if entries.is_empty() {
            return Self::new();
        }
        Self(Some(Arc::new(entries)))
    }

    /// Returns the entries in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Key, &PropertyValue)> + DoubleEndedIterator {
        self.entries().iter().map(|(key, value)| (key, value))
    }

    /// Returns the names in order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &Key> {
        self.entries().iter().map(|(key, _)| key)
    }

    /// Returns the values in the order of their names.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &PropertyValue> {
        self.entries().iter().map(|(_, value)| value)
    }

    /// Returns whether both share their content, and are equal therefore.
    #[must_use]
    pub fn same_content(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(left), Some(right)) => Arc::ptr_eq(left, right),
            _ => false,
        }
    }

    /// Returns whether the map contains an unknown at any level.
    #[must_use]
    pub fn contains_unknowns(&self) -> bool {
        self.values().any(PropertyValue::contains_unknowns)
    }

    /// Removes the unknowns at every level, for receivers without unknowns. A map without any stays shared.
    #[must_use]
    pub fn without_unknowns(self) -> Self {
        if !self.contains_unknowns() {
            return self;
        }
        let known = self
            .iter()
            .filter_map(|(key, value)| Some((key.clone(), value.without_unknowns()?)));
        known.collect()
    }

    /// Returns whether the map contains a secret at any level.
    #[must_use]
    pub fn contains_secrets(&self) -> bool {
        self.values().any(PropertyValue::contains_secrets)
    }
}

impl PartialEq for PropertyMap {
    fn eq(&self, other: &Self) -> bool {
        self.same_content(other) || self.entries() == other.entries()
    }
}

impl<K: Into<Key>> FromIterator<(K, PropertyValue)> for PropertyMap {
    fn from_iter<I: IntoIterator<Item = (K, PropertyValue)>>(entries: I) -> Self {
        let mut entries: Vec<(Key, PropertyValue)> = entries
            .into_iter()
            .map(|(key, value)| (key.into(), value))
            .collect();
        if entries.is_empty() {
            return Self::new();
        }
        if !entries.is_sorted_by(|left, right| left.0 < right.0) {
            // The last of several entries with the same name is kept.
            entries.sort_by(|left, right| left.0.cmp(&right.0));
            entries.reverse();
            entries.dedup_by(|later, kept| later.0 == kept.0);
            entries.reverse();
        }
        Self(Some(Arc::new(entries)))
    }
}

impl IntoIterator for PropertyMap {
    type Item = (Key, PropertyValue);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.map(Arc::unwrap_or_clone).unwrap_or_default().into_iter()
    }
}

impl fmt::Debug for PropertyMap {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_map().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_several_entries_with_one_name_wins() {
        let map: PropertyMap = [("b", 1.0.into()), ("a", 2.0.into()), ("b", 3.0.into())]
            .into_iter()
            .collect();
        assert_eq!(map.keys().map(SmolStr::as_str).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(map.get("b"), Some(&PropertyValue::Number(3.0)));
    }

    #[test]
    fn an_emptied_map_equals_one_that_was_never_filled() {
        let mut map = PropertyMap::new();
        map.insert("a", true.into());
        map.remove("a");
        assert_eq!(map, PropertyMap::new());
    }

    #[test]
    fn an_insertion_does_not_change_clones() {
        let mut map = PropertyMap::new();
        map.insert("a", true.into());
        let before = map.clone();
        map.insert("b", false.into());
        assert_eq!((before.len(), map.len()), (1, 2));
    }

    #[test]
    fn unknowns_are_removed_at_every_level_and_other_values_kept() {
        let inner = PropertyMap::from_iter([("c", PropertyValue::unknown()), ("d", 2.0.into())]);
        let map = PropertyMap::from_iter([
            ("a", PropertyValue::unknown()),
            (
                "b",
                PropertyValue::Array(Arc::new(vec![1.0.into(), PropertyValue::unknown(), inner.into()])),
            ),
            ("s", PropertyValue::secret(PropertyValue::unknown())),
            ("t", PropertyValue::secret("kept".into())),
        ]);
        let kept = PropertyMap::from_iter([("d", PropertyValue::from(2.0))]);
        let expected = PropertyMap::from_iter([
            ("b", PropertyValue::Array(Arc::new(vec![1.0.into(), kept.into()]))),
            ("t", PropertyValue::secret("kept".into())),
        ]);
        assert_eq!(map.without_unknowns(), expected);
        assert!(expected.clone().without_unknowns().same_content(&expected));
    }
}
