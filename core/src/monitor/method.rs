//! Methods of resources, components and providers.

use std::{future::Future, sync::Arc};

use smol_str::SmolStr;

use crate::{
    executor::AbandonedCall,
    monitor::{
        Monitor, PackageChoice, WireStatus,
        construct::{FailedCall, unless_panicked},
        defaults::ProviderUse,
        register::Refused,
        traces::place,
    },
    property::{PropertyMap, PropertyValue, ResourceReference, Unknown},
    provider::{CheckFailure, MethodRequest, ProviderHandle},
    resource::{PropertyDependencies, ProviderReference, SourcePosition},
    token::TypeToken,
    urn::Urn,
};

/// A method to be called.
#[derive(Clone, Debug, Default)]
pub struct MethodCall {
    /// The method: `package:module:Type/method`, or `pulumi:providers:package/method`.
    pub token: String,
    /// The resource whose method it is; `None` where the arguments have it as `__self__`, or the method has none.
    pub of: Option<Urn>,
    /// The arguments.
    pub arguments: PropertyMap,
    /// The dependencies of each argument, beside those in its output values.
    pub argument_dependencies: PropertyDependencies,
    /// Options that choose the provider that has it.
    pub package: PackageChoice,
    /// The source position of the call.
    pub source_position: SourcePosition,
    /// The stack trace of the call.
    pub stack_trace: Vec<SourcePosition>,
}

/// The result of a method.
#[derive(Clone, Debug, Default)]
pub struct MethodResult {
    /// The result; output values have their dependencies.
    pub result: PropertyMap,
    /// The dependencies of each property.
    pub result_dependencies: PropertyDependencies,
    /// The failures of arguments; empty when the method succeeded.
    pub failures: Vec<CheckFailure>,
}

impl MethodResult {
    /// Returns the plain values of the result.
    ///
    /// # Errors
    /// `InvalidArgument` with all failures, each after its property, under the name of the method.
    pub fn into_values(self, token: &str) -> Result<PropertyMap, WireStatus> {
        if self.failures.is_empty() {
            return Ok(self.result.collapse_outputs());
        }
        let reasons = reasons(&self.failures);
        Err(WireStatus::invalid(format!(
            "call to function '{token}' failed: {reasons}"
        )))
    }
}

/// Returns the failures of arguments as one text: each reason after its property.
pub(super) fn reasons(failures: &[CheckFailure]) -> String {
    let reason = |CheckFailure { property, reason }: &CheckFailure| match property.is_empty() {
        true => reason.clone(),
        false => format!("{property}: {reason}"),
    };
    failures.iter().map(reason).collect::<Vec<_>>().join("; ")
}

impl Monitor {
    /// Calls a method and returns its result.
    ///
    /// The secrets in the arguments are registered with the redactor before the future is polled. A failed method ends the
    /// run.
    ///
    /// # Errors
    /// `Unknown` when the method has no provider, or fails; `Unavailable` when the run ended first.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the call.
    pub fn call_method(
        &self,
        call: MethodCall,
    ) -> impl Future<Output = Result<MethodResult, WireStatus>> + Send + use<> {
        self.learn(&call.arguments);
        let monitor = self.clone();
        async move {
            let flight = match monitor.enter("sending resource registration") {
                Ok(flight) => flight,
                Err(refused) => return Err(monitor.refused(refused).await),
            };
            let called = monitor.call_provider_method(call).await;
            drop(flight);
            match called {
                Ok(result) => Ok(result),
                Err(refused) => Err(monitor.refused(refused).await),
            }
        }
    }

