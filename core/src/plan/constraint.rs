//! The plan that a run is held to: which steps it still expects, and what speaks against a goal.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use rustc_hash::FxHashMap;

use crate::{
    executor::StepOp,
    plan::{GoalFacts, GoalPlan, Plan, PlanDiff, ResourcePlan, violation},
    property::PropertyMap,
    resource::{Goal, ResourceState},
    urn::Urn,
};

/// The plan that a run is held to.
pub(super) struct Constraint {
    plan: Arc<Plan>,
    /// The steps that have not been seen yet.
    expected: Mutex<FxHashMap<Urn, VecDeque<StepOp>>>,
}

impl Constraint {
    pub(super) fn new(plan: Arc<Plan>) -> Self {
        let expected = plan
            .resources
            .iter()
            .map(|(urn, planned)| (urn.clone(), planned.steps.iter().copied().collect()))
            .collect();
        Self {
            plan,
            expected: Mutex::new(expected),
        }
    }

    pub(super) fn seed(&self, urn: &Urn) -> Option<Vec<u8>> {
        self.plan
            .resource(urn)?
            .seed
            .clone()
            .filter(|seed| !seed.is_empty())
    }

    /// Says what of a goal and its checked inputs is not as planned.
    pub(super) fn goal(&self, facts: &GoalFacts<'_>) -> Result<(), String> {
        let found = match self.plan.resource(facts.urn) {
            Some(planned) if planned.goal.is_some() || planned.is_removal() => of_planned(planned, facts),
            // Nobody has registered it, or it was left out; without a record, it is its step that is not allowed.
            _ => facts.old.and_then(|old| of_unplanned(old, facts.goal, facts)),
        };
        match found {
            Some(what) => Err(format!("resource {} violates plan: {what}", facts.urn)),
            None => Ok(()),
        }
    }

    /// Takes the next expected step of a resource, and says so when `op` does more than that.
    pub(super) fn step(&self, urn: &Urn, op: StepOp) -> Result<(), String> {
        let expected = {
            let mut expected = self.expected.lock().unwrap_or_else(PoisonError::into_inner);
            expected.get_mut(urn).map(VecDeque::pop_front)
        };
        let reason = match expected {
            None if op == StepOp::Same => return Ok(()),
            None => "no steps were expected for this resource".to_owned(),
            Some(None) => "no more steps were expected for this resource".to_owned(),
            Some(Some(planned)) if allows(planned, op) => return Ok(()),
            Some(Some(planned)) => format!("this resource is constrained to {planned}"),
        };
        Err(format!("{op} is not allowed by the plan: {reason}"))
    }

    /// Says which published outputs are not as planned.
    pub(super) fn outputs(&self, urn: &Urn, old: &PropertyMap, new: &PropertyMap) -> Result<(), String> {
        let goal = self.plan.resource(urn).and_then(|planned| planned.goal.as_ref());
        let unchanged = PlanDiff::default();
        let planned = goal.map_or(&unchanged, |goal| &goal.output_diff);
        match violation::of_properties(planned, old, new) {
            Some(places) => Err(format!("resource {urn} violates plan: outputs changed: {places}")),
            None => Ok(()),
        }
    }

    /// Returns the resources of which steps were expected that nobody has seen, in the order of their URNs. A deletion
    /// is not missed where there is nothing to delete.
    pub(super) fn leftovers(&self, is_recorded: impl Fn(&Urn) -> bool) -> Vec<Urn> {
        let expected = self.expected.lock().unwrap_or_else(PoisonError::into_inner);
        let mut left: Vec<Urn> = expected
            .iter()
            .filter(|(urn, steps)| match (steps.len(), steps.front()) {
                (0, _) => false,
                (1, Some(StepOp::Delete)) => is_recorded(urn),
                _ => true,
            })
            .map(|(urn, _)| urn.clone())
            .collect();
        left.sort_unstable();
        left
    }
}

fn of_planned(planned: &ResourcePlan, facts: &GoalFacts<'_>) -> Option<String> {
    let Some(goal) = &planned.goal else {
        return Some("resource unexpectedly not deleted".to_owned());
    };
    violation::of_goal(goal, facts.goal).or_else(|| {
        // Plans say nothing of how the inputs of an imported thing will differ from what was found.
        let says_nothing = facts.imported && goal.input_diff.is_empty();
        if says_nothing {
            return None;
        }
        of_inputs(&goal.input_diff, facts)
    })
}

fn of_unplanned(old: &ResourceState, goal: &Goal, facts: &GoalFacts<'_>) -> Option<String> {
    let unchanged = GoalPlan::unchanged(old, goal);
    violation::of_goal(&unchanged, goal).or_else(|| of_inputs(&unchanged.input_diff, facts))
}

fn of_inputs(planned: &PlanDiff, facts: &GoalFacts<'_>) -> Option<String> {
    let none = PropertyMap::new();
    let old = facts.old.map_or(&none, |old| &old.inputs);
    violation::of_properties(planned, old, facts.inputs).map(|places| format!("properties changed: {places}"))
}

/// Tells whether a step does no more than the planned one.
fn allows(planned: StepOp, op: StepOp) -> bool {
    planned == op
        || match planned {
            StepOp::Create => op == StepOp::Same,
            StepOp::Update => op == StepOp::Same,
            StepOp::Replace | StepOp::CreateReplacement | StepOp::DeleteReplaced => {
                matches!(op, StepOp::Same | StepOp::Update)
            }
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_may_do_less_than_the_planned_one_but_not_more() {
        use StepOp::{Create, CreateReplacement, Delete, DeleteReplaced, Replace, Same, Update};
        for (planned, fewer) in [
            (Create, &[Same, Create][..]),
            (Update, &[Same, Update]),
            (Replace, &[Same, Update, Replace]),
            (CreateReplacement, &[Same, Update, CreateReplacement]),
            (DeleteReplaced, &[Same, Update, DeleteReplaced]),
            (Same, &[Same]),
            (Delete, &[Delete]),
        ] {
            for op in StepOp::ALL {
                assert_eq!(
                    allows(planned, *op),
                    fewer.contains(op),
                    "{op} where {planned} is planned"
                );
            }
        }
    }
}
