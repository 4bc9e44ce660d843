//! The other side of a connection: its name, its process, and the messages of its failures.

use std::time::Duration;

use stackwright_proto::{MESSAGE_LIMIT, pulumirpc::resource_provider_client::ResourceProviderClient};
use tonic::{Code, Status, transport::Channel};

use super::status::{self, TransportFailureKind};
use crate::{
    plugin::{PluginProcess, PluginTimeouts},
    provider::{ProviderError, ProviderStatus},
    runtime::Runtime,
};

/// How long to wait after a broken connection for the end of the process to be detected.
const PROCESS_EXIT_TIMEOUT: Duration = Duration::from_secs(1);

/// The server of a connection.
pub(super) struct Peer {
    /// The package that it serves.
    pub(super) name: String,
    /// Its address.
    pub(super) address: String,
    /// Its process; `None` if the engine has not started it.
    pub(super) process: Option<PluginProcess>,
    /// The timeouts of the process.
    pub(super) timeouts: PluginTimeouts,
}

impl Peer {
    fn place(&self) -> &str {
        self.process
            .as_ref()
            .map_or(&self.address, PluginProcess::program)
    }

    /// Returns the error of a failed call: the provider's own message, or the reason of the transport failure.
    pub(super) async fn call_error(
        &self,
        call: &'static str,
        failure: Status,
        runtime: &Runtime,
    ) -> ProviderError {
        let Some(transport_failure) = status::transport_failure(&failure) else {
            return status::provider_error(&failure);
        };
        let (name, place) = (&self.name, self.place());
        let failed = |text: &str| format!("plugin {name} [{place}] did not complete {call}: {text}");
        match transport_failure.kind {
            TransportFailureKind::Unsent => {
                let text = failed(&format!("the message is larger than {} MiB", MESSAGE_LIMIT >> 20));
                ProviderError::new(ProviderStatus::ResourceExhausted, text)
            }
            TransportFailureKind::Malformed => {
                let kind = ProviderStatus::from_code(i32::from(failure.code()));
                ProviderError {
                    outcome_unknown: true,
                    ..ProviderError::new(kind, failed(&transport_failure.text))
                }
            }
            kind @ (TransportFailureKind::Connection | TransportFailureKind::Unreachable) => {
                let text = match self.end(runtime).await {
                    Some(end) => format!("plugin {name} [{place}] died during {call}: {end}"),
                    None => failed(&transport_failure.text),
                };
                ProviderError {
                    outcome_unknown: kind == TransportFailureKind::Connection,
                    ..ProviderError::new(ProviderStatus::Unavailable, text)
                }
            }
        }
    }

    /// Returns how the process ended; `None` without a process, or if it does not end within the time limit.
    async fn end(&self, runtime: &Runtime) -> Option<String> {
        let process = self.process.as_ref()?;
        tokio::select! {
            biased;
            end = process.exited() => Some(end),
            () = runtime.clock.wait(PROCESS_EXIT_TIMEOUT) => None,
        }
    }

    /// Asks the provider to cancel, with a time limit; the call is optional for providers.
    pub(super) async fn cancel(&self, mut client: ResourceProviderClient<Channel>, runtime: &Runtime) {
        if self
            .process
            .as_ref()
            .is_some_and(|process| process.exit().is_some())
        {
            return;
        }
        tokio::select! {
            biased;
            answer = client.cancel(()) => if let Err(failure) = answer
                && failure.code() != Code::Unimplemented
            {
                tracing::debug!(provider = self.name, code = ?failure.code(), "a provider failed to cancel");
            },
            () = runtime.clock.wait(self.timeouts.cancel) => {
                tracing::debug!(provider = self.name, "a provider did not answer Cancel in time");
            }
        }
    }
}
