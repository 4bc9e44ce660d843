//! The engine object of the package.

use std::sync::Arc;

use napi::{Env, Result, bindgen_prelude::Unknown};
use napi_derive::napi;
use stackwright::{
    Error, Language, Opening,
    binding::{
        self, EngineDocument, HostCalls, HostSecrets, ProgressTextSink, SecretsDocument, StackDocument,
        TelemetryDocument,
    },
    config::Config,
    fleet::FleetOptions,
    runtime::Runtime,
    secrets::{Base64Provider, PassphraseProvider, SecretsProvider},
    store::encrypted,
};
use stackwright_project::open_stack;
use tokio::sync::{Mutex, mpsc};

use crate::{
    bridge::{Bridge, Shared},
    config_values::keyed_values,
    errors,
    fleet::{Described, FleetOperation, StackSet},
    host::JsHost,
    logs,
    program::ProgramEntry,
    project::Project,
    provider::{ProviderEntry, provider_of},
    simulation::Simulation,
    stack::Stack,
    store::{StoreEntry, store_host},
};

/// A host's own encryption.
#[napi(object)]
pub struct SecretsEntry {
    /// The package's number of the object.
    pub number: u32,
    /// The name of its kind in states.
    pub kind: String,
    /// The manager's state in deployments, as JSON.
    pub state: Option<String>,
    /// The URL of a key service; the object then has functions for data keys.
    pub url: Option<String>,
}

/// The components of an engine.
#[napi(object)]
pub struct EngineSettings {
    /// The settings as a JSON document.
    pub document: String,
    /// Providers in this process.
    pub providers: Vec<ProviderEntry>,
    /// The resolver of packages, described as a provider.
    pub resolver: Option<ProviderEntry>,
    /// The package's number of the object that reads other stacks.
    pub stack_reader: Option<u32>,
    /// The host's own encryption.
    pub secrets: Option<SecretsEntry>,
    /// The package's number of the object that fetches remote assets.
    pub fetch: Option<u32>,
    /// The package's number of the autonamer.
    pub autonamer: Option<u32>,
    /// The package's number of the object that installs plugins.
    pub installer: Option<u32>,
    /// The host's own store.
    pub store: Option<StoreEntry>,
    /// The package's number of the object that returns credentials of the store.
    pub credentials: Option<u32>,
}

/// The components of a stack, beside the settings that are data.
#[napi(object)]
pub struct StackEntry {
    /// The program.
    pub program: Option<ProgramEntry>,
    /// The package's number of the object that receives the journal.
    pub journal: Option<u32>,
    /// The state, as a deployment document, in place of one in the store.
    pub deployment: Option<String>,
    /// The host's own encryption of its secrets.
    pub secrets: Option<SecretsEntry>,
}

/// An engine.
#[napi]
pub struct Engine {
    engine: stackwright::Engine,
    shared: Arc<Shared>,
    /// The calls of what the host supplies to the store.
    store_calls: HostCalls,
}

impl Engine {
    /// Returns the engine of the core.
    pub(crate) fn core(&self) -> stackwright::Engine {
        self.engine.clone()
    }

    /// Returns what the engine shares with the façade.
    pub(crate) const fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }
}

#[napi]
impl Engine {
    /// Builds an engine on a bridge of its own.
    #[napi(constructor, catch_unwind)]
    pub fn new(bridge: &Bridge, settings: EngineSettings) -> Result<Self> {
        let shared = Arc::clone(&bridge.shared);
        build(&shared, settings, None)
            .map(|(engine, store_calls)| Self {
                engine,
                shared,
                store_calls,
            })
            .map_err(|error| errors::to_napi(&error))
    }

    /// Builds an engine whose providers are simulated; `answers` answers functions and computes outputs.
    #[napi(factory, catch_unwind)]
    pub fn simulated(
        bridge: &Bridge,
        settings: EngineSettings,
        simulation: &Simulation,
        answers: ProviderEntry,
    ) -> Result<Self> {
        let shared = Arc::clone(&bridge.shared);
        simulation.0.set_answers(Arc::new(provider_of(&shared, answers)));
        build(&shared, settings, Some(&simulation.0))
            .map(|(engine, store_calls)| Self {
                engine,
                shared,
                store_calls,
            })
            .map_err(|error| errors::to_napi(&error))
    }

    /// Reads a configuration's values, for `stack`.
    #[napi(catch_unwind, ts_args_type = "project: string, values: unknown")]
    pub fn config(&self, env: &Env, project: String, values: Unknown<'_>) -> Result<StackConfig> {
        let config = keyed_values(env, &project, &values)?;
        Ok(StackConfig(config))
    }

