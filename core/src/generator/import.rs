//! Imports: adopting an existing thing that the program names by its id.

use std::{ops::ControlFlow, sync::Arc};

use crate::{
    executor::Step,
    generator::{Generator, RegisterOutcome, Unanswered, build::new_state, register::Registering},
    state::StateRef,
    step::StepOp,
};

impl Generator {
    /// Tells whether the goal names an existing thing that is not the recorded one.
    pub(super) fn must_import(&self, registering: &Registering) -> bool {
        let goal = &registering.goal;
        if !goal.custom || goal.options.import_id.is_empty() || goal.resource_type.is_provider() {
            return false;
        }
        registering.old.as_ref().is_none_or(|old| {
            let state = &old.state;
            let recorded = if state.options.import_id.is_empty() {
                &state.id
            } else {
                &state.options.import_id
            };
            state.external || *recorded != goal.options.import_id
        })
    }

    /// Reads the thing and records it; the registration goes on as if it had always been recorded so. When that fails
    /// and the run goes on, the failure is the registration's answer.
    ///
    /// `is_reminder` says that the thing of the old record was deleted in this run for another's replacement.
    pub(super) async fn import(
        &self,
        registering: &Registering,
        is_reminder: bool,
    ) -> Result<ControlFlow<RegisterOutcome, StateRef>, Unanswered> {
        let Registering {
            urn,
            old,
            goal,
            provider,
            ..
        } = registering;
        let new = Arc::new(new_state(goal, urn.clone(), None));
        let replaced = old.as_ref().filter(|_| !is_reminder);
        let op = if replaced.is_some() {
            StepOp::ImportReplacement
        } else {
            StepOp::Import
        };
        let import = Step::new(op, old.clone(), Some(Arc::clone(&new)))
            .map(|step| step.with_provider(provider.clone()));
        let chain: Vec<Step> = import.into_iter().collect();
        let marker =
            replaced.and_then(|old| Step::new(StepOp::Replace, Some(old.clone()), Some(Arc::clone(&new))));
        self.plan_steps(chain.iter().chain(&marker))?;
        match self.executor.run_chain(chain).await {
            Ok(outcome) => {
                if let Some(old) = replaced {
                    if let Some(mut step) = marker {
                        drop(self.executor.run_step(&mut step).await);
                    }
                    self.note_replaced(old.clone());
                }
                let record = outcome.new.ok_or(Unanswered::Ending)?;
                self.plan_outputs(&record.state);
                Ok(ControlFlow::Continue(record))
            }
            Err(failure) => self.after_failure(&failure, &new).map(ControlFlow::Break),
        }
    }
}
