//! Names of real things: what the provider is told about one, and what that means for a replacement.

use std::sync::Arc;

use crate::{
    autonaming::{Autonamer, NamingRequest},
    diagnostic::Diagnostic,
    generator::{Generator, Unanswered, register::Registering},
};

impl Generator {
    /// Has the names of real things proposed.
    #[must_use]
    pub(crate) fn with_autonamer(self, autonamer: Option<Arc<dyn Autonamer>>) -> Self {
        Self { autonamer, ..self }
    }

    /// Finds out, once for all of its checks, how the resource's real thing is to be named.
    pub(super) async fn name(
        &self,
        autonamer: &dyn Autonamer,
        registering: &mut Registering,
    ) -> Result<(), Unanswered> {
        let Some(provider) = &registering.provider else {
            return Ok(());
        };
        let goal = &registering.goal;
        // What configures a provider is no real thing with a name.
        if !goal.custom || goal.resource_type.is_provider() {
            return Ok(());
        }
        let request = NamingRequest {
            urn: registering.urn.clone(),
            resource_type: goal.resource_type.clone(),
            name: goal.name.to_string(),
            random_seed: registering.seed.clone(),
            preview: self.executor.is_preview(),
        };
        let urn = &registering.urn;
        let asked = async {
            let waits = provider.waits_for_registrations;
            let _slot = self.executor.question(urn, "autonaming", waits).await;
            let proposal = autonamer.propose(request).await?;
            let warns = proposal
                .as_ref()
                .is_some_and(|proposal| proposal.warn_if_unsupported);
            let unheeded = warns && !provider.provider.supports_autonaming().await;
            Ok((proposal, unheeded))
        };
        let answer = tokio::select! {
            biased;
            answer = asked => answer,
            () = self.executor.terminated() => return Err(Unanswered::Ending),
        };
        let (proposal, unheeded) = answer.map_err(|error: crate::Error| {
            if self.executor.control().is_cancelled() {
                return Unanswered::Ending;
            }
            let text = format!("the name of {urn} cannot be proposed: {}", error.message());
            self.bail_because(Some(urn), text, Some(error))
        })?;
        if unheeded {
            let text = format!(
                "the provider of {} does not support autonaming: what is configured for the name of this resource is \
                 ignored",
                goal.resource_type
            );
            self.executor
                .diagnose(Diagnostic::warning(text).about(urn.clone()));
        }
        if let Some(proposal) = proposal {
            if proposal.delete_before_replace {
                registering.goal.delete_before_replace = Some(true);
            }
            registering.autonaming = Some(proposal.autonaming);
        }
        Ok(())
    }
}