    /// Opens a stack. `document` contains the settings that are data, as JSON; `opening` names the called function
    /// where it determines whether the stack must exist.
    #[napi]
    pub async fn stack(
        &self,
        name: String,
        document: String,
        opening: Option<String>,
        config: &StackConfig,
        entry: StackEntry,
    ) -> Result<Stack> {
        let napi = |error: Error| errors::to_napi(&error);
        let has_program = entry.program.is_some();
        // Taken first: the package releases taken objects when they are dropped, also after an error.
        let program = entry.program.map(|program| program.take(&self.shared));
        let journal = entry.journal.map(|number| JsHost::new(&self.shared, number) as _);
        let host = entry
            .secrets
            .map(|entry| (JsHost::new(&self.shared, entry.number), entry));
        let mut document: StackDocument =
            binding::read(document.as_bytes(), Language::Node, "a stack").map_err(napi)?;
        let folder = document.take_project(Language::Node).map_err(napi)?;
        let opening = opening.as_deref().map(Opening::named).transpose().map_err(napi)?;
        let mut settings = document
            .into_settings(&name, opening, has_program, &self.engine, Language::Node)
            .map_err(napi)?;
        if let Some((host, entry)) = host {
            let others = settings.secrets.unwrap_or_else(|| self.engine.secrets());
            settings.secrets = Some(host_secrets(host, &entry, others, self.engine.runtime()).map_err(napi)?);
        }
        settings.config = config.0.clone();
        settings.deployment = entry.deployment.map(Into::into);
        settings.program = program;
        settings.journal = journal;
        match open_stack(&self.engine, &name, folder, settings).await {
            Ok(stack) => Ok(Stack::new(stack, Arc::clone(&self.shared))),
            Err(error) => Err(errors::to_napi(&error)),
        }
    }

    /// Opens the project of a folder.
    #[napi]
    pub async fn project(&self, folder: String) -> Result<Project> {
        match stackwright_project::Project::open(&self.engine, folder).await {
            Ok(project) => Ok(Project::new(project)),
            Err(error) => Err(errors::to_napi(&error)),
        }
    }

    /// Starts an operation on a set of stacks, all of whose parts are of this kind, with limits as JSON; `subject` names the call in
    /// errors.
    #[napi(catch_unwind)]
    pub fn start_all(
        &self,
        kind: String,
        set: &StackSet,
        options: String,
        subject: String,
    ) -> Result<FleetOperation> {
        let parts = set.take();
        let options = binding::read::<FleetOptions>(options.as_bytes(), Language::Node, &subject)
            .map_err(|error| errors::to_napi(&error))?;
        let described = parts.iter().map(Described::from).collect();
        let runs = parts.into_iter().map(|part| part.run).collect();
        let operation = match kind.as_str() {
            "refresh" => self.engine.refresh_all(runs, options),
            "destroy" => self.engine.destroy_all(runs, options),
            _ => self.engine.up_all(runs, options),
        };
        Ok(FleetOperation::new(
            operation,
            described,
            Arc::clone(&self.shared),
        ))
    }

    /// Lists stacks: returns their summaries as JSON.
    #[napi]
    pub async fn stacks(&self, project: Option<String>, resource_counts: bool) -> Result<String> {
        match self.engine.stacks(project.as_deref(), resource_counts).await {
            Ok(stacks) => Ok(binding::stacks_document(&stacks).to_string()),
            Err(error) => Err(errors::to_napi(&error)),
        }
    }

    /// Returns what the engine has counted, as JSON.
    #[napi(catch_unwind)]
    pub fn metrics(&self) -> String {
        binding::metrics_document(&self.engine.metrics()).to_string()
    }

    /// Returns the URL of the store, without credentials.
    #[napi(catch_unwind)]
    pub fn store_url(&self) -> String {
        self.engine.store_url()
    }

    /// Requests the end of the operations of a run, with `requests` at most so often; with `forget`, removes the mark of that.
    #[napi]
    pub async fn cancel_run(&self, run: String, forget: bool, requests: Option<u32>) -> Result<()> {
        let done = match (forget, requests) {
            (true, _) => self.engine.forget_run(&run).await,
            (false, None) => self.engine.cancel_run(&run).await,
            (false, Some(requests)) => self.engine.cancel_run_to(&run, requests).await,
        };
        done.map_err(|error| errors::to_napi(&error))
    }

    /// Begins to answer a request about the installed plugins, which is JSON; `subject` names the call in errors.
    #[napi(catch_unwind)]
    pub fn plugins(&self, request: String, subject: String) -> PluginAnswer {
        let (sender, receiver) = mpsc::unbounded_channel();
        let progress = sender.clone();
        let sink: ProgressTextSink = Arc::new(move |text| {
            // A caller that is gone needs no progress.
            drop(progress.send(Ok(PluginMessage {
                progress: Some(text),
                answer: None,
            })));
        });
        let engine = self.engine.clone();
        self.shared.spawn(async move {
            let answering =
                binding::plugins(&engine, request.as_bytes(), Language::Node, &subject, Some(sink));
            let answered = answering.await.map(|answer| PluginMessage {
                progress: None,
                answer: Some(String::from_utf8_lossy(&answer).into_owned()),
            });
            drop(sender.send(answered));
        });
        PluginAnswer(Arc::new(Mutex::new(receiver)))
    }

