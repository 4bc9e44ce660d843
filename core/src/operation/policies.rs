//! Loading the policy packs of an operation that runs a program.

use std::sync::Arc;

use stackwright_proto::pulumirpc::AnalyzerStackConfigureRequest;

use super::OperationRun;
use crate::{
    error::{Error, ErrorKind, Result},
    event::EventPayload,
    monitor::RunInfo,
    plugin::PluginKind,
    policy::{PackToLoad, Policies, PolicyPackOption, PolicySurroundings},
    provider::{EngineEndpoints as _, PluginOperation, Resolution, ResolutionRequest},
};

impl OperationRun {
    /// Loads the packs that the options name; `None` without any, and for operations that run no program.
    ///
    /// # Errors
    /// What is wrong with a pack; it is named. The words of the resolver are left as they are.
    pub(super) async fn load_policies(
        &self,
        run: &RunInfo,
        plugins: &Arc<PluginOperation>,
    ) -> Result<Option<Arc<Policies>>> {
        let options = &self.options;
        let none = options.required_policies.is_empty() && options.local_policy_packs.is_empty();
        if none || options.program_purpose(self.kind).is_none() {
            return Ok(None);
        }
        self.events.emit_with(false, || EventPayload::PolicyLoad);
        let policies = tokio::select! {
            biased;
            () = self.control.cancelled() => return Ok(None),
            policies = self.connect_policies(run, plugins) => policies?,
        };
        for warning in policies.warnings() {
            self.events.diagnostic(warning);
        }
        Ok(Some(Arc::new(policies)))
    }

    async fn connect_policies(&self, run: &RunInfo, plugins: &Arc<PluginOperation>) -> Result<Policies> {
        let engine = &self.stack.engine;
        let required = self
            .options
            .required_policies
            .iter()
            .map(|option| (option, false));
        let local = self
            .options
            .local_policy_packs
            .iter()
            .map(|option| (option, true));
        let mut packs = Vec::new();
        for (option, is_local) in required.chain(local) {
            let option = option.named();
            let address = self.address_of(&option).await?;
            packs.push(PackToLoad {
                option,
                engine: engine.service.address_endpoint(&address).await?,
                address,
                is_local,
            });
        }
        let surroundings = PolicySurroundings {
            runtime: engine.runtime.clone(),
            timeouts: engine.loader.timeouts(),
            operation: Arc::downgrade(plugins),
            stack: AnalyzerStackConfigureRequest {
                stack: run.stack.clone(),
                project: run.project.clone(),
                organization: run.organization.clone(),
                dry_run: run.dry_run,
                config_secret_keys: run.config_secret_keys.clone(),
                config: run.config.clone(),
                tags: self.stack.tags.clone(),
            },
        };
        Policies::load(packs, &surroundings).await
    }

    /// Returns where a pack listens: where the options say, else where the host's resolver does.
    async fn address_of(&self, option: &PolicyPackOption) -> Result<String> {
        if !option.address.is_empty() {
            return Ok(option.address.clone());
        }
        let name = &option.name;
        let Some(resolver) = self.stack.engine.loader.resolver() else {
            let text =
                format!("the policy pack {name:?} has no address, and the engine has no resolver to ask");
            return Err(Error::invalid(text));
        };
        let request = ResolutionRequest {
            kind: PluginKind::Analyzer,
            name: name.clone(),
            version: semver::Version::parse(option.version.trim_start_matches('v')).ok(),
            download_url: option.download_url.clone(),
            checksums: option.checksums.clone(),
            path: option.path.clone(),
            config: option.config.clone(),
        };
        match resolver.resolve(request).await? {
            Resolution::Address(address) => Ok(address),
            Resolution::InProcess(_) | Resolution::Default => Err(Error::new(
                ErrorKind::Plugin,
                format!("the resolver names no address for the policy pack {name:?}"),
            )),
        }
    }
}
