//! Calls as bytes: encoded protocol messages, for programs in the host's process.

use std::sync::Arc;

use bytes::Bytes;
use futures::future::{BoxFuture, FutureExt as _};
use prost::Message;
use stackwright_proto::pulumirpc::{
    Callback, LogRequest, RegisterErrorHookRequest, RegisterPackageRequest, RegisterResourceHookRequest,
    RequirePulumiVersionRequest, ResourceCallRequest, SetRootResourceRequest, SupportsFeatureRequest,
};

use crate::{
    monitor::{Monitor, WireStatus, admission::Start, wire},
    provider::ProviderStatus,
};

type Answer = Result<Vec<u8>, WireStatus>;

impl Monitor {
    /// Calls a method of the ResourceMonitor or the Engine service, named `Service/Method`, with an encoded request.
    ///
    /// Decisions that depend on the order of arrival are made in this call, not when the future is polled. The work begins on
    /// the calling thread, and continues as a task of the runtime when it has to wait.
    ///
    /// # Errors
    /// The status of the call; `Unimplemented` for a method that is not known, `InvalidArgument` for a request that
    /// cannot be decoded.
    ///
    /// # Cancel safety
    /// That of the method: registrations, reads and publications of outputs continue when the future is dropped; calls of
    /// functions and methods are cancelled.
    pub fn call(&self, method: &str, request: Bytes) -> BoxFuture<'static, Answer> {
        let monitor = &Self {
            shared: Arc::clone(&self.shared),
            start: Start::Inline,
            trace: Arc::clone(&self.trace),
        };
        match method {
            "ResourceMonitor/RegisterResource" => answered(decode(request), |request| {
                wire::register_resource(monitor, request, false)
            }),
            "ResourceMonitor/ReadResource" => {
                answered(decode(request), |request| wire::read_resource(monitor, request))
            }
            "ResourceMonitor/RegisterResourceOutputs" => answered(decode(request), |request| {
                wire::register_resource_outputs(monitor, request)
            }),
            "ResourceMonitor/Invoke" => answered(decode(request), |request| wire::invoke(monitor, request)),
            "ResourceMonitor/Call" => answered(decode(request), |request: ResourceCallRequest| {
                wire::call_method(monitor, request)
            }),
            "ResourceMonitor/ExistsResource" => {
                answered(decode(request), |request| wire::exists_resource(monitor, request))
            }
            "ResourceMonitor/SignalAndWaitForShutdown" => {
                let monitor = monitor.clone();
                async move { monitor.signal_and_wait_for_shutdown().await.map(|()| Vec::new()) }.boxed()
            }
            _ => futures::future::ready(self.call_at_once(method, request)).boxed(),
        }
    }

    /// Handles the methods that never wait, without a future. `Unimplemented` for all others.
    ///
    /// # Errors
    /// Those of [`Self::call`].
    pub fn call_at_once(&self, method: &str, request: Bytes) -> Answer {
        match method {
            "Engine/Log" => {
                wire::log(self, decode::<LogRequest>(request)?);
                Ok(Vec::new())
            }
            "Engine/GetRootResource" => Ok(wire::root_resource(self).encode_to_vec()),
            "Engine/SetRootResource" => {
                wire::set_root_resource(self, &decode::<SetRootResourceRequest>(request)?)
                    .map(|()| Vec::new())
            }
            "Engine/RequirePulumiVersion" => {
                wire::require_version(&decode::<RequirePulumiVersionRequest>(request)?).map(|()| Vec::new())
            }
            "ResourceMonitor/SupportsFeature" => {
                let id = decode::<SupportsFeatureRequest>(request)?.id;
                Ok(wire::supports_feature(self, &id).encode_to_vec())
            }
            "ResourceMonitor/GetDeploymentInfo" => Ok(wire::deployment_info(self).encode_to_vec()),
            "ResourceMonitor/RegisterPackage" => {
                let request = decode::<RegisterPackageRequest>(request)?;
                Ok(wire::register_package(self, request)?.encode_to_vec())
            }
            "ResourceMonitor/RegisterStackTransform" => {
                wire::register_stack_transform(self, decode::<Callback>(request)?).map(|()| Vec::new())
            }
            "ResourceMonitor/RegisterStackInvokeTransform" => {
                wire::register_stack_invoke_transform(self, decode::<Callback>(request)?).map(|()| Vec::new())
            }
            "ResourceMonitor/RegisterResourceHook" => {
                let request = decode::<RegisterResourceHookRequest>(request)?;
                wire::register_resource_hook(self, request).map(|()| Vec::new())
            }
            "ResourceMonitor/RegisterErrorHook" => {
                let request = decode::<RegisterErrorHookRequest>(request)?;
                wire::register_error_hook(self, request).map(|()| Vec::new())
            }
            _ => Err(WireStatus::new(
                ProviderStatus::Unimplemented,
                format!("unknown method {method}"),
            )),
        }
    }
}

fn decode<M: Message + Default>(request: Bytes) -> Result<M, WireStatus> {
    M::decode(request).map_err(|error| WireStatus::invalid(format!("malformed request: {error}")))
}

/// Starts handling a request; the future encodes the response.
fn answered<Q, A: Message, W>(
    request: Result<Q, WireStatus>,
    begin: impl FnOnce(Q) -> W,
) -> BoxFuture<'static, Answer>
where
    W: Future<Output = Result<A, WireStatus>> + Send + 'static,
{
    match request.map(begin) {
        Ok(answering) => async move { Ok(answering.await?.encode_to_vec()) }.boxed(),
        Err(status) => futures::future::ready(Err(status)).boxed(),
    }
}
