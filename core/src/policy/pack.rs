//! A connection to one policy pack: handshake, configuration, analysis and cancellation.

use std::{sync::Arc, time::Duration};

use rustc_hash::FxHashMap;
use stackwright_proto::{
    MESSAGE_LIMIT,
    pulumirpc::{self as rpc, analyzer_client::AnalyzerClient},
};
use tonic::{
    Code, Response, Status,
    transport::{Channel, Endpoint},
};

use super::{
    Analysis, PackToLoad, PolicyPackOption, PolicySurroundings, Rewriting, Subject,
    settings::{Policy, reconcile},
};
use crate::{
    error::{Error, ErrorKind, Result},
    event::{EnforcementLevel, PolicyFindings, PolicyQuestion},
    property::PropertyMap,
    provider::{
        EngineEndpoint, ProviderError, ProviderResult, ProviderStatus, RouteHold, grpc::transport_failure,
    },
    runtime::Runtime,
    transport,
    urn::Urn,
};

/// The pause between attempts to connect to an analyzer that does not listen yet.
const CONNECT_RETRY_INTERVAL: Duration = Duration::from_millis(20);
/// The timeout of a pack's responses about resources.
const ANALYZE_TIMEOUT: Duration = Duration::from_secs(300);

/// A configured policy pack.
pub(crate) struct Pack {
    option: PolicyPackOption,
    is_local: bool,
    /// The name that the pack reports.
    name: String,
    version: String,
    policies: Vec<Policy>,
    supports_config: bool,
    client: AnalyzerClient<Channel>,
    connection: AnalyzerConnection,
    /// Routes its calls of the engine to the operation.
    _hold: RouteHold,
    /// The engine's endpoint, which listens as long as the pack is used.
    _engine: Arc<EngineEndpoint>,
}

/// The address of an analyzer, with the timeouts of its calls.
struct AnalyzerConnection {
    name: String,
    address: String,
    ready: Duration,
    cancel: Duration,
    runtime: Runtime,
}

impl Pack {
    /// Connects to a pack and configures its policies.
    ///
    /// # Errors
    /// [`ErrorKind::Plugin`] with the name and the address of the pack; an error in its settings.
    pub(super) async fn load(pack: PackToLoad, surroundings: &PolicySurroundings) -> Result<Self> {
        let PackToLoad {
            option,
            address,
            is_local,
            engine,
        } = pack;
        let hold = engine.route.hold(&surroundings.operation);
        let connection = AnalyzerConnection {
            name: option.name.clone(),
            address,
            ready: surroundings.timeouts.ready,
            cancel: surroundings.timeouts.cancel,
            runtime: surroundings.runtime.clone(),
        };
        let mut client = AnalyzerClient::new(connection.connect().await?)
            .max_decoding_message_size(MESSAGE_LIMIT)
            .max_encoding_message_size(MESSAGE_LIMIT);
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
        let Some(info) = info.await? else {
            let failure = Status::unimplemented("the call is not implemented");
            return Err(connection.load_failure(&connection.call_error("GetAnalyzerInfo", &failure)));
        };
        let (policies, request) = reconcile(&option, &info)?;
        if !request.policy_config.is_empty() {
            connection
                .ask_to_load("Configure", client.configure(request))
                .await?;
        }
        let name = if info.name.is_empty() {
            option.name.clone()
        } else {
            info.name
        };
        Ok(Self {
            option,
            is_local,
            name,
            version: info.version,
            policies,
            supports_config: info.supports_config,
            client,
            connection,
            _hold: hold,
            _engine: engine,
        })
    }

    /// Returns the name that the pack reports.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the pack's version; empty without one.
    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    /// Returns the pack's version or `(local)` for summaries.
    pub(super) fn tag(&self) -> String {
        if self.is_local {
            "(local)".to_owned()
        } else {
            self.version.clone()
        }
    }

    /// Returns a warning for each setting without a policy.
    pub(super) fn unused_settings(&self) -> Vec<String> {
        let name = &self.option.name;
        if !self.supports_config && self.option.has_properties() {
            return vec![format!("the policy pack {name} takes no settings")];
        }
        let unknown = self.option.configured();
        let unknown = unknown.filter(|setting| !self.policies.iter().any(|policy| policy.name == *setting));
        unknown
            .map(|policy| {
                format!("the policy pack {name} has no policy {policy:?}, for which there are settings")
            })
            .collect()
    }

    /// Requests the remediation of a resource's inputs.
    pub(crate) async fn remediate(
        &self,
        subject: &Subject<'_>,
        inputs: &PropertyMap,
    ) -> ProviderResult<Rewriting> {
        let request = subject.request(inputs).map_err(|error| self.unsendable(&error))?;
        let mut client = self.client.clone();
        let answer = self
            .connection
            .ask("Remediate", ANALYZE_TIMEOUT, client.remediate(request))
            .await?;
        self.read_rewriting(&subject.state.urn, inputs, answer.unwrap_or_default())
            .map_err(|why| self.malformed_response("Remediate", &why))
    }

