//! Calls as bytes: the protocol's messages in and out, for programs in our own process.

use bytes::Bytes;
use futures::future::{BoxFuture, FutureExt as _};
use prost::Message;
use stackwright_proto::pulumirpc::{
    LogRequest, RegisterErrorHookRequest, RegisterPackageRequest, RegisterResourceHookRequest,
    RequirePulumiVersionRequest, ResourceCallRequest, SetRootResourceRequest, SupportsFeatureRequest,
};

use crate::{
    monitor::{Monitor, WireStatus, absent::Absent, require_version},
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
                    let registering = self.register_resource(request, false);
                    async move { Ok(registering.await?.encode_to_vec()) }.boxed()
                }
                Err(status) => failed(status),
            },
            "ResourceMonitor/ReadResource" => match decode(request) {
                Ok(request) => {
                    let reading = self.read_resource(request);
                    async move { Ok(reading.await?.encode_to_vec()) }.boxed()
                }
                Err(status) => failed(status),
            },
            "ResourceMonitor/RegisterResourceOutputs" => match decode(request) {
                Ok(request) => {
                    let registering = self.register_resource_outputs(request);
                    async move { registering.await.map(|()| Vec::new()) }.boxed()
                }
                Err(status) => failed(status),
            },
            "ResourceMonitor/Invoke" => match decode(request) {
                Ok(request) => {
                    let invoking = self.invoke_function(request);
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
                self.log_request(decode::<LogRequest>(request)?);
                Ok(Vec::new())
            }
            "Engine/GetRootResource" => Ok(self.root_resource().encode_to_vec()),
            "Engine/SetRootResource" => self
                .set_root_resource(&decode::<SetRootResourceRequest>(request)?)
                .map(|()| Vec::new()),
            "Engine/RequirePulumiVersion" => {
                require_version(&decode::<RequirePulumiVersionRequest>(request)?).map(|()| Vec::new())
            }
            "ResourceMonitor/SupportsFeature" => Ok(self
                .supports_feature(&decode::<SupportsFeatureRequest>(request)?.id)
                .encode_to_vec()),
            "ResourceMonitor/GetDeploymentInfo" => Ok(self.deployment_info().encode_to_vec()),
            "ResourceMonitor/RegisterPackage" => Ok(self
                .register_package(decode::<RegisterPackageRequest>(request)?)?
                .encode_to_vec()),
            "ResourceMonitor/Call" => {
                let token = decode::<ResourceCallRequest>(request)?.tok;
                Err(Absent::Call(token).into())
            }
            "ResourceMonitor/ExistsResource" => Err(Absent::ExistsResource.into()),
            "ResourceMonitor/RegisterStackTransform" => Err(Absent::StackTransform.into()),
            "ResourceMonitor/RegisterStackInvokeTransform" => Err(Absent::InvokeTransform.into()),
            "ResourceMonitor/RegisterResourceHook" => {
                let name = decode::<RegisterResourceHookRequest>(request)?.name;
                Err(Absent::ResourceHook(name).into())
            }
            "ResourceMonitor/RegisterErrorHook" => {
                let name = decode::<RegisterErrorHookRequest>(request)?.name;
                Err(Absent::ErrorHook(name).into())
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
