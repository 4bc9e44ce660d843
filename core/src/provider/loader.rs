//! Loading providers: what the host registered or names, else a plugin process from the pool or a new one.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Weak},
};

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use crate::{
    diagnostic::Diagnostic,
    error::{Error, ErrorKind, Result},
    message::Message,
    plugin::{
        DiagnosticSink, FoundPlugin, Inheritance, PluginEnvironment, PluginOrigin, PluginQuery,
        PluginSettings, PluginTimeouts, find,
    },
    provider::{
        Capabilities, EngineEndpoint, EngineEndpoints, HandshakeRequest, Installations, PackageSource,
        PluginInstaller, PluginOperation, ProviderBackend, ProviderError, ProviderPool, Resolution,
        ResolutionRequest, Resolver,
        grpc::{GrpcProvider, Parameter, StatusService},
        installing,
        launch::Launch,
        settings::ProviderSettings,
        shared::SharedProviders,
    },
    runtime::Runtime,
};

/// Returns what a plugin is greeted with.
pub(super) fn greeting(engine: &EngineEndpoint) -> HandshakeRequest {
    HandshakeRequest {
        codegen_address: engine.serves_packages.then(|| engine.address.clone()),
        engine_address: Some(engine.address.clone()),
    }
}

/// What a loader is made of.
#[derive(Clone)]
pub(crate) struct LoaderParts {
    /// Clock, randomness, spawning.
    pub runtime: Runtime,
    /// Code of the host, by package; each serves all instances of its package.
    pub in_process: BTreeMap<String, Arc<dyn ProviderBackend>>,
    /// The host's say; asked first.
    pub resolver: Option<Arc<dyn Resolver>>,
    /// Who installs plugins that are not found.
    pub installer: Option<Arc<dyn PluginInstaller>>,
    /// What is being installed.
    pub installations: Arc<Installations>,
    /// Where plugins are looked for.
    pub plugins: PluginSettings,
    /// Where processes wait for their next use.
    pub pool: ProviderPool,
    /// Where plugins reach the engine.
    pub engine: Arc<dyn EngineEndpoints>,
}

/// Which provider is wanted.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProviderWish {
    /// The plugin's name: the package's, unless the package is parameterized.
    pub plugin: String,
    /// The plugin's version.
    pub version: Option<semver::Version>,
    /// Where the plugin can be had; empty when nobody said.
    pub download_url: String,
    /// Hex checksums of the plugin by platform.
    pub checksums: BTreeMap<String, String>,
    /// What makes the package out of a plugin of many.
    pub parameter: Option<Parameter>,
}

impl ProviderWish {
    /// Returns the package that is to be served.
    #[must_use]
    pub(crate) fn package(&self) -> &str {
        self.parameter.as_ref().map_or(&self.plugin, |made| &made.name)
    }
}

impl From<ProviderSettings> for ProviderWish {
    fn from(settings: ProviderSettings) -> Self {
        let ProviderSettings {
            package,
            version,
            download_url,
            checksums,
            base,
        } = settings;
        let (plugin, version, parameter) = match base {
            None => (package, version, None),
            Some(base) => {
                let made = Parameter {
                    name: package,
                    version: version.map(|version| version.to_string()).unwrap_or_default(),
                    value: base.value,
                };
                (base.name, base.version, Some(made))
            }
        };
        Self {
            plugin,
            version,
            download_url,
            checksums,
            parameter,
        }
    }
}

/// The surroundings of a plugin's process.
#[derive(Clone, Default)]
pub(crate) struct PluginContext {
    /// The working directory: the program's; `None` is the host's.
    pub directory: Option<PathBuf>,
    /// What it learns about the project.
    pub environment: PluginEnvironment,
    /// Who gets what it writes, and warnings about it.
    pub sink: Option<DiagnosticSink>,
    /// Gives up starting a plugin, which may hang; one that is being installed is brought to its end.
    pub cancelled: CancellationToken,
    /// The operation that it works for, as its calls of the engine see it; none for a mere question about a package.
    pub operation: Weak<PluginOperation>,
}

/// A provider that has been greeted.
#[derive(Clone)]
pub(crate) struct PreparedProvider {
    /// The provider.
    pub provider: Arc<dyn ProviderBackend>,
    /// What it understands; of a plugin that knows no greeting: what it can be trusted with.
    pub capabilities: Capabilities,
    /// True for code of the host, which others use too: it must not be closed.
    pub shared: bool,
    /// False when it serves the plugin that was named, but not the package that was to be made of it: nobody gives a
    /// parameter to code of the host.
    pub serves_package: bool,
}

