//! The engine services for plugins: one endpoint per plugin process and per host address.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, OnceLock, PoisonError, Weak},
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
    error::Result,
    monitor::{Listening, MESSAGE_LIMIT, diagnostic_of, require_version, with_package_services},
    provider::{EngineEndpoint, EngineEndpoints, EngineRoute, PackageSource, grpc::ViewTokens},
    runtime::Runtime,
    urn::Urn,
};

/// Opens the endpoints through which the plugins of one engine call it.
///
/// Each endpoint has the Engine and ResourceStatus services, and those for schemas and mappings. It exists while its
/// plugin is in use or in the pool.
pub(crate) struct EngineService {
    runtime: Runtime,
    /// Loads the providers for schema requests.
    packages: OnceLock<Arc<dyn PackageSource>>,
    views: ViewTokens,
    /// The endpoints of plugins at addresses of the host.
    addresses: Mutex<BTreeMap<String, Weak<EngineEndpoint>>>,
}

impl EngineService {
    /// Creates the service, without an endpoint.
    pub(crate) fn new(runtime: Runtime) -> Self {
        Self {
            runtime,
            packages: OnceLock::new(),
            views: ViewTokens::default(),
            addresses: Mutex::default(),
        }
    }

    /// Adds the services for schemas and mappings. `source` must not own this service.
    pub(crate) fn serve_packages(&self, source: Arc<dyn PackageSource>) {
        // The first source is kept.
        drop(self.packages.set(source));
    }

    fn open(&self) -> Result<Arc<EngineEndpoint>> {
        let route = Arc::new(EngineRoute::default());
        let service = EngineServer::new(PluginCalls(Arc::clone(&route)))
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
        Ok(Arc::new(EngineEndpoint {
            address: listening.address(),
            serves_packages: self.packages.get().is_some(),
            tokens: self.views.clone(),
            route,
            _listening: Box::new(listening),
        }))
    }
}

#[async_trait]
impl EngineEndpoints for EngineService {
    async fn process_endpoint(&self) -> Result<Arc<EngineEndpoint>> {
        self.open()
    }

    async fn address_endpoint(&self, address: &str) -> Result<Arc<EngineEndpoint>> {
        let mut known = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, endpoint| endpoint.strong_count() > 0);
        let address = normalized(address);
        if let Some(endpoint) = known.get(&address).and_then(Weak::upgrade) {
            return Ok(endpoint);
        }
        let endpoint = self.open()?;
        known.insert(address, Arc::downgrade(&endpoint));
        Ok(endpoint)
    }
}

/// Returns one text for all forms of an address: with or without scheme, and with any name of the loopback interface.
fn normalized(address: &str) -> String {
    let address = address.to_ascii_lowercase();
    let rest = address.split_once("://").map_or(&*address, |(_, rest)| rest);
    let authority = rest.split('/').next().unwrap_or(rest);
    match authority.rsplit_once(':') {
        Some(("localhost" | "127.0.0.1" | "[::1]" | "[::ffff:127.0.0.1]", port)) => {
            format!("127.0.0.1:{port}")
        }
        _ => authority.to_owned(),
    }
}

/// Answers the Engine service of one endpoint.
struct PluginCalls(Arc<EngineRoute>);

#[tonic::async_trait]
impl Engine for PluginCalls {
    async fn log(&self, request: Request<LogRequest>) -> Result<Response<()>, Status> {
        self.0.log(diagnostic_of(request.into_inner()));
        Ok(Response::new(()))
    }

    async fn get_root_resource(
        &self,
        _request: Request<GetRootResourceRequest>,
    ) -> Result<Response<GetRootResourceResponse>, Status> {
        let urn = self.0.root().map(|urn| urn.to_string()).unwrap_or_default();
        Ok(Response::new(GetRootResourceResponse { urn }))
    }

