//! Calling functions of packages.

use crate::{
    monitor::{Invoke, Monitor, WireStatus},
    provider::{InvokeRequest, InvokeResponse},
};

/// What a function's call came to.
#[derive(Clone, Debug)]
pub(super) enum Invoked {
    /// The function answered.
    Answer(InvokeResponse),
    /// Something that it depends on does not exist yet.
    Unknown,
}

impl Monitor {
    /// Calls a function and returns its result.
    ///
    /// # Errors
    /// `Unknown` with the function's own message; `InvalidArgument` with what is wrong with the arguments.
    pub async fn invoke(&self, invoke: Invoke) -> Result<crate::property::PropertyMap, WireStatus> {
        let token = invoke.token.clone();
        match self.invoke_raw(invoke).await? {
            Invoked::Unknown => Ok(crate::property::PropertyMap::new()),
            Invoked::Answer(answer) => match answer.failures.first() {
                None => Ok(answer.result),
                Some(failure) if failure.property.is_empty() => Err(WireStatus::invalid(format!(
                    "invocation of {token} returned an error: {}",
                    failure.reason
                ))),
                Some(failure) => Err(WireStatus::invalid(format!(
                    "invocation of {token} returned an error: {}: {}",
                    failure.property, failure.reason
                ))),
            },
        }
    }

    pub(super) async fn invoke_raw(&self, invoke: Invoke) -> Result<Invoked, WireStatus> {
        if self.is_closed() {
            return Err(WireStatus::shut_down("sending resource registration"));
        }
        let flight = self.0.in_flight.enter();
        let Some((package, _)) = invoke.token.split_once(':') else {
            return Err(WireStatus::invalid(format!(
                "'{}' is not a valid function token",
                invoke.token
            )));
        };
        if invoke.depends_on.iter().any(|urn| self.is_missing(urn)) {
            return Ok(Invoked::Unknown);
        }
        let mut choice = invoke.package.clone();
        if choice.provider.is_empty() {
            let inherited = invoke
                .parent
                .as_ref()
                .and_then(|parent| self.0.parents.provider_for(parent, package));
            choice.provider = inherited.unwrap_or_default();
        }
        let reference = self.provider_for(package, &choice, &invoke.token);
        let control = self.0.generator.executor().control();
        let reference = tokio::select! {
            biased;
            reference = reference => reference.map_err(|mut status| {
                if !status.is_shut_down() {
                    status.message = format!("Invoke: {}", status.message);
                }
                status
            })?.reference,
            () = control.stopped() => {
                drop(flight);
                return Err(self.unanswered(crate::generator::Unanswered::Ending).await);
            }
        };
        let provider = self.0.generator.registry().get(&reference).ok_or_else(|| {
            WireStatus::unknown(format!(
                "Invoke: unknown provider '{}' -> '{reference}'",
                choice.provider
            ))
        })?;
        let request = InvokeRequest {
            token: invoke.token.clone(),
            arguments: invoke.arguments,
            preview: self.0.run.dry_run,
        };
        tokio::select! {
            biased;
            answer = provider.provider.invoke(request) => answer.map(Invoked::Answer).map_err(|error| {
                WireStatus::unknown(format!("invocation of {} returned an error: {}", invoke.token, error.message))
            }),
            () = self.0.closed.cancelled() => Err(WireStatus::shut_down("waiting on step's done channel")),
        }
    }

    /// Tells whether a resource that something depends on was registered, but does not exist (yet).
    fn is_missing(&self, urn: &crate::urn::Urn) -> bool {
        self.0
            .generator
            .executor()
            .published(urn)
            .is_some_and(|state| state.custom && !state.is_provider() && state.id.is_empty())
    }
}
