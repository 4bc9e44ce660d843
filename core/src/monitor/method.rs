//! Methods of resources, components and providers.

use std::{future::Future, sync::Arc};

use smol_str::SmolStr;

use crate::{
    executor::AbandonedCall,
    monitor::{
        Monitor, PackageChoice, WireStatus,
        failed_call::{FailedCall, unless_panicked},
        providers::ProviderUse,
        request_error::RequestError,
        shared::Shared,
        traces::place_of_use,
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

/// Calls a method; the secrets in its arguments are registered with the redactor before the future is polled.
pub(super) fn call_method(
    monitor: &Monitor,
    call: MethodCall,
) -> impl Future<Output = Result<MethodResult, WireStatus>> + Send + use<> {
    monitor.shared.values.learn(&call.arguments);
    let monitor = monitor.clone();
    async move {
        // The future is large, and callers poll it on threads with small stacks.
        let calling = Box::pin(call_provider(&monitor, call));
        monitor.shared.admission.answer(calling).await
    }
}

async fn call_provider(monitor: &Monitor, mut call: MethodCall) -> Result<MethodResult, RequestError> {
    let shared = &monitor.shared;
    if let Some(of) = call.of.take() {
        call.arguments.insert(SELF, reference_to(shared, &of)?);
    }
    let package = call.token.split_once(':').map(|(package, _)| package);
    if package.is_none_or(str::is_empty) {
        let text = format!("'{}' is not a valid method token", call.token);
        return Err(WireStatus::invalid(text).into());
    }
    shared.providers.name_package(&mut call.package)?;
    let provider = provider_of(shared, &call).await?;
    shared.values.inspect("arguments", &call.arguments)?;
    let MethodCall {
        token,
        arguments,
        argument_dependencies,
        source_position,
        stack_trace,
        ..
    } = call;
    // Known until the method has answered.
    let random = &*monitor.runtime().random;
    let trace = shared.traces.issue(random, &source_position, &stack_trace);
    let (arguments, argument_dependencies) = with_dependencies(arguments, argument_dependencies);
    let this = arguments
        .get(SELF)
        .and_then(reference)
        .map(|this| this.urn.clone());
    let request = MethodRequest {
        monitor: monitor.within(&trace).handle(),
        run: Arc::clone(&shared.run),
        token: token.clone(),
        arguments: arguments.clone(),
        argument_dependencies,
        stack_trace_handle: trace.text(),
    };
    let awaiting = shared.generator.executor().awaiting_code();
    let answer = unless_panicked(provider.provider.call_method(request));
    let answer = shared.admission.within_limit(&provider, "call", &token, answer);
    let answer = shared
        .admission
        .unless_silent(answer, || AbandonedCall::of(&token, "call"))
        .await?;
    drop(awaiting);
    let sanitizer = shared.generator.executor().sanitizer();
    match answer.and_then(|response| sanitizer.sanitize_method(response)) {
        Ok(response) => Ok(MethodResult {
            result: response.result,
            result_dependencies: response.result_dependencies,
            failures: response.failures,
        }),
        Err(error) => {
            let method = TypeToken::from(token.as_str());
            let failed = FailedCall {
                head: format!("call to function '{token}' failed: "),
                package: method.asked_package(),
                method: "call",
                urn: this.as_ref(),
                used: place_of_use(&source_position, &stack_trace)
                    .map(|place| format!("the method is called at {place}")),
            };
            let status = failed.report(shared.generator.executor(), &error, &arguments);
            // The program is not to continue before the run has ended.
            shared.admission.stopped().await;
            Err(status.into())
        }
    }
}

/// Returns arguments as a provider gets them, output values with all of their dependencies, and the dependencies of each.
fn with_dependencies(
    arguments: PropertyMap,
    mut dependencies: PropertyDependencies,
) -> (PropertyMap, PropertyDependencies) {
    for (name, value) in arguments.iter() {
        dependencies.add_outputs(name, value);
    }
    // Providers find the dependencies of each argument in its value, too.
    let arguments = arguments.upgrade_to_outputs().into_iter();
    let arguments = arguments.map(|(name, value)| match dependencies.get(&name) {
        Some(dependencies) if name != SELF => {
            let value = value.with_dependencies(dependencies);
            (name, value)
        }
        _ => (name, value),
    });
    (arguments.collect(), dependencies)
}

/// Returns a reference to a registered resource.
fn reference_to(shared: &Shared, urn: &Urn) -> Result<PropertyValue, WireStatus> {
    let urn = shared.generator.registered_urn(urn);
    let state = shared.generator.registered_state(&urn);
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
async fn provider_of(shared: &Shared, call: &MethodCall) -> Result<ProviderHandle, RequestError> {
    let this = call.arguments.get(SELF).and_then(reference);
    if call.token.starts_with(PROVIDER_METHODS) {
        let this =
            this.ok_or_else(|| WireStatus::unknown("missing __self__ argument for provider method call"))?;
        let id = this.id.as_ref().and_then(|id| id.as_ref().ok());
        let id = id.ok_or_else(|| WireStatus::unknown("missing __self__.id of a provider method call"))?;
        let reference = ProviderReference::new(this.urn.clone(), id.clone());
        return Ok(shared.providers.configured(&reference)?);
    }
    let mut choice = call.package.clone();
    let token = TypeToken::from(call.token.as_str());
    if choice.provider.is_empty()
        && let Some(this) = this
    {
        let urn = shared.generator.registered_urn(&this.urn);
        let state = shared.generator.registered_state(&urn);
        let state = state.ok_or_else(|| WireStatus::unknown(format!("unknown resource {}", this.urn)))?;
        choice.provider = match state.provider.is_empty() {
            // A component has no provider of its own in the state.
            true => shared
                .placement
                .inherited_provider(Some(&urn), token.asked_package()),
            false => state.provider.to_string(),
        };
    }
    let what = ProviderUse::Token(&call.token);
    shared
        .providers
        .serving(token.asked_package(), &choice, what)
        .await
}

/// The beginning of the tokens of methods of providers.
const PROVIDER_METHODS: &str = "pulumi:providers:";

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
