//! Calls as bytes: the protocol's messages in and out, for programs in our own process.

use bytes::Bytes;
use futures::future::{BoxFuture, FutureExt as _};
use prost::Message;
use stackwright_proto::pulumirpc::{
    LogRequest, RegisterErrorHookRequest, RegisterPackageRequest, RegisterResourceHookRequest,
    RequirePulumiVersionRequest, ResourceCallRequest, SetRootResourceRequest, SupportsFeatureRequest,
};

use crate::{
    monitor::{Monitor, WireStatus, features::UnsupportedFeature, wire},
    provider::ProviderStatus,
};

type Answer = Result<Vec<u8>, WireStatus>;

impl Monitor {
    /// Calls a method of the ResourceMonitor or the Engine service, named `Service/Method`, with an encoded request.
    ///
    /// What must be decided in the order of arrival is decided when this is called, not when the future is polled.
    ///
    /// # Errors
    /// The status of the call; `Unimplemented` for a method that is not known, `InvalidArgument` for a request that
    /// cannot be decoded.
    pub fn call(&self, method: &str, request: Bytes) -> BoxFuture<'static, Answer> {
        let monitor = self.clone();
        match method {
            "ResourceMonitor/RegisterResource" => match decode(request) {
                Ok(request) => {
                    let registering = wire::register_resource(self, request, false);
                    async move { Ok(registering.await?.encode_to_vec()) }.boxed()
                }
                Err(status) => failed(status),
            },
            "ResourceMonitor/ReadResource" => match decode(request) {
                Ok(request) => {
                    let reading = wire::read_resource(self, request);
                    async move { Ok(reading.await?.encode_to_vec()) }.boxed()
                }
                Err(status) => failed(status),
            },
            "ResourceMonitor/RegisterResourceOutputs" => match decode(request) {
                Ok(request) => {
                    let registering = wire::register_resource_outputs(self, request);
                    async move { registering.await.map(|()| Vec::new()) }.boxed()
                }
                Err(status) => failed(status),
            },
            "ResourceMonitor/Invoke" => match decode(request) {
                Ok(request) => {
                    let invoking = wire::invoke(self, request);
                    async move { Ok(invoking.await?.encode_to_vec()) }.boxed()
                }
                Err(status) => failed(status),
            },
            "ResourceMonitor/SignalAndWaitForShutdown" => {
                async move { monitor.signal_and_wait_for_shutdown().await.map(|()| Vec::new()) }.boxed()
            }
            _ => futures::future::ready(self.call_at_once(method, request)).boxed(),
        }
    }

    /// Answers the methods that wait for nothing, without a future. `Unimplemented` for all others.
    ///
    /// # Errors
    /// As [`Self::call`].
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
            "ResourceMonitor/Call" => {
                let token = decode::<ResourceCallRequest>(request)?.tok;
                Err(UnsupportedFeature::Call(token).into())
            }
            "ResourceMonitor/ExistsResource" => Err(UnsupportedFeature::ExistsResource.into()),
            "ResourceMonitor/RegisterStackTransform" => Err(UnsupportedFeature::StackTransform.into()),
            "ResourceMonitor/RegisterStackInvokeTransform" => Err(UnsupportedFeature::InvokeTransform.into()),
            "ResourceMonitor/RegisterResourceHook" => {
                let name = decode::<RegisterResourceHookRequest>(request)?.name;
                Err(UnsupportedFeature::ResourceHook(name).into())
            }
            "ResourceMonitor/RegisterErrorHook" => {
                let name = decode::<RegisterErrorHookRequest>(request)?.name;
                Err(UnsupportedFeature::ErrorHook(name).into())
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

fn failed(status: WireStatus) -> BoxFuture<'static, Answer> {
    futures::future::ready(Err(status)).boxed()
}
