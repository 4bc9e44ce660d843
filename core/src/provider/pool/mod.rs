//! Plugin processes that wait for reuse instead of being started again.

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
    plugin::{DiagnosticSink, HostEnvironmentDigest, PluginCode, PluginCommand},
    provider::{
        Capabilities, ConfigureRequest, PluginOperation,
        grpc::{GrpcProvider, Parameter},
    },
    runtime::Runtime,
};

mod leased;

pub(super) use leased::LeasedProvider;

/// The limits of idle plugin processes.
///
/// Plugins that read changing data (credential files for instance) only when they are configured need a shorter
/// [`Self::age_limit`] or a [`Self::capacity`] of 0. A process that has been given an extension of its package is never kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolSettings {
    /// The maximum number of idle processes; 0 ends each process after its use.
    pub capacity: usize,
    /// How long a process stays idle before it is ended.
    pub idle_limit: Duration,
    /// The maximum age of a process at reuse, since its start.
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

/// Identifies processes that are interchangeable until they are configured.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct LaunchKey {
    /// The stack that it works for, as [`PluginOperation::identity`]: data and output of one stack must not reach
    /// another. `None` for requests about a package only.
    pub(crate) stack: Option<String>,
    pub(crate) name: String,
    pub(crate) version: Option<semver::Version>,
    pub(crate) command: PluginCommand,
    /// The working directory, including that of the host.
    pub(crate) directory: Option<PathBuf>,
    /// The digest of the host's environment.
    pub(crate) inherited: HostEnvironmentDigest,
    /// The identity of the executable; `None` if unknown, which prevents reuse.
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

/// A running plugin and its history.
pub(crate) struct Instance {
    provider: GrpcProvider,
    capabilities: Capabilities,
    /// The time of its start, by the runtime's clock.
    started: Duration,
    /// Its configuration, which cannot be changed.
    configuration: Mutex<Option<ConfigureRequest>>,
    /// The number of running calls; a dropped call counts forever, as the plugin may still execute it.
    unfinished: AtomicUsize,
    /// Set if it must not be reused.
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
            // A process that refused its configuration, or hangs in it, would fail its next user as well.
            && self.provider.has_usable_configuration()
            && self.provider.is_alive()
    }

    /// Routes the process's output and its calls of the engine to another user; `None` drops them.
    fn lease_to(&self, launcher: Option<&dyn Launcher>) {
        if let Some(route) = self.provider.route() {
            route.redirect(launcher.and_then(Launcher::sink));
        }
        self.provider.serve(launcher.map(Launcher::operation));
    }
}

/// A pool of idle plugin processes. Clones share it.
///
/// A process is leased to one user at a time. It is reused only by operations of the same stack, with the same command
/// line, executable, environment (of the host and the project), directory, provider resource and inputs. Processes of
/// scripts and interpreters are not reused, because their loaded code cannot be identified. A process that has been given
/// an extension is not reused either: it would serve the extension to operations that do not ask for it, or that ask for
/// another version of it. Every process ends with the pool.
#[derive(Clone)]
pub(crate) struct ProviderPool(Arc<PoolInner>);

struct PoolInner {
    settings: PoolSettings,
    runtime: Runtime,
    state: Mutex<PoolState>,
}

#[derive(Default)]
struct PoolState {
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
        Self(Arc::new(PoolInner {
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

    /// Leases an idle process of the launcher's key, or starts one. The process returns when the lease is closed or
    /// dropped.
    pub(super) async fn lease(
        &self,
        launcher: Arc<dyn Launcher>,
    ) -> Result<(Arc<LeasedProvider>, Capabilities)> {
        let instance = match self.take(launcher.as_ref(), |_| true).await {
            Some(instance) => instance,
            None => Arc::new(launcher.launch().await?),
        };
        let capabilities = instance.capabilities;
        let leased = LeasedProvider::new(self.clone(), launcher, instance);
        Ok((Arc::new(leased), capabilities))
    }

    /// Takes the most recently used process that fits and answers.
    async fn take(&self, launcher: &dyn Launcher, fits: impl Fn(&Instance) -> bool) -> Option<Arc<Instance>> {
        loop {
            let instance = self.pick(launcher, &fits)?;
            if instance.provider.answers().await {
                return Some(instance);
            }
            instance.lease_to(None);
            self.close_in_background(instance);
        }
    }

    /// Takes the most recently used process that fits, as far as known.
    fn pick(&self, launcher: &dyn Launcher, fits: impl Fn(&Instance) -> bool) -> Option<Arc<Instance>> {
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

    /// Takes a process back; returns it if it has to be ended instead.
    fn put(&self, key: &LaunchKey, instance: Arc<Instance>) -> Option<Arc<Instance>> {
        instance.lease_to(None);
        let pool = &self.0;
        let mut state = pool.state();
        let comparable = key.code.is_some();
        let spent = !instance.is_reusable() || pool.is_too_old(&instance);
        if state.closed || pool.settings.capacity == 0 || !comparable || spent {
            return Some(instance);
        }
        let surplus = (state.idle.len() >= pool.settings.capacity).then(|| state.idle.remove(0).instance);
        state.idle.push(Idle {
            key: key.clone(),
            instance,
            since: pool.runtime.clock.elapsed(),
        });
        if !state.sweeping {
            state.sweeping = true;
            pool.runtime.spawner.spawn(sweep(
                Arc::downgrade(pool),
                pool.runtime.clone(),
                pool.settings.idle_limit,
            ));
        }
        surplus
    }

    /// Takes a process back without waiting for the end of one that cannot be reused.
    fn put_in_background(&self, key: &LaunchKey, instance: Arc<Instance>) {
        if let Some(surplus) = self.put(key, instance) {
            self.close_in_background(surplus);
        }
    }

    fn close_in_background(&self, instance: Arc<Instance>) {
        let spawner = &self.0.runtime.spawner;
        spawner.spawn(async move { instance.provider.end().await });
    }

    /// Ends all idle processes, and each leased one at its return.
    pub(crate) async fn close_all(&self) {
        let idle = {
            let mut state = self.0.state();
            state.closed = true;
            std::mem::take(&mut state.idle)
        };
        futures::future::join_all(idle.iter().map(|idle| idle.instance.provider.end())).await;
    }
}

impl PoolInner {
    fn state(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_too_old(&self, instance: &Instance) -> bool {
        self.runtime.clock.elapsed().saturating_sub(instance.started) >= self.settings.age_limit
    }

    /// Removes the processes beyond the idle limit; returns them, and whether any are left.
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

/// Ends processes beyond the idle limit, until the pool is empty.
async fn sweep(pool: Weak<PoolInner>, runtime: Runtime, idle_limit: Duration) {
    loop {
        runtime.clock.wait(idle_limit).await;
        let Some((expired, more)) = pool.upgrade().map(|pool| pool.expired()) else {
            return;
        };
        futures::future::join_all(expired.iter().map(|idle| idle.instance.provider.end())).await;
        if !more {
            return;
        }
    }
}
