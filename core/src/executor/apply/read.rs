//! The effect of Read.

use std::sync::Arc;

use super::{Applier, Result, goal, take_init_failure};
use crate::{
    executor::{Step, StepFailure, outcome::Applied},
    property::PropertyMap,
    provider::ReadRequest,
    resource::{ResourceState, UNKNOWN_ID},
};

/// Reads a resource that is managed elsewhere.
pub(super) async fn read(applier: &Applier, step: &Step) -> Result<Applied> {
    let goal = goal(step)?;
    let mut new = Arc::clone(goal);
    let mut partial_failure = None;
    let known = goal.id.as_str() != UNKNOWN_ID;
    if let Some(provider) = step.provider.as_ref().filter(|_| known) {
        let request = read_request(applier, step, goal, Some(&goal.inputs), Some(&goal.inputs));
        let state = Arc::make_mut(&mut new);
        let answer = applier.call(step, "read", provider.provider.read(request)).await;
        match applier.sanitizer.sanitize_read(answer, [&goal.inputs]) {
            Ok(response) => {
                let Some(outputs) = response.outputs else {
                    return Err(StepFailure::new(format!("resource '{}' does not exist", goal.id)));
                };
                state.outputs = outputs;
                if !response.id.is_empty() {
                    state.id = response.id;
                }
                state.refresh_before_update = response.refresh_before_update;
            }
            Err(mut error) => {
                let Some(failure) = error.init_failure.take() else {
                    return Err(StepFailure::provider(&error));
                };
                partial_failure = Some(take_init_failure(state, *failure));
            }
        }
        if let Some(old) = &step.old {
            let unchanged = old.state.inputs == state.inputs && old.state.outputs == state.outputs;
            state.created = old.state.created;
            state.modified = if unchanged {
                old.state.modified
            } else {
                Some(applier.now())
            };
        }
    }
    Ok(Applied {
        partial_failure,
        ..Applied::of(new)
    })
}

/// Builds the request that reads a resource.
pub(super) fn read_request(
    applier: &Applier,
    step: &Step,
    state: &ResourceState,
    inputs: Option<&PropertyMap>,
    properties: Option<&PropertyMap>,
) -> ReadRequest {
    let urn = step.read_as.as_ref().unwrap_or(&state.urn);
    ReadRequest {
        urn: urn.clone(),
        resource_type: urn.resource_type().into(),
        name: urn.name().to_owned(),
        id: state.id.clone(),
        inputs: inputs.cloned(),
        properties: properties.cloned(),
        timeout: state.options.custom_timeouts.read.unwrap_or_default(),
        preview: applier.options.preview,
        views: step.views.clone(),
    }
}
