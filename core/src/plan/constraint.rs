//! The plan that constrains a run: the steps that are still expected, and violations.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use rustc_hash::FxHashMap;

use crate::{
    message::Text,
    plan::{
        Checked, GoalFacts, GoalPlan, Plan, PlanDiff, ResourcePlan,
        violation::{self, Differences},
    },
    property::{Key, PropertyMap},
    resource::{Goal, ResourceState},
    step::StepOp,
    urn::Urn,
};

/// The plan that constrains a run.
pub(super) struct Constraint {
    plan: Arc<Plan>,
    /// The expected steps that have not occurred yet.
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

    /// Checks a goal before any call about it, except its inputs, which are compared when they have been checked.
    pub(super) fn request(&self, urn: &Urn, goal: &Goal, old: Option<&ResourceState>) -> Result<(), Text> {
        let found = match self.planned(urn) {
            Some(planned) => of_request(urn, planned, goal),
            None => old.and_then(|old| violation::of_goal(urn, &GoalPlan::unchanged(old, goal), goal)),
        };
        match found {
            Some(what) => Err(format!("resource {urn} violates plan: {what}").into()),
            None => Ok(()),
        }
    }

    /// Compares the checked inputs of a goal with the plan.
    pub(super) fn inputs(&self, facts: &GoalFacts<'_>) -> Result<(), Text> {
        let planned = self.planned(facts.urn);
        let is_replacement = planned.is_some_and(ResourcePlan::is_replacement);
        let is_compared = match facts.checked {
            Checked::Once => true,
            // A replacement is planned with the inputs of its second Check.
            Checked::First => !is_replacement,
            // Compared at the first Check, or refused because of its steps.
            Checked::Kept | Checked::Anew => is_replacement,
        };
        if !is_compared {
            return Ok(());
        }
        let found = match planned.and_then(|planned| planned.goal.as_ref()) {
            // Plans do not contain how the inputs of an imported resource will differ from those that were read.
            Some(goal) if facts.imported && goal.input_diff.is_empty() => None,
            Some(goal) => of_inputs(&goal.input_diff, facts),
            None => facts.old.and_then(|_| of_inputs(&PlanDiff::default(), facts)),
        };
        match found {
            Some(found) => Err(found.message(facts.urn, "properties")),
            None => Ok(()),
        }
    }

    /// Returns the plan of a resource that is registered or removed. `None` for a skipped one: without a record, its
    /// step is refused.
    fn planned(&self, urn: &Urn) -> Option<&ResourcePlan> {
        let planned = self.plan.resource(urn)?;
        (planned.goal.is_some() || planned.is_removal()).then_some(planned)
    }

    /// Removes the next expected step of a resource; refuses `op` when it does more than that step.
    pub(super) fn step(&self, urn: &Urn, op: StepOp) -> Result<(), Text> {
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
        Err(not_allowed(op, reason))
    }

    /// Checks that the copy of a managed resource may be deleted in favour of a plain read. As in the reference engine,
    /// plans contain no reads, but the deletion of the copy.
    pub(super) fn giving_up(&self, urn: &Urn) -> Result<(), Text> {
        let op = StepOp::ReadReplacement;
        let Some(planned) = self.plan.resource(urn) else {
            return Err(not_allowed(op, "no steps were expected for this resource"));
        };
        let expects = |op| planned.steps.contains(&op);
        match planned.steps.first() {
            Some(_)
                if planned.goal.is_none() && expects(StepOp::DeleteReplaced) && !expects(StepOp::Delete) =>
            {
                Ok(())
            }
            Some(first) => Err(not_allowed(
                op,
                format!("this resource is constrained to {first}"),
            )),
            None => Err(not_allowed(op, "no more steps were expected for this resource")),
        }
    }

    /// Compares published outputs with the plan.
    pub(super) fn outputs(&self, urn: &Urn, old: &PropertyMap, new: &PropertyMap) -> Result<(), Text> {
        let goal = self.plan.resource(urn).and_then(|planned| planned.goal.as_ref());
        let unchanged = PlanDiff::default();
        let planned = goal.map_or(&unchanged, |goal| &goal.output_diff);
        match violation::of_properties(planned, old, new) {
            Some(found) => Err(found.message(urn, "outputs")),
            None => Ok(()),
        }
    }

    /// Returns the resources with expected steps that did not occur, in the order of their URNs. A deletion without a
    /// record is not missing.
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

fn not_allowed(op: StepOp, reason: impl std::fmt::Display) -> Text {
    format!("{op} is not allowed by the plan: {reason}").into()
}

fn of_request(urn: &Urn, planned: &ResourcePlan, goal: &Goal) -> Option<String> {
    match &planned.goal {
        Some(planned) => violation::of_goal(urn, planned, goal),
        None => Some("resource unexpectedly not deleted".to_owned()),
    }
}

fn of_inputs(planned: &PlanDiff, facts: &GoalFacts<'_>) -> Option<Differences> {
    let none = PropertyMap::new();
    let old = facts.old.map_or(&none, |old| &old.inputs);
    // Computed inputs may keep their old values when the resource is not replaced after all. Plans of the reference
    // engine, made from the first Check, do not contain those of a replacement.
    let counts = |key: &Key| match facts.checked {
        Checked::Once | Checked::First => true,
        _ if facts.goal.inputs.contains_key(key) => true,
        Checked::Kept => old.get(key) != facts.inputs.get(key),
        Checked::Anew => planned.speaks_of(key),
    };
    violation::of_some_properties(planned, old, facts.inputs, counts)
}

/// Returns whether a step does no more than the planned one.
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
