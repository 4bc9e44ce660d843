//! Providers on the other side of a gRPC connection: plugin processes, and servers at an address.

mod configuration;
mod connect;
mod construct;
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

pub(crate) use status::transport_failure;

use crate::{
    plugin::OutputRoute,
    provider::{
        Call, Capabilities, EngineEndpoint, PluginOperation, ProviderBackend, ProviderError, ProviderResult,
        Reply, RouteHold,
    },
    runtime::Runtime,
};
pub(crate) use package::Parameter;
pub(crate) use views::{StatusService, ViewTokens};

use configuration::{Configuration, ConfigurationCell};
use peer::Peer;

/// A provider that is called over gRPC.
///
/// Configuring runs in the background; a failure is reported by every later call. Secrets are sent as given: the
/// adapter unwraps them for a provider that declines them.
pub struct GrpcProvider {
    client: ResourceProviderClient<Channel>,
    peer: Arc<Peer>,
    runtime: Runtime,
    /// The capabilities of the handshake; `None` if the provider does not implement it.
    greeted: OnceLock<Option<Capabilities>>,
    configuration: ConfigurationCell,
    /// Where it publishes steps on views; `None` if views are not supported.
    status: Option<StatusService>,
    /// The engine's endpoint, which listens as long as the provider is used.
    engine: Option<Arc<EngineEndpoint>>,
    /// Routes its calls of the engine to the operation that uses it.
    hold: Mutex<Option<RouteHold>>,
}

impl GrpcProvider {
    /// Returns the provider's name in messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.peer.name
    }

    /// Sets the service at which it publishes steps on views.
    #[must_use]
    pub(crate) fn with_status(self, status: StatusService) -> Self {
        Self {
            status: Some(status),
            ..self
        }
    }

    /// Sets the endpoint of the engine and the hold of the operation that uses it.
    #[must_use]
    pub(crate) fn with_engine(self, engine: Arc<EngineEndpoint>, hold: RouteHold) -> Self {
        Self {
            engine: Some(engine),
            hold: Mutex::new(Some(hold)),
            ..self
        }
    }

    /// Routes its calls of the engine to another operation; `None` drops them.
    pub(crate) fn serve(&self, operation: Option<&Weak<PluginOperation>>) {
        let hold = match (&self.engine, operation) {
            (Some(engine), Some(operation)) => Some(engine.route.hold(operation)),
            _ => None,
        };
        *self.hold.lock().unwrap_or_else(PoisonError::into_inner) = hold;
    }

    /// Returns the route of its process's output; `None` without a process of the engine.
    #[must_use]
    pub(crate) fn route(&self) -> Option<&OutputRoute> {
        self.peer
            .process
            .as_ref()
            .map(crate::plugin::PluginProcess::route)
    }

    /// Returns whether it can still be called, as far as known.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.peer
            .process
            .as_ref()
            .is_none_or(|process| process.exit().is_none())
    }

    /// Returns whether its configuration has neither failed nor is still running.
    pub(crate) fn has_usable_configuration(&self) -> bool {
        !matches!(
            self.configuration.now(),
            Configuration::Running | Configuration::Failed(_)
        )
    }

    /// Waits for the configuration to settle, and returns the resulting capabilities; `None` without a configuration.
    async fn understood(&self) -> ProviderResult<Option<Capabilities>> {
        match self.configuration.settled().await {
            Configuration::None | Configuration::Running => Ok(None),
            Configuration::Done(capabilities) => Ok(Some(capabilities)),
            Configuration::Failed(error) => Err(ProviderError::clone(&error)),
        }
    }

    /// Waits for the configuration to settle, and returns the capabilities.
    async fn configured(&self) -> ProviderResult<Capabilities> {
        let understood = self.understood().await?;
        Ok(understood.unwrap_or_else(|| self.capabilities_without_configuration()))
    }

    /// Returns the capabilities that are assumed before the provider has reported any.
    fn capabilities_without_configuration(&self) -> Capabilities {
        self.greeted.get().copied().flatten().unwrap_or(Capabilities {
            accept_secrets: false,
            accept_resources: false,
            accept_outputs: false,
            accept_outputs_in_invoke: false,
            accept_outputs_in_call: false,
            supports_preview: true,
            supports_autonaming: false,
            accept_byte_strings: false,
            waits_for_registrations: false,
        })
    }

    fn client(&self) -> ResourceProviderClient<Channel> {
        self.client.clone()
    }

    /// Asks the provider to cancel its running calls.
    pub(crate) async fn give_up(&self) {
        self.peer.cancel(self.client(), &self.runtime).await;
    }

    /// Asks the process to exit, then kills it.
    pub(crate) async fn end(&self) {
        if let Some(process) = &self.peer.process {
            process.expect_exit();
        }
        self.give_up().await;
        if let Some(process) = &self.peer.process {
            process.close().await;
        }
        self.serve(None);
    }
}

#[async_trait]
impl ProviderBackend for GrpcProvider {
    async fn call(&self, call: Call) -> ProviderResult<Reply> {
        match call {
            Call::Handshake(request) => self.greet(request).await.map(Reply::Capabilities),
            Call::PluginInfo => self.ask_info().await.map(Reply::PluginInfo),
            Call::CheckConfig(request) => self.check_configuration(request).await.map(Reply::Check),
            Call::DiffConfig(request) => self.diff_configuration(request).await.map(Reply::Diff),
            Call::Configure(request) => {
                self.begin_configuration(request)?;
                Ok(Reply::Understands(None))
            }
            Call::Understands => self
                .configured()
                .await
                .map(|known| Reply::Understands(Some(known))),
            Call::Check(request) => resource::check(self, request).await.map(Reply::Check),
            Call::Diff(request) => resource::diff(self, request).await.map(Reply::Diff),
            Call::Create(request) => resource::create(self, request).await.map(Reply::Create),
            Call::Read(request) => resource::read(self, request).await.map(Reply::Read),
            Call::Update(request) => resource::update(self, request).await.map(Reply::Update),
            Call::Delete(request) => resource::delete(self, request).await.map(|()| Reply::Done),
            Call::Invoke(request) => self.invoke_function(request).await.map(Reply::Invoke),
            Call::Construct(request) => construct::construct(self, *request).await.map(Reply::Construct),
            Call::Method(request) => construct::call(self, *request).await.map(Reply::Method),
            Call::GetSchema(request) => self.ask_for_schema(request).await.map(Reply::Schema),
            Call::GetMapping(request) => self.ask_for_mapping(request).await.map(Reply::Mapping),
            Call::GetMappings(key) => self.ask_for_mappings(&key).await.map(Reply::Mappings),
            Call::Cancel => {
                self.give_up().await;
                Ok(Reply::Done)
            }
            Call::Close => {
                self.end().await;
                Ok(Reply::Done)
            }
        }
    }
}
