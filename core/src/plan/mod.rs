//! Plans: what a run found for each resource, and how a later run is held to it.
//!
//! A run that writes one down has a `Recorder`; one that is held to a plan has a `Constraint`. `Planning` is what
//! the generator asks, whichever of the two there is.

mod constraint;
mod difference;
mod given;
mod goal;
mod json;
mod matching;
mod planning;
mod recorder;
mod text;
mod violation;

use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;
use serde_json::Value;

use crate::{
    config::Config,
    error::Result,
    property::PropertyMap,
    secrets::{SecretsManager, SecretsProvider},
    state::Manifest,
    step::StepOp,
    urn::Urn,
};

pub(crate) use difference::PlanDiff;
pub use given::GivenPlan;
pub(crate) use goal::GoalPlan;
pub(crate) use planning::{Checked, GoalFacts, Planning};

use constraint::Constraint;
use recorder::Recorder;

/// What a run found: for each resource its goal, its steps, its outputs and the seed of its random parts.
///
/// Kept in memory as it was found; [`Self::write`] makes the reference engine's document of it.
pub struct Plan {
    pub(crate) manifest: Manifest,
    pub(crate) config: PlanConfig,
    pub(crate) resources: FxHashMap<Urn, ResourcePlan>,
    pub(crate) keys: PlanKeys,
    /// The text of the document, once it has been written.
    pub(crate) document: OnceLock<String>,
}

/// What a plan says of one resource.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResourcePlan {
    /// What the program asked for; `None` for what it does not register any more.
    pub(crate) goal: Option<GoalPlan>,
    /// The steps, in their order.
    pub steps: Vec<StepOp>,
    /// The outputs, as far as they were known; `None` for removals.
    pub outputs: Option<PropertyMap>,
    /// What random parts of names are made of: 32 bytes, none for removals.
    pub seed: Option<Vec<u8>>,
}

/// The configuration that a plan was made with.
pub(crate) enum PlanConfig {
    /// As the stack has it.
    Known(Config),
    /// As a document has it: in the form of stack files.
    Read(Value),
}

/// What encrypts a plan's secrets.
pub(crate) struct PlanKeys {
    /// The stack's manager; `None` as long as the stack has none.
    pub(crate) manager: Option<Arc<dyn SecretsManager>>,
    /// Makes one where there is none. Then the document says how to open it.
    pub(crate) provider: Arc<dyn SecretsProvider>,
    /// Whether the manager came from the document, which must go on saying how to open it.
    pub(crate) is_own: bool,
}

impl ResourcePlan {
    /// Tells whether the resource is to be replaced.
    fn is_replacement(&self) -> bool {
        self.steps.contains(&StepOp::CreateReplacement)
    }

    /// Tells whether the resource is to go for good.
    fn is_removal(&self) -> bool {
        self.steps.iter().any(|op| {
            matches!(
                op,
                StepOp::Delete | StepOp::Discard | StepOp::RemovePendingReplace
            )
        })
    }
}

impl Plan {
    /// Returns what is planned for a resource.
    #[must_use]
    pub fn resource(&self, urn: &Urn) -> Option<&ResourcePlan> {
        self.resources.get(urn)
    }

    /// Returns how many resources it speaks of.
    #[must_use]
    pub fn len(&self) -> usize {
        self.resources.len()
    }

    /// Tells whether it speaks of no resource.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.resources.is_empty()
    }

    /// Returns the document if it has been written: where the options asked for a plan, or after [`Self::write`].
    #[must_use]
    pub fn document(&self) -> Option<&str> {
        self.document.get().map(String::as_str)
    }

    /// Writes the plan as the reference engine's JSON document; secrets are encrypted by the stack's secrets manager.
    ///
    /// The plan of a stack that has no such manager yet, and that holds secrets, says in a further member
    /// (`secrets_providers`, as in states) how to open the one that was made for it.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Secrets`] when a secret cannot be encrypted.
    pub async fn write(&self) -> Result<&str> {
        if let Some(document) = self.document.get() {
            return Ok(document);
        }
        let document = json::write(self).await?;
        Ok(self.document.get_or_init(|| document))
    }

    /// Calls `learn` with every text that is secret in what it says of resources.
    pub(crate) fn each_secret_text(&self, learn: &mut dyn FnMut(&str, bool)) {
        for planned in self.resources.values() {
            let goal = planned.goal.iter();
            let diffs = goal.flat_map(|goal| [&goal.input_diff, &goal.output_diff]);
            let maps = diffs.flat_map(|diff| [&diff.adds, &diff.updates]);
            for value in maps.chain(&planned.outputs).flat_map(PropertyMap::values) {
                value.each_secret_text(learn);
            }
        }
    }

    /// Tells whether the plan is of another stack: it speaks of resources, and none of them is of this one.
    pub(crate) fn is_of_another(&self, stack: &str, project: &str) -> bool {
        !self.is_empty()
            && !self
                .resources
                .keys()
                .any(|urn| urn.stack() == stack && urn.project() == project)
    }
}

impl std::fmt::Debug for Plan {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Values may be secret.
        formatter
            .debug_struct("Plan")
            .field("resources", &self.resources.len())
            .finish_non_exhaustive()
    }
}
