//! Loading the policy packs of an operation that runs a program.

use std::sync::Arc;

use stackwright_proto::pulumirpc::AnalyzerStackConfigureRequest;

use super::{EngineParts, OperationRun};
use crate::{
    error::{Error, ErrorKind, Result},
    event::EventPayload,
    monitor::RunInfo,
    plugin::PluginKind,
    policy::{PackToLoad, Policies, PolicyPackOption, PolicySurroundings},
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
    let policies = tokio::select! {
        biased;
        () = run.control.cancelled() => return Ok(None),
        policies = connect(run, info, plugins) => policies?,
    };
    for warning in policies.warnings() {
        run.events.diagnostic(warning);
    }
    Ok(Some(Arc::new(policies)))
}

/// Connects the packs, and configures them.
async fn connect(run: &OperationRun, info: &RunInfo, plugins: &Arc<PluginOperation>) -> Result<Policies> {
    let engine = &run.stack.engine;
    let required = run.options.required_policies.iter().map(|option| (option, false));
    let local = run.options.local_policy_packs.iter().map(|option| (option, true));
    let mut packs = Vec::new();
    for (option, is_local) in required.chain(local) {
        let option = option.named();
        let address = address_of(engine, &option).await?;
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
            stack: info.stack.clone(),
            project: info.project.clone(),
            organization: info.organization.clone(),
            dry_run: info.dry_run,
            config_secret_keys: info.config_secret_keys.clone(),
            config: info.config.clone(),
            tags: run.stack.tags.clone(),
        },
    };
    Policies::load(packs, &surroundings).await
}

/// Returns the address of a pack: that of the options, else that of the host's resolver.
async fn address_of(engine: &EngineParts, option: &PolicyPackOption) -> Result<String> {
    if !option.address.is_empty() {
        return Ok(option.address.clone());
    }
    let name = &option.name;
    let Some(resolver) = engine.loader.resolver() else {
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
        Resolution::Address(address) => Ok(address),
        Resolution::InProcess(_) | Resolution::Default => Err(Error::new(
            ErrorKind::Plugin,
            format!("the resolver names no address for the policy pack {name:?}"),
        )),
    }
}
