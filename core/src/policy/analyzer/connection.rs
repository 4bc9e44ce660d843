//! The connection to an analyzer: at an address of the host, or to a process of the engine.

use std::time::Duration;

use stackwright_proto::{MESSAGE_LIMIT, pulumirpc::analyzer_client::AnalyzerClient};
use tonic::{Code, Response, Status, transport::Channel};

use crate::{
    error::{Error, ErrorKind, Result},
    plugin::{PluginProcess, PluginTimeouts},
    provider::{ProviderError, ProviderResult, ProviderStatus, grpc::transport_failure},
    runtime::Runtime,
    transport,
};

/// The address of an analyzer, with the timeouts of its calls.
pub(super) struct AnalyzerConnection {
    /// The name of the pack in errors.
    pub(super) name: String,
    pub(super) address: String,
    pub(super) timeouts: PluginTimeouts,
    pub(super) runtime: Runtime,
    /// The process that listens there, if the engine has started it.
    pub(super) process: Option<PluginProcess>,
}

impl AnalyzerConnection {
    /// Connects, with attempts until the analyzer listens.
    pub(super) async fn connect(&self) -> Result<AnalyzerClient<Channel>> {
        let Self { name, address, .. } = self;
        let failed = |why: &str| {
            Error::new(
                ErrorKind::Plugin,
                format!("could not connect to policy pack {name} at {address}: {why}"),
            )
            .with_phase("load")
        };
        let endpoint = transport::endpoint(address).map_err(|error| failed(&error.to_string()))?;
        let end = || self.process.as_ref().and_then(PluginProcess::exit);
        let channel = transport::connect_when_ready(&endpoint, self.timeouts.ready, end, &self.runtime)
            .await
            .map_err(|why| failed(&why))?;
        Ok(AnalyzerClient::new(channel)
            .max_decoding_message_size(MESSAGE_LIMIT)
            .max_encoding_message_size(MESSAGE_LIMIT))
    }

    /// Awaits a response; `None` if the pack does not implement the call.
    pub(super) async fn ask<T>(
        &self,
        call: &'static str,
        timeout: Duration,
        answer: impl Future<Output = Result<Response<T>, Status>>,
    ) -> ProviderResult<Option<T>> {
        let answer = tokio::select! {
            biased;
            answer = answer => answer,
            () = self.runtime.clock.wait(timeout) => {
                let Self { name, address, .. } = self;
                let seconds = timeout.as_secs_f64();
                let text = format!("policy pack {name} [{address}] did not answer {call} within {seconds} s");
                return Err(ProviderError::new(ProviderStatus::DeadlineExceeded, text));
            }
        };
        match answer {
            Ok(answer) => Ok(Some(answer.into_inner())),
            Err(failure) if failure.code() == Code::Unimplemented => Ok(None),
            Err(failure) => Err(self.call_error(call, &failure)),
        }
    }

    /// Awaits the answer of a call before the first resource; `None` where the pack does not implement the call.
    pub(super) async fn ask_to_load<T>(
        &self,
        call: &'static str,
        answer: impl Future<Output = Result<Response<T>, Status>>,
    ) -> Result<Option<T>> {
        let answer = self.ask(call, self.timeouts.ready, answer).await;
        answer.map_err(|error| self.load_failure(&error))
    }

    /// Returns the error of a pack without a call that every pack has.
    pub(super) fn missing(&self, call: &str) -> Error {
        let failure = Status::unimplemented("the call is not implemented");
        self.load_failure(&self.call_error(call, &failure))
    }

    fn load_failure(&self, error: &ProviderError) -> Error {
        Error::new(ErrorKind::Plugin, error.message.clone()).with_phase("load")
    }

    fn call_error(&self, call: &str, failure: &Status) -> ProviderError {
        let Self { name, address, .. } = self;
        let status = ProviderStatus::from_code(i32::from(failure.code()));
        let text = match transport_failure(failure) {
            Some(transport) => format!(
                "policy pack {name} [{address}] did not complete {call}: {}",
                transport.text
            ),
            None => format!(
                "policy pack {name} [{address}] failed during {call}: {}",
                failure.message()
            ),
        };
        ProviderError::new(status, text)
    }
}
