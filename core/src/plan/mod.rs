//! Plans: the steps and goals that a run found, and the constraint of a later run by them.
//!
//! A run that makes a plan has a `Recorder`; a run that is constrained by a plan has a `Constraint`. `Planning` is the
//! interface of the generator to both.

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

/// The findings of a run: for each resource its goal, its steps, its outputs and its random seed.
///
/// Kept in memory in this form; [`Self::write`] returns the reference engine's document.
pub struct Plan {
    pub(crate) manifest: Manifest,
    pub(crate) config: PlanConfig,
    pub(crate) resources: FxHashMap<Urn, ResourcePlan>,
    pub(crate) keys: PlanKeys,
    /// The text of the document, once it has been written.
    pub(crate) document: OnceLock<String>,
}

/// The plan of one resource.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResourcePlan {
    /// The goal; `None` for a resource that the program does not register.
    pub(crate) goal: Option<GoalPlan>,
    /// The steps, in order.
    pub steps: Vec<StepOp>,
    /// The known outputs; `None` for removals.
    pub outputs: Option<PropertyMap>,
    /// The seed of random names: 32 bytes, none for removals.
    pub seed: Option<Vec<u8>>,
}

/// The configuration of a plan.
pub(crate) enum PlanConfig {
    /// Of the stack.
    Known(Config),
    /// Of a document: in the form of stack files.
    Read(Value),
}

/// The secrets manager of a plan.
pub(crate) struct PlanKeys {
    /// The stack's manager; `None` while the stack has none.
    pub(crate) manager: Option<Arc<dyn SecretsManager>>,
    /// Creates one for a stack without a manager. The document then names its provider.
    pub(crate) provider: Arc<dyn SecretsProvider>,
    /// Whether the document named the manager, and must name it again when it is written.
    pub(crate) is_own: bool,
}

/// Returns the resources of a plan's document. Its encrypted secrets stay so: they have no value.
///
/// # Errors
/// [`crate::ErrorKind::InvalidInput`] with the place for a malformed document.
pub(crate) fn resources_of(document: &str) -> Result<FxHashMap<Urn, ResourcePlan>> {
    json::read_sealed(document)
}

impl ResourcePlan {
    /// Calls `learn` with every secret text.
    pub(crate) fn each_secret_text(&self, learn: &mut dyn FnMut(&str, bool)) {
        let goal = self.goal.iter();
        let diffs = goal.flat_map(|goal| [&goal.input_diff, &goal.output_diff]);
        let maps = diffs.flat_map(|diff| [&diff.adds, &diff.updates]);
        for value in maps.chain(&self.outputs).flat_map(PropertyMap::values) {
            value.each_secret_text(learn);
        }
    }

    /// Returns whether the resource is to be replaced.
    fn is_replacement(&self) -> bool {
        self.steps.contains(&StepOp::CreateReplacement)
    }

    /// Returns whether the resource is to be removed.
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
    /// Returns the plan of a resource.
    #[must_use]
    pub fn resource(&self, urn: &Urn) -> Option<&ResourcePlan> {
        self.resources.get(urn)
    }

    /// Returns the number of resources in the plan.
    #[must_use]
    pub fn len(&self) -> usize {
        self.resources.len()
    }

    /// Returns whether the plan contains no resources.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.resources.is_empty()
    }

    /// Returns the document if it has been written: when the options requested a plan, or after [`Self::write`].
    #[must_use]
    pub fn document(&self) -> Option<&str> {
        self.document.get().map(String::as_str)
    }

    /// Writes the plan as the reference engine's JSON document; secrets are encrypted by the stack's secrets manager.
    ///
    /// When the stack has no such manager yet and the plan contains secrets, a further member (`secrets_providers`, as
    /// in states) names the provider of the manager that was created for the plan.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Secrets`] when a secret cannot be encrypted.
    ///
    /// # Cancel safety
    /// A dropped future writes nothing; a further call starts again.
    pub async fn write(&self) -> Result<&str> {
        if let Some(document) = self.document.get() {
            return Ok(document);
        }
        let document = json::write(self).await?;
        Ok(self.document.get_or_init(|| document))
    }

    /// Calls `learn` with every secret text in the resources' plans.
    pub(crate) fn each_secret_text(&self, learn: &mut dyn FnMut(&str, bool)) {
        for planned in self.resources.values() {
            planned.each_secret_text(learn);
        }
    }

    /// Returns whether the plan is another stack's: it contains resources, none of them of this stack.
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
        // Values can be secret.
        formatter
            .debug_struct("Plan")
            .field("resources", &self.resources.len())
            .finish_non_exhaustive()
    }
}
