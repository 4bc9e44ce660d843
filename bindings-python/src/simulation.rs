//! A simulation as a Python object: the world, the faults and the moments of runs; `stackwright.testing` wraps it.

use std::collections::BTreeMap;

use pyo3::{
    prelude::*,
    types::{PyBytes, PyDict, PyList},
};
use stackwright::{
    binding,
    expectation::{self, AllowedChanges},
    property::PropertyMap,
    simulation::{ExistingThing, Thing},
};

use crate::{convert, errors::OrRaise as _, operation::OperationOutcome, records};

/// A simulation, which engines use one after the other.
#[pyclass(frozen, module = "stackwright._stackwright")]
pub(crate) struct Simulation {
    pub(crate) simulation: stackwright::simulation::Simulation,
}

#[pymethods]
impl Simulation {
    /// Creates a simulation. `outputs` are dictionaries by patterns of types, `existing` has type, id and properties of each thing, `stacks`
    /// the outputs of other stacks by their names.
    #[new]
    fn new(
        py: Python<'_>,
        document: &[u8],
        outputs: &Bound<'_, PyDict>,
        existing: Vec<(String, String, Bound<'_, PyAny>)>,
        stacks: &Bound<'_, PyDict>,
        recording: Option<Vec<u8>>,
    ) -> PyResult<Self> {
        let outputs = maps(outputs, "the outputs of")?;
        let stacks = maps(stacks, "the outputs of the stack")?;
        let mut things = Vec::with_capacity(existing.len());
        for (resource_type, id, properties) in existing {
            things.push(ExistingThing {
                properties: convert::read_map(&properties, &format!("the existing {resource_type}"))?,
                resource_type: resource_type.into(),
                id: id.into(),
            });
        }
        let simulation = binding::simulation(document, outputs, things, stacks, recording).or_raise(py)?;
        Ok(Self { simulation })
    }

    /// Replaces the faults.
    fn set_faults(&self, py: Python<'_>, document: &[u8]) -> PyResult<()> {
        self.simulation
            .set_faults(binding::faults(document).or_raise(py)?);
        Ok(())
    }

    /// Returns descriptions of the faults that have not happened.
    fn unused_faults(&self) -> Vec<String> {
        binding::unused_faults(&self.simulation)
    }

    /// Returns the patterns of the settings that match no call, as JSON.
    fn unmatched_patterns(&self) -> String {
        binding::unmatched_patterns_document(&self.simulation).to_string()
    }

    /// Begins a run, which is killed at a moment.
    #[pyo3(signature = (fatal_moment))]
    fn begin_run(&self, fatal_moment: Option<u64>) {
        self.simulation.begin_run(fatal_moment);
    }

    /// The number of moments of the run so far.
    #[getter]
    fn moments(&self) -> u64 {
        self.simulation.moments()
    }

    /// The moment at which the run was killed.
    #[getter]
    fn killed_at(&self) -> Option<String> {
        self.simulation.killed_at()
    }

    /// Returns the things in the world, each as a dictionary of its members.
    fn things<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let things = self.simulation.things();
        let things = things.iter().map(|thing| members(py, thing));
        PyList::new(py, things.collect::<PyResult<Vec<_>>>()?)
    }

