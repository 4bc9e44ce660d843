//! Construct and Call: requests and responses.

use std::collections::BTreeMap;

use stackwright_proto::{
    pulumirpc::{self, call_response::ReturnDependencies, construct_request, construct_response},
    values::Struct,
};

use super::{
    GrpcProvider,
    values::{Unknowns, encode, sending},
};
use crate::{
    property::{
        PropertyMap,
        wire::{DecodeOptions, EncodeOptions, from_struct, to_value},
    },
    provider::{
        Capabilities, CheckFailure, ConstructRequest, ConstructResponse, MethodRequest, MethodResponse,
        ProviderError, ProviderResult, ProviderStatus,
    },
    resource::{Alias, PropertyDependencies, duration::seconds_text, wire},
    run_info::RunInfo,
    urn::Urn,
};

pub(super) async fn construct(
    provider: &GrpcProvider,
    request: ConstructRequest,
) -> ProviderResult<ConstructResponse> {
    let capabilities = provider.configured().await?;
    let unknowns = Unknowns::in_preview(request.run.dry_run);
    let message = construct_message(request, capabilities, unknowns)?;
    let answer = match provider.client().construct(message).await {
        Ok(answer) => answer.into_inner(),
        Err(failure) => {
            return Err(provider
                .peer
                .call_error("Construct", failure, &provider.runtime)
                .await);
        }
    };
    let malformed = |what: String| {
        let text = format!(
            "malformed Construct response from provider `{}`: {what}",
            provider.name()
        );
        ProviderError::new(ProviderStatus::Internal, text)
    };
    let urn = Urn::parse(&answer.urn).map_err(|error| malformed(error.to_string()))?;
    let outputs = decode_outputs("state", answer.state).map_err(malformed)?;
    let listed = answer.state_dependencies.into_iter();
    let listed = listed.map(|(name, list): (_, construct_response::PropertyDependencies)| (name, list.urns));
    let output_dependencies = dependencies(&outputs, listed).map_err(malformed)?;
    Ok(ConstructResponse {
        urn,
        outputs,
        output_dependencies,
    })
}

