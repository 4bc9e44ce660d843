//! What was refused before it became a step: results show it beside the steps.

use crate::{
    executor::Failure, generator::Generator, resource::ResourceState, step::StepOp, token::TypeToken,
    urn::Urn,
};

impl Generator {
    /// Keeps for the result each registration and each deletion that this run refused.
    pub(crate) fn keep_refusals(&self) {
        for failure in self.executor.control().failures() {
            let is_of_a_resource = !matches!(failure, Failure::Program(_));
            if let Some(urn) = failure.error().urn().filter(|_| is_of_a_resource) {
                self.keep_refusal(urn, &failure);
            }
        }
    }

    fn keep_refusal(&self, urn: &Urn, failure: &Failure) {
        let registration = self.claims.registration(urn);
        let before = registration.as_ref().and_then(|known| known.alias.as_ref());
        let old = self.base.live(before.unwrap_or(urn)).map(|old| &old.state);
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
        self.executor.reporter().keep_refusal(op, old, new, failure);
    }
}
