//! Registrations and deletions refused before they became steps; results list them with the steps.

use crate::{
    executor::Failure, generator::context::Context, resource::ResourceState, step::StepOp, token::TypeToken,
    urn::Urn,
};

/// Adds each refused registration and deletion of this run to the result.
pub(super) fn keep_refusals(context: &Context) {
    for failure in context.run.executor.control().failures() {
        let is_of_a_resource = !matches!(failure, Failure::Program(_));
        if let Some(urn) = failure.error().urn().filter(|_| is_of_a_resource) {
            keep_refusal(context, urn, &failure);
        }
    }
}

fn keep_refusal(context: &Context, urn: &Urn, failure: &Failure) {
    let registration = context.claims.registration(urn);
    if matches!(failure, Failure::Callback(_)) && registration.is_some() {
        // The component is registered, or the resource of the method: it has steps of its own, where it changes.
        return;
    }
    let before = registration.as_ref().and_then(|known| known.alias.as_ref());
    let old = context.base.live(before.unwrap_or(urn)).map(|old| &old.state);
    let op = match (&registration, old) {
        (None, Some(_)) => StepOp::Delete,
        (Some(_), Some(_)) => StepOp::Update,
        (_, None) => StepOp::Create,
    };
    let new = (op != StepOp::Delete).then(|| {
        let custom = registration.as_ref().is_none_or(|known| known.custom);
        ResourceState {
            parent: registration.and_then(|known| known.parent),
            ..ResourceState::new(urn.clone(), TypeToken::from(urn.resource_type()), custom)
        }
    });
    context
        .run
        .executor
        .reporter()
        .keep_refusal(op, old, new, failure);
}
