//! One policy pack at its address: greeted, configured, asked, cancelled.

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
    provider::{EngineEndpoint, ProviderError, ProviderResult, ProviderStatus, RouteHold, grpc::break_down},
    runtime::Runtime,
    transport,
    urn::Urn,
};

/// How long to wait between attempts to reach an analyzer that does not listen yet.
const RETRY: Duration = Duration::from_millis(20);
/// How long a pack may think about resources. Nobody waits for ever for one that hangs.
const THOUGHT: Duration = Duration::from_secs(300);

/// A policy pack that has been configured.
pub(crate) struct Pack {
    option: PolicyPackOption,
    is_local: bool,
    /// The name that the pack gives itself.
    name: String,
    version: String,
    policies: Vec<Policy>,
    supports_config: bool,
    client: AnalyzerClient<Channel>,
    line: Line,
    /// Leads its calls of the engine to the operation.
    _hold: RouteHold,
    /// Where it reaches the engine; the endpoint listens for as long as the pack is used.
    _engine: Arc<EngineEndpoint>,
}

/// Whom a connection leads to, and how long things may take.
struct Line {
    name: String,
    address: String,
    ready: Duration,
    cancel: Duration,
    runtime: Runtime,
}

impl Pack {
    /// Connects to a pack and tells it what it is to look after.
    ///
    /// # Errors
    /// [`ErrorKind::Plugin`] that names the pack and where it listens; what is wrong with its settings.
    pub(super) async fn load(pack: PackToLoad, surroundings: &PolicySurroundings) -> Result<Self> {
        let PackToLoad {
            option,
            address,
            is_local,
            engine,
        } = pack;
        let hold = engine.route.hold(&surroundings.operation);
        let line = Line {
            name: option.name.clone(),
            address,
            ready: surroundings.timeouts.ready,
            cancel: surroundings.timeouts.cancel,
            runtime: surroundings.runtime.clone(),
        };
        let mut client = AnalyzerClient::new(line.connect().await?)
            .max_decoding_message_size(MESSAGE_LIMIT)
            .max_encoding_message_size(MESSAGE_LIMIT);
        let greeting = rpc::AnalyzerHandshakeRequest {
            engine_address: engine.address.clone(),
            root_directory: None,
            program_directory: None,
        };
        // Older packs know neither of the two.
        line.ask_to_load("Handshake", client.handshake(greeting)).await?;
        let stack = surroundings.stack.clone();
        line.ask_to_load("ConfigureStack", client.configure_stack(stack))
            .await?;
        let info = line.ask_to_load("GetAnalyzerInfo", client.get_analyzer_info(()));
        let Some(info) = info.await? else {
            let failure = Status::unimplemented("it does not know the call");
            return Err(line.load_failure(&line.fault("GetAnalyzerInfo", &failure)));
        };
        let (policies, request) = reconcile(&option, &info)?;
        if !request.policy_config.is_empty() {
            line.ask_to_load("Configure", client.configure(request)).await?;
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
            line,
            _hold: hold,
            _engine: engine,
        })
    }

    /// Returns the name that the pack gives itself.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the pack's version; empty when it has none.
    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    /// Returns what summaries say of the pack beside its name.
    pub(super) fn tag(&self) -> String {
        if self.is_local {
            "(local)".to_owned()
        } else {
            self.version.clone()
        }
    }

    /// Returns a text for each setting that no policy takes.
    pub(super) fn unused_settings(&self) -> Vec<String> {
        let name = &self.option.name;
        if !self.supports_config && self.option.has_properties() {
            return vec![format!("the policy pack {name} takes no settings")];
        }
        let unknown = self.option.configured();
        let unknown = unknown.filter(|wanted| !self.policies.iter().any(|policy| policy.name == *wanted));
        unknown
            .map(|policy| {
                format!("the policy pack {name} has no policy {policy:?}, for which there are settings")
            })
            .collect()
    }

    /// Asks whether the pack would rewrite the inputs of a resource.
    pub(crate) async fn remediate(
        &self,
        subject: &Subject<'_>,
        inputs: &PropertyMap,
    ) -> ProviderResult<Rewriting> {
        let request = subject.request(inputs).map_err(|error| self.unsendable(&error))?;
        let mut client = self.client.clone();
        let answer = self
            .line
            .ask("Remediate", THOUGHT, client.remediate(request))
            .await?;
        self.read_rewriting(&subject.state.urn, inputs, answer.unwrap_or_default())
            .map_err(|why| self.nonsense("Remediate", &why))
    }

    /// Asks what the pack thinks of one resource.
    pub(crate) async fn analyze(&self, subject: &Subject<'_>) -> ProviderResult<Analysis> {
        let request = subject
            .request(&subject.state.inputs)
            .map_err(|error| self.unsendable(&error))?;
        let mut client = self.client.clone();
        let answer = self.line.ask("Analyze", THOUGHT, client.analyze(request)).await?;
        self.read_analysis(answer.unwrap_or_default(), |_| subject.state.urn.clone())
            .map_err(|why| self.nonsense("Analyze", &why))
    }

    /// Asks what the pack thinks of all resources together. What is about none of them is about `root`.
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
            .line
            .ask("AnalyzeStack", THOUGHT, client.analyze_stack(request))
            .await?;
        let urns: FxHashMap<&str, &Urn> = subjects
            .iter()
            .map(|subject| (subject.state.urn.as_str(), &subject.state.urn))
            .collect();
        let place = |urn: &str| urns.get(urn).copied().unwrap_or(root).clone();
        self.read_analysis(answer.unwrap_or_default(), place)
            .map_err(|why| self.nonsense("AnalyzeStack", &why))
    }

    /// Sums up what the policies found that a question was for.
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

    /// Asks the pack to give up, within a limit; not every pack knows how to.
    pub(super) async fn cancel(&self) {
        let mut client = self.client.clone();
        if let Err(error) = self.line.ask("Cancel", self.line.cancel, client.cancel(())).await {
            tracing::debug!(pack = self.name, status = ?error.status, "a policy pack failed to cancel");
        }
    }

    fn unsendable(&self, error: &Error) -> ProviderError {
        let text = format!(
            "policy pack {} cannot be asked: {}",
            self.option.name,
            error.message()
        );
        ProviderError::new(ProviderStatus::InvalidArgument, text)
    }

    /// Returns the error of an answer that nobody can read.
    pub(crate) fn nonsense(&self, call: &str, why: &str) -> ProviderError {
        let Line { name, address, .. } = &self.line;
        let text = format!("policy pack {name} [{address}] answered {call} with what nobody can read: {why}");
        ProviderError::new(ProviderStatus::Internal, text)
    }
}

