//! Autonaming of a resource: the proposal for its provider, and the effect on replacements.

use crate::{
    autonaming::{Autonamer, NamingRequest},
    generator::{RunEnded, registration::Registering, run::Run},
};

/// Requests the proposal for a resource, once for all Checks of a registration.
pub(super) async fn propose_name(
    run: &Run,
    autonamer: &dyn Autonamer,
    registering: &mut Registering,
) -> Result<(), RunEnded> {
    let Some(provider) = &registering.provider else {
        return Ok(());
    };
    let (urn, goal) = (&registering.urn, &registering.goal);
    // A provider resource has no physical name.
    if !goal.custom || goal.resource_type.is_provider() {
        return Ok(());
    }
    let request = NamingRequest {
        urn: urn.clone(),
        resource_type: goal.resource_type.clone(),
        name: goal.name.to_string(),
        random_seed: registering.seed.clone(),
        preview: run.executor.is_preview(),
    };
    let proposing = async {
        let waits = provider.waits_for_registrations;
        let _slot = run.executor.question(urn, "autonaming", waits).await;
        let proposal = autonamer.propose(request).await?;
        let warns = proposal
            .as_ref()
            .is_some_and(|proposal| proposal.warn_if_unsupported);
        let is_ignored = warns && !provider.provider.supports_autonaming().await;
        Ok::<_, crate::Error>((proposal, is_ignored))
    };
    let (proposal, is_ignored) = run.unless_terminated(proposing).await?.map_err(|error| {
        let text = format!("the name of {urn} cannot be proposed: {}", error.message());
        run.bail_unless_cancelled(urn, text, Some(&error))
    })?;
    if is_ignored {
        let text = format!(
            "the provider of {} does not support autonaming: what is configured for the name of this resource is ignored",
            goal.resource_type
        );
        run.warn(urn, text);
    }
    if let Some(proposal) = proposal {
        if proposal.delete_before_replace {
            registering.goal.delete_before_replace = Some(true);
        }
        registering.autonaming = Some(proposal.autonaming);
    }
    Ok(())
}
