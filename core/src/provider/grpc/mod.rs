//! Providers on the other side of a gRPC connection: plugin processes, and whatever else listens on an address.

mod configuration;
mod connect;
#[cfg(test)]
pub(crate) mod fake;
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
        Call, Capabilities, EngineEndpoint, PluginOperation, ProviderBackend, ProviderError, ProviderResult,
        Reply, RouteHold,
    },
    runtime::Runtime,
};
pub(crate) use package::Parameter;
pub(crate) use views::{StatusService, ViewTokens};

use configuration::{Configuration, ConfigurationCell};
use peer::Peer;

/// A provider that is spoken to over gRPC.
///
/// Configuring goes on in the background; a failure shows in every later call. Secrets are sent as they are given: the
/// engine takes the marks off for a provider that declines them.
pub struct GrpcProvider {
    client: ResourceProviderClient<Channel>,
    peer: Arc<Peer>,
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

    /// Tells whether its configuration has neither failed nor is still being thought about.
    pub(crate) fn is_settled_well(&self) -> bool {
        !matches!(
            self.configuration.now(),
            Configuration::Running | Configuration::Failed(_)
        )
    }

    /// Waits for the configuration to settle, and returns what the provider understands with it; `None` without one.
    async fn understood(&self) -> ProviderResult<Option<Capabilities>> {
        match self.configuration.settled().await {
            Configuration::None | Configuration::Running => Ok(None),
            Configuration::Done(capabilities) => Ok(Some(capabilities)),
            Configuration::Failed(error) => Err(ProviderError::clone(&error)),
        }
    }

    /// Waits for the configuration to settle, and returns what the provider understands.
    async fn configured(&self) -> ProviderResult<Capabilities> {
        let understood = self.understood().await?;
        Ok(understood.unwrap_or_else(|| self.capabilities_without_configuration()))
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

    /// Asks the provider to give up what it is doing.
    pub(crate) async fn give_up(&self) {
        self.peer.cancel(self.client(), &self.runtime).await;
    }

    /// Asks the process to exit, then ends it.
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
            Call::Check(request) => self.check_resource(request).await.map(Reply::Check),
            Call::Diff(request) => self.diff_resource(request).await.map(Reply::Diff),
            Call::Create(request) => self.create_resource(request).await.map(Reply::Create),
            Call::Read(request) => self.read_resource(request).await.map(Reply::Read),
            Call::Update(request) => self.update_resource(request).await.map(Reply::Update),
            Call::Delete(request) => self.delete_resource(request).await.map(|()| Reply::Done),
            Call::Invoke(request) => self.invoke_function(request).await.map(Reply::Invoke),
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
