//! Providers on the other side of a gRPC connection: plugin processes, and whatever else listens on an address.

mod annotate;
mod configuration;
mod connect;
#[cfg(test)]
pub(crate) mod fake;
mod function;
mod package;
mod peer;
mod resource;
mod status;
#[cfg(test)]
mod tests;
mod values;
mod views;

use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use async_trait::async_trait;
use stackwright_proto::pulumirpc::resource_provider_client::ResourceProviderClient;
use tonic::transport::Channel;

pub(crate) use status::break_down;

use crate::{
    plugin::OutputRoute,
    provider::{
        Capabilities, CheckRequest, CheckResponse, ConfigureRequest, CreateRequest, CreateResponse,
        DeleteRequest, DiffRequest, DiffResponse, EngineEndpoint, HandshakeRequest, InvokeRequest,
        InvokeResponse, Mapping, MappingRequest, PluginInfo, PluginOperation, Provider, ProviderError,
        ProviderResult, ReadRequest, ReadResponse, RouteHold, SchemaRequest, UpdateRequest, UpdateResponse,
    },
    runtime::Runtime,
};
pub(crate) use function::Parameter;
pub(crate) use views::{StatusService, ViewTokens};

use configuration::{Configuration, ConfigurationCell};
use peer::Peer;

/// How calls to a provider differ from the usual.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GrpcOptions {
    /// Previews show inputs as outputs and never reach Create and Update.
    pub disable_preview: bool,
}

/// A provider that is spoken to over gRPC.
///
/// It evens out what providers understand: values are sent as the provider can take them, and what it can not take
/// is put back into its answers. Configuring goes on in the background; a failure shows in every later call. With a
/// configuration that holds unknowns no call but those about configurations reaches the provider.
pub struct GrpcProvider {
    client: ResourceProviderClient<Channel>,
    peer: Arc<Peer>,
    options: GrpcOptions,
    runtime: Runtime,
    /// What it said when greeted; `None` when it does not know greetings.
    greeted: OnceLock<Option<Capabilities>>,
    configuration: ConfigurationCell,
    /// Where it publishes steps on views; `None` where nobody listens.
    status: Option<StatusService>,
    /// Where it reaches the engine; the endpoint listens for as long as the provider is used.
    engine: Option<Arc<EngineEndpoint>>,
    /// Leads its calls of the engine to the operation that uses it.
    hold: Mutex<Option<RouteHold>>,
}

impl GrpcProvider {
    /// Returns what messages call the provider.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.peer.name
    }

    /// Lets it publish what it does to views.
    #[must_use]
    pub(crate) fn with_status(self, status: StatusService) -> Self {
        Self {
            status: Some(status),
            ..self
        }
    }

    /// Names the endpoint at which it reaches the engine, and the hold of the operation that uses it.
    #[must_use]
    pub(crate) fn with_engine(self, engine: Arc<EngineEndpoint>, hold: RouteHold) -> Self {
        Self {
            engine: Some(engine),
            hold: Mutex::new(Some(hold)),
            ..self
        }
    }

    /// Leads its calls of the engine to another operation; `None` drops them.
    pub(crate) fn serve(&self, operation: Option<&Weak<PluginOperation>>) {
        let hold = match (&self.engine, operation) {
            (Some(engine), Some(operation)) => Some(engine.route.hold(operation)),
            _ => None,
        };
        *self.hold.lock().unwrap_or_else(PoisonError::into_inner) = hold;
    }

    /// Returns where the lines of its process go; `None` when the process is not ours.
    #[must_use]
    pub(crate) fn route(&self) -> Option<&OutputRoute> {
        self.peer
            .process
            .as_ref()
            .map(crate::plugin::PluginProcess::route)
    }

    /// Tells whether it can still be called, as far as is known.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.peer
            .process
            .as_ref()
            .is_none_or(|process| process.exit().is_none())
    }

    /// Returns what the provider understands, once its configuration has settled.
    ///
    /// # Errors
    /// What Configure failed with.
    pub async fn capabilities(&self) -> ProviderResult<Capabilities> {
        match self.configured().await? {
            Some(capabilities) => Ok(capabilities),
            None => Ok(self.capabilities_without_configuration()),
        }
    }

    /// Tells whether its configuration has neither failed nor is still being thought about.
    pub(crate) fn is_settled_well(&self) -> bool {
        !matches!(
            self.configuration.now(),
            Configuration::Running | Configuration::Failed(_)
        )
    }

    /// Waits for the configuration to settle; `None` when it holds unknowns.
    async fn configured(&self) -> ProviderResult<Option<Capabilities>> {
        match self.configuration.settled().await {
            Configuration::None | Configuration::Running => {
                Ok(Some(self.capabilities_without_configuration()))
            }
            Configuration::Unknown => Ok(None),
            Configuration::Done(capabilities) => Ok(Some(capabilities)),
            Configuration::Failed(error) => Err(ProviderError::clone(&error)),
        }
    }

    /// What a provider can be trusted with before it has said anything.
    fn capabilities_without_configuration(&self) -> Capabilities {
        self.greeted.get().copied().flatten().unwrap_or(Capabilities {
            accept_secrets: false,
            accept_resources: false,
            accept_outputs: false,
            supports_preview: true,
            supports_autonaming: false,
            accept_byte_strings: false,
            waits_for_registrations: false,
        })
    }

    fn client(&self) -> ResourceProviderClient<Channel> {
        self.client.clone()
    }
}