    /// Ends the operations, the idle plugin processes, and the calls of a store of the host.
    #[napi]
    pub async fn close(&self) {
        self.engine.close().await;
        self.store_calls.close().await;
    }
}

/// The progress of an installation, or the answer of a request about plugins; both are JSON.
#[napi(object)]
pub struct PluginMessage {
    /// The progress.
    pub progress: Option<String>,
    /// The answer, which is the last message.
    pub answer: Option<String>,
}

type PluginMessages = mpsc::UnboundedReceiver<stackwright::Result<PluginMessage>>;

/// The answer of a request about plugins.
#[napi]
pub struct PluginAnswer(Arc<Mutex<PluginMessages>>);

#[napi]
impl PluginAnswer {
    /// Waits for the next message. That with the answer is the last one.
    #[napi]
    pub async fn next(&self) -> Result<PluginMessage> {
        let received = self.0.lock().await.recv().await;
        let ended = || Err(Error::internal("the engine ended before it answered"));
        received
            .unwrap_or_else(ended)
            .map_err(|error| errors::to_napi(&error))
    }
}

/// A stack's configuration.
#[napi]
pub struct StackConfig(Config);

fn build(
    shared: &Arc<Shared>,
    settings: EngineSettings,
    simulation: Option<&stackwright::simulation::Simulation>,
) -> stackwright::Result<(stackwright::Engine, HostCalls)> {
    let runtime = Runtime::system(shared.handle().clone());
    // Taken first: the package releases taken objects when they are dropped, also after an error.
    let host = store_host(shared, settings.store.as_ref(), settings.credentials);
    let document: EngineDocument = binding::read(settings.document.as_bytes(), Language::Node, "an engine")?;
    let base = document.base_directory.clone().unwrap_or_default();
    let (store, store_calls) = document.open_store(&base, &runtime, host)?;
    let secrets = secrets(shared, &settings, document.passphrase, &runtime)?;
    let store = match document.encrypt_store {
        true => encrypted(store, Arc::clone(&secrets), runtime.clone()),
        false => store,
    };
    let (plugins, pool) = document.plugins.into_settings()?;
    logs::install();
    let mut builder = stackwright::Engine::builder(shared.handle().clone())
        .runtime(runtime)
        .secrets(secrets)
        .plugins(plugins)
        .pool(pool)
        .trusted_peers(document.trusted_peers)
        .nested_secrets(document.nested_secrets)
        .max_calls_per_plugin(document.max_calls_per_plugin);
    builder = TelemetryDocument::applied_to(document.telemetry, builder)?;
    builder = match simulation {
        // Its own store outlives the engine.
        Some(simulation) => builder.simulation(simulation.clone()),
        None => builder.store(store),
    };
    if let Some(entry) = settings.resolver {
        builder = builder.resolver(Arc::new(provider_of(shared, entry)));
    }
    if let Some(number) = settings.stack_reader {
        builder = builder.stacks(JsHost::new(shared, number));
    }
    if let Some(number) = settings.fetch {
        builder = builder.fetch(JsHost::new(shared, number));
    }
    if let Some(number) = settings.autonamer {
        builder = builder.autonamer(JsHost::new(shared, number));
    }
    if let Some(number) = settings.installer {
        builder = builder.installer(JsHost::new(shared, number));
    }
    for entry in settings.providers {
        let package = entry.package.clone();
        builder = builder.provider(package, Arc::new(provider_of(shared, entry)));
    }
    Ok((builder.build()?, store_calls))
}

/// Returns the secrets provider: the host's encryption if there is one, and the passphrase for all other secrets.
fn secrets(
    shared: &Arc<Shared>,
    settings: &EngineSettings,
    passphrase: Option<String>,
    runtime: &Runtime,
) -> stackwright::Result<Arc<dyn SecretsProvider>> {
    let passphrase: Arc<dyn SecretsProvider> = match passphrase {
        Some(passphrase) => Arc::new(PassphraseProvider::new(passphrase, runtime.clone())),
        None => Arc::new(Base64Provider),
    };
    match &settings.secrets {
        None => Ok(passphrase),
        Some(entry) => host_secrets(JsHost::new(shared, entry.number), entry, passphrase, runtime),
    }
}

/// Returns the host's encryption; secrets of another manager's kind go to `others`.
fn host_secrets(
    host: Arc<JsHost>,
    entry: &SecretsEntry,
    others: Arc<dyn SecretsProvider>,
    runtime: &Runtime,
) -> stackwright::Result<Arc<dyn SecretsProvider>> {
    let state = entry.state.as_deref().map(serde_json::from_str).transpose();
    let state = state.map_err(|error| Error::invalid(format!("secrets.state is no JSON: {error}")))?;
    let document = SecretsDocument {
        kind: entry.kind.clone(),
        state,
        url: entry.url.clone(),
    };
    HostSecrets {
        values: Some(Arc::clone(&host) as _),
        keys: Some(host),
    }
    .provider(document, others, runtime.clone())
}