    /// Requests the analysis of one resource.
    pub(crate) async fn analyze(&self, subject: &Subject<'_>) -> ProviderResult<Analysis> {
        let request = subject
            .request(&subject.state.inputs)
            .map_err(|error| self.unsendable(&error))?;
        let mut client = self.client.clone();
        let answer = self
            .connection
            .ask("Analyze", ANALYZE_TIMEOUT, client.analyze(request))
            .await?;
        self.read_analysis(answer.unwrap_or_default(), |_| subject.state.urn.clone())
            .map_err(|why| self.malformed_response("Analyze", &why))
    }

    /// Requests the analysis of all resources together. Violations without a resource are those of `root`.
    pub(crate) async fn analyze_stack(
        &self,
        subjects: &[Subject<'_>],
        root: &Urn,
    ) -> ProviderResult<Analysis> {
        let resources: Result<Vec<_>> = subjects.iter().map(Subject::resource).collect();
        let request = rpc::AnalyzeStackRequest {
            resources: resources.map_err(|error| self.unsendable(&error))?,
        };
        let mut client = self.client.clone();
        let answer = self
            .connection
            .ask("AnalyzeStack", ANALYZE_TIMEOUT, client.analyze_stack(request))
            .await?;
        let urns: FxHashMap<&str, &Urn> = subjects
            .iter()
            .map(|subject| (subject.state.urn.as_str(), &subject.state.urn))
            .collect();
        let place = |urn: &str| urns.get(urn).copied().unwrap_or(root).clone();
        self.read_analysis(answer.unwrap_or_default(), place)
            .map_err(|why| self.malformed_response("AnalyzeStack", &why))
    }

    /// Returns the results of the policies that apply to a request.
    pub(crate) fn findings(
        &self,
        question: PolicyQuestion,
        urn: Option<&Urn>,
        found: &[&str],
        not_applicable: &[String],
    ) -> PolicyFindings {
        let asked = self.policies.iter().filter(|policy| {
            let about = policy.is_of_stack == (question == PolicyQuestion::AnalyzeStack);
            let rewrites =
                question != PolicyQuestion::Remediate || policy.level == EnforcementLevel::Remediate;
            about && rewrites && policy.level != EnforcementLevel::Disabled
        });
        let asked = asked.map(|policy| policy.name.as_str());
        let passed =
            asked.filter(|name| !found.contains(name) && !not_applicable.iter().any(|other| other == name));
        let mut failed: Vec<String> = Vec::new();
        for name in found {
            if !failed.iter().any(|other| other == name) {
                failed.push((*name).to_owned());
            }
        }
        PolicyFindings {
            question,
            urn: urn.cloned(),
            pack: self.name.clone(),
            version: self.version.clone(),
            passed: passed.map(str::to_owned).collect(),
            failed,
        }
    }

    /// Asks the pack to cancel, with a time limit; the call is optional for packs.
    pub(super) async fn cancel(&self) {
        let mut client = self.client.clone();
        if let Err(error) = self
            .connection
            .ask("Cancel", self.connection.cancel, client.cancel(()))
            .await
        {
            tracing::debug!(pack = self.name, status = ?error.status, "a policy pack failed to cancel");
        }
    }

    fn unsendable(&self, error: &Error) -> ProviderError {
        let text = format!(
            "cannot encode the request to policy pack {}: {}",
            self.option.name,
            error.message()
        );
        ProviderError::new(ProviderStatus::InvalidArgument, text)
    }

    /// Creates the error of a response that cannot be decoded.
    pub(crate) fn malformed_response(&self, call: &str, why: &str) -> ProviderError {
        let AnalyzerConnection { name, address, .. } = &self.connection;
        let text = format!("malformed {call} response from policy pack {name} [{address}]: {why}");
        ProviderError::new(ProviderStatus::Internal, text)
    }
}

impl AnalyzerConnection {
    async fn connect(&self) -> Result<Channel> {
        let Self { name, address, .. } = self;
        let failed = |why: &str| {
            Error::new(
                ErrorKind::Plugin,
                format!("could not connect to policy pack {name} at {address}: {why}"),
            )
            .with_phase("load")
        };
        let uri = if address.contains("://") {
            address.clone()
        } else {
            format!("http://{address}")
        };
        let endpoint = Endpoint::from_shared(uri)
            .map_err(|error| failed(&error.to_string()))?
            .tcp_nodelay(true);
        let attempts = async {
            loop {
                match transport::connect(&endpoint, &self.runtime).await {
                    Ok(channel) => return channel,
                    Err(_) => self.runtime.clock.wait(CONNECT_RETRY_INTERVAL).await,
                }
            }
        };
        tokio::select! {
            channel = attempts => Ok(channel),
            () = self.runtime.clock.wait(self.ready) => Err(failed("it does not answer")),
        }
    }

    /// Awaits a response; `None` if the pack does not implement the call.
    async fn ask<T>(
        &self,
        call: &'static str,
        timeout: Duration,
        answer: impl Future<Output = Result<Response<T>, Status>>,
    ) -> ProviderResult<Option<T>> {
        let answer = tokio::select! {
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

    async fn ask_to_load<T>(
        &self,
        call: &'static str,
        answer: impl Future<Output = Result<Response<T>, Status>>,
    ) -> Result<Option<T>> {
        let answer = self.ask(call, self.ready, answer).await;
        answer.map_err(|error| self.load_failure(&error))
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
