//! Loading providers: code or addresses of the host, else a plugin process from the pool or a new one.

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
        DiagnosticSink, DynamicPlace, FoundPlugin, PluginEnvironment, PluginOrigin, PluginQuery,
        PluginSettings, RequiredPlugin, find,
    },
    provider::{
        Call, CallLimit, Capabilities, EngineEndpoint, EngineEndpoints, Extensible, HandshakeRequest,
        InstallationSink, Installations, PackageSource, PluginInstaller, PluginOperation, ProviderBackend,
        ProviderError, ProviderPool, ProviderSubstitute, Reply, Resolution, ResolutionRequest, Resolver,
        backend::mismatch,
        builtin,
        grpc::{GrpcProvider, Parameter, StatusService},
        installing,
        launch::Launch,
        settings::ProviderSettings,
        shared::SharedProviders,
    },
    runtime::Runtime,
};

/// Returns the handshake request of a plugin.
pub(super) fn greeting(engine: &EngineEndpoint) -> HandshakeRequest {
    HandshakeRequest {
        codegen_address: engine.serves_packages.then(|| engine.address.clone()),
        engine_address: Some(engine.address.clone()),
    }
}

/// The dependencies of a loader.
#[derive(Clone)]
pub(crate) struct LoaderParts {
    /// Clock, random numbers, task spawning.
    pub runtime: Runtime,
    /// Code of the host by package; each provider serves all instances of its package.
    pub in_process: BTreeMap<String, Arc<dyn ProviderBackend>>,
    /// Stands in the place of providers, or around them; asked before all others.
    pub substitute: Option<Arc<dyn ProviderSubstitute>>,
    /// The host's resolver; called first.
    pub resolver: Option<Arc<dyn Resolver>>,
    /// Installs plugins that are not found.
    pub installer: Option<Arc<dyn PluginInstaller>>,
    /// The running installations.
    pub installations: Arc<Installations>,
    /// Where plugins are searched.
    pub plugins: PluginSettings,
    /// The processes that wait for reuse.
    pub pool: ProviderPool,
    /// The endpoints at which plugins call the engine.
    pub engine: Arc<dyn EngineEndpoints>,
}

impl LoaderParts {
    /// Returns whether plugins that are not found are installed.
    pub(super) const fn installs(&self) -> bool {
        self.installer.is_some() || self.plugins.download
    }
}

/// The provider to load.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProviderSpec {
    /// The plugin's name: the package's, unless the package is parameterized.
    pub plugin: String,
    /// The plugin's version.
    pub version: Option<semver::Version>,
    /// The download address; empty if unknown.
    pub download_url: String,
    /// Hex checksums of the plugin by platform.
    pub checksums: BTreeMap<String, String>,
    /// The parameter of a parameterized package.
    pub parameter: Option<Parameter>,
    /// Variables of the host's environment with the names under which the plugin sees their values, too.
    pub environment: BTreeMap<String, String>,
}

impl ProviderSpec {
    /// Returns the name of the package.
    #[must_use]
    pub(crate) fn package(&self) -> &str {
        self.parameter.as_ref().map_or(&self.plugin, |made| &made.name)
    }
}

impl From<RequiredPlugin> for ProviderSpec {
    fn from(plugin: RequiredPlugin) -> Self {
        Self {
            plugin: plugin.name,
            version: Some(plugin.version),
            download_url: plugin.server,
            ..Self::default()
        }
    }
}

impl From<ProviderSettings> for ProviderSpec {
    fn from(settings: ProviderSettings) -> Self {
        let ProviderSettings {
            package,
            version,
            download_url,
            checksums,
            base,
            environment,
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
            environment,
        }
    }
}

/// The parameters of a plugin's process that depend on the operation.
#[derive(Clone, Default)]
pub(crate) struct PluginContext {
    /// The working directory; `None` is the host's.
    pub directory: Option<PathBuf>,
    /// The facts about the project in its environment.
    pub environment: PluginEnvironment,
    /// Receives its output, and warnings about it.
    pub sink: Option<DiagnosticSink>,
    /// Receives the progress of its installation.
    pub progress: Option<InstallationSink>,
    /// Cancels the start of a plugin; a running installation is not cancelled.
    pub cancelled: CancellationToken,
    /// The operation that it works for; empty for requests about a package only.
    pub operation: Weak<PluginOperation>,
}

