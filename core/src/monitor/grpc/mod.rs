//! The gRPC transport through which other processes reach monitors and engines.

mod engine;
mod listening;
mod packages;
mod resource_monitor;

use std::sync::Arc;

use tonic::{Code, Status, service::Routes};

use stackwright_proto::pulumirpc::{
    engine_server::EngineServer, resource_monitor_server::ResourceMonitorServer,
};

use crate::{
    error::Result,
    monitor::{Monitor, WireStatus, run_packages::RunPackages},
    provider::PackageSource,
    runtime::Runtime,
};

pub(crate) use listening::Listening;
pub(crate) use packages::with_package_services;
pub(crate) use stackwright_proto::MESSAGE_LIMIT;

/// The ResourceMonitor and Engine services of one run, on a loopback port of their own, with Loader and Mapper beside
/// them, which load providers as the run does at the first request.
///
/// A pure transport: the monitor handles all requests, exactly as [`Monitor::call`] does. Accepted registrations
/// continue when their client disconnects, because their effects must be recorded. Dropping the server does not end the
/// monitor.
pub struct MonitorServer(Listening);

impl MonitorServer {
    /// Starts serving a monitor.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Unavailable`] when no port can be had.
    pub fn start(monitor: &Monitor, runtime: &Runtime) -> Result<Self> {
        let service = Service {
            monitor: monitor.clone(),
            runtime: runtime.clone(),
        };
        let resources = ResourceMonitorServer::new(service.clone())
            .max_decoding_message_size(MESSAGE_LIMIT)
            .max_encoding_message_size(MESSAGE_LIMIT);
        let engine = EngineServer::new(service)
            .max_decoding_message_size(MESSAGE_LIMIT)
            .max_encoding_message_size(MESSAGE_LIMIT);
        let source: Arc<dyn PackageSource> = Arc::new(RunPackages(monitor.clone()));
        let services = Routes::new(resources).add_service(engine);
        let services = with_package_services(services, &source);
        Listening::start(services, runtime).map(Self)
    }

    /// Returns the address of all services, such as `127.0.0.1:4711`.
    #[must_use]
    pub fn address(&self) -> String {
        self.0.address()
    }
}

impl std::fmt::Debug for MonitorServer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_tuple("MonitorServer")
            .field(&self.address())
            .finish()
    }
}

/// Answers the calls of the monitor and the engine.
#[derive(Clone)]
struct Service {
    monitor: Monitor,
    runtime: Runtime,
}

impl From<WireStatus> for Status {
    fn from(status: WireStatus) -> Self {
        Self::new(Code::from_i32(status.code), status.message)
    }
}
