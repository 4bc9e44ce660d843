//! The effect of Same: the record stays, and an unchanged provider is configured again.

use std::sync::Arc;

use super::{Applier, Result};
use crate::{
    executor::{Step, StepFailure, outcome::Applied},
    provider::ConfigureRequest,
    resource::ResourceState,
    state::keep_order,
};

/// Keeps the record of a step, with the new options of its goal.
pub(super) async fn same(applier: &Applier, step: &Step) -> Result<Applied> {
    let (Some(old), Some(new)) = (&step.old, &step.new) else {
        return Ok(Applied::of(step.new.clone()));
    };
    if new.is_provider() && !step.detail.untargeted && !step.detail.skipped_create {
        configure_recorded(applier, step, &old.state).await?;
    }
    if step.detail.untargeted || Arc::ptr_eq(&old.state, new) {
        return Ok(Applied::of(Arc::clone(new)));
    }
    let mut new = new.clone();
    let state = Arc::make_mut(&mut new);
    state.id = old.state.id.clone();
    state.outputs = old.state.outputs.clone();
    state.created = old.state.created;
    state.modified = old.state.modified;
    state.init_errors = old.state.init_errors.clone();
    state.refresh_before_update = old.state.refresh_before_update;
    keep_order(&old.state, state);
    if *new == *old.state {
        // The shared record stays shared: nothing is written or copied.
        new = Arc::clone(&old.state);
    }
    Ok(Applied::of(new))
}

/// Configures an unchanged provider with its recorded inputs.
async fn configure_recorded(applier: &Applier, step: &Step, old: &ResourceState) -> Result<()> {
    let Some(manager) = &step.provider else {
        return Ok(());
    };
    let request = ConfigureRequest {
        urn: step.urn.clone(),
        name: step.urn.name().to_owned(),
        id: old.id.clone(),
        inputs: old.inputs.clone(),
    };
    match applier
        .call(step, "configure", manager.provider.configure(request))
        .await
    {
        Ok(_) => Ok(()),
        Err(error) => Err(StepFailure::provider(&error)),
    }
}
