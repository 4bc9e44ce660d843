//! Looking at what is managed elsewhere.

use std::sync::Arc;

use super::{Result, take_init_failure};
use crate::{
    executor::{Executor, Step, StepFailure, outcome::Applied},
    property::PropertyMap,
    provider::ReadRequest,
    resource::{ResourceState, UNKNOWN_ID},
};

impl Executor {
    pub(super) async fn apply_read(&self, step: &Step) -> Result<Applied> {
        let goal = step
            .new
            .as_ref()
            .ok_or_else(|| StepFailure::new("a read step without a new state"))?;
        let mut new = Arc::clone(goal);
        let mut partial_failure = None;
        let known = goal.id.as_str() != UNKNOWN_ID;
        if let Some(provider) = step.provider.as_ref().filter(|_| known) {
            let request = self.read_request(step, goal, Some(goal.inputs.clone()), Some(goal.inputs.clone()));
            let state = Arc::make_mut(&mut new);
            let answer = self.call(step, "read", provider.provider.read(request)).await;
            match self.was_read(answer, [&goal.inputs]) {
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
                    Some(self.now())
                };
            }
        }
        Ok(Applied {
            new: Some(new),
            partial_failure,
            ..Applied::default()
        })
    }

    pub(crate) fn read_request(
        &self,
        step: &Step,
        state: &ResourceState,
        inputs: Option<PropertyMap>,
        properties: Option<PropertyMap>,
    ) -> ReadRequest {
        let urn = step.read_as.as_ref().unwrap_or(&state.urn);
        ReadRequest {
            urn: urn.clone(),
            resource_type: urn.resource_type().into(),
            name: urn.name().to_owned(),
            id: state.id.clone(),
            inputs,
            properties,
            timeout: state.options.custom_timeouts.read.unwrap_or_default(),
            preview: self.is_preview(),
            views: step.views.clone(),
        }
    }
}
