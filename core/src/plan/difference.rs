//! Differences of properties in a plan, by name.

use crate::property::{Key, PropertyMap};

/// The differences between two sets of properties. Null counts as absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PlanDiff {
    /// Added properties.
    pub adds: PropertyMap,
    /// Names of removed properties.
    pub deletes: Vec<Key>,
    /// Changed properties, with the new value.
    pub updates: PropertyMap,
}

impl PlanDiff {
    /// Compares `new` with `old`.
    #[must_use]
    pub(crate) fn between(old: &PropertyMap, new: &PropertyMap) -> Self {
        let Some(diff) = old.diff(new) else {
            return Self::default();
        };
        Self {
            adds: diff.adds.into_iter().collect(),
            deletes: diff.deletes.into_keys().collect(),
            updates: diff
                .updates
                .into_iter()
                .map(|(key, update)| (key, update.new))
                .collect(),
        }
    }

    /// Returns whether a property differs.
    pub(super) fn speaks_of(&self, key: &Key) -> bool {
        self.adds.contains_key(key) || self.updates.contains_key(key) || self.deletes.contains(key)
    }

    /// Returns whether nothing differs.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.adds.is_empty() && self.deletes.is_empty() && self.updates.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_names_what_is_new_what_is_gone_and_what_is_other() {
        let old: PropertyMap = [("a", 1.0.into()), ("b", 1.0.into()), ("c", 1.0.into())]
            .into_iter()
            .collect();
        let new: PropertyMap = [("b", 2.0.into()), ("c", 1.0.into()), ("d", "x".into())]
            .into_iter()
            .collect();
        let diff = PlanDiff::between(&old, &new);
        assert_eq!(diff.adds, [("d", "x".into())].into_iter().collect());
        assert_eq!(diff.deletes, ["a"]);
        assert_eq!(diff.updates, [("b", 2.0.into())].into_iter().collect());
        assert!(PlanDiff::between(&new, &new).is_empty());
    }
}
