//! The engine's Python object: it is made from settings and opens stacks.

use std::{path::PathBuf, sync::Arc};

use pyo3::{
    prelude::*,
    types::{PyBytes, PyDict},
};
use stackwright::{
    EngineBuilder, Language, Opening,
    binding::{
        self, EngineDocument, HostCalls, ProgressTextSink, StackDocument, StoreHost, TelemetryDocument,
    },
    secrets::{Base64Provider, PassphraseProvider, SecretsProvider},
    store::encrypted,
};
use stackwright_project::open_stack;

use crate::{
    completions::{Completions, PendingCompletion},
    config::read_config,
    errors::OrRaise as _,
    function::{HostContext, Pool},
    host::{
        PythonAutonamer, PythonCredentials, PythonFetch, PythonJournal, PythonStacks, PythonStore,
        python_secrets,
    },
    logs,
    plugin_limits::PluginLimits,
    project::Project,
    provider::{PythonInstaller, PythonProvider, PythonResolver},
    runtime::Runtime,
    simulation::Simulation,
    stack::Stack,
};

/// An engine with its runtime and thread pools.
#[pyclass(frozen, weakref, module = "stackwright._stackwright")]
pub(crate) struct Engine {
    engine: stackwright::Engine,
    runtime: Arc<Runtime>,
    /// Runs functions of the host, on a pool of their own.
    host: HostContext,
    pools: [Arc<Pool>; 2],
    /// The calls of what the host supplies to the store.
    store_calls: HostCalls,
}

impl Engine {
    /// Returns the engine of the core.
    pub(crate) fn core(&self) -> stackwright::Engine {
        self.engine.clone()
    }

    /// Returns what runs functions of the host.
    pub(crate) fn host_context(&self) -> HostContext {
        self.host.clone()
    }

    /// Returns the runtime on which the engine runs.
    pub(crate) fn shared_runtime(&self) -> Arc<Runtime> {
        Arc::clone(&self.runtime)
    }

    fn close_pools(&self) {
        self.pools.iter().for_each(|pool| pool.close());
    }
}

/// Returns a setting unless it is `None`.
fn given(setting: Bound<'_, PyAny>) -> Option<Bound<'_, PyAny>> {
    (!setting.is_none()).then_some(setting)
}

/// Reads what the host supplies for the store.
fn store_host(
    store: Option<Bound<'_, PyAny>>,
    credentials: Option<Bound<'_, PyAny>>,
    host: &HostContext,
) -> PyResult<StoreHost> {
    let store = store.map(|store| PythonStore::read(&store, host)).transpose()?;
    let credentials = credentials.map(|callback| PythonCredentials::read(&callback, host));
    Ok(StoreHost {
        language: Language::Python,
        objects: store.map(|store| Arc::new(store) as _),
        credentials: credentials.transpose()?.map(|callback| Arc::new(callback) as _),
    })
}

/// Simulates providers; `answers` describes what answers functions. The store of the simulation outlives the engine.
fn simulated(
    builder: EngineBuilder,
    simulation: &Bound<'_, PyAny>,
    answers: Option<Bound<'_, PyAny>>,
    context: &HostContext,
) -> PyResult<EngineBuilder> {
    let simulation = simulation.cast::<Simulation>()?.get().simulation.clone();
    if let Some(answers) = answers {
        simulation.set_answers(Arc::new(PythonProvider::read(&answers, context)?));
    }
    Ok(builder.simulation(simulation))
}

/// Adds the functions of the host that the settings have.
fn with_callbacks<'py>(
    mut builder: EngineBuilder,
    member: &impl Fn(&str) -> PyResult<Bound<'py, PyAny>>,
    host: &HostContext,
    providers: &HostContext,
) -> PyResult<EngineBuilder> {
    if let Some(resolver) = given(member("resolver")?) {
        let resolver = PythonResolver::read(&resolver, host, providers.clone())?;
        builder = builder.resolver(Arc::new(resolver));
    }
    if let Some(installer) = given(member("installer")?) {
        builder = builder.installer(Arc::new(PythonInstaller::read(&installer, host)?));
    }
    if let Some(stacks) = given(member("stack_reader")?) {
        builder = builder.stacks(Arc::new(PythonStacks::read(&stacks, host)?));
    }
    if let Some(fetch) = given(member("fetch")?) {
        builder = builder.fetch(Arc::new(PythonFetch::read(&fetch, host)?));
    }
    if let Some(autonamer) = given(member("autonamer")?) {
        builder = builder.autonamer(Arc::new(PythonAutonamer::read(&autonamer, host)?));
    }
    Ok(builder)
}