    async fn set_root_resource(
        &self,
        request: Request<SetRootResourceRequest>,
    ) -> Result<Response<SetRootResourceResponse>, Status> {
        let urn = Urn::parse(&request.into_inner().urn)
            .map_err(|error| Status::invalid_argument(error.to_string()))?;
        self.0.set_root(&urn);
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
    use stackwright_testkit::wait::Within as _;
    use tonic::{Code, transport::Channel};

    use super::*;
    use crate::{event::EventSink, provider::PluginOperation, runtime::SystemClock};

    async fn client(endpoint: &EngineEndpoint) -> EngineClient<Channel> {
        let address = &endpoint.address;
        EngineClient::connect(format!("http://{address}")).await.unwrap()
    }

    fn service() -> EngineService {
        EngineService::new(Runtime::system(tokio::runtime::Handle::current()))
    }

    fn operation(stack: &str) -> (Arc<PluginOperation>, EventSink) {
        let events = EventSink::new(Arc::new(SystemClock));
        (PluginOperation::new("shop", stack, stack, events.clone()), events)
    }

    fn warning(message: &str) -> LogRequest {
        LogRequest {
            severity: 2,
            message: message.to_owned(),
            ..LogRequest::default()
        }
    }

    #[tokio::test]
    async fn a_message_of_a_process_is_emitted_only_in_the_operation_that_holds_it() {
        let service = service();
        let ((dev, dev_events), (prod, prod_events)) = (operation("dev"), operation("prod"));
        let (left, right) = (
            service.process_endpoint().await.unwrap(),
            service.process_endpoint().await.unwrap(),
        );
        let _dev = left.route.hold(&Arc::downgrade(&dev));
        let _prod = right.route.hold(&Arc::downgrade(&prod));
        client(&left).await.log(warning("of dev")).await.unwrap();
        client(&right).await.log(warning("of prod")).await.unwrap();
        let texts = |events: &EventSink| -> Vec<String> {
            events
                .diagnostics()
                .into_iter()
                .map(|diagnostic| diagnostic.message.library().to_owned())
                .collect()
        };
        assert_eq!(texts(&dev_events), ["of dev"]);
        assert_eq!(texts(&prod_events), ["of prod"]);
    }

    #[tokio::test]
    async fn the_root_resource_is_that_of_the_operation_although_another_runs() {
        let service = service();
        let ((dev, _), (prod, _)) = (operation("dev"), operation("prod"));
        let (left, right) = (
            service.process_endpoint().await.unwrap(),
            service.process_endpoint().await.unwrap(),
        );
        let _dev = left.route.hold(&Arc::downgrade(&dev));
        let _prod = right.route.hold(&Arc::downgrade(&prod));
        let urn = Urn::root_stack("dev", "shop").to_string();
        let request = SetRootResourceRequest { urn: urn.clone() };
        let mut client = client(&left).await;
        client.set_root_resource(request).await.unwrap();
        let answer = client.get_root_resource(GetRootResourceRequest {}).await.unwrap();
        assert_eq!(answer.into_inner().urn, urn);
        assert_eq!(right.route.root(), None);
    }

    #[tokio::test]
    async fn an_address_has_one_endpoint_however_it_is_written_until_nothing_uses_it() {
        let service = service();
        let first = service.address_endpoint("127.0.0.1:4711").await.unwrap();
        for same in ["localhost:4711", "http://127.0.0.1:4711", "HTTP://[::1]:4711/"] {
            let endpoint = service.address_endpoint(same).await.unwrap();
            assert!(Arc::ptr_eq(&first, &endpoint), "{same}");
        }
        let other = service.address_endpoint("127.0.0.1:4712").await.unwrap();
        assert_ne!(first.address, other.address);
        let gone = first.address.clone();
        drop(first);
        until_refused(&gone).await;
        service.address_endpoint("127.0.0.1:4711").await.unwrap();
    }

    async fn until_refused(address: &str) {
        let refused = async {
            while tokio::net::TcpStream::connect(address).await.is_ok() {
                tokio::task::yield_now().await;
            }
        };
        refused.within("the end of the server").await;
    }

    #[tokio::test]
    async fn an_endpoint_listens_until_it_is_dropped() {
        let service = service();
        let endpoint = service.process_endpoint().await.unwrap();
        let address = endpoint.address.clone();
        let request = StartDebuggingRequest::default();
        let status = client(&endpoint)
            .await
            .start_debugging(request)
            .await
            .unwrap_err();
        assert_eq!(status.code(), Code::Unimplemented);
        drop((service, endpoint));
        until_refused(&address).await;
    }
}