/// A provider after its handshake.
#[derive(Clone)]
pub(crate) struct PreparedProvider {
    /// The provider.
    pub provider: Arc<dyn ProviderBackend>,
    /// Its capabilities; the assumed ones for a plugin without handshake.
    pub capabilities: Capabilities,
    /// The plugin, for its extensions; `None` for code of the host.
    pub plugin: Option<Arc<dyn Extensible>>,
    /// True for code of the host, which may be in use elsewhere and must not be closed.
    pub shared: bool,
    /// False for code of the host that serves the plugin, but not the parameterized package: code of the host is never
    /// parameterized.
    pub serves_package: bool,
}

impl PreparedProvider {
    /// Releases the instance: a process returns to the pool or ends.
    pub(crate) async fn release(self) {
        if !self.shared {
            self.provider.close().await;
        }
    }
}

/// Loads providers. Instances load concurrently; each is a process of its own, or code of the host.
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

    /// Returns a weak reference to this loader.
    pub(crate) fn downgrade(&self) -> WeakLoader {
        WeakLoader {
            parts: Arc::downgrade(&self.parts),
            shared: self.shared.clone(),
        }
    }

    /// Returns the dependencies of this loader.
    pub(super) const fn parts(&self) -> &Arc<LoaderParts> {
        &self.parts
    }

    /// Returns the packages that code of the host serves.
    pub(super) fn in_process(&self) -> impl Iterator<Item = ProviderSpec> {
        self.parts.in_process.keys().map(|package| ProviderSpec {
            plugin: package.clone(),
            ..ProviderSpec::default()
        })
    }

    /// Returns the use counts of the host's code.
    pub(super) fn shared(&self) -> SharedProviders {
        self.shared.clone()
    }

    /// Loads an instance and sends the handshake.
    ///
    /// # Errors
    /// The unchanged error of the host's resolver or installer; [`ErrorKind::Plugin`] if the plugin is not found,
    /// cannot be started or cannot be called; [`ErrorKind::Provider`] if it refuses the handshake.
    pub(crate) async fn load(
        &self,
        spec: &ProviderSpec,
        context: &PluginContext,
    ) -> Result<PreparedProvider> {
        let mut prepared = match self.substitute(spec) {
            Some(substitute) => {
                let provider = substitute.provider(spec.package());
                self.greet_in_process(spec, provider, true).await?
            }
            None => self.prepare(spec, context).await?,
        };
        if let (None, Some(substitute)) = (self.substitute(spec), &self.parts.substitute) {
            prepared.provider = substitute.around(spec.package(), prepared.provider, prepared.shared);
        }
        if self.parts.plugins.waits_for_registrations.contains(&spec.plugin) {
            prepared.capabilities.waits_for_registrations = true;
        }
        Ok(prepared)
    }

    /// Returns what serves a package in the place of its provider.
    fn substitute(&self, spec: &ProviderSpec) -> Option<&Arc<dyn ProviderSubstitute>> {
        let names = [spec.package(), &spec.plugin];
        let is_given = names.iter().any(|name| self.parts.in_process.contains_key(*name));
        let substitute = self.parts.substitute.as_ref();
        substitute.filter(|substitute| substitute.serves(spec.package(), is_given))
    }

    async fn prepare(&self, spec: &ProviderSpec, context: &PluginContext) -> Result<PreparedProvider> {
        let parts = &self.parts;
        if let Some(resolver) = &parts.resolver {
            match unless_cancelled(spec, context, resolver.resolve(spec.request())).await? {
                Resolution::Address(address) => {
                    return unless_cancelled(spec, context, self.attach(spec, &address, context)).await;
                }
                Resolution::InProcess(provider) => {
                    return self
                        .greet_in_process(spec, provider, spec.parameter.is_none())
                        .await;
                }
                Resolution::Default => {}
            }
        }
        for (name, serves_package) in [(spec.package(), true), (&spec.plugin, false)] {
            if let Some(provider) = parts.in_process.get(name) {
                return self
                    .greet_in_process(spec, Arc::clone(provider), serves_package)
                    .await;
            }
        }
        let plugin = self.find(spec, context).await?;
        if plugin.origin == PluginOrigin::Path
            && let Some(sink) = &context.sink
        {
            let name = query(&spec.request()).file_name();
            let place = plugin.command.program.display();
            sink(Diagnostic::warning(Message::PluginOnPath {
                executable: &name,
                place: &place.to_string(),
            }));
        }
        let host_environment = parts.plugins.host_environment();
        let launch = Launch::prepare(spec, plugin.command, context, host_environment, parts).await?;
        let lease = parts.pool.lease(Arc::new(launch));
        let (leased, capabilities) = unless_cancelled(spec, context, lease).await?;
        Ok(PreparedProvider {
            plugin: Some(Arc::clone(&leased) as _),
            provider: leased,
            capabilities,
            shared: false,
            serves_package: true,
        })
    }

    async fn greet_in_process(
        &self,
        spec: &ProviderSpec,
        provider: Arc<dyn ProviderBackend>,
        serves_package: bool,
    ) -> Result<PreparedProvider> {
        let greeting = Call::Handshake(HandshakeRequest::default());
        let greeted = match self.call_limit(spec) {
            Some(limit) => limit.call(&*provider, greeting).await,
            None => provider.call(greeting).await,
        };
        let capabilities = match greeted {
            Ok(Reply::Capabilities(capabilities)) => Ok(capabilities),
            Ok(_) => Err(mismatch("handshake")),
            Err(error) => Err(error),
        };
        let capabilities = capabilities.map_err(|error| refusal(&spec.plugin, &error))?;
        Ok(PreparedProvider {
            provider,
            capabilities,
            plugin: None,
            shared: true,
            serves_package,
        })
    }

    /// Returns the host's resolver.
    pub(crate) fn resolver(&self) -> Option<&Arc<dyn Resolver>> {
        self.parts.resolver.as_ref()
    }

    /// Returns how long calls of a provider may take; `None` without a limit. The name of a package takes precedence over
    /// that of the plugin that it is made of.
    pub(crate) fn call_limit(&self, spec: &ProviderSpec) -> Option<CallLimit> {
        let timeouts = &self.parts.plugins.call_timeouts;
        let timeout = timeouts
            .get(spec.package())
            .or_else(|| timeouts.get(&spec.plugin))?;
        Some(CallLimit {
            provider: spec.package().to_owned(),
            timeout: *timeout,
            clock: Arc::clone(&self.parts.runtime.clock),
        })
    }

    /// Returns where plugins are searched, and how their processes run.
    pub(crate) fn plugin_settings(&self) -> &PluginSettings {
        &self.parts.plugins
    }

    /// Finds a plugin, or installs a missing one through the host.
    async fn find(&self, spec: &ProviderSpec, context: &PluginContext) -> Result<FoundPlugin> {
        match self.look_up(spec, context).await {
            Err(missing) if missing.kind() == ErrorKind::Plugin && self.parts.installs() => {
                installing::install(&self.parts, spec.request(), context.progress.clone()).await
            }
            found => found,
        }
    }

    /// Finds a plugin with the search settings, and a provider of an SDK also beside the program.
    async fn look_up(&self, spec: &ProviderSpec, context: &PluginContext) -> Result<FoundPlugin> {
        if !DynamicPlace::is_of(&spec.plugin) {
            return look_up(&self.parts, &spec.request()).await;
        }
        let (parts, package) = (Arc::clone(&self.parts), spec.plugin.clone());
        let options = context.environment.runtime_options.clone();
        let folder = context.directory.clone();
        let query = query(&spec.request());
        let looking = move || {
            let environment = parts.plugins.host_environment();
            let folder = folder.as_deref().or_else(|| environment.directory());
            let path = environment.path_folders();
            let place = folder.map(|folder| DynamicPlace {
                folder,
                options: &options,
                path: &path,
            });
            let configured = parts.plugins.commands.get(&package);
            let own = place
                .as_ref()
                .and_then(|place| place.own_command(&package, configured));
            if let Some(command) = own {
                return Ok(FoundPlugin::started_by(command));
            }
            find(&parts.plugins, &query).or_else(|missing| {
                let fallback = place.and_then(|place| place.fallback(&package));
                fallback.map(FoundPlugin::started_by).ok_or(missing)
            })
        };
        self.parts.runtime.spawner.spawn_blocking(looking).await?
    }

    /// Looks for a plugin, and returns the error of a missing one; `None` for code of the host, and where the host's resolver
    /// decides.
    pub(super) async fn missing(&self, spec: &ProviderSpec, context: &PluginContext) -> Option<Error> {
        if self.is_of_host(spec) {
            return None;
        }
        self.find(spec, context).await.err()
    }

    /// Returns whether a plugin is not installed; false for code of the host, and where the host's resolver decides.
    pub(super) async fn is_absent(&self, spec: &ProviderSpec, context: &PluginContext) -> bool {
        !self.is_of_host(spec) && self.look_up(spec, context).await.is_err()
    }

    fn is_of_host(&self, spec: &ProviderSpec) -> bool {
        let parts = &self.parts;
        let is_code = [spec.package(), &spec.plugin]
            .iter()
            .any(|name| *name == builtin::PACKAGE || parts.in_process.contains_key(*name));
        is_code || parts.resolver.is_some() || self.substitute(spec).is_some()
    }

    async fn attach(
        &self,
        spec: &ProviderSpec,
        address: &str,
        context: &PluginContext,
    ) -> Result<PreparedProvider> {
        let parts = &self.parts;
        let timeouts = parts.plugins.timeouts;
        let provider = GrpcProvider::at_address(&spec.plugin, address, timeouts, &parts.runtime).await?;
        let engine = parts.engine.address_endpoint(address).await?;
        let hold = engine.route.hold(&context.operation);
        if let Some(operation) = context.operation.upgrade() {
            operation.keep(&engine);
        }
        let provider = provider
            .with_status(status_service(&engine))
            .with_engine(Arc::clone(&engine), hold);
        let refused = |error| refusal(&spec.plugin, &error);
        let capabilities = provider.greet(greeting(&engine)).await.map_err(refused)?;
        provider.attach(&engine.address).await.map_err(refused)?;
        if let Some(parameter) = &spec.parameter {
            provider.parameterize(parameter).await.map_err(refused)?;
        }
        let provider = Arc::new(provider);
        Ok(PreparedProvider {
            plugin: Some(Arc::clone(&provider) as _),
            provider,
            capabilities,
            shared: false,
            serves_package: true,
        })
    }
}