pub(super) async fn call(provider: &GrpcProvider, request: MethodRequest) -> ProviderResult<MethodResponse> {
    let capabilities = provider.configured().await?;
    let unknowns = Unknowns::in_preview(request.run.dry_run);
    let message = method_message(request, capabilities, unknowns)?;
    let answer = match provider.client().call(message).await {
        Ok(answer) => answer.into_inner(),
        Err(failure) => return Err(provider.peer.call_error("Call", failure, &provider.runtime).await),
    };
    let malformed = |what: String| {
        let text = format!(
            "malformed Call response from provider `{}`: {what}",
            provider.name()
        );
        ProviderError::new(ProviderStatus::Internal, text)
    };
    let result = decode_outputs("return", answer.r#return).map_err(malformed)?;
    let listed = answer.return_dependencies.into_iter();
    let listed = listed.map(|(name, list): (_, ReturnDependencies)| (name, list.urns));
    let result_dependencies = dependencies(&result, listed).map_err(malformed)?;
    let failures = answer.failures.into_iter().map(|failure| CheckFailure {
        property: failure.property,
        reason: failure.reason,
    });
    Ok(MethodResponse {
        result,
        result_dependencies,
        failures: failures.collect(),
    })
}

/// Returns the encoding of inputs; output values are sent to providers that accept them.
const fn sending_inputs(
    label: &'static str,
    capabilities: Capabilities,
    unknowns: Unknowns,
) -> EncodeOptions {
    EncodeOptions {
        keep_outputs: capabilities.accept_outputs,
        whole_outputs: true,
        keep_resources: true,
        ..sending(label, capabilities, unknowns)
    }
}

/// Returns the encoding of a method's arguments.
const fn sending_arguments(capabilities: Capabilities, unknowns: Unknowns) -> EncodeOptions {
    EncodeOptions {
        keep_outputs: capabilities.accept_outputs || capabilities.accept_outputs_in_call,
        ..sending_inputs("arguments", capabilities, unknowns)
    }
}

/// Decodes outputs. They may be unknown in an update, too: the code may have registered something, or got an input, that is not
/// among the targets and does not exist.
fn decode_outputs(label: &'static str, message: Option<Struct>) -> Result<PropertyMap, String> {
    from_struct(message.unwrap_or_default(), &DecodeOptions::all(label))
        .map_err(|error| error.message().to_owned())
}

/// Returns the dependencies of each property: those that the message lists, and those in its output values.
fn dependencies(
    values: &PropertyMap,
    listed: impl Iterator<Item = (String, Vec<String>)>,
) -> Result<PropertyDependencies, String> {
    let mut known = PropertyDependencies::new();
    for (name, urns) in listed {
        let urns: Result<Vec<_>, _> = urns.iter().map(|urn| Urn::parse(urn)).collect();
        known.insert(name, urns.map_err(|error| error.to_string())?);
    }
    for (name, value) in values.iter() {
        known.add_outputs(name, value);
    }
    Ok(known)
}

/// Encodes aliases as they are given, and those that are not URNs as URNs, too: the library of providers for Go leaves out the
/// others from version 1.3 on, so that what is below a renamed component would be replaced.
fn aliases(given: &[Alias], former_urns: Vec<Urn>) -> Vec<pulumirpc::Alias> {
    let specs = given.iter().zip(former_urns);
    let specs = specs.filter(|(alias, _)| matches!(alias, Alias::Spec { .. }));
    let as_urns: Vec<_> = specs.map(|(_, urn)| Alias::Urn(urn)).collect();
    let mut encoded = wire::aliases(given);
    encoded.extend(wire::aliases(&as_urns));
    encoded
}

fn urns(urns: &[Urn]) -> Vec<String> {
    urns.iter().map(Urn::to_string).collect()
}

fn construct_message(
    request: ConstructRequest,
    capabilities: Capabilities,
    unknowns: Unknowns,
) -> ProviderResult<pulumirpc::ConstructRequest> {
    let address = request.monitor.address().map_err(unavailable)?;
    let options = &request.options;
    let replacement_trigger = match &options.replacement_trigger {
        Some(trigger) => to_value(trigger, &sending("replacement trigger", capabilities, unknowns))
            .map_err(|error| ProviderError::new(ProviderStatus::InvalidArgument, error.message()))?,
        None => None,
    };
    let input_dependencies = request.input_dependencies.iter().map(|(name, list)| {
        let dependencies = construct_request::PropertyDependencies { urns: urns(list) };
        (name.to_string(), dependencies)
    });
    let timeouts = options.custom_timeouts;
    let hooks = wire::hooks(&options.resource_hooks);
    // Hosts of older SDKs read these alone: that of Go until 3.169 knows no others.
    let former_urns = request.former_urns();
    let alias_ur_ns = urns(&former_urns);
    let RunInfo {
        project,
        stack,
        organization,
        config,
        config_secret_keys,
        dry_run,
        parallel,
        ..
    } = RunInfo::clone(&request.run);
    Ok(pulumirpc::ConstructRequest {
        project,
        stack,
        organization,
        config,
        config_secret_keys,
        dry_run,
        parallel,
        monitor_endpoint: address,
        r#type: request.resource_type.to_string(),
        name: request.name,
        parent: request.parent.as_ref().map(Urn::to_string).unwrap_or_default(),
        inputs: encode(&request.inputs, &sending_inputs("inputs", capabilities, unknowns))?,
        input_dependencies: input_dependencies.collect(),
        dependencies: urns(&request.dependencies),
        protect: request.protect,
        providers: request.providers,
        alias_ur_ns,
        aliases: aliases(&request.aliases, former_urns),
        custom_timeouts: (!timeouts.is_empty()).then(|| construct_request::CustomTimeouts {
            create: seconds_text(timeouts.create),
            update: seconds_text(timeouts.update),
            delete: seconds_text(timeouts.delete),
            read: seconds_text(timeouts.read),
        }),
        additional_secret_outputs: options.additional_secret_outputs.clone(),
        deleted_with: options
            .deleted_with
            .as_ref()
            .map(Urn::to_string)
            .unwrap_or_default(),
        delete_before_replace: request.delete_before_replace,
        ignore_changes: options.ignore_changes.clone(),
        replace_on_changes: options.replace_on_changes.clone(),
        replace_with: urns(&options.replace_with),
        replacement_trigger,
        retain_on_delete: request.retain_on_delete,
        // The component binds them again; those on errors are not passed on.
        resource_hooks: hooks.map(|hooks| construct_request::ResourceHooksBinding {
            before_create: hooks.before_create,
            after_create: hooks.after_create,
            before_update: hooks.before_update,
            after_update: hooks.after_update,
            before_delete: hooks.before_delete,
            after_delete: hooks.after_delete,
            on_error: Vec::new(),
        }),
        accepts_output_values: true,
        stack_trace_handle: request.stack_trace_handle,
    })
}

fn method_message(
    request: MethodRequest,
    capabilities: Capabilities,
    unknowns: Unknowns,
) -> ProviderResult<pulumirpc::CallRequest> {
    let address = request.monitor.address().map_err(unavailable)?;
    let dependencies = request.argument_dependencies.iter().map(|(name, list)| {
        let dependencies = pulumirpc::call_request::ArgumentDependencies { urns: urns(list) };
        (name.to_string(), dependencies)
    });
    let arg_dependencies: BTreeMap<_, _> = dependencies.collect();
    let RunInfo {
        project,
        stack,
        organization,
        config,
        config_secret_keys,
        dry_run,
        parallel,
        ..
    } = RunInfo::clone(&request.run);
    Ok(pulumirpc::CallRequest {
        tok: request.token,
        args: encode(&request.arguments, &sending_arguments(capabilities, unknowns))?,
        arg_dependencies,
        project,
        stack,
        organization,
        config,
        config_secret_keys,
        dry_run,
        parallel,
        monitor_endpoint: address,
        accepts_output_values: true,
        stack_trace_handle: request.stack_trace_handle,
    })
}

fn unavailable(error: crate::Error) -> ProviderError {
    ProviderError::new(ProviderStatus::Unavailable, error.message())
}
