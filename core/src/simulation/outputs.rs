//! The outputs of simulated resources.

use super::{pattern::matches_type, provider::SimulatedProvider};
use crate::{
    property::{PropertyMap, PropertyValue},
    provider::{Call, ProviderResult, Reply, UpdateRequest, Views},
    token::{ResourceId, TypeToken},
    urn::Urn,
};

/// The resource whose outputs are computed.
pub(super) struct Subject<'a> {
    pub(super) urn: &'a Urn,
    pub(super) resource_type: &'a TypeToken,
    pub(super) name: &'a str,
    pub(super) id: &'a ResourceId,
    pub(super) inputs: &'a PropertyMap,
    /// The inputs and outputs before an update.
    pub(super) previous: Option<(&'a PropertyMap, &'a PropertyMap)>,
    pub(super) is_preview: bool,
}

impl SimulatedProvider {
    /// Returns the outputs: those inputs, what the schema declares, and what the test supplies.
    pub(super) async fn outputs(&self, subject: Subject<'_>) -> ProviderResult<PropertyMap> {
        let is_own = |name: &str| !name.starts_with("__");
        let echoed = subject
            .inputs
            .iter()
            .filter(|(name, value)| is_own(name) && !value.is_null());
        let mut outputs: PropertyMap = echoed
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let schema = self.resource_schema(subject.resource_type);
        if let Some((schema, resource)) = schema {
            let previous = subject.previous.map(|(_, outputs)| outputs);
            let seed = subject.id.as_str();
            schema.complete_outputs(resource, &mut outputs, previous, seed, subject.is_preview);
        } else if let Some((inputs, previous)) = subject.previous {
            // What is no input was generated, or comes from the test.
            for (name, value) in previous.iter().filter(|(name, _)| !inputs.contains_key(name)) {
                if !outputs.contains_key(name) {
                    outputs.insert(name.clone(), value.clone());
                }
            }
        }
        for (name, value) in self.supplied(&subject, &outputs).await?.iter() {
            let is_new = subject
                .previous
                .is_none_or(|(_, previous)| !previous.contains_key(name));
            let is_unknown = subject.is_preview && is_new && !subject.inputs.contains_key(name);
            let value = if is_unknown {
                PropertyValue::unknown()
            } else {
                value.clone()
            };
            outputs.insert(name.clone(), value);
        }
        if let Some((schema, resource)) = schema {
            schema.mark_secrets(resource, &mut outputs);
        }
        Ok(outputs)
    }

    /// Returns the outputs that the test supplies, as data and through its function.
    async fn supplied(&self, subject: &Subject<'_>, outputs: &PropertyMap) -> ProviderResult<PropertyMap> {
        let settings = &self.simulation.0.settings;
        let token = subject.resource_type.as_str();
        let mut supplied = PropertyMap::new();
        for (_, values) in settings
            .outputs
            .iter()
            .filter(|(pattern, _)| matches_type(pattern, token))
        {
            extend(&mut supplied, values);
        }
        let is_answered = settings
            .answered_outputs
            .iter()
            .any(|pattern| matches_type(pattern, token));
        let Some(answers) = self.simulation.answers().filter(|_| is_answered) else {
            return Ok(supplied);
        };
        // A function of the test is not made for unknowns.
        if subject.is_preview && subject.inputs.contains_unknowns() {
            return Ok(supplied);
        }
        let answer = answers.call(Call::Update(UpdateRequest {
            urn: subject.urn.clone(),
            resource_type: subject.resource_type.clone(),
            name: subject.name.to_owned(),
            id: subject.id.clone(),
            old_inputs: PropertyMap::new(),
            old_outputs: outputs.clone(),
            news: subject.inputs.clone(),
            ignore_changes: Vec::new(),
            timeout: 0.0,
            preview: subject.is_preview,
            views: Views::default(),
        }));
        if let Reply::Update(answer) = answer.await? {
            extend(&mut supplied, &answer.outputs);
        }
        Ok(supplied)
    }
}

fn extend(map: &mut PropertyMap, others: &PropertyMap) {
    for (name, value) in others.iter() {
        map.insert(name.clone(), value.clone());
    }
}
