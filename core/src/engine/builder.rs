//! The builder of an engine.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use crate::{
    autonaming::Autonamer,
    engine::{Engine, export::HttpExport, fetch::HttpFetch},
    error::{Error, Result},
    executor::{Controls, PluginLimits},
    metrics::Meter,
    monitor::EngineService,
    operation::EngineParts,
    plugin::PluginSettings,
    property::hash::Fetch,
    provider::{
        LoaderParts, PluginInstaller, PoolSettings, ProviderBackend, ProviderLoader, ProviderPool, Resolver,
        builtin::StackReader,
    },
    runtime::{Runtime, TrustedPeers},
    secrets::SecretsProvider,
    simulation::Simulation,
    store::{HostFacts, MeteredStore, Store},
    telemetry::{Exporter, Telemetry},
};

/// Collects the components of an engine.
pub struct EngineBuilder {
    runtime: Runtime,
    store: Option<Arc<dyn Store>>,
    secrets: Option<Arc<dyn SecretsProvider>>,
    providers: BTreeMap<String, Arc<dyn ProviderBackend>>,
    resolver: Option<Arc<dyn Resolver>>,
    installer: Option<Arc<dyn PluginInstaller>>,
    plugins: PluginSettings,
    pool: PoolSettings,
    host: Option<HostFacts>,
    stacks: Option<Arc<dyn StackReader>>,
    fetch: Option<Arc<dyn Fetch>>,
    autonamer: Option<Arc<dyn Autonamer>>,
    checkpoint_interval: Option<Duration>,
    trusted_peers: Option<Vec<u32>>,
    nested_secrets: bool,
    max_calls_per_plugin: u32,
    plugin_limits: Option<PluginLimits>,
    simulation: Option<Simulation>,
    telemetry: Option<Telemetry>,
}

/// The default interval between writes of the checkpoint while an operation runs.
const CHECKPOINT_INTERVAL: Duration = Duration::from_secs(1);

impl EngineBuilder {
    pub(super) fn new(handle: tokio::runtime::Handle) -> Self {
        Self {
            runtime: Runtime::system(handle),
            store: None,
            secrets: None,
            providers: BTreeMap::new(),
            resolver: None,
            installer: None,
            plugins: PluginSettings::default(),
            pool: PoolSettings::default(),
            host: None,
            stacks: None,
            fetch: None,
            autonamer: None,
            checkpoint_interval: Some(CHECKPOINT_INTERVAL),
            trusted_peers: None,
            nested_secrets: true,
            max_calls_per_plugin: 0,
            plugin_limits: None,
            simulation: None,
            telemetry: None,
        }
    }

    /// Sets the clock, the source of randomness and the task spawner.
    #[must_use]
    pub fn runtime(mut self, runtime: Runtime) -> Self {
        self.runtime = runtime;
        self
    }

    /// Sets the store of the states.
    #[must_use]
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    /// Sets the provider of secrets managers for stacks without one of their own.
    #[must_use]
    pub fn secrets(mut self, secrets: Arc<dyn SecretsProvider>) -> Self {
        self.secrets = Some(secrets);
        self
    }

    /// Registers an in-process provider for a package. It serves every provider instance of that package.
    #[must_use]
    pub fn provider(mut self, package: impl Into<String>, provider: Arc<dyn ProviderBackend>) -> Self {
        self.providers.insert(package.into(), provider);
        self
    }

    /// Sets the resolver, which is called first for every provider instance.
    #[must_use]
    pub fn resolver(mut self, resolver: Arc<dyn Resolver>) -> Self {
        self.resolver = Some(resolver);
        self
    }

    /// Sets the installer of plugins that are not found in the folders of [`Self::plugins`].
    #[must_use]
    pub fn installer(mut self, installer: Arc<dyn PluginInstaller>) -> Self {
        self.installer = Some(installer);
        self
    }

    /// Sets the folders and the process settings of plugins. Without it, no plugin is found.
    #[must_use]
    pub fn plugins(mut self, plugins: PluginSettings) -> Self {
        self.plugins = plugins;
        self
    }

