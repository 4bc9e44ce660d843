//! The services of one engine for plugin processes, whichever operation they work for: where they say things, and where
//! they tell of views.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use async_trait::async_trait;
use stackwright_proto::pulumirpc::{
    GetRootResourceRequest, GetRootResourceResponse, LogRequest, RequirePulumiVersionRequest,
    RequirePulumiVersionResponse, SetRootResourceRequest, SetRootResourceResponse, StartDebuggingRequest,
    engine_server::{Engine, EngineServer},
    resource_status_server::ResourceStatusServer,
};
use tonic::{Request, Response, Status, service::Routes};

use crate::{
    diagnostic::Diagnostic,
    error::Result,
    event::EventSink,
    monitor::{Listening, MESSAGE_LIMIT, diagnostic_of, require_version, with_package_services},
    provider::{EngineAddress, PackageSource, grpc::ViewTokens},
    runtime::Runtime,
    urn::Urn,
};

/// The Engine and ResourceStatus services for the plugin processes of one engine.
///
/// It listens from the first time that its address is asked for until it is dropped. The address outlives
/// operations, because the processes that were given it do. Once closed, it listens only while operations run.
/// Plugins get schemas and mappings at the same address.
pub(crate) struct EngineService {
    runtime: Runtime,
    operations: Operations,
    /// Who loads the providers that are asked about their packages.
    packages: OnceLock<Arc<dyn PackageSource>>,
    views: ViewTokens,
}

impl EngineService {
    /// Creates the service; it does not listen yet.
    pub(crate) fn new(runtime: Runtime) -> Self {
        Self {
            runtime,
            operations: Operations::default(),
            packages: OnceLock::new(),
            views: ViewTokens::default(),
        }
    }

    /// Serves schemas of packages and mappings to them, too. `source` must not keep this service alive.
    pub(crate) fn serve_packages(&self, source: Arc<dyn PackageSource>) {
        // The first one stays.
        drop(self.packages.set(source));
    }

    /// Lets plugins be heard by an operation until the guard is dropped.
    pub(crate) fn register(&self, project: &str, stack: &str, events: EventSink) -> OperationGuard {
        let mut running = self.operations.lock();
        let number = running.next;
        running.next += 1;
        let operation = Listener {
            project: project.to_owned(),
            stack: stack.to_owned(),
            events,
            root: None,
        };
        running.listeners.insert(number, operation);
        OperationGuard {
            operations: self.operations.clone(),
            number,
        }
    }

    /// Stops listening as soon as no operation runs: processes that are still in use must be heard.
    pub(crate) fn close(&self) {
        let mut running = self.operations.lock();
        running.closed = true;
        running.rest();
    }
}

impl Drop for EngineService {
    /// The server's task knows the operations, which know the server: somebody must break the circle.
    fn drop(&mut self) {
        self.operations.lock().server.take();
    }
}

#[async_trait]
impl EngineAddress for EngineService {
    async fn engine_address(&self) -> Result<String> {
        let mut running = self.operations.lock();
        if let Some(listening) = &running.server {
            return Ok(listening.address());
        }
        let service = EngineServer::new(self.operations.clone())
            .max_decoding_message_size(MESSAGE_LIMIT)
            .max_encoding_message_size(MESSAGE_LIMIT);
        let status = ResourceStatusServer::new(self.views.clone())
            .max_decoding_message_size(MESSAGE_LIMIT)
            .max_encoding_message_size(MESSAGE_LIMIT);
        let mut services = Routes::new(service).add_service(status);
        if let Some(source) = self.packages.get() {
            services = with_package_services(services, source);
        }
        let listening = Listening::start(services, &self.runtime)?;
        Ok(running.server.insert(listening).address())
    }

    fn serves_packages(&self) -> bool {
        self.packages.get().is_some()
    }

    fn view_tokens(&self) -> ViewTokens {
        self.views.clone()
    }
}

/// Keeps an operation known to the Engine service.
#[must_use = "the operation is forgotten when the guard is dropped"]
pub(crate) struct OperationGuard {
    operations: Operations,
    number: u64,
}

impl Drop for OperationGuard {
    fn drop(&mut self) {
        let mut running = self.operations.lock();
        running.listeners.remove(&self.number);
        running.rest();
    }
}

/// The operations that run now. Cloning is cheap; all clones are one.
#[derive(Clone, Default)]
struct Operations(Arc<Mutex<Running>>);

#[derive(Default)]
struct Running {
    listeners: BTreeMap<u64, Listener>,
    next: u64,
    server: Option<Listening>,
    closed: bool,
}

impl Running {
    /// Stops listening if there is nobody to hear and the engine is closed.
    fn rest(&mut self) {
        if self.closed && self.listeners.is_empty() {
            self.server.take();
        }
    }
}

struct Listener {
    project: String,
    stack: String,
    events: EventSink,
    /// What a plugin said is the root resource.
    root: Option<Urn>,
}

impl Listener {
    fn is_of(&self, urn: &Urn) -> bool {
        self.stack == urn.stack() && self.project == urn.project()
    }
}

