//! Whether a resource exists: its provider reads it, and nothing is recorded.

use std::{future::Future, sync::Arc};

use crate::{
    executor::AbandonedCall,
    monitor::{
        Monitor, PackageChoice, WireStatus, failed_call::unless_panicked, invoke::depends_on_missing,
        providers::ProviderUse, request_error::RequestError, shared::Shared,
    },
    property::PropertyMap,
    provider::{ProviderStatus, ReadRequest, ReadResponse, Views},
    resource::UNKNOWN_ID,
    token::{ResourceId, TypeToken},
    urn::Urn,
};

/// A resource whose existence is queried.
#[derive(Clone, Debug, Default)]
pub struct Exists {
    /// The type.
    pub resource_type: TypeToken,
    /// The id.
    pub id: ResourceId,
    /// The component whose providers are the defaults.
    pub parent: Option<Urn>,
    /// Known properties.
    pub inputs: PropertyMap,
    /// Options that choose the provider that reads it.
    pub package: PackageChoice,
    /// Resources that must exist before: while one of them is only planned, the result is not known.
    pub depends_on: Vec<Urn>,
}

/// Returns whether a resource exists; `None` while that cannot be known.
pub(super) fn exists(
    monitor: &Monitor,
    exists: Exists,
) -> impl Future<Output = Result<Option<bool>, WireStatus>> + Send + use<> {
    monitor.shared.values.learn(&exists.inputs);
    let shared = Arc::clone(&monitor.shared);
    // The future is large, and callers poll it on threads with small stacks.
    async move { shared.admission.answer(Box::pin(find(&shared, exists))).await }
}

async fn find(shared: &Shared, exists: Exists) -> Result<Option<bool>, RequestError> {
    let Exists {
        resource_type,
        id,
        parent,
        inputs,
        package: mut choice,
        depends_on,
    } = exists;
    if !resource_type.is_full() {
        let text = format!("Type '{resource_type}' is not a valid type token (must have format '*:*:*')");
        return Err(WireStatus::invalid(text).into());
    }
    if id.is_empty() {
        let text = format!("a resource of type '{resource_type}' whose existence is queried has no id");
        return Err(WireStatus::invalid(text).into());
    }
    shared.providers.name_package(&mut choice)?;
    shared.values.inspect("properties", &inputs)?;
    let announced = shared.transforms.announced(depends_on.iter().chain(&parent));
    shared.admission.until_all(announced).await?;
    if depends_on_missing(shared, &depends_on).await? {
        return Ok(None);
    }
    let parent = parent.map(|parent| shared.generator.registered_urn(&parent));
    let package = resource_type.package();
    if choice.provider.is_empty() {
        choice.provider = shared.placement.inherited_provider(parent.as_ref(), package);
    }
    let what = ProviderUse::Token(resource_type.as_str());
    let provider = shared.providers.serving(package, &choice, what).await?;
    if id.as_str() == UNKNOWN_ID || inputs.contains_unknowns() || provider.provider.is_unconfigured() {
        return Ok(None);
    }
    // A resource that is not part of the stack has no name: its id takes the place of one.
    let urn = shared
        .placement
        .urn_below(parent.as_ref(), &resource_type, id.as_str());
    let request = ReadRequest {
        urn: urn.clone(),
        resource_type: resource_type.clone(),
        name: id.as_str().to_owned(),
        id: id.clone(),
        inputs: Some(inputs.clone()),
        properties: Some(inputs),
        timeout: 0.0,
        preview: shared.run.dry_run,
        views: Views::default(),
    };
    let answer = unless_panicked(provider.provider.read(request));
    let answer = shared
        .admission
        .unless_ended(answer, || AbandonedCall::on(&urn, "read"))
        .await?;
    let about = format!("whether the resource '{id}' of type '{resource_type}' exists");
    match answer {
        Ok(ReadResponse {
            is_recorded: true, ..
        }) => Err(WireStatus::new(
            ProviderStatus::Unimplemented,
            format!("{about} is not known: provider '{package}' cannot read resources"),
        )
        .into()),
        Ok(ReadResponse { id, outputs, .. }) => Ok(Some(outputs.is_some() && !id.is_empty())),
        // It exists, but is not in working order.
        Err(error) if error.init_failure.is_some() => Ok(Some(true)),
        Err(error) => {
            let text = format!("{about} is not known: {}", error.message);
            Err(WireStatus::unknown(text).into())
        }
    }
}
