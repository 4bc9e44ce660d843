//! The effect of Create.

use std::sync::Arc;

use super::{Applier, Result, goal, take_init_failure};
use crate::{
    event::OperationStatus,
    executor::{Step, StepFailure, outcome::Applied},
    provider::CreateRequest,
};

/// Creates the resource of a step.
pub(super) async fn create(applier: &Applier, step: &Step) -> Result<Applied> {
    let goal = goal(step)?;
    let mut new = Arc::clone(goal);
    let mut partial_failure = None;
    if let Some(provider) = step.provider.as_ref().filter(|_| goal.custom) {
        let request = CreateRequest {
            urn: goal.urn.clone(),
            resource_type: goal.urn.resource_type().into(),
            name: goal.urn.name().to_owned(),
            inputs: goal.inputs.clone(),
            timeout: goal.options.custom_timeouts.create.unwrap_or_default(),
            preview: applier.options.preview,
            views: step.views.clone(),
        };
        let state = Arc::make_mut(&mut new);
        let answer = applier
            .call(step, "create", provider.provider.create(request))
            .await;
        match applier.sanitizer.sanitize_create(answer) {
            Ok(response) => {
                require_id(applier, step, response.id.as_str())?;
                state.id = response.id;
                state.outputs = response.outputs;
                state.refresh_before_update = response.refresh_before_update;
            }
            Err(mut error) => {
                let Some(failure) = error.init_failure.take() else {
                    let failure = StepFailure::provider(&error);
                    // The reference engine never calls the state unknown after a failed Create.
                    let status = match failure.timed_out {
                        true => failure.status,
                        false => OperationStatus::Ok,
                    };
                    return Err(StepFailure { status, ..failure });
                };
                require_id(applier, step, &failure.id)?;
                partial_failure = Some(take_init_failure(state, *failure));
            }
        }
    }
    let now = applier.now();
    let state = Arc::make_mut(&mut new);
    state.created = Some(now);
    state.modified = Some(now);
    Ok(Applied {
        partial_failure,
        ..Applied::of(new)
    })
}

/// Refuses a resource without an id: it could never be updated or deleted. The provider may have created it, so the
/// beginning stays on record.
fn require_id(applier: &Applier, step: &Step, id: &str) -> Result<()> {
    if !id.is_empty() || applier.options.preview {
        return Ok(());
    }
    Err(StepFailure {
        status: OperationStatus::Unknown,
        outcome_unknown: true,
        ..StepFailure::new(format!(
            "plugin returned empty resource.ID from create '{}'",
            step.urn
        ))
    })
}
