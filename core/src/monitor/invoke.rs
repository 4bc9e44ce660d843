//! Calling functions of packages.

use std::future::Future;

use crate::{
    executor::AbandonedCall,
    generator::RunEnded,
    monitor::{Invoke, Monitor, WireStatus, defaults::ProviderUse, method::reasons, register::Refused},
    property::PropertyMap,
    provider::{InvokeRequest, InvokeResponse},
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

impl Monitor {
    /// Calls a function and returns its result. It is not called, and the result is empty, while a resource that it depends on
    /// is only planned.
    ///
    /// # Errors
    /// `Unknown` with the function's own message; `InvalidArgument` with what is wrong with the arguments.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the call.
    pub fn invoke(
        &self,
        invoke: Invoke,
    ) -> impl Future<Output = Result<PropertyMap, WireStatus>> + Send + use<> {
        let invoking = self.invoke_known(invoke);
        async move { invoking.await.map(Option::unwrap_or_default) }
    }

    /// Calls a function as [`Self::invoke`] does, and returns its result; `None` while a resource that it depends on is only
    /// planned.
    ///
    /// # Errors
    /// As [`Self::invoke`].
    ///
    /// # Cancel safety
    /// Dropping the future cancels the call.
    pub fn invoke_known(
        &self,
        invoke: Invoke,
    ) -> impl Future<Output = Result<Option<PropertyMap>, WireStatus>> + Send + use<> {
        let token = invoke.token.clone();
        let invoking = self.invoke_raw(invoke);
        async move {
            let Invoked::Answer(answer) = invoking.await? else {
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
    pub(super) fn invoke_raw(
        &self,
        mut invoke: Invoke,
    ) -> impl Future<Output = Result<Invoked, WireStatus>> + Send + use<> {
        self.learn(&invoke.arguments);
        invoke.in_transform |= self.is_in_invoke_transform();
        let monitor = self.clone();
        async move {
            let flight = match monitor.enter("sending resource registration") {
                Ok(flight) => flight,
                Err(refused) => return Err(monitor.refused(refused).await),
            };
            let invoked = monitor.call_function(invoke).await;
            drop(flight);
            match invoked {
                Ok(invoked) => Ok(invoked),
                Err(refused) => Err(monitor.refused(refused).await),
            }
        }
    }

    async fn call_function(&self, mut invoke: Invoke) -> Result<Invoked, Refused> {
        self.name_package(&mut invoke.package)?;
        self.transform_invoke(&mut invoke).await?;
        let named = invoke.token.split_once(':');
        let Some((package, _)) = named.filter(|(package, _)| !package.is_empty()) else {
            let text = format!("'{}' is not a valid function token", invoke.token);
            return Err(WireStatus::invalid(text).into());
        };
        let referred = invoke.depends_on.iter().chain(&invoke.parent);
        self.until_claimed(self.0.transforms.announced(referred)).await?;
        if self.depends_on_missing(&invoke.depends_on).await? {
            return Ok(Invoked::Unknown);
        }
        let mut choice = invoke.package.clone();
        if choice.provider.is_empty() {
            let inherited = invoke
                .parent
                .as_ref()
                .map(|parent| self.0.generator.registered_urn(parent))
                .and_then(|parent| self.0.parents.provider_for(&parent, package));
            choice.provider = inherited.unwrap_or_default();
        }
        let what = ProviderUse::Token(&invoke.token);
        let reference = match self.0.defaults.provider_for(package, &choice, what).await {
            Ok(Some(provider)) => provider.reference,
            Ok(None) => {
                let text = format!("Invoke: the default provider of package '{package}' failed");
                return Err(WireStatus::unknown(text).into());
            }
            Err(Refused::Invalid(mut status)) => {
                let explicit = Some(choice.provider.as_str()).filter(|text| !text.is_empty());
                let misnamed = explicit.is_some_and(|text| ProviderReference::parse(text).is_err());
                let source = if misnamed { "getProviderFromSource: " } else { "" };
                status.message = format!("Invoke: {source}{}", status.message);
                return Err(Refused::Invalid(status));
            }
            Err(refused) => return Err(refused),
        };
        let provider = self.0.generator.registry().get(&reference).ok_or_else(|| {
            WireStatus::unknown(format!(
                "Invoke: unknown provider '{}' -> '{reference}'",
                choice.provider
            ))
        })?;
        let adding = self.add_extension(&choice, &reference, &invoke.token);
        if let Err(refused) = adding.await {
            return Err(refused.within("Invoke: "));
        }
        let executor = self.0.generator.executor();
        self.inspect("arguments", &invoke.arguments)?;
        let request = InvokeRequest {
            token: invoke.token.clone(),
            arguments: invoke.arguments,
            preview: self.0.run.dry_run,
        };
        let _working = executor.activity().working();
        tokio::select! {
            biased;
            answer = provider.provider.invoke(request) => match answer.and_then(|answer| executor.sanitizer().sanitize_invoke(answer)) {
                Ok(answer) => Ok(Invoked::Answer(answer)),
                Err(error) => {
                    let text = format!("invocation of {} returned an error: {}", invoke.token, error.message);
                    Err(WireStatus::unknown(text).into())
                }
            },
            () = self.0.closed.cancelled() => Err(WireStatus::shut_down("waiting on step's done channel").into()),
            () = executor.terminated() => {
                executor.control().abandon(AbandonedCall::of(&invoke.token, "invoke"));
                Err(Refused::Unanswered(RunEnded))
            }
        }
    }

    /// Waits for the resources that a call depends on; returns whether one of them does not exist (yet).
    async fn depends_on_missing(&self, depends_on: &[Urn]) -> Result<bool, Refused> {
        if depends_on.is_empty() {
            return Ok(false);
        }
        let generator = &self.0.generator;
        let depends_on: Vec<_> = depends_on
            .iter()
            .map(|urn| generator.registered_urn(urn))
            .collect();
        let customs = tokio::select! {
            biased;
            customs = generator.settled(&depends_on) => customs,
            () = generator.executor().control().stopped() => return Err(Refused::Unanswered(RunEnded)),
        };
        Ok(customs.iter().any(|urn| self.is_missing(urn)))
    }

    /// Returns whether a registered dependency does not exist (yet).
    fn is_missing(&self, urn: &Urn) -> bool {
        self.0
            .generator
            .record_of(urn)
            .is_none_or(|state| state.custom && !state.is_provider() && state.id.is_empty())
    }
}
