//! Parts of goals and states: timeouts, dependencies by property, hooks, source positions.

use std::{
    collections::BTreeMap,
    ops::{Deref, DerefMut},
    sync::Arc,
};

use smol_str::SmolStr;

use crate::urn::Urn;

/// The dependencies of each input property; one list for each property, possibly empty.
///
/// Cloning shares the lists: goals, steps and records of one resource hold the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct PropertyDependencies(Arc<BTreeMap<SmolStr, Vec<Urn>>>);

impl PropertyDependencies {
    /// Creates an empty map.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl Deref for PropertyDependencies {
    type Target = BTreeMap<SmolStr, Vec<Urn>>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for PropertyDependencies {
    /// Lists that somebody else holds too are copied first.
    fn deref_mut(&mut self) -> &mut Self::Target {
        Arc::make_mut(&mut self.0)
    }
}

impl FromIterator<(SmolStr, Vec<Urn>)> for PropertyDependencies {
    fn from_iter<I: IntoIterator<Item = (SmolStr, Vec<Urn>)>>(entries: I) -> Self {
        Self(Arc::new(entries.into_iter().collect()))
    }
}

impl<const N: usize> From<[(SmolStr, Vec<Urn>); N]> for PropertyDependencies {
    fn from(entries: [(SmolStr, Vec<Urn>); N]) -> Self {
        entries.into_iter().collect()
    }
}

impl<'a> IntoIterator for &'a PropertyDependencies {
    type Item = (&'a SmolStr, &'a Vec<Urn>);
    type IntoIter = std::collections::btree_map::Iter<'a, SmolStr, Vec<Urn>>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

/// How long each call to the provider may take, in seconds; `None` leaves it to the provider.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct CustomTimeouts {
    /// For Create.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub create: Option<f64>,
    /// For Update.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update: Option<f64>,
    /// For Delete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delete: Option<f64>,
    /// For Read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<f64>,
}

impl CustomTimeouts {
    /// Tells whether nothing is set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The names of the hooks bound to a resource, by the moment at which they run (`BeforeCreate`, `OnError`…).
pub type HookBindings = BTreeMap<String, Vec<String>>;

/// A place in the program, as `project:///<path>#<line>[,<column>]`; `None` for a frame that is not known.
pub type SourcePosition = Option<SmolStr>;
