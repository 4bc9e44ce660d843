//! Calls of transforms, with the limit of all functions of the program.

use crate::{
    callback::{overdue, unless_panicked},
    error::{Error, ErrorKind, Result as LibraryResult},
    executor::AbandonedCall,
    monitor::{PackageChoice, WireStatus, request_error::RequestError, shared::Shared},
    provider::ProviderStatus,
    urn::Urn,
};

/// Refuses a provider of another package that a transform has put in the place of the former one, for the type or the function `token`: it
/// would get what it does not know, and the deletion of what another provider has made.
pub(super) fn check_provider(
    token: &str,
    former: &PackageChoice,
    changed: &PackageChoice,
) -> LibraryResult<()> {
    if changed.provider == former.provider {
        return Ok(());
    }
    // A transform does not change the reference of RegisterPackage.
    let choice = PackageChoice {
        package_ref: former.package_ref.clone(),
        ..changed.clone()
    };
    match choice.misplaced(token) {
        Some(misplaced) => Err(Error::invalid(format!("provider is {misplaced}"))),
        None => Ok(()),
    }
}

/// Awaits a transform, until the run is stopped; `what` names it in errors, and `urn` is the resource that it changes. It may
/// wait for other resources: the time in which the run works on these does not count towards its limit.
pub(super) async fn call_transform<T>(
    shared: &Shared,
    call: impl Future<Output = LibraryResult<T>>,
    urn: Option<&Urn>,
    what: impl Fn() -> String,
) -> Result<T, RequestError> {
    let executor = shared.generator.executor();
    let limit = executor.options().callback_timeout;
    let call = executor.activity().within(limit, unless_panicked(call));
    let abandoned = || {
        let text = format!("{} did not return", what());
        AbandonedCall::of_function(text, "transform", urn)
    };
    let result = shared.admission.unless_stopped(call, abandoned).await?;
    let result = result.unwrap_or_else(|| Err(overdue(limit)));
    result.map_err(|error| {
        let code = match error.kind() {
            ErrorKind::InvalidInput => ProviderStatus::InvalidArgument,
            _ => ProviderStatus::Unknown,
        };
        let text = format!("invoke transform: {}: {}", what(), error.text().reference());
        let refusal = Error::new(error.kind(), text.as_str())
            .with_phase("transform")
            .with_source(error);
        shared.transforms.keep_refusal(match urn {
            Some(urn) => refusal.with_urn(urn.clone()),
            None => refusal,
        });
        WireStatus::new(code, text).into()
    })
}
