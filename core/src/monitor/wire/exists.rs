//! ExistsResource.

use std::future::Future;

use stackwright_proto::pulumirpc::{ExistsResourceRequest, ExistsResourceResponse};

use super::options;
use crate::monitor::{Exists, Monitor, WireStatus};

/// Answers an ExistsResource request.
pub(in crate::monitor) fn exists_resource(
    monitor: &Monitor,
    request: ExistsResourceRequest,
) -> impl Future<Output = Result<ExistsResourceResponse, WireStatus>> + Send + use<> {
    let finding = exists_of(request).map(|exists| monitor.exists(exists));
    async move {
        let exists = finding?.await?;
        Ok(ExistsResourceResponse {
            exists: exists.unwrap_or(false),
            unknown: exists.is_none(),
        })
    }
}

fn exists_of(request: ExistsResourceRequest) -> Result<Exists, WireStatus> {
    Ok(Exists {
        resource_type: request.r#type.into(),
        id: request.id.into(),
        parent: options::optional_urn(&request.parent, "parent")?,
        inputs: options::collapsed(request.properties, "properties")?,
        package: options::package(
            request.provider,
            request.version,
            request.plugin_download_url,
            request.plugin_checksums,
            request.package_ref,
        ),
        depends_on: Vec::new(),
    })
}
