//! The Engine service of one run, for its program.

use stackwright_proto::pulumirpc::{
    GetRootResourceRequest, GetRootResourceResponse, LogRequest, RequirePulumiVersionRequest,
    RequirePulumiVersionResponse, SetRootResourceRequest, SetRootResourceResponse, StartDebuggingRequest,
    engine_server::Engine,
};
use tonic::{Request, Response, Status};

use super::Service;
use crate::monitor::wire;

#[tonic::async_trait]
impl Engine for Service {
    async fn log(&self, request: Request<LogRequest>) -> Result<Response<()>, Status> {
        wire::log(&self.monitor, request.into_inner());
        Ok(Response::new(()))
    }

    async fn get_root_resource(
        &self,
        _request: Request<GetRootResourceRequest>,
    ) -> Result<Response<GetRootResourceResponse>, Status> {
        Ok(Response::new(wire::root_resource(&self.monitor)))
    }

    async fn set_root_resource(
        &self,
        request: Request<SetRootResourceRequest>,
    ) -> Result<Response<SetRootResourceResponse>, Status> {
        wire::set_root_resource(&self.monitor, request.get_ref())?;
        Ok(Response::new(SetRootResourceResponse {}))
    }

    async fn start_debugging(
        &self,
        _request: Request<StartDebuggingRequest>,
    ) -> Result<Response<()>, Status> {
        Err(Status::unimplemented("debuggers are not attached by this engine"))
    }

    async fn require_pulumi_version(
        &self,
        request: Request<RequirePulumiVersionRequest>,
    ) -> Result<Response<RequirePulumiVersionResponse>, Status> {
        wire::require_version(request.get_ref())?;
        Ok(Response::new(RequirePulumiVersionResponse {}))
    }
}
