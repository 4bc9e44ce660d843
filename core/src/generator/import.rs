//! Imports: adoption of an existing resource by its id.

use std::{ops::ControlFlow, sync::Arc};

use crate::{
    executor::Step,
    generator::{
        RegisterOutcome, RunEnded, build::new_state, context::Context, registration::Registering, steps::step,
    },
    resource::{Goal, ResourceState},
    state::StateRef,
    step::StepOp,
};

/// Returns whether the goal names an existing resource that is not the recorded one.
pub(super) fn is_import(goal: &Goal, old: Option<&ResourceState>) -> bool {
    let id = &goal.options.import_id;
    if !goal.custom || id.is_empty() || goal.resource_type.is_provider() {
        return false;
    }
    old.is_none_or(|old| {
        let imported = &old.options.import_id;
        let recorded = if imported.is_empty() { &old.id } else { imported };
        old.external || recorded != id
    })
}

/// Reads the resource and records it; the registration continues as if it had been recorded so. A failure is the
/// response of the registration when the run continues.
///
/// `is_deleted` is true when a delete-before-replace of another resource has deleted the recorded one.
pub(super) async fn import(
    context: &Context,
    registering: &Registering,
    is_deleted: bool,
) -> Result<ControlFlow<RegisterOutcome, StateRef>, RunEnded> {
    let (run, plans, replacements) = (&context.run, &context.plans, &context.replacements);
    let Registering { urn, old, goal, .. } = registering;
    let new = Arc::new(new_state(goal, urn.clone(), None));
    let replaced = old.as_ref().filter(|_| !is_deleted);
    let op = if replaced.is_some() {
        StepOp::ImportReplacement
    } else {
        StepOp::Import
    };
    let import = step(op, old.as_ref(), &new, registering.provider.clone());
    let chain: Vec<Step> = import.into_iter().collect();
    let marker = replaced.and_then(|old| step(StepOp::Replace, Some(old), &new, None));
    plans.check_steps(chain.iter().chain(&marker))?;
    match run.executor.run_chain(chain).await {
        Ok(outcome) => {
            if let Some(old) = replaced {
                if let Some(mut step) = marker {
                    drop(run.executor.run_step(&mut step).await);
                }
                replacements.note(old.clone());
            }
            let record = outcome.new.ok_or(RunEnded)?;
            plans.note_outputs(&record.state);
            Ok(ControlFlow::Continue(record))
        }
        Err(failure) => run.after_failure(&failure, &new).map(ControlFlow::Break),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{token::TypeToken, urn::Urn};

    fn goal(import_id: &str) -> Goal {
        let mut goal = Goal {
            custom: true,
            resource_type: TypeToken::from("pkg:index:Type"),
            ..Goal::default()
        };
        goal.options.import_id = import_id.into();
        goal
    }

    fn recorded(id: &str, import_id: &str, external: bool) -> ResourceState {
        let urn = Urn::new("dev", "shop", "", "pkg:index:Type", "a");
        let mut state = ResourceState::new(urn, TypeToken::from("pkg:index:Type"), true);
        state.id = id.into();
        state.options.import_id = import_id.into();
        state.external = external;
        state
    }

    #[test]
    fn only_a_thing_that_is_not_the_recorded_one_is_imported() {
        let table = [
            ("", None, false),
            ("i", None, true),
            ("i", Some(recorded("i", "", false)), false),
            ("i", Some(recorded("i", "", true)), true),
            ("i", Some(recorded("other", "", false)), true),
            ("i", Some(recorded("other", "i", false)), false),
            ("i", Some(recorded("i", "other", false)), true),
        ];
        for (row, (id, old, expected)) in table.into_iter().enumerate() {
            assert_eq!(is_import(&goal(id), old.as_ref()), expected, "row {row}");
        }
        let component = Goal {
            custom: false,
            ..goal("i")
        };
        assert!(!is_import(&component, None));
    }
}
