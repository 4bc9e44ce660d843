//! The effect of Delete.

use super::{Applier, Result, record};
use crate::{
    executor::{Step, StepFailure, outcome::Applied},
    message::Message,
    provider::DeleteRequest,
    step::StepOp,
};

/// Deletes the resource of a step, unless its record refuses that.
pub(super) async fn delete(applier: &Applier, step: &Step) -> Result<Applied> {
    let state = record(step)?;
    if step.op == StepOp::Delete && state.protect && !applier.options.ignore_protect {
        return Err(StepFailure {
            continues: true,
            ..StepFailure::new(Message::ProtectedFromDeletion {
                urn: state.urn.as_str(),
            })
        });
    }
    let is_kept = state.external || state.retain_on_delete || step.detail.deleted_with_gone;
    let Some(provider) = step
        .provider
        .as_ref()
        .filter(|_| state.custom && !is_kept && !applier.options.preview)
    else {
        return Ok(Applied::default());
    };
    let request = DeleteRequest {
        urn: state.urn.clone(),
        resource_type: state.urn.resource_type().into(),
        name: state.urn.name().to_owned(),
        id: state.id.clone(),
        inputs: state.inputs.clone(),
        outputs: state.outputs.clone(),
        timeout: state.options.custom_timeouts.delete.unwrap_or_default(),
        views: step.views.clone(),
    };
    match applier
        .call(step, "delete", provider.provider.delete(request))
        .await
    {
        Ok(()) => Ok(Applied::default()),
        Err(error) => Err(StepFailure::provider(&error)),
    }
}