    async fn call_provider_method(&self, mut call: MethodCall) -> Result<MethodResult, Refused> {
        if let Some(of) = call.of.take() {
            call.arguments.insert(SELF, self.reference_to(&of)?);
        }
        self.name_package(&mut call.package)?;
        let provider = self.method_provider(&call).await?;
        self.inspect("arguments", &call.arguments)?;
        let MethodCall {
            token,
            arguments,
            mut argument_dependencies,
            source_position,
            stack_trace,
            ..
        } = call;
        // Known until the method has answered.
        let trace = self.issue_trace(&source_position, &stack_trace);
        for (name, value) in arguments.iter() {
            argument_dependencies.add_outputs(name, value);
        }
        // Providers find the dependencies of each argument in its value, too.
        let arguments: PropertyMap = arguments
            .upgrade_to_outputs()
            .into_iter()
            .map(|(name, value)| match argument_dependencies.get(&name) {
                Some(dependencies) if name != SELF => {
                    let value = value.with_dependencies(dependencies);
                    (name, value)
                }
                _ => (name, value),
            })
            .collect();
        let package = TypeToken::from(token.as_str()).asked_package().to_owned();
        let this = arguments
            .get(SELF)
            .and_then(reference)
            .map(|this| this.urn.clone());
        let request = MethodRequest {
            monitor: self.handle(),
            run: Arc::clone(self.run_info()),
            token: token.clone(),
            arguments: arguments.clone(),
            argument_dependencies,
            stack_trace_handle: trace.text(),
        };
        let awaiting = self.0.generator.executor().awaiting_code();
        let answer = unless_panicked(provider.provider.call_method(request));
        let answer = self.within_limit(&provider, "call", &token, answer);
        let answer = self
            .unless_ended(answer, || AbandonedCall::of(&token, "call"))
            .await?;
        drop(awaiting);
        let sanitizer = self.0.generator.executor().sanitizer();
        match answer.and_then(|response| sanitizer.sanitize_method(response)) {
            Ok(response) => Ok(MethodResult {
                result: response.result,
                result_dependencies: response.result_dependencies,
                failures: response.failures,
            }),
            Err(error) => {
                let failed = FailedCall {
                    head: format!("call to function '{token}' failed: "),
                    package: &package,
                    method: "call",
                    urn: this.as_ref(),
                    used: place(&source_position).map(|place| format!("the method is called at {place}")),
                };
                let refused = self.fail_call(&failed, &error, &arguments);
                // The program is not to continue before the run has ended.
                tokio::select! {
                    () = self.0.closed.cancelled() => {}
                    () = self.0.generator.executor().control().stopped() => {}
                }
                Err(refused)
            }
        }
    }

    /// Returns a reference to a registered resource.
    fn reference_to(&self, urn: &Urn) -> Result<PropertyValue, Refused> {
        let urn = self.0.generator.registered_urn(urn);
        let state = self.0.generator.registered_state(&urn);
        let state = state.ok_or_else(|| WireStatus::unknown(format!("unknown resource {urn}")))?;
        let id = match state.id.is_empty() {
            false => Ok(state.id.clone()),
            true => Err(Unknown::String),
        };
        Ok(PropertyValue::ResourceReference(Arc::new(ResourceReference {
            urn,
            id: state.custom.then_some(id),
            package_version: SmolStr::default(),
        })))
    }

    /// Returns the provider of a method: that of the resource, an explicit one, or the default one of the package.
    async fn method_provider(&self, call: &MethodCall) -> Result<ProviderHandle, Refused> {
        let this = call.arguments.get(SELF).and_then(reference);
        let is_of_provider = call.token.starts_with("pulumi:providers:");
        let package = match call.token.strip_prefix("pulumi:providers:") {
            Some(rest) => rest.split('/').next().unwrap_or_default().to_owned(),
            None => TypeToken::from(call.token.as_str()).asked_package().to_owned(),
        };
        let mut choice = call.package.clone();
        if is_of_provider {
            let this = this
                .ok_or_else(|| WireStatus::unknown("missing __self__ argument for provider method call"))?;
            let id = this.id.as_ref().and_then(|id| id.as_ref().ok());
            let id =
                id.ok_or_else(|| WireStatus::unknown("missing __self__.id of a provider method call"))?;
            let reference = ProviderReference::new(this.urn.clone(), id.clone());
            return self.configured_provider(&reference);
        }
        if choice.provider.is_empty()
            && let Some(this) = this
        {
            let urn = self.0.generator.registered_urn(&this.urn);
            let state = self.0.generator.registered_state(&urn);
            let state = state.ok_or_else(|| WireStatus::unknown(format!("unknown resource {}", this.urn)))?;
            choice.provider = state.provider.to_string();
        }
        let what = ProviderUse::Token(&call.token);
        let chosen = self.0.defaults.provider_for(&package, &choice, what).await?;
        let Some(chosen) = chosen else {
            let text = format!("the default provider of package '{package}' failed");
            return Err(WireStatus::unknown(text).into());
        };
        self.add_extension(&choice, &chosen.reference, &call.token)
            .await?;
        self.configured_provider(&chosen.reference)
    }
}

/// The argument with the resource of a method.
const SELF: &str = "__self__";

/// Returns the resource that a value refers to.
fn reference(value: &PropertyValue) -> Option<&ResourceReference> {
    match value {
        PropertyValue::ResourceReference(reference) => Some(reference),
        PropertyValue::Output(output) => output.element.as_ref().and_then(reference),
        PropertyValue::Secret(secret) => reference(&secret.element),
        _ => None,
    }
}
