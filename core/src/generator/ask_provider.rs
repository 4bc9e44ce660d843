//! Check and Diff: the calls that a provider gets about a goal before any step.

use crate::{
    diagnostic::{Diagnostic, Severity},
    error::Error,
    generator::{
        RunEnded,
        check::ignore_changes,
        context::Context,
        diff::{Difference, Forced, forced, interpret},
        registration::Registering,
        run::CountedCall,
    },
    message::Text,
    property::{
        PropertyMap,
        path::{PropertyPath, reset_all},
    },
    provider::{CheckRequest, DiffChanges, DiffRequest, DiffResponse, ProviderHandle},
    resource::{ProviderReference, ResourceState},
    state::StateRef,
    urn::Urn,
};

/// Has the provider check inputs; failures end the run. `old` is the record that the resource continues.
pub(super) async fn check(
    context: &Context,
    registering: &Registering,
    provider: &ProviderHandle,
    old: Option<&ResourceState>,
    news: PropertyMap,
) -> Result<PropertyMap, RunEnded> {
    let Context { run, providers, .. } = context;
    let urn = &registering.urn;
    let manager;
    let provider = if registering.goal.resource_type.is_provider() {
        // Boxed: rare, and would otherwise enlarge every registration's future.
        manager = Box::pin(providers.manager_for(urn, &news)).await?;
        &manager
    } else {
        provider
    };
    let request = CheckRequest {
        urn: urn.clone(),
        resource_type: urn.resource_type().into(),
        name: urn.name().to_owned(),
        olds: old.map(|old| old.inputs.clone()),
        old_outputs: old.map(|old| old.outputs.clone()),
        news,
        random_seed: registering.seed.clone(),
        preview: run.executor.is_preview(),
        autonaming: registering.autonaming.clone(),
    };
    let news = request.news.clone();
    let question = provider.provider.check(request);
    let checked = async { run.executor.sanitizer().sanitize_check(&news, question.await?) };
    let response = run.ask(urn, CountedCall::new("check", provider), checked).await?;
    let mut first = None;
    for failure in &response.failures {
        let text = run.report(urn, failure.text(urn, &news));
        first.get_or_insert(text);
    }
    let Some(first) = first else {
        // A secret input stays one, also where the provider has dropped the mark.
        return Ok(match run.executor.options().nested_secrets {
            true => response.inputs.with_secrets_of(&news),
            false => response.inputs,
        });
    };
    let text = Text::pair(format!("resource {urn} is invalid"), first.library());
    let package = registering.goal.resource_type.asked_package();
    Err(run.end(Error::of_provider(package, "check", text).with_urn(urn.clone())))
}

/// Applies `ignoreChanges` to the goal's inputs; reports what could not be ignored.
pub(super) fn inputs_with_ignored_changes(
    context: &Context,
    registering: &Registering,
    old: Option<&PropertyMap>,
) -> PropertyMap {
    let (inputs, failed) = ignore_changes(&registering.goal, old);
    if let Some(text) = failed {
        let diagnostic = Diagnostic::new(Severity::Info, text).about(registering.urn.clone());
        context.run.executor.diagnose(diagnostic);
    }
    inputs
}

/// Compares the record with the goal. `is_targeted`: the user demands a replacement, or the record is tainted.
pub(super) async fn diff(
    context: &Context,
    registering: &Registering,
    old: &StateRef,
    new: &ResourceState,
    is_targeted: bool,
) -> Result<Difference, RunEnded> {
    let (run, claims, options) = (&context.run, &context.claims, &context.options);
    let (urn, old) = (&registering.urn, &*old.state);
    let is_replaced = |other: &Urn| claims.is_replaced(other);
    match forced(old, new, is_targeted, run.executor.is_preview(), is_replaced) {
        Forced::UnknownTrigger => {
            return Err(run.bail(urn, format!("replacement trigger contains unknowns for {urn}")));
        }
        Forced::ByTrigger => return Ok(Difference::replacement(None)),
        Forced::By(key) => return Ok(Difference::replacement(Some(key))),
        Forced::No => {}
    }
    if provider_replaces(context, urn, old, new).await? {
        return Ok(Difference::replacement(Some("provider")));
    }
    let Some(provider) = &registering.provider else {
        return Ok(Difference::of_component(&old.inputs, &new.inputs));
    };
    let response = if options.use_legacy_diff && old.inputs == new.inputs {
        DiffResponse {
            changes: DiffChanges::None,
            ..DiffResponse::default()
        }
    } else {
        ask_for_diff(context, urn, provider, old, new).await?
    };
    // An unknown result is completed from the checked inputs, and Check may have restored an ignored change.
    let response = if response.changes == DiffChanges::Unknown {
        let compared = reset_all(&new.options.ignore_changes, &old.inputs, new.inputs.clone()).0;
        response.completed(&old.inputs, &compared)
    } else {
        response.completed(&old.inputs, &new.inputs)
    };
    let has_init_errors = !old.init_errors.is_empty();
    let paths = replace_on_changes(context, new, &response, has_init_errors)?;
    Ok(interpret(
        response,
        &paths,
        has_init_errors,
        old.pending_replacement,
    ))
}

