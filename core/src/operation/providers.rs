//! The providers of an operation: the built-in one, and those of the engine's loader.

use std::sync::Arc;

use async_trait::async_trait;

use crate::{
    diagnostic::Diagnostic,
    error::{ErrorKind, Result},
    event::{EventPayload, EventSink, Progress, ProgressKind},
    executor::Executor,
    monitor::RunInfo,
    operation::{OperationRun, StackContext},
    plugin::{DiagnosticSink, InstallProgress},
    property::PropertyMap,
    provider::{
        InstallationSink, PluginOperation, ProviderSource, ResolutionRequest, RunSource, RunSurroundings,
        builtin::{BuiltinProvider, FoundResource, ResourceLookup, StackReader},
    },
    state::Snapshot,
    store::{StackName, StackStorage},
    urn::Urn,
};

/// Returns the provider source of one operation.
pub(super) fn source(
    run: &OperationRun,
    info: &RunInfo,
    executor: &Arc<Executor>,
    plugins: &Arc<PluginOperation>,
) -> Arc<dyn ProviderSource> {
    let stack = &run.stack;
    let engine = &stack.engine;
    let events = executor.events().clone();
    let sink: DiagnosticSink = Arc::new(move |diagnostic| events.diagnostic(diagnostic));
    let events = executor.events().clone();
    let progress: InstallationSink = Arc::new(move |plugin, progress| report(&events, plugin, progress));
    let own = || Arc::new(OwnStacks(Arc::clone(stack)));
    let stacks: Arc<dyn StackReader> = match (&engine.stacks, &engine.simulation) {
        (Some(stacks), _) => Arc::clone(stacks),
        (None, Some(simulation)) => simulation.stacks(&stack.project, own()),
        (None, None) => own(),
    };
    let stacks = run.set.reader(stack, executor, stacks);
    let resources: Arc<dyn ResourceLookup> = Arc::new(RunResources(Arc::clone(executor)));
    let random = Arc::clone(&engine.runtime.random);
    let builtin = BuiltinProvider::new(Some(stacks), resources, random, Some(Arc::clone(&sink)));
    let surroundings = RunSurroundings {
        project: info.project.clone(),
        runtime_options: info.runtime_options.clone(),
        config: info.config.clone(),
        directory: stack.root_directory.clone(),
        sink: Some(sink),
        progress: Some(progress),
        cancelled: executor.control().cancellation(),
        operation: Arc::downgrade(plugins),
    };
    let source = RunSource::new(engine.loader.clone(), Arc::new(builtin), surroundings);
    Arc::new(source.skip_pre_install(run.options.skip_plugin_pre_install))
}

/// Reports the progress of the installation of a plugin: as an event, and a failed download as a warning.
fn report(events: &EventSink, plugin: &ResolutionRequest, progress: InstallProgress) {
    let version = plugin
        .version
        .as_ref()
        .map(ToString::to_string)
        .unwrap_or_default();
    let (kind, received, total, done) = match progress {
        InstallProgress::Downloading { received, total } => {
            let ended = received > 0 && total == Some(received);
            (ProgressKind::PluginDownload, received, total, ended)
        }
        InstallProgress::Unpacking { unpacked, total } => {
            (ProgressKind::PluginInstall, unpacked, total, false)
        }
        InstallProgress::Installed => (ProgressKind::PluginInstall, 0, None, true),
        InstallProgress::Retrying {
            attempt,
            attempts,
            reason,
            ..
        } => {
            let text = format!("{reason} (attempt {attempt} of {attempts})");
            events.diagnostic(Diagnostic::warning(text));
            return;
        }
    };
    let verb = match kind {
        ProgressKind::PluginDownload => "downloading",
        ProgressKind::PluginInstall => "installing",
    };
    let (name, of) = (&plugin.name, plugin.kind.name());
    let progress = Progress {
        kind,
        id: format!("{of}-{name}-v{version}"),
        message: format!("{verb} the {of} plugin `{name}` {version}"),
        received,
        total: total.unwrap_or_default(),
        done,
    };
    events.emit_with(false, || EventPayload::Progress(progress));
}

/// The resources that this run has registered or read.
struct RunResources(Arc<Executor>);

impl ResourceLookup for RunResources {
    fn resource(&self, urn: &Urn) -> Option<FoundResource> {
        let state = self.0.published(urn)?;
        Some(FoundResource {
            id: state.id.clone(),
            provider: state.provider.to_string(),
            outputs: state.outputs.clone(),
        })
    }
}

/// The other stacks of the same store.
struct OwnStacks(Arc<StackContext>);

impl OwnStacks {
    async fn snapshot(&self, stack: &str) -> Result<(StackName, Snapshot)> {
        let name = self.0.referred_stack(stack)?;
        let engine = &self.0.engine;
        let stack = &self.0;
        let storage = if name == *stack.storage.name() {
            // The host may supply this stack's state, while the store contains another stack of its name.
            stack.storage.clone()
        } else {
            let (store, host) = (Arc::clone(&engine.store), engine.host.clone());
            StackStorage::new(store, name.clone(), host, engine.runtime.clone())
        };
        let secrets = stack.reference_secrets.get(&name.to_string());
        let loaded = storage.load(&**secrets.unwrap_or(&stack.secrets)).await;
        let loaded = loaded.map_err(|error| match error.kind() {
            ErrorKind::Decrypt | ErrorKind::Secrets => error.of_stack(&name).with_hint(
                "name the passphrase of that stack among the reference passphrases of the stack that refers to it",
            ),
            _ => error,
        })?;
        Ok((name, loaded.snapshot))
    }
}

#[async_trait]
impl StackReader for OwnStacks {
    async fn stack_outputs(&self, stack: &str) -> Result<PropertyMap> {
        let (_, snapshot) = self.snapshot(stack).await?;
        Ok(snapshot.stack_outputs())
    }

    async fn stack_resource_outputs(&self, stack: &str) -> Result<PropertyMap> {
        let (_, snapshot) = self.snapshot(stack).await?;
        let live = snapshot.resources.iter().filter(|state| !state.delete);
        let described = live.map(|state| {
            let facts: PropertyMap = [
                ("type", state.resource_type.as_str().into()),
                ("outputs", state.outputs.clone().into()),
            ]
            .into_iter()
            .collect();
            (state.urn.as_str(), facts.into())
        });
        Ok(described.collect())
    }
}
