//! The world: the things that simulated providers have created, and those that a test put there.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest as _, Sha256};

use crate::{
    property::PropertyMap,
    token::{ResourceId, TypeToken},
    urn::Urn,
};

/// A thing in the world of a simulation.
#[derive(Clone, Debug)]
pub struct Thing {
    /// The type of its resource.
    pub resource_type: TypeToken,
    /// Its id.
    pub id: ResourceId,
    /// The resource that it was created for; `None` for one that the test put there.
    pub urn: Option<Urn>,
    /// The name of the resource; the id where there is none.
    pub name: String,
    /// The inputs of the last creation or update.
    pub inputs: PropertyMap,
    /// Its present properties.
    pub outputs: PropertyMap,
}

/// What names a thing.
pub(super) type Key = (TypeToken, ResourceId);

/// The inputs and outputs of a component, as they are recorded.
#[derive(Clone, Debug)]
pub(super) struct RecordedComponent {
    pub(super) inputs: PropertyMap,
    pub(super) outputs: PropertyMap,
}

/// The things by type and id, and how many were created for each resource.
#[derive(Debug, Default)]
pub(super) struct World {
    things: BTreeMap<Key, Thing>,
    created: BTreeMap<Urn, u64>,
    /// The things that there have been at any time.
    seen: BTreeSet<Key>,
    /// The recorded components: their providers have no state of their own.
    pub(super) components: BTreeMap<Urn, RecordedComponent>,
    /// The things whose deletion needs no call of a provider: those that are retained, or deleted with another one.
    pub(super) left: BTreeSet<Key>,
    /// What real providers have created through the simulation, and not deleted, with its resource.
    pub(super) made: BTreeMap<Key, Urn>,
}

/// How many hexadecimal digits of a hash an id has.
const ID_DIGITS: usize = 7;

/// Returns hexadecimal digits that depend on the parts alone.
pub(super) fn digits(parts: &[&str], count: usize) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    let text: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    text[..count.min(text.len())].to_owned()
}

impl World {
    /// Returns the id of the next thing of a resource: equal programs get equal ids, in any order of their calls.
    pub(super) fn next_id(&mut self, urn: &Urn) -> ResourceId {
        let count = self.created.entry(urn.clone()).or_default();
        *count += 1;
        let digits = digits(&[urn.as_str(), &count.to_string()], ID_DIGITS);
        format!("{}-{digits}", urn.name()).into()
    }

    pub(super) fn put(&mut self, thing: Thing) {
        let key = (thing.resource_type.clone(), thing.id.clone());
        self.seen.insert(key.clone());
        self.things.insert(key, thing);
    }

    /// Returns whether a thing has been there, and has been removed.
    pub(super) fn is_gone(&self, resource_type: &TypeToken, id: &ResourceId) -> bool {
        let key = (resource_type.clone(), id.clone());
        self.seen.contains(&key) && !self.things.contains_key(&key)
    }

    pub(super) fn get(&self, resource_type: &TypeToken, id: &ResourceId) -> Option<&Thing> {
        self.things.get(&(resource_type.clone(), id.clone()))
    }

    pub(super) fn get_mut(&mut self, resource_type: &TypeToken, id: &ResourceId) -> Option<&mut Thing> {
        self.things.get_mut(&(resource_type.clone(), id.clone()))
    }

    pub(super) fn remove(&mut self, resource_type: &TypeToken, id: &ResourceId) -> Option<Thing> {
        self.things.remove(&(resource_type.clone(), id.clone()))
    }

    /// Returns the thing of a resource that had another type of the same package when it was created: an alias can change the type.
    pub(super) fn retyped(&self, resource_type: &TypeToken, id: &ResourceId) -> Option<&Thing> {
        self.things().find(|thing| {
            thing.urn.is_some() && thing.id == *id && thing.resource_type.package() == resource_type.package()
        })
    }

    /// Returns what exists for a resource: simulated things, and what real providers have created.
    pub(super) fn keys_of(&self, urn: &Urn) -> Vec<Key> {
        let simulated = self
            .things
            .iter()
            .filter(|(_, thing)| thing.urn.as_ref() == Some(urn));
        let made = self.made.iter().filter(|(_, owner)| *owner == urn);
        let keys = simulated.map(|(key, _)| key).chain(made.map(|(key, _)| key));
        keys.cloned().collect()
    }

    pub(super) fn things(&self) -> impl Iterator<Item = &Thing> {
        self.things.values()
    }
}
