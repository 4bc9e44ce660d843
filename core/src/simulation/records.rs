//! The world and the recorded resources: what is in only one of them, and the marks of secrets for recordings.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    Simulation, Thing,
    recording::Masks,
    world::{Key, RecordedComponent},
};
use crate::{
    error::Result,
    resource::ResourceState,
    secrets::Redactor,
    token::{ResourceId, TypeToken},
    urn::Urn,
};

fn key_of(record: &ResourceState) -> Key {
    (record.resource_type.clone(), record.id.clone())
}

impl Simulation {
    /// Puts the things of recorded resources into the world: those of a state that was imported.
    pub fn adopt<'a>(&self, records: impl IntoIterator<Item = &'a ResourceState>) {
        let mut world = self.world();
        for record in records {
            if record.custom && !record.is_provider() && !record.id.is_empty() {
                world.put(Thing {
                    resource_type: record.resource_type.clone(),
                    id: record.id.clone(),
                    urn: (!record.external).then(|| record.urn.clone()),
                    name: record.urn.name().to_owned(),
                    inputs: record.inputs.clone(),
                    outputs: record.outputs.clone(),
                });
            }
        }
    }

    /// Takes over what the state of a stack records when an operation begins: the components, and the things whose deletion needs no
    /// call of a provider.
    pub(crate) fn know(&self, project: &str, stack: &str, records: &[Arc<ResourceState>]) {
        let mut world = self.world();
        let is_other = |urn: &Urn| urn.project() != project || urn.stack() != stack;
        world.components.retain(|urn, _| is_other(urn));
        for record in records {
            if !record.custom {
                let component = RecordedComponent {
                    inputs: record.inputs.clone(),
                    outputs: record.outputs.clone(),
                };
                world.components.insert(record.urn.clone(), component);
            } else if record.retain_on_delete || record.options.deleted_with.is_some() {
                world.left.insert(key_of(record));
            } else {
                // It was retained before, perhaps.
                world.left.remove(&key_of(record));
            }
        }
    }

    /// Returns the types and ids of what exists for a resource: simulated things, and what real providers have created in calls that
    /// passed through the simulation.
    #[must_use]
    pub fn existing_of(&self, urn: &Urn) -> Vec<(TypeToken, ResourceId)> {
        self.world().keys_of(urn)
    }

    /// Compares the world with the recorded resources. Each text names a thing that no record has, or a record whose thing is
    /// gone. What is retained, or deleted with another resource, is neither.
    ///
    /// Of real providers, only what was created in calls that passed through the simulation is known: their records are not compared.
    #[must_use]
    pub fn discrepancies<'a>(&self, records: impl IntoIterator<Item = &'a ResourceState>) -> Vec<String> {
        let is_thing = |record: &&ResourceState| {
            record.custom && !record.is_provider() && !record.external && !record.id.is_empty()
        };
        let things = records.into_iter().filter(is_thing);
        let mut recorded: BTreeMap<Key, Urn> = things
            .map(|record| (key_of(record), record.urn.clone()))
            .collect();
        let world = self.world();
        let simulated = world.things().filter_map(|thing| {
            let key = (thing.resource_type.clone(), thing.id.clone());
            let urn = thing.urn.clone()?;
            self.is_simulated(key.0.package()).then_some((key, urn))
        });
        let made = world.made.iter().map(|(key, urn)| (key.clone(), urn.clone()));
        let mut texts = Vec::new();
        for (key, urn) in simulated.chain(made) {
            let (kind, id) = &key;
            if recorded.remove(&key).is_none() && !world.left.contains(&key) {
                texts.push(format!(
                    "{} ({kind}) exists with the id {id}, and no record has it",
                    urn.name()
                ));
            }
        }
        let is_gone = |(kind, id): &Key| self.is_simulated(kind.package()) && world.get(kind, id).is_none();
        let gone = recorded.into_iter().filter(|(key, _)| is_gone(key));
        texts.extend(gone.map(|((kind, id), urn)| {
            format!(
                "{} ({kind}) is recorded with the id {id}, and does not exist",
                urn.name()
            )
        }));
        texts
    }

    /// Returns the recording of the real providers so far, with all secrets masked; `None` when nothing is recorded.
    /// `redactor` knows the secrets of the operation, and `records` have the marks of secret properties. An operation that failed has no
    /// recording, and the calls that failed in it are in no later one: a recording is played as long as its file exists.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Internal`] if it cannot be written.
    pub(crate) fn recorded<'a>(
        &self,
        redactor: &Redactor,
        has_failed: bool,
        records: impl IntoIterator<Item = &'a ResourceState>,
    ) -> Result<Option<Vec<u8>>> {
        let Some(recorder) = &self.0.recorder else {
            return Ok(None);
        };
        if has_failed {
            recorder.recording.forget_failures();
            return Ok(None);
        }
        let mut masks = Masks::of(vec![redactor.clone(), recorder.redactor.clone()]);
        for record in records {
            let (token, name) = (record.resource_type.as_str(), record.urn.name());
            masks.add(token, name, &record.inputs);
            masks.add(token, name, &record.outputs);
        }
        recorder.recording.write(&masks).map(Some)
    }
}
