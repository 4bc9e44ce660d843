//! Call.

use std::future::Future;

use stackwright_proto::pulumirpc::{
    CallResponse, CheckFailure, ResourceCallRequest, call_response::ReturnDependencies,
};

use super::options;
use crate::{
    monitor::{MethodCall, MethodResult, Monitor, WireStatus, method},
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
    let calling = method_call(monitor, request).map(|call| method::call_method(monitor, call));
    async move { response(calling?.await?, bytes, outputs) }
}

fn method_call(monitor: &Monitor, request: ResourceCallRequest) -> Result<MethodCall, WireStatus> {
    let shared = &monitor.shared;
    let root = shared.run.root_directory.as_deref();
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
        source_position: shared.positions.position(root, request.source_position),
        stack_trace: monitor.traced(
            &request.parent_stack_trace_handle,
            shared.positions.trace(root, request.stack_trace),
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::property::{Output, PropertyMap, PropertyValue, wire::from_struct};

    #[test]
    fn a_program_gets_output_values_only_if_it_accepts_them_and_the_dependencies_in_any_case() {
        let urn = Urn::root_stack("dev", "shop");
        let output = PropertyValue::Output(Arc::new(Output {
            element: Some("x".into()),
            secret: true,
            dependencies: vec![urn.clone()],
        }));
        let secret = PropertyValue::secret("x".into());
        for (accepts, expected) in [(true, output.clone()), (false, secret)] {
            let result = MethodResult {
                result: PropertyMap::from_iter([("opened", output.clone())]),
                result_dependencies: PropertyDependencies::sharing(["opened".into()], vec![urn.clone()]),
                failures: Vec::new(),
            };
            let answer = response(result, true, accepts).unwrap();
            let received = from_struct(answer.r#return.unwrap(), &DecodeOptions::all("return")).unwrap();
            assert_eq!(received, PropertyMap::from_iter([("opened", expected)]));
            let listed = &answer.return_dependencies["opened"].urns;
            assert_eq!(listed, &[urn.to_string()]);
        }
    }
}
