//! Registrations that targets skip although they have a record: the record stays as it is.

use std::sync::Arc;

use crate::{
    generator::{
        Purpose, RegisterOutcome, RunEnded, WaitError,
        adopt::adopt_needs,
        build::new_state,
        context::Context,
        registration::{Next, StepChain},
        steps::{recreate, untargeted},
        targets::former_urns::refer_to_records,
    },
    message::Message,
    resource::{Goal, ProviderReference, ResourceState},
    state::StateRef,
    urn::Urn,
};

/// Keeps a record and everything that it depends on unchanged, regardless of the program's goal. A record with a former
/// URN keeps it, too.
pub(in crate::generator) async fn keep_record(
    context: &Context,
    urn: &Urn,
    old: &StateRef,
    goal: &Goal,
) -> Result<Next, RunEnded> {
    let (run, base, claims) = (&context.run, &context.base, &context.claims);
    let purpose = context.options.purpose;
    let has_provider = |reference: &ProviderReference| base.provider(reference).is_some();
    if let Some(text) = find_gap(urn, &old.state, has_provider, |other| base.live(other).is_some()) {
        return Err(run.bail(urn, text));
    }
    if purpose == Purpose::Update {
        refuse_changed_provider(context, urn, &old.state, goal).await?;
    }
    claims.keep_record(urn, old);
    if old.state.urn != *urn {
        claims.keep_former_urn(urn, &old.state.urn);
    }
    if purpose == Purpose::Refresh && old.state.custom {
        // A record that is not read needs no step; other resources can refer to it.
        claims.mark_unrecorded(urn);
        run.executor.publish(old);
        return Ok(Next::Answer(RegisterOutcome::done(Arc::clone(&old.state))));
    }
    if purpose == Purpose::Update {
        adopt_needs(context, old).await?;
    }
    let mut step = untargeted(old);
    if let Some(step) = step.as_mut().filter(|_| claims.is_adopted(old.id)) {
        // The step was shown when the record was adopted.
        step.detail.internal = true;
    }
    let chain = StepChain::new(urn, Some(old), Arc::clone(&old.state), vec![step]);
    Ok(Next::Run(chain))
}

/// Creates a resource again with its recorded inputs, after it was deleted for the replacement of another one.
pub(in crate::generator) async fn recreate_as_recorded(
    context: &Context,
    urn: &Urn,
    old: &StateRef,
    goal: &Goal,
    keys: Vec<String>,
) -> Result<Next, RunEnded> {
    let mut new = new_state(goal, urn.clone(), Some(&old.state));
    refer_to_records(context, &mut new);
    new.inputs = old.state.inputs.clone();
    let new = Arc::new(new);
    let provider = context.providers.of_goal(urn, goal).await?;
    let steps = recreate(old, &new, provider, keys);
    Ok(Next::Run(StepChain::new(urn, Some(old), new, steps)))
}

/// Refuses to skip a resource for which the program names another provider, unless the recorded one was registered
/// before.
async fn refuse_changed_provider(
    context: &Context,
    urn: &Urn,
    old: &ResourceState,
    goal: &Goal,
) -> Result<(), RunEnded> {
    let Context { run, claims, .. } = context;
    // The provider of a pending replacement may be gone.
    if old.provider.is_empty() || old.provider == goal.provider || old.pending_replacement {
        return Ok(());
    }
    let Ok(reference) = ProviderReference::parse(&old.provider) else {
        return Ok(());
    };
    let provider = claims.current_urn(&reference.urn);
    let is_named = ProviderReference::parse(&goal.provider).is_ok_and(|named| named.urn == provider);
    if !is_named && claims.is_expected(&provider, urn) {
        return Ok(());
    }
    // The progress of later registrations depends on timing, so that they do not count.
    if claims.arrived_before(&provider, urn) {
        match claims.wait_for(urn, vec![provider.clone()]).await {
            // The recorded one stays as it is.
            Err(WaitError::Failed(_)) => return Ok(()),
            Err(WaitError::RunEnded) => return Err(RunEnded),
            Ok(()) | Err(WaitError::Withdrawn(_) | WaitError::Cycle(_)) => {}
        }
        let registered = run.executor.published(&provider);
        if registered.is_some_and(|provider| provider.id == reference.id) {
            return Ok(());
        }
    }
    Err(lost_provider(context, urn, &reference))
}

