//! The effect of Import.

use std::sync::Arc;

use super::{Applier, Result, goal, read::read_request};
use crate::{
    executor::{Step, StepFailure, outcome::Applied},
    provider::ReadRequest,
    token::ResourceId,
};

/// Reads an existing resource, which becomes managed.
pub(super) async fn import(applier: &Applier, step: &Step) -> Result<Applied> {
    let goal = goal(step)?;
    let provider = step
        .provider
        .as_ref()
        .ok_or_else(|| StepFailure::new("an import step without a provider"))?;
    let adopts = step.detail.adopts;
    let recorded = adopts
        .then_some(&goal.outputs)
        .filter(|outputs| !outputs.is_empty());
    let request = ReadRequest {
        id: goal.options.import_id.clone(),
        ..read_request(applier, step, goal, adopts.then_some(&goal.inputs), recorded)
    };
    let mut new = Arc::clone(goal);
    let state = Arc::make_mut(&mut new);
    if adopts {
        state.options.import_id = ResourceId::default();
    }
    let read = applier.call(step, "read", provider.provider.read(request)).await;
    let (id, inputs, outputs) = match applier.sanitizer.sanitize_read(read, [&goal.inputs]) {
        Ok(response) => {
            state.refresh_before_update = response.refresh_before_update;
            (response.id, response.inputs, response.outputs)
        }
        Err(mut error) => {
            let Some(failure) = error.init_failure.take() else {
                return Err(StepFailure::provider(&error));
            };
            state.init_errors = failure.reasons;
            state.refresh_before_update = failure.refresh_before_update;
            (failure.id.into(), failure.inputs, Some(failure.outputs))
        }
    };
    let Some(outputs) = outputs else {
        return Err(StepFailure::new(format!(
            "resource '{}' does not exist",
            goal.options.import_id
        )));
    };
    let Some(inputs) = inputs.or_else(|| adopts.then(|| goal.inputs.clone())) else {
        let package = goal.resource_type.package();
        return Err(StepFailure::new(format!(
            "provider does not support importing resources; please try updating the '{package}' plugin"
        )));
    };
    state.id = if id.is_empty() {
        goal.options.import_id.clone()
    } else {
        id
    };
    state.inputs = applier.with_secrets_of(inputs, &goal.inputs);
    state.outputs = outputs;
    let now = applier.now();
    state.created = Some(now);
    state.modified = Some(now);
    Ok(Applied::of(new))
}