#[async_trait]
impl Provider for GrpcProvider {
    async fn handshake(&self, request: HandshakeRequest) -> ProviderResult<Capabilities> {
        self.greet(request).await
    }

    async fn plugin_info(&self) -> ProviderResult<PluginInfo> {
        self.ask_info().await
    }

    async fn check_config(&self, request: CheckRequest) -> ProviderResult<CheckResponse> {
        self.check_configuration(request).await
    }

    async fn diff_config(&self, request: DiffRequest) -> ProviderResult<DiffResponse> {
        self.diff_configuration(request).await
    }

    async fn configure(&self, request: ConfigureRequest) -> ProviderResult<Option<Capabilities>> {
        self.begin_configuration(request)?;
        Ok(None)
    }

    async fn check(&self, request: CheckRequest) -> ProviderResult<CheckResponse> {
        self.check_resource(request).await
    }

    async fn supports_autonaming(&self) -> bool {
        // What is not configured yet, or cannot be, has not said that it does not.
        match self.configured().await {
            Ok(Some(capabilities)) => capabilities.supports_autonaming,
            Ok(None) | Err(_) => true,
        }
    }

    async fn diff(&self, request: DiffRequest) -> ProviderResult<DiffResponse> {
        self.diff_resource(request).await
    }

    async fn create(&self, request: CreateRequest) -> ProviderResult<CreateResponse> {
        self.create_resource(request).await
    }

    async fn read(&self, request: ReadRequest) -> ProviderResult<ReadResponse> {
        self.read_resource(request).await
    }

    async fn update(&self, request: UpdateRequest) -> ProviderResult<UpdateResponse> {
        self.update_resource(request).await
    }

    async fn delete(&self, request: DeleteRequest) -> ProviderResult<()> {
        self.delete_resource(request).await
    }

    async fn invoke(&self, request: InvokeRequest) -> ProviderResult<InvokeResponse> {
        self.invoke_function(request).await
    }

    async fn get_schema(&self, request: SchemaRequest) -> ProviderResult<String> {
        self.ask_for_schema(request).await
    }

    async fn get_mapping(&self, request: MappingRequest) -> ProviderResult<Mapping> {
        self.ask_for_mapping(request).await
    }

    async fn get_mappings(&self, key: &str) -> ProviderResult<Vec<String>> {
        self.ask_for_mappings(key).await
    }

    async fn cancel(&self) {
        self.peer.cancel(self.client(), &self.runtime).await;
    }

    async fn close(&self) {
        if let Some(process) = &self.peer.process {
            process.expect_exit();
        }
        self.peer.cancel(self.client(), &self.runtime).await;
        if let Some(process) = &self.peer.process {
            process.close().await;
        }
        self.serve(None);
    }
}