/// A weak reference to a loader; its engine may be closed.
pub(crate) struct WeakLoader {
    parts: Weak<LoaderParts>,
    shared: SharedProviders,
}

#[async_trait]
impl PackageSource for WeakLoader {
    async fn load_package(&self, spec: &ProviderSpec) -> Result<PreparedProvider> {
        let Some(parts) = self.parts.upgrade() else {
            return Err(Error::new(ErrorKind::Unavailable, "the engine is closed"));
        };
        let shared = self.shared.clone();
        let loader = ProviderLoader { parts, shared };
        loader.load(spec, &PluginContext::default()).await
    }

    fn known(&self) -> Vec<ProviderSpec> {
        let parts = self.parts.upgrade();
        let shared = self.shared.clone();
        parts.map_or_else(Vec::new, |parts| {
            ProviderLoader { parts, shared }.in_process().collect()
        })
    }
}

/// Awaits a future, with an error if the operation is cancelled first.
async fn unless_cancelled<T>(
    spec: &ProviderSpec,
    context: &PluginContext,
    loading: impl Future<Output = Result<T>>,
) -> Result<T> {
    tokio::select! {
        biased;
        loaded = loading => loaded,
        () = context.cancelled.cancelled() => Err(Error::new(
            ErrorKind::Cancelled,
            format!("the start of plugin {} was cancelled with the operation", spec.plugin),
        )),
    }
}

pub(super) fn status_service(engine: &EngineEndpoint) -> StatusService {
    StatusService {
        address: engine.address.clone(),
        tokens: engine.tokens.clone(),
    }
}

/// Finds a plugin with the search settings.
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
