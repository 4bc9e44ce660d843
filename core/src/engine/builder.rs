//! Building an engine from its components.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use crate::{
    autonaming::Autonamer,
    engine::{Engine, fetch::HttpFetch},
    error::{Error, Result},
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
    store::{HostFacts, Store},
};

/// Takes the components of an engine.
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
}

/// How often the checkpoint is refreshed while an operation runs, unless the host sets another interval.
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
        }
    }

    /// Replaces the sources of time, randomness and tasks.
    #[must_use]
    pub fn runtime(mut self, runtime: Runtime) -> Self {
        self.runtime = runtime;
        self
    }

    /// Sets where states live.
    #[must_use]
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    /// Sets what encrypts secret values.
    #[must_use]
    pub fn secrets(mut self, secrets: Arc<dyn SecretsProvider>) -> Self {
        self.secrets = Some(secrets);
        self
    }

    /// Adds code of the host as the provider of a package; it serves every provider instance of that package.
    #[must_use]
    pub fn provider(mut self, package: impl Into<String>, provider: Arc<dyn ProviderBackend>) -> Self {
        self.providers.insert(package.into(), provider);
        self
    }

    /// Sets who is asked first, for every provider instance, what serves it.
    #[must_use]
    pub fn resolver(mut self, resolver: Arc<dyn Resolver>) -> Self {
        self.resolver = Some(resolver);
        self
    }

    /// Sets who installs plugins that are not found where [`Self::plugins`] says.
    #[must_use]
    pub fn installer(mut self, installer: Arc<dyn PluginInstaller>) -> Self {
        self.installer = Some(installer);
        self
    }

    /// Sets where plugins are looked for and how their processes are run. Without it none is found.
    #[must_use]
    pub fn plugins(mut self, plugins: PluginSettings) -> Self {
        self.plugins = plugins;
        self
    }

    /// Sets how many plugin processes are kept warm between operations, and how long.
    #[must_use]
    pub fn pool(mut self, pool: PoolSettings) -> Self {
        self.pool = pool;
        self
    }

    /// Sets who the locks of this process say that they belong to; without it, the operating system is asked.
    #[must_use]
    pub fn host_facts(mut self, host: HostFacts) -> Self {
        self.host = Some(host);
        self
    }

    /// Sets who reads other stacks for stack references; without it they are read from the engine's own store.
    #[must_use]
    pub fn stacks(mut self, stacks: Arc<dyn StackReader>) -> Self {
        self.stacks = Some(stacks);
        self
    }

    /// Sets who fetches what the URIs of remote assets and archives name; without it, the engine does so over HTTP.
    #[must_use]
    pub fn fetch(mut self, fetch: Arc<dyn Fetch>) -> Self {
        self.fetch = Some(fetch);
        self
    }

    /// Sets who says how real things are named; without it, `pulumi:autonaming` of each stack's configuration does.
    #[must_use]
    pub fn autonamer(mut self, autonamer: Arc<dyn Autonamer>) -> Self {
        self.autonamer = Some(autonamer);
        self
    }

    /// Sets how often the checkpoint is brought up to date while an operation runs; `None` leaves it as it is until the
    /// operation ends. Without it, that is once a second, and never more than 5 % of the time. Programs that do not know
    /// this engine's journal, the reference command for one, see only the checkpoint after the host was killed.
    #[must_use]
    pub fn checkpoint_interval(mut self, interval: Option<Duration>) -> Self {
        self.checkpoint_interval = interval;
        self
    }

    /// Trusts the processes of other users (by number) on loopback: those of providers, language runtimes and policy packs that
    /// the host runs as another user. Without it, only those of the engine's own user and of root are trusted.
    #[must_use]
    pub fn trusted_peers(mut self, users: impl IntoIterator<Item = u32>) -> Self {
        self.trusted_peers = Some(users.into_iter().collect());
        self
    }

    /// Builds the engine.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] when there is no store, or nothing to encrypt secrets with.
    pub fn build(mut self) -> Result<Engine> {
        if let Some(users) = self.trusted_peers.take() {
            self.runtime.peers = TrustedPeers::with(users);
        }
        let store = self
            .store
            .ok_or_else(|| Error::invalid("an engine needs a store"))?;
        let secrets = self
            .secrets
            .ok_or_else(|| Error::invalid("an engine needs a secrets provider"))?;
        let pool = ProviderPool::new(self.pool, self.runtime.clone());
        let service = Arc::new(EngineService::new(self.runtime.clone()));
        let loader = ProviderLoader::new(LoaderParts {
            runtime: self.runtime.clone(),
            in_process: self.providers,
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
        })))
    }
}
