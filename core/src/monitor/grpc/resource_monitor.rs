//! The ResourceMonitor service of one run.

use std::future::Future;

use stackwright_proto::pulumirpc::{
    CallResponse, Callback, DeploymentInfo, ExistsResourceRequest, ExistsResourceResponse,
    ReadResourceRequest, ReadResourceResponse, RegisterErrorHookRequest, RegisterPackageRequest,
    RegisterPackageResponse, RegisterResourceHookRequest, RegisterResourceOutputsRequest,
    RegisterResourceRequest, RegisterResourceResponse, ResourceCallRequest, ResourceInvokeRequest,
    ResourceInvokeResponse, SupportsFeatureRequest, SupportsFeatureResponse,
    resource_monitor_server::ResourceMonitor,
};
use tonic::{Request, Response, Status, metadata::MetadataMap};

use super::Service;
use crate::{
    monitor::{WireStatus, wire},
    moves::ProgramLanguage,
    urn::ROOT_STACK_TYPE,
};

type Answer<T> = Result<Response<T>, Status>;

impl Service {
    /// Handles a request in its own task: a client that disconnects must not abort a step.
    async fn answer<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, WireStatus>> + Send + 'static,
    ) -> Answer<T> {
        match self.runtime.spawner.spawn(work).await {
            Ok(answer) => Ok(Response::new(answer?)),
            Err(error) => Err(Status::internal(error.message())),
        }
    }
}

#[tonic::async_trait]
impl ResourceMonitor for Service {
    async fn get_deployment_info(&self, _request: Request<()>) -> Answer<DeploymentInfo> {
        Ok(Response::new(wire::deployment_info(&self.monitor)))
    }

    async fn supports_feature(
        &self,
        request: Request<SupportsFeatureRequest>,
    ) -> Answer<SupportsFeatureResponse> {
        let id = &request.get_ref().id;
        Ok(Response::new(wire::supports_feature(&self.monitor, id)))
    }

    async fn invoke(&self, request: Request<ResourceInvokeRequest>) -> Answer<ResourceInvokeResponse> {
        let monitor = self.monitor.clone();
        self.answer(async move { wire::invoke(&monitor, request.into_inner()).await })
            .await
    }

    async fn call(&self, request: Request<ResourceCallRequest>) -> Answer<CallResponse> {
        let monitor = self.monitor.clone();
        self.answer(async move { wire::call_method(&monitor, request.into_inner()).await })
            .await
    }

    async fn read_resource(&self, request: Request<ReadResourceRequest>) -> Answer<ReadResourceResponse> {
        let reading = wire::read_resource(&self.monitor, request.into_inner());
        Ok(Response::new(reading.await?))
    }

    async fn exists_resource(
        &self,
        request: Request<ExistsResourceRequest>,
    ) -> Answer<ExistsResourceResponse> {
        let monitor = self.monitor.clone();
        self.answer(async move { wire::exists_resource(&monitor, request.into_inner()).await })
            .await
    }

