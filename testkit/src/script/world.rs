//! The world of a package: the things that its provider made, and their ids.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value};

use crate::scenario::WorldEdit;

/// The things that exist, by id.
#[derive(Debug, Default)]
pub(super) struct World {
    things: BTreeMap<String, Map<String, Value>>,
    made: HashMap<String, usize>,
}

impl World {
    pub(super) fn new(given: &BTreeMap<String, Map<String, Value>>) -> Self {
        Self {
            things: given.clone(),
            made: HashMap::new(),
        }
    }

    /// Returns a new id for a resource: `a-1`, `a-2` for the next of the same name.
    pub(super) fn new_id(&mut self, name: &str) -> String {
        let number = self.made.entry(name.to_owned()).or_default();
        *number += 1;
        format!("{name}-{number}")
    }

    pub(super) fn put(&mut self, id: &str, properties: Map<String, Value>) {
        self.things.insert(id.to_owned(), properties);
    }

    pub(super) fn get(&self, id: &str) -> Option<&Map<String, Value>> {
        self.things.get(id)
    }

    pub(super) fn remove(&mut self, id: &str) {
        self.things.remove(id);
    }

    pub(super) fn ids(&self) -> Vec<String> {
        self.things.keys().cloned().collect()
    }

    /// Changes things outside of the engine.
    pub(super) fn edit(&mut self, edit: &WorldEdit) -> Result<(), String> {
        for (id, properties) in &edit.set {
            let thing = self
                .things
                .get_mut(id)
                .ok_or_else(|| format!("there is no {id} in the world"))?;
            thing.extend(properties.clone());
        }
        for id in &edit.gone {
            self.things
                .remove(id)
                .ok_or_else(|| format!("there is no {id} in the world"))?;
        }
        Ok(())
    }
}