impl PreparedProvider {
    /// Lets the instance go: a process returns to the pool or ends.
    pub(crate) async fn release(self) {
        if !self.shared {
            self.provider.close().await;
        }
    }
}

/// Loads providers. Instances load concurrently; each is one process of its own, or code of the host.
#[derive(Clone)]
pub(crate) struct ProviderLoader {
    parts: Arc<LoaderParts>,
    shared: SharedProviders,
}

impl ProviderLoader {
    /// Creates a loader.
    #[must_use]
    pub(crate) fn new(parts: LoaderParts) -> Self {
        Self {
            parts: Arc::new(parts),
            shared: SharedProviders::default(),
        }
    }

    /// Returns a loader that does not keep alive what this one does.
    pub(crate) fn downgrade(&self) -> WeakLoader {
        WeakLoader {
            parts: Arc::downgrade(&self.parts),
            shared: self.shared.clone(),
        }
    }

    /// Returns what this loader is made of.
    pub(super) const fn parts(&self) -> &Arc<LoaderParts> {
        &self.parts
    }

    /// Returns the packages that code of the host serves.
    pub(super) fn in_process(&self) -> impl Iterator<Item = ProviderWish> {
        self.parts.in_process.keys().map(|package| ProviderWish {
            plugin: package.clone(),
            ..ProviderWish::default()
        })
    }

    /// Returns who uses the code of the host.
    pub(super) fn shared(&self) -> SharedProviders {
        self.shared.clone()
    }

    /// Loads an instance and greets it.
    ///
    /// # Errors
    /// What the host's resolver or installer failed with, unchanged; [`ErrorKind::Plugin`] when there is no such plugin or it can
    /// not be started or spoken to; [`ErrorKind::Provider`] when it refuses.
    pub(crate) async fn load(
        &self,
        wish: &ProviderWish,
        context: &PluginContext,
    ) -> Result<PreparedProvider> {
        let mut prepared = self.prepare(wish, context).await?;
        if self.parts.plugins.waits_for_registrations.contains(&wish.plugin) {
            prepared.capabilities.waits_for_registrations = true;
        }
        Ok(prepared)
    }

    async fn prepare(&self, wish: &ProviderWish, context: &PluginContext) -> Result<PreparedProvider> {
        let parts = &self.parts;
        if let Some(resolver) = &parts.resolver {
            match unless_cancelled(wish, context, resolver.resolve(wish.request())).await? {
                Resolution::Address(address) => {
                    return unless_cancelled(wish, context, self.attach(wish, &address, context)).await;
                }
                Resolution::InProcess(provider) => {
                    return self
                        .greet_in_process(wish, provider, wish.parameter.is_none())
                        .await;
                }
                Resolution::Default => {}
            }
        }
        for (name, serves_package) in [(wish.package(), true), (&wish.plugin, false)] {
            if let Some(provider) = parts.in_process.get(name) {
                return self
                    .greet_in_process(wish, Arc::clone(provider), serves_package)
                    .await;
            }
        }
        let plugin = self.find(wish).await?;
        if plugin.origin == PluginOrigin::Path
            && let Some(sink) = &context.sink
        {
            let name = query(&wish.request()).file_name();
            let place = plugin.command.program.display();
            sink(Diagnostic::warning(Message::PluginOnPath {
                executable: &name,
                place: &place.to_string(),
            }));
        }
        let launch = Launch::prepare(wish, plugin.command, context, Inheritance::now(), parts).await?;
        let lease = parts.pool.lease(Arc::new(launch));
        let (provider, capabilities) = unless_cancelled(wish, context, lease).await?;
        Ok(PreparedProvider {
            provider,
            capabilities,
            shared: false,
            serves_package: true,
        })
    }

    async fn greet_in_process(
        &self,
        wish: &ProviderWish,
        provider: Arc<dyn ProviderBackend>,
        serves_package: bool,
    ) -> Result<PreparedProvider> {
        let capabilities = provider
            .handshake(HandshakeRequest::default())
            .await
            .map_err(|error| refusal(&wish.plugin, &error))?;
        Ok(PreparedProvider {
            provider,
            capabilities,
            shared: true,
            serves_package,
        })
    }

