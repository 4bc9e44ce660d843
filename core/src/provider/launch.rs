//! Starting a plugin's process, and what makes it the same as one that waits in the pool.

use std::{
    path::PathBuf,
    sync::{Arc, Weak},
};

use async_trait::async_trait;

use super::loader::{greeting, refusal, status_service};
use crate::{
    diagnostic::Diagnostic,
    error::{Error, Result},
    plugin::{DiagnosticSink, Inheritance, PluginCode, PluginCommand, PluginProcess, Start},
    provider::{
        LoaderParts, PluginContext, PluginOperation, ProviderWish,
        grpc::GrpcProvider,
        pool::{Instance, LaunchKey, Launcher},
    },
};

/// Providers whose output is meant for people: the program's own code runs in them.
const DYNAMIC: [&str; 2] = ["pulumi-nodejs", "pulumi-python"];

/// How to start one more process of the same kind.
pub(super) struct Launch {
    key: LaunchKey,
    /// The program's; `None` is the host's.
    directory: Option<PathBuf>,
    inheritance: Inheritance,
    sink: Option<DiagnosticSink>,
    operation: Weak<PluginOperation>,
    parts: Arc<LoaderParts>,
}

impl Launch {
    /// Looks at what a process would be made of now, where the host's environment is `inheritance`.
    pub(super) async fn prepare(
        wish: &ProviderWish,
        command: PluginCommand,
        context: &PluginContext,
        inheritance: Inheritance,
        parts: &Arc<LoaderParts>,
    ) -> Result<Self> {
        let looking = (command.clone(), context.directory.clone(), inheritance.clone());
        let look = move || {
            let (command, directory, inheritance) = looking;
            PluginCode::look(&command, directory.as_deref(), &inheritance)
        };
        let directory = context.directory.clone();
        Ok(Self {
            key: LaunchKey {
                stack: context
                    .operation
                    .upgrade()
                    .map(|operation| operation.identity().to_owned()),
                name: wish.plugin.clone(),
                version: wish.version.clone(),
                command,
                directory: directory
                    .clone()
                    .or_else(|| inheritance.directory().map(PathBuf::from)),
                inherited: inheritance.digest(),
                code: parts.runtime.spawner.spawn_blocking(look).await?,
                environment: context.environment.variables(&wish.plugin),
                parameter: wish.parameter.clone(),
            },
            directory,
            inheritance,
            sink: context.sink.clone(),
            operation: Weak::clone(&context.operation),
            parts: Arc::clone(parts),
        })
    }
}

#[async_trait]
impl Launcher for Launch {
    fn key(&self) -> &LaunchKey {
        &self.key
    }

    fn sink(&self) -> Option<DiagnosticSink> {
        self.sink.clone()
    }

    fn operation(&self) -> &Weak<PluginOperation> {
        &self.operation
    }

    async fn launch(&self) -> Result<Instance> {
        let parts = &self.parts;
        let key = &self.key;
        let settings = &parts.plugins;
        let started = parts.runtime.clock.elapsed();
        let engine = parts.engine.process_endpoint().await?;
        let hold = engine.route.hold(&self.operation);
        let start = Start {
            label: format!("{} (resource)", key.name),
            command: key.command.clone(),
            engine_address: engine.address.clone(),
            directory: self.directory.clone(),
            inheritance: self.inheritance.clone(),
            environment: key.environment.clone(),
            visible: DYNAMIC.contains(&key.name.as_str()),
            sink: self.sink.clone(),
            guard_shell: settings.guard_shell.clone(),
            timeouts: settings.timeouts,
        };
        let named = |error: Error| error.with_provider(key.name.clone());
        let process = PluginProcess::start(start, &parts.runtime).await.map_err(named)?;
        let provider = GrpcProvider::over_process(&key.name, process, settings.timeouts, &parts.runtime)
            .await?
            .with_status(status_service(&engine))
            .with_engine(Arc::clone(&engine), hold);
        let refused = |error| refusal(&key.name, &error);
        let capabilities = provider.greet(greeting(&engine)).await.map_err(refused)?;
        // Of the plugin itself: made a package, it may tell that package's version.
        let info = provider.ask_info().await.map_err(refused)?;
        if let Some(parameter) = &key.parameter {
            provider.parameterize(parameter).await.map_err(refused)?;
        }
        if let (Some(wanted), Some(have), Some(sink)) = (&key.version, &info.version, &self.sink)
            && have.cmp_precedence(wanted).is_lt()
        {
            let name = &key.name;
            sink(Diagnostic::warning(format!(
                "resource plugin {name} is expected to have version >={wanted}, but has {have}; \
                 the wrong version may be on your path, or this may be a bug in the plugin"
            )));
        }
        Ok(Instance::new(provider, capabilities, started))
    }
}

#[cfg(test)]
#[path = "launch_tests.rs"]
mod tests;
