//! ReadResource.

use std::future::Future;

use stackwright_proto::pulumirpc::{ReadResourceRequest, ReadResourceResponse, Result as WireResult};

use super::options;
use crate::monitor::{Monitor, Read, WireStatus};

/// Reads the resource of a ReadResource request; its URN is claimed when this is called.
pub(in crate::monitor) fn read_resource(
    monitor: &Monitor,
    request: ReadResourceRequest,
) -> impl Future<Output = Result<ReadResourceResponse, WireStatus>> + Send + use<> {
    let (secrets, resources, bytes) = (
        request.accept_secrets,
        request.accept_resources,
        request.accepts_byte_string,
    );
    let reading = read_of(monitor, request).map(|read| monitor.read_as_named(read));
    async move {
        let read = reading?.await?;
        Ok(ReadResourceResponse {
            urn: read.urn.to_string(),
            properties: Some(options::answer(&read.outputs, secrets, resources, bytes)?),
            // Older programs ignore it, and find no resource.
            result: if read.failed {
                WireResult::Fail.into()
            } else {
                WireResult::Success.into()
            },
            unknown: read.unknown,
            id: read.id.as_str().to_owned(),
        })
    }
}

fn read_of(monitor: &Monitor, request: ReadResourceRequest) -> Result<Read, WireStatus> {
    let shared = &monitor.shared;
    let root = shared.run.root_directory.as_deref();
    Ok(Read {
        resource_type: request.r#type.into(),
        name: request.name,
        id: request.id.into(),
        parent: options::optional_urn(&request.parent, "parent")?,
        no_parent: request.parent.is_empty(),
        inputs: options::collapsed(request.properties, "properties")?,
        dependencies: options::urns(&request.dependencies, "dependency")?,
        package: options::package(
            request.provider,
            request.version,
            request.plugin_download_url,
            request.plugin_checksums,
            request.package_ref,
        ),
        additional_secret_outputs: request.additional_secret_outputs,
        source_position: shared.positions.position(root, request.source_position),
        stack_trace: monitor.traced(
            &request.parent_stack_trace_handle,
            shared.positions.trace(root, request.stack_trace),
        ),
    })
}
