//! The plans of a run: the one that constrains it, the one that it makes, or both.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::{
    message::Text,
    plan::{Constraint, Plan, Recorder, ResourcePlan},
    property::PropertyMap,
    resource::{Goal, ResourceState},
    step::StepOp,
    urn::Urn,
};

/// The plans of a run. Texts of violations are those of the reference engine.
pub(crate) struct Planning {
    recorder: Option<Recorder>,
    constraint: Option<Constraint>,
}

/// A goal with the facts that a plan needs.
#[derive(Clone, Copy)]
pub(crate) struct GoalFacts<'a> {
    /// The resource.
    pub urn: &'a Urn,
    /// The goal.
    pub goal: &'a Goal,
    /// The record before the step, or as imported.
    pub old: Option<&'a ResourceState>,
    /// The inputs after Check.
    pub inputs: &'a PropertyMap,
    /// The random seed.
    pub seed: &'a [u8],
    /// Whether the record has just been imported.
    pub imported: bool,
    /// The Check that returned the inputs.
    pub checked: Checked,
}

/// The Check that returned inputs. The inputs of a replacement are checked twice, so that computed values of the old
/// resource are not reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Checked {
    /// The only Check.
    Once,
    /// The first Check, before the decision on a replacement.
    First,
    /// The first Check, without a second one.
    Kept,
    /// The second Check.
    Anew,
}

impl Planning {
    /// Returns the plans of a run; `None` without any.
    #[must_use]
    pub(crate) fn new(records: bool, held_to: Option<Arc<Plan>>) -> Option<Self> {
        (records || held_to.is_some()).then(|| Self {
            recorder: records.then(Recorder::default),
            constraint: held_to.map(Constraint::new),
        })
    }

    /// Returns the seed of a resource in the constraining plan.
    #[must_use]
    pub(crate) fn seed(&self, urn: &Urn) -> Option<Vec<u8>> {
        self.constraint.as_ref()?.seed(urn)
    }

    /// Checks a goal before any call about it; `old` is the record.
    ///
    /// # Errors
    /// The violation.
    pub(crate) fn request(&self, urn: &Urn, goal: &Goal, old: Option<&ResourceState>) -> Result<(), Text> {
        match &self.constraint {
            Some(constraint) => constraint.request(urn, goal, old),
            None => Ok(()),
        }
    }

    /// Compares the inputs of a goal after Check, before any step.
    ///
    /// # Errors
    /// The violation.
    pub(crate) fn inputs(&self, facts: &GoalFacts<'_>) -> Result<(), Text> {
        if let Some(constraint) = &self.constraint {
            constraint.inputs(facts)?;
        }
        if let Some(recorder) = self.recorder.as_ref().filter(|_| facts.checked != Checked::Kept) {
            recorder.goal(facts);
        }
        Ok(())
    }

    /// Records the goal of a resource that targets skip.
    pub(crate) fn left_out(&self, facts: &GoalFacts<'_>) {
        if let Some(recorder) = &self.recorder {
            recorder.goal(facts);
        }
    }

    /// Checks a step before it runs. Called once for each step, in the order of the steps of a resource.
    ///
    /// # Errors
    /// The violation.
    pub(crate) fn step(&self, urn: &Urn, op: StepOp) -> Result<(), Text> {
        if let Some(constraint) = &self.constraint {
            constraint.step(urn, op)?;
        }
        if let Some(recorder) = &self.recorder {
            recorder.step(urn, op);
        }
        Ok(())
    }

    /// Checks that a managed resource may be deleted in favour of a plain read.
    ///
    /// # Errors
    /// The violation.
    pub(crate) fn giving_up(&self, urn: &Urn) -> Result<(), Text> {
        match &self.constraint {
            Some(constraint) => constraint.giving_up(urn),
            None => Ok(()),
        }
    }

    /// Records the outputs of a successful step.
    pub(crate) fn outputs(&self, urn: &Urn, outputs: &PropertyMap) {
        if let Some(recorder) = &self.recorder {
            recorder.outputs(urn, outputs);
        }
    }

    /// Checks the published outputs of a component or the stack before they are recorded.
    ///
    /// # Errors
    /// The violation.
    pub(crate) fn published(&self, urn: &Urn, old: &PropertyMap, new: &PropertyMap) -> Result<(), Text> {
        if let Some(constraint) = &self.constraint {
            constraint.outputs(urn, old, new)?;
        }
        if let Some(recorder) = &self.recorder {
            recorder.published(urn, old, new);
        }
        Ok(())
    }

    /// Returns the resources with expected steps that did not occur.
    pub(crate) fn leftovers(&self, is_recorded: impl Fn(&Urn) -> bool) -> Vec<Urn> {
        self.constraint
            .as_ref()
            .map(|constraint| constraint.leftovers(is_recorded))
            .unwrap_or_default()
    }

    /// Returns the recorded plan; `None` when none was requested.
    #[must_use]
    pub(crate) fn take(&self) -> Option<FxHashMap<Urn, ResourcePlan>> {
        self.recorder.as_ref().map(Recorder::take)
    }
}
