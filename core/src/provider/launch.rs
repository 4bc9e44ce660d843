//! Starting a plugin's process, and the key under which the pool reuses it.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::PathBuf,
    sync::{Arc, Weak},
};

use async_trait::async_trait;

use super::loader::{greeting, refusal, status_service};
use crate::{
    diagnostic::Diagnostic,
    error::{Error, Result},
    plugin::{DiagnosticSink, HostEnvironment, PluginCode, PluginCommand, PluginProcess, Start},
    provider::{
        LoaderParts, PluginContext, PluginOperation, ProviderSpec,
        grpc::GrpcProvider,
        pool::{Instance, LaunchKey, Launcher},
    },
};

/// Providers whose output is informational: the program's own code runs in them.
const DYNAMIC: [&str; 2] = ["pulumi-nodejs", "pulumi-python"];

/// The parameters of a plugin's process.
pub(super) struct Launch {
    key: LaunchKey,
    /// The program's working directory; `None` is the host's.
    directory: Option<PathBuf>,
    host_environment: HostEnvironment,
    sink: Option<DiagnosticSink>,
    operation: Weak<PluginOperation>,
    parts: Arc<LoaderParts>,
}

impl Launch {
    /// Collects the parameters of a process; `host_environment` is the current environment of the host.
    pub(super) async fn prepare(
        spec: &ProviderSpec,
        command: PluginCommand,
        context: &PluginContext,
        host_environment: HostEnvironment,
        parts: &Arc<LoaderParts>,
    ) -> Result<Self> {
        let looking = (
            command.clone(),
            context.directory.clone(),
            host_environment.clone(),
        );
        let look = move || {
            let (command, directory, host_environment) = looking;
            PluginCode::inspect(&command, directory.as_deref(), &host_environment)
        };
        let directory = context.directory.clone();
        let mut environment: BTreeMap<OsString, OsString> =
            context.environment.variables(&spec.plugin).into_iter().collect();
        for (source, name) in &spec.environment {
            if let Some(value) = host_environment.variable(source) {
                environment.insert(name.into(), value.to_owned());
            }
        }
        Ok(Self {
            key: LaunchKey {
                stack: context
                    .operation
                    .upgrade()
                    .map(|operation| operation.identity().to_owned()),
                name: spec.plugin.clone(),
                version: spec.version.clone(),
                command,
                directory: directory
                    .clone()
                    .or_else(|| host_environment.directory().map(PathBuf::from)),
                inherited: host_environment.digest(),
                code: parts.runtime.spawner.spawn_blocking(look).await?,
                environment: environment.into_iter().collect(),
                parameter: spec.parameter.clone(),
            },
            directory,
            host_environment,
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
            operands: Vec::new(),
            directory: self.directory.clone(),
            host_environment: self.host_environment.clone(),
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
        // The version of the plugin itself: after parameterization, it may report the package's version.
        let info = provider.ask_info().await.map_err(refused)?;
        if let Some(parameter) = &key.parameter {
            provider.parameterize(parameter).await.map_err(refused)?;
        }
        if let (Some(expected), Some(have), Some(sink)) = (&key.version, &info.version, &self.sink)
            && have.cmp_precedence(expected).is_lt()
        {
            let name = &key.name;
            sink(Diagnostic::warning(format!(
                "resource plugin {name} is expected to have version >={expected}, but has {have}; \
                 the wrong version may be on your path, or this may be a bug in the plugin"
            )));
        }
        Ok(Instance::new(provider, capabilities, started))
    }
}

#[cfg(test)]
#[path = "launch_tests.rs"]
mod tests;
