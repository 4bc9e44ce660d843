//! What the generator asks about plans: each goal, step and published output is looked at before anything is done.

use std::sync::Arc;

use crate::{
    executor::Step,
    generator::{Generator, Unanswered, register::Registering},
    message::Text,
    plan::{Checked, GoalFacts, Planning},
    property::PropertyMap,
    resource::{Goal, ResourceState},
    urn::Urn,
};

impl Generator {
    /// Says what the run does about plans.
    #[must_use]
    pub(crate) fn with_planning(self, planning: Option<Arc<Planning>>) -> Self {
        Self { planning, ..self }
    }

    pub(super) fn planned_seed(&self, urn: &Urn) -> Option<Vec<u8>> {
        self.planning.as_ref()?.seed(urn)
    }

    /// Looks at what is asked for.
    pub(super) fn plan_request(&self, registering: &Registering) -> Result<(), Unanswered> {
        let Some(planning) = &self.planning else {
            return Ok(());
        };
        let Registering { urn, goal, old, .. } = registering;
        planning
            .request(urn, goal, old.as_ref().map(|old| &*old.state))
            .map_err(|text| self.violated(urn, &text))
    }

    /// Looks at inputs that have been checked.
    pub(super) fn plan_inputs(
        &self,
        registering: &Registering,
        inputs: &PropertyMap,
        imported: bool,
        checked: Checked,
    ) -> Result<(), Unanswered> {
        let Some(planning) = &self.planning else {
            return Ok(());
        };
        let facts = GoalFacts {
            urn: &registering.urn,
            goal: &registering.goal,
            old: registering.old.as_ref().map(|old| &*old.state),
            inputs,
            seed: &registering.seed,
            imported,
            checked,
        };
        planning
            .inputs(&facts)
            .map_err(|text| self.violated(&registering.urn, &text))
    }

    /// Takes what the program asks for of a resource that targets leave out: its inputs stay as they are recorded, and one
    /// without a record is not made.
    pub(super) fn plan_left_out(&self, urn: &Urn, goal: &Goal, old: Option<&ResourceState>) {
        let Some(planning) = &self.planning else { return };
        // The step of one that keeps a former URN is planned under that.
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

    /// Looks at steps that are about to run. When one is refused, none of them may.
    pub(super) fn plan_steps<'a>(&self, steps: impl IntoIterator<Item = &'a Step>) -> Result<(), Unanswered> {
        let Some(planning) = &self.planning else {
            return Ok(());
        };
        let mut refused = Ok(());
        for step in steps {
            if let Err(text) = planning.step(&step.urn, step.op) {
                refused = Err(self.violated(&step.urn, &text));
            }
        }
        refused
    }

    /// Looks at a managed resource that is to be given up for what the program reads.
    pub(super) fn plan_giving_up(&self, urn: &Urn) -> Result<(), Unanswered> {
        match &self.planning {
            Some(planning) => planning.giving_up(urn).map_err(|text| self.violated(urn, &text)),
            None => Ok(()),
        }
    }

    /// Takes the outputs of steps that succeeded.
    pub(super) fn plan_outputs(&self, state: &ResourceState) {
        if let Some(planning) = &self.planning {
            planning.outputs(&state.urn, &state.outputs);
        }
    }

    /// Looks at what a component or the stack publishes. After a failure nobody expects it to be complete.
    pub(super) fn plan_published(
        &self,
        state: &ResourceState,
        outputs: &PropertyMap,
    ) -> Result<(), Unanswered> {
        let Some(planning) = &self.planning else {
            return Ok(());
        };
        if self.has_ended_early() {
            return Ok(());
        }
        planning
            .published(&state.urn, &state.outputs, outputs)
            .map_err(|text| self.violated(&state.urn, &text))
    }

    /// Reports the resources of which the plan expected steps that nobody has seen. After a failure there would be many,
    /// and none of them would say why.
    pub(crate) fn end_plan(&self) {
        let Some(planning) = &self.planning else { return };
        if self.has_ended_early() {
            return;
        }
        for urn in planning.leftovers(|urn| self.base.position(urn).is_some()) {
            let text = Text::from(format!(
                "expected resource operations for {urn} but none were seen"
            ));
            self.violated(&urn, &text);
        }
    }

    fn has_ended_early(&self) -> bool {
        let control = self.executor.control();
        control.has_failed() || control.is_cancelled()
    }

    fn violated(&self, urn: &Urn, text: &Text) -> Unanswered {
        let text = if self.executor.is_preview() {
            text.map(|reference| format!("Preview failed: {reference}"), str::to_owned)
        } else {
            text.clone()
        };
        self.bail(Some(urn), text)
    }
}
