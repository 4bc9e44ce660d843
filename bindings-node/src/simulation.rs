//! A simulation as an object: the world, the faults and the moments of runs; `stackwright/testing` wraps it.

use std::{collections::BTreeMap, sync::Arc};

use napi::{Env, Error, Result, bindgen_prelude::Unknown};
use napi_derive::napi;
use stackwright::{
    binding,
    expectation::{self, AllowedChanges},
    property::{PropertyMap, PropertyValue},
    simulation::{ExistingThing, Thing},
};

use crate::{
    bridge::{Bridge, Values},
    convert, errors,
    operation::Operation,
};

/// A simulation, which engines use one after the other.
#[napi]
pub struct Simulation(pub(crate) stackwright::simulation::Simulation);

/// The places of things and what a misspelt pattern may stand for.
#[napi(object)]
pub struct FoundResources {
    /// The positions of those that match.
    pub places: Vec<u32>,
    /// The nearest names, where none matches.
    pub near: Vec<String>,
}

fn objects(values: &PropertyMap, member: &str) -> Vec<(String, PropertyMap)> {
    let Some(PropertyValue::Object(members)) = values.get(member) else {
        return Vec::new();
    };
    let objects = members.iter().filter_map(|(name, value)| match value {
        PropertyValue::Object(map) => Some((name.to_string(), map.clone())),
        _ => None,
    });
    objects.collect()
}

fn ended(operation: &Operation) -> Result<Arc<stackwright::operation::OperationResult>> {
    operation
        .result()
        .ok_or_else(|| Error::from_reason("the operation has not ended"))
}

#[napi]
impl Simulation {
    /// Creates a simulation. `values` has `outputs` by patterns of types, `existing` with things by id for each type, and `stacks` with the
    /// outputs of other stacks by their names.
    #[napi(constructor, catch_unwind)]
    pub fn new(env: &Env, document: String, values: Unknown<'_>, recording: Option<String>) -> Result<Self> {
        let values = convert::map_of(env, &values, "the simulation")?;
        let outputs: BTreeMap<String, PropertyMap> = objects(&values, "outputs").into_iter().collect();
        let mut existing = Vec::new();
        for (resource_type, things) in objects(&values, "existing") {
            for (id, properties) in things.iter() {
                let PropertyValue::Object(properties) = properties else {
                    continue;
                };
                existing.push(ExistingThing {
                    resource_type: resource_type.as_str().into(),
                    id: id.as_str().into(),
                    properties: properties.clone(),
                });
            }
        }
        binding::simulation(
            document.as_bytes(),
            outputs,
            existing,
            objects(&values, "stacks").into_iter().collect(),
            recording.map(String::into_bytes),
        )
        .map(Self)
        .map_err(|error| errors::to_napi(&error))
    }

    /// Replaces the faults, a JSON list.
    #[napi(catch_unwind)]
    pub fn set_faults(&self, document: String) -> Result<()> {
        let faults = binding::faults(document.as_bytes()).map_err(|error| errors::to_napi(&error))?;
        self.0.set_faults(faults);
        Ok(())
    }

    /// Returns descriptions of the faults that have not happened.
    #[napi(catch_unwind)]
    pub fn unused_faults(&self) -> Vec<String> {
        binding::unused_faults(&self.0)
    }

    /// Returns the patterns of the settings that match no call, as JSON.
    #[napi(catch_unwind)]
    pub fn unmatched_patterns(&self) -> String {
        binding::unmatched_patterns_document(&self.0).to_string()
    }

    /// Begins a run, which is killed at a moment.
    #[napi(catch_unwind)]
    pub fn begin_run(&self, fatal_moment: Option<u32>) {
        self.0.begin_run(fatal_moment.map(u64::from));
    }

    /// Returns the moment at which the run was killed.
    #[napi(catch_unwind)]
    pub fn killed_at(&self) -> Option<String> {
        self.0.killed_at()
    }

    /// Returns the things in the world, as the member `things`.
    #[napi(catch_unwind, ts_return_type = "Record<string, unknown>")]
    pub fn things(&self, bridge: &Bridge) -> Values {
        let things = self.0.things().iter().map(members).collect();
        Values {
            values: [("things", PropertyValue::array(things))].into_iter().collect(),
            shared: Arc::clone(&bridge.shared),
        }
    }

    /// Sets a property of a thing; false when there is none.
    #[napi(catch_unwind)]
    pub fn change(
        &self,
        env: &Env,
        resource_type: String,
        id: String,
        property: String,
        value: Unknown<'_>,
    ) -> Result<bool> {
        let value = convert::value_of(env, &value, &property)?;
        Ok(self
            .0
            .change(&resource_type.into(), &id.into(), &property, Some(value)))
    }

    /// Removes a property of a thing; false when there is none.
    #[napi(catch_unwind)]
    pub fn unset(&self, resource_type: String, id: String, property: String) -> bool {
        self.0.change(&resource_type.into(), &id.into(), &property, None)
    }

    /// Removes a thing; false when there is none.
    #[napi(catch_unwind)]
    pub fn remove(&self, resource_type: String, id: String) -> bool {
        self.0.remove(&resource_type.into(), &id.into())
    }

