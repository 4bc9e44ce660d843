//! Skipped creations: resources that the program registers, that do not exist, and that this run does not create.

use std::sync::Arc;

use crate::{
    executor::{Step, StepDetail},
    generator::{
        RegisterOutcome, RunEnded,
        build::{dependencies_of, new_state},
        context::Context,
    },
    resource::Goal,
    state::{StateId, StateRef},
    step::StepOp,
    urn::Urn,
};

/// Shows a resource that is not created as unchanged, and records nothing. Its outputs are those of `old`, and unknown
/// without one.
pub(in crate::generator) async fn skip_create(
    context: &Context,
    urn: &Urn,
    goal: &Goal,
    old: Option<&StateRef>,
) -> Result<RegisterOutcome, RunEnded> {
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
        context.plans.check_steps(std::slice::from_ref(&step))?;
        if let Err(failure) = context.run.executor.run_step(&mut step).await {
            return context.run.after_failure(&failure, &state);
        }
    }
    context.claims.mark_skipped(&state);
    context.claims.mark_unrecorded(urn);
    Ok(RegisterOutcome {
        unknown: old.is_none(),
        ..RegisterOutcome::done(state)
    })
}

/// Returns whether the goal needs a resource that was not created: a dependency, its parent, or its provider.
pub(in crate::generator) fn needs_skipped(context: &Context, goal: &Goal) -> bool {
    let claims = &context.claims;
    claims.has_skipped() && dependencies_of(goal).iter().any(|urn| claims.is_skipped(urn))
}
