//! The engine's Python object: it is made from settings and opens stacks.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use pyo3::{prelude::*, types::PyDict};
use stackwright::{
    Language, Opening, StackSettings,
    binding::{self, EngineDocument},
    secrets::{Base64Provider, PassphraseProvider, SecretsProvider},
};

use crate::{
    completions::{CompletionId, Completions},
    config::read_config,
    errors::OrRaise as _,
    function::{HostContext, Pool, ProviderLoop},
    host::{PythonAutonamer, PythonFetch, PythonJournal, PythonStacks, python_secrets},
    program::read_program,
    provider::{PythonInstaller, PythonProvider, PythonResolver},
    runtime::Runtime,
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
}

impl Engine {
    fn close_pools(&self) {
        self.pools.iter().for_each(|pool| pool.close());
    }
}

/// Returns a setting unless it is `None`.
fn given(setting: Bound<'_, PyAny>) -> Option<Bound<'_, PyAny>> {
    (!setting.is_none()).then_some(setting)
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
        let runtime = Runtime::start(member("threads")?.extract()?).or_raise(py)?;
        let handle = runtime.handle(py)?.clone();
        let core = stackwright::runtime::Runtime::system(handle.clone());
        let threads: usize = member("provider_threads")?.extract()?;
        let start_thread = member("start_thread")?.unbind();
        let providers = HostContext {
            pool: Pool::new(threads, handle.clone(), start_thread.clone_ref(py)),
            provider_loop: ProviderLoop {
                queue: Arc::clone(&member("provider_queue")?.cast::<Completions>()?.get().queue),
                start: Arc::new(member("start_task")?.unbind()),
            },
            handle: handle.clone(),
        };
        // Separate from the threads of providers: blocked provider methods never delay functions of the host.
        let host = HostContext {
            pool: Pool::new(threads, handle.clone(), start_thread),
            ..providers.clone()
        };
        let document: EngineDocument = {
            let document = member("document")?;
            binding::read(document.extract()?, Language::Python, "an engine").or_raise(py)?
        };
        let base = match document.base_directory {
            Some(base) => base,
            None => std::path::absolute(".")?,
        };
        let store = stackwright::store::open(&document.store, &base, &core).or_raise(py)?;
        let mut secrets: Arc<dyn SecretsProvider> = match document.passphrase {
            Some(passphrase) => Arc::new(PassphraseProvider::new(passphrase, core.clone())),
            None => Arc::new(Base64Provider),
        };
        if let Some(described) = given(member("secrets")?) {
            secrets = python_secrets(&described, &host, secrets)?;
        }
        let (plugins, pool) = document.plugins.into_settings().or_raise(py)?;
        let mut builder = stackwright::Engine::builder(handle)
            .runtime(core)
            .store(store)
            .secrets(secrets)
            .plugins(plugins)
            .pool(pool)
            .trusted_peers(document.trusted_peers);
        for (package, description) in member("providers")?.cast::<PyDict>()?.iter() {
            let provider = PythonProvider::read(&description, &providers)?;
            builder = builder.provider(package.extract::<String>()?, Arc::new(provider));
        }
        if let Some(resolver) = given(member("resolver")?) {
            let resolver = PythonResolver::read(&resolver, &host, providers.clone())?;
            builder = builder.resolver(Arc::new(resolver));
        }
        if let Some(installer) = given(member("installer")?) {
            builder = builder.installer(Arc::new(PythonInstaller::read(&installer, &host)?));
        }
        if let Some(stacks) = given(member("stack_reader")?) {
            builder = builder.stacks(Arc::new(PythonStacks::read(&stacks, &host)?));
        }
        if let Some(fetch) = given(member("fetch")?) {
            builder = builder.fetch(Arc::new(PythonFetch::read(&fetch, &host)?));
        }
        if let Some(autonamer) = given(member("autonamer")?) {
            builder = builder.autonamer(Arc::new(PythonAutonamer::read(&autonamer, &host)?));
        }
        let engine = builder.build().or_raise(py)?;
        Ok(Self {
            engine,
            runtime,
            pools: [providers.pool, Arc::clone(&host.pool)],
            host,
        })
    }

    /// Opens or creates a stack; calls `callback(stack, error)`.
    #[pyo3(signature = (name, program, config, encryption_salt, organization, tags, root_directory, runtime_options, opening, deployment, journal, passphrase, secrets, reference_passphrases, completions, callback))]
    #[expect(clippy::too_many_arguments, reason = "called from one place")]
    fn stack(
        &self,
        py: Python<'_>,
        name: &str,
        program: Option<&Bound<'_, PyAny>>,
        config: &Bound<'_, PyDict>,
        encryption_salt: Option<String>,
        organization: Option<String>,
        tags: BTreeMap<String, String>,
        root_directory: Option<PathBuf>,
        runtime_options: &str,
        opening: &str,
        deployment: Option<Vec<u8>>,
        journal: Option<&Bound<'_, PyAny>>,
        passphrase: Option<String>,
        secrets: Option<&Bound<'_, PyAny>>,
        reference_passphrases: BTreeMap<String, String>,
        completions: &Completions,
        callback: Py<PyAny>,
    ) -> PyResult<()> {
        let handle = self.runtime.handle(py)?.clone();
        let project = name.rsplit('/').nth(1).unwrap_or_default();
        let default = StackSettings::default();
        let own = passphrase
            .map(|passphrase| self.engine.passphrase(passphrase).or_raise(py))
            .transpose()?;
        let own = match secrets {
            None => own,
            Some(described) => {
                let others = own.unwrap_or_else(|| self.engine.secrets());
                Some(python_secrets(described, &self.host, others)?)
            }
        };
        let references = reference_passphrases.into_iter();
        let references = references
            .map(|(stack, passphrase)| Ok((stack, self.engine.passphrase(passphrase).or_raise(py)?)));
        let settings = StackSettings {
            secrets: own,
            reference_secrets: references.collect::<PyResult<_>>()?,
            organization: organization.unwrap_or(default.organization),
            tags,
            program: program
                .map(|program| read_program(program, &handle))
                .transpose()?,
            config: read_config(config, project)?,
            encryption_salt,
            root_directory,
            runtime_options: StackSettings::runtime_options_from_json(runtime_options).or_raise(py)?,
            opening: Opening::named(opening).or_raise(py)?,
            deployment: deployment.map(Into::into),
            journal: journal
                .map(|journal| PythonJournal::read(journal, &self.host).map(|journal| Arc::new(journal) as _))
                .transpose()?,
        };
        let completion = CompletionId::new(completions, callback);
        let (engine, runtime, name) = (self.engine.clone(), Arc::clone(&self.runtime), name.to_owned());
        drop(handle.spawn(async move {
            let stack = engine.stack(&name, settings).await;
            completion.settle(stack, |py, stack| Stack::create(py, stack, runtime));
        }));
        Ok(())
    }

    /// Lists stacks; calls `callback(names, error)`.
    #[pyo3(signature = (project, completions, callback))]
    fn stacks(
        &self,
        py: Python<'_>,
        project: Option<String>,
        completions: &Completions,
        callback: Py<PyAny>,
    ) -> PyResult<()> {
        let completion = CompletionId::new(completions, callback);
        let engine = self.engine.clone();
        drop(self.runtime.handle(py)?.spawn(async move {
            let names = engine.stacks(project.as_deref()).await;
            completion.settle(names, |py, names| {
                let names: Vec<String> = names.iter().map(ToString::to_string).collect();
                Ok(names.into_pyobject(py)?.into_any().unbind())
            });
        }));
        Ok(())
    }

    /// Ends the plugin processes and the provider threads, then calls `callback(None, error)`.
    fn close(&self, py: Python<'_>, completions: &Completions, callback: Py<PyAny>) -> PyResult<()> {
        let completion = CompletionId::new(completions, callback);
        let (engine, pools) = (self.engine.clone(), self.pools.clone());
        drop(self.runtime.handle(py)?.spawn(async move {
            engine.close().await;
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

/// Returns the name of the `Opening` for the option `create`.
#[pyfunction]
#[pyo3(signature = (create, has_program))]
pub(crate) fn opening_of(create: Option<bool>, has_program: bool) -> &'static str {
    Opening::of_create(create, has_program).name()
}
