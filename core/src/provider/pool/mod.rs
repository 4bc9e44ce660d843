//! Plugin processes that wait for their next use instead of being started again.

use std::{
    ffi::OsString,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;

use crate::{
    error::Result,
    plugin::{DiagnosticSink, InheritanceDigest, PluginCode, PluginCommand},
    provider::{
        Capabilities, ConfigureRequest, PluginOperation, ProviderBackend,
        grpc::{GrpcProvider, Parameter},
    },
    runtime::Runtime,
};

mod leased;

use leased::LeasedProvider;

/// How many plugin processes wait for their next use, and how long.
///
/// Whoever uses plugins that read what may change at any time, and only when they are configured (files with credentials, for
/// instance), shortens [`Self::age_limit`] or sets [`Self::capacity`] to 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolSettings {
    /// The most that wait at a time; 0 ends each process with its use.
    pub capacity: usize,
    /// How long one waits before it is ended.
    pub idle_limit: Duration,
    /// How long after its start one is used again at most.
    pub age_limit: Duration,
}

impl Default for PoolSettings {
    fn default() -> Self {
        Self {
            capacity: 16,
            idle_limit: Duration::from_secs(60),
            age_limit: Duration::from_secs(5 * 60),
        }
    }
}

/// What makes two processes interchangeable until they are configured.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct LaunchKey {
    /// The stack that it works for, as [`PluginOperation::identity`] has it: what a process learns and writes of one stack
    /// must not reach another. `None` for a mere question about a package.
    pub(crate) stack: Option<String>,
    pub(crate) name: String,
    pub(crate) version: Option<semver::Version>,
    pub(crate) command: PluginCommand,
    /// The working directory, also where it is the host's.
    pub(crate) directory: Option<PathBuf>,
    /// What the host's environment was.
    pub(crate) inherited: InheritanceDigest,
    /// `None` when nobody can tell whether the code is the same: no process is used again then.
    pub(crate) code: Option<PluginCode>,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) parameter: Option<Parameter>,
}

/// Starts processes of one key.
#[async_trait]
pub(crate) trait Launcher: Send + Sync + 'static {
    fn key(&self) -> &LaunchKey;
    fn sink(&self) -> Option<DiagnosticSink>;
    /// The operation that a leased process works for.
    fn operation(&self) -> &Weak<PluginOperation>;
    async fn launch(&self) -> Result<Instance>;
}

/// A running plugin and what it has been through.
pub(crate) struct Instance {
    provider: GrpcProvider,
    capabilities: Capabilities,
    /// When it was started, by the runtime's clock.
    started: Duration,
    /// What it was configured with, which can not be changed any more.
    configuration: Mutex<Option<ConfigureRequest>>,
    /// Calls that have begun and not ended; a call that was given up never ends, as the plugin may still work on it.
    unfinished: AtomicUsize,
    /// Set when it must not be used again.
    spent: AtomicBool,
}

impl Instance {
    pub(crate) fn new(provider: GrpcProvider, capabilities: Capabilities, started: Duration) -> Self {
        Self {
            provider,
            capabilities,
            started,
            configuration: Mutex::default(),
            unfinished: AtomicUsize::new(0),
            spent: AtomicBool::new(false),
        }
    }

    fn configuration(&self) -> MutexGuard<'_, Option<ConfigureRequest>> {
        self.configuration.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_reusable(&self) -> bool {
        !self.spent.load(Ordering::Acquire)
            && self.unfinished.load(Ordering::Acquire) == 0
            // One that refused its configuration, or hangs in it, must not fail its next user too.
            && self.provider.is_settled_well()
            && self.provider.is_alive()
    }

    /// Leads what the process writes, and its calls of the engine, to another user; `None` drops them.
    fn lease_to(&self, launcher: Option<&dyn Launcher>) {
        if let Some(route) = self.provider.route() {
            route.redirect(launcher.and_then(Launcher::sink));
        }
        self.provider.serve(launcher.map(Launcher::operation));
    }
}

/// A shelf of idle plugin processes. Clones share it.
///
/// A process is leased to one user at a time. It stays warm from one operation to the next of the same stack, which must not
/// notice: it has been started by the same command line, from the same executable, with the same environment (the host's and the
/// project's) in the same directory, and configured as the same provider resource (of the same stack) with the same
/// inputs. Processes of scripts and interpreters are not kept: what code they have loaded, only they know. Every process
/// ends with the pool.
#[derive(Clone)]
pub(crate) struct ProviderPool(Arc<Shelf>);

struct Shelf {
    settings: PoolSettings,
    runtime: Runtime,
    state: Mutex<ShelfState>,
}

#[derive(Default)]
struct ShelfState {
    /// Oldest first.
    idle: Vec<Idle>,
    sweeping: bool,
    closed: bool,
}