    /// Sets a property of a thing; false when there is none.
    fn change(
        &self,
        resource_type: &str,
        id: &str,
        property: &str,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<bool> {
        let value = convert::read_value(value, property)?;
        Ok(self
            .simulation
            .change(&resource_type.into(), &id.into(), property, Some(value)))
    }

    /// Removes a property of a thing; false when there is none.
    fn unset(&self, resource_type: &str, id: &str, property: &str) -> bool {
        self.simulation
            .change(&resource_type.into(), &id.into(), property, None)
    }

    /// Removes a thing; false when there is none.
    fn remove(&self, resource_type: &str, id: &str) -> bool {
        self.simulation.remove(&resource_type.into(), &id.into())
    }

    /// Puts a thing into the world.
    fn put(&self, resource_type: &str, id: &str, properties: &Bound<'_, PyAny>) -> PyResult<()> {
        self.simulation.put(Thing {
            resource_type: resource_type.into(),
            id: id.into(),
            urn: None,
            name: id.to_owned(),
            inputs: PropertyMap::new(),
            outputs: convert::read_map(properties, "the properties")?,
        });
        Ok(())
    }

    /// Returns the types and ids of what exists for a resource.
    fn existing_of(&self, py: Python<'_>, urn: &str) -> PyResult<Vec<(String, String)>> {
        binding::existing_of(&self.simulation, urn).or_raise(py)
    }

    /// Puts the resources of a state into the world.
    fn adopt(&self, outcome: &OperationOutcome) {
        binding::adopt_into_simulation(&self.simulation, &outcome.result);
    }

    /// Returns the calls of providers so far as JSON.
    fn calls(&self) -> String {
        binding::simulated_calls_document(&self.simulation).to_string()
    }

    /// Forgets the calls so far.
    fn clear_calls(&self) {
        self.simulation.clear_calls();
    }

    /// Compares the world with the state after an operation.
    fn discrepancies(&self, outcome: &OperationOutcome) -> Vec<String> {
        binding::discrepancies(&self.simulation, &outcome.result)
    }

    /// Returns the recording so far, without secrets.
    fn recorded<'py>(
        &self,
        py: Python<'py>,
        outcome: &OperationOutcome,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let recorded = binding::recorded(&self.simulation, &outcome.result).or_raise(py)?;
        Ok(recorded.map(|text| PyBytes::new(py, &text)))
    }
}

/// Reads dictionaries of values by name.
fn maps(values: &Bound<'_, PyDict>, what: &str) -> PyResult<BTreeMap<String, PropertyMap>> {
    let mut read = BTreeMap::new();
    for (name, values) in values.iter() {
        let name: String = name.extract()?;
        let values = convert::read_map(&values, &format!("{what} {name}"))?;
        read.insert(name, values);
    }
    Ok(read)
}

fn members<'py>(py: Python<'py>, thing: &Thing) -> PyResult<Bound<'py, PyDict>> {
    let members = PyDict::new(py);
    members.set_item("type", thing.resource_type.as_str())?;
    members.set_item("id", thing.id.as_str())?;
    members.set_item("urn", thing.urn.as_ref().map(|urn| urn.as_str()))?;
    members.set_item("name", &thing.name)?;
    members.set_item("properties", convert::dictionary(py, &thing.outputs)?)?;
    Ok(members)
}

/// Returns the lines in which two texts differ; none for equal ones.
#[pyfunction]
pub(crate) fn text_difference(expected: &str, actual: &str) -> Option<String> {
    expectation::difference(expected, actual)
}

/// Returns the resources after an operation, each as a dictionary of its members; of a preview, those that there would be.
#[pyfunction]
pub(crate) fn resources_after(py: Python<'_>, outcome: &OperationOutcome) -> PyResult<Py<PyAny>> {
    let resources = expectation::resources(&outcome.result);
    records::list(py, resources.iter().map(|resource| records::record(py, resource)))
}

/// Returns the text of an expectation that an operation does not meet.
#[pyfunction]
pub(crate) fn unmet(py: Python<'_>, outcome: &OperationOutcome, document: &[u8]) -> PyResult<Option<String>> {
    binding::unmet(&outcome.result, document).or_raise(py)
}

/// Returns the steps of an operation as text that is the same for equal runs.
#[pyfunction]
pub(crate) fn plan_text(outcome: &OperationOutcome) -> String {
    expectation::plan_text(&outcome.result)
}

/// Returns why the preview of a refactored program changes something.
#[pyfunction]
pub(crate) fn missing_aliases(outcome: &OperationOutcome, allow_components: bool) -> Option<String> {
    let allowed = AllowedChanges {
        components: allow_components,
    };
    expectation::missing_aliases(&outcome.result, allowed)
}

/// Returns whether a type token matches a pattern.
#[pyfunction]
pub(crate) fn matches_type(pattern: &str, token: &str) -> bool {
    binding::matches_type(pattern, token)
}

/// Returns the positions of the URNs that match a pattern of resources, and what it may be a misspelling of.
#[pyfunction]
pub(crate) fn find_resources(
    py: Python<'_>,
    pattern: &str,
    urns: Vec<String>,
) -> PyResult<(Vec<usize>, Vec<String>)> {
    binding::find_resources(pattern, &urns).or_raise(py)
}