#[pymethods]
impl Engine {
    /// Creates an engine; `stackwright.engine` makes `settings`.
    #[new]
    fn new(py: Python<'_>, settings: &Bound<'_, PyDict>) -> PyResult<Self> {
        let member = |name: &str| -> PyResult<Bound<'_, PyAny>> {
            settings
                .get_item(name)?
                .ok_or_else(|| crate::errors::misuse("a setting of the engine is missing"))
        };
        logs::install();
        let runtime = Runtime::start(member("threads")?.extract()?).or_raise(py)?;
        let handle = runtime.handle(py)?.clone();
        let core = stackwright::runtime::Runtime::system(handle.clone());
        let start_thread = member("start_thread")?.unbind();
        let providers = HostContext::read(py, settings, handle.clone())?;
        // Separate from the threads of providers: blocked provider methods never delay functions of the host.
        let pool = Pool::new(
            member("provider_threads")?.extract()?,
            handle.clone(),
            start_thread,
        );
        let host = HostContext {
            pool,
            ..providers.clone()
        };
        let document: EngineDocument = {
            let document = member("document")?;
            binding::read(document.extract()?, Language::Python, "an engine").or_raise(py)?
        };
        let base = match document.base_directory.clone() {
            Some(base) => base,
            None => std::path::absolute(".")?,
        };
        let store_host = store_host(given(member("store")?), given(member("credentials")?), &host)?;
        let (store, store_calls) = document.open_store(&base, &core, store_host).or_raise(py)?;
        let mut secrets: Arc<dyn SecretsProvider> = match document.passphrase {
            Some(passphrase) => Arc::new(PassphraseProvider::new(passphrase, core.clone())),
            None => Arc::new(Base64Provider),
        };
        if let Some(described) = given(member("secrets")?) {
            secrets = python_secrets(&described, &host, secrets, &core)?;
        }
        let store = match document.encrypt_store {
            true => encrypted(store, Arc::clone(&secrets), core.clone()),
            false => store,
        };
        let (plugins, pool) = document.plugins.into_settings().or_raise(py)?;
        let mut builder = stackwright::Engine::builder(handle)
            .runtime(core)
            .secrets(secrets)
            .plugins(plugins)
            .pool(pool)
            .trusted_peers(document.trusted_peers)
            .nested_secrets(document.nested_secrets)
            .max_calls_per_plugin(document.max_calls_per_plugin);
        if let Some(limits) = given(member("plugin_limits")?) {
            builder = builder.plugin_limits(limits.cast::<PluginLimits>()?.get().limits.clone());
        }
        builder = TelemetryDocument::applied_to(document.telemetry, builder).or_raise(py)?;
        builder = match given(member("simulation")?) {
            Some(simulation) => simulated(builder, &simulation, given(member("answers")?), &providers)?,
            None => builder.store(store),
        };
        for (package, description) in member("providers")?.cast::<PyDict>()?.iter() {
            let provider = PythonProvider::read(&description, &providers)?;
            builder = builder.provider(package.extract::<String>()?, Arc::new(provider));
        }
        let engine = with_callbacks(builder, &member, &host, &providers)?
            .build()
            .or_raise(py)?;
        Ok(Self {
            engine,
            runtime,
            pools: [providers.pool, Arc::clone(&host.pool)],
            host,
            store_calls,
        })
    }

    /// Opens or creates a stack; `callback(stack, error)` gets it. `document` has the settings that are data, and `opening` is the
    /// function that was called where that decides whether the stack must exist.
    #[pyo3(signature = (name, document, opening, has_program, config, deployment, journal, secrets, completions, callback))]
    #[expect(clippy::too_many_arguments, reason = "called from one place")]
    fn stack(
        &self,
        py: Python<'_>,
        name: &str,
        document: &[u8],
        opening: Option<&str>,
        has_program: bool,
        config: &Bound<'_, PyDict>,
        deployment: Option<Vec<u8>>,
        journal: Option<&Bound<'_, PyAny>>,
        secrets: Option<&Bound<'_, PyAny>>,
        completions: &Completions,
        callback: Py<PyAny>,
    ) -> PyResult<()> {
        let handle = self.runtime.handle(py)?.clone();
        let project = name.rsplit('/').nth(1).unwrap_or_default();
        let opening = opening.map(Opening::named).transpose().or_raise(py)?;
        let mut document: StackDocument =
            binding::read(document, Language::Python, "a stack").or_raise(py)?;
        let folder = document.take_project(Language::Python).or_raise(py)?;
        let mut settings = document
            .into_settings(name, opening, has_program, &self.engine, Language::Python)
            .or_raise(py)?;
        if let Some(described) = secrets {
            let others = settings.secrets.unwrap_or_else(|| self.engine.secrets());
            settings.secrets = Some(python_secrets(
                described,
                &self.host,
                others,
                self.engine.runtime(),
            )?);
        }
        settings.config = read_config(config, project)?;
        settings.deployment = deployment.map(Into::into);
        if let Some(journal) = journal {
            settings.journal = Some(Arc::new(PythonJournal::read(journal, &self.host)?));
        }
        let completion = PendingCompletion::new(completions, callback);
        let (engine, runtime, name) = (self.engine.clone(), Arc::clone(&self.runtime), name.to_owned());
        let host = self.host.clone();
        drop(handle.spawn(async move {
            let stack = open_stack(&engine, &name, folder, settings).await;
            completion.settle(stack, |py, stack| Stack::create(py, stack, runtime, host));
        }));
        Ok(())
    }

    /// Opens the project of a folder; `callback(project, error)` gets it.
    fn project(
        &self,
        py: Python<'_>,
        folder: PathBuf,
        completions: &Completions,
        callback: Py<PyAny>,
    ) -> PyResult<()> {
        let completion = PendingCompletion::new(completions, callback);
        Project::open(
            py,
            self.engine.clone(),
            folder,
            Arc::clone(&self.runtime),
            completion,
        )
    }

    /// Lists stacks; calls `callback(JSON text, error)` with the documents of their summaries.
    #[pyo3(signature = (project, resource_counts, completions, callback))]
    fn stacks(
        &self,
        py: Python<'_>,
        project: Option<String>,
        resource_counts: bool,
        completions: &Completions,
        callback: Py<PyAny>,
    ) -> PyResult<()> {
        let completion = PendingCompletion::new(completions, callback);
        let engine = self.engine.clone();
        drop(self.runtime.handle(py)?.spawn(async move {
            let stacks = engine.stacks(project.as_deref(), resource_counts).await;
            completion.settle(stacks, |py, stacks| {
                let text = binding::stacks_document(&stacks).to_string();
                Ok(text.into_pyobject(py)?.into_any().unbind())
            });
        }));
        Ok(())
    }

    /// Requests the end of the operations of a run, with `requests` at most so often; with `forget`, removes the mark of that. Calls
    /// `callback(None, error)`.
    #[pyo3(signature = (run, requests, forget, completions, callback))]
    fn cancel_run(
        &self,
        py: Python<'_>,
        run: String,
        requests: Option<u32>,
        forget: bool,
        completions: &Completions,
        callback: Py<PyAny>,
    ) -> PyResult<()> {
        let engine = self.engine.clone();
        let work = async move {
            match (forget, requests) {
                (true, _) => engine.forget_run(&run).await,
                (false, None) => engine.cancel_run(&run).await,
                (false, Some(requests)) => engine.cancel_run_to(&run, requests).await,
            }
        };
        let completion = PendingCompletion::new(completions, callback);
        self.runtime.settle(py, work, completion, |py, ()| Ok(py.None()))
    }

    /// Answers a request about the installed plugins, as JSON with names in the style of Python; `subject` names the call in errors,
    /// `progress(text)` gets the progress of an installation as JSON, and `callback(bytes, error)` the answer.
    #[pyo3(signature = (request, subject, progress, completions, callback))]
    fn plugins(
        &self,
        py: Python<'_>,
        request: Vec<u8>,
        subject: String,
        progress: Option<Py<PyAny>>,
        completions: &Completions,
        callback: Py<PyAny>,
    ) -> PyResult<()> {
        let sink = progress.map(|function| -> ProgressTextSink {
            let (queue, function) = (Arc::clone(&completions.queue), Arc::new(function));
            Arc::new(move |text| {
                let function = Arc::clone(&function);
                queue.push(move |py| function.call1(py, (text,)).map(drop));
            })
        });
        let engine = self.engine.clone();
        let work = async move { binding::plugins(&engine, &request, Language::Python, &subject, sink).await };
        let completion = PendingCompletion::new(completions, callback);
        self.runtime.settle(py, work, completion, |py, bytes| {
            Ok(PyBytes::new(py, &bytes).into_any().unbind())
        })
    }

    /// Returns what the engine has counted, as JSON.
    fn metrics(&self) -> String {
        binding::metrics_document(&self.engine.metrics()).to_string()
    }

    /// Returns the URL of the store, without credentials.
    fn store_url(&self) -> String {
        self.engine.store_url()
    }

    /// Ends the operations, the plugin processes, the calls of a store of the host and the provider threads, then calls `callback(None, error)`.
    fn close(&self, py: Python<'_>, completions: &Completions, callback: Py<PyAny>) -> PyResult<()> {
        let completion = PendingCompletion::new(completions, callback);
        let (engine, pools) = (self.engine.clone(), self.pools.clone());
        let store_calls = self.store_calls.clone();
        drop(self.runtime.handle(py)?.spawn(async move {
            engine.close().await;
            store_calls.close().await;
            pools.iter().for_each(|pool| pool.close());
            completion.settle(Ok(()), |py, ()| Ok(py.None()));
        }));
        Ok(())
    }

    /// Ends all threads without waiting. Called when the interpreter ends.
    fn abandon(&self) {
        self.close_pools();
        self.runtime.shut_down();
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // Provider threads own the pool, not the engine: without this they would never end.
        self.close_pools();
    }
}