struct Idle {
    key: LaunchKey,
    instance: Arc<Instance>,
    since: Duration,
}

impl ProviderPool {
    /// Creates an empty pool.
    #[must_use]
    pub(crate) fn new(settings: PoolSettings, runtime: Runtime) -> Self {
        Self(Arc::new(Shelf {
            settings,
            runtime,
            state: Mutex::default(),
        }))
    }

    /// Returns the number of processes that wait for their next use.
    #[must_use]
    #[cfg(test)]
    pub(crate) fn idle_count(&self) -> usize {
        self.0.state().idle.len()
    }

    /// Leases a waiting process of the launcher's key, or starts one. It returns when it is closed or dropped.
    pub(crate) async fn lease(
        &self,
        launcher: Arc<dyn Launcher>,
    ) -> Result<(Arc<dyn ProviderBackend>, Capabilities)> {
        let instance = match self.take(launcher.as_ref(), |_| true) {
            Some(instance) => instance,
            None => Arc::new(launcher.launch().await?),
        };
        let capabilities = instance.capabilities;
        let leased = LeasedProvider::new(self.clone(), launcher, instance);
        Ok((Arc::new(leased), capabilities))
    }

    /// Takes the process that waits shortest among those that fit.
    fn take(&self, launcher: &dyn Launcher, fits: impl Fn(&Instance) -> bool) -> Option<Arc<Instance>> {
        let mut state = self.0.state();
        loop {
            let position = state
                .idle
                .iter()
                .rposition(|idle| idle.key == *launcher.key() && fits(&idle.instance))?;
            let instance = state.idle.remove(position).instance;
            if self.0.is_too_old(&instance) {
                self.close_in_background(instance);
            } else if instance.is_reusable() {
                instance.lease_to(Some(launcher));
                return Some(instance);
            }
        }
    }

    /// Takes a process back; returns it when it must be ended instead.
    fn put(&self, key: &LaunchKey, instance: Arc<Instance>) -> Option<Arc<Instance>> {
        instance.lease_to(None);
        let shelf = &self.0;
        let mut state = shelf.state();
        let comparable = key.code.is_some();
        let spent = !instance.is_reusable() || shelf.is_too_old(&instance);
        if state.closed || shelf.settings.capacity == 0 || !comparable || spent {
            return Some(instance);
        }
        let surplus = (state.idle.len() >= shelf.settings.capacity).then(|| state.idle.remove(0).instance);
        state.idle.push(Idle {
            key: key.clone(),
            instance,
            since: shelf.runtime.clock.elapsed(),
        });
        if !state.sweeping {
            state.sweeping = true;
            shelf.runtime.spawner.spawn(sweep(
                Arc::downgrade(shelf),
                shelf.runtime.clone(),
                shelf.settings.idle_limit,
            ));
        }
        surplus
    }

    /// Takes a process back without waiting for the end of one that must go.
    fn put_in_background(&self, key: &LaunchKey, instance: Arc<Instance>) {
        if let Some(surplus) = self.put(key, instance) {
            self.close_in_background(surplus);
        }
    }

    fn close_in_background(&self, instance: Arc<Instance>) {
        let spawner = &self.0.runtime.spawner;
        spawner.spawn(async move { instance.provider.end().await });
    }

    /// Ends all waiting processes, and from now on each as it returns.
    pub(crate) async fn close_all(&self) {
        let idle = {
            let mut state = self.0.state();
            state.closed = true;
            std::mem::take(&mut state.idle)
        };
        futures::future::join_all(idle.iter().map(|idle| idle.instance.provider.end())).await;
    }
}

impl Shelf {
    fn state(&self) -> MutexGuard<'_, ShelfState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_too_old(&self, instance: &Instance) -> bool {
        self.runtime.clock.elapsed().saturating_sub(instance.started) >= self.settings.age_limit
    }

    /// Takes out those that have waited too long; ends the sweeping when nothing is left.
    fn expired(&self) -> (Vec<Idle>, bool) {
        let now = self.runtime.clock.elapsed();
        let mut state = self.state();
        let count = state
            .idle
            .iter()
            .take_while(|idle| now.saturating_sub(idle.since) >= self.settings.idle_limit)
            .count();
        let expired = state.idle.drain(..count).collect();
        state.sweeping = !state.idle.is_empty();
        (expired, state.sweeping)
    }
}

/// Ends processes that have waited too long, as long as any wait.
async fn sweep(shelf: Weak<Shelf>, runtime: Runtime, idle_limit: Duration) {
    loop {
        runtime.clock.wait(idle_limit).await;
        let Some((expired, more)) = shelf.upgrade().map(|shelf| shelf.expired()) else {
            return;
        };
        futures::future::join_all(expired.iter().map(|idle| idle.instance.provider.end())).await;
        if !more {
            return;
        }
    }
}
