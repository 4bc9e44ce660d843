//! The dependencies of each input of a resource: compact lists shared by goals, steps and records.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::MapAccess, ser::SerializeMap as _};
use smol_str::SmolStr;

use crate::{
    property::{Key, PropertyMap, PropertyValue},
    urn::Urn,
};

/// The dependencies of each input property, in the order of the properties' names; a list may be empty.
///
/// Cloning shares everything, and properties that depend on the same resources can share one list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PropertyDependencies(Option<Arc<Vec<Entry>>>);

/// A list of URNs that several properties share.
type SharedUrns = Arc<Vec<Urn>>;

type Entry = (SmolStr, Arc<Vec<Urn>>);

impl PropertyDependencies {
    /// Creates an empty map; allocates nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self(None)
    }

    /// Gives each property the same list.
    pub fn sharing(properties: impl IntoIterator<Item = SmolStr>, urns: Vec<Urn>) -> Self {
        let urns = Arc::new(urns);
        Self::from_entries(
            properties
                .into_iter()
                .map(|property| (property, Arc::clone(&urns)))
                .collect(),
        )
    }

    /// Creates the map from shared lists.
    pub(crate) fn from_shared(entries: Vec<(SmolStr, Arc<Vec<Urn>>)>) -> Self {
        Self::from_entries(entries)
    }

    /// Sorts entries by name; the last of several with the same name is used.
    fn from_entries(mut entries: Vec<Entry>) -> Self {
        if !entries.is_sorted_by(|left, right| left.0 < right.0) {
            entries.reverse();
            entries.sort_by(|left, right| left.0.cmp(&right.0));
            entries.dedup_by(|earlier, kept| earlier.0 == kept.0);
        }
        Self((!entries.is_empty()).then(|| Arc::new(entries)))
    }

    fn entries(&self) -> &[Entry] {
        self.0.as_ref().map_or(&[], |entries| entries.as_slice())
    }

    fn position(&self, property: &str) -> Result<usize, usize> {
        self.entries()
            .binary_search_by(|(name, _)| name.as_str().cmp(property))
    }

    fn entries_mut(&mut self) -> &mut Vec<Entry> {
        Arc::make_mut(self.0.get_or_insert_default())
    }

    /// Returns whether there are no properties.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries().is_empty()
    }

    /// Returns the dependencies of a property; `None` when it has no entry.
    #[must_use]
    pub fn get(&self, property: &str) -> Option<&[Urn]> {
        let position = self.position(property).ok()?;
        Some(&self.entries()[position].1)
    }

    /// Sets the dependencies of a property.
    pub fn insert(&mut self, property: impl Into<SmolStr>, urns: Vec<Urn>) {
        *self.list_mut(property.into()) = urns;
    }

    /// Returns the list of a property for changing; an absent one is created empty. Shared data is copied
    /// first.
    pub fn list_mut(&mut self, property: SmolStr) -> &mut Vec<Urn> {
        let position = self.position(&property);
        let entries = self.entries_mut();
        let position = match position {
            Ok(position) => position,
            Err(position) => {
                entries.insert(position, (property, Arc::default()));
                position
            }
        };
        Arc::make_mut(&mut entries[position].1)
    }

    /// Returns values as output values with these dependencies; a property without dependencies is unchanged.
    #[must_use]
    pub fn attach(&self, values: PropertyMap) -> PropertyMap {
        let attached = |(name, value): (Key, PropertyValue)| match self.get(&name) {
            Some(urns) if !urns.is_empty() => {
                let value = value.with_dependencies(urns);
                (name, value)
            }
            _ => (name, value),
        };
        values.into_iter().map(attached).collect()
    }

    /// Adds the dependencies of the output values in a property's value to its list. A value without output values adds
    /// nothing.
    pub(crate) fn add_outputs(&mut self, property: &SmolStr, value: &PropertyValue) {
        value.any(&mut |value| {
            if let PropertyValue::Output(output) = value {
                let list = self.list_mut(property.clone());
                for dependency in &output.dependencies {
                    if !list.contains(dependency) {
                        list.push(dependency.clone());
                    }
                }
            }
            false
        });
    }

    /// Adds an empty list for each of `properties` without an entry.
    pub(crate) fn complete<'a>(&mut self, properties: impl IntoIterator<Item = &'a SmolStr>) {
        let missing = properties
            .into_iter()
            .filter(|property| self.position(property).is_err());
        let missing: Vec<SmolStr> = missing.cloned().collect();
        if missing.is_empty() {
            return;
        }
        let empty = Arc::new(Vec::new());
        let entries = self.entries_mut();
        entries.extend(missing.into_iter().map(|property| (property, Arc::clone(&empty))));
        entries.sort_by(|left, right| left.0.cmp(&right.0));
        entries.dedup_by(|left, right| left.0 == right.0);
    }

    /// Returns properties and their lists in the order of the names.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&SmolStr, &[Urn])> {
        self.entries().iter().map(|(name, urns)| (name, urns.as_slice()))
    }

    /// Returns the lists; adjacent properties that share one return it once. For callers that visit all URNs.
    pub fn lists(&self) -> impl Iterator<Item = &[Urn]> {
        let entries = self.entries();
        let starts_run =
            move |index: usize| index == 0 || !Arc::ptr_eq(&entries[index - 1].1, &entries[index].1);
        entries
            .iter()
            .enumerate()
            .filter(move |(index, _)| starts_run(*index))
            .map(|(_, (_, urns))| urns.as_slice())
    }

    /// Returns whether both have the same properties, with lists that `same` considers equal. Lists that several
    /// properties share are compared once.
    pub fn is_like(&self, other: &Self, same: impl Fn(&[Urn], &[Urn]) -> bool) -> bool {
        let (left, right) = (self.entries(), other.entries());
        let mut last = None;
        left.len() == right.len()
            && left
                .iter()
                .zip(right)
                .all(|((name, urns), (other_name, other_urns))| {
                    let known = last.is_some_and(|(left, right)| {
                        Arc::ptr_eq(left, urns) && Arc::ptr_eq(right, other_urns)
                    });
                    last = Some((urns, other_urns));
                    name == other_name && (known || same(urns, other_urns))
                })
    }

    /// Returns the map with each list replaced by the result of `change`; a list stays where that is `None`. Adjacent
    /// properties that share a list still share one.
    #[must_use]
    pub(crate) fn map_lists(&self, change: impl Fn(&[Urn]) -> Option<Vec<Urn>>) -> Self {
        let mut last: Option<(&SharedUrns, SharedUrns)> = None;
        let entries = self.entries().iter().map(|(name, urns)| {
            let changed = match &last {
                Some((known, changed)) if Arc::ptr_eq(known, urns) => Arc::clone(changed),
                _ => change(urns).map_or_else(|| Arc::clone(urns), Arc::new),
            };
            last = Some((urns, Arc::clone(&changed)));
            (name.clone(), changed)
        });
        Self::from_entries(entries.collect())
    }

    /// Changes the lists one by one; shared lists are copied.
    pub fn for_each_mut(&mut self, mut change: impl FnMut(&mut Vec<Urn>)) {
        if self.is_empty() {
            return;
        }
        for (_, urns) in self.entries_mut() {
            change(Arc::make_mut(urns));
        }
    }
}

