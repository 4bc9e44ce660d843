//! The providers of one run: the built-in one, and what the loader finds in the surroundings of the run's project.

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
        HandshakeRequest, LoadedProvider, PluginContext, PluginOperation, PreparedProvider, ProviderBackend,
        ProviderLoader, ProviderSource, ProviderWish, builtin, settings::ProviderSettings,
        shared::SharedInRun,
    },
};

/// What a run tells its plugins.
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
    /// Who gets what plugins write.
    pub sink: Option<DiagnosticSink>,
    /// Gives up starting plugins.
    pub cancelled: CancellationToken,
    /// The operation that plugins work for, as their calls of the engine see it.
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

    /// Sets whether plugins are installed no sooner than they are needed.
    #[must_use]
    pub(crate) fn skip_pre_install(mut self, skip: bool) -> Self {
        self.skip_pre_install = skip;
        self
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
                mapped: BTreeMap::new(),
            },
            sink: surroundings.sink.clone(),
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
            });
        }
        let wish = ProviderWish::from(settings);
        let context = self.context(&wish.plugin);
        let prepared = self.loader.load(&wish, &context).await?;
        if !prepared.serves_package {
            return Err(unparameterized(&wish));
        }
        if prepared.shared {
            self.shared.add(&prepared.provider);
        }
        Ok(LoadedProvider {
            provider: prepared.provider,
            capabilities: prepared.capabilities,
            is_plugin: !prepared.shared,
        })
    }

    async fn load_package(&self, wish: &ProviderWish) -> Result<PreparedProvider> {
        self.loader.load(wish, &self.context(&wish.plugin)).await
    }

    async fn install_beforehand(&self, wishes: &[ProviderWish]) {
        if !self.skip_pre_install {
            self.loader.install_beforehand(wishes).await;
        }
    }

    fn in_process(&self) -> Vec<ProviderWish> {
        self.loader.in_process().collect()
    }

    async fn release(&self, provider: Arc<dyn ProviderBackend>) {
        if !self.shared.let_go(&provider) {
            provider.close().await;
        }
    }

    async fn cancel(&self, provider: &Arc<dyn ProviderBackend>) {
        // It could not tell whose calls to give up.
        if !self.shared.is_used_elsewhere(provider) {
            provider.cancel().await;
        }
    }
}

/// Says that code of the host serves a plugin, but not the package that a parameter makes of that.
fn unparameterized(wish: &ProviderWish) -> Error {
    let (package, plugin) = (wish.package(), &wish.plugin);
    let text = format!(
        "package '{package}' is made of the plugin '{plugin}' by a parameter, which code of the host that serves \
         '{plugin}' cannot be given"
    );
    Error::new(ErrorKind::Plugin, text)
        .with_phase("load")
        .with_hint(format!("register code of the host for the package '{package}'"))
}
