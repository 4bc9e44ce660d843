//! Plans: goals, steps and published outputs are checked against the given plan, and recorded for a new one.

use std::sync::Arc;

use crate::{
    executor::Step,
    generator::{RunEnded, registration::Registering, run::Run},
    message::Text,
    plan::{Checked, GoalFacts, Planning},
    property::PropertyMap,
    resource::{Goal, ResourceState},
    state::PriorState,
    urn::Urn,
};

/// The plans of one run; a violation of the given plan ends the run.
pub(super) struct Plans {
    run: Run,
    /// `None` in runs without plans.
    pub(super) planning: Option<Arc<Planning>>,
}

impl Plans {
    pub(super) fn new(run: Run) -> Self {
        Self { run, planning: None }
    }

    /// Returns whether the run has a plan to follow or to make.
    pub(super) fn exist(&self) -> bool {
        self.planning.is_some()
    }

    /// Returns the random seed of a resource: the planned one, or a new one.
    pub(super) fn seed(&self, urn: &Urn) -> Vec<u8> {
        let planned = self.planning.as_ref().and_then(|planning| planning.seed(urn));
        planned.unwrap_or_else(|| {
            let mut seed = vec![0; 32];
            self.run.executor.runtime().random.fill(&mut seed);
            seed
        })
    }

    /// Checks the program's goal.
    pub(super) fn check_request(&self, registering: &Registering) -> Result<(), RunEnded> {
        let Registering { urn, goal, old, .. } = registering;
        let old = old.as_ref().map(|old| &*old.state);
        self.check(urn, |planning| planning.request(urn, goal, old))
    }

    /// Checks inputs that the provider has checked.
    pub(super) fn check_inputs(
        &self,
        registering: &Registering,
        inputs: &PropertyMap,
        imported: bool,
        checked: Checked,
    ) -> Result<(), RunEnded> {
        let facts = GoalFacts {
            urn: &registering.urn,
            goal: &registering.goal,
            old: registering.old.as_ref().map(|old| &*old.state),
            inputs,
            seed: &registering.seed,
            imported,
            checked,
        };
        self.check(&registering.urn, |planning| planning.inputs(&facts))
    }

    /// Records the goal of a resource that targets skip: its recorded inputs stay, and without a record it is not
    /// created.
    pub(super) fn note_skipped(&self, urn: &Urn, goal: &Goal, old: Option<&ResourceState>) {
        let Some(planning) = &self.planning else { return };
        // The step of a record that keeps a former URN is planned under that URN.
        if old.is_some_and(|old| old.urn != *urn) {
            return;
        }
        planning.left_out(&GoalFacts {
            urn,
            goal,
            old,
            inputs: old.map_or(&goal.inputs, |old| &old.inputs),
            seed: &self.seed(urn),
            imported: false,
            checked: Checked::Once,
        });
    }

    /// Checks steps that are about to run. When one violates the plan, none of them may.
    pub(super) fn check_steps<'a>(&self, steps: impl IntoIterator<Item = &'a Step>) -> Result<(), RunEnded> {
        if self.planning.is_none() {
            return Ok(());
        }
        let mut checked = Ok(());
        for step in steps {
            checked = self
                .check(&step.urn, |planning| planning.step(&step.urn, step.op))
                .and(checked);
        }
        checked
    }

    /// Checks that a managed resource may be given up for one that the program reads.
    pub(super) fn check_giving_up(&self, urn: &Urn) -> Result<(), RunEnded> {
        self.check(urn, |planning| planning.giving_up(urn))
    }

    /// Records the outputs of successful steps.
    pub(super) fn note_outputs(&self, state: &ResourceState) {
        if let Some(planning) = &self.planning {
            planning.outputs(&state.urn, &state.outputs);
        }
    }

    /// Checks the published outputs of a component or the stack. After a failure they may be incomplete.
    pub(super) fn check_published(
        &self,
        state: &ResourceState,
        outputs: &PropertyMap,
    ) -> Result<(), RunEnded> {
        if self.planning.is_none() || self.run.has_ended_early() {
            return Ok(());
        }
        self.check(&state.urn, |planning| {
            planning.published(&state.urn, &state.outputs, outputs)
        })
    }

    /// Reports the resources with planned steps that did not occur. Not after a failure: they would be many, and none
    /// would explain it.
    pub(super) fn finish(&self, base: &PriorState) {
        let Some(planning) = &self.planning else { return };
        if self.run.has_ended_early() {
            return;
        }
        for urn in planning.leftovers(|urn| base.position(urn).is_some()) {
            let text = format!("expected resource operations for {urn} but none were seen");
            self.violated(&urn, &Text::from(text));
        }
    }

    fn check(&self, urn: &Urn, check: impl FnOnce(&Planning) -> Result<(), Text>) -> Result<(), RunEnded> {
        match &self.planning {
            Some(planning) => check(planning).map_err(|text| self.violated(urn, &text)),
            None => Ok(()),
        }
    }

    fn violated(&self, urn: &Urn, text: &Text) -> RunEnded {
        let text = if self.run.executor.is_preview() {
            text.map(|reference| format!("Preview failed: {reference}"), str::to_owned)
        } else {
            text.clone()
        };
        self.run.bail(urn, text)
    }
}
