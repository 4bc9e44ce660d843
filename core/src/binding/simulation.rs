//! Simulations: their settings, faults and expectations as the test kits of Python and Node pass them.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::{
    error::{Error, Result},
    expectation::{Expectation, Expected},
    operation::OperationResult,
    property::PropertyMap,
    provider::ProviderStatus,
    resource::ResourceState,
    simulation::{ExistingThing, Fault, FaultEffect, RecordMode, Simulation, SimulationSettings, pattern},
    urn::Urn,
};

/// The settings that are plain data. The kits write them, and check what users pass.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct SimulationDocument {
    schemas: Vec<Value>,
    replace_on: BTreeMap<String, Vec<String>>,
    delete_before_replace: Vec<String>,
    answered_functions: Option<Vec<String>>,
    answered_outputs: Vec<String>,
    real: Vec<String>,
    /// Whether real providers are recorded.
    records: bool,
    /// The file of the recording that is played, for errors.
    played: Option<String>,
}

#[derive(Deserialize)]
struct FaultDocument {
    call: String,
    #[serde(rename = "type")]
    resource_type: String,
    name: String,
    #[serde(flatten)]
    effect: EffectDocument,
    times: Option<u64>,
    skip: u64,
    in_previews: bool,
}

#[derive(Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
enum EffectDocument {
    Fail { message: String, status: i32 },
    LoseAnswer { message: String },
    FailInitialization { message: String },
    Delay { seconds: f64 },
    Interrupt,
    KillBefore,
    KillAfter,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectationDocument {
    expected: Expected,
    #[serde(default)]
    resources: Vec<String>,
    #[serde(default)]
    only: bool,
}

fn read<T: DeserializeOwned>(json: &[u8], what: &str) -> Result<T> {
    serde_json::from_slice(json).map_err(|error| Error::invalid(format!("{what}: {error}")))
}

impl EffectDocument {
    fn read(self) -> Result<FaultEffect> {
        Ok(match self {
            Self::Fail { message, status } => FaultEffect::Fail {
                message,
                status: ProviderStatus::from_code(status),
            },
            Self::LoseAnswer { message } => FaultEffect::LoseAnswer { message },
            Self::FailInitialization { message } => FaultEffect::FailInitialization { message },
            Self::Delay { seconds } => {
                let refused = |_| Error::invalid(format!("a delay of {seconds} seconds is not possible"));
                FaultEffect::Delay(Duration::try_from_secs_f64(seconds).map_err(refused)?)
            }
            Self::Interrupt => FaultEffect::Interrupt,
            Self::KillBefore => FaultEffect::KillBefore,
            Self::KillAfter => FaultEffect::KillAfter,
        })
    }
}

/// Creates a simulation from a document, and the values beside it: `outputs` by patterns of types, what exists, and the outputs of other
/// `stacks` by their names. `recording` is played.
///
/// # Errors
/// Those of [`Simulation::new`]; [`crate::ErrorKind::InvalidInput`] for a document of another form.
pub fn simulation(
    document: &[u8],
    outputs: BTreeMap<String, PropertyMap>,
    existing: Vec<ExistingThing>,
    stacks: BTreeMap<String, PropertyMap>,
    recording: Option<Vec<u8>>,
) -> Result<Simulation> {
    let document: SimulationDocument = read(document, "the settings of a simulation")?;
    Simulation::new(SimulationSettings {
        schemas: document.schemas,
        outputs,
        replace_on: document.replace_on,
        delete_before_replace: document.delete_before_replace,
        existing,
        stacks,
        answers: None,
        answered_functions: document.answered_functions,
        answered_outputs: document.answered_outputs,
        real: document.real,
        record: match recording {
            Some(text) => RecordMode::Play {
                recording: text.into(),
                file: document.played,
            },
            None if document.records => RecordMode::Record,
            None => RecordMode::Off,
        },
    })
}

/// Reads a list of faults.
///
/// # Errors
/// [`crate::ErrorKind::InvalidInput`] for a document of another form.
pub fn faults(document: &[u8]) -> Result<Vec<Fault>> {
    let faults: Vec<FaultDocument> = read(document, "the faults of a simulation")?;
    let fault = |fault: FaultDocument| {
        Ok(Fault {
            call: fault.call,
            resource_type: fault.resource_type,
            name: fault.name,
            effect: fault.effect.read()?,
            times: fault.times,
            skip: fault.skip,
            in_previews: fault.in_previews,
        })
    };
    faults.into_iter().map(fault).collect()
}

/// Returns the calls of a simulation as a document.
#[must_use]
pub fn simulated_calls_document(simulation: &Simulation) -> Value {
    let calls = simulation.calls().into_iter().map(|call| {
        json!({
            "call": call.call, "type": call.resource_type, "name": call.name, "urn": call.urn, "preview": call.preview,
        })
    });
    calls.collect()
}

/// Returns descriptions of the faults that have not happened: call, type and name.
#[must_use]
pub fn unused_faults(simulation: &Simulation) -> Vec<String> {
    let unused = simulation.unused_faults().into_iter();
    unused
        .map(|fault| {
            format!(
                "{} of {:?} named {:?}",
                fault.call, fault.resource_type, fault.name
            )
        })
        .collect()
}

/// Returns the patterns of the settings that match no call, as a document: `setting`, `pattern`, and `nearest` with what it may be a
/// misspelling of.
#[must_use]
pub fn unmatched_patterns_document(simulation: &Simulation) -> Value {
    let unmatched = simulation
        .unmatched_patterns()
        .into_iter()
        .map(|found| json!({"setting": found.setting, "pattern": found.pattern, "nearest": found.nearest}));
    unmatched.collect()
}

/// Returns the text of an expectation that a result does not meet.
///
/// # Errors
/// [`crate::ErrorKind::InvalidInput`] for a document of another form.
pub fn unmet(result: &OperationResult, document: &[u8]) -> Result<Option<String>> {
    let document: ExpectationDocument = read(document, "an expectation")?;
    let expectation = Expectation {
        expected: document.expected,
        resources: document.resources,
        only: document.only,
    };
    Ok(crate::expectation::unmet(result, &expectation))
}

fn records(result: &OperationResult) -> impl Iterator<Item = &ResourceState> {
    result.snapshot.resources.iter().map(|record| &**record)
}

/// Returns whether a type token matches a pattern of types.
#[must_use]
pub fn matches_type(pattern: &str, token: &str) -> bool {
    pattern::matches_type(pattern, token)
}

/// Returns the positions of the URNs that match a pattern of resources, and, where there are none, what it may be a misspelling
/// of.
///
/// # Errors
/// [`crate::ErrorKind::InvalidInput`] for a text that is no URN.
pub fn find_resources(pattern: &str, urns: &[String]) -> Result<(Vec<usize>, Vec<String>)> {
    let parsed = urns
        .iter()
        .map(|urn| Urn::parse(urn).map_err(|error| Error::invalid(error.to_string())));
    let parsed: Vec<Urn> = parsed.collect::<Result<_>>()?;
    let found = parsed
        .iter()
        .enumerate()
        .filter(|(_, urn)| pattern::matches_resource(pattern, urn));
    let found: Vec<usize> = found.map(|(place, _)| place).collect();
    let near = match found.is_empty() {
        true => pattern::nearest_resources(pattern, parsed.iter()),
        false => Vec::new(),
    };
    Ok((found, near))
}

/// Compares the world of a simulation with the state after an operation; see [`Simulation::discrepancies`].
#[must_use]
pub fn discrepancies(simulation: &Simulation, result: &OperationResult) -> Vec<String> {
    simulation.discrepancies(records(result))
}

/// Returns the types and ids of what exists for a resource; see [`Simulation::existing_of`].
///
/// # Errors
/// [`crate::ErrorKind::InvalidInput`] for a text that is no URN.
pub fn existing_of(simulation: &Simulation, urn: &str) -> Result<Vec<(String, String)>> {
    let urn = Urn::parse(urn).map_err(|error| Error::invalid(error.to_string()))?;
    let existing = simulation.existing_of(&urn).into_iter();
    Ok(existing
        .map(|(kind, id)| (kind.to_string(), id.to_string()))
        .collect())
}

/// Puts the resources of a state into the world of a simulation.
pub fn adopt(simulation: &Simulation, result: &OperationResult) {
    simulation.adopt(records(result));
}

/// Returns the recording of a simulation with the secrets masked that the operation knows; `None` when nothing is recorded, and after an
/// operation that failed.
///
/// # Errors
/// [`crate::ErrorKind::Internal`] if it cannot be written.
pub fn recorded(simulation: &Simulation, result: &OperationResult) -> Result<Option<Vec<u8>>> {
    let steps = result.steps.iter().map(|step| &step.step.metadata);
    let sides = steps.flat_map(|metadata| [&metadata.old, &metadata.new]);
    let of_steps = sides.flatten().map(|state| &*state.0);
    let has_failed = result.error.is_some();
    simulation.recorded(&result.redactor, has_failed, records(result).chain(of_steps))
}