impl Line {
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
                    Err(_) => self.runtime.clock.wait(RETRY).await,
                }
            }
        };
        tokio::select! {
            channel = attempts => Ok(channel),
            () = self.runtime.clock.wait(self.ready) => Err(failed("it does not answer")),
        }
    }

    /// Awaits an answer; `None` when the pack does not know the call.
    async fn ask<T>(
        &self,
        call: &'static str,
        patience: Duration,
        answer: impl Future<Output = Result<Response<T>, Status>>,
    ) -> ProviderResult<Option<T>> {
        let answer = tokio::select! {
            answer = answer => answer,
            () = self.runtime.clock.wait(patience) => {
                let Self { name, address, .. } = self;
                let seconds = patience.as_secs_f64();
                let text = format!("policy pack {name} [{address}] did not answer {call} within {seconds} s");
                return Err(ProviderError::new(ProviderStatus::DeadlineExceeded, text));
            }
        };
        match answer {
            Ok(answer) => Ok(Some(answer.into_inner())),
            Err(failure) if failure.code() == Code::Unimplemented => Ok(None),
            Err(failure) => Err(self.fault(call, &failure)),
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

    fn fault(&self, call: &str, failure: &Status) -> ProviderError {
        let Self { name, address, .. } = self;
        let status = ProviderStatus::from_code(i32::from(failure.code()));
        let text = match break_down(failure) {
            Some(broken) => format!(
                "policy pack {name} [{address}] could not be spoken to during {call}: {}",
                broken.text
            ),
            None => format!(
                "policy pack {name} [{address}] failed during {call}: {}",
                failure.message()
            ),
        };
        ProviderError::new(status, text)
    }
}
