//! The settings of a simulation.

use std::{collections::BTreeMap, fmt, sync::Arc};

use bytes::Bytes;

use super::schema::PackageSchema;
use crate::{
    error::{Error, Result},
    property::{PropertyMap, PropertyPath},
    provider::ProviderBackend,
    token::{ResourceId, TypeToken},
};

/// A thing that exists before the program runs: for reads, imports and functions.
#[derive(Clone, Debug)]
pub struct ExistingThing {
    /// The type of its resource.
    pub resource_type: TypeToken,
    /// Its id.
    pub id: ResourceId,
    /// Its properties.
    pub properties: PropertyMap,
}

/// Whether real providers are recorded, or a recording is played.
#[derive(Clone, Default)]
pub enum RecordMode {
    /// Neither: providers are simulated.
    #[default]
    Off,
    /// All providers are real, and their calls are recorded.
    Record,
    /// A recording is played.
    Play {
        /// Its text.
        recording: Bytes,
        /// The name of its file, with which errors about the text begin.
        file: Option<String>,
    },
}

/// The settings of a simulation. Types in patterns are tokens, in which `*` is any text.
#[derive(Clone, Default)]
pub struct SimulationSettings {
    /// The schemas of packages, which their simulated providers follow.
    pub schemas: Vec<serde_json::Value>,
    /// Outputs by patterns of types, beside the inputs.
    pub outputs: BTreeMap<String, PropertyMap>,
    /// By patterns of types, the paths of properties whose changes replace a resource.
    pub replace_on: BTreeMap<String, Vec<String>>,
    /// The patterns of types whose replacements delete first.
    pub delete_before_replace: Vec<String>,
    /// What exists before the program runs.
    pub existing: Vec<ExistingThing>,
    /// The outputs of other stacks by their names, for stack references: `project/stack`, with an organization before, or the name of
    /// a stack of the same project. Stacks that are not named are read from the store.
    pub stacks: BTreeMap<String, PropertyMap>,
    /// Answers functions (Invoke) and methods (Method). For the types in `answered_outputs` it computes further outputs: it
    /// receives Update with the id, the inputs as `news`, and the outputs so far as `old_outputs`.
    pub answers: Option<Arc<dyn ProviderBackend>>,
    /// The patterns of the tokens of functions and methods that `answers` answers; `None` asks it for each.
    pub answered_functions: Option<Vec<String>>,
    /// The patterns of types whose outputs `answers` computes.
    pub answered_outputs: Vec<String>,
    /// The packages whose real plugins are used. Beside a recording, their remote components alone are real: these register resources
    /// while they are constructed, which no recording has.
    pub real: Vec<String>,
    /// Whether real providers are recorded, or a recording is played.
    pub record: RecordMode,
}

impl fmt::Debug for SimulationSettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SimulationSettings")
            .field("outputs", &self.outputs)
            .field("replace_on", &self.replace_on)
            .field("real", &self.real)
            .finish_non_exhaustive()
    }
}

/// The settings after reading.
pub(super) struct Settings {
    pub(super) schemas: Vec<PackageSchema>,
    pub(super) outputs: BTreeMap<String, PropertyMap>,
    pub(super) replace_on: BTreeMap<String, Vec<PropertyPath>>,
    pub(super) delete_before_replace: Vec<String>,
    pub(super) answered_functions: Option<Vec<String>>,
    pub(super) answered_outputs: Vec<String>,
    pub(super) real: Vec<String>,
    pub(super) stacks: BTreeMap<String, PropertyMap>,
}

impl Settings {
    /// Returns whether the real plugin of a package is used.
    pub(super) fn is_real(&self, package: &str) -> bool {
        self.real.iter().any(|real| real == package)
    }
}

impl SimulationSettings {
    pub(super) fn read(self) -> Result<Settings> {
        let mut replace_on = BTreeMap::new();
        for (pattern, paths) in self.replace_on {
            let read = |path: &String| {
                let refused = |error| Error::invalid(format!("replace_on of {pattern}: {error}"));
                PropertyPath::parse(path).map_err(refused)
            };
            let paths: Result<Vec<PropertyPath>> = paths.iter().map(read).collect();
            let paths = paths?;
            replace_on.insert(pattern, paths);
        }
        let schemas: Result<Vec<_>> = self.schemas.iter().map(PackageSchema::read).collect();
        Ok(Settings {
            schemas: schemas?,
            outputs: self.outputs,
            replace_on,
            delete_before_replace: self.delete_before_replace,
            answered_functions: self.answered_functions,
            answered_outputs: self.answered_outputs,
            real: self.real,
            stacks: self.stacks,
        })
    }
}
