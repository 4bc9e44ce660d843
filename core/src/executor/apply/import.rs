//! The effect of Import.

use std::sync::Arc;

use super::{Applier, Result, goal, read::read_request};
use crate::{
    executor::{Step, StepFailure, outcome::Applied},
    property::PropertyMap,
    provider::ReadRequest,
    resource::ResourceState,
    token::ResourceId,
};

/// An existing resource, as its provider has it.
pub(super) struct Found {
    id: ResourceId,
    pub(super) inputs: PropertyMap,
    outputs: PropertyMap,
    init_errors: Vec<String>,
    refresh_before_update: bool,
}

impl Found {
    /// Records the resource with `inputs`; it begins to be managed now.
    pub(super) fn record(self, applier: &Applier, state: &mut ResourceState, inputs: PropertyMap) {
        state.id = self.id;
        state.inputs = inputs;
        state.outputs = self.outputs;
        state.init_errors = self.init_errors;
        state.refresh_before_update = self.refresh_before_update;
        let now = applier.now();
        state.created = Some(now);
        state.modified = Some(now);
    }

    /// Creates a resource of which all is known.
    pub(super) fn supplied(id: ResourceId, inputs: PropertyMap, outputs: PropertyMap) -> Self {
        Self {
            id,
            inputs,
            outputs,
            init_errors: Vec::new(),
            refresh_before_update: false,
        }
    }
}

/// Reads an existing resource, which becomes managed.
pub(super) async fn import(applier: &Applier, step: &Step) -> Result<Applied> {
    let goal = goal(step)?;
    let found = find(applier, step, goal, &goal.inputs).await?;
    let inputs = applier.with_secrets_of(found.inputs.clone(), &goal.inputs);
    let mut new = Arc::clone(goal);
    found.record(applier, Arc::make_mut(&mut new), inputs);
    if step.detail.adopts {
        Arc::make_mut(&mut new).options.import_id = ResourceId::default();
    }
    Ok(Applied::of(new))
}

/// Reads the resource that the goal imports. Assets that the provider returns by their hash alone get their contents from
/// `known`.
pub(super) async fn find(
    applier: &Applier,
    step: &Step,
    goal: &ResourceState,
    known: &PropertyMap,
) -> Result<Found> {
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
    let read = applier.call(step, "read", provider.provider.read(request)).await;
    let (id, inputs, outputs, init_errors, refresh_before_update) =
        match applier.sanitizer.sanitize_read(read, [known]) {
            Ok(response) if response.is_recorded && !adopts => return Err(unread(goal)),
            Ok(response) => (
                response.id,
                response.inputs,
                response.outputs,
                Vec::new(),
                response.refresh_before_update,
            ),
            Err(mut error) => {
                let Some(failure) = error.init_failure.take() else {
                    return Err(StepFailure::provider(&error));
                };
                (
                    failure.id.into(),
                    failure.inputs,
                    Some(failure.outputs),
                    failure.reasons,
                    failure.refresh_before_update,
                )
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
    Ok(Found {
        id: if id.is_empty() {
            goal.options.import_id.clone()
        } else {
            id
        },
        inputs,
        outputs,
        init_errors,
        refresh_before_update,
    })
}

/// Returns the refusal of an import by a provider that has no method which reads.
fn unread(goal: &ResourceState) -> StepFailure {
    let (package, id) = (goal.resource_type.package(), &goal.options.import_id);
    StepFailure::new(format!(
        "resource '{id}' cannot be imported: the provider of the package '{package}' has no method that reads; give the resource \
         its inputs and outputs in the list of an import, which records it without a call"
    ))
}
