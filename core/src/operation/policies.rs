//! Loading policy packs: of an operation that runs a program, and of an analysis of the state.

use std::{path::PathBuf, sync::Arc, time::Duration};

use stackwright_proto::pulumirpc::AnalyzerStackConfigureRequest;

use super::{EngineParts, OperationRun, StackContext};
use crate::{
    error::{Error, ErrorKind, Result},
    event::{EventPayload, EventSink},
    monitor::RunInfo,
    plugin::PluginKind,
    policy::{PackSource, PackToLoad, Policies, PolicyPackOption, PolicySurroundings},
    provider::{EngineEndpoints as _, PluginOperation, Resolution, ResolutionRequest},
};

/// Loads the packs that the options name; `None` without any, and for operations that run no program.
///
/// # Errors
/// The fault of a pack, with its name; errors of the resolver are left as they are.
pub(super) async fn load_policies(
    run: &OperationRun,
    info: &RunInfo,
    plugins: &Arc<PluginOperation>,
) -> Result<Option<Arc<Policies>>> {
    let options = &run.options;
    let none = options.required_policies.is_empty() && options.local_policy_packs.is_empty();
    if none || options.program_purpose(run.kind).is_none() {
        return Ok(None);
    }
    run.events.emit_with(false, || EventPayload::PolicyLoad);
    let required = options.required_policies.iter().map(|option| (option, false));
    let local = options.local_policy_packs.iter().map(|option| (option, true));
    let loading = PackLoading {
        stack: &run.stack,
        info,
        plugins,
        events: &run.events,
        call_timeout: options.callback_time_limit(),
    };
    let policies = tokio::select! {
        biased;
        () = run.control.cancelled() => return Ok(None),
        policies = loading.load(required.chain(local)) => policies?,
    };
    for warning in policies.warnings() {
        run.events.diagnostic(warning);
    }
    Ok(Some(Arc::new(policies)))
}

/// What packs are loaded for.
pub(super) struct PackLoading<'a> {
    pub(super) stack: &'a StackContext,
    pub(super) info: &'a RunInfo,
    pub(super) plugins: &'a Arc<PluginOperation>,
    pub(super) events: &'a EventSink,
    /// How long one call about a resource, or about all of them, may take.
    pub(super) call_timeout: Duration,
}

impl PackLoading<'_> {
    /// Loads and configures packs, each with whether it is one of the user.
    pub(super) async fn load<'a>(
        &self,
        options: impl Iterator<Item = (&'a PolicyPackOption, bool)> + Send,
    ) -> Result<Policies> {
        let mut packs = Vec::new();
        for (option, is_local) in options {
            let option = option.named();
            packs.push(PackToLoad {
                source: self.source_of(&option).await?,
                option,
                is_local,
            });
        }
        Policies::load(packs, &self.surroundings()).await
    }

    fn surroundings(&self) -> PolicySurroundings {
        let (engine, info) = (&self.stack.engine, self.info);
        let plugins = engine.loader.plugin_settings();
        let events = self.events.clone();
        PolicySurroundings {
            runtime: engine.runtime.clone(),
            timeouts: plugins.timeouts,
            call_timeout: self.call_timeout,
            guard_shell: plugins.guard_shell.clone(),
            host_environment: plugins.host_environment(),
            sink: Arc::new(move |diagnostic| events.diagnostic(diagnostic)),
            operation: Arc::downgrade(self.plugins),
            stack: AnalyzerStackConfigureRequest {
                stack: info.stack.clone(),
                project: info.project.clone(),
                organization: info.organization.clone(),
                dry_run: info.dry_run,
                config_secret_keys: info.config_secret_keys.clone(),
                config: info.config.clone(),
                tags: self.stack.tags.clone(),
            },
        }
    }

    /// Returns where a pack runs: in the host's process, at the address of the options, else at that of the host's
    /// resolver, else in the folder of the options.
    async fn source_of(&self, option: &PolicyPackOption) -> Result<PackSource> {
        let engine = &self.stack.engine;
        if let Some(pack) = &option.host {
            return Ok(PackSource::Host(pack.clone()));
        }
        if let Some(address) = address_of(engine, option).await? {
            let endpoint = engine.service.address_endpoint(&address).await?;
            return Ok(PackSource::Address {
                address,
                engine: endpoint,
            });
        }
        let path = PathBuf::from(&option.path);
        let root = self.stack.root_directory.as_ref();
        Ok(PackSource::Folder {
            folder: root.map_or_else(|| path.clone(), |root| root.join(&path)),
            engine: engine.service.process_endpoint().await?,
        })
    }
}

/// Returns the address of a pack: that of the options, else that of the host's resolver; `None` for a pack in a folder.
async fn address_of(engine: &EngineParts, option: &PolicyPackOption) -> Result<Option<String>> {
    if !option.address.is_empty() {
        return Ok(Some(option.address.clone()));
    }
    let name = &option.name;
    let Some(resolver) = engine.loader.resolver() else {
        if !option.path.is_empty() {
            return Ok(None);
        }
        let text = format!("the policy pack {name:?} has no address, and the engine has no resolver to ask");
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
        Resolution::Address(address) => Ok(Some(address)),
        Resolution::Default if !option.path.is_empty() => Ok(None),
        Resolution::InProcess(_) | Resolution::Default => Err(Error::new(
            ErrorKind::Plugin,
            format!("the resolver names no address for the policy pack {name:?}"),
        )),
    }
}