impl Operations {
    fn lock(&self) -> MutexGuard<'_, Running> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands a message to whom it concerns.
    ///
    /// A URN names the stack, hence the operation; without such an operation the message came too late. A message
    /// without URN says nothing of the sort, and a process that is kept warm may have served any of the operations:
    /// all of them get it, because a warning that is read twice does less harm than one that is lost.
    fn say(&self, diagnostic: Diagnostic) {
        let sinks: Vec<EventSink> = self
            .lock()
            .listeners
            .values()
            .filter(|listener| diagnostic.urn.as_ref().is_none_or(|urn| listener.is_of(urn)))
            .map(|listener| listener.events.clone())
            .collect();
        for sink in sinks {
            sink.diagnostic(diagnostic.clone());
        }
    }

    /// Returns the root resource when there can be no doubt which operation is meant.
    fn root(&self) -> Option<Urn> {
        let running = self.lock();
        let mut listeners = running.listeners.values();
        match (listeners.next(), listeners.next()) {
            (Some(only), None) => only.root.clone(),
            _ => None,
        }
    }
}

#[tonic::async_trait]
impl Engine for Operations {
    async fn log(&self, request: Request<LogRequest>) -> Result<Response<()>, Status> {
        self.say(diagnostic_of(request.into_inner()));
        Ok(Response::new(()))
    }

    async fn get_root_resource(
        &self,
        _request: Request<GetRootResourceRequest>,
    ) -> Result<Response<GetRootResourceResponse>, Status> {
        let urn = self.root().map(|urn| urn.to_string()).unwrap_or_default();
        Ok(Response::new(GetRootResourceResponse { urn }))
    }

    async fn set_root_resource(
        &self,
        request: Request<SetRootResourceRequest>,
    ) -> Result<Response<SetRootResourceResponse>, Status> {
        let urn = Urn::parse(&request.into_inner().urn)
            .map_err(|error| Status::invalid_argument(error.message()))?;
        for listener in self.lock().listeners.values_mut() {
            if listener.is_of(&urn) {
                listener.root = Some(urn.clone());
            }
        }
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

#[cfg(test)]
mod tests {
    use stackwright_proto::pulumirpc::engine_client::EngineClient;
    use tonic::{Code, transport::Channel};

    use super::*;
    use crate::runtime::SystemClock;

    async fn client(service: &EngineService) -> EngineClient<Channel> {
        let address = service.engine_address().await.unwrap();
        EngineClient::connect(format!("http://{address}")).await.unwrap()
    }

    fn service() -> EngineService {
        EngineService::new(Runtime::system(tokio::runtime::Handle::current()))
    }

    fn sink() -> EventSink {
        EventSink::new(Arc::new(SystemClock))
    }

    fn texts(sink: &EventSink) -> Vec<String> {
        sink.diagnostics().into_iter().map(|said| said.message).collect()
    }

    fn warning(message: &str, urn: &str) -> LogRequest {
        LogRequest {
            severity: 2,
            message: message.to_owned(),
            urn: urn.to_owned(),
            ..LogRequest::default()
        }
    }

    #[tokio::test]
    async fn a_message_with_a_urn_goes_to_its_operation_and_one_without_to_all() {
        let service = service();
        let mut client = client(&service).await;
        let (dev, prod) = (sink(), sink());
        let _dev = service.register("shop", "dev", dev.clone());
        let prod_guard = service.register("shop", "prod", prod.clone());
        let urn = "urn:pulumi:dev::shop::echo:index:Echo::a";
        client.log(warning("about a", urn)).await.unwrap();
        client.log(warning("about all", "")).await.unwrap();
        drop(prod_guard);
        client.log(warning("later", "")).await.unwrap();
        assert_eq!(texts(&dev), ["about a", "about all", "later"]);
        assert_eq!(texts(&prod), ["about all"]);
    }

    #[tokio::test]
    async fn the_root_resource_is_told_only_while_one_operation_runs() {
        let service = service();
        let mut client = client(&service).await;
        let _dev = service.register("shop", "dev", sink());
        let urn = Urn::root_stack("dev", "shop").to_string();
        let request = SetRootResourceRequest { urn: urn.clone() };
        client.set_root_resource(request).await.unwrap();
        let answer = client.get_root_resource(GetRootResourceRequest {}).await.unwrap();
        assert_eq!(answer.into_inner().urn, urn);
        let _prod = service.register("shop", "prod", sink());
        let answer = client.get_root_resource(GetRootResourceRequest {}).await.unwrap();
        assert_eq!(answer.into_inner().urn, "");
    }

    async fn until_refused(address: &str) {
        while tokio::net::TcpStream::connect(address).await.is_ok() {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn the_address_stays_until_the_service_is_closed_and_no_operation_runs() {
        let service = service();
        let first = service.engine_address().await.unwrap();
        assert_eq!(service.engine_address().await.unwrap(), first);
        let mut client = client(&service).await;
        let request = StartDebuggingRequest::default();
        let status = client.start_debugging(request).await.unwrap_err();
        assert_eq!(status.code(), Code::Unimplemented);
        let guard = service.register("shop", "dev", sink());
        service.close();
        assert_eq!(service.engine_address().await.unwrap(), first);
        drop(guard);
        until_refused(&first).await;
    }

    #[tokio::test]
    async fn a_dropped_service_listens_no_more() {
        let service = service();
        let address = service.engine_address().await.unwrap();
        drop(service);
        until_refused(&address).await;
    }
}
