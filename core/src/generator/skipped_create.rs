//! Skipped creations: what the program registers, does not exist, and is not to be made in this run.

use std::sync::Arc;

use crate::{
    executor::{Step, StepDetail},
    generator::{Generator, RegisterOutcome, Unanswered, build::new_state, register::dependencies_of},
    resource::Goal,
    state::{StateId, StateRef},
    step::StepOp,
    urn::Urn,
};

impl Generator {
    /// Shows a resource as unchanged that is not made, and records nothing of it. Its outputs are those of `old`, and
    /// unknown without one.
    pub(super) async fn skip_create(
        &self,
        urn: &Urn,
        goal: &Goal,
        old: Option<&StateRef>,
    ) -> Result<RegisterOutcome, Unanswered> {
        let mut state = new_state(goal, urn.clone(), old.map(|old| &*old.state));
        if let Some(old) = old {
            state.id = old.state.id.clone();
            state.outputs = old.state.outputs.clone();
        }
        let state = Arc::new(state);
        let shown = StateRef {
            id: StateId(u64::MAX),
            state: Arc::clone(&state),
        };
        let detail = StepDetail {
            skipped_create: true,
            ..StepDetail::default()
        };
        if let Some(step) = Step::new(StepOp::Same, Some(shown), Some(Arc::clone(&state))) {
            let mut step = step.with_detail(detail);
            self.plan_steps(std::slice::from_ref(&step))?;
            if let Err(failure) = self.executor.run_step(&mut step).await {
                return self.after_failure(&failure, &state);
            }
        }
        self.claims.skip(urn);
        self.claims.leave_unrecorded(urn);
        Ok(RegisterOutcome {
            state,
            succeeded: true,
            unknown: old.is_none(),
            skipped: false,
        })
    }

    /// Tells whether the goal needs something that was not made: a dependency, its parent, or its provider.
    pub(super) fn needs_skipped(&self, goal: &Goal) -> bool {
        self.claims.has_skipped()
            && dependencies_of(goal)
                .iter()
                .any(|urn| self.claims.is_skipped(urn))
    }
}
