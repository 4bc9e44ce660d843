//! The engine as Python holds it: settings in, stacks out.

use std::{path::PathBuf, sync::Arc};

use pyo3::{prelude::*, types::PyDict};
use stackwright::{
    StackSettings,
    plugin::{PluginCommand, PluginSettings},
    secrets::{PassphraseProvider, SecretsProvider},
};

use crate::{
    completions::{Completions, Ticket},
    config::read_config,
    errors::{OrRaise as _, invalid},
    program::PythonProgram,
    provider::{Pool, ProviderLoop, PythonProvider, PythonResolver},
    runtime::Runtime,
    stack::Stack,
};

/// An engine with the threads that it works with.
#[pyclass(frozen, weakref, module = "stackwright._stackwright")]
pub(crate) struct Engine {
    engine: stackwright::Engine,
    runtime: Arc<Runtime>,
    pool: Arc<Pool>,
}

#[pymethods]
impl Engine {
    /// Creates an engine. `settings` has the members that `stackwright.engine` puts there.
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
        let pool = Pool::new(
            member("provider_threads")?.extract()?,
            member("start_thread")?.unbind(),
        );
        let base: PathBuf = member("base_directory")?.extract()?;
        let store =
            stackwright::store::open(&member("store")?.extract::<String>()?, &base, &core).or_raise(py)?;
        let passphrase: Option<String> = member("passphrase")?.extract()?;
        let secrets: Arc<dyn SecretsProvider> = Arc::new(PassphraseProvider::new(
            passphrase.unwrap_or_default(),
            core.clone(),
        ));
        let mut builder = stackwright::Engine::builder(handle.clone())
            .runtime(core)
            .store(store)
            .secrets(secrets)
            .plugins(plugins(&member("plugins")?)?);
        let provider_loop = ProviderLoop {
            queue: Arc::clone(&member("provider_queue")?.cast::<Completions>()?.get().queue),
            start: Arc::new(member("start_task")?.unbind()),
        };
        for (package, description) in member("providers")?.cast::<PyDict>()?.iter() {
            let provider = PythonProvider::read(
                &description,
                Arc::clone(&pool),
                provider_loop.clone(),
                handle.clone(),
            )?;
            builder = builder.provider(package.extract::<String>()?, Arc::new(provider));
        }
        let resolver = member("resolver")?;
        if !resolver.is_none() {
            let resolver = PythonResolver::read(&resolver, Arc::clone(&pool), provider_loop, handle)?;
            builder = builder.resolver(Arc::new(resolver));
        }
        let engine = builder.build().or_raise(py)?;
        Ok(Self {
            engine,
            runtime,
            pool,
        })
    }

    /// Opens or creates a stack; `callback(stack, error)` gets it.
    #[pyo3(signature = (name, program, config, root_directory, create, completions, callback))]
    #[expect(clippy::too_many_arguments, reason = "called from one place")]
    fn stack(
        &self,
        py: Python<'_>,
        name: &str,
        program: Option<&Bound<'_, PyAny>>,
        config: &Bound<'_, PyDict>,
        root_directory: Option<PathBuf>,
        create: bool,
        completions: &Completions,
        callback: Py<PyAny>,
    ) -> PyResult<()> {
        let handle = self.runtime.handle(py)?.clone();
        let project = name.rsplit('/').nth(1).unwrap_or_default();
        let settings = StackSettings {
            program: program
                .map(|program| read_program(program, &handle))
                .transpose()?,
            config: read_config(config, project)?,
            root_directory,
            create,
            ..StackSettings::default()
        };
        let ticket = Ticket::new(completions, callback);
        let (engine, runtime, name) = (self.engine.clone(), Arc::clone(&self.runtime), name.to_owned());
        drop(handle.spawn(async move {
            let stack = engine.stack(&name, settings).await;
            ticket.settle(stack, |py, stack| Stack::create(py, stack, runtime));
        }));
        Ok(())
    }

    /// Lists stacks; `callback(names, error)` gets them.
    #[pyo3(signature = (project, completions, callback))]
    fn stacks(
        &self,
        py: Python<'_>,
        project: Option<String>,
        completions: &Completions,
        callback: Py<PyAny>,
    ) -> PyResult<()> {
        let ticket = Ticket::new(completions, callback);
        let engine = self.engine.clone();
        drop(self.runtime.handle(py)?.spawn(async move {
            let names = engine.stacks(project.as_deref()).await;
            ticket.settle(names, |py, names| {
                let names: Vec<String> = names.iter().map(ToString::to_string).collect();
                Ok(names.into_pyobject(py)?.into_any().unbind())
            });
        }));
        Ok(())
    }

    /// Ends the plugin processes and the provider threads; `callback(None, error)` tells when.
    fn close(&self, py: Python<'_>, completions: &Completions, callback: Py<PyAny>) -> PyResult<()> {
        let ticket = Ticket::new(completions, callback);
        let (engine, pool) = (self.engine.clone(), Arc::clone(&self.pool));
        drop(self.runtime.handle(py)?.spawn(async move {
            engine.close().await;
            pool.close();
            ticket.settle(Ok(()), |py, ()| Ok(py.None()));
        }));
        Ok(())
    }

    /// Ends everything at once, without waiting: for the end of the interpreter.
    fn abandon(&self) {
        self.pool.close();
        self.runtime.shut_down();
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // Provider threads hold the pool, not the engine: without this they would wait for ever.
        self.pool.close();
    }
}

/// Reads `(start, queue or None, own_root)`, as `stackwright` prepares a program.
pub(crate) fn read_program(
    program: &Bound<'_, PyAny>,
    handle: &tokio::runtime::Handle,
) -> PyResult<Arc<dyn stackwright::program::Program>> {
    let (start, queue, own_root): (Py<PyAny>, Bound<'_, PyAny>, bool) = program.extract()?;
    let completions = if queue.is_none() {
        None
    } else {
        Some(queue.cast_into::<Completions>()?)
    };
    let completions = completions.as_ref().map(Bound::get);
    Ok(PythonProgram::shared(
        start,
        completions,
        own_root,
        handle.clone(),
    ))
}

fn plugins(settings: &Bound<'_, PyAny>) -> PyResult<PluginSettings> {
    let mut plugins = PluginSettings {
        directories: settings.get_item("directories")?.extract()?,
        path: settings.get_item("path")?.extract()?,
        cache: settings.get_item("cache")?.extract()?,
        ..PluginSettings::default()
    };
    for (name, command) in settings.get_item("commands")?.cast::<PyDict>()?.iter() {
        let command: Vec<std::ffi::OsString> = command.extract()?;
        let Some((program, arguments)) = command.split_first() else {
            return Err(invalid(
                settings.py(),
                format!("the command of the plugin {name} is empty"),
            ));
        };
        let command = PluginCommand {
            program: program.into(),
            arguments: arguments.to_vec(),
            environment: Vec::new(),
        };
        plugins.commands.insert(name.extract()?, command);
    }
    Ok(plugins)
}