    /// Returns the host's resolver.
    pub(crate) fn resolver(&self) -> Option<&Arc<dyn Resolver>> {
        self.parts.resolver.as_ref()
    }

    /// Returns how long plugins may take.
    pub(crate) fn timeouts(&self) -> PluginTimeouts {
        self.parts.plugins.timeouts
    }

    /// Finds a plugin, or has the host install one that is missing.
    async fn find(&self, wish: &ProviderWish) -> Result<FoundPlugin> {
        let request = wish.request();
        match look_up(&self.parts, &request).await {
            Err(missing) if missing.kind() == ErrorKind::Plugin && self.parts.installer.is_some() => {
                installing::install(&self.parts, request).await
            }
            found => found,
        }
    }

    async fn attach(
        &self,
        wish: &ProviderWish,
        address: &str,
        context: &PluginContext,
    ) -> Result<PreparedProvider> {
        let parts = &self.parts;
        let timeouts = parts.plugins.timeouts;
        let provider = GrpcProvider::at_address(&wish.plugin, address, timeouts, &parts.runtime).await?;
        let engine = parts.engine.address_endpoint(address).await?;
        let hold = engine.route.hold(&context.operation);
        if let Some(operation) = context.operation.upgrade() {
            operation.keep(&engine);
        }
        let provider = provider
            .with_status(status_service(&engine))
            .with_engine(Arc::clone(&engine), hold);
        let refused = |error| refusal(&wish.plugin, &error);
        let capabilities = provider.greet(greeting(&engine)).await.map_err(refused)?;
        provider.attach(&engine.address).await.map_err(refused)?;
        if let Some(parameter) = &wish.parameter {
            provider.parameterize(parameter).await.map_err(refused)?;
        }
        Ok(PreparedProvider {
            provider: Arc::new(provider),
            capabilities,
            shared: false,
            serves_package: true,
        })
    }
}

/// A loader of an engine that may be gone.
pub(crate) struct WeakLoader {
    parts: Weak<LoaderParts>,
    shared: SharedProviders,
}

#[async_trait]
impl PackageSource for WeakLoader {
    async fn load_package(&self, wish: &ProviderWish) -> Result<PreparedProvider> {
        let Some(parts) = self.parts.upgrade() else {
            return Err(Error::new(ErrorKind::Unavailable, "the engine is closed"));
        };
        let shared = self.shared.clone();
        let loader = ProviderLoader { parts, shared };
        loader.load(wish, &PluginContext::default()).await
    }

    fn known(&self) -> Vec<ProviderWish> {
        let parts = self.parts.upgrade();
        let shared = self.shared.clone();
        parts.map_or_else(Vec::new, |parts| {
            ProviderLoader { parts, shared }.in_process().collect()
        })
    }
}

/// Awaits what may never come, unless the operation is cancelled.
async fn unless_cancelled<T>(
    wish: &ProviderWish,
    context: &PluginContext,
    loading: impl Future<Output = Result<T>>,
) -> Result<T> {
    tokio::select! {
        biased;
        loaded = loading => loaded,
        () = context.cancelled.cancelled() => Err(Error::new(
            ErrorKind::Cancelled,
            format!("the start of plugin {} was given up because the operation was cancelled", wish.plugin),
        )),
    }
}

pub(super) fn status_service(engine: &EngineEndpoint) -> StatusService {
    StatusService {
        address: engine.address.clone(),
        tokens: engine.tokens.clone(),
    }
}

/// Looks for a plugin in the folders of the settings.
pub(super) async fn look_up(parts: &Arc<LoaderParts>, request: &ResolutionRequest) -> Result<FoundPlugin> {
    let query = query(request);
    let looking = Arc::clone(parts);
    let spawner = &parts.runtime.spawner;
    spawner
        .spawn_blocking(move || find(&looking.plugins, &query))
        .await?
}

fn query(request: &ResolutionRequest) -> PluginQuery {
    PluginQuery {
        kind: request.kind,
        name: request.name.clone(),
        version: request.version.clone(),
    }
}

pub(super) fn refusal(name: &str, error: &ProviderError) -> Error {
    Error::new(ErrorKind::Provider, error.message.clone())
        .with_provider(name)
        .with_phase("load")
}

#[cfg(test)]
#[path = "loader_tests.rs"]
pub(super) mod tests;
