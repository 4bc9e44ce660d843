//! The Engine service of one run, for its program.

use stackwright_proto::pulumirpc::{
    GetRootResourceRequest, GetRootResourceResponse, LogRequest, RequirePulumiVersionRequest,
    RequirePulumiVersionResponse, SetRootResourceRequest, SetRootResourceResponse, StartDebuggingRequest,
    engine_server::Engine,
};
use tonic::{Request, Response, Status};

use super::Service;
use crate::monitor::require_version;

#[tonic::async_trait]
impl Engine for Service {
    async fn log(&self, request: Request<LogRequest>) -> Result<Response<()>, Status> {
        self.monitor.log_request(request.into_inner());
        Ok(Response::new(()))
    }

    async fn get_root_resource(
        &self,
        _request: Request<GetRootResourceRequest>,
    ) -> Result<Response<GetRootResourceResponse>, Status> {
        Ok(Response::new(self.monitor.root_resource()))
    }

    async fn set_root_resource(
        &self,
        request: Request<SetRootResourceRequest>,
    ) -> Result<Response<SetRootResourceResponse>, Status> {
        self.monitor.set_root_resource(request.get_ref())?;
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
        require_version(request.get_ref())?;
        Ok(Response::new(RequirePulumiVersionResponse {}))
    }
}
