//! The providers of one run: the built-in one, and those of the loader with the run's context.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Weak},
};

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use crate::{
    error::{Error, ErrorKind, Result},
    plugin::{DiagnosticSink, PluginEnvironment},
    provider::{
        HandshakeRequest, InstallationSink, LoadedProvider, PluginContext, PluginOperation, PreparedProvider,
        ProviderBackend, ProviderLoader, ProviderSource, ProviderSpec, builtin, settings::ProviderSettings,
        shared::SharedInRun,
    },
};

/// The data that a run passes to its plugins.
#[derive(Clone, Default)]
pub(crate) struct RunSurroundings {
    /// The project's name.
    pub project: String,
    /// The options of the program's runtime.
    pub runtime_options: BTreeMap<String, serde_json::Value>,
    /// The stack's configuration by `namespace:name`.
    pub config: BTreeMap<String, String>,
    /// The program's folder.
    pub directory: Option<PathBuf>,
    /// Receives the output of plugins.
    pub sink: Option<DiagnosticSink>,
    /// Receives the progress of installations of plugins.
    pub progress: Option<InstallationSink>,
    /// Cancels the start of plugins.
    pub cancelled: CancellationToken,
    /// The operation that plugins work for.
    pub operation: Weak<PluginOperation>,
}

/// Loads the providers of one run.
pub(crate) struct RunSource {
    loader: ProviderLoader,
    builtin: Arc<dyn ProviderBackend>,
    surroundings: RunSurroundings,
    shared: SharedInRun,
    skip_pre_install: bool,
}

impl RunSource {
    /// Creates the source of a run; `builtin` serves the package `pulumi`.
    #[must_use]
    pub(crate) fn new(
        loader: ProviderLoader,
        builtin: Arc<dyn ProviderBackend>,
        surroundings: RunSurroundings,
    ) -> Self {
        Self {
            shared: SharedInRun::new(loader.shared()),
            loader,
            builtin,
            surroundings,
            skip_pre_install: false,
        }
    }

    /// Sets whether plugins are installed only when they are needed.
    #[must_use]
    pub(crate) fn skip_pre_install(mut self, skip: bool) -> Self {
        self.skip_pre_install = skip;
        self
    }

    /// Returns whether missing plugins are installed, but only when they are needed: they are not missed before.
    fn installs_on_demand(&self) -> bool {
        self.skip_pre_install && self.loader.installs_beforehand()
    }

    fn context(&self, package: &str) -> PluginContext {
        let surroundings = &self.surroundings;
        let config = surroundings.config.iter().filter_map(|(key, value)| {
            let (namespace, name) = key.split_once(':')?;
            (namespace == package).then(|| (name.to_owned(), value.clone()))
        });
        PluginContext {
            directory: surroundings.directory.clone(),
            environment: PluginEnvironment {
                project: surroundings.project.clone(),
                runtime_options: surroundings.runtime_options.clone(),
                config: config.collect(),
            },
            sink: surroundings.sink.clone(),
            progress: surroundings.progress.clone(),
            cancelled: surroundings.cancelled.clone(),
            operation: Weak::clone(&surroundings.operation),
        }
    }
}

#[async_trait]
impl ProviderSource for RunSource {
    async fn load(&self, settings: ProviderSettings) -> Result<LoadedProvider> {
        if settings.package == builtin::PACKAGE {
            let provider = Arc::clone(&self.builtin);
            let greeted = provider.handshake(HandshakeRequest::default()).await;
            let capabilities = greeted.map_err(|error| Error::internal(error.message))?;
            return Ok(LoadedProvider {
                provider,
                capabilities,
                is_plugin: false,
                plugin: None,
                call_limit: None,
            });
        }
        let spec = ProviderSpec::from(settings);
        let context = self.context(&spec.plugin);
        let prepared = self.loader.load(&spec, &context).await?;
        if !prepared.serves_package {
            return Err(unparameterized(&spec));
        }
        if prepared.shared {
            self.shared.add(&prepared.provider);
        }
        Ok(LoadedProvider {
            provider: prepared.provider,
            capabilities: prepared.capabilities,
            is_plugin: !prepared.shared,
            plugin: prepared.plugin,
            call_limit: self.loader.call_limit(&spec),
        })
    }

    async fn load_package(&self, spec: &ProviderSpec) -> Result<PreparedProvider> {
        self.loader.load(spec, &self.context(&spec.plugin)).await
    }

    async fn install_beforehand(&self, specs: &[ProviderSpec]) {
        if !self.skip_pre_install {
            let progress = self.surroundings.progress.as_ref();
            self.loader.install_beforehand(specs, progress).await;
        }
    }

    async fn missing(&self, spec: &ProviderSpec) -> Option<Error> {
        if self.installs_on_demand() {
            return None;
        }
        self.loader.missing(spec, &self.context(&spec.plugin)).await
    }

    async fn is_absent(&self, spec: &ProviderSpec) -> bool {
        !self.installs_on_demand() && self.loader.is_absent(spec, &self.context(&spec.plugin)).await
    }

    fn in_process(&self) -> Vec<ProviderSpec> {
        self.loader.in_process().collect()
    }

    async fn release(&self, provider: Arc<dyn ProviderBackend>) {
        if !self.shared.release(&provider) {
            provider.close().await;
        }
    }

    async fn cancel(&self, provider: &Arc<dyn ProviderBackend>) {
        // The call names no operation, so a shared provider would cancel calls of others.
        if !self.shared.is_used_elsewhere(provider) {
            provider.cancel().await;
        }
    }
}

/// Returns the error of code of the host that serves a plugin, but not the parameterized package.
fn unparameterized(spec: &ProviderSpec) -> Error {
    let (package, plugin) = (spec.package(), &spec.plugin);
    let text = format!(
        "package '{package}' is made of the plugin '{plugin}' by a parameter, which code of the host that serves \
         '{plugin}' cannot be given"
    );
    Error::new(ErrorKind::Plugin, text)
        .with_phase("load")
        .with_hint(format!("register code of the host for the package '{package}'"))
}