/// Calls Diff. The request has the resource's current URN.
async fn ask_for_diff(
    context: &Context,
    urn: &Urn,
    provider: &ProviderHandle,
    old: &ResourceState,
    new: &ResourceState,
) -> Result<DiffResponse, RunEnded> {
    let run = &context.run;
    // A separate block, so that the request is dropped before the provider responds.
    let question = {
        let preview = run.executor.is_preview();
        let request = diff_request(old, new.inputs.clone(), &new.options.ignore_changes, preview);
        provider.provider.diff(DiffRequest {
            urn: urn.clone(),
            resource_type: urn.resource_type().into(),
            name: urn.name().to_owned(),
            ..request
        })
    };
    let response = run.ask(urn, CountedCall::new("diff", provider), question).await?;
    if let Some(text) = &response.unavailable {
        run.warn(urn, text.clone());
    }
    Ok(response)
}

/// Parses the paths of `replaceOnChanges`. Empty if there are no changes; invalid paths are not reported in that case.
pub(super) fn replace_on_changes(
    context: &Context,
    state: &ResourceState,
    response: &DiffResponse,
    has_init_errors: bool,
) -> Result<Vec<PropertyPath>, RunEnded> {
    if response.changes != DiffChanges::Some && !has_init_errors {
        return Ok(Vec::new());
    }
    let urn = &state.urn;
    let paths = state.options.replace_on_changes.iter().map(|text| {
        PropertyPath::parse(text).map_err(|error| {
            let (name, why) = (urn.name(), error.message());
            let text = format!("replaceOnChanges of resource '{name}': {why}");
            context.run.bail(urn, text)
        })
    });
    paths.collect()
}

/// Returns whether a change of the provider replaces the resource.
async fn provider_replaces(
    context: &Context,
    urn: &Urn,
    old: &ResourceState,
    new: &ResourceState,
) -> Result<bool, RunEnded> {
    if old.provider == new.provider {
        return Ok(false);
    }
    if !new.custom && new.provider.is_empty() {
        // The import of a list has recorded the provider of a remote component. Its construction registers it without one.
        return Ok(false);
    }
    let (Ok(before), Ok(after)) = (
        ProviderReference::parse(&old.provider),
        ProviderReference::parse(&new.provider),
    ) else {
        return Ok(true);
    };
    let renamed = before.urn != after.urn && context.claims.current_urn(&before.urn) == after.urn;
    if renamed {
        return Ok(false);
    }
    let Some(recorded) = context.base.provider(&before) else {
        return Ok(true);
    };
    let question = context.providers.registry.replaces_resources(recorded, &after);
    // Boxed: rare, and would otherwise enlarge every registration's future.
    Box::pin(context.run.ask(urn, CountedCall::diff_config(), question)).await
}

/// Returns the request to compare a recorded resource with new inputs.
pub(super) fn diff_request(
    old: &ResourceState,
    news: PropertyMap,
    ignore_changes: &[String],
    preview: bool,
) -> DiffRequest {
    DiffRequest {
        urn: old.urn.clone(),
        resource_type: old.urn.resource_type().into(),
        name: old.urn.name().to_owned(),
        id: old.id.clone(),
        old_inputs: old.inputs.clone(),
        old_outputs: old.outputs.clone(),
        news,
        ignore_changes: ignore_changes.to_vec(),
        preview,
    }
}
