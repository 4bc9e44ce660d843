//! The plan that a run is held to: which steps it still expects, and what speaks against a goal.

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

    /// Says what of a goal is not as planned, before anything is asked about it; its inputs are looked at when they have
    /// been checked.
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

    /// Says what of a goal's checked inputs is not as planned.
    pub(super) fn inputs(&self, facts: &GoalFacts<'_>) -> Result<(), Text> {
        let planned = self.planned(facts.urn);
        let is_replacement = planned.is_some_and(ResourcePlan::is_replacement);
        let is_judged = match facts.checked {
            Checked::Once => true,
            // What is planned for a replacement is what its second Check left.
            Checked::First => !is_replacement,
            // Judged at the first one, or refused for its steps.
            Checked::Kept | Checked::Anew => is_replacement,
        };
        if !is_judged {
            return Ok(());
        }
        let found = match planned.and_then(|planned| planned.goal.as_ref()) {
            // Plans say nothing of how the inputs of an imported thing will differ from what was found.
            Some(goal) if facts.imported && goal.input_diff.is_empty() => None,
            Some(goal) => of_inputs(&goal.input_diff, facts),
            None => facts.old.and_then(|_| of_inputs(&PlanDiff::default(), facts)),
        };
        match found {
            Some(found) => Err(found.message(facts.urn, "properties")),
            None => Ok(()),
        }
    }

    /// Returns what is planned for a resource that was registered, or that is to go. Another one was left out; when it
    /// has no record, it is its step that is not allowed.
    fn planned(&self, urn: &Urn) -> Option<&ResourcePlan> {
        let planned = self.plan.resource(urn)?;
        (planned.goal.is_some() || planned.is_removal()).then_some(planned)
    }

    /// Takes the next expected step of a resource, and says so when `op` does more than that.
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

    /// Says what speaks against giving up a managed resource for what the program reads in its place. Plans hold no reads,
    /// as those of the reference engine do not: they foresee the deletion of the copy that is given up.
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

    /// Says which published outputs are not as planned.
    pub(super) fn outputs(&self, urn: &Urn, old: &PropertyMap, new: &PropertyMap) -> Result<(), Text> {
        let goal = self.plan.resource(urn).and_then(|planned| planned.goal.as_ref());
        let unchanged = PlanDiff::default();
        let planned = goal.map_or(&unchanged, |goal| &goal.output_diff);
        match violation::of_properties(planned, old, new) {
            Some(found) => Err(found.message(urn, "outputs")),
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
    // What the provider makes up may be as it was where the resource is not replaced after all. Plans of the reference
    // engine, which are made of the first Check, do not say what a replacement will have of it.
    let counts = |key: &Key| match facts.checked {
        Checked::Once | Checked::First => true,
        _ if facts.goal.inputs.contains_key(key) => true,
        Checked::Kept => old.get(key) != facts.inputs.get(key),
        Checked::Anew => planned.speaks_of(key),
    };
    violation::of_some_properties(planned, old, facts.inputs, counts)
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