/// Refuses to delete a provider before it is replaced, while it still manages a kept record.
pub(in crate::generator) fn refuse_lost_provider(context: &Context, old: &StateRef) -> Result<(), RunEnded> {
    if context.options.targeting.is_none() || !old.state.is_provider() {
        return Ok(());
    }
    match context.claims.kept_user_of(old) {
        None => Ok(()),
        Some(user) => {
            let reference = ProviderReference::new(old.state.urn.clone(), old.state.id.clone());
            Err(lost_provider(context, &user, &reference))
        }
    }
}

fn lost_provider(context: &Context, urn: &Urn, provider: &ProviderReference) -> RunEnded {
    let text = Message::ProviderChangedWithTargets {
        urn: urn.as_str(),
        provider: &provider.to_string(),
    };
    context.run.bail(urn, text)
}

/// Finds a reference of a kept record that is not recorded; returns the error message.
fn find_gap(
    urn: &Urn,
    state: &ResourceState,
    has_provider: impl Fn(&ProviderReference) -> bool,
    is_recorded: impl Fn(&Urn) -> bool,
) -> Option<String> {
    // The provider of a pending replacement may be gone.
    if !state.provider.is_empty()
        && !state.pending_replacement
        && !ProviderReference::parse(&state.provider).is_ok_and(|reference| has_provider(&reference))
    {
        let provider = &state.provider;
        return Some(format!(
            "could not find provider {provider} of untargeted resource {urn}"
        ));
    }
    let options = &state.options;
    let references = (state.parent.iter().map(|other| ("parent", other)))
        .chain(state.dependencies.iter().map(|other| ("dependency", other)))
        .chain((state.property_dependencies.lists().flatten()).map(|other| ("property dependency", other)))
        .chain((options.deleted_with.iter()).map(|other| ("deleted with dependency", other)))
        .chain((options.replace_with.iter()).map(|other| ("replace with dependency", other)));
    let mut gaps = references.filter(|(_, other)| !is_recorded(other));
    let (what, other) = gaps.next()?;
    Some(format!(
        "{what} {other} of untargeted resource {urn} has no old state"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::TypeToken;

    fn urn(name: &str) -> Urn {
        Urn::new("dev", "shop", "", "pkg:index:Type", name)
    }

    fn gap(edit: impl FnOnce(&mut ResourceState)) -> Option<String> {
        let mut state = ResourceState::new(urn("a"), TypeToken::from("pkg:index:Type"), true);
        edit(&mut state);
        find_gap(&urn("a"), &state, |_| false, |other| other.name() == "there")
    }

    #[test]
    fn a_kept_record_refers_only_to_what_is_recorded() {
        assert_eq!(gap(|_| {}), None);
        assert_eq!(gap(|state| state.parent = Some(urn("there"))), None);
        let provider = || "urn:pulumi:dev::shop::pulumi:providers:pkg::p::id".into();
        let pending = gap(|state| {
            state.provider = provider();
            state.pending_replacement = true;
        });
        assert_eq!(pending, None);
        let table = [
            (
                gap(|state| state.provider = provider()),
                "could not find provider",
            ),
            (gap(|state| state.parent = Some(urn("b"))), "parent urn:"),
            (
                gap(|state| state.dependencies = vec![urn("b")]),
                "dependency urn:",
            ),
            (
                gap(|state| state.options.deleted_with = Some(urn("b"))),
                "deleted with dependency urn:",
            ),
            (
                gap(|state| state.options.replace_with = vec![urn("there"), urn("b")]),
                "replace with dependency urn:",
            ),
        ];
        for (row, (found, expected)) in table.into_iter().enumerate() {
            let text = found.unwrap_or_default();
            assert!(text.starts_with(expected), "row {row}: {text}");
        }
        let text = gap(|state| state.dependencies = vec![urn("b")]).unwrap_or_default();
        let (missing, kept) = (urn("b"), urn("a"));
        assert_eq!(
            text,
            format!("dependency {missing} of untargeted resource {kept} has no old state")
        );
    }
}
