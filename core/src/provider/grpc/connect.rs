//! Connecting to a provider, and its handshake.

use std::{
    sync::{Arc, Mutex, OnceLock},
    time::Duration,
};

use stackwright_proto::{
    MESSAGE_LIMIT,
    pulumirpc::{PluginAttach, ProviderHandshakeRequest, resource_provider_client::ResourceProviderClient},
};
use tonic::{Code, transport::Channel};

use super::{ConfigurationCell, GrpcProvider, Peer, transport_failure};
use crate::{
    error::{Error, ErrorKind, Result},
    plugin::{PluginProcess, PluginTimeouts},
    provider::{Capabilities, HandshakeRequest, PluginInfo, ProviderError, ProviderResult},
    runtime::Runtime,
    transport::{self, CONNECT_RETRY_INTERVAL},
};

/// HTTP/2 flow control windows in bytes, large enough for concurrent responses.
const STREAM_WINDOW: u32 = 4 * 1024 * 1024;
const CONNECTION_WINDOW: u32 = 32 * 1024 * 1024;

/// The time in which a process that is used again has to answer a first call; a process that takes longer is replaced.
const REUSE_TIMEOUT: Duration = Duration::from_secs(5);

impl GrpcProvider {
    /// Connects to the plugin of a process that has written its port.
    ///
    /// # Errors
    /// [`ErrorKind::Plugin`] if it does not respond within the time limit.
    ///
    /// # Cancel safety
    /// Dropping the future drops the connection and the handle of the process.
    pub async fn over_process(
        name: &str,
        process: PluginProcess,
        timeouts: PluginTimeouts,
        runtime: &Runtime,
    ) -> Result<Self> {
        let address = format!("127.0.0.1:{}", process.port());
        let peer = Peer {
            name: name.to_owned(),
            address,
            process: Some(process),
            timeouts,
        };
        Self::connect(peer, runtime).await
    }

    /// Connects to a provider that listens on `address` (`host:port`, or an `http` URI).
    ///
    /// # Errors
    /// [`ErrorKind::Plugin`] if the address is invalid, or no server responds within the time limit.
    ///
    /// # Cancel safety
    /// Dropping the future drops the connection.
    pub async fn at_address(
        name: &str,
        address: &str,
        timeouts: PluginTimeouts,
        runtime: &Runtime,
    ) -> Result<Self> {
        let peer = Peer {
            name: name.to_owned(),
            address: address.to_owned(),
            process: None,
            timeouts,
        };
        Self::connect(peer, runtime).await
    }

    async fn connect(peer: Peer, runtime: &Runtime) -> Result<Self> {
        let channel = reach(&peer, runtime).await?;
        let client = ResourceProviderClient::new(channel)
            .max_decoding_message_size(MESSAGE_LIMIT)
            .max_encoding_message_size(MESSAGE_LIMIT);
        Ok(Self {
            client,
            peer: Arc::new(peer),
            runtime: runtime.clone(),
            greeted: OnceLock::new(),
            configuration: ConfigurationCell::default(),
            status: None,
            engine: None,
            hold: Mutex::default(),
        })
    }

    /// Sends the engine's address to a provider that was already running; the call is optional for providers.
    ///
    /// # Errors
    /// The provider's error.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the call; the provider may have the address already.
    pub async fn attach(&self, engine_address: &str) -> ProviderResult<()> {
        let request = PluginAttach {
            address: engine_address.to_owned(),
        };
        match self.client().attach(request).await {
            Err(failure) if failure.code() != Code::Unimplemented => {
                Err(self.peer.call_error("Attach", failure, &self.runtime).await)
            }
            _ => Ok(()),
        }
    }

