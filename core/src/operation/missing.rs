//! Missing plugins: those that an operation on the recorded state needs are listed before it changes anything.

use std::collections::BTreeSet;

use super::{OperationKind, OperationRun};
use crate::{
    diagnostic::Diagnostic,
    error::{Error, ErrorKind, Result},
    generator::Targeting,
    message::Text,
    provider::{ProviderRegistry, ProviderSpec, settings::ProviderSettings},
    resource::ResourceState,
    state::PriorState,
    urn::Urn,
};

/// Refuses a refresh or a destroy of a whole stack without its program where plugins of the state are missing, and reports each
/// at its provider. Other operations need only some of the recorded providers, and report a missing one when they need it.
pub(super) async fn refuse_missing(
    run: &OperationRun,
    registry: &ProviderRegistry,
    base: &PriorState,
    targeting: Option<&Targeting>,
) -> Result<()> {
    let is_of_state = matches!(run.kind, OperationKind::Refresh | OperationKind::Destroy)
        && run.options.program_purpose(run.kind).is_none();
    if !is_of_state || run.options.continue_on_error || targeting.is_some() {
        return Ok(());
    }
    let mut missing: Vec<(Urn, Error)> = Vec::new();
    for (urn, spec) in needed(run.kind, base) {
        let found = tokio::select! {
            biased;
            () = run.control.terminated() => return Ok(()),
            found = registry.source().missing(&spec) => found,
        };
        missing.extend(found.map(|error| (urn, error)));
    }
    if missing.is_empty() {
        return Ok(());
    }
    for (urn, error) in &missing {
        run.events
            .diagnostic(Diagnostic::error(error.text().clone()).about(urn.clone()));
    }
    Err(refusal(missing))
}

/// Returns the providers of the state that an operation uses, in their order.
fn needed(kind: OperationKind, base: &PriorState) -> Vec<(Urn, ProviderSpec)> {
    let is_used = |state: &ResourceState| {
        let stays = kind == OperationKind::Destroy
            && (state.retain_on_delete || state.external || state.options.deleted_with.is_some());
        state.custom && !state.is_provider() && state.view_of.is_none() && !stays
    };
    let records = base.records().iter().map(|record| &record.state);
    let used: BTreeSet<Urn> = records
        .clone()
        .filter(|state| is_used(state))
        .filter_map(|state| state.provider_urn())
        .collect();
    let providers = records.filter(|state| used.contains(&state.urn));
    providers
        .filter_map(|state| {
            let package = state.resource_type.provided_package()?;
            let settings = ProviderSettings::read(package, &state.inputs).ok()?;
            Some((state.urn.clone(), settings.into()))
        })
        .collect()
}

/// Returns the error of the operation: that of the only missing plugin, or one that lists all.
fn refusal(mut missing: Vec<(Urn, Error)>) -> Error {
    if missing.len() == 1
        && let Some((urn, error)) = missing.pop()
    {
        return error.with_urn(urn).already_reported();
    }
    let join = |text: fn(&Text) -> &str| {
        let texts: BTreeSet<&str> = missing.iter().map(|(_, error)| text(error.text())).collect();
        texts.into_iter().collect::<Vec<_>>().join("\n")
    };
    let text = Text::pair(
        join(Text::reference),
        format!(
            "plugins of {} providers in the state are missing; nothing was changed:\n{}",
            missing.len(),
            join(Text::library)
        ),
    );
    let error = Error::new(ErrorKind::Plugin, text).with_phase("load");
    let hints: BTreeSet<&String> = missing.iter().flat_map(|(_, error)| error.hints()).collect();
    let error = hints.into_iter().fold(error, |error, hint| error.with_hint(hint));
    error.already_reported()
}
