//! Calling functions of packages.

use std::{future::Future, sync::Arc};

use crate::{
    executor::AbandonedCall,
    monitor::{
        Invoke, Monitor, PackageChoice, WireStatus, method::reasons, providers::ProviderUse,
        request_error::RequestError, shared::Shared, transforms::transform_invoke,
    },
    property::PropertyMap,
    provider::{InvokeRequest, InvokeResponse, ProviderHandle},
    resource::ProviderReference,
    urn::Urn,
};

/// The result of a function's call.
#[derive(Clone, Debug)]
pub(super) enum Invoked {
    /// The function answered.
    Answer(InvokeResponse),
    /// A resource that it depends on does not exist yet.
    Unknown,
}

impl Invoked {
    /// Returns the values of the answer; `None` where there is none yet.
    ///
    /// # Errors
    /// `InvalidArgument` with all failures, each after its property, under the name of the function.
    pub(super) fn into_values(self, token: &str) -> Result<Option<PropertyMap>, WireStatus> {
        let Self::Answer(answer) = self else {
            return Ok(None);
        };
        if answer.failures.is_empty() {
            return Ok(Some(answer.result.collapse_outputs()));
        }
        let reasons = reasons(&answer.failures);
        Err(WireStatus::invalid(format!(
            "invocation of {token} returned an error: {reasons}"
        )))
    }
}

/// Calls a function; the secrets in its arguments are registered with the redactor before the future is polled.
pub(super) fn invoke(
    monitor: &Monitor,
    mut invoke: Invoke,
) -> impl Future<Output = Result<Invoked, WireStatus>> + Send + use<> {
    let shared = Arc::clone(&monitor.shared);
    shared.values.learn(&invoke.arguments);
    invoke.in_transform |= shared.transforms.is_polling_invoke();
    // The future is large, and callers poll it on threads with small stacks.
    async move { shared.admission.answer(Box::pin(call(&shared, invoke))).await }
}

async fn call(shared: &Shared, mut invoke: Invoke) -> Result<Invoked, RequestError> {
    shared.providers.name_package(&mut invoke.package)?;
    transform_invoke(shared, &mut invoke).await?;
    let named = invoke.token.split_once(':');
    let Some((package, _)) = named.filter(|(package, _)| !package.is_empty()) else {
        let text = format!("'{}' is not a valid function token", invoke.token);
        return Err(WireStatus::invalid(text).into());
    };
    let referred = invoke.depends_on.iter().chain(&invoke.parent);
    let announced = shared.transforms.announced(referred);
    shared.admission.until_all(announced).await?;
    if depends_on_missing(shared, &invoke.depends_on).await? {
        return Ok(Invoked::Unknown);
    }
    let provider = provider_of(shared, &invoke, package).await?;
    shared.values.inspect("arguments", &invoke.arguments)?;
    let executor = shared.generator.executor();
    let request = InvokeRequest {
        token: invoke.token.clone(),
        arguments: invoke.arguments,
        preview: shared.run.dry_run,
    };
    let _working = executor.activity().working();
    let answer = provider.provider.invoke(request);
    let answer = shared
        .admission
        .unless_ended(answer, || AbandonedCall::of(&invoke.token, "invoke"))
        .await?;
    match answer.and_then(|answer| executor.sanitizer().sanitize_invoke(answer)) {
        Ok(answer) => Ok(Invoked::Answer(answer)),
        Err(error) => {
            let text = format!(
                "invocation of {} returned an error: {}",
                invoke.token, error.message
            );
            Err(WireStatus::unknown(text).into())
        }
    }
}

/// Returns the configured provider of a function, with the extension that it needs: that of the call, of its parent, or the
/// default one of the package.
async fn provider_of(
    shared: &Shared,
    invoke: &Invoke,
    package: &str,
) -> Result<ProviderHandle, RequestError> {
    let mut choice = invoke.package.clone();
    if choice.provider.is_empty() {
        let parent = invoke.parent.as_ref();
        let parent = parent.map(|parent| shared.generator.registered_urn(parent));
        choice.provider = shared.placement.inherited_provider(parent.as_ref(), package);
    }
    let what = ProviderUse::Token(&invoke.token);
    let reference = match shared.providers.provider_for(package, &choice, what).await {
        Ok(Some(provider)) => provider.reference,
        Ok(None) => {
            let text = format!("Invoke: the default provider of package '{package}' failed");
            return Err(WireStatus::unknown(text).into());
        }
        Err(error) => return Err(error.within(&format!("Invoke: {}", source_of_fault(&choice)))),
    };
    let provider = shared.generator.registry().get(&reference).ok_or_else(|| {
        WireStatus::unknown(format!(
            "Invoke: unknown provider '{}' -> '{reference}'",
            choice.provider
        ))
    })?;
    let adding = shared.providers.add_extension(&choice, &reference, &invoke.token);
    adding.await.map_err(|error| error.within("Invoke: "))?;
    Ok(provider)
}

/// Returns where the reference engine finds the fault of a refused choice.
fn source_of_fault(choice: &PackageChoice) -> &'static str {
    let explicit = Some(choice.provider.as_str()).filter(|text| !text.is_empty());
    if explicit.is_some_and(|text| ProviderReference::parse(text).is_err()) {
        "getProviderFromSource: "
    } else {
        ""
    }
}

/// Waits for the resources that a call depends on; returns whether one of them does not exist (yet).
pub(super) async fn depends_on_missing(shared: &Shared, depends_on: &[Urn]) -> Result<bool, RequestError> {
    if depends_on.is_empty() {
        return Ok(false);
    }
    let generator = &shared.generator;
    let depends_on: Vec<_> = depends_on
        .iter()
        .map(|urn| generator.registered_urn(urn))
        .collect();
    let customs = tokio::select! {
        biased;
        customs = generator.settled(&depends_on) => customs,
        () = generator.executor().control().stopped() => return Err(RequestError::RunEnded),
    };
    let is_missing = |urn: &Urn| {
        let record = generator.record_of(urn);
        record.is_none_or(|state| state.custom && !state.is_provider() && state.id.is_empty())
    };
    Ok(customs.iter().any(is_missing))
}