    /// Sets the limits of the pool of idle plugin processes: number and lifetime.
    #[must_use]
    pub fn pool(mut self, pool: PoolSettings) -> Self {
        self.pool = pool;
        self
    }

    /// Sets the owner that the locks of this process name. The default comes from the operating system.
    #[must_use]
    pub fn host_facts(mut self, host: HostFacts) -> Self {
        self.host = Some(host);
        self
    }

    /// Sets the reader of other stacks for stack references. The default reads the engine's own store.
    #[must_use]
    pub fn stacks(mut self, stacks: Arc<dyn StackReader>) -> Self {
        self.stacks = Some(stacks);
        self
    }

    /// Sets the client that fetches the URIs of remote assets and archives. The default uses HTTP.
    #[must_use]
    pub fn fetch(mut self, fetch: Arc<dyn Fetch>) -> Self {
        self.fetch = Some(fetch);
        self
    }

    /// Sets the autonamer. The default is `pulumi:autonaming` of each stack's configuration.
    #[must_use]
    pub fn autonamer(mut self, autonamer: Arc<dyn Autonamer>) -> Self {
        self.autonamer = Some(autonamer);
        self
    }

    /// Sets the interval between writes of the checkpoint while an operation runs; `None` writes it only at the end.
    /// The default is one second, and at most 5 % of the time. Tools that do not read this engine's journal, for
    /// example the reference command, see only the checkpoint after a crash of the host.
    #[must_use]
    pub fn checkpoint_interval(mut self, interval: Option<Duration>) -> Self {
        self.checkpoint_interval = interval;
        self
    }

    /// Trusts the processes of further users (by number) on loopback: providers, language runtimes and policy packs
    /// that the host runs as another user. The default trusts the engine's own user and root.
    #[must_use]
    pub fn trusted_peers(mut self, users: impl IntoIterator<Item = u32>) -> Self {
        self.trusted_peers = Some(users.into_iter().collect());
        self
    }

    /// Sets whether secrets are kept at any depth; on by default. A checked input, and an output, is then secret when it
    /// is at or below the path of a secret input, also where its provider accepts secrets and returns the value without
    /// the mark. The reference engine marks outputs by the names of secret inputs at the top level only: with `false`,
    /// this engine does the same, and other values of such providers are recorded in plaintext.
    #[must_use]
    pub fn nested_secrets(mut self, nested_secrets: bool) -> Self {
        self.nested_secrets = nested_secrets;
        self
    }

    /// Sets how many steps, checks and diffs of each package's providers run at a time, in all operations of the engine together; 0, the
    /// default, has no limit beside that of each operation. A set with a limit of its own
    /// ([`crate::fleet::FleetOptions::max_calls_per_plugin`]) has that instead.
    #[must_use]
    pub fn max_calls_per_plugin(mut self, limit: u32) -> Self {
        self.max_calls_per_plugin = limit;
        self
    }