impl FromIterator<(SmolStr, Vec<Urn>)> for PropertyDependencies {
    /// Stores adjacent equal lists once.
    fn from_iter<I: IntoIterator<Item = (SmolStr, Vec<Urn>)>>(entries: I) -> Self {
        let mut last: Option<Arc<Vec<Urn>>> = None;
        let shared = |(name, urns): (SmolStr, Vec<Urn>)| {
            let urns = match &last {
                Some(last) if **last == urns => Arc::clone(last),
                _ => Arc::new(urns),
            };
            last = Some(Arc::clone(&urns));
            (name, urns)
        };
        Self::from_entries(entries.into_iter().map(shared).collect())
    }
}

impl<const N: usize> From<[(SmolStr, Vec<Urn>); N]> for PropertyDependencies {
    fn from(entries: [(SmolStr, Vec<Urn>); N]) -> Self {
        entries.into_iter().collect()
    }
}

impl Serialize for PropertyDependencies {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_map(Some(self.entries().len()))?;
        for (name, urns) in self.iter() {
            fields.serialize_entry(name.as_str(), urns)?;
        }
        fields.end()
    }
}

impl<'de> Deserialize<'de> for PropertyDependencies {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = PropertyDependencies;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("lists of URNs by property")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = access.next_entry::<SmolStr, Vec<Urn>>()? {
                    entries.push(entry);
                }
                Ok(entries.into_iter().collect())
            }
        }

        deserializer.deserialize_map(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn urns(names: &[&str]) -> Vec<Urn> {
        let urn = |name: &&str| Urn::new("dev", "shop", "", "pkg:index:Type", name);
        names.iter().map(urn).collect()
    }

    #[test]
    fn only_values_with_dependencies_become_output_values() {
        let map: PropertyDependencies = [("a".into(), urns(&["x"])), ("b".into(), Vec::new())].into();
        let values: PropertyMap = ["a", "b", "c"]
            .map(|name| (name, true.into()))
            .into_iter()
            .collect();
        let attached = map.attach(values.clone());
        assert!(
            matches!(attached.get("a"), Some(PropertyValue::Output(output)) if output.dependencies == urns(&["x"]))
        );
        assert_eq!(
            (attached.get("b"), attached.get("c")),
            (values.get("b"), values.get("c"))
        );
        assert_eq!(attached.collapse_outputs(), values);
    }

    #[test]
    fn names_stand_in_order_and_the_last_of_several_wins() {
        let entries = [("b", urns(&["x"])), ("a", urns(&["y"])), ("b", urns(&["z"]))];
        let map: PropertyDependencies = entries
            .into_iter()
            .map(|(name, urns)| (name.into(), urns))
            .collect();
        let names: Vec<_> = map.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(map.get("b"), Some(&urns(&["z"])[..]));
        assert_eq!(map.get("c"), None);
    }

    #[test]
    fn a_change_of_one_list_leaves_the_others_and_clones_as_they_were() {
        let mut map = PropertyDependencies::sharing(["a".into(), "b".into()], urns(&["x"]));
        assert_eq!(map.lists().count(), 1);
        let before = map.clone();
        map.list_mut("b".into()).extend(urns(&["y"]));
        map.list_mut("c".into());
        assert_eq!(map.get("a"), before.get("a"));
        assert_eq!(map.get("b"), Some(&urns(&["x", "y"])[..]));
        assert_eq!(map.get("c"), Some(&[][..]));
        assert_eq!(before.get("b"), Some(&urns(&["x"])[..]));
        assert_eq!(map.lists().count(), 3);
    }

    #[test]
    fn completing_adds_empty_lists_and_keeps_those_of_properties_that_are_not_named() {
        let mut map = PropertyDependencies::from([("b".into(), urns(&["x"])), ("d".into(), urns(&["y"]))]);
        let before = map.clone();
        map.complete(["b".into(), "c".into(), "a".into(), "c".into()].iter());
        let names: Vec<_> = map.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a", "b", "c", "d"]);
        assert_eq!(map.get("a"), Some(&[][..]));
        assert_eq!(map.get("b"), Some(&urns(&["x"])[..]));
        assert_eq!(map.get("d"), Some(&urns(&["y"])[..]));
        assert_eq!(before.iter().count(), 2);
    }

    #[test]
    fn maps_are_alike_when_every_list_is() {
        let reversed = |left: &[Urn], right: &[Urn]| left.iter().rev().eq(right);
        let map = PropertyDependencies::sharing(["a".into(), "b".into()], urns(&["x", "y"]));
        let other = PropertyDependencies::sharing(["a".into(), "b".into()], urns(&["y", "x"]));
        assert!(map.is_like(&other, reversed));
        assert!(!map.is_like(&map, reversed));
        let mut longer = other.clone();
        longer.insert("c", Vec::new());
        assert!(!map.is_like(&longer, reversed));
        let mut changed = other;
        changed.insert("b", urns(&["y"]));
        assert!(!map.is_like(&changed, reversed));
    }

    #[test]
    fn an_empty_map_allocates_nothing_and_equals_one_of_no_entries() {
        let none: PropertyDependencies = Vec::<(SmolStr, Vec<Urn>)>::new().into_iter().collect();
        assert_eq!(none, PropertyDependencies::new());
        assert!(none.0.is_none());
    }

    #[test]
    fn the_json_form_is_a_map_of_lists() {
        let map = PropertyDependencies::sharing(["a".into()], urns(&["x"]));
        let text = serde_json::to_string(&map).unwrap();
        assert_eq!(text, r#"{"a":["urn:pulumi:dev::shop::pkg:index:Type::x"]}"#);
        assert_eq!(serde_json::from_str::<PropertyDependencies>(&text).unwrap(), map);
    }
}
