//! Policy packs over gRPC: handshake, configuration, analysis and cancellation of an analyzer.

mod connection;
mod message;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use rustc_hash::FxHashMap;
use stackwright_proto::pulumirpc::{self as rpc, analyzer_client::AnalyzerClient};
use tonic::transport::Channel;

use super::{
    Analysis, PackName, PolicyPackOption, PolicySurroundings, Rewriting, Subject,
    pack::{LoadedPack, PackBackend},
    settings::{malformed_info, reconcile},
};
use crate::{
    error::{Error, Result},
    plugin::PluginProcess,
    property::PropertyMap,
    provider::{EngineEndpoint, ProviderError, ProviderResult, ProviderStatus, RouteHold},
    urn::Urn,
};

use connection::AnalyzerConnection;

/// A configured analyzer.
pub(super) struct Analyzer {
    /// The name and version that the pack reports.
    pack: PackName,
    client: AnalyzerClient<Channel>,
    connection: AnalyzerConnection,
    /// How long one call about resources may take.
    call_timeout: Duration,
    /// Routes its calls of the engine to the operation.
    _hold: RouteHold,
    /// The engine's endpoint, which listens as long as the pack is used.
    _engine: Arc<EngineEndpoint>,
}

/// Where an analyzer listens.
pub(super) struct AnalyzerPlace {
    pub(super) address: String,
    /// The process that listens there, if the engine has started it.
    pub(super) process: Option<PluginProcess>,
    /// The engine's endpoint for the pack.
    pub(super) engine: Arc<EngineEndpoint>,
}

impl Analyzer {
    /// Connects to a pack and configures its policies.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Plugin`] with the name and the address of the pack; an error in its settings.
    pub(super) async fn load(
        option: &PolicyPackOption,
        place: AnalyzerPlace,
        surroundings: &PolicySurroundings,
    ) -> Result<LoadedPack> {
        let AnalyzerPlace {
            address,
            process,
            engine,
        } = place;
        let hold = engine.route.hold(&surroundings.operation);
        let connection = AnalyzerConnection {
            name: option.name.clone(),
            address,
            timeouts: surroundings.timeouts,
            runtime: surroundings.runtime.clone(),
            process,
        };
        let mut client = connection.connect().await?;
        let mut info = introduce(&connection, &mut client, &engine, surroundings).await?;
        let declared = message::declared(&mut info).map_err(|why| malformed_info(option, &why))?;
        let policies = reconcile(option, declared)?;
        if !policies.is_empty() {
            let request = message::configuration(&policies)?;
            connection
                .ask_to_load("Configure", client.configure(request))
                .await?;
        }
        let pack = PackName {
            name: if info.name.is_empty() {
                option.name.clone()
            } else {
                info.name
            },
            version: info.version,
        };
        Ok(LoadedPack {
            name: pack.clone(),
            policies,
            supports_config: info.supports_config,
            backend: Box::new(Self {
                pack,
                client,
                connection,
                call_timeout: surroundings.call_timeout,
                _hold: hold,
                _engine: engine,
            }),
        })
    }

    fn unsendable(&self, error: &Error) -> ProviderError {
        let text = format!(
            "cannot encode the request to policy pack {}: {}",
            self.connection.name,
            error.message()
        );
        ProviderError::new(ProviderStatus::InvalidArgument, text)
    }
}

/// Greets an analyzer, describes the stack to it, and returns its description of itself.
async fn introduce(
    connection: &AnalyzerConnection,
    client: &mut AnalyzerClient<Channel>,
    engine: &EngineEndpoint,
    surroundings: &PolicySurroundings,
) -> Result<rpc::AnalyzerInfo> {
    let greeting = rpc::AnalyzerHandshakeRequest {
        engine_address: engine.address.clone(),
        root_directory: None,
        program_directory: None,
    };
    // Both calls are optional for older packs.
    connection
        .ask_to_load("Handshake", client.handshake(greeting))
        .await?;
    let stack = surroundings.stack.clone();
    connection
        .ask_to_load("ConfigureStack", client.configure_stack(stack))
        .await?;
    let info = connection.ask_to_load("GetAnalyzerInfo", client.get_analyzer_info(()));
    info.await?.ok_or_else(|| connection.missing("GetAnalyzerInfo"))
}

#[async_trait]
impl PackBackend for Analyzer {
    async fn remediate(&self, subject: &Subject<'_>, inputs: &PropertyMap) -> ProviderResult<Rewriting> {
        let request = message::request(subject, inputs).map_err(|error| self.unsendable(&error))?;
        let mut client = self.client.clone();
        let answer = self
            .connection
            .ask("Remediate", self.call_timeout, client.remediate(request))
            .await?;
        message::rewriting(&self.pack, &subject.state.urn, inputs, answer.unwrap_or_default())
            .map_err(|why| self.malformed_response("Remediate", &why))
    }

    async fn analyze(&self, subject: &Subject<'_>) -> ProviderResult<Analysis> {
        let request = message::request(subject, &subject.state.inputs);
        let request = request.map_err(|error| self.unsendable(&error))?;
        let mut client = self.client.clone();
        let answer = self
            .connection
            .ask("Analyze", self.call_timeout, client.analyze(request))
            .await?;
        message::analysis(&self.pack, answer.unwrap_or_default(), |_| {
            subject.state.urn.clone()
        })
        .map_err(|why| self.malformed_response("Analyze", &why))
    }

    async fn analyze_stack(&self, subjects: &[Subject<'_>], root: &Urn) -> ProviderResult<Analysis> {
        let resources: Result<Vec<_>> = subjects.iter().map(message::resource).collect();
        let request = rpc::AnalyzeStackRequest {
            resources: resources.map_err(|error| self.unsendable(&error))?,
        };
        let mut client = self.client.clone();
        let answer = self
            .connection
            .ask("AnalyzeStack", self.call_timeout, client.analyze_stack(request))
            .await?;
        let urns: FxHashMap<&str, &Urn> = subjects
            .iter()
            .map(|subject| (subject.state.urn.as_str(), &subject.state.urn))
            .collect();
        let place = |urn: &str| urns.get(urn).copied().unwrap_or(root).clone();
        message::analysis(&self.pack, answer.unwrap_or_default(), place)
            .map_err(|why| self.malformed_response("AnalyzeStack", &why))
    }

    fn unreturned(&self, call: &str, urn: &Urn) -> Vec<String> {
        let AnalyzerConnection { name, address, .. } = &self.connection;
        vec![format!(
            "policy pack {name} [{address}] did not return from {call} of {urn}"
        )]
    }

    fn is_given_up_when_cancelled(&self) -> bool {
        false
    }

    async fn cancel(&self) {
        let mut client = self.client.clone();
        let timeout = self.connection.timeouts.cancel;
        if let Err(error) = self.connection.ask("Cancel", timeout, client.cancel(())).await {
            tracing::debug!(pack = self.pack.name, status = ?error.status, "a policy pack failed to cancel");
        }
    }

    async fn close(&self) {
        if let Some(process) = &self.connection.process {
            // An interpreter may report its interruption.
            process.route().redirect(None);
            process.close().await;
        }
    }

    fn malformed_response(&self, call: &str, why: &str) -> ProviderError {
        let AnalyzerConnection { name, address, .. } = &self.connection;
        let text = format!("malformed {call} response from policy pack {name} [{address}]: {why}");
        ProviderError::new(ProviderStatus::Internal, text)
    }
}