    /// Sets a limit that the engine shares with others, in place of [`Self::max_calls_per_plugin`]: calls of a plugin count in all of them
    /// together.
    ///
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// # use stackwright::{Engine, Result, runtime::Runtime, secrets::Base64Provider, store::MemoryStore};
    /// # use tokio::runtime::Handle;
    /// # #[tokio::main]
    /// # async fn main() -> Result<()> {
    /// use stackwright::fleet::PluginLimits;
    /// let limits = PluginLimits::new(20, Runtime::system(Handle::current()));
    /// let engine = || {
    ///     let store = Arc::new(MemoryStore::new(Runtime::system(Handle::current())));
    ///     let builder = Engine::builder(Handle::current()).store(store);
    ///     builder.secrets(Arc::new(Base64Provider)).plugin_limits(limits.clone()).build()
    /// };
    /// let (north, south) = (engine()?, engine()?);
    /// # drop((north, south));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn plugin_limits(mut self, limits: PluginLimits) -> Self {
        self.plugin_limits = Some(limits);
        self
    }

    /// Simulates all packages that no provider of the host serves, for tests of programs. Without another store, the engine
    /// uses that of the simulation.
    #[must_use]
    pub fn simulation(mut self, simulation: Simulation) -> Self {
        self.simulation = Some(simulation);
        self
    }

    /// Exports the spans of operations, of their steps, and of calls of providers and of the store to a collector of OpenTelemetry. A
    /// collector that does not answer delays no operation; its spans are dropped. [`Engine::close`] sends the last ones, and waits a few
    /// seconds for that at most.
    ///
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// # use stackwright::{Engine, Result, runtime::Runtime, secrets::Base64Provider, store::MemoryStore};
    /// # use tokio::runtime::Handle;
    /// # #[tokio::main]
    /// # async fn main() -> Result<()> {
    /// # let store = Arc::new(MemoryStore::new(Runtime::system(Handle::current())));
    /// # let builder = Engine::builder(Handle::current()).store(store).secrets(Arc::new(Base64Provider));
    /// use stackwright::telemetry::Telemetry;
    ///
    /// let engine = builder.telemetry(Telemetry::to("http://localhost:4318")).build()?;
    /// # engine.close().await;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn telemetry(mut self, telemetry: Telemetry) -> Self {
        self.telemetry = Some(telemetry);
        self
    }

    /// Builds the engine.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] when the store or the secrets provider is missing, and for settings of the export that cannot work.
    pub fn build(mut self) -> Result<Engine> {
        self.runtime.meter = Meter::default();
        if let Some(users) = self.trusted_peers.take() {
            self.runtime.peers = TrustedPeers::with(users);
        }
        if let Some(simulation) = &self.simulation {
            simulation.set_clock(Arc::clone(&self.runtime.clock));
            self.store.get_or_insert_with(|| simulation.store(&self.runtime));
        }
        let store = self
            .store
            .ok_or_else(|| Error::invalid("an engine needs a store"))?;
        let store = MeteredStore::over(store, self.runtime.meter.clone());
        let secrets = self
            .secrets
            .ok_or_else(|| Error::invalid("an engine needs a secrets provider"))?;
        let exporter = self.telemetry.map(|settings| {
            let sender = HttpExport::new(&settings, Arc::clone(&self.runtime.clock))?;
            Ok::<_, Error>(Exporter::start(&settings, Arc::new(sender), &self.runtime))
        });
        let exporter = exporter.transpose()?;
        let plugin_limits = match self.plugin_limits {
            Some(limits) => Some(limits),
            None => PluginLimits::unless_zero(self.max_calls_per_plugin, &self.runtime),
        };
        let pool = ProviderPool::new(self.pool, self.runtime.clone());
        let service = Arc::new(EngineService::new(self.runtime.clone()));
        let loader = ProviderLoader::new(LoaderParts {
            runtime: self.runtime.clone(),
            in_process: self.providers,
            substitute: self
                .simulation
                .clone()
                .map(|simulation| Arc::new(simulation) as _),
            resolver: self.resolver,
            installer: self.installer,
            installations: Arc::default(),
            plugins: self.plugins,
            pool: pool.clone(),
            engine: Arc::clone(&service) as _,
        });
        service.serve_packages(Arc::new(loader.downgrade()));
        let fetch = self
            .fetch
            .unwrap_or_else(|| Arc::new(HttpFetch::new(self.runtime.spawner.clone())));
        Ok(Engine(Arc::new(EngineParts {
            runtime: self.runtime,
            store,
            secrets,
            host: self.host.unwrap_or_else(HostFacts::system),
            loader,
            pool,
            service,
            stacks: self.stacks,
            fetch,
            autonamer: self.autonamer,
            checkpoint_interval: self.checkpoint_interval,
            nested_secrets: self.nested_secrets,
            plugin_limits,
            simulation: self.simulation,
            exporter,
            controls: Controls::default(),
        })))
    }
}