    /// Puts a thing into the world.
    #[napi(catch_unwind)]
    pub fn put(&self, env: &Env, resource_type: String, id: String, properties: Unknown<'_>) -> Result<()> {
        self.0.put(Thing {
            resource_type: resource_type.into(),
            name: id.clone(),
            id: id.into(),
            urn: None,
            inputs: PropertyMap::new(),
            outputs: convert::map_of(env, &properties, "the properties")?,
        });
        Ok(())
    }

    /// Returns the types and ids of what exists for a resource: a list of pairs.
    #[napi(catch_unwind)]
    pub fn existing_of(&self, urn: String) -> Result<Vec<Vec<String>>> {
        let existing = binding::existing_of(&self.0, &urn).map_err(|error| errors::to_napi(&error))?;
        Ok(existing.into_iter().map(|(kind, id)| vec![kind, id]).collect())
    }

    /// Puts the resources of a state into the world.
    #[napi(catch_unwind)]
    pub fn adopt(&self, operation: &Operation) -> Result<()> {
        binding::adopt_into_simulation(&self.0, &*ended(operation)?);
        Ok(())
    }

    /// Returns the calls of providers so far as JSON.
    #[napi(catch_unwind)]
    pub fn calls(&self) -> String {
        binding::simulated_calls_document(&self.0).to_string()
    }

    /// Forgets the calls so far.
    #[napi(catch_unwind)]
    pub fn clear_calls(&self) {
        self.0.clear_calls();
    }

    /// Compares the world with the state after an operation.
    #[napi(catch_unwind)]
    pub fn discrepancies(&self, operation: &Operation) -> Result<Vec<String>> {
        Ok(binding::discrepancies(&self.0, &*ended(operation)?))
    }

    /// Returns the recording so far, without secrets.
    #[napi(catch_unwind)]
    pub fn recorded(&self, operation: &Operation) -> Result<Option<String>> {
        let recorded = binding::recorded(&self.0, &*ended(operation)?);
        let recorded = recorded.map_err(|error| errors::to_napi(&error))?;
        Ok(recorded.map(|text| String::from_utf8_lossy(&text).into_owned()))
    }
}

fn members(thing: &Thing) -> PropertyValue {
    let text = |text: &str| PropertyValue::string(text);
    let urn = thing
        .urn
        .as_ref()
        .map_or(PropertyValue::Null, |urn| text(urn.as_str()));
    let members: PropertyMap = [
        ("type", text(thing.resource_type.as_str())),
        ("id", text(thing.id.as_str())),
        ("urn", urn),
        ("name", text(&thing.name)),
        ("properties", thing.outputs.clone().into()),
    ]
    .into_iter()
    .collect();
    members.into()
}

/// Returns the lines in which two texts differ; null for equal ones.
#[napi(catch_unwind)]
pub fn text_difference(expected: String, actual: String) -> Option<String> {
    expectation::difference(&expected, &actual)
}

/// Returns the resources after an operation, as the member `resources`; of a preview, those that there would be.
#[napi(catch_unwind, ts_return_type = "Record<string, unknown>")]
pub fn resources_after(bridge: &Bridge, operation: &Operation) -> Result<Values> {
    let resources = expectation::resources(&*ended(operation)?);
    let resources = resources.iter().map(|resource| binding::record_value(resource));
    let resources: stackwright::Result<Vec<PropertyValue>> = resources.collect();
    let resources = resources.map_err(|error| errors::to_napi(&error))?;
    Ok(Values {
        values: [("resources", PropertyValue::array(resources))]
            .into_iter()
            .collect(),
        shared: Arc::clone(&bridge.shared),
    })
}

/// Returns the text of an expectation, a JSON document, that an operation does not meet.
#[napi(catch_unwind)]
pub fn unmet(operation: &Operation, document: String) -> Result<Option<String>> {
    binding::unmet(&*ended(operation)?, document.as_bytes()).map_err(|error| errors::to_napi(&error))
}

/// Returns the steps of an operation as text that is the same for equal runs.
#[napi(catch_unwind)]
pub fn plan_text(operation: &Operation) -> Result<String> {
    Ok(expectation::plan_text(&*ended(operation)?))
}

/// Returns why the preview of a refactored program changes something.
#[napi(catch_unwind)]
pub fn missing_aliases(operation: &Operation, allow_components: bool) -> Result<Option<String>> {
    let allowed = AllowedChanges {
        components: allow_components,
    };
    Ok(expectation::missing_aliases(&*ended(operation)?, allowed))
}

/// Returns whether a type token matches a pattern.
#[napi(catch_unwind)]
pub fn matches_type(pattern: String, token: String) -> bool {
    binding::matches_type(&pattern, &token)
}

/// Returns the positions of the URNs that match a pattern of resources, and what it may be a misspelling of.
#[napi(catch_unwind)]
pub fn find_resources(pattern: String, urns: Vec<String>) -> Result<FoundResources> {
    let (places, near) = binding::find_resources(&pattern, &urns).map_err(|error| errors::to_napi(&error))?;
    let places = places
        .into_iter()
        .map(|place| u32::try_from(place).unwrap_or(u32::MAX));
    Ok(FoundResources {
        places: places.collect(),
        near,
    })
}
