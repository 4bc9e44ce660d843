//! Remote components: their providers construct them, and register what belongs to them at this monitor.

use std::sync::Arc;

use crate::{
    executor::AbandonedCall,
    monitor::{
        Monitor, Registered, Registration, WireStatus,
        failed_call::{FailedCall, unless_panicked},
        in_flight::Flight,
        parents::provider_package,
        providers::ProviderUse,
        request_error::RequestError,
        traces::{TraceHandle, place_of_use},
    },
    property::PropertyMap,
    provider::{ConstructRequest, ConstructResponse, ProviderError},
    resource::PropertyDependencies,
    token::ResourceId,
    urn::Urn,
};

/// Constructs a remote component; the registration is complete but for its provider.
pub(super) async fn construct(
    monitor: &Monitor,
    registration: Box<Registration>,
    flight: Flight,
) -> Result<Registered, WireStatus> {
    let constructed = construct_accepted(monitor, registration).await;
    monitor.shared.admission.conclude(constructed, flight).await
}

async fn construct_accepted(
    monitor: &Monitor,
    registration: Box<Registration>,
) -> Result<Registered, RequestError> {
    let shared = &monitor.shared;
    let urn = shared.placement.urn_of(&registration);
    let package = registration.resource_type.package();
    let what = ProviderUse::Resource(&urn);
    let refused = |error: &RequestError| shared.reports.refused.note(&registration, error);
    let provider = shared
        .providers
        .serving(package, &registration.package, what)
        .await;
    let provider = provider.inspect_err(refused)?;
    if provider.provider.is_unconfigured() {
        return construct_bare(monitor, *registration).await;
    }
    let (label, inputs) = (format!("inputs of {urn}"), registration.inputs.clone());
    let inputs = shared.values.inspect_assets(&label, inputs, &urn).await;
    let inputs = inputs.inspect_err(refused)?;
    // Known until the component is constructed.
    let random = &*monitor.runtime().random;
    let Registration {
        source_position,
        stack_trace,
        ..
    } = &*registration;
    let trace = shared.traces.issue(random, source_position, stack_trace);
    let request = request_of(monitor, &registration, inputs, &trace);
    let executor = shared.generator.executor();
    let given = registration.inputs.clone().collapse_outputs();
    let constructing = executor.constructing(&urn, package, given);
    let answer = unless_panicked(provider.provider.construct(request));
    let answer = shared
        .admission
        .within_limit(&provider, "construct", urn.as_str(), answer);
    let answer = shared
        .admission
        .unless_silent(answer, || AbandonedCall::on(&urn, "construct"))
        .await?;
    drop(trace);
    match answer.and_then(|response| executor.sanitizer().sanitize_construct(response)) {
        Ok(response) => {
            shared.values.learn(&response.outputs);
            let mut registered = registered(response);
            registered.outputs = executor.with_secrets_of_construct(&urn, registered.outputs);
            drop(constructing);
            Ok(registered)
        }
        Err(error) => Err(failed(monitor, &registration, &urn, &error).into()),
    }
}

/// Returns the request to construct a component.
fn request_of(
    monitor: &Monitor,
    registration: &Registration,
    inputs: PropertyMap,
    trace: &TraceHandle,
) -> ConstructRequest {
    let inputs = inputs.upgrade_to_outputs();
    let listed = registration.property_dependencies.clone();
    let input_dependencies = listed.unwrap_or_else(|| {
        let names = inputs.keys().cloned();
        PropertyDependencies::sharing(names, registration.dependencies.clone())
    });
    let mut providers = registration.providers.clone();
    let own = &registration.package.provider;
    if !own.is_empty() {
        // As the SDKs do: what the component registers has its provider, too.
        let package = provider_package(own).to_owned();
        providers.entry(package).or_insert_with(|| own.clone());
    }
    ConstructRequest {
        monitor: monitor.within(trace).handle(),
        run: Arc::clone(monitor.run_info()),
        resource_type: registration.resource_type.clone(),
        name: registration.name.clone(),
        parent: registration.parent.clone(),
        inputs,
        input_dependencies,
        dependencies: registration.dependencies.clone(),
        providers,
        protect: registration.protect,
        delete_before_replace: registration.delete_before_replace,
        retain_on_delete: registration.retain_on_delete,
        aliases: registration.aliases.clone(),
        options: registration.options.clone(),
        stack_trace_handle: trace.text(),
    }
}

fn registered(response: ConstructResponse) -> Registered {
    Registered {
        urn: response.urn,
        id: ResourceId::default(),
        outputs: response.outputs.collapse_outputs(),
        output_dependencies: response.output_dependencies,
        unknown: false,
        failed: false,
        skipped: false,
    }
}

/// Reports the failure of a component; returns the status of its registration.
fn failed(monitor: &Monitor, registration: &Registration, urn: &Urn, error: &ProviderError) -> WireStatus {
    let Registration {
        resource_type, name, ..
    } = registration;
    let used = place_of_use(&registration.source_position, &registration.stack_trace);
    let failed = FailedCall {
        head: format!("{resource_type} resource '{name}' has a problem: "),
        package: resource_type.package(),
        method: "construct",
        urn: Some(urn),
        used: used.map(|place| format!("the component is used at {place}")),
    };
    failed.report(monitor.shared.generator.executor(), error, &registration.inputs)
}

/// Registers a component whose provider cannot be called: it is shown without its children.
async fn construct_bare(monitor: &Monitor, registration: Registration) -> Result<Registered, RequestError> {
    let bare = Registration {
        resource_type: registration.resource_type,
        name: registration.name,
        parent: registration.parent,
        no_parent: registration.no_parent,
        ..Registration::default()
    };
    Ok(Registered {
        outputs: PropertyMap::new(),
        ..monitor.register(bare).await?
    })
}
