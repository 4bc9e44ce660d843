//! What a run does about plans: it writes one down, is held to one, or both.

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

/// What a run does about plans. Texts of violations are those of the reference engine.
pub(crate) struct Planning {
    recorder: Option<Recorder>,
    constraint: Option<Constraint>,
}

/// A goal with what has been found out about it.
#[derive(Clone, Copy)]
pub(crate) struct GoalFacts<'a> {
    /// The resource.
    pub urn: &'a Urn,
    /// What the program asks for.
    pub goal: &'a Goal,
    /// The record as it was, or as it was imported.
    pub old: Option<&'a ResourceState>,
    /// The inputs as Check left them.
    pub inputs: &'a PropertyMap,
    /// What random parts are made of.
    pub seed: &'a [u8],
    /// Whether the record has only just been imported.
    pub imported: bool,
    /// Which Check left the inputs.
    pub checked: Checked,
}

/// Which Check left inputs: replacements have theirs checked twice, so that they do not take over what was made up for
/// the old ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Checked {
    /// The only one.
    Once,
    /// The first one, before it is known whether there will be a replacement.
    First,
    /// The first one, after which no other came.
    Kept,
    /// The second one.
    Anew,
}

impl Planning {
    /// Says what a run does about plans; `None` when that is nothing.
    #[must_use]
    pub(crate) fn new(records: bool, held_to: Option<Arc<Plan>>) -> Option<Self> {
        (records || held_to.is_some()).then(|| Self {
            recorder: records.then(Recorder::default),
            constraint: held_to.map(Constraint::new),
        })
    }

    /// Returns the seed that a resource has in the plan that the run is held to.
    #[must_use]
    pub(crate) fn seed(&self, urn: &Urn) -> Option<Vec<u8>> {
        self.constraint.as_ref()?.seed(urn)
    }

    /// Looks at what is asked for before anything is done about it; `old` is the record.
    ///
    /// # Errors
    /// How it violates the plan.
    pub(crate) fn request(&self, urn: &Urn, goal: &Goal, old: Option<&ResourceState>) -> Result<(), Text> {
        match &self.constraint {
            Some(constraint) => constraint.request(urn, goal, old),
            None => Ok(()),
        }
    }

    /// Looks at the inputs of a goal when they have been checked, before any step.
    ///
    /// # Errors
    /// How they violate the plan.
    pub(crate) fn inputs(&self, facts: &GoalFacts<'_>) -> Result<(), Text> {
        if let Some(constraint) = &self.constraint {
            constraint.inputs(facts)?;
        }
        if let Some(recorder) = self.recorder.as_ref().filter(|_| facts.checked != Checked::Kept) {
            recorder.goal(facts);
        }
        Ok(())
    }

    /// Takes the goal of a resource that targets leave out.
    pub(crate) fn left_out(&self, facts: &GoalFacts<'_>) {
        if let Some(recorder) = &self.recorder {
            recorder.goal(facts);
        }
    }

    /// Looks at a step before it runs. Every step is looked at once, in the order in which those of one resource run.
    ///
    /// # Errors
    /// How it violates the plan.
    pub(crate) fn step(&self, urn: &Urn, op: StepOp) -> Result<(), Text> {
        if let Some(constraint) = &self.constraint {
            constraint.step(urn, op)?;
        }
        if let Some(recorder) = &self.recorder {
            recorder.step(urn, op);
        }
        Ok(())
    }

    /// Looks at a managed resource that is to be given up for what the program reads in its place.
    ///
    /// # Errors
    /// How it violates the plan.
    pub(crate) fn giving_up(&self, urn: &Urn) -> Result<(), Text> {
        match &self.constraint {
            Some(constraint) => constraint.giving_up(urn),
            None => Ok(()),
        }
    }

    /// Takes the outputs of a step that succeeded.
    pub(crate) fn outputs(&self, urn: &Urn, outputs: &PropertyMap) {
        if let Some(recorder) = &self.recorder {
            recorder.outputs(urn, outputs);
        }
    }

    /// Looks at what a component or the stack publishes, before it is recorded.
    ///
    /// # Errors
    /// How it violates the plan.
    pub(crate) fn published(&self, urn: &Urn, old: &PropertyMap, new: &PropertyMap) -> Result<(), Text> {
        if let Some(constraint) = &self.constraint {
            constraint.outputs(urn, old, new)?;
        }
        if let Some(recorder) = &self.recorder {
            recorder.published(urn, old, new);
        }
        Ok(())
    }

    /// Returns the resources of which steps were expected that have not been seen.
    pub(crate) fn leftovers(&self, is_recorded: impl Fn(&Urn) -> bool) -> Vec<Urn> {
        self.constraint
            .as_ref()
            .map(|constraint| constraint.leftovers(is_recorded))
            .unwrap_or_default()
    }

    /// Takes what was written down; `None` when nothing was to be.
    #[must_use]
    pub(crate) fn take(&self) -> Option<FxHashMap<Urn, ResourcePlan>> {
        self.recorder.as_ref().map(Recorder::take)
    }
}
