//! A loaded policy pack: its name, its policies, and the backend that runs them.

use async_trait::async_trait;

use super::{
    Analysis, PackSource, PackToLoad, PolicyPackOption, PolicySurroundings, Rewriting, Subject,
    analyzer::{Analyzer, AnalyzerPlace},
    folder,
    host::HostFunctions,
    settings::EnforcedPolicy,
};
use crate::{
    error::Result,
    event::{EnforcementLevel, LocalPack, PolicyFindings, PolicyQuestion},
    property::PropertyMap,
    provider::{ProviderError, ProviderResult},
    urn::Urn,
};

/// The name and the version of a pack; the version is empty when it has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PackName {
    pub(super) name: String,
    pub(super) version: String,
}

/// Runs the policies of one pack: an analyzer over gRPC, or functions of the host. Calls are concurrent.
#[async_trait]
pub(super) trait PackBackend: Send + Sync + 'static {
    /// Lets the policies rewrite the inputs of a resource, in sequence.
    async fn remediate(&self, subject: &Subject<'_>, inputs: &PropertyMap) -> ProviderResult<Rewriting>;

    /// Analyzes one resource.
    async fn analyze(&self, subject: &Subject<'_>) -> ProviderResult<Analysis>;

    /// Analyzes all resources together. Violations without a resource are those of `root`.
    async fn analyze_stack(&self, subjects: &[Subject<'_>], root: &Urn) -> ProviderResult<Analysis>;

    /// Describes the calls about a resource, or all resources of its stack, that have not returned yet: one of each policy
    /// where the engine calls it itself. `call` is the name of the request.
    fn unreturned(&self, call: &str, urn: &Urn) -> Vec<String>;

    /// Returns whether a cancellation gives up the calls in progress: the pack is not asked to cancel them, so that they would not end.
    fn is_given_up_when_cancelled(&self) -> bool;

    /// Asks the pack to cancel its running calls.
    async fn cancel(&self);

    /// Ends the pack; no call follows.
    async fn close(&self);

    /// Creates the error of a response that cannot be used.
    fn malformed_response(&self, call: &str, why: &str) -> ProviderError;
}

/// A pack that a backend has loaded.
pub(super) struct LoadedPack {
    pub(super) name: PackName,
    pub(super) policies: Vec<EnforcedPolicy>,
    pub(super) supports_config: bool,
    pub(super) backend: Box<dyn PackBackend>,
}

/// A configured policy pack.
pub(crate) struct Pack {
    option: PolicyPackOption,
    is_local: bool,
    loaded: LoadedPack,
}

impl Pack {
    /// Loads a pack and configures its policies.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Plugin`] with the name and the place of the pack; an error in its settings.
    pub(super) async fn load(pack: PackToLoad, surroundings: &PolicySurroundings) -> Result<Self> {
        let PackToLoad {
            option,
            is_local,
            source,
        } = pack;
        let loaded = match source {
            PackSource::Host(pack) => HostFunctions::load(&option, &pack, surroundings)?,
            PackSource::Address { address, engine } => {
                let place = AnalyzerPlace {
                    address,
                    process: None,
                    engine,
                };
                Analyzer::load(&option, place, surroundings).await?
            }
            PackSource::Folder { folder, engine } => {
                let place = folder::start(&option.name, folder, engine, surroundings).await?;
                Analyzer::load(&option, place, surroundings).await?
            }
        };
        Ok(Self {
            option,
            is_local,
            loaded,
        })
    }

    /// Returns the name that the pack reports.
    pub(crate) fn name(&self) -> &str {
        &self.loaded.name.name
    }

    /// Returns the pack's version or `(local)` for summaries.
    pub(super) fn tag(&self) -> String {
        if self.is_local {
            "(local)".to_owned()
        } else {
            self.loaded.name.version.clone()
        }
    }

    /// Returns the pack for summaries, if it is one of the options.
    pub(super) fn local(&self) -> Option<LocalPack> {
        let folder = Some(&self.option.path).filter(|path| !path.is_empty());
        self.is_local.then(|| LocalPack {
            name: self.loaded.name.name.clone(),
            version: self.loaded.name.version.clone(),
            folder: folder.cloned(),
        })
    }

    /// Returns a warning for each setting without a policy.
    pub(super) fn unused_settings(&self) -> Vec<String> {
        let name = &self.option.name;
        if !self.loaded.supports_config && self.option.has_properties() {
            return vec![format!("the policy pack {name} takes no settings")];
        }
        let policies = &self.loaded.policies;
        let unknown = self.option.configured();
        let unknown = unknown.filter(|setting| !policies.iter().any(|policy| policy.name == *setting));
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
        self.loaded.backend.remediate(subject, inputs).await
    }

    /// Requests the analysis of one resource.
    pub(crate) async fn analyze(&self, subject: &Subject<'_>) -> ProviderResult<Analysis> {
        self.loaded.backend.analyze(subject).await
    }

    /// Requests the analysis of all resources together. Violations without a resource are those of `root`.
    pub(crate) async fn analyze_stack(
        &self,
        subjects: &[Subject<'_>],
        root: &Urn,
    ) -> ProviderResult<Analysis> {
        self.loaded.backend.analyze_stack(subjects, root).await
    }

    /// Describes the calls about a resource that have not returned yet.
    pub(crate) fn unreturned(&self, question: PolicyQuestion, urn: &Urn) -> Vec<String> {
        self.loaded.backend.unreturned(question.call(), urn)
    }

    /// Returns whether a cancellation gives up the calls in progress, and not only a termination.
    pub(crate) fn is_given_up_when_cancelled(&self) -> bool {
        self.loaded.backend.is_given_up_when_cancelled()
    }

    /// Returns the results of the policies that apply to a request.
    pub(crate) fn findings(
        &self,
        question: PolicyQuestion,
        urn: Option<&Urn>,
        found: &[&str],
        not_applicable: &[String],
    ) -> PolicyFindings {
        let asked = self.loaded.policies.iter().filter(|policy| {
            let about = policy.is_of_stack == (question == PolicyQuestion::AnalyzeStack);
            let rewrites =
                question != PolicyQuestion::Remediate || policy.level == EnforcementLevel::Remediate;
            about && rewrites && policy.is_enabled()
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
            pack: self.loaded.name.name.clone(),
            version: self.loaded.name.version.clone(),
            passed: passed.map(str::to_owned).collect(),
            failed,
        }
    }

    /// Asks the pack to cancel, with a time limit; the call is optional for packs.
    pub(super) async fn cancel(&self) {
        self.loaded.backend.cancel().await;
    }

    /// Ends the pack.
    pub(super) async fn close(&self) {
        self.loaded.backend.close().await;
    }

    /// Creates the error of a response that cannot be used.
    pub(crate) fn malformed_response(&self, call: &str, why: &str) -> ProviderError {
        self.loaded.backend.malformed_response(call, why)
    }
}
