//! The other side of a connection: its name, its process if it is ours, and how its failures read.

use std::time::Duration;

use stackwright_proto::{MESSAGE_LIMIT, pulumirpc::resource_provider_client::ResourceProviderClient};
use tonic::{Code, Status, transport::Channel};

use super::status::{self, BreakDownKind};
use crate::{
    plugin::{PluginProcess, PluginTimeouts},
    provider::{ProviderError, ProviderStatus},
    runtime::Runtime,
};

/// How long a broken connection may take to turn out as the end of the process.
const POST_MORTEM: Duration = Duration::from_secs(1);

/// Whom a connection leads to.
pub(super) struct Peer {
    /// The package that it serves.
    pub(super) name: String,
    /// Where it listens.
    pub(super) address: String,
    /// The process, when it is ours.
    pub(super) process: Option<PluginProcess>,
    /// How long things may take.
    pub(super) timeouts: PluginTimeouts,
}

impl Peer {
    fn place(&self) -> &str {
        self.process
            .as_ref()
            .map_or(&self.address, PluginProcess::program)
    }

    /// Turns a failed call into an error: the provider's own words, or what became of the connection.
    pub(super) async fn fault(
        &self,
        call: &'static str,
        failure: Status,
        runtime: &Runtime,
    ) -> ProviderError {
        let Some(break_down) = status::break_down(&failure) else {
            return status::provider_error(&failure);
        };
        let (name, place) = (&self.name, self.place());
        let said =
            |text: &str| format!("plugin {name} [{place}] could not be spoken to during {call}: {text}");
        match break_down.kind {
            BreakDownKind::Unsent => {
                let text = said(&format!("the message is larger than {} MiB", MESSAGE_LIMIT >> 20));
                ProviderError::new(ProviderStatus::ResourceExhausted, text)
            }
            BreakDownKind::Nonsense => {
                let kind = ProviderStatus::from_code(i32::from(failure.code()));
                ProviderError {
                    outcome_unknown: true,
                    ..ProviderError::new(kind, said(&break_down.text))
                }
            }
            kind @ (BreakDownKind::Connection | BreakDownKind::Unreachable) => {
                let text = match self.end(runtime).await {
                    Some(end) => format!("plugin {name} [{place}] died during {call}: {end}"),
                    None => said(&break_down.text),
                };
                ProviderError {
                    outcome_unknown: kind == BreakDownKind::Connection,
                    ..ProviderError::new(ProviderStatus::Unavailable, text)
                }
            }
        }
    }

    /// Returns how the process ended, if it is ours and ends soon.
    async fn end(&self, runtime: &Runtime) -> Option<String> {
        let process = self.process.as_ref()?;
        tokio::select! {
            end = process.exited() => Some(end),
            () = runtime.clock.wait(POST_MORTEM) => None,
        }
    }

    /// Asks the provider to give up, within a limit; not every provider knows how to.
    pub(super) async fn cancel(&self, mut client: ResourceProviderClient<Channel>, runtime: &Runtime) {
        if self
            .process
            .as_ref()
            .is_some_and(|process| process.exit().is_some())
        {
            return;
        }
        tokio::select! {
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
