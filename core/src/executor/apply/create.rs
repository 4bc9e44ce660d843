//! Making a resource.

use std::sync::Arc;

use super::{Result, take_init_failure};
use crate::{
    event::OperationStatus,
    executor::{Executor, Step, StepFailure, outcome::Applied},
    provider::CreateRequest,
};

impl Executor {
    pub(super) async fn apply_create(&self, step: &Step) -> Result<Applied> {
        let goal = step
            .new
            .as_ref()
            .ok_or_else(|| StepFailure::new("a create step without a new state"))?;
        let mut new = Arc::clone(goal);
        let mut partial_failure = None;
        if let Some(provider) = step.provider.as_ref().filter(|_| goal.custom) {
            let request = CreateRequest {
                urn: goal.urn.clone(),
                resource_type: goal.urn.resource_type().into(),
                name: goal.urn.name().to_owned(),
                inputs: goal.inputs.clone(),
                timeout: goal.options.custom_timeouts.create.unwrap_or_default(),
                preview: self.is_preview(),
                views: step.views.clone(),
            };
            let state = Arc::make_mut(&mut new);
            let answer = self.call(step, "create", provider.provider.create(request)).await;
            match self.created(answer) {
                Ok(response) => {
                    self.require_id(step, response.id.as_str())?;
                    state.id = response.id;
                    state.outputs = response.outputs;
                    state.refresh_before_update = response.refresh_before_update;
                }
                Err(mut error) => {
                    let Some(failure) = error.init_failure.take() else {
                        // The reference engine never calls the state unknown after a failed Create.
                        return Err(StepFailure {
                            status: OperationStatus::Ok,
                            ..StepFailure::provider(&error)
                        });
                    };
                    self.require_id(step, &failure.id)?;
                    partial_failure = Some(take_init_failure(state, *failure));
                }
            }
        }
        let now = self.now();
        let state = Arc::make_mut(&mut new);
        state.created = Some(now);
        state.modified = Some(now);
        Ok(Applied {
            new: Some(new),
            partial_failure,
            ..Applied::default()
        })
    }

    /// Refuses what was made without an id: nobody could ever change or delete it.
    fn require_id(&self, step: &Step, id: &str) -> Result<()> {
        if !id.is_empty() || self.is_preview() {
            return Ok(());
        }
        Err(StepFailure {
            status: OperationStatus::Unknown,
            ..StepFailure::new(format!(
                "plugin returned empty resource.ID from create '{}'",
                step.urn
            ))
        })
    }
}
