//! The recorder of a plan during a run.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use crate::{
    plan::{GoalFacts, GoalPlan, PlanDiff, ResourcePlan},
    property::PropertyMap,
    step::StepOp,
    urn::Urn,
};

/// The findings so far.
#[derive(Default)]
pub(super) struct Recorder(Mutex<FxHashMap<Urn, ResourcePlan>>);

impl Recorder {
    fn found(&self) -> MutexGuard<'_, FxHashMap<Urn, ResourcePlan>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn goal(&self, facts: &GoalFacts<'_>) {
        let input_diff = match facts.old {
            // The inputs that were read are unknown to readers of the plan.
            _ if facts.imported => PlanDiff::default(),
            Some(old) => PlanDiff::between(&old.inputs, facts.inputs),
            None => PlanDiff::between(&PropertyMap::new(), facts.inputs),
        };
        let goal = GoalPlan::of(facts.goal, input_diff);
        let seed = facts.seed.to_vec();
        let mut found = self.found();
        // Steps can precede the goal: the deletion of a resource that is replaced because of another one.
        let plan = found.entry(facts.urn.clone()).or_default();
        plan.goal = Some(goal);
        plan.seed = Some(seed);
    }

    pub(super) fn step(&self, urn: &Urn, op: StepOp) {
        self.found().entry(urn.clone()).or_default().steps.push(op);
    }

    pub(super) fn outputs(&self, urn: &Urn, outputs: &PropertyMap) {
        self.found().entry(urn.clone()).or_default().outputs = Some(outputs.clone());
    }

    pub(super) fn published(&self, urn: &Urn, old: &PropertyMap, new: &PropertyMap) {
        let output_diff = PlanDiff::between(old, new);
        let mut found = self.found();
        let plan = found.entry(urn.clone()).or_default();
        if let Some(goal) = &mut plan.goal {
            goal.output_diff = output_diff;
        }
        plan.outputs = Some(new.clone());
    }

    pub(super) fn take(&self) -> FxHashMap<Urn, ResourcePlan> {
        std::mem::take(&mut *self.found())
    }
}
