//! The effect of Update.

use std::sync::Arc;

use super::{Applier, Result, take_init_failure};
use crate::{
    executor::{Step, StepFailure, outcome::Applied},
    provider::UpdateRequest,
};

/// Updates the resource of a step in place.
pub(super) async fn update(applier: &Applier, step: &Step) -> Result<Applied> {
    let (Some(old), Some(goal)) = (&step.old, &step.new) else {
        return Err(StepFailure::new("an update step without an old and a new state"));
    };
    let mut new = Arc::clone(goal);
    let state = Arc::make_mut(&mut new);
    state.id = old.state.id.clone();
    state.created = old.state.created;
    state.modified = old.state.modified;
    let mut partial_failure = None;
    if let Some(provider) = step.provider.as_ref().filter(|_| goal.custom) {
        let request = UpdateRequest {
            // A former URN, by alias, concerns the record only.
            urn: goal.urn.clone(),
            resource_type: goal.urn.resource_type().into(),
            name: goal.urn.name().to_owned(),
            id: old.state.id.clone(),
            old_inputs: old.state.inputs.clone(),
            old_outputs: old.state.outputs.clone(),
            news: goal.inputs.clone(),
            ignore_changes: step.ignore_changes.clone(),
            timeout: goal.options.custom_timeouts.update.unwrap_or_default(),
            preview: applier.options.preview,
            views: step.views.clone(),
        };
        let answer = applier
            .call(step, "update", provider.provider.update(request))
            .await;
        match applier.sanitizer.sanitize_update(answer, &old.state.outputs) {
            Ok(response) => {
                state.outputs = response.outputs;
                state.refresh_before_update = response.refresh_before_update;
            }
            Err(mut error) => {
                let Some(failure) = error.init_failure.take() else {
                    return Err(StepFailure::provider(&error));
                };
                // The old inputs stay, so that the next update finds the difference again.
                state.inputs = old.state.inputs.clone();
                partial_failure = Some(take_init_failure(state, *failure));
            }
        }
        state.modified = Some(applier.now());
    } else {
        state.outputs = old.state.outputs.clone();
    }
    Ok(Applied {
        partial_failure,
        ..Applied::of(new)
    })
}