    async fn register_resource(
        &self,
        request: Request<RegisterResourceRequest>,
    ) -> Answer<RegisterResourceResponse> {
        let from_node = is_from_node(request.metadata());
        if request.get_ref().r#type == ROOT_STACK_TYPE {
            self.monitor.note_sdk(sdk_of(request.metadata()));
        }
        let registering = wire::register_resource(&self.monitor, request.into_inner(), from_node);
        Ok(Response::new(registering.await?))
    }

    async fn register_resource_outputs(
        &self,
        request: Request<RegisterResourceOutputsRequest>,
    ) -> Answer<()> {
        let monitor = self.monitor.clone();
        self.answer(async move { wire::register_resource_outputs(&monitor, request.into_inner()).await })
            .await
    }

    async fn register_stack_transform(&self, request: Request<Callback>) -> Answer<()> {
        wire::register_stack_transform(&self.monitor, request.into_inner())?;
        Ok(Response::new(()))
    }

    async fn register_stack_invoke_transform(&self, request: Request<Callback>) -> Answer<()> {
        wire::register_stack_invoke_transform(&self.monitor, request.into_inner())?;
        Ok(Response::new(()))
    }

    async fn register_resource_hook(&self, request: Request<RegisterResourceHookRequest>) -> Answer<()> {
        wire::register_resource_hook(&self.monitor, request.into_inner())?;
        Ok(Response::new(()))
    }

    async fn register_error_hook(&self, request: Request<RegisterErrorHookRequest>) -> Answer<()> {
        wire::register_error_hook(&self.monitor, request.into_inner())?;
        Ok(Response::new(()))
    }

    async fn register_package(
        &self,
        request: Request<RegisterPackageRequest>,
    ) -> Answer<RegisterPackageResponse> {
        let request = request.into_inner();
        Ok(Response::new(wire::register_package(&self.monitor, request)?))
    }

    async fn signal_and_wait_for_shutdown(&self, _request: Request<()>) -> Answer<()> {
        self.monitor.signal_and_wait_for_shutdown().await?;
        Ok(Response::new(()))
    }
}

/// Returns the language of the SDK that a request comes from, by its metadata or its gRPC library.
fn sdk_of(metadata: &MetadataMap) -> ProgramLanguage {
    if is_from_node(metadata) {
        return ProgramLanguage::NodeSdk;
    }
    let is_python = match metadata.get("pulumi-runtime") {
        Some(runtime) => runtime == "python",
        None => metadata.get("user-agent").is_some_and(|agent| {
            let library: &[u8] = b"grpc-python";
            agent.as_bytes().starts_with(library)
        }),
    };
    if is_python {
        ProgramLanguage::PythonSdk
    } else {
        ProgramLanguage::Unknown
    }
}

/// Returns whether a request comes from the Node SDK, whose older versions encode aliases differently: by its metadata
/// or, without any, by its gRPC library.
fn is_from_node(metadata: &MetadataMap) -> bool {
    match metadata.get("pulumi-runtime") {
        Some(runtime) => runtime == "nodejs",
        None => metadata
            .get("user-agent")
            .is_some_and(|agent| agent.as_bytes().starts_with(b"grpc-node-js/")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(entries: &[(&'static str, &'static str)]) -> MetadataMap {
        let mut metadata = MetadataMap::new();
        for (key, value) in entries {
            metadata.insert(*key, value.parse().unwrap());
        }
        metadata
    }

    #[test]
    fn node_is_known_by_its_word_and_else_by_its_grpc_library() {
        let library = ("user-agent", "grpc-node-js/1.10.0 grpc-js");
        assert!(is_from_node(&metadata(&[("pulumi-runtime", "nodejs")])));
        assert!(is_from_node(&metadata(&[library])));
        assert!(!is_from_node(&metadata(&[("pulumi-runtime", "python"), library])));
        assert!(!is_from_node(&metadata(&[("user-agent", "grpc-python/1.60.0")])));
        assert!(!is_from_node(&metadata(&[])));
    }

    #[test]
    fn the_language_of_an_sdk_is_known_by_its_word_or_its_library() {
        for (entries, expected) in [
            (&[("pulumi-runtime", "nodejs")][..], ProgramLanguage::NodeSdk),
            (&[("user-agent", "grpc-node-js/1.10.0")], ProgramLanguage::NodeSdk),
            (
                &[("user-agent", "grpc-python-asyncio/1.60.0")],
                ProgramLanguage::PythonSdk,
            ),
            (&[("pulumi-runtime", "python")], ProgramLanguage::PythonSdk),
            (&[("user-agent", "grpc-go/1.60.0")], ProgramLanguage::Unknown),
        ] {
            assert_eq!(sdk_of(&metadata(entries)), expected, "{entries:?}");
        }
    }
}