    /// Sends the handshake; a provider without it receives plain values until it is configured.
    pub(crate) async fn greet(&self, request: HandshakeRequest) -> ProviderResult<Capabilities> {
        let directory = self
            .peer
            .process
            .as_ref()
            .and_then(PluginProcess::folder)
            .map(|directory| directory.display().to_string());
        let message = ProviderHandshakeRequest {
            engine_address: request.engine_address.unwrap_or_default(),
            root_directory: directory.clone(),
            program_directory: directory,
            configure_with_urn: true,
            supports_views: true,
            supports_refresh_before_update: true,
            invoke_with_preview: true,
            accepts_byte_string: true,
            sends_old_outputs_to_check: true,
            accepts_outputs_in_invoke: true,
            accepts_outputs_in_call: true,
            loader_target: request.codegen_address.clone(),
            mapper_target: request.codegen_address,
            ..ProviderHandshakeRequest::default()
        };
        let attempts = async {
            loop {
                match self.client().handshake(message.clone()).await {
                    Err(failure) if failure.code() == Code::Unavailable && self.is_alive() => {
                        self.runtime.clock.wait(CONNECT_RETRY_INTERVAL).await;
                    }
                    answer => return answer,
                }
            }
        };
        let answer = tokio::select! {
            biased;
            answer = attempts => answer,
            () = self.runtime.clock.wait(self.peer.timeouts.ready) => return Err(self.timeout_error("Handshake")),
        };
        let greeted = match answer {
            Ok(answer) => {
                let answer = answer.into_inner();
                Some(Capabilities {
                    accept_secrets: answer.accept_secrets,
                    accept_resources: answer.accept_resources,
                    accept_outputs: answer.accept_outputs,
                    accept_outputs_in_invoke: answer.accepts_outputs_in_invoke,
                    accept_outputs_in_call: answer.accepts_outputs_in_call,
                    supports_preview: true,
                    supports_autonaming: answer.supports_autonaming_configuration,
                    accept_byte_strings: answer.accepts_byte_string,
                    waits_for_registrations: false,
                })
            }
            Err(failure) if failure.code() == Code::Unimplemented => None,
            Err(failure) => return Err(self.peer.call_error("Handshake", failure, &self.runtime).await),
        };
        self.greeted.get_or_init(|| greeted);
        Ok(self.capabilities_without_configuration())
    }

    /// Calls GetPluginInfo.
    pub(crate) async fn ask_info(&self) -> ProviderResult<PluginInfo> {
        let mut client = self.client();
        let answer = tokio::select! {
            biased;
            answer = client.get_plugin_info(()) => answer,
            () = self.runtime.clock.wait(self.peer.timeouts.ready) => return Err(self.timeout_error("GetPluginInfo")),
        };
        match answer {
            Ok(answer) => {
                let version = answer.into_inner().version;
                Ok(PluginInfo {
                    version: semver::Version::parse(version.trim_start_matches('v')).ok(),
                })
            }
            Err(failure) if failure.code() == Code::Unimplemented => Ok(PluginInfo::default()),
            Err(failure) => Err(self
                .peer
                .call_error("GetPluginInfo", failure, &self.runtime)
                .await),
        }
    }

    /// Returns whether its server answers a call within [`REUSE_TIMEOUT`]: the end of a process is noticed only after its connections
    /// are closed, and one that has been stopped does not end.
    pub(crate) async fn answers(&self) -> bool {
        let mut client = self.client();
        tokio::select! {
            biased;
            answer = client.get_plugin_info(()) => answer.as_ref().err().and_then(transport_failure).is_none(),
            () = self.runtime.clock.wait(REUSE_TIMEOUT) => false,
        }
    }

    fn timeout_error(&self, call: &'static str) -> ProviderError {
        let seconds = self.peer.timeouts.ready.as_secs_f64();
        let text = format!("plugin {} did not answer {call} within {seconds} s", self.name());
        ProviderError::new(crate::provider::ProviderStatus::DeadlineExceeded, text)
    }
}

async fn reach(peer: &Peer, runtime: &Runtime) -> Result<Channel> {
    let Peer { name, address, .. } = peer;
    let failed = |why: String| {
        Error::new(
            ErrorKind::Plugin,
            format!("could not connect to plugin {name} at {address}: {why}"),
        )
        .with_provider(name.clone())
        .with_phase("load")
    };
    let endpoint = transport::endpoint(address)
        .map_err(|error| failed(error.to_string()))?
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW);
    let end = || peer.process.as_ref().and_then(PluginProcess::exit);
    transport::connect_when_ready(&endpoint, peer.timeouts.ready, end, runtime)
        .await
        .map_err(failed)
}
