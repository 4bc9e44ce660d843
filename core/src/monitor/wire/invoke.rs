//! Invoke.

use std::future::Future;

use stackwright_proto::pulumirpc::{CheckFailure, ResourceInvokeRequest, ResourceInvokeResponse};

use super::options;
use crate::{
    monitor::{
        Invoke, Monitor, WireStatus,
        invoke::{self, Invoked},
    },
    property::wire::DecodeOptions,
};

/// Calls the function of an Invoke request.
pub(in crate::monitor) fn invoke(
    monitor: &Monitor,
    request: ResourceInvokeRequest,
) -> impl Future<Output = Result<ResourceInvokeResponse, WireStatus>> + Send + use<> {
    // That function returns references to resources also to programs that do not accept them.
    let resources = request.accept_resources || request.tok == "pulumi:pulumi:getResource";
    let (bytes, outputs) = (request.accepts_byte_string, request.accept_output_values);
    let invoking = invocation(request).map(|invoke| invoke::invoke(monitor, invoke));
    async move { response(invoking?.await?, resources, bytes, outputs) }
}

fn invocation(request: ResourceInvokeRequest) -> Result<Invoke, WireStatus> {
    Ok(Invoke {
        token: request.tok,
        arguments: options::values(request.args, &DecodeOptions::all("args"))?,
        package: options::package(
            request.provider,
            request.version,
            request.plugin_download_url,
            request.plugin_checksums,
            request.package_ref,
        ),
        parent: options::optional_urn(&request.parent, "parent")?,
        depends_on: options::urns(&request.depends_on, "dependency")?,
        in_transform: false,
    })
}

fn response(
    invoked: Invoked,
    resources: bool,
    bytes: bool,
    outputs: bool,
) -> Result<ResourceInvokeResponse, WireStatus> {
    let answer = match invoked {
        Invoked::Unknown => {
            return Ok(ResourceInvokeResponse {
                unknown: true,
                ..Default::default()
            });
        }
        Invoked::Answer(answer) => answer,
    };
    let failures = answer
        .failures
        .into_iter()
        .map(|failure| CheckFailure {
            property: failure.property,
            reason: failure.reason,
        })
        .collect();
    Ok(ResourceInvokeResponse {
        r#return: Some(options::answer_with(
            &answer.result,
            true,
            resources,
            bytes,
            outputs,
        )?),
        failures,
        unknown: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        property::{Output, PropertyMap, PropertyValue, wire::from_struct},
        provider::InvokeResponse,
        urn::Urn,
    };

    #[test]
    fn output_values_are_returned_to_programs_that_accept_them() {
        let output = PropertyValue::Output(std::sync::Arc::new(Output {
            element: Some("x".into()),
            secret: false,
            dependencies: vec![Urn::new("dev", "shop", "", "files:index:File", "a")],
        }));
        let result = PropertyMap::from_iter([("path", output.clone())]);
        for (accepts, expected) in [(true, output), (false, "x".into())] {
            let answer = InvokeResponse {
                result: result.clone(),
                failures: Vec::new(),
            };
            let message = response(Invoked::Answer(answer), true, true, accepts).unwrap();
            let returned = from_struct(message.r#return.unwrap(), &DecodeOptions::all("return")).unwrap();
            assert_eq!(returned.get("path"), Some(&expected));
        }
    }
}
