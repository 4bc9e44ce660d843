//! Call.

use std::future::Future;

use stackwright_proto::pulumirpc::{
    CallResponse, CheckFailure, ResourceCallRequest, call_response::ReturnDependencies,
};

use super::options;
use crate::{
    monitor::{MethodCall, MethodResult, Monitor, WireStatus},
    property::wire::DecodeOptions,
    resource::PropertyDependencies,
    urn::Urn,
};

/// Calls the method of a Call request.
pub(in crate::monitor) fn call_method(
    monitor: &Monitor,
    request: ResourceCallRequest,
) -> impl Future<Output = Result<CallResponse, WireStatus>> + Send + use<> {
    let (bytes, outputs) = (request.accepts_byte_string, request.accept_output_values);
    let calling = method_call(monitor, request).map(|call| monitor.call_method(call));
    async move { response(calling?.await?, bytes, outputs) }
}

fn method_call(monitor: &Monitor, request: ResourceCallRequest) -> Result<MethodCall, WireStatus> {
    let root = monitor.run_info().root_directory.as_deref();
    let mut dependencies = PropertyDependencies::new();
    for (name, list) in request.arg_dependencies {
        let what = format!("dependency on argument {name}");
        dependencies.insert(name, options::urns(&list.urns, &what)?);
    }
    Ok(MethodCall {
        token: request.tok,
        of: None,
        arguments: options::values(request.args, &DecodeOptions::all("args"))?,
        argument_dependencies: dependencies,
        package: options::package(
            request.provider,
            request.version,
            request.plugin_download_url,
            request.plugin_checksums,
            request.package_ref,
        ),
        source_position: monitor.positions().position(root, request.source_position),
        stack_trace: monitor.traces().prepended(
            &request.parent_stack_trace_handle,
            monitor.positions().trace(root, request.stack_trace),
        ),
    })
}

fn response(result: MethodResult, bytes: bool, outputs: bool) -> Result<CallResponse, WireStatus> {
    let dependencies = result.result_dependencies.iter().map(|(name, list)| {
        let urns = list.iter().map(Urn::to_string).collect();
        (name.to_string(), ReturnDependencies { urns })
    });
    let failures = result.failures.into_iter().map(|failure| CheckFailure {
        property: failure.property,
        reason: failure.reason,
    });
    Ok(CallResponse {
        return_dependencies: dependencies.collect(),
        failures: failures.collect(),
        r#return: Some(options::answer_with(&result.result, true, true, bytes, outputs)?),
    })
}
