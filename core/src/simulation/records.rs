//! The world and the recorded resources: what is in only one of them, and the marks of secrets for recordings.

use std::collections::BTreeMap;

use super::{Simulation, Thing, recording::Masks};
use crate::{
    error::Result,
    resource::ResourceState,
    secrets::Redactor,
    token::{ResourceId, TypeToken},
    urn::Urn,
};

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

    /// Compares the world with the recorded resources. Each text names a thing that no record has, or a record whose thing is
    /// gone.
    #[must_use]
    pub fn discrepancies<'a>(&self, records: impl IntoIterator<Item = &'a ResourceState>) -> Vec<String> {
        let is_thing = |record: &&ResourceState| {
            record.custom && !record.is_provider() && !record.external && !record.id.is_empty()
        };
        let mut recorded: BTreeMap<(TypeToken, ResourceId), Urn> = BTreeMap::new();
        for record in records.into_iter().filter(is_thing) {
            recorded.insert(
                (record.resource_type.clone(), record.id.clone()),
                record.urn.clone(),
            );
        }
        let mut texts = Vec::new();
        for thing in self.world().things() {
            let key = (thing.resource_type.clone(), thing.id.clone());
            let known = recorded.remove(&key);
            if let (None, Some(urn)) = (known, &thing.urn) {
                let (name, id) = (urn.name(), thing.id.as_str());
                texts.push(format!(
                    "{name} ({}) exists with the id {id}, and no record has it",
                    thing.resource_type
                ));
            }
        }
        let gone = recorded.into_iter();
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
